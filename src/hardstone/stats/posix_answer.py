"""POSIX in a run: the inventory, what part of each amendment works, and HP's real-time features,
each answered by options and by measurements of the same run.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import msgspec

from hardstone.catalogue import kind_of, load_catalogue
from hardstone.errors import InputError
from hardstone.model import NotRun, Result, RunDocument, Series, Unit
from hardstone.stats.conditions import condition_of, names_in
from hardstone.stats.posix_data import Measurement, Point, posix_data
from hardstone.stats.posix_inventory import TEST, PosixInventory, PosixOption
from hardstone.stats.posix_reading import inventory_of
from hardstone.stats.summary import median_of

POSIX_SCHEMA = "hardstone.posix/1"
_RESOLUTION = "CLK-B-RES"
_CLOCK_NAMES = {
    "CLOCK_REALTIME": "realtime",
    "CLOCK_MONOTONIC": "monotonic",
    "CLOCK_PROCESS_CPUTIME_ID": "process_cputime",
    "CLOCK_THREAD_CPUTIME_ID": "thread_cputime",
}
_COVERED = ("1003.1a", "1003.1b", "1003.1c")
_NOT_TRIED = ("denied", "untried")

Answer = Literal["yes", "partly", "no", "not known", "no option"]
Judgement = Literal["holds", "fails", "figures", "nothing", "absent"]
Coverage = Literal["full", "partial", "none", "not known"]


class Measured(msgspec.Struct, kw_only=True, frozen=True):
    """What a test of the run says of a point.

    `judgement`: "holds" and "fails" are those of its claims that count for a rating; "figures": it
    judges nothing; "nothing": it has the status and reason instead; "absent": the run lacks it.
    `value` in `unit` is the `statistic` of the series, `median` of the same series.
    """

    test: str
    judgement: Judgement
    status: str = ""
    reason: str = ""
    claims_count: int = 0
    failed: list[str] = []
    series: str = ""
    labels: dict[str, int | str] = {}
    statistic: str = ""
    value: int | None = None
    median: int | None = None
    unit: Unit = "ns"
    values_count: int = 0


class PointAnswer(msgspec.Struct, kw_only=True, frozen=True):
    """One feature of HP's table. `by_options`: "no option" if POSIX has none for it."""

    name: str
    about: str
    by_options: Answer
    options: dict[str, str]
    measured: list[Measured]


class PartCoverage(msgspec.Struct, kw_only=True, frozen=True):
    """How much of a part works.

    full: a real call of every option works. partial: the calls of some do not, or work in part.
    none: none does. not known: what was tried works, and the rest was not tried or not reported.
    """

    part: str
    coverage: Coverage
    options_count: int
    working_count: int
    partly: list[str]
    missing: list[str]
    not_known: list[str]


class ClockStep(msgspec.Struct, kw_only=True, frozen=True):
    """A clock or timer. `claimed_ns` by clock_getres; `seen_ns` the smallest step that CLK-B-RES
    of the same run saw. Null: not known."""

    name: str
    kind: Literal["clock", "timer"]
    claimed_ns: int | None
    seen_ns: int | None


class PosixAnswer(msgspec.Struct, kw_only=True, frozen=True):
    """One result of POS-B-INV. `under` is its condition where the run has several."""

    run: str
    target: str
    under: str
    inventory: PosixInventory
    coverage: list[PartCoverage]
    clocks: list[ClockStep]
    points: list[PointAnswer]


class PosixDocument(msgspec.Struct, kw_only=True):
    """`hardstone.posix/1`: an answer for each result of POS-B-INV of the runs."""

    schema: str
    answers: list[PosixAnswer]
    not_run: list[NotRun] = []


def answers_in(document: RunDocument) -> list[PosixAnswer]:
    """An answer for each result of POS-B-INV, in the order of the run."""
    names = names_in(document)
    return [
        _answer(document, one, names.label(condition_of(one)))
        for one in document.results
        if one.test == TEST
    ]


def to_measure(answer: PosixAnswer) -> list[str]:
    """The tests that would answer a point and that the run lacks, if this version has them."""
    known = set(load_catalogue().ids())
    lacking = (one.test for point in answer.points for one in point.measured if _is_absent(one))
    return [test for test in dict.fromkeys(lacking) if test in known]


def _is_absent(one: Measured) -> bool:
    return one.judgement == "absent"


def _answer(document: RunDocument, result: Result, under: str) -> PosixAnswer:
    inventory = inventory_of(result)
    alike = [one for one in document.results if condition_of(one) == condition_of(result)]
    return PosixAnswer(
        run=document.id,
        target=document.plan.target,
        under=under,
        inventory=inventory,
        coverage=[coverage_of(inventory, part) for part in _COVERED],
        clocks=list(_clocks(inventory, alike)),
        points=[_point(point, inventory, alike) for point in posix_data().points],
    )


# ---- options ----


