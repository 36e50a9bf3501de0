"""Figures of several systems: their names, the parts of each figure, and where data are from."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hardstone.compare.view import ComparedCell, ComparedRow, SystemColumn
from hardstone.present.wording import shorten
from hardstone.report.chart_table import ChartTable, Value
from hardstone.report.charts.system_style import Standard
from hardstone.report.drawing import Drawer
from hardstone.report.figures import Figure, data_of
from hardstone.report.theme import Spec
from hardstone.systems.subjects import Held

NAME_CHARACTERS = 26
ROW_CHARACTERS = 60
WHO = ["number", "system", "label"]
_ODD = re.compile(r"[^a-z0-9]+")
_LATENCIES = ("LAT", "DLT", "TLT")


def system_name(column: SystemColumn, most: int = NAME_CHARACTERS) -> str:
    """The number, which tells systems apart, and as much of the label as has room."""
    return f"{column.number} {shorten(column.label, most)}"


def who(column: SystemColumn) -> list[Value]:
    """The cells of WHO."""
    return [column.number, column.id, column.label]


def source_of(held: Held | None, column: SystemColumn) -> str:
    """Where a distribution is from: the run and the address of the series."""
    return f"{column.id} {held.address}" if held else ""


def anchor_of(text: str) -> str:
    """`text` as a part of an ID: small letters, digits and hyphens."""
    return _ODD.sub("-", text.lower()).strip("-")[:40] or "x"


def row_name(row: ComparedRow, most: int = ROW_CHARACTERS) -> str:
    """The test and the series, since tests have series of the same name."""
    return shorten(f"{row.address.split('/')[0]} {row.label}", most)


def standards_for(row: ComparedRow, standards: Sequence[Standard]) -> Sequence[Standard]:
    """The yardsticks, which are of latencies, for a row that is one; else none."""
    test = row.address.split("/")[0]
    is_latency = test.rpartition("-")[2] in _LATENCIES or test == "KRN-P-PRE"
    return standards if is_latency and row.unit == "ns" else ()


def measured_cells(
    row: ComparedRow, columns: Sequence[SystemColumn]
) -> list[tuple[SystemColumn, ComparedCell]]:
    """The systems that have a distribution of this row."""
    pairs = zip(columns, row.cells, strict=True)
    return [(column, cell) for column, cell in pairs if cell.series is not None]


def system_figure(
    name: str,
    title: str,
    about: str,
    alt: str,
    spec: Spec,
    table: ChartTable,
    drawer: Drawer,
    *,
    live: bool,
) -> Figure:
    """A chart of several systems, with its data as a table for files."""
    return Figure(
        id=name,
        title=title,
        about=about,
        alt=alt,
        drawing=drawer.draw(spec),
        data=data_of(spec, live=live),
        table=table,
    )
