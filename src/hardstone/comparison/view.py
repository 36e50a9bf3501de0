"""A comparison of systems as data: what `hardstone compare` shows, and the same as a document
(`hardstone.comparison/1`).

A system is a run under one condition or a published system. Every list of cells has one for each
system, in their order. Numbers are in the unit of their series; words are ready to be shown, and
untrusted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from hardstone.model import Series, Unit
from hardstone.stats.two_runs import QuantileRatio
from hardstone.systems.rating import Rating
from hardstone.systems.subjects import Amount, Missing, Subject, SubjectSeries
from hardstone.wording import is_rate

MOST_SYSTEMS = 20
LEAST_SYSTEMS = 2


@dataclass(frozen=True)
class SystemColumn:
    """One system. `number` counts from 1 in the order of the command line and names it where its
    `label` has no room; `id` is what a command takes. `study`, `hardware` and `year` are always
    shown. `trust` is "" for a published system. `mark` says that its times are emulated. `apart`:
    why its times stand beside those of the reference in grey, without a ratio; "" if they may."""

    number: int
    id: str
    label: str
    subject: Subject
    is_published: bool
    is_reference: bool
    study: str
    hardware: str
    year: str
    trust: str
    trust_reasons: list[str]
    mark: str
    apart: str
    rating: Rating


@dataclass(frozen=True)
class ComparedCell:
    """One series of one system. `worst` is the largest value, of a rate the least; of the shortest
    sustained period the period itself.

    `is_grey` with `why`: it may not be compared with the reference. `worst_why`: why the worst
    alone may not, the mean and the ratio may. `marks` are short remarks on the figure ("equals the
    tick", "cannot be true"), `notes` longer ones. `ratio`: of the medians, to the reference, both
    measured, neither grey. `predictability`: worst over mean, of a rate mean over least. `more` has
    the figures for `ComparedRow.more`.
    """

    mean: Amount | Missing
    worst: Amount | Missing
    held: SubjectSeries | None = None
    is_grey: bool = False
    why: str = ""
    marks: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    ratio: QuantileRatio | None = None
    predictability: float | None = None
    worst_why: str = ""
    more: tuple[Amount | Missing, ...] = ()

    @property
    def series(self) -> Series | None:
        """The distribution, where the system is a run."""
        return self.held.series if self.held else None


@dataclass(frozen=True)
class ComparedRow:
    """One series across the systems. `address` finds it again; `label` is for people. `more` names
    further statistics that a study published or that a ratio is of: "p50", "min", "time_90"."""

    address: str
    label: str
    unit: Unit
    cells: list[ComparedCell]
    more: tuple[str, ...] = ()


Look = Literal["passed", "failed", "uncounted", "quiet"]


@dataclass(frozen=True)
class ClaimCell:
    """What a system does: "holds", "fails", or why it is not known; `evidence` is its own words."""

    word: str
    look: Look
    evidence: str = ""


@dataclass(frozen=True)
class ClaimRow:
    name: str
    claim: str
    cells: list[ClaimCell]


@dataclass(frozen=True)
class ComparedTest:
    """One test in detail. `moments` say between which two moments each series is measured;
    `published` has statements of studies in words, with their source."""

    test: str
    title: str
    about: str
    category: str
    moments: list[tuple[str, str]]
    rows: list[ComparedRow]
    claims: list[ClaimRow]
    states: list[str]
    published: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class PlainTable:
    """A table of words: preemption beside HP's, the ladder of priorities, worst cases of [G].

    `anchor` is a name for links; `notes` follow the table. A cell that starts a row is a heading.
    """

    anchor: str
    title: str
    about: str
    columns: list[str]
    rows: list[list[str]]
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class ConditionRow:
    """One condition of all systems, "-" where it is not known. `differs`: not all alike."""

    name: str
    cells: list[str]
    differs: bool


@dataclass(frozen=True)
class SystemPoints:
    """What speaks for a system and what against it; each follows from a result by a rule."""

    positive: list[str]
    negative: list[str]


@dataclass(frozen=True)
class Yardstick:
    """A published line in pictures of latency: 1000 us "mean: not real-time above", 10 us [L]."""

    value_ns: int
    text: str


@dataclass(frozen=True)
class CompareView:
    """The whole comparison. `reference` is the place of the system that others are set against.

    `decisive` has the rows of the summary: tick duration, switch with the most threads, sustained
    interrupts, semaphore and mutex with and without contention, wake-up latency. `criteria`: what
    each number of stars means, from 5 down. `tables`: those of the older studies.
    """

    columns: list[SystemColumn]
    reference: int
    decisive: list[ComparedRow]
    points: list[SystemPoints]
    criteria: list[tuple[str, str, str]]
    tests: list[ComparedTest]
    tables: list[PlainTable]
    conditions: list[ConditionRow]
    yardsticks: list[Yardstick]
    notes: list[str]


COMPARISON_SCHEMA = "hardstone.comparison/1"


class Figure(msgspec.Struct, kw_only=True):
    """One figure in the unit of its row: a value, or that it is below or above a bound.

    `missing`: why there is none; then `source` is empty.
    """

    statistic: str
    value: float | None = None
    below: float | None = None
    above: float | None = None
    source: str = ""
    notes: list[str] = []
    missing: str | None = None


class Cell(msgspec.Struct, kw_only=True):
    """The figures of one system: mean, worst, then those that the row names in `more`.

    `grey`: why none of them may be compared with the reference; `worst_grey`: why the worst alone
    may not; null: they may. `ratio`: of the medians, to the reference. `predictability`: worst over
    mean. `count`: values of a run; null: not known.
    """

    figures: list[Figure]
    count: int | None
    grey: str | None
    worst_grey: str | None
    marks: list[str]
    notes: list[str]
    ratio: QuantileRatio | None
    predictability: float | None


class Row(msgspec.Struct, kw_only=True):
    """One series; `cells` has one for each system. `decisive`: it is in the summary."""

    address: str
    label: str
    unit: Unit
    more: list[str]
    decisive: bool
    cells: list[Cell]


class JudgedCell(msgspec.Struct, kw_only=True):
    word: str
    look: str
    evidence: str


class JudgedClaim(msgspec.Struct, kw_only=True):
    name: str
    claim: str
    cells: list[JudgedCell]


class DetailedTest(msgspec.Struct, kw_only=True):
    """One test; `states` has one word for each system: "measured", "not run", "published"."""

    test: str
    title: str
    category: str
    states: list[str]
    rows: list[Row]
    claims: list[JudgedClaim]
    published: list[str]


class System(msgspec.Struct, kw_only=True):
    """One system. `apart`: why its times stand beside those of the reference without a ratio."""

    number: int
    id: str
    label: str
    is_published: bool
    is_reference: bool
    study: str
    hardware: str
    year: str
    trust: str | None
    trust_reasons: list[str]
    mark: str
    apart: str | None
    conditions: dict[str, str]
    rating: Rating
    points: SystemPoints


class ComparisonDocument(msgspec.Struct, kw_only=True):
    """`systems` are in the order of the command line, as all lists of cells are; `reference` is a
    place among them, from 0. `summary` has the decisive rows, some of which are of no test alone
    (the worst CPU of each system)."""

    schema: str
    reference: int
    systems: list[System]
    summary: list[Row]
    tests: list[DetailedTest]
    tables: list[PlainTable]
    conditions: list[ConditionRow]
    yardsticks: list[Yardstick]
    criteria: dict[str, tuple[str, str]]
    notes: list[str]


def comparison_document(view: CompareView) -> ComparisonDocument:
    """`view` as data for programs: every figure with its unit and source."""
    decisive = {one.address for one in view.decisive}
    return ComparisonDocument(
        schema=COMPARISON_SCHEMA,
        reference=view.reference,
        systems=[
            _system(one, points, view.conditions, place)
            for place, (one, points) in enumerate(zip(view.columns, view.points, strict=True))
        ],
        summary=[_row(one, is_decisive=True) for one in view.decisive],
        tests=[_test(one, decisive) for one in view.tests],
        tables=view.tables,
        conditions=view.conditions,
        yardsticks=view.yardsticks,
        criteria={stars: (configuration, result) for stars, configuration, result in view.criteria},
        notes=view.notes,
    )


def _system(
    one: SystemColumn, points: SystemPoints, rows: list[ConditionRow], place: int
) -> System:
    return System(
        number=one.number,
        id=one.id,
        label=one.label,
        is_published=one.is_published,
        is_reference=one.is_reference,
        study=one.study,
        hardware=one.hardware,
        year=one.year,
        trust=one.trust or None,
        trust_reasons=one.trust_reasons,
        mark=one.mark,
        apart=one.apart or None,
        conditions=_conditions(rows, place),
        rating=one.rating,
        points=points,
    )


def _conditions(rows: list[ConditionRow], place: int) -> dict[str, str]:
    return {row.name: row.cells[place] for row in rows if row.cells[place] != "-"}


def _test(one: ComparedTest, decisive: set[str]) -> DetailedTest:
    return DetailedTest(
        test=one.test,
        title=one.title,
        category=one.category,
        states=one.states,
        rows=[_row(row, is_decisive=row.address in decisive) for row in one.rows],
        claims=[
            JudgedClaim(
                name=row.name,
                claim=row.claim,
                cells=[
                    JudgedCell(word=cell.word, look=cell.look, evidence=cell.evidence)
                    for cell in row.cells
                ],
            )
            for row in one.claims
        ],
        published=one.published,
    )


def _row(one: ComparedRow, *, is_decisive: bool) -> Row:
    """The worst of a rate, or of a sustained period, is the least: the figures say which it is."""
    told = (cell.worst.statistic for cell in one.cells if isinstance(cell.worst, Amount))
    worst = next(told, "min" if is_rate(one.unit) else "max")
    return Row(
        address=one.address,
        label=one.label,
        unit=one.unit,
        more=list(one.more),
        decisive=is_decisive,
        cells=[_cell(cell, one, worst) for cell in one.cells],
    )


def _cell(one: ComparedCell, row: ComparedRow, worst: str) -> Cell:
    named: Mapping[str, Amount | Missing] = dict(zip(row.more, one.more, strict=False))
    return Cell(
        figures=[
            _figure("mean", one.mean),
            _figure(worst, one.worst),
            *(_figure(name, found) for name, found in named.items()),
        ],
        count=one.series.count if one.series else None,
        grey=one.why if one.is_grey else None,
        worst_grey=one.worst_why or None,
        marks=list(one.marks),
        notes=list(one.notes),
        ratio=one.ratio,
        predictability=one.predictability,
    )


def _figure(statistic: str, one: Amount | Missing) -> Figure:
    if isinstance(one, Missing):
        return Figure(statistic=statistic, missing=one.reason)
    return Figure(
        statistic=one.statistic,
        value=one.value,
        below=one.below,
        above=one.above,
        source=one.source,
        notes=list(one.notes),
    )
