"""Where the marks of a plot are drawn, and the room that they take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from hardstone.report.plot.plot_box import Box
from hardstone.report.plot.plot_direction import Way
from hardstone.report.plot.plot_layer import Layer, Row
from hardstone.report.plot.plot_reading import NotKnownError, known, number, text, value_in
from hardstone.report.plot.plot_scale import Bands, Scale
from hardstone.report.theme import Spec


@dataclass
class Canvas:
    """`room` is what all marks take, `lines` what lines and areas take, which alone keep legends
    and headings away. `beside` are the bands within one of the bands along y."""

    width: float
    height: float
    x: Scale | Bands
    y: Scale | Bands
    beside: Bands | None = None
    parts: list[str] = field(default_factory=list)
    room: Box = field(default_factory=Box)
    lines: Box = field(default_factory=Box)

    def along(self, way: Way) -> Scale:
        scale = self.x if way == "x" else self.y
        known(isinstance(scale, Scale))
        return scale  # type: ignore[return-value]

    def bands(self, way: Way) -> Bands:
        bands = self.x if way == "x" else self.y
        known(isinstance(bands, Bands))
        return bands  # type: ignore[return-value]


def known_channels(layer: Layer, *names: str) -> None:
    known(layer.channels.keys() <= {*names, "tooltip"})


def drawn_rows(layer: Layer) -> list[Row]:
    """The rows that have a number wherever one is needed to place their mark."""
    numeric = [
        layer.channels[name]["field"]
        for name in ("x", "y")
        if "field" in layer.channels.get(name, {})
        and layer.channels[name].get("type", "quantitative") == "quantitative"
    ]
    return [row for row in layer.rows if all(value_in(row, one) is not None for one in numeric)]


def middles(layer: Layer, rows: Sequence[Row], canvas: Canvas, way: Way) -> list[float]:
    """Where the rows stand: in the middle of their bands, where there are bands."""
    place = layer.channels[way]
    scale = canvas.x if way == "x" else canvas.y
    if "value" in place:
        return [_fixed(place, canvas, way)] * len(rows)
    if isinstance(scale, Scale):
        return scale.places([row[place["field"]] for row in rows])
    starts, width = starts_of(layer, rows, canvas, way)
    return [start + width / 2 for start in starts]


def starts_of(
    layer: Layer, rows: Sequence[Row], canvas: Canvas, way: Way
) -> tuple[list[float], float]:
    """Where the bands of the rows begin, and how wide they are."""
    bands = canvas.bands(way)
    named = layer.channels[way]["field"]
    starts = [bands.start(text(row.get(named))) for row in rows]
    inner = layer.channels.get("yOffset")
    if inner is None or way == "x":
        return starts, bands.width
    beside = canvas.beside
    if beside is None:
        raise NotKnownError
    more = [beside.start(text(row.get(inner["field"]))) for row in rows]
    return [one + other for one, other in zip(starts, more, strict=True)], beside.width


def _fixed(place: Spec, canvas: Canvas, way: Way) -> float:
    """A channel {"value": 0} or {"value": "height"}."""
    value = place["value"]
    known(type(value) is not str or (way, value) in (("x", "width"), ("y", "height")))
    if value == "width":
        return canvas.width
    return canvas.height if value == "height" else number(value)
