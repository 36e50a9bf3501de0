"""What a plot is drawn in: its layers, scales and axes, as a specification has them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hardstone.report.plot.axis_lines import grid
from hardstone.report.plot.plot_axis import Axis, axis_of
from hardstone.report.plot.plot_bar import draw_bar, draw_rule, draw_tick
from hardstone.report.plot.plot_canvas import Canvas
from hardstone.report.plot.plot_curve import draw_area, draw_line
from hardstone.report.plot.plot_direction import (
    Direction,
    bands,
    continuous,
    direction,
    names_along,
    paddings,
    step_length,
)
from hardstone.report.plot.plot_dot import draw_point, draw_text
from hardstone.report.plot.plot_layer import Layer, Row, layers_of
from hardstone.report.plot.plot_reading import NotKnownError, known, number, part, text, texts
from hardstone.report.plot.plot_scale import Bands, Scale
from hardstone.report.theme import Spec

_DRAWN = {
    "line": draw_line,
    "area": draw_area,
    "point": draw_point,
    "rule": draw_rule,
    "text": draw_text,
    "bar": draw_bar,
    "tick": draw_tick,
}
_SIZES = {"scale": {"size": "independent"}}


@dataclass(frozen=True)
class Frame:
    """Of one panel or, all alike, of several."""

    layers: Sequence[Layer]
    width: float
    height: float
    x_scale: Scale | Bands
    y_scale: Scale | Bands
    x: Axis
    y: Axis

    def drawn(self, layers: Sequence[Layer]) -> Canvas:
        """The marks of `layers`, which are those of the frame with fewer rows."""
        beside = _beside(self.layers, self.y_scale)
        canvas = Canvas(self.width, self.height, self.x_scale, self.y_scale, beside)
        for layer in layers:
            _DRAWN[layer.kind](layer, canvas)
        return canvas

    def grids(self) -> list[str]:
        return [*grid(self.x, self.height, self.height), *grid(self.y, self.height, self.width)]


def frame_of(panel: Spec, rows: Sequence[Row]) -> Frame:
    """The frame of a panel with these rows; NotKnownError for what Vega has to draw."""
    known(panel.get("resolve", _SIZES) == _SIZES)
    known(part(panel.get("usermeta", {}), {"zoom"}) is not None)
    layers = layers_of(panel["layer"], rows)
    across, down = direction("x", layers), direction("y", layers)
    if across is None or down is None:
        raise NotKnownError
    x, width = _scale(across, layers, panel["width"])
    y, height = _scale(down, layers, panel["height"])
    known(isinstance(x, Scale) or isinstance(y, Scale))
    known(width > 0 and height > 0)
    axes = axis_of(across, x, width), axis_of(down, y, height)
    return Frame(layers, width, height, x, y, *axes)


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
    if not isinstance(y, Bands):
        raise NotKnownError
    for layer in found:
        part(layer.channels["yOffset"], {"field", "type", "sort", "scale"})
        known(layer.channels["yOffset"] == found[0].channels["yOffset"])
    channel = found[0].channels["yOffset"]
    known(channel["type"] == "nominal")
    order = texts(channel["sort"])
    names = {text(row.get(channel["field"])) for layer in found for row in layer.rows}
    known(names <= set(order))
    scale = part(channel.get("scale", {}), {"paddingInner", "paddingOuter"})
    inner, outer = (number(scale.get(name, 0)) for name in ("paddingInner", "paddingOuter"))
    return bands(sorted(names, key=order.index), y.width, inner, outer)
