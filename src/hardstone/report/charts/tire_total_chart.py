"""Total time of a simulation against its masses, a line for each number of threads."""

from __future__ import annotations

from collections.abc import Sequence

from hardstone.report.charts.frame import Row, colour, figure, tooltip
from hardstone.report.charts.scale import domain, drawn, value_axis, value_scale
from hardstone.report.charts.tire_frame import group_of, line_name, masses_axis
from hardstone.report.theme import Spec, mark


def row_of(panel: str, threads: int, masses: int, total_ns: float) -> Row:
    return {"p": panel, "c": line_name(threads), "v": masses, "t": drawn(total_ns)}


def chart(rows: Sequence[Row], names: Sequence[str]) -> Spec:
    """`names`: the lines that have a colour."""
    group = group_of(rows, names)
    low, high = domain([float(row["t"] or 0) for row in rows], 1.2)
    encoding: Spec = {
        "x": masses_axis(rows),
        "y": {
            "field": "t",
            "type": "quantitative",
            "scale": value_scale(low, high),
            "axis": value_axis(low, high, "ns"),
            "title": "total time (log)",
        },
        "color": colour(group),
        "tooltip": tooltip(group, ("v", "masses", ",.0f"), ("t", "total time (ns)", ",.0f")),
    }
    return figure(
        group,
        list(rows),
        [
            {"mark": mark("line"), "encoding": encoding},
            {"mark": mark("point", filled=True, size=22), "encoding": encoding},
        ],
    )
