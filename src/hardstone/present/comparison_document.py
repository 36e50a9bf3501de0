"""`hardstone.comparison/1`: a comparison for programs, every figure with its source."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from hardstone.model import Unit
from hardstone.present.compare_view import (
    ComparedCell,
    ComparedRow,
    ComparedTest,
    CompareView,
    ConditionRow,
    PlainTable,
    SystemColumn,
    SystemPoints,
    Yardstick,
)
from hardstone.present.wording import is_rate
from hardstone.stats.two_runs import QuantileRatio
from hardstone.systems.rating import Rating
from hardstone.systems.subjects import Amount, Missing

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
