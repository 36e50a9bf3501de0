"""The terms of the cost model, stacked, beside the measured time of a step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hardstone.report.charts.frame import Row, figure
from hardstone.report.charts.tire_frame import group_of
from hardstone.report.theme import LABEL_OF_UNIT, PALETTE, Spec, mark
from hardstone.stats.tire_costs import Model
from hardstone.units import format_count

TERMS = {
    "spring": "springs",
    "mass": "masses",
    "hand-over": "hand-overs",
    "switch": "switches",
    "semaphore": "4e semaphores (not in the paper)",
}


def rows_of(panel: str, place: str, model: Model) -> Iterator[Row]:
    """A row for each term, from where it begins to where it ends, and one for the measured time."""
    start = 0.0
    for term in (*model.terms, *([model.semaphore] if model.semaphore else [])):
        yield {
            "p": panel,
            "x": place,
            "c": TERMS[term.name],
            "b": start,
            "t": start + term.ns,
            "l": term.ns,
        }
        start += term.ns
    top = max(start, model.measured_ns)
    masses = format_count(model.point.masses)
    yield {"p": panel, "x": place, "m": model.measured_ns, "w": top, "y": masses}


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def chart(rows: Sequence[Row]) -> Spec:
    """A bar for each place; the tick is what was measured."""
    names = [name for name in TERMS.values() if any(row.get("c") == name for row in rows)]
    group = group_of(rows, names)
    top = 1.18 * max((_number(row.get("w")) for row in rows), default=1.0)
    places = list(dict.fromkeys(str(row["x"]) for row in rows))
    x: Spec = {
        "field": "x",
        "type": "ordinal",
        "sort": places,
        "title": None,
        "axis": {"labelAngle": 0, "labelOverlap": "greedy"},
    }
    bars: Spec = {
        "transform": [{"filter": "isValid(datum.t)"}],
        "mark": mark("bar", width={"band": 0.5}),
        "encoding": {
            "x": x,
            "y": {
                "field": "b",
                "type": "quantitative",
                "title": "time of a step",
                "scale": {"domain": [0, top], "nice": False},
                "axis": {"labelExpr": LABEL_OF_UNIT["ns"], "grid": True, "tickCount": 4},
            },
            "y2": {"field": "t"},
            "color": {
                "field": "c",
                "type": "nominal",
                "sort": None,
                "scale": {"domain": names, "range": PALETTE[: len(names)]},
                "legend": {"columns": 3, "symbolType": "square", "symbolSize": 80},
            },
            "tooltip": [
                {"field": "c", "type": "nominal", "title": "term"},
                {"field": "x", "type": "nominal", "title": "point"},
                {"field": "l", "type": "quantitative", "title": "time (ns)", "format": ",.0f"},
            ],
        },
    }
    ticks: Spec = {
        "transform": [{"filter": "isValid(datum.m)"}],
        "mark": mark("tick", thickness=3, width={"band": 0.8}, color="var(--ink)"),
        "encoding": {
            "x": x,
            "y": {"field": "m", "type": "quantitative"},
            "tooltip": [
                {"field": "x", "type": "nominal", "title": "point"},
                {"field": "m", "type": "quantitative", "title": "measured (ns)", "format": ",.0f"},
            ],
        },
    }
    sizes: Spec = {
        "transform": [{"filter": "isValid(datum.w)"}],
        "mark": mark("text", dy=-8, fontSize=10, color="var(--quiet)"),
        "encoding": {
            "x": x,
            "y": {"field": "w", "type": "quantitative"},
            "text": {"field": "y", "type": "nominal"},
        },
    }
    spec = figure(group, list(rows), [bars, ticks, sizes])
    spec.get("spec", spec)["usermeta"] = {"zoom": ["y"]}
    return spec
