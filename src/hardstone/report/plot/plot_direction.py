"""What the layers of a plot say together about one of its directions: scale, axis, title."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from hardstone.report.plot.plot_layer import Layer, is_valid
from hardstone.report.plot.plot_reading import known, number, numbers, part, text, texts, value_in
from hardstone.report.plot.plot_scale import Bands, Scale
from hardstone.report.theme import Spec

Way = Literal["x", "y"]
_POSITION = {"field", "type", "scale", "axis", "title", "sort"}
_AXIS = {
    *("values", "labelExpr", "format", "grid", "tickCount", "tickMinStep", "labelLimit"),
    *("labelOverlap", "labelSeparation", "labelAngle", "ticks", "domain"),
}
_SCALE = {"type", "domain", "nice", "clamp", "zero", "paddingOuter"}


@dataclass
class Direction:
    """All that layers say; `kind` is quantitative, nominal or ordinal."""

    way: Way
    kind: str = ""
    scale: Spec = field(default_factory=dict)
    axis: Spec = field(default_factory=dict)
    title: str | None = None
    sort: Any = None
    _titles: set[str | None] = field(default_factory=set)

    def read(self, position: Spec) -> None:
        """Adds what one layer says; what two layers say must be the same."""
        kind = text(part(position, _POSITION)["type"])
        known(self.kind in ("", kind))
        self.kind = kind
        text(position["field"])
        self._add(self.scale, part(position.get("scale", {}), _SCALE))
        self._add(self.axis, part(position.get("axis", {}), _AXIS))
        if "title" in position:
            title = position["title"]
            known(title is None or type(title) is str)
            self._titles.add(title)
        if position.get("sort") is not None:
            known(self.sort in (None, position["sort"]))
            self.sort = position["sort"]

    def close(self) -> None:
        """After all layers: each direction has one title, or says that it has none."""
        known(len(self._titles) == 1)
        (self.title,) = self._titles
        known(type(self.axis.get("grid", False)) is bool)

    @staticmethod
    def _add(found: Spec, more: Spec) -> None:
        known(all(found.get(key, value) == value for key, value in more.items()))
        found.update(more)


def direction(way: Way, layers: Sequence[Layer]) -> Direction | None:
    """None where no layer has the channel."""
    found = Direction(way)
    places = [layer.channels[way] for layer in layers if way in layer.channels]
    for place in places:
        if "datum" in place:
            part(place, {"datum", "type"})
            known(place.get("type", "quantitative") == "quantitative")
        elif "value" in place:
            part(place, {"value"})
        else:
            found.read(place)
    if not found.kind:
        return None
    found.close()
    return found


def continuous(one: Direction, layers: Sequence[Layer], length: float) -> Scale:
    """The scale of numbers along `length` pixels."""
    known(one.kind == "quantitative" and one.sort is None)
    scale = one.scale
    known(scale.get("nice") is False and "paddingOuter" not in scale)
    kind, is_clamped = scale.get("type", "linear"), scale.get("clamp", False)
    known(kind in ("log", "linear") and type(is_clamped) is bool)
    known(not (kind == "log" and "zero" in scale))
    if "domain" in scale:
        low, high = numbers(scale["domain"])
        known(scale.get("zero", False) is False)
    else:
        known(kind == "linear" and type(scale.get("zero")) is bool)
        low, high = _extent(one.way, layers, has_zero=scale["zero"])
    start, end = (0.0, length) if one.way == "x" else (length, 0.0)
    return Scale(low, high, start, end, kind == "log", is_clamped)


def _extent(way: Way, layers: Sequence[Layer], *, has_zero: bool) -> tuple[float, float]:
    """Of the data, which all layers draw alike."""
    values: list[float] = [0.0] if has_zero else []
    for layer in layers:
        known(f"{way}2" not in layer.channels)
        place = layer.channels.get(way, {})
        known("datum" not in place)
        if "field" in place:
            values += _placed(layer, place["field"], "y" if way == "x" else "x")
    known(values)
    return min(values), max(values)


def _placed(layer: Layer, named: str, other: Way) -> list[float]:
    """The values of rows that are drawn; a line has a gap where the other value is missing."""
    across = layer.channels.get(other, {})
    needed = across.get("field") if across.get("type") == "quantitative" else None
    found = [(value_in(row, named), needed and value_in(row, needed)) for row in layer.rows]
    if layer.kind == "line":
        return [number(value) for value, _ in found]
    return [one for one, beside in found if one is not None and (not needed or beside is not None)]


def names_along(one: Direction, layers: Sequence[Layer]) -> list[str]:
    """The names of the bands, in their order."""
    known(one.kind in ("nominal", "ordinal") and one.scale.keys() <= {"domain", "paddingOuter"})
    if "domain" in one.scale:
        known(one.sort is None)
        return texts(one.scale["domain"])
    found = [
        row.get(layer.channels[one.way]["field"])
        for layer in layers
        if one.way in layer.channels
        for row in layer.rows
    ]
    known(all(is_valid(name) for name in found))
    names = list(dict.fromkeys(map(text, found)))
    if one.sort is None:
        return names
    order = texts(one.sort)
    known(set(names) <= set(order))
    return sorted(names, key=order.index)


_POINT, _TICK, _BAR, _NESTED = (1.0, 0.5), (0.0, 0.0), (0.1, 0.05), (0.2, 0.2)


def paddings(one: Direction, layers: Sequence[Layer]) -> tuple[float, float]:
    """Between the bands and beside them, in steps: as Vega-Lite has them for these marks."""
    kinds = [layer.kind for layer in layers if one.way in layer.channels]
    if any("yOffset" in layer.channels for layer in layers):
        known(kinds[0] == "bar")
        inner, outer = _NESTED
        return inner, number(one.scale.get("paddingOuter", outer))
    known("paddingOuter" not in one.scale)
    if set(kinds) == {"point"}:
        return _POINT
    if kinds[0] == "bar":
        return _BAR
    known(kinds == ["rule", "tick", "point"])
    return _TICK


def step_length(count: int, paddings_: tuple[float, float], step: float) -> float:
    inner, outer = paddings_
    return max(1.0, count - inner + 2 * outer) * step


def bands(names: Sequence[str], length: float, inner: float, outer: float) -> Bands:
    """Within `length`."""
    known(names)
    step = length / max(1.0, len(names) - inner + 2 * outer)
    first = (length - step * (len(names) - inner)) / 2
    return Bands(names, first, step, step * (1 - inner))
