"""The terms of the cost model, stacked, beside the measured time of a step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hardstone.report.charts.frame import Row, figure
from hardstone.report.charts.tire_frame import group_of
from hardstone.report.theme import LABEL_OF_UNIT, PALETTE, Spec, mark
from hardstone.simulation.analysis import Model
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


def chart(rows: Sequence[Row]) -> Spec:
    """A bar for each place; the tick is what was measured."""
    names = [name for name in TERMS.values() if any(row.get("c") == name for row in rows)]
    places = list(dict.fromkeys(str(row["x"]) for row in rows))
    top = 1.18 * max((_number(row.get("w")) for row in rows), default=1.0)
    x: Spec = {
        "field": "x",
        "type": "ordinal",
        "sort": places,
        "title": None,
        "axis": {"labelAngle": 0, "labelOverlap": "greedy"},
    }
    layers = [_bars(x, names, top), _measured(x), _sizes(x)]
    spec = figure(group_of(rows, names), list(rows), layers)
    spec.get("spec", spec)["usermeta"] = {"zoom": ["y"]}
    return spec


def _bars(x: Spec, names: Sequence[str], top: float) -> Spec:
    return {
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
                "scale": {"domain": list(names), "range": PALETTE[: len(names)]},
                "legend": {"columns": 3, "symbolType": "square", "symbolSize": 80},
            },
            "tooltip": [_named("c", "term"), _named("x", "point"), _time("l", "time (ns)")],
        },
    }


def _measured(x: Spec) -> Spec:
    return {
        "transform": [{"filter": "isValid(datum.m)"}],
        "mark": mark("tick", thickness=3, width={"band": 0.8}, color="var(--ink)"),
        "encoding": {
            "x": x,
            "y": {"field": "m", "type": "quantitative"},
            "tooltip": [_named("x", "point"), _time("m", "measured (ns)")],
        },
    }


def _sizes(x: Spec) -> Spec:
    """The number of masses above each bar."""
    return {
        "transform": [{"filter": "isValid(datum.w)"}],
        "mark": mark("text", dy=-8, fontSize=10, color="var(--quiet)"),
        "encoding": {
            "x": x,
            "y": {"field": "w", "type": "quantitative"},
            "text": {"field": "y", "type": "nominal"},
        },
    }


def _named(field: str, title: str) -> Spec:
    return {"field": field, "type": "nominal", "title": title}


def _time(field: str, title: str) -> Spec:
    return {"field": field, "type": "quantitative", "title": title, "format": ",.0f"}


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
