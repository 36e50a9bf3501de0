"""Several targets, or runs of one plan, side by side.

The table holds texts only; whoever shows it lays it out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from hardstone.catalogue import kind_of
from hardstone.errors import InputError
from hardstone.figure_text import level_text, quantile_value
from hardstone.model import Result, RunDocument, Series
from hardstone.present.measured_tables import works_of
from hardstone.stats.conditions import (
    AcrossRuns,
    Names,
    SeriesRow,
    VerdictRow,
    across_runs,
    conditions_of,
    listed,
    most_interesting_first,
)
from hardstone.stats.consistency import (
    MARK,
    UNEQUAL,
    UNLIKE_COUNTS,
    time_meaning,
    trust_of,
    why_incomparable,
)
from hardstone.stats.consistency import is_contradictory as contradicts
from hardstone.stats.identity import step_of
from hardstone.stats.quantiles import Quantile, count_text, lacking_quantile, quantum_of, summarise
from hardstone.wording import (
    claim_of,
    one_line,
    ratio_text,
    read_value,
    series_text,
    shorten,
    time_mark,
    worst_value,
)

WORST = "worst observed"
_LEVELS = (0.5, 0.99)
_ABSENT = "-"


@dataclass(frozen=True)
class FigureCell:
    """A figure and its ratio to that of the first target; both may be empty.

    `look` is the name of a style: "failed", "uncounted", "passed", "lacking".
    """

    text: str
    ratio: str = ""
    look: str = ""


class _SeriesFigures:
    """Count, quantiles and worst observed of the series of `row`, target by target.

    `is_comparable`: whether times of this target may be divided by those of the first one.
    """

    def __init__(
        self, row: SeriesRow, results: Sequence[Result | None], is_comparable: Sequence[bool]
    ) -> None:
        self.row = row
        self._is_comparable = is_comparable
        self._works = works_of(results, row)
        self._quantiles = list(map(_quantiles, row.found))
        self._quanta = [
            1.0 if one is None or result is None else quantum_of(one, result.instrument)
            for one, result in zip(row.found, results, strict=True)
        ]

    def lines(self) -> Iterator[tuple[str, list[FigureCell]]]:
        """The name of each figure that any target has, with its cells."""
        found = self.row.found
        yield (
            "count",
            [FigureCell(_ABSENT if one is None else count_text(one)) for one in found],
        )
        if self.is_work_unequal:
            yield "work", [FigureCell(work or _ABSENT) for work in self._works]
        for q in _LEVELS:
            quantiles = [one.get(q) for one in self._quantiles]
            texts = [
                _quantile_text(one, q, series, quantum_ns)
                for one, series, quantum_ns in zip(quantiles, found, self._quanta, strict=True)
            ]
            values = [None if one is None else one.value for one in quantiles]
            yield level_text(q), self._cells(texts, values)
            if not any(quantiles):
                break  # deeper ones need more values still
        texts = list(map(_worst_text, found, self._quanta))
        worst = [
            one.max if one is not None and self._is_count_similar(one) else None for one in found
        ]
        yield WORST, self._cells(texts, worst)

    @property
    def is_work_unequal(self) -> bool:
        """Whether a value is of another amount of work on one target than on another."""
        return len(set(filter(None, self._works))) > 1

    @property
    def is_count_unequal(self) -> bool:
        """Whether a ratio of the worst observed is left out because of the counts."""
        return any(
            one is not None and self._has_ratio(place) and not self._is_count_similar(one)
            for place, one in enumerate(self.row.found)
        )

    @property
    def is_contradictory(self) -> bool:
        """Whether figures of the series contradict each other on any target."""
        return any(one is not None and contradicts(one) for one in self.row.found)

    def _cells(self, texts: Sequence[str], values: Sequence[int | None]) -> list[FigureCell]:
        return [
            FigureCell(text, self._ratio(place, values[0], value))
            for place, (text, value) in enumerate(zip(texts, values, strict=True))
        ]

    def _ratio(self, place: int, first: int | None, value: int | None) -> str:
        if not self._has_ratio(place) or value is None or not first or min(first, value) < 0:
            return ""
        return f"x{ratio_text(value / first)}"

    def _has_ratio(self, place: int) -> bool:
        pair = (self.row.found[0], self.row.found[place])
        return (
            self._is_comparable[place]
            and not self.is_work_unequal
            and all(one is not None and one.unit == "ns" and not contradicts(one) for one in pair)
        )

    def _is_count_similar(self, series: Series) -> bool:
        first = self.row.found[0]
        counts = (first.count if first is not None else 0, series.count)
        return max(counts) <= UNLIKE_COUNTS * min(counts)


def _quantiles(series: Series | None) -> dict[float, Quantile]:
    """Quantiles by level, those that the count supports; none if the histogram is unreadable."""
    if series is None:
        return {}
    try:
        return {one.q: one for one in summarise(series, deepest=max(_LEVELS)).quantiles}
    except InputError:
        return {}


def _quantile_text(
    quantile: Quantile | None, q: float, series: Series | None, quantum_ns: float
) -> str:
    if series is None:
        return _ABSENT
    if quantile is None and contradicts(series):
        return "-"
    lacks = lacking_quantile(q, series) if quantile is None else ""
    return lacks or quantile_value(quantile, series.unit, quantum_ns, step_of(series))


def _worst_text(series: Series | None, quantum_ns: float) -> str:
    if series is None:
        return _ABSENT
    worst = read_value(worst_value(series), series.unit, quantum_ns)
    return worst + (MARK if contradicts(series) else "")


_MOST_LINES = 4
_LINE_CHARACTERS = 20
_NAME_CHARACTERS = 300
_CUT = "\N{HORIZONTAL ELLIPSIS}"


@dataclass(frozen=True)
class TargetColumn:
    """A target. `short` names it in a sentence, `lines` are its heading, `kind` what its times
    are if they are not of hardware. `legend` is its whole name, if the heading has not."""

    short: str
    lines: list[str]
    kind: str
    legend: str


def target_columns(documents: Sequence[RunDocument]) -> list[TargetColumn]:
    """A column for each run, by the name of its target.

    A name is broken at its commas. If one is too long, or is there twice, all have numbers.
    """
    names = [shorten(one.plan.target, _NAME_CHARACTERS) for one in documents]
    headings = _headings(names)
    is_plain = len(set(names)) == len(names) and all(
        "".join(lines) == name for lines, name in zip(headings, names, strict=True)
    )
    return [
        TargetColumn(
            short=name if is_plain else f"#{number}",
            lines=lines if is_plain else [f"#{number}", *lines],
            kind=time_mark(document.system),
            legend="" if is_plain else name,
        )
        for number, (name, lines, document) in enumerate(
            zip(names, headings, documents, strict=True), 1
        )
    ]


def _headings(names: Sequence[str]) -> list[list[str]]:
    """ "lab:debian,preempt=full" as ["lab:debian,", "preempt=full"].

    If there are too many settings for a heading, it leaves out those that all names have.
    """
    split = [name.split(",") for name in names]
    if max(map(len, split)) > _MOST_LINES:
        common = set.intersection(*(set(settings) for _, *settings in split))
        split = [[kernel, *(s for s in settings if s not in common)] for kernel, *settings in split]
    headings = []
    for *before, last in split:
        parts = [*(f"{one}," for one in before), last]
        lines = [shorten(part, _LINE_CHARACTERS) for part in parts]
        headings.append([*lines[:_MOST_LINES], _CUT] if len(lines) > _MOST_LINES else lines)
    return headings


_MOST_SERIES = 24  # of the whole table, but at least one of each test
_MOST_CLAIMS = 12  # of one test
_NOTE_CHARACTERS = 300
_RATIO_NOTE = "x: ratio to the first target; only of figures that can be compared"
_COUNTS_NOTE = "The worst observed has no ratio where the counts differ by more than 10 %."
MARK_NOTE = f"{MARK} cannot be true: do not use it"
Level = Literal["test", "series", "figure"]


@dataclass(frozen=True)
class TargetRow:
    """One line: a test, a claim or series of it, or a figure of that. One cell for each target."""

    level: Level
    label: str
    cells: list[FigureCell]


@dataclass(frozen=True)
class TargetTable:
    """`notes`: what a reader has to know, the most important first."""

    columns: list[TargetColumn]
    rows: list[TargetRow]
    notes: list[str]


def target_table(documents: Sequence[RunDocument]) -> TargetTable:
    """The table of `documents`, at least two runs of one plan on several targets."""
    columns = target_columns(documents)
    whys = [why_incomparable(documents[0], one) for one in documents]
    found = across_runs(documents)
    names = Names(conditions_of(documents))
    most = max(1, _MOST_SERIES // max(len(found), 1))
    is_comparable = [place > 0 and why is None for place, why in enumerate(whys)]
    groups = [_Group(one, is_comparable, most) for one in found]
    rows = [row for group in groups for row in group.rows(names)]
    notes = list(_notes(columns, documents, whys, groups))
    notes += [f"{text}: {load}" for text, load in names.legend().items()]
    return TargetTable(columns, rows, notes)


class _Group:
    """One test under one condition."""

    def __init__(self, across: AcrossRuns, is_comparable: Sequence[bool], most: int) -> None:
        self.across = across
        is_timed = kind_of(across.test) != "behaviour"
        shown = most_interesting_first(across.series) if is_timed else []
        self._more_count = max(len(shown) - most, 0)
        self.series = [_SeriesFigures(row, across.results, is_comparable) for row in shown[:most]]

    def rows(self, names: Names) -> Iterator[TargetRow]:
        """A row for the test, then those of its claims and series."""
        across = self.across
        label = names.label(across.condition)
        title = f"{across.test} [{label}]" if label else across.test
        yield TargetRow("test", title, [_state(one) for one in across.results])
        failing = [
            row for row in across.verdicts if any(one and not one.passed for one in row.found)
        ]
        for verdict in failing[:_MOST_CLAIMS]:
            yield _claim_row(verdict, across.test)
        for figures in self.series:
            row = figures.row
            common = dict(row.key[1])  # without the CPU if it differs between targets
            name = series_text(row.first, [name for name in row.first.labels if name in common])
            yield TargetRow("series", name, [])
            for name, cells in figures.lines():
                yield TargetRow("figure", name, cells)
        if self._more_count:
            yield TargetRow("series", f"{self._more_count} more series", [])


def _state(result: Result | None) -> FigureCell:
    """The status of a result that was not measured in full, else how many of its claims hold."""
    if result is None:
        return FigureCell("not run", look="lacking")
    if result.status != "measured":
        return FigureCell(result.status, look="lacking")
    if not result.complete:
        return FigureCell("incomplete", look="lacking")
    claims = [claim_of(one, result.test) for one in result.verdicts]
    if not claims:
        return FigureCell("")
    look = "failed" if any(one.look == "failed" for one in claims) else ""
    return FigureCell(f"{sum(one.passed for one in claims)} of {len(claims)} hold", look=look)


def _claim_row(row: VerdictRow, test: str) -> TargetRow:
    claims = [None if verdict is None else claim_of(verdict, test) for verdict in row.found]
    name = next(one.name for one in claims if one is not None)
    cells = [
        FigureCell(_ABSENT) if one is None else FigureCell(one.word, look=one.look)
        for one in claims
    ]
    return TargetRow("series", name, cells)


def _notes(
    columns: Sequence[TargetColumn],
    documents: Sequence[RunDocument],
    whys: Sequence[str | None],
    groups: Sequence[_Group],
) -> Iterator[str]:
    """Notes on the ratios, the kinds of time, the figures and the trust. `whys`: why a target
    cannot be compared with the first one."""
    for column, why in zip(columns, whys, strict=True):
        if why is not None:
            yield f"{column.short}: no ratio: {why}"
    if any(why is None for why in whys[1:]):
        yield _RATIO_NOTE
    systems = [one.system for one in documents if time_mark(one.system)]
    yield from dict.fromkeys(f"{time_mark(one)} {time_meaning(one)}" for one in systems)
    unequal = [one.across.test for one in groups if any(s.is_work_unequal for s in one.series)]
    if unequal:
        yield f"{UNEQUAL}: {listed(unequal)}"
    shown = [figures for group in groups for figures in group.series]
    if any(figures.is_count_unequal for figures in shown):
        yield _COUNTS_NOTE
    if any(figures.is_contradictory for figures in shown):
        yield MARK_NOTE
    for column, document in zip(columns, documents, strict=True):
        trust = trust_of(document)
        if trust.grade == "untrustworthy":
            reason = shorten(trust.reasons[0], _NOTE_CHARACTERS) if trust.reasons else "no reason"
            yield f"{column.short} is not trustworthy: {one_line(reason)}"
