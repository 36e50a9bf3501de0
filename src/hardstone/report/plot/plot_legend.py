"""A legend: entries in columns, below the plot or above it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, sqrt

from markupsafe import escape

from hardstone.report.plot.plot_box import Box, baseline, text_box
from hardstone.report.plot.plot_layer import Layer
from hardstone.report.plot.plot_paint import by_name, dashes, moved, see_through, thick
from hardstone.report.plot.plot_reading import colour, known, number, part, text
from hardstone.report.plot.plot_symbol import path, reach
from hardstone.report.theme import CONFIG, Spec

_LOOK = CONFIG["legend"]
_SIZE = _LOOK["labelFontSize"]
_SYMBOL_SIZE, _LABEL_OFFSET = 100, 4
_KNOWN = {
    *("columns", "orient", "offset", "symbolSize", "symbolOpacity", "symbolType"),
    *("symbolStrokeWidth", "symbolFillColor", "symbolStrokeColor"),
}
_NEUTRAL = "#888"
_OWN_COLOURS = ("symbolFillColor", "symbolStrokeColor")


@dataclass(frozen=True)
class Entry:
    """A symbol, with its attributes but for its shape, and a text."""

    name: str
    shape: str
    paint: str


@dataclass(frozen=True)
class Legend:
    """`wide` is the stroke of the symbols, as far as it takes room."""

    entries: Sequence[Entry]
    said: Spec
    size: float
    cell_stroke: float
    box_stroke: float

    @property
    def is_above(self) -> bool:
        return bool(self.said.get("orient") == "top")

    @property
    def offset(self) -> float:
        return number(self.said.get("offset", _LOOK["offset"]))


def legends_of(layers: Sequence[Layer]) -> list[Legend]:
    """Of colours, dashes and shapes, as the layers name them."""
    found: list[Legend] = []
    colours = _only(layers, "color")
    for channel in ("size", "yOffset"):
        one = _only(layers, channel)
        known(one is None or one.get("legend", 0) is None)
    dash = _only(layers, "strokeDash")
    is_dashed = dash is not None and dash.get("legend", 0) is not None
    if colours is not None and colours.get("legend", 0) is not None:
        same = is_dashed and dash["field"] == colours["field"]  # type: ignore[index]
        if same:
            known(dash["legend"] == colours["legend"])  # type: ignore[index]
        found.append(_of_colours(layers, colours, dash if same else None))
        is_dashed = is_dashed and not same
    shape = _only(layers, "shape")
    if shape is not None and (colours is None or shape["field"] != colours["field"]):
        found.append(_of_shapes(shape))
    if is_dashed:
        found.append(_of_dashes(dash))  # type: ignore[arg-type]
    return found


def placed_legends(layers: Sequence[Layer], plot: Box) -> tuple[list[str], Box]:
    """Below or above what `plot` takes, and their own room."""
    found = legends_of(layers)
    known(len({one.is_above for one in found}) == len(found))
    parts: list[str] = []
    room = Box()
    for one in found:
        lines, width, height = legend_lines(one)
        above = floor(plot.top) - one.offset - height
        y = above if one.is_above else ceil(plot.bottom) + one.offset
        parts += [f"<g{moved(0, y)}>", *lines, "</g>"]
        room.add(0, y, width, y + height)
    return parts, room


def _only(layers: Sequence[Layer], channel: str) -> Spec | None:
    """What all layers say of a channel: the same, but that one may say more of the legend. Lines
    and points have sizes of their own."""
    said = [
        {key: value for key, value in one.items() if key != "condition"}
        for layer in layers
        if (one := layer.channels.get(channel)) is not None and "scale" in one
    ]
    if not said:
        return None
    if channel == "size":
        known(all(one.get("legend", 0) is None for one in said))
        return said[0]
    whole: Spec = {**said[0]}
    for one in said[1:]:
        known(
            {**one, "legend": 0} == {**whole, "legend": 0}
            and ("legend" in one) == ("legend" in whole)
        )
        legend, other = whole.get("legend"), one.get("legend")
        known((legend is None) == (other is None))
        if legend is not None and other is not None:
            known(all(legend.get(key, value) == value for key, value in other.items()))
            whole["legend"] = {**legend, **other}
    return whole


def _said(channel: Spec) -> Spec:
    said = part(channel["legend"], _KNOWN)
    known(said.get("orient", "bottom") in ("top", "bottom"))
    return said


def _of_colours(layers: Sequence[Layer], channel: Spec, dash: Spec | None) -> Legend:
    said = _said(channel)
    known(said.get("symbolOpacity", 1) == 1 and not said.keys() & _OWN_COLOURS)
    scaled = by_name(channel)
    painted = [layer for layer in layers if "color" in layer.channels]
    known(all("scale" in one.channels["color"] for one in painted if one.kind != "text"))
    painted = [layer for layer in painted if layer.kind != "text"]
    is_filled, is_lined = (
        any(_is_filled(one) is side for one in painted) for side in (True, False)
    )
    size = number(said.get("symbolSize", _SYMBOL_SIZE))
    wide, join = number(said.get("symbolStrokeWidth", _LOOK["symbolStrokeWidth"])), ""
    opacity = ""
    first = painted[0]  # whose look the symbols have
    if first.kind == "line":
        wide, join = _line_width(first), ' stroke-linejoin="round"'
    else:
        known(_is_filled(first) and first.kind in ("bar", "point"))
        opacity = "" if "symbolOpacity" in said else see_through(first.look, 1)
    shapes = _shapes(layers, channel)
    shape = text(said.get("symbolType", _LOOK["symbolType"]))
    patterns = by_name(dash).values if dash else {}
    entries = []
    for name, value in scaled.values.items():
        paint = colour(value)
        fill = f' fill="{paint}"' if is_filled else ""
        line = f' stroke="{paint}"{thick(wide)}{join}' if is_lined else ""
        drawn = dashes(patterns[name]) if patterns else ""
        entries.append(Entry(name, shapes.get(name, shape), fill + line + drawn + opacity))
    return Legend(entries, said, size, wide, wide if is_lined else 0)


def _shapes(layers: Sequence[Layer], channel: Spec) -> dict[str, str]:
    """By name, where points differ in shape as they do in colour."""
    found = _only(layers, "shape")
    if found is None or found["field"] != channel["field"]:
        return {}
    known(found.get("legend") == channel["legend"])
    return by_name(found).values


def _line_width(layer: Layer) -> float:
    return number(layer.look.get("strokeWidth", CONFIG["line"]["strokeWidth"]))


def _is_filled(layer: Layer) -> bool:
    if layer.kind in ("line", "rule"):
        return False
    return bool(layer.look.get("filled", layer.kind != "point"))


def _of_dashes(channel: Spec) -> Legend:
    said = _said(channel)
    known(said.keys() <= {"orient", "offset", "columns"})
    wide = CONFIG["line"]["strokeWidth"]
    look = f' stroke="{_NEUTRAL}"{thick(wide)} stroke-linejoin="round"'
    shape = _LOOK["symbolType"]
    entries = [
        Entry(name, shape, look + dashes(dash)) for name, dash in by_name(channel).values.items()
    ]
    return Legend(entries, said, _SYMBOL_SIZE, wide, wide)


def _of_shapes(channel: Spec) -> Legend:
    """In colours that the legend names, since the shapes have those of other names."""
    said = _said(channel)
    known(said.keys() <= {"orient", "offset", "columns", *_OWN_COLOURS, "symbolStrokeWidth"})
    fill, stroke = (colour(said[name]) for name in _OWN_COLOURS)
    wide = number(said["symbolStrokeWidth"])
    look = f' fill="{fill}" stroke="{stroke}"{thick(wide)}'
    entries = [Entry(name, text(one), look) for name, one in by_name(channel).values.items()]
    return Legend(entries, said, _SYMBOL_SIZE, wide, wide)


def legend_lines(legend: Legend) -> tuple[list[str], float, float]:
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
