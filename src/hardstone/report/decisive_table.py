"""The decisive tests of a comparison as a table: a row for each system, a column for each test."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from string import ascii_lowercase

from hardstone.compare.view import ComparedRow, CompareView
from hardstone.report.compare_lines import common_remarks, why_grey
from hardstone.report.shown_figure import ShownFigure, shown_figure
from hardstone.systems.subjects import Amount


@dataclass(frozen=True)
class DecisiveCell:
    """`note` is the letter of the reason why it may not be compared."""

    mean: ShownFigure
    worst: ShownFigure
    marks: list[str]
    note: str


@dataclass(frozen=True)
class DecisiveColumn:
    """A decisive test; `anchor` is its part of the page. A cell for each system. `common` has the
    marks of all of them."""

    test: str
    label: str
    anchor: str
    common: list[str]
    cells: list[DecisiveCell]


@dataclass(frozen=True)
class DecisiveTable:
    """`reasons`: the letters of the cells, and why these may not be compared."""

    columns: list[DecisiveColumn]
    reasons: list[tuple[str, str]]


def decisive_table(view: CompareView, anchors: Mapping[str, str]) -> DecisiveTable:
    """`anchors` has the part of the page of each test."""
    reasons: dict[str, str] = {}
    columns = [_column(row, view, anchors, reasons) for row in view.decisive]
    return DecisiveTable(columns, [(letter, why) for why, letter in reasons.items()])


def _column(
    row: ComparedRow, view: CompareView, anchors: Mapping[str, str], reasons: dict[str, str]
) -> DecisiveColumn:
    test = row.address.split("/")[0]
    common = common_remarks([one for one in row.cells if isinstance(one.worst, Amount)], "marks")
    cells = [
        DecisiveCell(
            shown_figure(cell.mean, is_exact=column.is_published),
            shown_figure(cell.worst, is_exact=column.is_published),
            [mark for mark in cell.marks if mark not in common],
            _note(why_grey(cell), reasons),
        )
        for column, cell in zip(view.columns, row.cells, strict=True)
    ]
    return DecisiveColumn(test, row.label, anchors.get(test, ""), common, cells)


def _note(why: str, reasons: dict[str, str]) -> str:
    """The letter of a reason: "a", "b", ... "z", "aa"."""
    number = reasons.get(why) or _letters(len(reasons))
    return reasons.setdefault(why, number) if why else ""


def _letters(number: int) -> str:
    rest, last = divmod(number, len(ascii_lowercase))
    return (_letters(rest - 1) if rest else "") + ascii_lowercase[last]
