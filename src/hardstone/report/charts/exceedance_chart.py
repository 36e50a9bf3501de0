"""How often each value was exceeded, log-log, with the bound above the worst observed."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from math import log

import numpy as np

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
from hardstone.report.charts.scale import domain, drawn, ticks, value_axis, value_scale
from hardstone.report.groups import Group, Line
from hardstone.report.theme import Spec, mark
from hardstone.stats.exceedance import counts_above, upper_bound

RESOLUTION = 90
SHARE_LABEL = "format(datum.value, datum.value < 0.01 ? '.0e' : '~g')"
Point = tuple[float, float]


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
    inner = [
        (float(value), count / total)
        for value, count in zip(
            values[first:last].tolist(), above[first:last].tolist(), strict=True
        )
        if count > 0
    ]
    start = (drawn(series.min), below_all)
    end = (float(series.max), 1 / series.count)
    return [
        start,
        *_thin(inner, end, resolution),
        (end[0], min([end[1], *(p for _, p in inner[-1:])])),
    ]


def _thin(points: list[Point], end: Point, resolution: int) -> list[Point]:
    """Points that are at least 1/`resolution` of the span apart in one of the directions."""
    if not points:
        return []
    wide = max(log(drawn(end[0]) / drawn(points[0][0])), 1e-9) / resolution
    tall = max(log(points[0][1] / end[1]), 1e-9) / resolution
    kept, at = [points[0]], 0
    while at < len(points):
        last_value, last_share = kept[-1]

        def has_moved(
            point: Point, value: float = drawn(last_value), share: float = last_share
        ) -> bool:
            return log(drawn(point[0]) / value) >= wide or log(share / point[1]) >= tall

        at = _first(points, at + 1, has_moved)
        kept += points[at : at + 1]
    return kept


def _first(points: list[Point], begin: int, is_so: Callable[[Point], bool]) -> int:
    """The first place from `begin` on at which `is_so`, which stays so once it is; the number of
    points where none is. Looks twice as far each time: the next ones are the likeliest."""
    past, step = begin, 1
    while past < len(points) and not is_so(points[past]):
        begin, past, step = past + 1, past + step, 2 * step
    return bisect_left(points, True, begin, min(past, len(points)), key=is_so)


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
