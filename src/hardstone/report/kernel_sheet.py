"""KRN-P-PRE on paper: the table of operations, its limits and its charts."""

from __future__ import annotations

from hardstone.kernel.tables import OperationRow
from hardstone.report.figures import drawn
from hardstone.report.kernel_page import KernelPage
from hardstone.report.sheet import Sheet


def fill_kernel(sheet: Sheet, page: KernelPage) -> None:
    """Fills a page that has a heading."""
    table = page.table
    head = ["Operation", "Rank", "Releases", "In kernel", table.level, "Sections, 90 %"]
    head += ["Sections, 99 %", "Worst observed", f"Rate above {table.rate_above or '-'}"]
    sheet.gap(4)
    sheet.table(head, [_cells(row) for row in page.rows])
    sheet.gap(4)
    if page.traced:
        kinds = ["Traced", "Kind", "Count", "99 %", "Longest", "99 % from releases", "Worst"]
        sheet.table(kinds, page.traced)
        sheet.text(page.what_differs, 8, colour="quiet")
        sheet.gap(4)
    for note in (*table.notes, page.history):
        sheet.text(note, 8)
    for one in (table.meaning, *(figure.about for figure in page.figures)):
        sheet.text(one, 8, colour="quiet")
    sheet.gap(8)
    sheet.drawings(drawn(page.figures), columns=2)


def _cells(row: OperationRow) -> list[str]:
    return [
        row.operation,
        row.rank,
        row.releases,
        row.kernel_share,
        _with(row.quantile, row.interval),
        _with(row.length_90, row.interval_90),
        _with(row.length_99, row.interval_99),
        row.worst,
        _with(row.rate, row.rate_interval),
    ]


def _with(value: str, interval: str) -> str:
    return f"{value} ({interval})" if interval else value
