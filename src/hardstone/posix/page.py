"""POSIX on paper: pages of options, one of limits and profiles, one of features and coverage."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hardstone.posix.tables import PartTable, PosixTable
from hardstone.report.sheet import Sheet

_ROWS_EACH = 50  # of a page, most of one line


def posix_sheets(subject: str, table: PosixTable) -> Iterator[Sheet]:
    """The pages of one result of POS-B-INV; `subject` names the machine."""
    yield from _options(subject, table)
    yield _limits(subject, table)
    yield _features(subject, table)


def _options(subject: str, table: PosixTable) -> Iterator[Sheet]:
    for number, parts in enumerate(_together(table.parts)):
        sheet = Sheet.headed(subject, f"{table.title}: POSIX inventory, options")
        if number == 0:
            if table.state:
                sheet.text(f"Incomplete: {table.state}", 9, colour="fair", bold=True)
            for problem in table.problems:
                sheet.text(problem, 8, colour="fair")
            sheet.text(table.means, 7.5, colour="quiet")
        rows = []
        for part in parts:
            rows.append([part.title, "", "", "", ""])
            for row in part.rows:
                remark = "; ".join(filter(None, (row.remark, row.why)))
                rows.append([f"  {row.option}", row.headers, row.sysconf, row.call, remark])
        head = ["Option", "Headers", "sysconf", "Call", "Remark"]
        sheet.table(head, rows, is_numeric=False)
        yield sheet


def _together(parts: Sequence[PartTable]) -> Iterator[list[PartTable]]:
    """The parts of each page; at least one page."""
    page: list[PartTable] = []
    for part in parts:
        if page and sum(len(one.rows) + 1 for one in page) + len(part.rows) > _ROWS_EACH:
            yield page
            page = []
        page.append(part)
    yield page


def _limits(subject: str, table: PosixTable) -> Sheet:
    sheet = Sheet.headed(subject, f"{table.title}: POSIX inventory, limits and profiles")
    for one in table.claims:
        colour = "bad" if one.look == "failed" else "ink"
        sheet.text(f"{one.word}: {one.name}: {one.evidence}", 8.5, colour=colour)
    sheet.gap(4)
    profiles = [[row.profile, row.state, row.missing or "-"] for row in table.profiles]
    sheet.table(["Profile", "State", "Missing"], profiles, is_numeric=False)
    sheet.text(table.profiles_meaning, 7.5, colour="quiet")
    sheet.gap(6)
    sheet.table(["Resolution", "Claimed", "Seen"], [list(row) for row in table.clocks])
    sheet.text(table.clocks_meaning, 7.5, colour="quiet")
    sheet.gap(6)
    limits = [[row.limit, row.value, row.least or "-"] for row in table.limits]
    sheet.table(["Limit", "This system", "Minimum in POSIX"], limits)
    sheet.text(table.priorities, 8)
    sheet.text(table.named_only, 7.5, colour="quiet")
    return sheet


def _features(subject: str, table: PosixTable) -> Sheet:
    sheet = Sheet.headed(subject, f"{table.title}: {table.points_title}")
    rows = []
    for row in table.points:
        answer = f"{row.answer}: {row.options}" if row.options else row.answer
        measured = "; ".join(f"{one.test} {one.text}" for one in row.measured)
        rows.append([row.name, answer, measured])
    head = ["Feature", "By options of POSIX", "Measured in this run"]
    sheet.table(head, rows, is_numeric=False)
    sheet.text(table.points_meaning, 7.5, colour="quiet")
    sheet.gap(8)
    found = table.coverage
    sheet.text(f"Coverage, compared with {found.study}", 11, bold=True)
    systems = [[row.system, *row.cells] for row in found.rows]
    sheet.table(["System", *found.columns], systems, is_numeric=False)
    sheet.text(found.rule, 7.5, colour="quiet")
    return sheet
