"""Time of a step against the masses: mean, p99 and worst observed, below or above the deadline."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hardstone.report.charts.frame import Row, colour, figure, tooltip
from hardstone.report.charts.scale import domain, drawn, value_axis, value_scale
from hardstone.report.charts.tire_frame import group_of, line_name, masses_axis
from hardstone.report.theme import Spec, mark
from hardstone.simulation.results import Point

MEAN, WORST, P99 = "mean", "worst observed", "p99"
_DASHES = {MEAN: [1, 0], WORST: [5, 3], P99: [1, 2]}


def rows_of(panel: str, point: Point) -> Iterator[Row]:
    """A row for each figure of the step, and one for the deadline of its panel."""
    step = point.step_time
    if step is None:
        return
    for name, value in ((MEAN, step.mean_ns), (P99, step.p99_ns), (WORST, step.max_ns)):
        if value is not None:
            yield {
                "p": panel,
                "c": line_name(point.threads),
                "d": name,
                "v": point.masses,
                "t": drawn(value),
            }


def deadline_row(panel: str, period_ns: int) -> Row:
    return {"p": panel, "b": drawn(period_ns)}


def chart(rows: Sequence[Row], names: Sequence[str], deadlines: Sequence[Row]) -> Spec:
    """`names`: the lines that have a colour. `deadlines`: one row for each panel."""
    kinds = [name for name in _DASHES if any(row["d"] == name for row in rows)]
    group = group_of(rows, names, kinds)
    values = [float(row["t"] or 0) for row in rows] + [float(row["b"] or 0) for row in deadlines]
    low, high = domain(values, 1.2)
    encoding: Spec = {
        "x": masses_axis(rows),
        "y": {
            "field": "t",
            "type": "quantitative",
            "scale": value_scale(low, high),
            "axis": value_axis(low, high, "ns"),
            "title": "time of a step (log)",
        },
        "color": colour(group),
        "strokeDash": {
            "field": "d",
            "type": "nominal",
            "sort": None,
            "scale": {"domain": kinds, "range": [_DASHES[name] for name in kinds]},
            "legend": {"orient": "top", "offset": 2},
        },
        "tooltip": tooltip(group, ("v", "masses", ",.0f"), ("t", "step (ns)", ",.0f")),
    }
    lines = {
        "transform": [{"filter": "isValid(datum.t)"}],
        "mark": mark("line"),
        "encoding": encoding,
    }
    deadline = {
        "transform": [{"filter": "isValid(datum.b)"}],
        "mark": mark("rule", color="var(--bad)", strokeWidth=1.5),
        "encoding": {"y": {"field": "b", "type": "quantitative"}},
    }
    return figure(group, [*rows, *deadlines], [lines, deadline])
