"""Two sides beside each other: how fast, and how large without a miss."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hardstone.report.charts.frame import Row, colour, figure, tooltip
from hardstone.report.charts.scale import domain, value_scale
from hardstone.report.charts.tire_frame import count_axis, group_of, line_name, shape_channel
from hardstone.report.groups import Group
from hardstone.report.theme import PALETTE, Spec, mark
from hardstone.simulation.analysis import Bound, Statement

LIMIT, OPEN, NONE = "largest without a miss", "no miss found", "missed at the smallest"
_SHAPES = {LIMIT: "circle", OPEN: "triangle-right", NONE: "triangle-left"}
_ROW = 26


def speed_rows(panel: str, one: Statement) -> Iterator[Row]:
    """A row for each common point of SIM-P-RF: its ratio of total times."""
    if one.speed is None:
        return
    for place, ratio in zip(one.speed.places, one.speed.ratios, strict=True):
        yield {"p": panel, "c": line_name(place.threads), "v": place.masses, "m": ratio}


def held_rows(panel: str, one: Statement, names: tuple[str, str]) -> Iterator[Row]:
    """A row for each side and number of threads: what it held."""
    for row in one.held:
        for bound, name in zip((row.first, row.second), names, strict=True):
            found = _held(bound)
            if found:
                masses, kind = found
                yield {"p": panel, "c": name, "y": str(row.threads), "v": masses, "h": kind}


def _held(bound: Bound | None) -> tuple[int, str] | None:
    if bound is None:
        return None
    if bound.held is not None:
        return bound.held.masses, LIMIT if bound.first_missed else OPEN
    return (bound.first_missed.masses, NONE) if bound.first_missed else None


def speed_chart(rows: Sequence[Row]) -> Spec:
    """A mark for each point; at 1 both sides take the same time."""
    names = list(dict.fromkeys(str(row["c"]) for row in rows))[: len(PALETTE)]
    rows = [row for row in rows if row["c"] in names]
    group = group_of(rows, names)
    low, high = domain([1.0, *(_number(row["m"]) for row in rows)], 1.15)
    mass_low, mass_high = domain([_number(row["v"]) for row in rows], 1.15)
    x: Spec = {
        "field": "v",
        "type": "quantitative",
        "scale": value_scale(mass_low, mass_high),
        "axis": count_axis(mass_low, mass_high),
        "title": "masses (log)",
    }
    y: Spec = {
        "field": "m",
        "type": "quantitative",
        "scale": value_scale(low, high),
        "axis": {"grid": True, "format": ".3~g", "tickCount": 4},
        "title": "times (log)",
    }
    points = {
        "mark": mark("point", filled=True, size=45, opacity=1),
        "encoding": {
            "x": x,
            "y": y,
            "color": _dotted(group),
            "tooltip": tooltip(group, ("v", "masses", ",.0f"), ("m", "ratio", ".3~g")),
        },
    }
    same = {
        "mark": mark("rule", color="var(--quiet)", strokeDash=[4, 3]),
        "encoding": {"y": {"datum": 1, "type": "quantitative"}},
    }
    return figure(group, rows, [points, same])


def held_chart(rows: Sequence[Row]) -> Spec:
    """A mark for each side, threads by masses; its shape says whether it is a limit."""
    names = list(dict.fromkeys(str(row["c"]) for row in rows))[: len(PALETTE)]
    rows = [row for row in rows if row["c"] in names]
    group = group_of(rows, names)
    threads = sorted({str(row["y"]) for row in rows}, key=int, reverse=True)
    low, high = domain([_number(row["v"]) for row in rows], 1.3)
    kinds = [kind for kind in _SHAPES if any(row["h"] == kind for row in rows)]
    encoding: Spec = {
        "x": {
            "field": "v",
            "type": "quantitative",
            "scale": value_scale(low, high),
            "axis": count_axis(low, high),
            "title": "masses (log)",
        },
        "y": {
            "field": "y",
            "type": "ordinal",
            "sort": threads,
            "title": "threads",
            "axis": {"grid": True, "ticks": False, "labelOverlap": False},
        },
        "yOffset": {"field": "c", "type": "nominal", "sort": names},
        "color": _dotted(group),
        "shape": shape_channel(kinds, _SHAPES),
        "tooltip": [
            {"field": "c", "type": "nominal", "title": "side"},
            {"field": "y", "type": "nominal", "title": "threads"},
            {"field": "v", "type": "quantitative", "title": "masses", "format": ",.0f"},
            {"field": "h", "type": "nominal", "title": "which is"},
        ],
    }
    layer = {"mark": mark("point", filled=True, size=60, opacity=1), "encoding": encoding}
    spec = figure(group, rows, [layer])
    inner = spec.get("spec", spec)
    inner["height"] = {"step": _ROW, "for": "position"}
    inner["usermeta"] = {"zoom": ["x"]}
    return spec


def _dotted(group: Group) -> Spec:
    """Colours of marks without lines, of which the legend would show nothing."""
    found = colour(group)
    legend = found["legend"]
    return {**found, "legend": legend and {**legend, "symbolType": "circle", "symbolSize": 60}}


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
