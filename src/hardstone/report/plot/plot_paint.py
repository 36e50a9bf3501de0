"""Colours, dashes and sizes of what is drawn: of a mark, or by the data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hardstone.report.plot.plot_layer import Layer, Row, predicate
from hardstone.report.plot.plot_reading import colour, known, number, part, text, texts
from hardstone.report.plot.tenth import tenth
from hardstone.report.theme import Spec

_SCALED = {"field", "type", "sort", "scale", "legend"}


@dataclass(frozen=True)
class ByName:
    """A value for each name of a field."""

    field: str
    values: dict[str, Any]

    def of(self, row: Row) -> Any:
        name = row.get(self.field)
        known(type(name) is str and name in self.values)
        return self.values[name]  # type: ignore[index]


def by_name(channel: object) -> ByName:
    """A channel with a scale from names to values, of which no name is left out."""
    found = part(channel, _SCALED)
    known(found["type"] in ("nominal", "ordinal") and found.get("sort") is None)
    known("sort" in found or found["type"] == "ordinal" or found.get("legend", 0) is None)
    scale = part(found["scale"], {"domain", "range"})
    names, values = texts(scale["domain"]), scale["range"]
    known(type(values) is list and len(names) == len(values) and len(set(names)) == len(names))
    return ByName(text(found["field"]), dict(zip(names, values, strict=True)))


def fields_of(layer: Layer) -> list[str]:
    """What keeps the lines of a layer apart."""
    detail = part(layer.channels.get("detail", {}), {"field", "type"})
    known(not detail or detail["type"] in ("nominal", "ordinal"))
    named = [detail, *(layer.channels.get(name) for name in ("color", "size", "strokeDash"))]
    return list(dict.fromkeys(text(one["field"]) for one in named if one and "field" in one))


def colour_of(layer: Layer) -> Callable[[Row], str]:
    """The colour of each row: by a field, grey where a condition holds, or of the mark."""
    channel = layer.channels.get("color")
    if channel is None:
        fixed = colour(layer.look["color"])
        return lambda row: fixed
    known("color" not in layer.look or "value" in channel)
    if "condition" not in channel:
        scaled = by_name(channel)
        for value in scaled.values.values():
            colour(value)
        return scaled.of
    condition = part(channel["condition"], {"test", "value"})
    test, other = predicate(text(condition["test"])), colour(condition["value"])
    plain = {key: value for key, value in channel.items() if key != "condition"}
    if "value" in plain:
        usual = colour(part(plain, {"value"})["value"])
        return lambda row: other if test(row) else usual
    scaled = by_name(plain)
    for value in scaled.values.values():
        colour(value)
    return lambda row: other if test(row) else scaled.of(row)


def size_of(layer: Layer, usual: float) -> Callable[[Row], float]:
    channel = layer.channels.get("size")
    if channel is None:
        fixed = number(layer.look.get("size", usual))
        return lambda row: fixed
    scaled = by_name(channel)
    return lambda row: number(scaled.of(row))


def dash_of(layer: Layer) -> Callable[[Row], str]:
    """The attribute with the dashes; empty for a whole line."""
    channel = layer.channels.get("strokeDash")
    if channel is None:
        fixed = dashes(layer.look["strokeDash"]) if "strokeDash" in layer.look else ""
        return lambda row: fixed
    scaled = by_name(channel)
    return lambda row: dashes(scaled.of(row))


def dashes(found: object) -> str:
    known(type(found) is list)
    return f' stroke-dasharray="{",".join(map(_plain, found))}"'  # type: ignore[call-overload]


def _plain(value: object) -> str:
    return f"{number(value):g}"


def see_through(look: Spec, usual: float) -> str:
    """The attribute `opacity`, left out where it is 1."""
    value = number(look.get("opacity", usual))
    return "" if value == 1 else f' opacity="{value:g}"'


def thick(width: float) -> str:
    return "" if width == 1 else f' stroke-width="{width:g}"'


def moved(x: float, y: float) -> str:
    """The attribute `transform`, left out where nothing moves."""
    across, down = tenth(x), tenth(y)
    return "" if across == down == "0" else f' transform="translate({across},{down})"'
