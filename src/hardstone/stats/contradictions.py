"""Figures of a run that contradict each other: one rule for terminal, page and trust."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
MARK_NOTE = f"{MARK} contradicts other figures (see the top): do not use it"
_MOST_TOLD = 20
_MOST_CHARACTERS = 100


class Contradiction(NamedTuple):
    """`where` names test and figure, `what` the contradiction. `series` is None if the figure
    belongs to the whole result or run."""

    where: str
    what: str
    series: Series | None = None

    @property
    def text(self) -> str:
        return f"{self.where}: {self.what}"


def contradictions(document: RunDocument) -> Iterator[Contradiction]:
    """The contradictions in `document`: those of the run first, then result by result."""
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


def told(document: RunDocument, known: Sequence[Contradiction] | None = None) -> list[str]:
    """A line for each of the first contradictions, then the number of the others. `known`: those
    of `contradictions`, where they are."""
    found = iter(contradictions(document) if known is None else known)
    lines = [one.text for one in islice(found, _MOST_TOLD)]
    more = sum(1 for _ in found)
    return [*lines, f"and {more} more"] if more else lines


def is_contradictory(series: Series) -> bool:
    """Whether the figures of `series` contradict each other."""
    return series_problem(series) is not None


def trust_of(document: RunDocument, known: Sequence[Contradiction] | None = None) -> Trust:
    """The stored trust, but always untrustworthy if figures contradict each other. `known`: the
    contradictions, where they were looked for before."""
    first = next(iter(contradictions(document) if known is None else known), None)
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
