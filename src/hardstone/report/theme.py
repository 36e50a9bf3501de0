"""How every chart looks. Colours are CSS variables, so a chart follows the page."""

from __future__ import annotations

from typing import Any

from hardstone.model import Unit

Spec = dict[str, Any]

WIDTH = 360
HEIGHT = 190
PANEL_HEIGHT = 104
PALETTE = [f"var(--series-{number})" for number in range(1, 9)]
DASHES = [[1, 0], [5, 3]]
_INK, _QUIET, _RULE = "var(--ink)", "var(--quiet)", "var(--rule)"
_FONT = "system-ui, sans-serif"

_NS_LABEL = (
    "datum.value >= 1e9 ? format(datum.value / 1e9, ',.4~f') + ' s'"
    " : datum.value >= 1e6 ? format(datum.value / 1e6, '.4~f') + ' ms'"
    " : datum.value >= 1e3 ? format(datum.value / 1e3, '.4~f') + ' us'"
    " : format(datum.value, '.4~f') + ' ns'"
)
LABEL_OF_UNIT: dict[Unit, str] = {
    "ns": _NS_LABEL,
    "count": "format(datum.value, ',')",
    "bytes_per_s": "format(datum.value, '.3~s') + 'B/s'",
}

CONFIG: Spec = {
    "background": None,
    "font": _FONT,
    "padding": {"left": 8, "right": 8, "top": 4, "bottom": 4},
    "aria": False,
    "view": {"stroke": None},
    "mark": {"aria": False},
    "line": {"strokeWidth": 1.5, "strokeCap": "round", "strokeJoin": "round"},
    "axis": {
        "labelColor": _QUIET,
        "labelFontSize": 11,
        "titleColor": _QUIET,
        "titleFontSize": 11,
        "titleFontWeight": "normal",
        "titlePadding": 8,
        "domainColor": _RULE,
        "tickColor": _RULE,
        "gridColor": _RULE,
        "gridWidth": 0.6,
        "tickSize": 4,
        "labelOverlap": "greedy",
        "labelSeparation": 10,  # a browser may set text wider than it was measured
        "labelLimit": 0,
        "titleLimit": 0,
        "aria": False,
    },
    "legend": {
        "orient": "bottom",
        "direction": "horizontal",
        "columns": 3,
        "title": None,
        "labelColor": _INK,
        "labelFontSize": 11,
        "labelLimit": 0,
        "symbolType": "stroke",
        "symbolStrokeWidth": 2,
        "rowPadding": 3,
        "columnPadding": 14,
        "offset": 8,
        "aria": False,
    },
    "header": {
        "title": None,
        "labelColor": _INK,
        "labelFontSize": 11,
        "labelAnchor": "start",
        "labelPadding": 3,
        "labelOrient": "top",
    },
    "facet": {"spacing": 14},
}


def mark(kind: str, **more: Any) -> Spec:
    """A mark, named so that `interactive` can find it."""
    return {"type": kind, **more}


def interactive(spec: Spec) -> Spec:
    """The same chart with drag to pan, shift and wheel to zoom, and tooltips."""
    inner = spec.get("spec", spec)
    layers = [_with_tooltip(layer) for layer in inner["layer"]]
    layers[0] = {**layers[0], "params": [_zoom(inner.get("usermeta", {}).get("zoom", ["x", "y"]))]}
    changed = {**inner, "layer": layers}
    return {**spec, "spec": changed} if "spec" in spec else changed


def _with_tooltip(layer: Spec) -> Spec:
    marked = {"clip": True, **layer["mark"]}
    if marked["type"] not in ("line", "area") or "tooltip" not in layer.get("encoding", {}):
        return {**layer, "mark": marked}
    # A line has one tooltip for all of it: invisible points carry one for each value.
    return {**layer, "mark": {**marked, "point": {"opacity": 0, "size": 90, "aria": False}}}


def _zoom(channels: list[str]) -> Spec:
    return {
        "name": "zoom",
        "select": {
            "type": "interval",
            "encodings": channels,
            "zoom": "wheel![event.shiftKey]",
            "clear": "dblclick",
        },
        "bind": "scales",
    }
