"""Predictability: worst over mean of the decisive figures, a row of dots for each system."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hardstone.report.charts.scale import domain, ticks, value_scale
from hardstone.report.charts.system_style import GREY
from hardstone.report.theme import CONFIG, PALETTE, Spec, mark

MOST_KINDS = 8
_SHAPES = (
    *("circle", "square", "triangle-up", "diamond", "cross", "triangle-down"),
    *("triangle-left", "triangle-right"),
)
_STEP = 18
_WHOLE = 404
_WIDEST_LABEL = 160
_LABEL_WIDTH = 6.2
_ABREAST = 26  # characters, for two columns of the legend


@dataclass(frozen=True)
class Dot:
    """Worst over mean of the figure `kind` of one system."""

    name: str
    kind: str
    ratio: float
    is_grey: bool = False


def chart(dots: Sequence[Dot], names: Sequence[str]) -> Spec:
    """A row for each of `names`, also of one without dots; kinds differ in shape and colour."""
    kinds = list(dict.fromkeys(one.kind for one in dots))[:MOST_KINDS]
    shown = [one for one in dots if one.kind in kinds]
    low, high = domain([1.0, *(one.ratio for one in shown)], 1.2)
    label = min(max(map(len, names), default=0) * _LABEL_WIDTH, _WIDEST_LABEL)
    axis: Spec = {"labelLimit": _WIDEST_LABEL, "labelOverlap": False, "grid": True}
    x: Spec = {
        "field": "v",
        "type": "quantitative",
        "scale": value_scale(low, high),
        "axis": {"values": ticks(low, high), "format": "~g", "grid": True},
        "title": "worst over mean (log)",
    }
    dot: Spec = {
        "mark": mark("point", filled=True, size=48, opacity=0.9),
        "encoding": {
            "x": x,
            "y": {
                "field": "u",
                "type": "nominal",
                "title": None,
                "scale": {"domain": list(names)},
                "axis": {**axis, "ticks": False, "domain": False},
            },
            "color": _colour(kinds),
            "shape": _shape(kinds),
            "tooltip": [
                {"field": "u", "type": "nominal", "title": "system"},
                {"field": "h", "type": "nominal", "title": "figure"},
                {"field": "v", "type": "quantitative", "title": "ratio", "format": ".3~g"},
            ],
        },
    }
    return {
        "config": CONFIG,
        "data": {
            "values": [_row(one) for one in sorted(shown, key=lambda one: (one.kind, one.is_grey))]
        },
        "layer": [dot],
        "width": int(_WHOLE - label),
        "height": {"step": _STEP},
        "usermeta": {"zoom": ["x"]},
    }


def _row(one: Dot) -> dict[str, str | float]:
    kind = "grey" if one.is_grey else "plain"
    return {"u": one.name, "h": one.kind, "e": kind, "v": one.ratio}


def _colour(kinds: Sequence[str]) -> Spec:
    return {
        "condition": {"test": "datum.e === 'grey'", "value": GREY},
        "field": "h",
        "type": "nominal",
        "sort": None,
        "scale": {"domain": list(kinds), "range": PALETTE[: len(kinds)]},
        "legend": _legend(kinds),
    }


def _shape(kinds: Sequence[str]) -> Spec:
    scale = {"domain": list(kinds), "range": list(_SHAPES[: len(kinds)])}
    return {"field": "h", "type": "nominal", "sort": None, "scale": scale, "legend": _legend(kinds)}


def _legend(kinds: Sequence[str]) -> Spec:
    longest = max(map(len, kinds), default=0)
    columns = 2 if longest <= _ABREAST else 1
    return {"columns": columns, "symbolSize": 60, "symbolStrokeWidth": 1, "symbolType": "circle"}
