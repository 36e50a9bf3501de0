"""The section "Tire simulation" of a report: tables, statements and charts of all its points."""

from __future__ import annotations

from dataclasses import dataclass

from hardstone.model import RunDocument
from hardstone.present.wording import short
from hardstone.report.drawing import Drawer
from hardstone.report.figures import Figure
from hardstone.report.tire_figures import tire_figures
from hardstone.report.tire_pictures import blocks_tables, picture_figures
from hardstone.report.tire_side_figures import side_figures
from hardstone.simulation import tables
from hardstone.simulation.results import TESTS, has_tire, points_of, problems_of
from hardstone.simulation.tables import (
    HELD,
    BoundRow,
    CostTable,
    PublishedTire,
    StatementText,
    bound_rows,
    cost_table,
    denied_lines,
    fast_rows,
    paused_lines,
    point_rows,
    published_tire,
    statement_texts,
    texts_between,
)
from hardstone.units import format_count

_MOST_PROBLEMS = 12
_MOST_PICTURES = 7


@dataclass(frozen=True)
class TirePage:
    """`points` has at most some hundred rows. `denied`: what was refused, or paused."""

    rows: list[BoundRow]
    has_solver: bool
    fast: list[tuple[str, ...]]
    statements: list[StatementText]
    sides: list[Figure]
    beside: list[StatementText]
    beside_sides: list[Figure]
    not_beside: str
    costs: CostTable
    study: PublishedTire
    figures: list[Figure]
    pictures: list[Figure]
    pictures_left_out: int
    blocks: list[tuple[str, tuple[str, ...], list[tuple[str, ...]]]]
    points: list[tuple[str, ...]]
    points_caption: str
    problems: list[str]
    denied: list[str]
    held_meaning: str = HELD
    steps_meaning: str = tables.STEPS
    fast_meaning: str = tables.MEANING
    fast_headings: tuple[str, ...] = tuple(one[0].upper() + one[1:] for one in tables.FAST_HEADINGS)
    statement_title: str = tables.TITLE
    statement_meaning: str = tables.STATEMENT_ABOUT
    one_side: str = tables.ONE_SIDE
    costs_meaning: str = tables.COST_ABOUT
    cost_headings: tuple[str, ...] = tuple(map(str.capitalize, tables.COST_HEADINGS))
    study_headings: tuple[str, ...] = tuple(map(str.capitalize, tables.PUBLISHED_HEADINGS))
    point_headings: tuple[str, ...] = tuple(
        one[0].upper() + one[1:] for one in tables.POINT_HEADINGS
    )
    points_meaning: str = tables.POINTS


def tire_page(
    document: RunDocument, drawer: Drawer, *, live: bool, other: RunDocument | None = None
) -> TirePage | None:
    """None where the run has no result of the tire. `other`: a run to stand beside this one."""
    if not has_tire(document):
        return None
    points = points_of(document)
    rows = bound_rows(document, points)
    listed = point_rows(document, points)
    pictures, blocks = _pictures(document, drawer, live=live)
    more = f", the first {len(listed)} of them" if len(listed) < len(points) else ""
    statements = statement_texts(document, points)
    beside = _beside(document, other) if other else []
    told = [] if isinstance(beside, str) else beside
    return TirePage(
        rows=rows,
        has_solver=len({row.solver for row in rows}) > 1,
        fast=fast_rows(document, points),
        statements=statements,
        sides=side_figures(statements, "tire-sides", drawer, live=live),
        beside=told,
        beside_sides=side_figures(told, "tire-beside", drawer, live=live),
        not_beside=beside if isinstance(beside, str) else "",
        costs=cost_table(document, points),
        study=published_tire(document, points),
        figures=tire_figures(document, points, drawer, live=live),
        pictures=pictures[:_MOST_PICTURES],
        pictures_left_out=max(0, len(pictures) - _MOST_PICTURES),
        blocks=blocks[:_MOST_PICTURES],
        points=listed,
        points_caption=f"All {format_count(len(points))} points{more}",
        problems=problems_of(points)[:_MOST_PROBLEMS],
        denied=[*denied_lines(points), *paused_lines(points)],
    )


def _beside(document: RunDocument, other: RunDocument) -> list[StatementText] | str:
    """What both runs say beside each other, or why nothing."""
    first, second = (_label(one, "kernel.release") for one in (document, other))
    if first == second:
        first, second = document.name, other.name
    if first == second:
        first, second = document.id, other.id
    found = texts_between(document, other, (first, second))
    return found or "no size, number of threads and policy that both have"


def _label(document: RunDocument, fact: str) -> str:
    return short(document.system.get(fact), 24)


def _pictures(
    document: RunDocument, drawer: Drawer, *, live: bool
) -> tuple[list[Figure], list[tuple[str, tuple[str, ...], list[tuple[str, ...]]]]]:
    """The falling tire first, then the steps of threads, of all results that kept tables."""
    found: list[Figure] = []
    blocks = []
    for number, result in enumerate(document.results):
        if result.test in TESTS and result.tables:
            found += picture_figures(result, f"tire-{number}", drawer, live=live)
            blocks += blocks_tables(result)
    return sorted(found, key=lambda one: not one.id.endswith("-tire")), blocks
