"""The shift function: by which factor each quantile of a system is larger than the reference's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log10

from hardstone.report.charts.frame import Row, colour, figure, tooltip
from hardstone.report.charts.scale import value_scale
from hardstone.report.charts.system_panels import Panel
from hardstone.report.charts.system_panels import chart as panels_chart
from hardstone.report.charts.system_style import MOST_OVERLAID, styled
from hardstone.report.groups import Group
from hardstone.report.theme import Spec, mark
from hardstone.stats.two_runs import ShiftPoint

_LEAST_SPAN = 1.25
_FURTHEST = 1000.0
_BAND_ROOM = 1.5
_WIDE = 4.0
_TICKS = (0.5, 0.6, 0.8, 0.9, 1, 1.1, 1.25, 1.5, 2)
_WIDE_TICKS = (0.001, 0.01, 0.1, 0.2, 0.5, 1, 2, 5, 10, 100, 1000)
_FEW_TICKS = (0.01, 0.1, 0.5, 1, 2, 10, 100)
# The axis is the logarithm of the odds q / (1 - q), so that both tails have room.
_LEVEL = "format(100 / (1 + pow(10, -datum.value)), '.5~f') + ' %'"
_LEVELS = (0.01, 0.1, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999)


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
        marks = [one for one in _FEW_TICKS if one in y["axis"]["values"]]
        y = {**y, "axis": {**y["axis"], "values": marks}}
        panels = [
            Panel(one.name, _line(one), band=_band(one, *y["scale"]["domain"]))
            for one in map(_thinned, found)
        ]
        spec = panels_chart(
            panels,
            {**x, "axis": {**x["axis"], "values": [odds(0.5), odds(0.99)]}},
            y,
            tips=("log of the odds", "ratio"),
        )
        spec["spec"]["layer"].append(_alike())
        return spec
    names = [one.name for one in found]
    rows = [row for one in found for row in _rows(one, *y["scale"]["domain"])]
    group = Group([], colours=names)
    spec = figure(group, rows, [_lines(group, x, y), _area(group, x), _alike()])
    return styled(spec, names, [False] * len(names))


def _thinned(one: Shift) -> Shift:
    """Every second point and the last: a panel shows no more."""
    last = one.points[-1:] if len(one.points) % 2 == 0 else []
    return Shift(one.name, [*one.points[::2], *last])


def odds(q: float) -> float:
    """Where the quantile `q` stands."""
    return round(log10(q / (1 - q)), 8)


def _line(one: Shift) -> list[tuple[float, float | None]]:
    return [(odds(point.q), point.ratio) for point in one.points]


def _band(one: Shift, floor: float, top: float) -> list[tuple[float, float, float]]:
    """Clipped to the axis; an open end reaches to its end."""
    return [
        (
            odds(point.q),
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
    places = [odds(point.q) for one in found for point in one.points]
    least, most = min(places, default=-1.0), max(places, default=1.0)
    ratios = [point.ratio for one in found for point in one.points]
    low, high = min([1 / _LEAST_SPAN, *ratios]), max([_LEAST_SPAN, *ratios])
    # Where a band is wide beside the ratios, its ends are not worth the room.
    low, high = max(low / _BAND_ROOM, 1 / _FURTHEST), min(high * _BAND_ROOM, _FURTHEST)
    marks = [place for place in map(odds, _LEVELS) if least <= place <= most]
    x: Spec = {
        "field": "v",
        "type": "quantitative",
        "scale": {"domain": [least, most], "nice": False, "zero": False},
        "axis": {"values": marks, "labelExpr": _LEVEL, "grid": True},
        "title": "quantile",
    }
    y: Spec = {
        "field": "s",
        "type": "quantitative",
        "scale": value_scale(low, high),
        "axis": {
            "values": [one for one in _ticks(low, high) if low <= one <= high],
            "format": "~g",
            "grid": True,
        },
        "title": "ratio to the reference (log)",
    }
    return x, y


def _ticks(low: float, high: float) -> Sequence[float]:
    return _TICKS if high / low < _WIDE else _WIDE_TICKS


def _lines(group: Group, x: Spec, y: Spec) -> Spec:
    return {
        "transform": [{"filter": "isValid(datum.m)"}],
        "mark": mark("line"),
        "encoding": {
            "x": x,
            "y": {**y, "field": "m"},
            "color": colour(group),
            "tooltip": tooltip(group, ("v", "log of the odds", ".3~g"), ("m", "ratio", ".3~g")),
        },
    }


def _area(group: Group, x: Spec) -> Spec:
    return {
        "transform": [{"filter": "isValid(datum.min)"}],
        "mark": mark("area", fillOpacity=max(0.06, 0.16 / len(group.colours))),
        "encoding": {
            "x": x,
            "y": {"field": "min", "type": "quantitative"},
            "y2": {"field": "max"},
            "color": colour(group),
        },
    }


def _alike() -> Spec:
    return {
        "mark": mark("rule", color="var(--quiet)", strokeDash=[4, 3]),
        "encoding": {"y": {"datum": 1, "type": "quantitative"}},
    }
