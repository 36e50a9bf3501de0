"""Gaps of a loop by the phase of the tick: the tick is a column, its host's several, noise none."""

from __future__ import annotations

from collections.abc import Sequence

from hardstone.report.charts.frame import Row
from hardstone.report.charts.scale import domain, drawn, value_axis, value_scale
from hardstone.report.theme import CONFIG, HEIGHT, PALETTE, WIDTH, Spec, mark
from hardstone.stats.noise import GapPoint

# Points have no stroke, so that the usual stroke would not be seen.
_LEGEND: Spec = {"columns": 2, "symbolType": "circle", "symbolSize": 60, "symbolOpacity": 1}
_COLOURS = ("at the tick", "other")


def chart(points: Sequence[GapPoint], *, has_tick: bool) -> Spec:
    """A point for each gap; its length on a logarithmic axis."""
    scale = 1e6 if has_tick else 1e9
    rows: list[Row] = [
        {
            "c": _COLOURS[0] if one.is_tick else _COLOURS[1],
            "i": 0 if one.is_tick else 1,
            "t": round(one.at_ns / scale, 5),
            "v": drawn(one.length_ns),
        }
        for one in sorted(points, key=lambda one: one.is_tick)
    ]
    low, high = domain([one.length_ns for one in points], 1.25)
    x: Spec = {
        "field": "t",
        "type": "quantitative",
        "title": "begin after the nearest tick (ms)" if has_tick else "time since start (s)",
        "axis": {"grid": False, "tickCount": 7},
        "scale": {"nice": False, "zero": False},
    }
    y: Spec = {
        "field": "v",
        "type": "quantitative",
        "scale": value_scale(low, high),
        "axis": value_axis(low, high, "ns"),
        "title": "length of the gap (log)",
    }
    colour: Spec = {
        "field": "c",
        "type": "nominal",
        "sort": None,
        "scale": {"domain": list(_COLOURS), "range": PALETTE[:2]},
        "legend": _LEGEND if has_tick else None,
    }
    tips: list[Spec] = [
        {"field": "t", "type": "quantitative", "title": "begin", "format": ",.4f"},
        {"field": "v", "type": "quantitative", "title": "length", "format": ",.0f"},
    ]
    encoding = {"x": x, "y": y, "color": colour, "tooltip": tips}
    look = mark("point", filled=True, size=12, opacity=0.6)
    return {
        "config": CONFIG,
        "data": {"values": rows},
        "width": WIDTH,
        "height": HEIGHT,
        "layer": [{"mark": look, "encoding": encoding}],
    }
