"""Plots beside and below each other, with a heading each, whose axes are drawn once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor

from markupsafe import escape

from hardstone.report.plot.axis_lines import axis_lines
from hardstone.report.plot.legend_box import placed_legends
from hardstone.report.plot.plot_box import Box, baseline, text_box
from hardstone.report.plot.plot_canvas import Canvas
from hardstone.report.plot.plot_frame import Frame, frame_of
from hardstone.report.plot.plot_layer import Row, layers_of, rows_of
from hardstone.report.plot.plot_paint import moved
from hardstone.report.plot.plot_reading import known, number, part, text, texts
from hardstone.report.plot.text_size import shown
from hardstone.report.theme import CONFIG, Spec

_FACETED = {"config", "data", "facet", "columns", "spec"}
_PANEL = {"layer", "width", "height", "resolve", "usermeta"}
_HEADER = CONFIG["header"]


@dataclass(frozen=True)
class Panel:
    """A drawn panel; `room` is all that it takes, from its own corner."""

    parts: list[str]
    room: Box


def panels(spec: Spec) -> tuple[list[str], Box]:
    """All of the drawing, and the room that it takes from the corner of the first panel."""
    found = part(spec, _FACETED)
    columns, space = found["columns"], _spacing(found["config"])
    known(type(columns) is int and columns > 0)
    facet = part(found["facet"], {"field", "type", "sort", "title", "header"})
    known(facet["type"] == "nominal" and facet["title"] is None)
    header = part(facet.get("header", {}), {"labelFontSize", "labelLimit", "labelPadding"})
    field, order = text(facet["field"]), texts(facet["sort"])
    rows = rows_of(found["data"])
    by_name: dict[str, list[Row]] = {}
    for row in rows:
        by_name.setdefault(text(row.get(field)), []).append(row)
    known(set(by_name) <= set(order) and len(set(order)) == len(order))
    known(len(by_name) >= columns)
    inner = part(found["spec"], _PANEL)
    frame = frame_of(inner, rows)
    drawn = []
    for name in sorted(by_name, key=order.index):
        canvas = frame.drawn(layers_of(inner["layer"], by_name[name]))
        drawn.append(_panel(name, frame, canvas, {**_HEADER, **header}))
    return _arranged(drawn, frame, columns, space)


def _spacing(config: Spec) -> float:
    known({**config, "facet": CONFIG["facet"]} == CONFIG)
    return number(part(config["facet"], {"spacing"})["spacing"])


def _panel(name: str, frame: Frame, canvas: Canvas, header: Spec) -> Panel:
    """With its name above all that is drawn."""
    size = number(header["labelFontSize"])
    room = Box(0, 0, frame.width, frame.height)
    room.join(canvas.lines)
    room.join(canvas.room)
    top = room.top - number(header["labelPadding"]) - size
    words = shown(name, size, number(header.get("labelLimit", 0)))
    room.join(text_box(words, 0, top, size, "start", "top"))
    heading = (
        f'<g{moved(0, top)}><text{moved(0, baseline("top", size))} font-size="{size:g}px"'
        f' fill="{_HEADER["labelColor"]}">{escape(words)}</text></g>'
    )
    return Panel([*frame.grids(), *canvas.parts, heading], room)


def _arranged(
    drawn: Sequence[Panel], frame: Frame, columns: int, space: float
) -> tuple[list[str], Box]:
    """In a grid whose columns and rows are all as wide and as tall as the largest."""
    wide = _pitch(
        [one.room.right for one in drawn],
        [one.room.left for at, one in enumerate(drawn) if at % columns],
        space,
    )
    tall = _pitch(
        [one.room.bottom for one in drawn], [one.room.top for one in drawn[columns:]], space
    )
    cells, room = [], Box()
    for at, one in enumerate(drawn):
        x, y = at % columns * wide, at // columns * tall
        cells += _moved(one.parts, x, y)
        room.join(one.room, x, y)
    row_count = -(-len(drawn) // columns)
    below_top = (row_count - 1) * tall
    aside = min(0, floor(min(one.room.left for one in drawn[::columns])))
    last = drawn[(row_count - 1) * columns :]
    foot = max(0, ceil(max(one.room.bottom for one in last) + below_top))
    beside, beside_room = axis_lines(frame.y, frame.height)
    below, below_room = axis_lines(frame.x, 0)
    heads = [_moved(beside, aside, row * tall) for row in range(row_count)]
    feet = [_moved(below, column * wide, foot) for column in range(columns)]
    for row in range(row_count):
        room.join(beside_room, aside, row * tall)
    for column in range(columns):
        room.join(below_room, column * wide, foot)
    legends, legend_room = placed_legends(frame.layers, room)
    room.join(legend_room)
    return [line for part_ in (*heads, *feet, cells, legends) for line in part_], room


def _pitch(ends: Sequence[float], starts: Sequence[float], space: float) -> float:
    """From one panel to the next."""
    before = max((ceil(-one) for one in starts), default=0)
    return space + max(0, before) + max(0, *map(ceil, ends))


def _moved(parts: list[str], x: float, y: float) -> list[str]:
    place = moved(x, y)
    return [f"<g{place}>", *parts, "</g>"] if place and parts else parts
