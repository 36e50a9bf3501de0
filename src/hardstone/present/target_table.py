"""Runs of one plan on several targets as one table: tests and series down, targets across.

The table holds texts only; whoever shows it lays it out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from hardstone.catalogue import kind_of
from hardstone.model import Result, RunDocument
from hardstone.present.claims import Claim, claim_of
from hardstone.present.target_figures import FigureCell, SeriesFigures
from hardstone.present.target_labels import TargetColumn, target_columns
from hardstone.present.time_words import time_mark
from hardstone.present.wording import one_line, series_text, shorten
from hardstone.stats.calibrated import UNEQUAL
from hardstone.stats.comparison import SeriesRow, VerdictRow
from hardstone.stats.conditions import Names, listed
from hardstone.stats.contradictions import MARK, trust_of
from hardstone.stats.kind_of_time import time_meaning, why_incomparable
from hardstone.stats.several_runs import (
    AcrossRuns,
    across_runs,
    conditions_of,
    most_interesting_first,
)

_MOST_SERIES = 24  # of the whole table, but at least one of each test
_MOST_CLAIMS = 12  # of one test
_NOTE_CHARACTERS = 300
RATIO_NOTE = "x: ratio to the first target; only of figures that can be compared"
COUNTS_NOTE = "The worst observed has no ratio where the counts differ by more than 10 %."
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
    """`notes`: what has to be known to read it, in the order of weight."""

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
    notes = [
        *_ratio_notes(columns, whys),
        *_time_notes(documents),
        *_group_notes(groups),
        *_trust_notes(columns, documents),
        *(f"{text}: {load}" for text, load in names.legend().items()),
    ]
    return TargetTable(columns, rows, notes)


class _Group:
    """One test under one condition."""

    def __init__(self, across: AcrossRuns, is_comparable: Sequence[bool], most: int) -> None:
        self.across = across
        is_timed = kind_of(across.test) != "behaviour"
        shown = most_interesting_first(across.series) if is_timed else []
        self._more_count = max(len(shown) - most, 0)
        self.series = [SeriesFigures(row, across.results, is_comparable) for row in shown[:most]]

    def rows(self, names: Names) -> Iterator[TargetRow]:
        across = self.across
        label = names.label(across.condition)
        title = f"{across.test} [{label}]" if label else across.test
        yield TargetRow("test", title, [_state(one) for one in across.results])
        for verdict in _telling(across.verdicts):
            yield _claim_row(verdict, across.test)
        for figures in self.series:
            yield TargetRow("series", _series_name(figures.row), [])
            for name, cells in figures.lines():
                yield TargetRow("figure", name, cells)
        if self._more_count:
            yield TargetRow("series", f"{self._more_count} more series", [])


def _series_name(row: SeriesRow) -> str:
    """Without the CPU if that is not the same on every target."""
    labels = dict(row.key[1])
    return series_text(row.first, [name for name in row.first.labels if name in labels])


def _state(result: Result | None) -> FigureCell:
    """The status of a result that was not measured in full, else how many of its claims hold."""
    if result is None:
        return FigureCell("not run", look="lacking")
    if result.status != "measured":
        return FigureCell(result.status, look="lacking")
    if not result.complete:
        return FigureCell("incomplete", look="lacking")
    return _held([claim_of(one, result.test) for one in result.verdicts])


def _held(claims: Sequence[Claim]) -> FigureCell:
    if not claims:
        return FigureCell("")
    look = "failed" if any(one.look == "failed" for one in claims) else ""
    return FigureCell(f"{sum(one.passed for one in claims)} of {len(claims)} hold", look=look)


def _telling(verdicts: Sequence[VerdictRow]) -> list[VerdictRow]:
    """The claims that do not hold on every target where they were judged."""
    failing = [row for row in verdicts if any(one and not one.passed for one in row.found)]
    return failing[:_MOST_CLAIMS]


def _claim_row(row: VerdictRow, test: str) -> TargetRow:
    claims = [None if verdict is None else claim_of(verdict, test) for verdict in row.found]
    name = next(one.name for one in claims if one is not None)
    return TargetRow("series", name, list(map(_claim_cell, claims)))


def _claim_cell(claim: Claim | None) -> FigureCell:
    return FigureCell("-") if claim is None else FigureCell(claim.word, look=claim.look)


def _ratio_notes(columns: Sequence[TargetColumn], whys: Sequence[str | None]) -> Iterator[str]:
    for column, why in zip(columns, whys, strict=True):
        if why is not None:
            yield f"{column.short}: no ratio: {why}"
    if any(why is None for why in whys[1:]):
        yield RATIO_NOTE


def _time_notes(documents: Sequence[RunDocument]) -> list[str]:
    """What each mark in the headings means for the times below it."""
    systems = [one.system for one in documents if time_mark(one.system)]
    return list(dict.fromkeys(f"{time_mark(one)} {time_meaning(one)}" for one in systems))


def _group_notes(groups: Sequence[_Group]) -> Iterator[str]:
    unequal = [one.across.test for one in groups if any(s.is_work_unequal for s in one.series)]
    if unequal:
        yield f"{UNEQUAL}: {listed(unequal)}"
    shown = [figures for group in groups for figures in group.series]
    if any(figures.is_count_unlike for figures in shown):
        yield COUNTS_NOTE
    if any(figures.is_contradictory for figures in shown):
        yield MARK_NOTE


def _trust_notes(
    columns: Sequence[TargetColumn], documents: Sequence[RunDocument]
) -> Iterator[str]:
    for column, document in zip(columns, documents, strict=True):
        trust = trust_of(document)
        if trust.grade == "untrustworthy":
            reason = shorten(trust.reasons[0], _NOTE_CHARACTERS) if trust.reasons else "no reason"
            yield f"{column.short} is not trustworthy: {one_line(reason)}"
