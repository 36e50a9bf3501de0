"""Figures of a run that contradict each other: the one rule for everything that shows them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

import msgspec

from hardstone.model import Result, RunDocument, Series, Trust
from hardstone.stats.conditions import names_in
from hardstone.stats.identity import (
    duration_problem,
    load_problem,
    pair_problem,
    series_problem,
)

TITLE = "Figures that contradict each other"
MARK = "!"
MARK_NOTE = f"{MARK} contradicts itself, as the head says: do not use it"
_MOST_TOLD = 20
_MOST_CHARACTERS = 100


class Contradiction(NamedTuple):
    """`where` names test and figure, `what` says what contradicts; `series` is None where the
    figure is of a result as a whole, or of the run."""

    where: str
    what: str
    series: Series | None = None

    @property
    def text(self) -> str:
        return f"{self.where}: {self.what}"


def contradictions(document: RunDocument) -> Iterator[Contradiction]:
    """What is wrong in the figures of `document`, the run first, then result by result."""
    if document.instrument is not None:
        problem = pair_problem(document.instrument.pair)
        if problem is not None:
            yield Contradiction("instrument", problem)
    names = names_in(document)
    for result in document.results:
        name = _shortened(names.name(result))
        for found in _result_contradictions(result):
            yield found._replace(where=f"{name} {found.where}".rstrip())


def _result_contradictions(result: Result) -> Iterator[Contradiction]:
    problem = duration_problem(result.duration_ns)
    if problem is not None:
        yield Contradiction("", problem)
    if result.instrument is not None:
        problem = pair_problem(result.instrument.pair)
        if problem is not None:
            yield Contradiction("instrument", problem)
    for reached in result.load:
        problem = load_problem(reached)
        if problem is not None:
            yield Contradiction(f"load {_shortened(reached.element)}", problem)
    for series in result.series:
        problem = series_problem(series)
        if problem is not None:
            yield Contradiction(_series_name(series), problem, series)


def told(document: RunDocument) -> list[str]:
    """A line for each of the first contradictions, and one for how many more there are."""
    found = contradictions(document)
    lines = [one.text for one in islice(found, _MOST_TOLD)]
    more = sum(1 for _ in found)
    return [*lines, f"and {more} more"] if more else lines


def is_contradictory(series: Series) -> bool:
    """Whether a figure of `series` is to be marked."""
    return series_problem(series) is not None


def trust_of(document: RunDocument) -> Trust:
    """The stored trust; untrustworthy where figures contradict each other, whatever it says."""
    first = next(contradictions(document), None)
    if first is None or first.text in document.trust.reasons:
        return document.trust
    return msgspec.structs.replace(
        document.trust, grade="untrustworthy", reasons=[first.text, *document.trust.reasons]
    )


def _series_name(series: Series) -> str:
    labels = ", ".join(f"{key} {value}" for key, value in series.labels.items())
    return _shortened(f"{series.name} [{labels}]" if labels else series.name)


def _shortened(name: str) -> str:
    is_long = len(name) > _MOST_CHARACTERS
    return f"{name[:_MOST_CHARACTERS]}\N{HORIZONTAL ELLIPSIS}" if is_long else name