def coverage_of(inventory: PosixInventory, part: str) -> PartCoverage:
    """How much of `part` works; an option that it is known to have and that was not reported is
    not known to work."""
    reported = [one for one in inventory.options if one.part == part]
    named = {one.name for one in reported}
    absent = [name for name in posix_data().parts[part].options if name not in named]
    works = [one.name for one in reported if one.call == "works"]
    partly = [one.name for one in reported if one.call == "partly"]
    missing = [one.name for one in reported if one.call in ("fails", "missing")]
    not_known = [one.name for one in reported if one.call in _NOT_TRIED] + absent
    return PartCoverage(
        part=part,
        coverage=_coverage(len(works), len(partly), len(missing), len(not_known)),
        options_count=len(reported) + len(absent),
        working_count=len(works),
        partly=partly,
        missing=missing,
        not_known=not_known,
    )


def _coverage(works: int, partly: int, missing: int, not_known: int) -> Coverage:
    if missing and not works and not partly and not not_known:
        return "none"
    if missing or partly:
        return "partial"
    return "not known" if not_known or not works else "full"


def _point(point: Point, inventory: PosixInventory, results: list[Result]) -> PointAnswer:
    found = {name: inventory.option(name) for name in point.options}
    return PointAnswer(
        name=point.name,
        about=point.about,
        by_options=_by_options(list(found.values())),
        options={name: one.call if one else "not reported" for name, one in found.items()},
        measured=[_measured(asked, results) for asked in point.tests],
    )


def _by_options(options: list[PosixOption | None]) -> Answer:
    """What was not tried never makes a yes or a no."""
    if not options:
        return "no option"
    calls = [one.call if one else "untried" for one in options]
    works, fails = calls.count("works"), calls.count("fails") + calls.count("missing")
    if works == len(calls):
        return "yes"
    if fails == len(calls):
        return "no"
    return "partly" if "partly" in calls or (works and fails) else "not known"


# ---- measurements ----


def _measured(asked: Measurement, results: list[Result]) -> Measured:
    found = [one for one in results if one.test == asked.test]
    if not found:
        return Measured(test=asked.test, judgement="absent")
    result = next((one for one in found if _failed(one)), found[-1])
    series = _series(asked, result)
    value = (series.min if asked.statistic == "min" else series.max) if series else None
    failed = _failed(result)
    return Measured(
        test=asked.test,
        judgement=_judgement(result, has_figure=series is not None, has_failed=bool(failed)),
        status=_status(result),
        reason=(result.reason or "")[:200],
        claims_count=len(result.verdicts),
        failed=failed,
        series=series.name if series else "",
        labels=series.labels if series else {},
        statistic=asked.statistic if series else "",
        value=value,
        median=_median(series) if series else None,
        unit=series.unit if series else "ns",
        values_count=series.count if series else 0,
    )


def _failed(result: Result) -> list[str]:
    """The failed claims that count for a rating."""
    entry = load_catalogue().entry(result.test)
    names = (one.name for one in result.verdicts if not one.passed)
    return [name for name in names if not entry.why_uncounted(name)]


def _status(result: Result) -> str:
    if result.status == "measured" and not (result.complete and not result.interrupted):
        return "incomplete"
    return result.status


def _judgement(result: Result, *, has_figure: bool, has_failed: bool) -> Judgement:
    """A test that was cut off may show that a claim fails, and never that all hold."""
    if has_failed:
        return "fails"
    if result.verdicts and _status(result) == "measured":
        return "holds"
    return "figures" if has_figure else "nothing"


def _series(asked: Measurement, result: Result) -> Series | None:
    """The series with the most extreme value: of those asked for, or for a timing test of all."""
    timed = [one for one in result.series if one.unit == "ns" and one.count and one.max is not None]
    timed = [one for one in timed if asked.labels.items() <= one.labels.items()]
    if asked.series:
        timed = [one for one in timed if one.name == asked.series]
    elif kind_of(result.test) == "behaviour":
        return None
    else:
        timed = [one for one in timed if not one.derived] or timed
    if asked.statistic == "min":
        return min(timed, key=lambda one: one.min or 0, default=None)
    return max(timed, key=lambda one: one.max or 0, default=None)


def _median(series: Series) -> int | None:
    try:
        return median_of(series)
    except InputError:  # the top of the page names contradictory series
        return None


def _clocks(inventory: PosixInventory, results: list[Result]) -> Iterator[ClockStep]:
    """Clocks that were claimed or seen, then the timers that CLK-B-RES saw."""
    series = [one for result in results if result.test == _RESOLUTION for one in result.series]
    seen = dict(_least(series, "step", "clock"))
    claimed = dict(_least(series, "claimed", "clock"))
    for shown in dict.fromkeys((*inventory.clocks, *_CLOCK_NAMES.values())):
        said = inventory.clocks.get(shown, claimed.get(shown))
        if said is not None or shown in seen:
            yield ClockStep(name=shown, kind="clock", claimed_ns=said, seen_ns=seen.get(shown))
    for name, least in _least(series, "expiry_step", "mechanism"):
        yield ClockStep(name=name, kind="timer", claimed_ns=None, seen_ns=least)


def _least(series: list[Series], name: str, label: str) -> Iterator[tuple[str, int]]:
    for one in series:
        if one.name == name and one.min is not None and one.count:
            text = str(one.labels.get(label, ""))
            yield _CLOCK_NAMES.get(text, text), one.min
