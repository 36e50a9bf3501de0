"""All points by latency, both axes logarithmic, with the means and the chosen limits."""

from __future__ import annotations

from collections.abc import Sequence

from hardstone.model import Unit
from hardstone.present.wording import format_value
from hardstone.report.charts import histogram_chart
from hardstone.report.charts.frame import Row, colour, keys
from hardstone.report.charts.scale import drawn
from hardstone.report.groups import Group
from hardstone.report.theme import Spec, mark


def chart(group: Group, unit: Unit, limits: Sequence[int] = ()) -> Spec:
    """The histogram with a dashed line at each mean and a line at each limit within the axis."""
    spec = histogram_chart.chart(group, unit)
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
    panel["layer"] += [_means(group), *_limits()]
    return spec


def _means(group: Group) -> Spec:
    return {
        "transform": [{"filter": "isValid(datum.m)"}],
        "mark": mark("rule", strokeDash=[3, 3], strokeWidth=1.2),
        "encoding": {"x": {"field": "m", "type": "quantitative"}, "color": colour(group)},
    }


def _limits() -> list[Spec]:
    x: Spec = {"field": "l", "type": "quantitative"}
    only = [{"filter": "isValid(datum.l)"}]
    text = mark(
        "text", align="left", baseline="top", dx=3, fontSize=10, color="var(--bad)", fontWeight=600
    )
    return [
        {
            "transform": only,
            "mark": mark("rule", strokeWidth=1, color="var(--bad)"),
            "encoding": {"x": x},
        },
        {
            "transform": only,
            "mark": text,
            "encoding": {"x": x, "y": {"value": 0}, "text": {"field": "k", "type": "nominal"}},
        },
    ]
