"""The tire in a report: the section of a page, and the sheets on paper."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hardstone.model import RunDocument
from hardstone.report.drawing import Drawer
from hardstone.report.figures import Figure, drawn
from hardstone.report.sheet import Sheet
from hardstone.simulation import tables
from hardstone.simulation.figures import blocks_tables, picture_figures, side_figures, tire_figures
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
from hardstone.wording import short

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
    document: RunDocument, drawer: Drawer, *, other: RunDocument | None = None
) -> TirePage | None:
    """None where the run has no result of the tire. `other`: a run to stand beside this one."""
    if not has_tire(document):
        return None
    points = points_of(document)
    rows = bound_rows(document, points)
    listed = point_rows(document, points)
    pictures, blocks = _pictures(document, drawer)
    more = f", the first {len(listed)} of them" if len(listed) < len(points) else ""
    statements = statement_texts(document, points)
    beside = _beside(document, other) if other else []
    told = [] if isinstance(beside, str) else beside
    return TirePage(
        rows=rows,
        has_solver=len({row.solver for row in rows}) > 1,
        fast=fast_rows(document, points),
        statements=statements,
        sides=side_figures(statements, "tire-sides", drawer),
        beside=told,
        beside_sides=side_figures(told, "tire-beside", drawer),
        not_beside=beside if isinstance(beside, str) else "",
        costs=cost_table(document, points),
        study=published_tire(document, points),
        figures=tire_figures(document, points, drawer),
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
    document: RunDocument, drawer: Drawer
) -> tuple[list[Figure], list[tuple[str, tuple[str, ...], list[tuple[str, ...]]]]]:
    """The falling tire first, then the steps of threads, of all results that kept tables."""
    found: list[Figure] = []
    blocks = []
    for number, result in enumerate(document.results):
        if result.test in TESTS and result.tables:
            found += picture_figures(result, f"tire-{number}", drawer)
            blocks += blocks_tables(result)
    return sorted(found, key=lambda one: not one.id.endswith("-tire")), blocks


_CHARTS_EACH = 4


def tire_sheets(subject: str, page: TirePage) -> Iterator[Sheet]:
    """`subject` names the machine."""
    yield _held(subject, page)
    if page.fast:
        sheet = _headed(subject, "Tire simulation: as fast as possible")
        sheet.table(page.fast_headings, page.fast)
        sheet.text(page.fast_meaning, 7.5, colour="quiet")
        yield sheet
    figures = [*page.sides, *page.beside_sides, *page.figures, *page.pictures]
    for at in range(0, len(figures), _CHARTS_EACH):
        found = figures[at : at + _CHARTS_EACH]
        sheet = _headed(subject, "Tire simulation, charts")
        for one in found:
            sheet.text(f"{one.title}: {one.about}", 7.5, colour="quiet")
        sheet.gap(4)
        sheet.drawings(drawn(found), columns=2)
        yield sheet
    yield _model(subject, page)


def _headed(subject: str, title: str) -> Sheet:
    sheet = Sheet()
    sheet.text(subject, 8, colour="quiet")
    sheet.text(title, 14, bold=True)
    sheet.gap(4)
    return sheet


def _held(subject: str, page: TirePage) -> Sheet:
    sheet = _headed(subject, "Tire simulation: what held in real time")
    for line in (*page.denied, *page.problems):
        sheet.text(line, 8, colour="fair")
    head = ["Policy", "Threads", "Held", "Missed at", "Missed", "95 % bound", "Mean", "p99", "Max"]
    rows = [
        [", ".join(filter(None, (row.policy, row.under, row.solver))), *row.cells[2:]]
        for row in page.rows
    ]
    sheet.table(head, rows)
    for text in (page.held_meaning, page.steps_meaning):
        sheet.text(text, 7.5, colour="quiet")
    sheet.gap(6)
    sheet.text(page.statement_title, 11, bold=True)
    if page.not_beside:
        sheet.text(f"Beside the other run: not compared: {page.not_beside}", 8, colour="fair")
    for one in (*page.statements, *page.beside):
        sheet.text(f"{one.title}: {one.conclusion}", 9, bold=one.is_decided)
        for text in (one.speed, one.misses, *(f"Open: {text}." for text in one.needed)):
            sheet.text(text, 8)
        sheet.table(["", one.first, one.second], one.rows)
        sheet.gap(4)
    sheet.text(page.statement_meaning if page.statements else page.one_side, 7.5, colour="quiet")
    return sheet


def _model(subject: str, page: TirePage) -> Sheet:
    sheet = _headed(subject, "Tire simulation: cost model, and the study")
    if page.costs.rows:
        sheet.table(page.cost_headings, page.costs.rows)
        sheet.text(page.costs_meaning, 7.5, colour="quiet")
    for text in (*page.costs.notes, *page.costs.lacking):
        sheet.text(text, 7.5, colour="quiet")
    sheet.gap(6)
    sheet.text(f"Published: {page.study.short}, on {page.study.hardware}", 11, bold=True)
    sheet.table(page.study_headings, page.study.rows)
    sheet.text(f"This run: {page.study.refused or page.study.own_hardware}", 7.5, colour="quiet")
    sheet.text(f"Pre-test of the study: {page.study.pretest}", 7.5, colour="quiet")
    return sheet
