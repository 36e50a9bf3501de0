"""How systems look in a picture of several: colours, dashes, grey, and the published yardsticks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log

from hardstone.model import Unit
from hardstone.report.charts.scale import value_axis, value_scale
from hardstone.report.theme import PALETTE, Spec, mark

MOST_OVERLAID = 6
GREY = "var(--quiet)"
# One for each system of an overlay, so that colour is never all that tells them apart.
SYSTEM_DASHES = ([1, 0], [6, 3], [2, 2], [9, 3, 2, 3], [1, 4], [12, 4])
_GREY_DASH = [1, 3]
NEAR = 10.0
NEAR_PANELS = 2.0  # whose curves need the room
_ROOM = 1.15
_MIDDLE = 0.45


@dataclass(frozen=True)
class Standard:
    """A published yardstick: a line at `value`, with words."""

    value: float
    text: str


def styled(spec: Spec, names: Sequence[str], grey: Sequence[bool]) -> Spec:
    """An overlay whose lines differ in colour and in dashes; what may not be compared is grey."""
    colours = [GREY if out else PALETTE[n % len(PALETTE)] for n, out in enumerate(grey)]
    dashes = [
        _GREY_DASH if out else SYSTEM_DASHES[n % len(SYSTEM_DASHES)] for n, out in enumerate(grey)
    ]
    for layer in spec.get("spec", spec)["layer"]:
        encoding = layer.get("encoding", {})
        if "color" not in encoding:
            continue
        scale = {"domain": list(names), "range": colours}
        encoding["color"] = {**encoding["color"], "scale": scale}
        if layer["mark"]["type"] == "line":
            legend = encoding["color"].get("legend")
            dash = {"domain": list(names), "range": dashes}
            encoding["strokeDash"] = {
                **{"field": "c", "type": "nominal", "sort": None, "scale": dash},
                "legend": legend and {**legend, "symbolSize": 400},
            }
            encoding["color"]["legend"] = legend and {**legend, "symbolSize": 400}
    return spec


def room_for(
    standards: Sequence[Standard], low: float, high: float, near: float = NEAR
) -> tuple[list[Standard], float, float]:
    """The yardsticks to draw, and the ends of an axis that holds them too: those that it holds
    already, or that are beyond its ends by no more than the factor `near`."""
    shown = [one for one in standards if low / near <= one.value <= high * near]
    ends = [low, high, *(one.value * _ROOM for one in shown), *(one.value / _ROOM for one in shown)]
    return shown, min(ends), max(ends)


def standard_layers(
    shown: Sequence[Standard],
    ends: tuple[float, float],
    channel: str,
    *,
    is_low: bool = False,
    middle: float = _MIDDLE,
) -> list[Spec]:
    """A line for each yardstick across `channel` ("x" or "y"), from the first to the last of
    `ends`, with its words at the top, or at the bottom of the chart if `is_low`; to the left of
    lines that stand further right than the share `middle`."""
    found: list[Spec] = []
    for number, one in enumerate(shown):
        at: Spec = {channel: {"field": "k", "type": "quantitative"}}
        data = {"values": [{"k": one.value, "z": one.text}]}
        line = mark("rule", strokeWidth=1, strokeDash=[4, 2], color="var(--bad)")
        found.append({"data": data, "mark": line, "encoding": at})
        place = log(one.value / ends[0]) / log(ends[1] / ends[0])
        side = -1 if place > middle else 1
        found.append({"data": data, **_words(channel, number, side, is_low=is_low)})
    return found


def _words(channel: str, number: int, side: int, *, is_low: bool) -> Spec:
    """To the left (-1) or right (1) of the line; never cut off where they are wider than that."""
    text: Spec = {"field": "z", "type": "nominal"}
    look: Spec = {"fontSize": 10, "color": "var(--bad)", "clip": False}
    if channel == "x":
        down = 2 + 12 * number
        look.update(align="right" if side < 0 else "left", dx=3 * side)
        look.update(baseline="bottom" if is_low else "top", dy=-down if is_low else down)
        return {
            "mark": mark("text", **look),
            "encoding": {
                "x": {"field": "k", "type": "quantitative"},
                "y": {"value": "height" if is_low else 0},
                "text": text,
            },
        }
    return {
        "mark": mark("text", align="left", dx=3, dy=2, baseline="top", **look),
        "encoding": {"y": {"field": "k", "type": "quantitative"}, "x": {"value": 0}, "text": text},
    }


def with_standards(
    spec: Spec,
    channel: str,
    standards: Sequence[Standard],
    unit: Unit,
    *,
    is_low: bool = False,
) -> Spec:
    """The chart with yardsticks, its axis made wider for those that are near."""
    layers = spec.get("spec", spec)["layer"]
    axis = layers[0]["encoding"][channel]
    low, high = axis["scale"]["domain"]
    shown, low, high = room_for(standards, low, high)
    if not shown:
        return spec
    axis.update(scale=value_scale(low, high), axis=value_axis(low, high, unit))
    layers += standard_layers(shown, (low, high), channel, is_low=is_low)
    return spec
