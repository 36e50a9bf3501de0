"""Minimum to worst observed of each series, with its average, side by side."""

from __future__ import annotations

from hardstone.model import Unit
from hardstone.present.wording import shorten
from hardstone.report.charts.frame import Row, colour, figure, keys, tooltip, value_title
from hardstone.report.charts.scale import domain, drawn, value_axis, value_scale
from hardstone.report.groups import Group, Line
from hardstone.report.theme import WIDTH, Spec, mark

ROW_HEIGHT = 22
AXIS_WIDTH = 44
_WIDEST_LABEL = 150
_CHARACTER_WIDTH = 7


def chart(group: Group, unit: Unit) -> Spec:
    """A bar from minimum to maximum, a tick at the average, a triangle at the maximum."""
    lines = [line for line in group.lines if line.series.count]
    extremes = [value for line in lines for value in (line.series.min, line.series.max)]
    low, high = domain([value for value in extremes if value is not None], 1.15)
    x: Spec = {
        "field": "min",
        "type": "quantitative",
        "scale": value_scale(low, high),
        "axis": value_axis(low, high, unit),
        "title": f"{value_title(group, unit)} (log)",
    }
    layers = [_range(group, x), _mark(group, "avg"), _mark(group, "max")]
    spec = figure(group, [_row(line, unit) for line in lines], layers)
    panel = spec.get("spec", spec)
    panel.update(width=WIDTH + AXIS_WIDTH - _label_width(lines), height={"step": ROW_HEIGHT})
    panel["usermeta"] = {"zoom": ["x"]}
    return spec


def _name(line: Line) -> str:
    return shorten(f"{line.colour} ({line.dash})" if line.dash else line.colour)


def _label_width(lines: list[Line]) -> int:
    longest = max((len(_name(line)) for line in lines), default=0)
    return min(longest * _CHARACTER_WIDTH, _WIDEST_LABEL)


def _row(line: Line, unit: Unit) -> Row:
    series = line.series
    values = {"min": series.min or 0, "avg": series.mean or 0, "max": series.max or 0}
    drawn_values = {key: round(drawn(value), 1) for key, value in values.items()}
    return {**keys(line), "name": _name(line), **drawn_values}


def _y() -> Spec:
    axis = {"labelLimit": _WIDEST_LABEL, "grid": False, "ticks": False, "domain": False}
    return {"field": "name", "type": "nominal", "sort": None, "title": None, "axis": axis}


def _colour(group: Group) -> Spec:
    return {**colour(group), "legend": None}


def _range(group: Group, x: Spec) -> Spec:
    fields = [(name, title, ",.0f") for name, title in _TITLES]
    return {
        "mark": mark("bar", height={"band": 0.5}, opacity=0.3),
        "encoding": {
            "x": x,
            "x2": {"field": "max"},
            "y": _y(),
            "color": _colour(group),
            "tooltip": tooltip(group, *fields),
        },
    }


_TITLES = (("min", "minimum"), ("avg", "average"), ("max", "worst observed"))


def _mark(group: Group, field: str) -> Spec:
    look = (
        mark("tick", thickness=2.5, bandSize=ROW_HEIGHT * 0.6, color="var(--ink)")
        if field == "avg"
        else mark("point", shape="triangle-left", filled=True, size=60)
    )
    encoding: Spec = {"x": {"field": field, "type": "quantitative"}, "y": _y()}
    if field == "max":
        encoding["color"] = _colour(group)
    return {"mark": look, "encoding": encoding}
