"""Small multiples: a panel for each system, the curve of the reference in grey behind its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from typing import Any

from hardstone.model import Unit
from hardstone.report.charts.scale import value_axis
from hardstone.report.charts.system_style import GREY, Standard
from hardstone.report.theme import CONFIG, Spec, mark

COLUMNS = 3
_EDGE = 0.1
_WIDTH, _HEIGHT = 108, 66
Point = tuple[float, float | None]


@dataclass(frozen=True)
class Panel:
    """The curve of one system, as (x, y); `band` as (x, low, high)."""

    name: str
    points: Sequence[Point]
    is_grey: bool = False
    is_reference: bool = False
    band: Sequence[tuple[float, float, float]] = ()


def chart(
    panels: Sequence[Panel],
    x: Spec,
    y: Spec,
    *,
    behind: Sequence[Point] = (),
    standards: Sequence[Standard] = (),
    across: str = "x",
    look: Spec | None = None,
    tips: tuple[str, str] = ("", ""),
) -> Spec:
    """`x` and `y` are the channels of fields "v" and "s" with scale, axis and title, which only
    the caption of the figure names. `behind`: the curve of the reference. `standards` are lines
    across the axis `across`, explained by the caption too."""
    x, y = {**x, "title": None}, {**y, "title": None}
    rows = [row for one in panels for row in _rows(one)]
    layers = [_curves(x, y, look or {}, tips)]
    if any(one.band for one in panels):
        layers.insert(0, _bands(x, y))
    if behind:
        layers.append(_behind(behind, look or {}))
    layers += [_standard(one, across) for one in standards]
    names = [one.name for one in panels]
    return {
        "config": {**CONFIG, "facet": {"spacing": 8}},
        "data": {"values": rows},
        "facet": {
            "field": "p",
            "type": "nominal",
            "sort": names,
            "title": None,
            "header": {"labelFontSize": 10, "labelLimit": _WIDTH + 8, "labelPadding": 2},
        },
        "columns": COLUMNS,
        "spec": {"width": _WIDTH, "height": _HEIGHT, "layer": layers},
    }


def inner_axis(low: float, high: float, unit: Unit) -> Spec:
    """An axis whose labels stay away from those of the next panel."""
    axis = value_axis(low, high, unit)
    span = log(high / low) or 1.0
    inner = [one for one in axis["values"] if _EDGE < log(one / low) / span < 1 - _EDGE]
    return {**axis, "values": inner or axis["values"][:1], "labelSeparation": 16}


def _rows(one: Panel) -> list[dict[str, Any]]:
    kind = "reference" if one.is_reference else "grey" if one.is_grey else "own"
    curve: list[dict[str, Any]] = [
        {"p": one.name, "e": kind, "v": x, "s": y} for x, y in one.points
    ]
    return curve + [
        {"p": one.name, "e": kind, "v": x, "min": low, "max": high} for x, low, high in one.band
    ]


def _colour() -> Spec:
    scale = {
        "domain": ["own", "reference", "grey"],
        "range": ["var(--series-1)", "var(--ink)", GREY],
    }
    return {"field": "e", "type": "nominal", "scale": scale, "legend": None}


def _curves(x: Spec, y: Spec, look: Spec, tips: tuple[str, str]) -> Spec:
    return {
        "transform": [{"filter": "!isValid(datum.min)"}],
        "mark": mark("line", strokeWidth=1.4, **look),
        "encoding": {
            "x": x,
            "y": y,
            "color": _colour(),
            "tooltip": [
                {"field": "p", "type": "nominal", "title": "system"},
                {"field": "v", "type": "quantitative", "title": tips[0]},
                {"field": "s", "type": "quantitative", "title": tips[1], "format": ".3~g"},
            ],
        },
    }


def _bands(x: Spec, y: Spec) -> Spec:
    return {
        "transform": [{"filter": "isValid(datum.min)"}],
        "mark": mark("area", fillOpacity=0.2),
        "encoding": {
            "x": x,
            "y": {**y, "field": "min"},
            "y2": {"field": "max"},
            "color": _colour(),
        },
    }


def _behind(points: Sequence[Point], look: Spec) -> Spec:
    """Data of its own, so that every panel has it and the page holds it once."""
    return {
        "data": {"values": [{"v": x, "s": y} for x, y in points]},
        "mark": mark("line", strokeWidth=1, color=GREY, opacity=0.75, **look),
        "encoding": {
            "x": {"field": "v", "type": "quantitative"},
            "y": {"field": "s", "type": "quantitative"},
        },
    }


def _standard(one: Standard, across: str) -> Spec:
    return {
        "data": {"values": [{"k": one.value}]},
        "mark": mark("rule", strokeWidth=0.8, strokeDash=[3, 2], color="var(--bad)"),
        "encoding": {across: {"field": "k", "type": "quantitative"}},
    }
