"""What the charts of the tire have in common: panels, lines, masses on a log axis."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from hardstone.report.charts.frame import Row
from hardstone.report.charts.scale import domain, ticks, value_scale
from hardstone.report.groups import Group
from hardstone.report.theme import LABEL_OF_UNIT, PALETTE, Spec

MOST_PANELS = 6
MOST_LINES = len(PALETTE)


def chosen(threads: Iterable[int]) -> list[int]:
    """At most MOST_LINES numbers of threads, the smallest and the largest among them."""
    found = sorted(set(threads))
    if len(found) <= MOST_LINES:
        return found
    last = len(found) - 1
    return [found[round(at * last / (MOST_LINES - 1))] for at in range(MOST_LINES)]


def group_of(rows: Sequence[Row], colours: Sequence[str], dashes: Sequence[str] = ()) -> Group:
    """The lines by colour; panels where there are several."""
    panels = list(dict.fromkeys(str(row["p"]) for row in rows))
    return Group(
        [],
        colours=list(colours),
        panels=panels if len(panels) > 1 else [],
        dashes=list(dashes),
    )


def shape_channel(kinds: Sequence[str], shapes: Mapping[str, str]) -> Spec:
    """The channel of the shape, of field `h`: what a mark is, whatever its colour."""
    return {
        "field": "h",
        "type": "nominal",
        "sort": None,
        "scale": {"domain": list(kinds), "range": [shapes[kind] for kind in kinds]},
        "legend": {
            "orient": "top",
            "offset": 2,
            "symbolStrokeWidth": 1,
            "symbolFillColor": "var(--ink)",
            "symbolStrokeColor": "var(--ink)",
        },
    }


def masses_axis(rows: Sequence[Row]) -> Spec:
    """The channel of the masses, of field `v`."""
    low, high = domain([float(row["v"] or 1) for row in rows], 1.15)
    return {
        "field": "v",
        "type": "quantitative",
        "scale": value_scale(low, high),
        "axis": count_axis(low, high),
        "title": "masses (log)",
    }


def count_axis(low: float, high: float) -> Spec:
    """Round numbers of masses on a logarithmic axis."""
    return {"grid": True, "labelExpr": LABEL_OF_UNIT["count"], "values": ticks(low, high)}


def line_name(threads: int) -> str:
    return "1 thread" if threads == 1 else f"{threads} threads"
