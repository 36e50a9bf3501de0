"""The largest value of each second of the run; seconds without a value are gaps."""

from __future__ import annotations

from collections.abc import Sequence

from hardstone.model import Series, Unit
from hardstone.report.charts.frame import Row, apart, colour, figure, keys, tooltip, value_title
from hardstone.report.charts.scale import domain, drawn, value_axis, value_scale
from hardstone.report.groups import Group, Line
from hardstone.report.theme import Spec, mark

MOST_POINTS = 900
LEAST_INTERVALS = 3
LEAST_FILLED = 2


def is_drawable(series: Series) -> bool:
    """Whether there is a course of time to see: at least three intervals, two with values."""
    filled = sum(1 for value in series.maxima_per_s if value is not None)
    return len(series.maxima_per_s) >= LEAST_INTERVALS and filled >= LEAST_FILLED


def intervals_joined(group: Group) -> int:
    """Recorded intervals for one drawn point, so that the chart stays within 900 points."""
    total = sum(len(line.series.maxima_per_s) for line in group.lines)
    return max(1, -(-total // MOST_POINTS))


def course(series: Series, joined: int) -> list[tuple[float, int | None]]:
    """Points (seconds, largest value); null where no value fell into the time."""
    step_s = series.maxima_interval_ns / 1e9
    points = []
    for start in range(0, len(series.maxima_per_s), joined):
        part = [one for one in series.maxima_per_s[start : start + joined] if one is not None]
        points.append((round(start * step_s, 6), max(part, default=None)))
    return points


def chart(group: Group, unit: Unit) -> Spec:
    """One line each, broken where seconds are missing."""
    joined = intervals_joined(group)
    found = [(line, course(line.series, joined)) for line in group.lines]
    values = [value for _, points in found for _, value in points if value is not None]
    low, high = domain(values, 1.25)
    rows = [row for line, points in found for row in _rows(line, points)]
    x: Spec = {
        "field": "t",
        "type": "quantitative",
        "title": "time since start (s)",
        "axis": {"grid": False, "tickCount": 6},
        "scale": {"nice": False, "zero": True},
    }
    y: Spec = {
        "field": "v",
        "type": "quantitative",
        "scale": value_scale(low, high),
        "axis": value_axis(low, high, unit),
        "title": f"largest {value_title(group, unit)} (log)",
    }
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


def _rows(line: Line, points: list[tuple[float, int | None]]) -> list[Row]:
    return [
        {**keys(line), "t": t, "v": None if value is None else drawn(value)} for t, value in points
    ]
