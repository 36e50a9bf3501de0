"""Charts of one run as Vega-Lite specifications."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hardstone.model import Histogram, Series, Unit
from hardstone.present.overview import Timing
from hardstone.report.chart_frame import (
    CONFIG,
    HEIGHT,
    PALETTE,
    SMALLEST_DRAWN,
    WIDTH,
    Group,
    Line,
    Row,
    Spec,
    apart,
    apart_points,
    colour,
    domain,
    drawn,
    figure,
    keys,
    mark,
    ticks,
    tooltip,
    unit_title,
    value_channel,
    value_scale,
    value_title,
)
from hardstone.stats.histogram import Bins, IntArray, bins_of
from hardstone.stats.identity import (
    NO_DISTRIBUTION,
    LogLinear,
    has_quantiles,
    highest_of,
    parse_layout,
)
from hardstone.stats.quantiles import counts_above, upper_bound
from hardstone.stats.sustained import Step
from hardstone.wording import format_value, is_rate, shorten, worst_value

if TYPE_CHECKING:
    from hardstone.stats.noise import GapPoint

LEAST_VALUES = 20  # fewer are no distribution: each value is a dot
_ROW_HEIGHT = 22
_AXIS_WIDTH = 44
_WIDEST_LABEL = 150
_CHARACTER_WIDTH = 7


def range_chart(group: Group, unit: Unit) -> Spec:
    """A line from minimum to maximum, a tick at the average, a dot at the worst observed. Of a
    series with few values each one is a dot, and no line joins them."""
    lines = [line for line in group.lines if line.series.count]
    ends = ("min", "mean", "max")
    extremes = [getattr(line.series, end) for line in lines for end in ends]
    low, high = domain([value for value in extremes if value is not None], 1.15)
    x = value_channel("max", low, high, unit, value_title(group, unit))
    axis = {"labelLimit": _WIDEST_LABEL, "grid": True, "ticks": False, "domain": False}
    y: Spec = {"field": "name", "type": "nominal", "sort": None, "title": None, "axis": axis}
    color: Spec = {**colour(group), "legend": None}
    worst = "maximum" if is_rate(unit) else "worst observed"
    titles = (("min", "minimum"), ("avg", "average"), ("max", worst))
    layers: list[Spec] = [
        {
            "transform": [{"filter": "isValid(datum.max)"}],
            "mark": mark("rule", strokeWidth=2, opacity=0.6),
            "encoding": {
                "x": x,
                "x2": {"field": "min"},
                "y": y,
                "color": color,
                "tooltip": tooltip(group, *((name, title, ",.0f") for name, title in titles)),
            },
        },
        {
            "transform": [{"filter": "isValid(datum.avg)"}],
            "mark": mark("tick", thickness=2.5, bandSize=_ROW_HEIGHT * 0.6, color="var(--ink)"),
            "encoding": {"x": {"field": "avg", "type": "quantitative"}, "y": y},
        },
        {
            "transform": [{"filter": "isValid(datum.w)"}],
            "mark": mark("point", filled=True, size=55, opacity=1),
            "encoding": {"x": {"field": "w", "type": "quantitative"}, "y": y, "color": color},
        },
        {
            "transform": [{"filter": "isValid(datum.v)"}],
            "mark": mark("point", filled=True, size=45, opacity=0.6),
            "encoding": {
                "x": {"field": "v", "type": "quantitative"},
                "y": y,
                "color": color,
                "tooltip": tooltip(group, ("v", unit_title("value", unit), ",.0f")),
            },
        },
    ]
    spec = figure(group, [row for line in lines for row in _range_rows(line)], layers)
    longest = max((len(_name(line)) for line in lines), default=0)
    labels_width = min(longest * _CHARACTER_WIDTH, _WIDEST_LABEL)
    panel = spec.get("spec", spec)
    panel.update(width=WIDTH + _AXIS_WIDTH - labels_width, height={"step": _ROW_HEIGHT})
    panel["usermeta"] = {"zoom": ["x"]}
    return spec


def _name(line: Line) -> str:
    return shorten(f"{line.colour} ({line.dash})" if line.dash else line.colour)


def _range_rows(line: Line) -> list[Row]:
    series = line.series
    own: Row = {**keys(line), "name": _name(line)}
    means: Row = {} if series.mean is None else {"avg": round(drawn(series.mean), 1)}
    if series.count < LEAST_VALUES and series.histogram.layout != NO_DISTRIBUTION:
        dots: list[Row] = [{**own, "v": drawn(one)} for one in values_of(series)]
        return [{**own, **means}, *dots]
    values = {"min": series.min, "max": series.max, "w": worst_value(series)}
    known = {key: drawn(one) for key, one in values.items() if one is not None}
    if len(known) < len(values):  # a file may lack an end of the line
        known.pop("max", None)
    return [{**own, **means, **known}]


def values_of(series: Series) -> list[int]:
    """Every value of a series that has few of them, ascending; where not all were kept, the lower
    edge of its bucket."""
    kept = [one.value_ns for one in series.worst]
    if len(kept) == series.count:
        return sorted(kept)
    bins = bins_of(series.histogram)
    pairs = zip(bins.lower.tolist(), bins.count.tolist(), strict=True)
    inside = [low for low, count in pairs for _ in range(min(count, LEAST_VALUES))]
    ends = [one for one in (series.min, series.max) if one is not None]
    return sorted(max(min(one, ends[-1]), ends[0]) for one in inside) if ends else inside


_MOST_BINS = 72
_LEAST_BINS = 10
FLOOR = 0.5


@dataclass(frozen=True)
class Bin:
    """`count` values from `low` to below `high`; both are edges of buckets."""

    low: int
    high: int
    count: int


def grid(histograms: list[Histogram]) -> list[int]:
    """Edges of bins of about equal logarithmic width, each moved down to the edge of a bucket.

    One grid for all lines of a chart; the fewer values, the fewer bins (2 N^(1/3)).
    """
    found = [bins for bins in map(bins_of, histograms) if bins.count.size]
    if not found:
        return []
    low = min(int(bins.lower[0]) for bins in found)
    high = max(int(bins.upper[-1]) for bins in found)
    most = int(np.clip(2 * max(bins.total for bins in found) ** (1 / 3), _LEAST_BINS, _MOST_BINS))
    wanted = [min(int(edge), high) for edge in np.geomspace(max(low, 1), high + 1, most + 1)]
    edges = _moved_down(wanted, histograms, found)
    return sorted({low, high + 1, *(edge for edge in edges if low < edge <= high)})


def _moved_down(wanted: list[int], histograms: list[Histogram], found: list[Bins]) -> set[int]:
    """Each of `wanted` at the edge of a bucket at or below it: no bucket in use is split."""
    layouts = {parse_layout(one.layout) for one in histograms}
    bits = [one.bits for one in layouts if isinstance(one, LogLinear)]
    if len(bits) == len(layouts):  # a bucket of a finer one lies in one of the coarsest
        coarsest = LogLinear(min(bits))
        return {coarsest.edges_of(coarsest.index_of(edge))[0] for edge in wanted}
    edges, before = np.array(wanted, dtype=np.int64), None
    while before is None or (edges != before).any():
        before = edges.copy()
        for bins in found:
            at = np.maximum(np.searchsorted(bins.lower, edges, side="right") - 1, 0)
            is_within = (bins.lower[at] < edges) & (edges <= bins.upper[at])
            edges = np.where(is_within, bins.lower[at], edges)
    return set(edges.tolist())


def draw_bins(histogram: Histogram, edges: list[int]) -> list[Bin]:
    """The buckets joined into the bins of `edges`; none is split, so that counts add up."""
    bins = bins_of(histogram)
    if not bins.count.size:
        return []
    slots = np.searchsorted(np.array(edges[:-1]), bins.lower, side="right") - 1
    counts = np.zeros(len(edges) - 1, dtype=np.int64)
    np.add.at(counts, slots, bins.count)
    pairs = zip(edges, edges[1:], counts.tolist(), strict=False)
    return [Bin(low, high, count) for low, high, count in pairs if count]


def steps(found: list[Bin]) -> list[tuple[float, float]]:
    """Corners (edge, count) of the outline; the floor of the axis stands for no value."""
    corners: list[tuple[float, float]] = [(drawn(found[0].low), FLOOR)] if found else []
    for index, one in enumerate(found):
        corners.append((drawn(one.low), one.count))
        after = found[index + 1].low if index + 1 < len(found) else None
        if after != one.high:
            corners.append((drawn(one.high), FLOOR))
    return corners


def histogram_chart(group: Group, unit: Unit) -> Spec:
    """Outlines of all lines, and a mark at the worst observed of each."""
    edges = grid([line.series.histogram for line in group.lines])
    found = [(line, draw_bins(line.series.histogram, edges)) for line in group.lines]
    low, high = domain(edges + [line.series.max or 0 for line in group.lines])
    top = max((one.count for _, bins in found for one in bins), default=1) * 1.6
    x = value_channel("v", low, high, unit, value_title(group, unit))
    rows: list[Row] = []
    for line, bins in found:
        rows += [{**keys(line), "v": v, "n": n} for v, n in steps(bins)]
        if line.series.max is not None:
            rows.append({**keys(line), "v": drawn(line.series.max), "w": FLOOR})
    layers = [_outline(group, x, top, unit), _worst(group, x)]
    return figure(group, rows, layers)


def _outline(group: Group, x: Spec, top: float, unit: Unit) -> Spec:
    single = len(group.lines) <= max(1, len(group.panels))
    look: Spec = {"interpolate": "step-after"}
    shape = mark("area", line=True, fillOpacity=0.18, **look) if single else mark("line", **look)
    y: Spec = {
        "field": "n",
        "type": "quantitative",
        "scale": value_scale(FLOOR, top),
        "axis": {"values": [1, *ticks(2, top)], "format": ",d", "grid": True},
        "title": "values per bin (log)",
    }
    encoding: Spec = {"x": x, "y": y, "color": colour(group), **apart(group)}
    if single:
        encoding["y2"] = {"datum": FLOOR}
    encoding["tooltip"] = tooltip(
        group, ("v", unit_title("from", unit), ",.0f"), ("n", "values", ",.0f")
    )
    return {"transform": [{"filter": "isValid(datum.n)"}], "mark": shape, "encoding": encoding}


def _worst(group: Group, x: Spec) -> Spec:
    return {
        "transform": [{"filter": "isValid(datum.w)"}],
        "mark": mark("point", shape="triangle-up", filled=True, size=60, yOffset=-4),
        "encoding": {
            "x": x,
            "y": {"field": "w", "type": "quantitative"},
            "color": colour(group),
            **apart_points(group, 60),
            "tooltip": tooltip(group, ("v", "worst observed", ",.0f")),
        },
    }


RESOLUTION = 90
SHARE_LABEL = "format(datum.value, datum.value < 0.01 ? '.0e' : '~g')"
_ROUNDED = 1 - 1e-9  # a point that is just far enough stays so in rounded logarithms
Point = tuple[float, float]
FloatArray = NDArray[np.float64]


def curve(series: Series, resolution: int = RESOLUTION) -> list[Point]:
    """Points (value, share of values above it), thinned to what can be seen: `resolution` of them
    in each direction.

    Every point is exact. It begins at the minimum, or at the first bucket if values are below it,
    with what lies at or above it and
    ends at the maximum, where one value in N is left; at the last bucket where the file of
    another tool has values above it.
    """
    highest = highest_of(series)
    if not series.count or highest is None or series.min is None:
        return []
    if not has_quantiles(series.histogram):
        return []
    below_all = 1 - series.histogram.underflow / series.count
    values, above, total = counts_above(series.histogram)
    first = int(np.searchsorted(values, max(series.min, 0), side="left"))
    last = int(np.searchsorted(values, highest, side="left"))
    last = min(last, int(np.count_nonzero(above)))
    layout = parse_layout(series.histogram.layout)
    start = (drawn(max(series.min, layout.least)), below_all)
    end = (float(highest), 1 / series.count)
    inner = _thin(values[first:last], above[first:last] / total, end, resolution)
    least = min([end[1], above[last - 1] / total] if last > first else [end[1]])
    if series.histogram.overflow and layout.is_imported:
        return [start, *inner]
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


def exceedance_chart(group: Group, unit: Unit) -> Spec:
    """The curves, and for each line the 95 % bound above its worst observed."""
    return _exceedance(group, unit, has_bound=True)


def exceedance_without_bound(group: Group, unit: Unit) -> Spec:
    """The curves alone: nothing bounds what is above the worst where values are missing."""
    return _exceedance(group, unit, has_bound=False)


def _exceedance(group: Group, unit: Unit, *, has_bound: bool) -> Spec:
    found = [(line, curve(line.series)) for line in group.lines]
    ends = [float(highest_of(line.series) or 0) for line, _ in found]
    low, high = domain([value for _, points in found for value, _ in points] + ends, 1.08)
    least = min((share for _, points in found for _, share in points), default=0.1)
    x = value_channel("v", low, high, unit, value_title(group, unit))
    rows: list[Row] = []
    for line, points in found:
        if points:
            bound = upper_bound(0, line.series.count)
            rows += [{**keys(line), "v": drawn(v), "s": s} for v, s in points]
            highest = highest_of(line.series) or points[-1][0]
            if has_bound:
                rows.append({**keys(line), "v": float(highest), "b": bound})
    bounds = [_bounds(group, x, unit)] if has_bound else []
    return figure(group, rows, [_curves(group, x, least * 0.6, unit), *bounds])


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
                "scale": value_scale(least, 1),
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


def distribution_chart(group: Group, unit: Unit, limits: Sequence[int] = ()) -> Spec:
    """The histogram with a dashed line at each mean and a line at each limit within the axis."""
    spec = histogram_chart(group, unit)
    panel = spec.get("spec", spec)
    low, high = panel["layer"][0]["encoding"]["x"]["scale"]["domain"]
    shown = [limit for limit in limits if low < limit < high]
    rows: list[Row] = [
        {**keys(line), "m": drawn(line.series.mean)}
        for line in group.lines
        if line.series.mean is not None
    ]
    first = {line.panel: keys(line) for line in reversed(group.lines)}
    rows += [
        {**row, "k": format_value(limit, unit), "l": float(limit)}
        for row in first.values()
        for limit in shown
    ]
    spec["data"]["values"] += rows
    limit_x: Spec = {"field": "l", "type": "quantitative"}
    only_limits = [{"filter": "isValid(datum.l)"}]
    text = mark(
        "text", align="left", baseline="top", dx=3, fontSize=10, color="var(--bad)", fontWeight=600
    )
    panel["layer"] += [
        {
            "transform": [{"filter": "isValid(datum.m)"}],
            "mark": mark("rule", strokeDash=[3, 3], strokeWidth=1.2),
            "encoding": {"x": {"field": "m", "type": "quantitative"}, "color": colour(group)},
        },
        {
            "transform": only_limits,
            "mark": mark("rule", strokeWidth=1, color="var(--bad)"),
            "encoding": {"x": limit_x},
        },
        {
            "transform": only_limits,
            "mark": text,
            "encoding": {
                "x": limit_x,
                "y": {"value": 0},
                "text": {"field": "k", "type": "nominal"},
            },
        },
    ]
    return spec


MOST_POINTS = 900
_LEAST_INTERVALS = 3
_LEAST_FILLED = 2


def is_drawable(series: Series) -> bool:
    """Whether there is a course of time to see: at least three intervals, two with values."""
    filled = sum(1 for value in series.maxima_per_s if value is not None)
    return len(series.maxima_per_s) >= _LEAST_INTERVALS and filled >= _LEAST_FILLED


def intervals_joined(group: Group) -> int:
    """Recorded intervals for one drawn point, so that the chart stays within 900 points."""
    total = sum(len(line.series.maxima_per_s) for line in group.lines)
    return max(1, -(-total // MOST_POINTS))


def course(series: Series, joined: int) -> list[tuple[float, int | None]]:
    """Points (seconds, largest value); null where no value fell into the time.

    A recording ends within its last interval, whose largest value is of fewer values than those of
    the others: it is left out where it would look like a fall, so never where it is the worst.
    """
    step_s = series.maxima_interval_ns / 1e9
    points: list[tuple[float, int | None]] = []
    for start in range(0, len(series.maxima_per_s), joined):
        part = [one for one in series.maxima_per_s[start : start + joined] if one is not None]
        points.append((round(start * step_s, 6), max(part, default=None)))
    if len(points) > 1 and _is_fall(points[-2][1], points[-1][1]):
        del points[-1]
    return points


def _is_fall(before: int | None, last: int | None) -> bool:
    return last is None or (before is not None and last < before)


def time_chart(group: Group, unit: Unit) -> Spec:
    """One line each, broken where seconds are missing."""
    joined = intervals_joined(group)
    found = [(line, course(line.series, joined)) for line in group.lines]
    values = [value for _, points in found for _, value in points if value is not None]
    low, high = domain(values, 1.25)
    rows: list[Row] = [
        {**keys(line), "t": t, "v": None if value is None else drawn(value)}
        for line, points in found
        for t, value in points
    ]
    x: Spec = {
        "field": "t",
        "type": "quantitative",
        "title": "time since start (s)",
        "axis": {"grid": False, "tickCount": 6},
        "scale": {"nice": False, "zero": True},
    }
    y = value_channel("v", low, high, unit, f"largest {value_title(group, unit)}")
    tips = tooltip(group, ("t", "second", ",.1f"), ("v", "largest", ",.0f"))
    encoding = {"x": x, "y": y, "color": colour(group), **apart(group), "tooltip": tips}
    look = mark("line", invalid="break-paths-show-path-domains")
    only = [{"filter": "!isValid(datum.j)"}]  # a second without a value has a row too
    return figure(group, rows, [{"transform": only, "mark": look, "encoding": encoding}])


def with_joins(spec: Spec, group: Group, joins: Sequence[int]) -> Spec:
    """The chart with a line where a recording was resumed; `joins` in ns."""
    if not joins:
        return spec
    first = {line.panel: keys(line) for line in reversed(group.lines)}
    spec["data"]["values"] += [
        {**row, "j": round(at_ns / 1e9, 3)} for row in first.values() for at_ns in joins
    ]
    spec.get("spec", spec)["layer"].append(
        {
            "transform": [{"filter": "isValid(datum.j)"}],
            "mark": mark("rule", strokeDash=[2, 3], strokeWidth=1, color="var(--bad)"),
            "encoding": {"x": {"field": "j", "type": "quantitative"}},
        }
    )
    return spec


# Points have no stroke, so that the usual stroke would not be seen.
_LEGEND: Spec = {"columns": 2, "symbolType": "circle", "symbolSize": 60, "symbolOpacity": 1}
_COLOURS = ("at the tick", "other")


def phase_chart(points: Sequence[GapPoint], *, has_tick: bool) -> Spec:
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
    y = value_channel("v", low, high, "ns", "length of the gap")
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


_NO_LOSS = 0.01  # the end of the axis where nothing was lost


def loss_chart(steps: Sequence[Step]) -> Spec:
    """A line for each source, and a mark for each step: filled where the period was sustained."""
    rows = [row_of(step) for step in sorted(steps, key=lambda one: one.period_ns)]
    group = Group([], colours=list(dict.fromkeys(str(row["c"]) for row in rows)))
    low, high = domain([float(row["v"] or 0) for row in rows], 1.1)
    top = max((float(row["l"] or 0) for row in rows), default=0) or _NO_LOSS
    encoding: Spec = {
        "x": value_channel("v", low, high, "ns", "period"),
        "y": {
            "field": "l",
            "type": "quantitative",
            "scale": {"domain": [0, top * 1.05], "nice": False},
            "axis": {"format": ".2~%", "grid": True},
            "title": "interrupts lost",
        },
        "color": colour(group),
        "tooltip": tooltip(group, ("v", "period (ns)", ",.0f"), ("l", "lost", ".3~%")),
    }
    return figure(
        group,
        rows,
        [
            {"mark": mark("line"), "encoding": encoding},
            _marks(encoding, is_filled=True),
            _marks(encoding, is_filled=False),
        ],
    )


def row_of(step: Step) -> Row:
    return {
        "c": shorten(step.source, 24),
        "v": drawn(step.period_ns),
        "l": step.lost / step.interrupts if step.interrupts else 0.0,
        "b": 1.0 if step.passed else 0.0,
    }


def _marks(encoding: Spec, *, is_filled: bool) -> Spec:
    return {
        "transform": [{"filter": f"datum.b === {1 if is_filled else 0}"}],
        "mark": mark("point", filled=is_filled, size=60),
        "encoding": encoding,
    }


_GLANCE_ROW_HEIGHT = 18
_LABEL = 40


def glance_chart(found: list[Timing]) -> Spec:
    """A line from median to worst observed: a tick at the median, a point at the worst."""
    values = [value for one in found for value in (one.median_ns, one.worst_ns) if value]
    low, high = domain(values, 1.3)
    x = value_channel("w", low, high, "ns", "median to worst observed")
    axis: Spec = {
        "labelLimit": _WIDEST_LABEL,
        "labelOverlap": False,
        "ticks": False,
        "domain": False,
        "grid": False,
    }
    y: Spec = {"field": "c", "type": "nominal", "sort": None, "title": None, "axis": axis}
    tips: list[Spec] = [
        {"field": "c", "type": "nominal", "title": "test"},
        {"field": "m", "type": "quantitative", "title": "median (ns)", "format": ",.0f"},
        {"field": "w", "type": "quantitative", "title": "worst observed (ns)", "format": ",.0f"},
    ]
    layers = [
        {
            "mark": mark("rule", strokeWidth=2, opacity=0.45, color="var(--series-1)"),
            "encoding": {"x": x, "x2": {"field": "m"}, "y": y, "tooltip": tips},
        },
        {
            "mark": mark("tick", thickness=2.5, bandSize=10, color="var(--ink)"),
            "encoding": {"x": {"field": "m", "type": "quantitative"}, "y": y},
        },
        {
            "mark": mark("point", filled=True, size=55, opacity=1, color="var(--series-2)"),
            "encoding": {"x": {"field": "w", "type": "quantitative"}, "y": y},
        },
    ]
    rows = [
        {
            "c": name,
            "m": drawn(one.worst_ns if one.median_ns is None else one.median_ns),
            "w": drawn(one.worst_ns),
        }
        for one, name in zip(found, names_of(found), strict=True)
    ]
    return {
        "config": CONFIG,
        "data": {"values": rows},
        "layer": layers,
        "width": WIDTH,
        "height": {"step": _GLANCE_ROW_HEIGHT},
        "usermeta": {"zoom": ["x"]},
    }


def names_of(found: list[Timing]) -> list[str]:
    """The test, and what tells the result apart; numbered where shortened names are the same,
    since results of one name would share a row."""
    names = [shorten(f"{one.test} {one.under}".strip(), _LABEL) for one in found]
    repeated = {name for name, count in Counter(names).items() if count > 1}
    return [f"#{n} {name}" if name in repeated else name for n, name in enumerate(names, 1)]
