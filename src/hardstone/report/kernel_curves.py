"""Kernel time against length of section, of several systems, beside the points of HP."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from hardstone.compare.view import CompareView, SystemColumn
from hardstone.errors import InputError
from hardstone.kernel.analysis import TEST, KernelTime, Operation
from hardstone.kernel.tables import KernelHistory, kernel_history, summary
from hardstone.report.chart_table import ChartTable, Value
from hardstone.report.charts import blocking_chart, section_chart
from hardstone.report.charts.frame import Row
from hardstone.report.charts.scale import domain, ticks, value_scale
from hardstone.report.charts.system_panels import Panel, Point, inner_axis
from hardstone.report.charts.system_panels import chart as panels_chart
from hardstone.report.charts.system_style import MOST_OVERLAID, styled
from hardstone.report.drawing import Drawer
from hardstone.report.figures import Figure
from hardstone.report.system_figure import WHO, system_figure, system_name, who
from hardstone.report.theme import Spec, mark
from hardstone.stats.kind_of_time import why_not_beside_hardware
from hardstone.systems.subjects import MeasuredRun

NAME_CHARACTERS = 22
_SECTIONS = (
    "Share of kernel time in sections shorter than each length, of all operations together, from "
    "where it can be told from the idle latency."
)
_HISTORY = " Points: 90 %, 99 % and all of kernel time, {short}, {machine}."
_RATES = "Blocking intervals longer than each length, per second, of all operations together."
_OVERLAID = " Band: 95 %, of the first. Dashed: a lower rate may not have been seen."
_SHARE_MARKS = [0, 0.5, 0.9]
_MOST_POINTS = 40


@dataclass(frozen=True)
class _System:
    """The kernel time of one system; `whole` is named after it."""

    column: SystemColumn
    time: KernelTime
    whole: Operation


def kernel_figures(view: CompareView, drawer: Drawer, *, live: bool) -> list[Figure]:
    """Kernel time by length of section, and blocking rates, of the systems that measured them."""
    systems = [one for column in view.columns if (one := _system(column)) is not None]
    history = None if _is_emulated(view) else kernel_history()
    shares = [one for one in systems if section_chart.is_drawable(one.whole)]
    rates = [one for one in systems if blocking_chart.is_drawable(one.whole)]
    found = [_sections(shares, history)] if shares else []
    found += [_rates(rates)] if rates else []
    return [one.figure(drawer, live=live) for one in found]


@dataclass(frozen=True)
class _Chart:
    name: str
    title: str
    about: str
    spec: Spec
    systems: Sequence[_System]
    table: ChartTable

    def figure(self, drawer: Drawer, *, live: bool) -> Figure:
        spoken = [f"{one.whole.name}: {summary(one.time)}" for one in self.systems]
        alt = f"{self.title}. {'; '.join(spoken)}."
        if any(one.column.apart for one in self.systems):
            about = f"{self.about} Grey: may not be compared with the reference."
        else:
            about = self.about
        return system_figure(
            self.name, self.title, about, alt, self.spec, self.table, drawer, live=live
        )


def _system(column: SystemColumn) -> _System | None:
    subject = column.subject
    if not isinstance(subject, MeasuredRun):
        return None
    for result in subject.results:
        try:
            time = subject.kernel_time(result)
        except InputError:  # its series contradict each other, which the page says
            continue
        if time is not None:
            name = system_name(column, NAME_CHARACTERS)
            return _System(column, time, replace(time.whole, name=name))
    return None


def _is_emulated(view: CompareView) -> bool:
    runs = [one.subject for one in view.columns if isinstance(one.subject, MeasuredRun)]
    return any(why_not_beside_hardware(one.document) for one in runs)


def _sections(found: Sequence[_System], history: KernelHistory | None) -> _Chart:
    whole = [one.whole for one in found]
    about = _SECTIONS
    lines = [section_chart.line_rows(one, number) for number, one in enumerate(whole)]
    points = section_chart.point_rows(history, len(found)) if history else []
    if history:
        about += _HISTORY.format(short=history.short, machine=history.machine)
    if len(found) > MOST_OVERLAID:
        low, high = domain([_number(row["v"]) for rows in [*lines, points] for row in rows], 1.1)
        y = _channel([0, 1.03], section_chart.share_axis(_SHARE_MARKS), is_log=False)
        spec = _panels(found, lines, low, high, y, ("shorter than (ns)", "share"))
        spec["spec"]["layer"].append(_points_layer(points))
        about += _behind(found)
    else:
        spec = _styled(section_chart.chart(whole, history), found)
    table = _table(found, lines, ["shorter than (ns)", "share of kernel time"], points)
    return _Chart(
        "chart-kernel-sections", "Kernel time by length of section", about, spec, found, table
    )


def _rates(found: Sequence[_System]) -> _Chart:
    whole = [one.whole for one in found]
    lines = [blocking_chart.line_rows(one, number) for number, one in enumerate(whole)]
    if len(found) > MOST_OVERLAID:
        low, high = domain([_number(row["v"]) for rows in lines for row in rows], 1.1)
        rates = [_number(row["s"]) for rows in lines for row in rows]
        least, most = min(rates) / 3, max(rates) * 2
        marks = {"values": ticks(least, most)[::2], "format": "~s"}
        y = _channel([least, most], marks, is_log=True)
        spec = _panels(found, lines, low, high, y, ("longer than (ns)", "per s"))
        about = _RATES + _behind(found)
    else:
        spec, about = _styled(blocking_chart.chart(whole), found), _RATES + _OVERLAID
    table = _table(found, lines, ["longer than (ns)", "intervals per s"], [])
    return _Chart("chart-kernel-rates", "Blocking rate", about, spec, found, table)


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _behind(found: Sequence[_System]) -> str:
    first = next((one.whole.name for one in found if one.column.is_reference), None)
    return f" Grey behind: the reference, {first}." if first else ""


def _styled(spec: Spec, found: Sequence[_System]) -> Spec:
    """Of the names in the chart those of systems come first, as they are given."""
    layers = spec.get("spec", spec)["layer"]
    names: list[str] = layers[0]["encoding"]["color"]["scale"]["domain"]
    grey = {one.whole.name for one in found if one.column.apart}
    return styled(spec, names, [name in grey for name in names])


def _channel(ends: Sequence[float], axis: Spec, *, is_log: bool) -> Spec:
    scale = value_scale(*ends) if is_log else {"domain": list(ends), "nice": False, "clamp": True}
    return {"field": "s", "type": "quantitative", "scale": scale, "axis": {"grid": True, **axis}}


def _panels(
    found: Sequence[_System],
    lines: Sequence[Sequence[Row]],
    low: float,
    high: float,
    y: Spec,
    tips: tuple[str, str],
) -> Spec:
    curves: list[list[Point]] = [
        [(_number(row["v"]), _number(row["s"])) for row in _thinned(rows)] for rows in lines
    ]
    x: Spec = {
        "field": "v",
        "type": "quantitative",
        "scale": value_scale(low, high),
        "axis": inner_axis(low, high, "ns"),
    }
    panels = [
        Panel(one.whole.name, curve, bool(one.column.apart), one.column.is_reference)
        for one, curve in zip(found, curves, strict=True)
    ]
    places = [one.column.is_reference for one in found]
    behind = curves[places.index(True)] if True in places else []
    look = {"interpolate": "step-after"}
    return panels_chart(panels, x, y, behind=behind, look=look, tips=tips)


def _thinned(rows: Sequence[Row]) -> Sequence[Row]:
    """Every n-th row, and the last: a step from one kept row to the next is drawn late."""
    stride = -(-len(rows) // _MOST_POINTS)
    return [*rows[:: max(stride, 1)], *rows[-1:]]


def _points_layer(points: Sequence[Row]) -> Spec:
    return {
        "data": {"values": [{"v": row["v"], "b": row["b"]} for row in points]},
        "mark": mark("point", shape="diamond", filled=True, size=22, color="var(--series-2)"),
        "encoding": {
            "x": {"field": "v", "type": "quantitative"},
            "y": {"field": "b", "type": "quantitative"},
        },
    }


def _table(
    found: Sequence[_System],
    lines: Sequence[Sequence[Row]],
    heads: list[str],
    points: Sequence[Row],
) -> ChartTable:
    rows: list[list[Value]] = [
        [*who(one.column), row["v"], row["s"], f"{one.column.id} {TEST}"]
        for one, line in zip(found, lines, strict=True)
        for row in line
    ]
    rows += [[None, "", row["c"], row["v"], row["b"], "published"] for row in points]
    return ChartTable([*WHO, *heads, "source"], rows)
