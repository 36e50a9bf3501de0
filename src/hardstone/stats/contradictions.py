"""Figures of a run that cannot be true: one rule for terminal, page, trust, rating and gate.

They contradict each other, or are values that are impossible whatever the system does: an event
before its cause, a time longer than the measurement. The probe's descriptors state what is possible
for each series (`struct series_spec`, probe/src/run/test.h).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import msgspec

from hardstone.model import Result, RunDocument, Series, Trust
from hardstone.stats.conditions import names_in
from hardstone.stats.identity import (
    MAX_VALUE,
    duration_problem,
    edges_of,
    load_problem,
    observation_problem,
    pair_problem,
    parse_layout,
    series_problem,
)
from hardstone.units import format_count, format_ns

TITLE = "Figures that cannot be true"
MARK = "!"
MARK_NOTE = f"{MARK} cannot be true (see the top): do not use it"
_WRONG_CLOCK = "the clock or a timer is wrong: run CLK-B-RES TMR-B-EDGE"
_OF_WRONG = "computed from figures that cannot be true"
# The counter may run as far from CLOCK_MONOTONIC before the probe refuses it (base/clock.h).
_CLOCKS_APART = 500e-6
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
    problem = observation_problem(result)
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
    yield from series_contradictions(result)


def series_contradictions(result: Result) -> Iterator[Contradiction]:
    """Those of the series of a result. What is computed from a wrong one is wrong, too."""
    is_source_wrong = False
    derived = []
    for series in result.series:
        problem = contradiction_of(series)
        if problem is not None:
            is_source_wrong = is_source_wrong or series.derived is None
            yield Contradiction(_series_name(series), problem, series)
        elif series.derived is not None and series.count:
            derived.append(series)
    if is_source_wrong:
        for series in derived:
            yield Contradiction(_series_name(series), _OF_WRONG, series)


def told(document: RunDocument, known: Sequence[Contradiction] | None = None) -> list[str]:
    """A line for each of the first contradictions, then the number of the others. `known`: those
    of `contradictions`, where they are."""
    found = iter(contradictions(document) if known is None else known)
    lines = [one.text for one in islice(found, _MOST_TOLD)]
    more = sum(1 for _ in found)
    return [*lines, f"and {more} more"] if more else lines


def is_contradictory(series: Series) -> bool:
    """Whether figures of `series` cannot be true."""
    return contradiction_of(series) is not None


def contradiction_of(series: Series) -> str | None:
    """Why figures of `series` cannot be true, or None."""
    return series_problem(series) or _impossible(series)


def _impossible(series: Series) -> str | None:
    """Values of a sound series that are impossible: how many, and the worst of them."""
    if series.min is None or series.max is None:
        return None
    is_timed = series.unit == "ns" and series.derived is None
    least, most = series.possible_min, series.possible_max
    if least is None and series.derived is None:
        least = 0  # probes before these bounds
    if least is not None and series.min < least:
        count = series.histogram.underflow + _count_in(series, 0, least - 1)
        if is_timed:
            return f"{_beyond(series, count, 'negative, down to', series.min)}; {_WRONG_CLOCK}"
        which = f"below {_said(series, least)}, down to"
        return f"{_beyond(series, count, which, series.min)}, which is impossible"
    slack = 0 if most is None or not is_timed else round(most * _CLOCKS_APART)
    if most is None or series.max <= most + slack:
        return None
    count = max(1, series.histogram.overflow + _count_in(series, most + 1, MAX_VALUE))
    if is_timed:
        which = f"above the {_said(series, most)} of the measurement, up to"
        return f"{_beyond(series, count, which, series.max)}; {_WRONG_CLOCK}"
    which = f"above {_said(series, most)}, up to"
    return f"{_beyond(series, count, which, series.max)}, which is impossible"


def _beyond(series: Series, count: int, which: str, worst: int) -> str:
    be = "is" if count == 1 else "are"
    return f"{count} of {series.count} values {be} {which} {_said(series, worst)}"


def _said(series: Series, value: int) -> str:
    return format_ns(value) if series.unit == "ns" else format_count(value)


def _count_in(series: Series, least: int, most: int) -> int:
    """Values in the buckets that lie between both."""
    bits = parse_layout(series.histogram.layout)
    ends = ((edges_of(index, bits), count) for index, count in series.histogram.buckets)
    return sum(count for (low, high), count in ends if least <= low and high <= most)


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
