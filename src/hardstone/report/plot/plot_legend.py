"""What legends a plot has, as its layers name them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hardstone.report.plot.plot_layer import Layer
from hardstone.report.plot.plot_paint import by_name, dashes, see_through, thick
from hardstone.report.plot.plot_reading import colour, known, number, part, text
from hardstone.report.theme import CONFIG, Spec

_LOOK = CONFIG["legend"]
_SYMBOL_SIZE = 100
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
    """`cell_stroke` is the width of the strokes of symbols, `box_stroke` as far as it is drawn."""

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
    one = _only(layers, "size")
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
        known(all(one.look.get("opacity", 1) == 1 for one in layers if "shape" in one.channels))
        found.append(_of_shapes(shape))
    if is_dashed:
        found.append(_of_dashes(dash))  # type: ignore[arg-type]
    return found


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
