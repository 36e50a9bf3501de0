"""How systems look in a picture of several: colours, dashes, grey, and the published yardsticks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hardstone.model import Unit
from hardstone.report.charts.scale import ticks, value_axis, value_scale
from hardstone.report.theme import PALETTE, Spec, mark

MOST_OVERLAID = 6
GREY = "var(--quiet)"
BEHIND = "var(--behind, var(--quiet))"
# One for each system of an overlay, so that colour is never all that tells them apart.
SYSTEM_DASHES = ([1, 0], [6, 3], [2, 2], [9, 3, 2, 3], [1, 4], [12, 4])
_GREY_DASH = [1, 3]
_NEAR = 10.0
_ROOM = 1.15


@dataclass(frozen=True)
class Standard:
    """A published yardstick: a line at `value`, with words."""

    value: float
    text: str


def styled(spec: Spec, names: Sequence[str], grey: Sequence[bool]) -> Spec:
    """An overlay whose lines differ in colour and in dashes; what may not be compared is grey."""
    colours = [GREY if out else PALETTE[n] for n, out in enumerate(grey)]
    dashes = [_GREY_DASH if out else SYSTEM_DASHES[n] for n, out in enumerate(grey)]
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


def near(standards: Sequence[Standard], low: float, high: float) -> list[Standard]:
    """Those that an axis from `low` to `high` holds, or is wider for by a decade at most."""
    return [one for one in standards if low / _NEAR <= one.value <= high * _NEAR]


def room_for(
    standards: Sequence[Standard], low: float, high: float
) -> tuple[list[Standard], float, float]:
    """The yardsticks to draw, and the ends of an axis that holds them too."""
    shown = near(standards, low, high)
    ends = [low, high, *(one.value * _ROOM for one in shown), *(one.value / _ROOM for one in shown)]
    return shown, min(ends), max(ends)


def standard_layers(shown: Sequence[Standard], channel: str, *, is_told: bool = True) -> list[Spec]:
    """A line for each yardstick across `channel` ("x" or "y"); with its words if `is_told`."""
    found: list[Spec] = []
    for number, one in enumerate(shown):
        at: Spec = {channel: {"field": "k", "type": "quantitative"}}
        data = {"values": [{"k": one.value, "z": one.text}]}
        line = mark("rule", strokeWidth=1, strokeDash=[4, 2], color="var(--bad)")
        found.append({"data": data, "mark": line, "encoding": at})
        if is_told:
            found.append({"data": data, **_words(channel, number)})
    return found


def _words(channel: str, number: int) -> Spec:
    text: Spec = {"field": "z", "type": "nominal"}
    look: Spec = {"fontSize": 10, "color": "var(--bad)", "baseline": "top"}
    if channel == "x":
        return {
            "mark": mark("text", align="right", dx=-3, dy=2 + 12 * number, **look),
            "encoding": {
                "x": {"field": "k", "type": "quantitative"},
                "y": {"value": 0},
                "text": text,
            },
        }
    return {
        "mark": mark("text", align="left", dx=3, dy=2, **look),
        "encoding": {"y": {"field": "k", "type": "quantitative"}, "x": {"value": 0}, "text": text},
    }


def with_standards(spec: Spec, channel: str, standards: Sequence[Standard], unit: Unit) -> Spec:
    """The chart with yardsticks, its axis made wider for those that are near."""
    layers = spec.get("spec", spec)["layer"]
    axis = layers[0]["encoding"][channel]
    low, high = axis["scale"]["domain"]
    shown, low, high = room_for(standards, low, high)
    if not shown:
        return spec
    axis.update(scale=value_scale(low, high), axis=value_axis(low, high, unit))
    layers += standard_layers(shown, channel)
    return spec


def share_ticks(least: float) -> list[float]:
    return [round(one, 12) for one in ticks(least, 1.0)]
