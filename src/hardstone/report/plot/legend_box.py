"""Legends in their place: entries in columns, below the plot or above it."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor, sqrt

from markupsafe import escape

from hardstone.report.plot.plot_box import Box, baseline, text_box
from hardstone.report.plot.plot_layer import Layer
from hardstone.report.plot.plot_legend import Entry, Legend, legends_of
from hardstone.report.plot.plot_paint import moved
from hardstone.report.plot.plot_reading import known
from hardstone.report.plot.plot_symbol import path, reach
from hardstone.report.theme import CONFIG

_LOOK = CONFIG["legend"]
_SIZE = _LOOK["labelFontSize"]
_LABEL_OFFSET = 4


def placed_legends(layers: Sequence[Layer], plot: Box) -> tuple[list[str], Box]:
    """Below or above what `plot` takes, and their own room."""
    found = legends_of(layers)
    known(len({one.is_above for one in found}) == len(found))
    parts: list[str] = []
    room = Box()
    for one in found:
        lines, width, height = _entries(one)
        above = floor(plot.top) - one.offset - height
        y = above if one.is_above else ceil(plot.bottom) + one.offset
        parts += [f"<g{moved(0, y)}>", *lines, "</g>"]
        room.add(0, y, width, y + height)
    return parts, room


def _entries(legend: Legend) -> tuple[list[str], float, float]:
    """The entries around their own origin, and how wide and tall they are together."""
    side = max(ceil(sqrt(legend.size) + legend.cell_stroke), _SIZE)
    columns = legend.said.get("columns", _LOOK["columns"])
    known(type(columns) is int and columns > 0)
    boxes = [_room(one, legend, side) for one in legend.entries]
    lefts = _offsets(boxes, columns, _LOOK["columnPadding"])
    tops = _tops(boxes, columns)
    parts, room = [], Box(0, 0, 0, 0)
    for number_of, (one, box) in enumerate(zip(legend.entries, boxes, strict=True)):
        x, y = lefts[number_of % columns], tops[number_of // columns]
        if columns != 1:
            tall = max(ceil(b.bottom) for b in _row(boxes, number_of // columns, columns))
            y += max(0.0, tall - box.bottom - y) / 2
        place = moved(x, y)
        inner = [
            f'<path{moved(side / 2, side / 2)} d="{path(one.shape, legend.size)}"{one.paint} />',
            f"<text{moved(side + _LABEL_OFFSET, side / 2 + baseline('middle', _SIZE))}"
            f' font-size="{_SIZE}px" fill="{_LOOK["labelColor"]}">{escape(one.name)}</text>',
        ]
        parts += [f"<g{place}>", *inner, "</g>"] if place else inner
        room.join(box, x, y)
    return parts, ceil(room.right), ceil(room.bottom)


def _room(one: Entry, legend: Legend, side: float) -> Box:
    middle, more = side / 2, legend.box_stroke
    aside, above = reach(one.shape, legend.size)
    box = text_box(one.name, side + _LABEL_OFFSET, middle, _SIZE, "start", "middle")
    box.add(
        middle - aside - more,
        middle - above - more,
        middle + aside + more,
        middle + above + more,
    )
    return box


def _row(boxes: Sequence[Box], row: int, columns: int) -> Sequence[Box]:
    return boxes[row * columns : (row + 1) * columns]


def _offsets(boxes: Sequence[Box], columns: int, padding: float) -> list[float]:
    """Where each column begins: beside the widest of the one before."""
    found = [0.0]
    for column in range(1, columns):
        widest = max((ceil(box.right) for box in boxes[column - 1 :: columns]), default=0)
        overhang = max((_over(box.left) for box in boxes[column::columns]), default=0)
        found.append(found[-1] + widest + padding + overhang)
    return found


def _tops(boxes: Sequence[Box], columns: int) -> list[float]:
    found = [0.0]
    for row in range(1, -(-len(boxes) // columns)):
        tallest = max(ceil(box.bottom) for box in _row(boxes, row - 1, columns))
        overhang = max(_over(box.top) for box in _row(boxes, row, columns))
        found.append(found[-1] + tallest + _LOOK["rowPadding"] + overhang)
    return found


def _over(edge: float) -> int:
    return ceil(-edge) if edge < 0 else 0
