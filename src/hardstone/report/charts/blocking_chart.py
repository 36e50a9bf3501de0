"""Blocking rates: how often the CPU is blocked for longer than a length; both axes logarithmic."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hardstone.kernel.analysis import Operation
from hardstone.kernel.blocking import rate_bounds, unseen_per_s
from hardstone.present.wording import shorten
from hardstone.report.charts.frame import Row, colour, figure, tooltip
from hardstone.report.charts.scale import domain, drawn, ticks, value_axis, value_scale
from hardstone.report.groups import Group
from hardstone.report.theme import Spec, mark

UNSEEN = "may be unseen"
_POINTS = 48
_LABEL = "format(datum.value, '~s')"


def is_drawable(one: Operation) -> bool:
    """Whether a release of the operation was blocked."""
    return bool(one.blocking and one.blocking.falls and one.blocking.rate.from_ns.size)


def chart(found: Sequence[Operation]) -> Spec:
    """A line for each operation that blocked; the first has a band."""
    rows = [row for number, one in enumerate(found) for row in line_rows(one, number)]
    low, high = domain([float(row["v"] or 0) for row in rows], 1.1)
    least = min((float(row["s"] or 0) for row in rows), default=1.0) / 3
    most = max((float(row["s"] or 0) for row in rows), default=10.0) * 2
    rows += _unseen(found, least, most, high) + _band(found[0], least)
    names = list(dict.fromkeys(str(row["c"]) for row in rows))
    group = Group([], colours=names)
    x: Spec = {
        "field": "v",
        "type": "quantitative",
        "scale": value_scale(low, high),
        "axis": value_axis(low, high, "ns"),
        "title": "longer than (log)",
    }
    y: Spec = {
        "field": "s",
        "type": "quantitative",
        "scale": {"type": "log", "domain": [least, most], "nice": False, "clamp": True},
        "axis": {"values": ticks(least, most), "labelExpr": _LABEL, "grid": True},
        "title": "intervals per second (log)",
    }
    return figure(group, rows, [_lines(group, x, y), _limit(group, x), _area(group, x)])


def line_rows(one: Operation, number: int) -> list[Row]:
    """From each length on, the rate holds up to the next."""
    if one.blocking is None:
        return []
    rate = one.blocking.rate
    steps = zip(rate.from_ns.tolist(), rate.per_s.tolist(), strict=True)
    drawn_steps = [(at, per_s) for at, per_s in steps if per_s > 0]
    if not drawn_steps:
        return []
    end = (float(rate.from_ns[-1]), drawn_steps[-1][1])
    name = shorten(one.name, 24)
    return [
        {"c": name, "i": number, "v": drawn(at), "s": per_s} for at, per_s in [*drawn_steps, end]
    ]


def _unseen(found: Sequence[Operation], least: float, most: float, high: float) -> list[Row]:
    """For the operation with the fewest releases; within the axes."""
    known = [one.blocking.residuals for one in found if one.blocking]
    if not known:
        return []
    fewest = min(known, key=lambda one: one.releases)
    lengths = np.geomspace(max(fewest.start_ns, 1.0) * 1.01, max(high, 2.0), _POINTS).tolist()
    rates = [(length, unseen_per_s(fewest, length)) for length in lengths]
    return [
        {"c": UNSEEN, "i": len(found), "v": drawn(at), "t": rate}
        for at, rate in rates
        if rate is not None and least <= rate <= most
    ]


def _band(one: Operation, least: float) -> list[Row]:
    if one.blocking is None or not one.blocking.rate.from_ns.size:
        return []
    found = one.blocking.residuals
    lengths = np.geomspace(max(found.start_ns, 1.0), max(found.worst_ns, 2.0), _POINTS)
    low, high = rate_bounds(found, lengths)
    name = shorten(one.name, 24)
    return [
        {"c": name, "i": 0, "v": drawn(at), "min": max(floor, least), "max": top}
        for at, floor, top in zip(lengths.tolist(), low.tolist(), high.tolist(), strict=True)
        if np.isfinite(top)
    ]


def _lines(group: Group, x: Spec, y: Spec) -> Spec:
    return {
        "transform": [{"filter": "isValid(datum.s)"}],
        "mark": mark("line", interpolate="step-after"),
        "encoding": {
            "x": x,
            "y": y,
            "color": colour(group),
            "detail": {"field": "i", "type": "nominal"},
            "tooltip": tooltip(group, ("v", "longer than (ns)", ",.0f"), ("s", "per s", ".3~g")),
        },
    }


def _limit(group: Group, x: Spec) -> Spec:
    return {
        "transform": [{"filter": "isValid(datum.t)"}],
        "mark": mark("line", strokeDash=[3, 3], strokeWidth=1.2),
        "encoding": {
            "x": x,
            "y": {"field": "t", "type": "quantitative"},
            "color": colour(group),
            "tooltip": tooltip(group, ("v", "length (ns)", ",.0f"), ("t", "per s", ".3~g")),
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
            "color": colour(group),
        },
    }
