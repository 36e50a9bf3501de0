"""HP's figure 1: the share of kernel time in sections shorter than a length, on a log axis."""

from __future__ import annotations

from collections.abc import Sequence

from hardstone.kernel.analysis import Operation, shorter_share, time_longer
from hardstone.kernel.tables import TIME_90, TIME_99, WORST, KernelHistory
from hardstone.present.wording import shorten
from hardstone.report.charts.frame import Row, colour, figure, tooltip
from hardstone.report.charts.scale import domain, drawn, value_axis, value_scale
from hardstone.report.groups import Group
from hardstone.report.theme import Spec, mark

_SHARES = {TIME_90: 0.9, TIME_99: 0.99, WORST: 1.0}
_MARKS = [0, 0.25, 0.5, 0.75, 0.9, 1]
_TOP = 1.03  # so that a mark at 1 is whole


def share_axis(marks: list[float]) -> Spec:
    """An axis that has all of these marks: where there are more of them than one in 40 pixels, Vega
    leaves out every second, unless it is told how many there are."""
    look: Spec = {"format": ".0%", "grid": True, "labelOverlap": False}
    return {"values": marks, "tickCount": len(marks), **look}


def is_drawable(one: Operation) -> bool:
    """Whether any share of kernel time can be told."""
    found = one.blocking
    return bool(found and found.falls and one.kernel_share and found.rate.from_ns.size)


def chart(found: Sequence[Operation], history: KernelHistory | None) -> Spec:
    """A line for each operation that has shares; the points of the study where it is given."""
    rows = [row for number, one in enumerate(found) for row in line_rows(one, number)]
    rows += point_rows(history, len(found)) if history else []
    names = list(dict.fromkeys(str(row["c"]) for row in rows))
    group = Group([], colours=names)
    low, high = domain([float(row["v"] or 0) for row in rows], 1.1)
    x: Spec = {
        "field": "v",
        "type": "quantitative",
        "scale": value_scale(low, high),
        "axis": value_axis(low, high, "ns"),
        "title": "length of section (log)",
    }
    return figure(group, rows, [_lines(group, x), _marks(group, x)])


def line_rows(one: Operation, number: int) -> list[Row]:
    """From each length on the share holds up to the next."""
    if one.blocking is None or not one.kernel_share:
        return []
    longer = time_longer(one.blocking.rate)
    shares = shorter_share(longer, one.kernel_share)
    return [
        {"c": shorten(one.name, 24), "i": number, "v": drawn(at), "s": share}
        for at, share in zip(longer.from_ns.tolist(), shares.tolist(), strict=True)
    ]


def point_rows(history: KernelHistory, number: int) -> list[Row]:
    return [
        {
            "c": f"{history.short}, preemption {name}",
            "i": number + place,
            "v": side[statistic],
            "b": share,
        }
        for place, (name, side) in enumerate((("off", history.off), ("on", history.on)))
        for statistic, share in _SHARES.items()
    ]


def _lines(group: Group, x: Spec) -> Spec:
    return {
        "transform": [{"filter": "isValid(datum.s)"}],
        "mark": mark("line", interpolate="step-after"),
        "encoding": {
            "x": x,
            "y": {
                "field": "s",
                "type": "quantitative",
                "scale": {"domain": [0, _TOP], "nice": False, "clamp": True},
                "axis": share_axis(_MARKS),
                "title": "share of kernel time",
            },
            "color": colour(group),
            "detail": {"field": "i", "type": "nominal"},
            "tooltip": tooltip(group, ("v", "shorter than (ns)", ",.0f"), ("s", "share", ".3~%")),
        },
    }


def _marks(group: Group, x: Spec) -> Spec:
    return {
        "transform": [{"filter": "isValid(datum.b)"}],
        "mark": mark("point", shape="diamond", filled=True, size=70),
        "encoding": {
            "x": x,
            "y": {"field": "b", "type": "quantitative"},
            "color": colour(group),
            "tooltip": tooltip(group, ("v", "shorter than (ns)", ",.0f"), ("b", "share", ".3~%")),
        },
    }
