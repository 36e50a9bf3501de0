"""Share of interrupts lost by the period of a step, on a log axis of periods."""

from __future__ import annotations

from collections.abc import Sequence

from hardstone.present.wording import shorten
from hardstone.report.charts.frame import Row, colour, figure, tooltip
from hardstone.report.charts.scale import domain, drawn, value_axis, value_scale
from hardstone.report.groups import Group
from hardstone.report.theme import Spec, mark
from hardstone.stats.sustained import Step


def chart(steps: Sequence[Step]) -> Spec:
    """A line for each source, and a mark for each step: filled where the period was sustained."""
    rows = [row_of(step) for step in sorted(steps, key=lambda one: one.period_ns)]
    group = Group([], colours=list(dict.fromkeys(str(row["c"]) for row in rows)))
    low, high = domain([float(row["v"] or 0) for row in rows], 1.1)
    encoding: Spec = {
        "x": {
            "field": "v",
            "type": "quantitative",
            "scale": value_scale(low, high),
            "axis": value_axis(low, high, "ns"),
            "title": "period (log)",
        },
        "y": {
            "field": "l",
            "type": "quantitative",
            "scale": {"domain": [0, _top(rows)], "nice": False},
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


def _top(rows: Sequence[Row]) -> float:
    """Above the largest share, so that a mark is whole; never nothing."""
    return max(0.01, *(float(row["l"] or 0) for row in rows)) * 1.05


def _marks(encoding: Spec, *, is_filled: bool) -> Spec:
    return {
        "transform": [{"filter": f"datum.b === {1 if is_filled else 0}"}],
        "mark": mark("point", filled=is_filled, size=60),
        "encoding": encoding,
    }
