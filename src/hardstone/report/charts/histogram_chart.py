"""Histogram of durations: both axes logarithmic, bins of whole buckets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hardstone.model import Histogram, Unit
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
from hardstone.stats.histogram import bins_of
from hardstone.stats.identity import edges_of, index_of, parse_layout

MOST_BINS = 72
LEAST_BINS = 10
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
    bits = min(parse_layout(histogram.layout) for histogram in histograms)
    low = min(int(bins.lower[0]) for bins in found)
    high = max(int(bins.upper[-1]) for bins in found)
    most = int(np.clip(2 * max(bins.total for bins in found) ** (1 / 3), LEAST_BINS, MOST_BINS))
    wanted = [min(int(edge), high) for edge in np.geomspace(max(low, 1), high + 1, most + 1)]
    edges = {edges_of(index_of(edge, bits), bits)[0] for edge in wanted}
    return sorted({low, high + 1, *(edge for edge in edges if low < edge <= high)})


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


def chart(group: Group, unit: Unit) -> Spec:
    """Outlines of all lines, and a mark at the worst observed of each."""
    edges = grid([line.series.histogram for line in group.lines])
    found = [(line, draw_bins(line.series.histogram, edges)) for line in group.lines]
    low, high = domain(edges + [line.series.max or 0 for line in group.lines])
    top = max((one.count for _, bins in found for one in bins), default=1) * 1.6
    x: Spec = {
        "field": "v",
        "type": "quantitative",
        "scale": value_scale(low, high),
        "axis": value_axis(low, high, unit),
        "title": f"{value_title(group, unit)} (log)",
    }
    rows = [row for line, bins in found for row in _rows(line, bins)]
    layers = [_outline(group, x, top, unit), _worst(group, x)]
    return figure(group, rows, layers)


def _rows(line: Line, bins: list[Bin]) -> list[Row]:
    outline: list[Row] = [{**keys(line), "v": v, "n": n} for v, n in steps(bins)]
    worst: Row = {**keys(line), "v": drawn(line.series.max or 0), "w": FLOOR}
    return [*outline, worst]


def _outline(group: Group, x: Spec, top: float, unit: Unit) -> Spec:
    single = len(group.lines) <= max(1, len(group.panels))
    look: Spec = {"interpolate": "step-after"}
    shape = mark("area", line=True, fillOpacity=0.18, **look) if single else mark("line", **look)
    y: Spec = {
        "field": "n",
        "type": "quantitative",
        "scale": {"type": "log", "domain": [FLOOR, top], "nice": False, "clamp": True},
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
