"""The shift function: by which factor each quantile of a system is larger than the reference's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hardstone.report.charts.frame import Row, colour, figure, tooltip
from hardstone.report.charts.scale import value_scale
from hardstone.report.charts.system_panels import Panel
from hardstone.report.charts.system_panels import chart as panels_chart
from hardstone.report.charts.system_style import MOST_OVERLAID, styled
from hardstone.report.groups import Group
from hardstone.report.theme import Spec, mark
from hardstone.stats.shift_function import ShiftPoint

_LEAST_SPAN = 1.25
_FURTHEST = 1000.0
_TICKS = (0.001, 0.01, 0.1, 0.2, 0.5, 0.8, 0.9, 1, 1.1, 1.25, 2, 5, 10, 100, 1000)
# Of the share above a quantile: "50 %", "99.9 %".
_LEVEL = "format(100 * (1 - datum.value), '.6~f') + ' %'"


@dataclass(frozen=True)
class Shift:
    """The points of one system, q ascending."""

    name: str
    points: Sequence[ShiftPoint]


def chart(found: Sequence[Shift]) -> Spec:
    """Ratios over the quantiles, with their bands; at 1 the systems are alike. Up to six systems
    share one chart, more have panels."""
    x, y = _axes(found)
    if len(found) > MOST_OVERLAID:
        panels = [
            Panel(one.name, _line(one), band=_band(one, *y["scale"]["domain"])) for one in found
        ]
        spec = panels_chart(
            panels,
            {**x, "axis": {**x["axis"], "values": [0.5, 0.01]}},
            y,
            tips=("share above", "ratio"),
        )
        spec["spec"]["layer"].append(_alike())
        return spec
    names = [one.name for one in found]
    rows = [row for one in found for row in _rows(one, *y["scale"]["domain"])]
    group = Group([], colours=names)
    spec = figure(group, rows, [_lines(group, x, y), _area(group, x), _alike()])
    return styled(spec, names, [False] * len(names))


def _line(one: Shift) -> list[tuple[float, float | None]]:
    return [(1 - point.q, point.ratio) for point in one.points]


def _band(one: Shift, floor: float, top: float) -> list[tuple[float, float, float]]:
    """Clipped to the axis; an open end reaches to its end."""
    return [
        (
            1 - point.q,
            floor if point.low is None else min(max(point.low, floor), top),
            top if point.high is None else min(max(point.high, floor), top),
        )
        for point in one.points
    ]


def _rows(one: Shift, floor: float, top: float) -> list[Row]:
    lines: list[Row] = [{"c": one.name, "v": x, "m": y} for x, y in _line(one)]
    return lines + [
        {"c": one.name, "v": x, "min": low, "max": high} for x, low, high in _band(one, floor, top)
    ]


def _axes(found: Sequence[Shift]) -> tuple[Spec, Spec]:
    shares = [1 - point.q for one in found for point in one.points]
    least, most = min(shares, default=0.1), max(shares, default=1.0)
    ends = [
        end
        for one in found
        for point in one.points
        for end in (point.ratio, point.low, point.high)
        if end is not None and 1 / _FURTHEST <= end <= _FURTHEST
    ]
    low, high = min([1 / _LEAST_SPAN, *ends]) / 1.05, max([_LEAST_SPAN, *ends]) * 1.05
    marks = [one for one in (0.5, 0.1, 0.01, 1e-3, 1e-4, 1e-5, 1e-6) if least <= one <= most]
    x: Spec = {
        "field": "v",
        "type": "quantitative",
        "scale": {**value_scale(least, most * 1.0001), "reverse": True},
        "axis": {"values": marks, "labelExpr": _LEVEL, "grid": True},
        "title": "quantile",
    }
    y: Spec = {
        "field": "s",
        "type": "quantitative",
        "scale": value_scale(low, high),
        "axis": {
            "values": [one for one in _TICKS if low <= one <= high],
            "format": "~g",
            "grid": True,
        },
        "title": "ratio to the reference (log)",
    }
    return x, y


def _lines(group: Group, x: Spec, y: Spec) -> Spec:
    return {
        "transform": [{"filter": "isValid(datum.m)"}],
        "mark": mark("line"),
        "encoding": {
            "x": x,
            "y": {**y, "field": "m"},
            "color": colour(group),
            "tooltip": tooltip(group, ("v", "share above", ".3~g"), ("m", "ratio", ".3~g")),
        },
    }


def _area(group: Group, x: Spec) -> Spec:
    return {
        "transform": [{"filter": "isValid(datum.min)"}],
        "mark": mark("area", fillOpacity=0.15),
        "encoding": {
            "x": x,
            "y": {"field": "min", "type": "quantitative"},
            "y2": {"field": "max"},
            "color": {**colour(group), "legend": None},
        },
    }


def _alike() -> Spec:
    return {
        "mark": mark("rule", color="var(--quiet)", strokeDash=[4, 3]),
        "encoding": {"y": {"datum": 1, "type": "quantitative"}},
    }
