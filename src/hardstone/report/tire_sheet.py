"""The tire on paper: a page of what held and of statements, pages of charts, one of the model."""

from __future__ import annotations

from collections.abc import Iterator

from hardstone.report.figures import drawn
from hardstone.report.sheet import Sheet
from hardstone.report.tire_page import TirePage

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
