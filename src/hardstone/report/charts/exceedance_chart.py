"""How often each value was exceeded, log-log, with the bound above the worst observed."""

from __future__ import annotations

from bisect import bisect_left
from math import log

import numpy as np
from numpy.typing import NDArray

from hardstone.model import Series, Unit
from hardstone.report.charts.frame import (
    Row,
    apart,
    apart_points,
    colour,
    figure,
    keys,
    tooltip,
    unit_title,
    value_title,
)
from hardstone.report.charts.scale import (
    SMALLEST_DRAWN,
    domain,
    drawn,
    ticks,
    value_axis,
    value_scale,
)
from hardstone.report.groups import Group, Line
from hardstone.report.theme import Spec, mark
from hardstone.stats.histogram import IntArray
from hardstone.stats.quantiles import counts_above, upper_bound

RESOLUTION = 90
SHARE_LABEL = "format(datum.value, datum.value < 0.01 ? '.0e' : '~g')"
_ROUNDED = 1 - 1e-9  # a point that is just far enough stays so in rounded logarithms
Point = tuple[float, float]
FloatArray = NDArray[np.float64]


def curve(series: Series, resolution: int = RESOLUTION) -> list[Point]:
    """Points (value, share of values above it), thinned to what can be seen: `resolution` of them
    in each direction.

    Every point is exact. It begins at the minimum with what lies at or above it and
    ends at the maximum, where one value in N is left.
    """
    if not series.count or series.max is None or series.min is None:
        return []
    below_all = 1 - series.histogram.underflow / series.count
    values, above, total = counts_above(series.histogram)
    first = int(np.searchsorted(values, max(series.min, 0), side="left"))
    last = int(np.searchsorted(values, series.max, side="left"))
    last = min(last, int(np.count_nonzero(above)))
    start = (drawn(series.min), below_all)
    end = (float(series.max), 1 / series.count)
    inner = _thin(values[first:last], above[first:last] / total, end, resolution)
    least = min([end[1], above[last - 1] / total] if last > first else [end[1]])
    return [start, *inner, (end[0], float(least))]


def _thin(values: IntArray, shares: FloatArray, end: Point, resolution: int) -> list[Point]:
    """Points that are at least 1/`resolution` of the span apart in one of the directions.

    `values` ascend, `shares` descend, both of shape (n,).
    """
    if not len(values):
        return []
    wide = max(log(drawn(end[0]) / drawn(values[0])), 1e-9) / resolution * _ROUNDED
    tall = max(log(shares[0] / end[1]), 1e-9) / resolution * _ROUNDED
    across = np.log(np.maximum(values, SMALLEST_DRAWN)).tolist()
    down = np.negative(np.log(shares)).tolist()
    kept, at = [], 0
    while at < len(across):
        kept.append(at)
        right = bisect_left(across, across[at] + wide, at + 1)
        at = bisect_left(down, down[at] + tall, at + 1, right)
    return list(zip(values[kept].astype(float).tolist(), shares[kept].tolist(), strict=True))


def chart(group: Group, unit: Unit) -> Spec:
    """The curves, and for each line the 95 % bound above its worst observed."""
    found = [(line, curve(line.series)) for line in group.lines]
    low, high = domain([value for _, points in found for value, _ in points], 1.08)
    least = min((share for _, points in found for _, share in points), default=0.1)
    x: Spec = {
        "field": "v",
        "type": "quantitative",
        "scale": value_scale(low, high),
        "axis": value_axis(low, high, unit),
        "title": f"{value_title(group, unit)} (log)",
    }
    rows = [row for line, points in found for row in _rows(line, points)]
    return figure(group, rows, [_curves(group, x, least * 0.6, unit), _bounds(group, x, unit)])


def _rows(line: Line, points: list[Point]) -> list[Row]:
    shares: list[Row] = [{**keys(line), "v": drawn(v), "s": s} for v, s in points]
    if not points:
        return []
    bound = upper_bound(0, line.series.count)
    return [*shares, {**keys(line), "v": points[-1][0], "b": bound}]


def _curves(group: Group, x: Spec, least: float, unit: Unit) -> Spec:
    marks = [round(one, 12) for one in ticks(least, 1.0)]
    return {
        "transform": [{"filter": "isValid(datum.s)"}],
        "mark": mark("line", interpolate="step-after"),
        "encoding": {
            "x": x,
            "y": {
                "field": "s",
                "type": "quantitative",
                "scale": {"type": "log", "domain": [least, 1], "nice": False, "clamp": True},
                "axis": {"values": marks, "labelExpr": SHARE_LABEL, "grid": True},
                "title": "share above (log)",
            },
            "color": colour(group),
            **apart(group),
            "tooltip": tooltip(
                group, ("v", unit_title("above", unit), ",.0f"), ("s", "share", ".3~g")
            ),
        },
    }


def _bounds(group: Group, x: Spec, unit: Unit) -> Spec:
    return {
        "transform": [{"filter": "isValid(datum.b)"}],
        "mark": mark("point", shape="triangle-down", filled=False, size=55, strokeWidth=1.5),
        "encoding": {
            "x": x,
            "y": {"field": "b", "type": "quantitative"},
            "color": colour(group),
            **apart_points(group, 55),
            "tooltip": tooltip(
                group, ("v", unit_title("above", unit), ",.0f"), ("b", "95 % bound", ".3~g")
            ),
        },
    }
