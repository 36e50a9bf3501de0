"""Worst observed and median of each test on one logarithmic axis."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hardstone.present.overview import Timing
from hardstone.present.wording import shorten
from hardstone.report.charts.scale import domain, drawn, value_axis, value_scale
from hardstone.report.theme import CONFIG, WIDTH, Spec, mark

ROW_HEIGHT = 18
_LABEL = 40
_WIDEST_LABEL = 150


def chart(found: list[Timing]) -> Spec:
    """A line from median to worst observed: a tick at the median, a point at the worst."""
    values = [value for one in found for value in (one.median_ns, one.worst_ns) if value]
    low, high = domain(values, 1.3)
    x: Spec = {
        "field": "w",
        "type": "quantitative",
        "scale": value_scale(low, high),
        "axis": value_axis(low, high, "ns"),
        "title": "median to worst observed (log)",
    }
    layers = [
        {
            "mark": mark("rule", strokeWidth=2, opacity=0.45, color="var(--series-1)"),
            "encoding": {"x": x, "x2": {"field": "m"}, "y": _y(), "tooltip": _tooltip()},
        },
        _point("m", mark("tick", thickness=2.5, bandSize=10, color="var(--ink)")),
        _point("w", mark("point", filled=True, size=55, opacity=1, color="var(--series-2)")),
    ]
    return {
        "config": CONFIG,
        "data": {"values": list(map(_row, found, names_of(found)))},
        "layer": layers,
        "width": WIDTH,
        "height": {"step": ROW_HEIGHT},
        "usermeta": {"zoom": ["x"]},
    }


def names_of(found: list[Timing]) -> list[str]:
    """The test, and what tells the result apart; numbered where cut loads are alike, since
    results of one name would share a row."""
    names = [shorten(f"{one.test} {one.under}".strip(), _LABEL) for one in found]
    alike = {name for name, count in Counter(names).items() if count > 1}
    return [f"#{n} {name}" if name in alike else name for n, name in enumerate(names, 1)]


def _row(one: Timing, name: str) -> dict[str, Any]:
    median = one.worst_ns if one.median_ns is None else one.median_ns
    return {"c": name, "m": drawn(median), "w": drawn(one.worst_ns)}


def _y() -> Spec:
    axis = {"labelLimit": _WIDEST_LABEL, "labelOverlap": False, "ticks": False, "domain": False}
    axis["grid"] = False
    return {"field": "c", "type": "nominal", "sort": None, "title": None, "axis": axis}


def _tooltip() -> list[Spec]:
    return [
        {"field": "c", "type": "nominal", "title": "test"},
        {"field": "m", "type": "quantitative", "title": "median (ns)", "format": ",.0f"},
        {"field": "w", "type": "quantitative", "title": "worst observed (ns)", "format": ",.0f"},
    ]


def _point(field: str, look: Spec) -> Spec:
    return {"mark": look, "encoding": {"x": {"field": field, "type": "quantitative"}, "y": _y()}}
