"""KRN-P-PRE in a report: operations, HP's figure 1 and the blocking rates, on a page and on
paper.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass

from hardstone.errors import InputError
from hardstone.kernel import charts
from hardstone.kernel.analysis import KernelTime
from hardstone.kernel.tables import (
    WHAT_DIFFERS,
    KernelHistory,
    KernelTable,
    OperationRow,
    history_line,
    kernel_history,
    kernel_table,
    summary,
)
from hardstone.model import Result
from hardstone.report.chart_frame import Spec
from hardstone.report.drawing import Drawer
from hardstone.report.figures import Figure, drawn
from hardstone.report.sheet import Sheet
from hardstone.wording import shorten

_MOST_LINES = 4
_SECTIONS = (
    "Share of kernel time in sections shorter than each length, from where it can be told from the "
    "idle latency."
)
_HISTORY = " Points: 90 %, 99 % and all of kernel time, {short}, {machine}."
_RATES = (
    "Blocking intervals longer than each length, per second of the operation. Band: 95 %, of all "
    "together. Dashed: at a lower rate an interval of that length may not have been seen."
)


@dataclass(frozen=True)
class KernelPage:
    """The table and the charts of one result. `history` has HP's figures, or why they do not stand
    here. `traced` are the rows of the kernel's tracers."""

    table: KernelTable
    rows: list[OperationRow]
    figures: list[Figure]
    history: str
    traced: list[tuple[str, ...]]
    what_differs: str = WHAT_DIFFERS


def kernel_page(
    result: Result,
    anchor: str,
    drawer: Drawer,
    *,
    is_brief: bool = False,
    refused: str | None = None,
) -> KernelPage | None:
    """The page of a result of KRN-P-PRE; None for another test, and without values.

    `refused`: why no figure of hardware may stand beside. `is_brief`: only the first chart.
    """
    table = _table(result)
    if table is None:
        return None
    history = None if refused else kernel_history()
    found = _charts(table.time, history)[: 1 if is_brief else None]
    about = summary(table.time)
    return KernelPage(
        table=table,
        rows=[*table.rows, table.whole, *([table.reference] if table.reference else [])],
        figures=[
            _figure(title, text, about, spec, f"{anchor}-kernel-{number}", drawer)
            for number, (title, text, spec) in enumerate(found)
        ],
        history=history_line(refused),
        traced=[astuple(one) for one in table.traced],
    )


def _table(result: Result) -> KernelTable | None:
    try:
        return kernel_table(result)
    except InputError:  # the top of the page names contradictory series
        return None


def _charts(time: KernelTime, history: KernelHistory | None) -> list[tuple[str, str, Spec]]:
    """Title, what to look at, and chart; none where nothing was blocked."""
    shown = [time.whole, *time.operations[:_MOST_LINES]]
    found = []
    if any(map(charts.has_sections, shown)):
        about = _SECTIONS
        if history:
            about += _HISTORY.format(short=history.short, machine=history.machine)
        spec = charts.section_chart(shown, history)
        found.append(("Kernel time by length of section", about, spec))
    if any(map(charts.has_blocking, shown)):
        rates = [*shown, time.reference] if time.reference else shown
        found.append(("Blocking rate", _RATES, charts.blocking_chart(rates)))
    return found


def _figure(
    title: str, about: str, summed_up: str, spec: Spec, name: str, drawer: Drawer
) -> Figure:
    return Figure(
        id=name,
        title=title,
        about=about,
        alt=shorten(f"{title}. {summed_up}", 400),
        drawing=drawer.draw(spec),
    )


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
