"""Curves of systems: overlaid up to six of them, then each in a panel of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec

from hardstone.compare.view import ComparedCell, ComparedRow, SystemColumn
from hardstone.model import Series, Unit
from hardstone.report.charts import exceedance_chart, histogram_chart
from hardstone.report.charts.scale import domain, ticks, value_scale
from hardstone.report.charts.system_panels import Panel, Point, inner_axis
from hardstone.report.charts.system_panels import chart as panels_chart
from hardstone.report.charts.system_style import (
    NEAR_PANELS,
    Standard,
    room_for,
    styled,
    with_standards,
)
from hardstone.report.drawing import Drawer
from hardstone.report.figures import LEAST_VALUES
from hardstone.report.groups import Group, Line
from hardstone.report.system_figure import measured_cells, source_of, standards_for, system_name
from hardstone.report.theme import Spec
from hardstone.stats.identity import histogram_problem

PANEL_NAME = 20
Lines = Sequence[tuple["Curve", Sequence[Point]]]


@dataclass(frozen=True)
class Curve:
    """The series of one system, with what it is called in a picture."""

    column: SystemColumn
    cell: ComparedCell
    series: Series
    source: str

    @property
    def is_grey(self) -> bool:
        return self.cell.is_grey


@dataclass(frozen=True)
class Place:
    """What all charts of a row share."""

    row: ComparedRow
    curves: Sequence[Curve]
    standards: Sequence[Standard]
    name: str
    drawer: Drawer
    live: bool


def curves_of(row: ComparedRow, columns: Sequence[SystemColumn]) -> list[Curve]:
    """The systems whose distribution can be drawn."""
    return [
        Curve(column, cell, cell.series, source_of(cell.held, column))
        for column, cell in measured_cells(row, columns)
        if cell.series is not None
        and cell.series.count >= LEAST_VALUES
        and cell.series.histogram.buckets
        and histogram_problem(cell.series.histogram) is None
    ]


def curve_name(one: Curve, is_many: bool) -> str:
    mark = " (reference)" if one.column.is_reference else ""
    return system_name(one.column, PANEL_NAME if is_many else 26) + mark


def group_of_curves(found: Sequence[Curve]) -> Group:
    """The systems as the lines of one chart."""
    names = [curve_name(one, False) for one in found]
    lines = [
        Line(msgspec.structs.replace(one.series, labels={}), name, number)
        for number, (one, name) in enumerate(zip(found, names, strict=True))
    ]
    return Group(lines, colours=names)


def overlaid(
    place: Place,
    found: Sequence[Curve],
    chart: Callable[[Group, Unit], Spec],
    axis: str = "x",
    *,
    is_low: bool = False,
) -> Spec:
    group, unit = group_of_curves(found), place.row.unit
    spec = styled(chart(group, unit), group.colours, [one.is_grey for one in found])
    shown = standards_for(place.row, place.standards)
    return with_standards(spec, axis, shown, unit, is_low=is_low)


def panelled(
    place: Place,
    lines: Sequence[tuple[Curve, Sequence[Point]]],
    axes: tuple[Spec, Spec],
    *,
    tips: tuple[str, str],
    across: str = "x",
) -> Spec:
    """A panel for each system, with the curve of the reference in grey behind its own."""
    x, y = axes
    axis = x if across == "x" else y
    low, high = axis["scale"]["domain"]
    wanted = standards_for(place.row, place.standards)
    shown, low, high = room_for(wanted, low, high, NEAR_PANELS)
    axis.update(scale=value_scale(low, high), axis=inner_axis(low, high, place.row.unit))
    behind = next((points for one, points in lines if one.column.is_reference), ())
    panels = [
        Panel(curve_name(one, True), points, one.is_grey, one.column.is_reference)
        for one, points in lines
    ]
    look = {} if across == "y" else {"interpolate": "step-after"}
    return panels_chart(
        panels, x, y, behind=behind, standards=shown, across=across, look=look, tips=tips
    )


def _channel(field: str, low: float, high: float, axis: Spec) -> Spec:
    return {
        "field": field,
        "type": "quantitative",
        "scale": value_scale(low, high),
        "axis": {"grid": True, **axis},
    }


def share_axes(lines: Sequence[tuple[Curve, Sequence[Point]]]) -> tuple[Spec, Spec]:
    low, high = domain([x for _, points in lines for x, _ in points], 1.08)
    least = min((y for _, points in lines for _, y in points if y), default=0.1) * 0.6
    marks = {"values": ticks(least, 1.0)[::2], "labelExpr": exceedance_chart.SHARE_LABEL}
    return _channel("v", low, high, {}), _channel("s", least, 1.0, marks)


def count_axes(lines: Sequence[tuple[Curve, Sequence[Point]]]) -> tuple[Spec, Spec]:
    low, high = domain([x for _, points in lines for x, _ in points])
    top = max((y for _, points in lines for _, y in points if y), default=1.0) * 1.6
    marks = {"values": ticks(1, top)[::2], "format": ".0s"}
    return _channel("v", low, high, {}), _channel("s", histogram_chart.FLOOR, top, marks)


def second_axes(lines: Sequence[tuple[Curve, Sequence[Point]]]) -> tuple[Spec, Spec]:
    low, high = domain([y for _, points in lines for _, y in points if y is not None], 1.25)
    x: Spec = {
        "field": "v",
        "type": "quantitative",
        "axis": {"grid": False, "tickCount": 3},
        "scale": {"nice": False, "zero": True},
    }
    return x, _channel("s", low, high, {})
