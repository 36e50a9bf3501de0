"""The picture of a specification without Vega, or None where it holds anything not known here.

Positions are those of Vega, the widths of texts aside: it measures with the fonts it finds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor

from hardstone.report.plot.plot_axis import Axis, axis_lines, axis_of, grid
from hardstone.report.plot.plot_box import Box, text_box
from hardstone.report.plot.plot_direction import (
    Direction,
    bands,
    continuous,
    direction,
    names_along,
    paddings,
    step_length,
)
from hardstone.report.plot.plot_scale import Bands, Scale
from hardstone.report.plot.plot_layer import Layer, Row, layers_of, rows_of
from hardstone.report.plot.plot_legend import legend_lines, legends_of
from hardstone.report.plot.plot_bar import draw_bar, draw_rule, draw_tick
from hardstone.report.plot.plot_canvas import Canvas
from hardstone.report.plot.plot_curve import draw_area, draw_line
from hardstone.report.plot.plot_dot import draw_point, draw_text
from hardstone.report.plot.plot_paint import moved
from hardstone.report.plot.plot_reading import NotKnownError, known, number, part, text, texts
from hardstone.report.theme import CONFIG, Spec
from markupsafe import escape

DRAWN = {
    "line": draw_line,
    "area": draw_area,
    "point": draw_point,
    "rule": draw_rule,
    "text": draw_text,
    "bar": draw_bar,
    "tick": draw_tick,
}
_TOP = {"config", "data", "layer", "width", "height", "resolve", "usermeta"}
_FACETED = {"config", "data", "facet", "columns", "spec"}
_PANEL = {"layer", "width", "height", "resolve", "usermeta"}
_SIZES = {"scale": {"size": "independent"}}
_PADDING = CONFIG["padding"]
_HEADER = CONFIG["header"]


def draw(spec: Spec) -> str | None:
    """SVG text, or None where Vega has to draw it."""
    try:
        return _facets(spec) if "facet" in spec else _single(spec)
    except NotKnownError:
        return None
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError):
        return None  # not built as specifications are


@dataclass(frozen=True)
class Plot:
    """Axes and layers, for all panels the same."""

    layers: Sequence[Layer]
    width: float
    height: float
    x: Axis
    y: Axis
    canvas: Canvas


def _read(panel: Spec, rows: Sequence[Row]) -> Plot:
    known(panel.get("resolve", _SIZES) == _SIZES)
    known(panel.get("usermeta", {}).keys() <= {"zoom"})
    width = number(panel["width"])
    layers = layers_of(panel["layer"], rows)
    across, down = direction("x", layers), direction("y", layers)
    known(across is not None and down is not None)
    assert across is not None and down is not None
    x, width = _scale(across, layers, width)
    y, height = _scale(down, layers, panel["height"])
    known(isinstance(x, Scale) or isinstance(y, Scale))
    canvas = Canvas(width, height, x, y, _beside(layers, y))
    return Plot(
        layers, width, height, axis_of(across, x, width), axis_of(down, y, height), canvas
    )


def _scale(one: Direction, layers: Sequence[Layer], length: object) -> tuple[Scale | Bands, float]:
    """The scale and how long it is, of a given length or step."""
    if one.kind == "quantitative":
        return continuous(one, layers, number(length)), number(length)
    names, (inner, outer) = names_along(one, layers), paddings(one, layers)
    if type(length) is not dict:
        known(inner == 0.1)  # bars alone have been seen without a step
        return bands(names, number(length), inner, outer), number(length)
    step = part(length, {"step", "for"})
    is_nested = any("yOffset" in layer.channels for layer in layers)
    known(step.get("for") == ("position" if is_nested else None))
    long = step_length(len(names), (inner, outer), number(step["step"]))
    return bands(names, long, inner, outer), long


def _beside(layers: Sequence[Layer], y: Scale | Bands) -> Bands | None:
    """The bands within a band: of all names that any layer has, in one order."""
    found = [layer for layer in layers if "yOffset" in layer.channels]
    if not found:
        return None
    known(isinstance(y, Bands))
    assert isinstance(y, Bands)
    for layer in found:
        part(layer.channels["yOffset"], {"field", "type", "sort"})
        known(layer.channels["yOffset"] == found[0].channels["yOffset"])
    channel = found[0].channels["yOffset"]
    known(channel["type"] == "nominal")
    order = texts(channel["sort"])
    names = {text(row.get(channel["field"])) for layer in found for row in layer.rows}
    known(names <= set(order))
    return bands(sorted(names, key=order.index), y.width, 0, 0)


def _grids(plot: Plot) -> list[str]:
    return [*grid(plot.x, plot.height, plot.height), *grid(plot.y, plot.height, plot.width)]


def _single(spec: Spec) -> str:
    found = part(spec, _TOP)
    known(found["config"] == CONFIG)
    plot = _read(found, rows_of(found["data"]))
    below, below_room = axis_lines(plot.x, plot.height)
    beside, beside_room = axis_lines(plot.y, plot.height)
    for layer in plot.layers:
        DRAWN[layer.kind](layer, plot.canvas)
    canvas = plot.canvas
    across = Box(0, 0, plot.width, plot.height)
    across.join(canvas.lines)
    across.join(below_room)
    legends, room = _legends(plot.layers, across.top, across.bottom)
    for one in (across, beside_room, canvas.room):
        room.join(one)
    parts = [*_grids(plot), *below, *beside, *canvas.parts, *legends]
    return _whole(parts, room, plot.width, plot.height)


def _legends(layers: Sequence[Layer], top: float, bottom: float) -> tuple[list[str], Box]:
    parts: list[str] = []
    room = Box()
    found = legends_of(layers)
    known(len({one.is_above for one in found}) == len(found))
    for one in found:
        lines, width, height = legend_lines(one)
        y = floor(top) - one.offset - height if one.is_above else ceil(bottom) + one.offset
        parts += [f"<g{moved(0, y)}>", *lines, "</g>"]
        room.add(0, y, width, y + height)
    return parts, room


def _facets(spec: Spec) -> str:
    """Panels one below the other, each with a heading."""
    found = part(spec, _FACETED)
    known(found["config"] == CONFIG and found.get("columns") == 1)
    facet = part(found["facet"], {"field", "type", "sort", "title"})
    known(facet["type"] == "nominal" and facet["title"] is None)
    field, order = text(facet["field"]), texts(facet["sort"])
    rows = rows_of(found["data"])
    panel = part(found["spec"], _PANEL)
    names = list(dict.fromkeys(text(row.get(field)) for row in rows))
    known(names and set(names) <= set(order) and len(set(order)) == len(order))
    names.sort(key=order.index)
    return _column(panel, [(name, [row for row in rows if row[field] == name]) for name in names])


def _column(panel: Spec, found: Sequence[tuple[str, Sequence[Row]]]) -> str:
    parts_beside: list[str] = []
    parts: list[str] = []
    room = Box()
    top, space = 0.0, CONFIG["facet"]["spacing"]
    bottom = 0.0
    plots = [(name, _read(panel, rows)) for name, rows in found]
    cells = []
    for name, plot in plots:
        for layer in plot.layers:
            DRAWN[layer.kind](layer, plot.canvas)
        cells.append((name, plot, *_heading(name, plot)))
    for number_of, (_, plot, heading, cell) in enumerate(cells):
        if number_of:
            top += bottom + space + max(0, ceil(-cell.top))
        bottom = max(0, ceil(cell.bottom))
        beside, beside_room = axis_lines(plot.y, plot.height)
        parts_beside += _moved(beside, top)
        parts += _moved([*_grids(plot), *plot.canvas.parts, *heading], top)
        room.join(cell, 0, top)
        room.join(beside_room, 0, top)
    plot = plots[-1][1]
    foot = max(0, ceil(top + cells[-1][3].bottom))
    below, below_room = axis_lines(plot.x, 0)
    room.join(below_room, 0, foot)
    legends, legend_room = _legends([one for _, each in plots for one in each.layers][: len(plot.layers)], room.top, room.bottom)
    height = 0.0 * top
    whole = Box(0, 0, 0, height)
    whole.join(room)
    whole.join(legend_room)
    return _whole([*parts_beside, *_moved(below, foot), *parts, *legends], whole, 0, 0)


def _moved(parts: list[str], down: float) -> list[str]:
    return [f"<g{moved(0, down)}>", *parts, "</g>"] if down and parts else parts


def _heading(name: str, plot: Plot) -> tuple[list[str], Box]:
    """Above the lines of a panel, and all the room that the panel takes."""
    size = _HEADER["labelFontSize"]
    cell = Box(0, 0, plot.width, plot.height)
    cell.join(plot.canvas.lines)
    cell.join(plot.canvas.room)
    y = cell.top - _HEADER["labelPadding"] - size
    label = text_box(name, 0, 0, size, "start", "top")
    parts = [
        f"<g{moved(0, y)}><text{moved(0, 9)} font-size=\"{size}px\""
        f' fill="{_HEADER["labelColor"]}">{escape(name)}</text></g>'
    ]
    cell.join(label, 0, y)
    return parts, cell


def _whole(parts: list[str], room: Box, width: float, height: float) -> str:
    left, top = max(0, ceil(-room.left)), max(0, ceil(-room.top))
    wide = left + width + max(0, ceil(room.right - width))
    tall = top + height + max(0, ceil(room.bottom - height))
    wide, tall = wide + _PADDING["left"] + _PADDING["right"], tall + _PADDING["top"] + _PADDING["bottom"]
    return (
        f'<svg width="{wide:g}" height="{tall:g}" viewBox="0 0 {wide:g} {tall:g}"'
        ' aria-hidden="true" focusable="false"><g fill="none" stroke-miterlimit="10"'
        f'{moved(left + _PADDING["left"], top + _PADDING["top"])}>{"".join(parts)}</g></svg>'
    )
