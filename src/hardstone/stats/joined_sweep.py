"""The points of a sweep and of a part of it that was measured later."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from hardstone.event_names import NEW_PART
from hardstone.model import Event, Part, PlannedTest, Result, RunDocument


class JoinedPoints(NamedTuple):
    """Planned tests and results in the same order, then the tests that have no result.

    `parts` are those of before; the points of the new one begin at `place`, None: it has none.
    """

    tests: list[PlannedTest]
    results: list[Result]
    parts: list[Part]
    place: int | None


class _Pair(NamedTuple):
    planned: PlannedTest
    result: Result


def joined_points(
    whole: RunDocument, part: RunDocument, parts: Sequence[Part], why_apart: str | None
) -> JoinedPoints:
    """The points of `whole`, then those of `part`. A point that was cut off and then begun again
    is there once, and nothing that was skipped. `why_apart`: why the figures are of two systems."""
    later = [one for one in _pairs(part) if one.result.status != "skipped"]
    again = {_key(one.planned) for one in later}
    kept: list[_Pair] = []
    places: list[int] = []
    for one in _pairs(whole):
        places.append(len(kept))
        if one.result.status == "skipped":
            continue
        if is_whole(one.result) or _key(one.planned) not in again:
            kept.append(one)
    if later and why_apart is not None:
        later[0] = _Pair(later[0].planned, _marked(later[0].result, part.id, why_apart))
    joined = [*kept, *later]
    cut = {_key(one.planned) for one in joined if not is_whole(one.result)}
    left = [one for one in _without_result(part) if _key(one) not in cut]
    return JoinedPoints(
        tests=[*(one.planned for one in joined), *left],
        results=[one.result for one in joined],
        parts=[_moved(one, places, len(kept)) for one in parts],
        place=len(kept) if later else None,
    )


def is_whole(result: Result) -> bool:
    """Whether a point was measured, or refused, to its end."""
    return result.complete and not result.interrupted and result.status != "skipped"


def _pairs(document: RunDocument) -> list[_Pair]:
    return [_Pair(*one) for one in zip(document.plan.tests, document.results, strict=False)]


def unmeasured_tests(document: RunDocument) -> list[PlannedTest]:
    """What was planned and not measured to its end, each once."""
    cut = [one.planned for one in _pairs(document) if not is_whole(one.result)]
    tests = [*cut, *document.plan.tests[len(document.results) :]]
    return list({_key(one): one for one in tests}.values())


def _without_result(document: RunDocument) -> list[PlannedTest]:
    skipped = [one.planned for one in _pairs(document) if one.result.status == "skipped"]
    return [*skipped, *document.plan.tests[len(document.results) :]]


def _key(planned: PlannedTest) -> tuple[object, ...]:
    """What makes two measurements the same point."""
    params = tuple(sorted((name, str(value)) for name, value in planned.params.items()))
    return planned.test, planned.load, planned.cpu_config, params


def _moved(part: Part, places: Sequence[int], end: int) -> Part:
    """`part` at the place where its first result is now."""
    if part.result is None:
        return part
    place = places[part.result] if 0 <= part.result < len(places) else end
    return msgspec.structs.replace(part, result=place if place < end else None)


def _marked(result: Result, part: str, why: str) -> Result:
    mark = Event(name=NEW_PART, text=f"a new part: {why}", data={"part": part, "reason": why})
    return msgspec.structs.replace(result, events=[mark, *result.events])
