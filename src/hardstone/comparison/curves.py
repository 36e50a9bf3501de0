"""Curves of systems in a comparison, and what every figure of systems shares: names, sources.

Up to six systems are overlaid, then each has a panel of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from hardstone.comparison import charts
from hardstone.comparison.charts import (
    MOST_OVERLAID,
    NEAR_PANELS,
    Panel,
    Point,
    Standard,
    inner_axis,
    room_for,
    styled,
    with_standards,
)
from hardstone.comparison.charts import panel_chart as panels_chart
from hardstone.comparison.view import (
    ComparedCell,
    ComparedRow,
    CompareView,
    SystemColumn,
)
from hardstone.errors import InputError
from hardstone.figure_text import quantile_value
from hardstone.kernel import page as kernel_charts
from hardstone.kernel.results import TEST, KernelTime, Operation
from hardstone.kernel.tables import kernel_history, summary
from hardstone.model import Series, Unit
from hardstone.report import charts as run_charts
from hardstone.report.chart_frame import (
    Group,
    Line,
    Row,
    Spec,
    domain,
    drawn,
    number_in,
    ticks,
    unit_title,
    value_scale,
)
from hardstone.report.drawing import Drawer
from hardstone.report.figures import LEAST_VALUES, ChartTable, Figure, Value
from hardstone.stats.identity import has_quantiles, histogram_problem, parse_layout, step_of, top_of
from hardstone.stats.quantiles import count_text, quantile_of_series, quantum_of, why_no_quantile
from hardstone.stats.two_runs import ABOUT as SHIFT_ABOUT
from hardstone.stats.two_runs import shift_function
from hardstone.systems.subjects import MeasuredRun, why_apart
from hardstone.units import format_count
from hardstone.wording import format_value, is_rate, read_value, shorten

_PANEL_NAME = 20


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


_Lines = Sequence[tuple[Curve, Sequence[Point]]]


@dataclass(frozen=True)
class Place:
    """What all charts of a row share."""

    row: ComparedRow
    curves: Sequence[Curve]
    standards: Sequence[Standard]
    name: str
    drawer: Drawer
    columns: Sequence[SystemColumn] = ()


def curves_of(row: ComparedRow, columns: Sequence[SystemColumn]) -> list[Curve]:
    """The systems whose distribution can be drawn."""
    return [
        Curve(column, cell, cell.series, f"{column.id} {cell.subject_series.address}")
        for column, cell in measured_cells(row, columns)
        if cell.subject_series is not None
        and cell.series is not None
        and cell.series.count >= LEAST_VALUES
        and cell.series.histogram.buckets
        and histogram_problem(cell.series.histogram) is None
        and has_quantiles(cell.series.histogram)
    ]


def _not_drawn(place: Place) -> str:
    """The systems that have a figure in the row and no curve, and what is known of them."""
    drawn_ones = {one.column.number for one in place.curves}
    texts = []
    for column, cell in zip(place.columns, place.row.cells, strict=True):
        if cell.series is None or column.number in drawn_ones:
            continue
        known = [
            f"{name} {format_value(value, place.row.unit)}"
            for name, value in (
                ("least", cell.series.min),
                ("mean", cell.series.mean),
                ("worst", cell.series.max),
            )
            if value is not None
        ]
        why, figures = _why_not_drawn(cell.series), ", ".join(known) or "no figure"
        texts.append(f"{system_name(column)}, {why}: {figures}")
    return f" Not drawn: {'; '.join(texts)}." if texts else ""


def _why_not_drawn(series: Series) -> str:
    why = why_no_quantile(series).removesuffix(", so no quantile")
    if not why and (series.min is None or series.max is None):
        return "its file has not both ends of the curve"
    return why or "too few values"


def _beyond(place: Place) -> str:
    """The files with values above their last bucket: "2 cyclictest, 34 from 400 us on"."""
    texts = []
    for one in place.curves:
        histogram = one.series.histogram
        layout = parse_layout(histogram.layout)
        if histogram.overflow and layout.is_imported:
            end = format_value(top_of(histogram.buckets, layout) + 1, place.row.unit)
            count = format_count(histogram.overflow)
            texts.append(f"{system_name(one.column)}, {count} from {end} on")
    return "; ".join(texts)


def _ends_at(place: Place) -> str:
    """The systems whose curve ends below the largest value, at the last bucket."""
    found = _beyond(place)
    if not found:
        return ""
    return (
        " A line ends at the last bucket, above which only a count and the worst are known: "
        f"{found}."
    )


def _in_no_bin(place: Place) -> str:
    found = _beyond(place)
    return f" In no bin: {found}." if found else ""


def _curve_name(one: Curve, is_many: bool) -> str:
    mark = " (reference)" if one.column.is_reference else ""
    return system_name(one.column, _PANEL_NAME if is_many else 26) + mark


def _group_of_curves(found: Sequence[Curve]) -> Group:
    """The systems as the lines of one chart."""
    names = [_curve_name(one, False) for one in found]
    lines = [
        Line(msgspec.structs.replace(one.series, labels={}), name, number)
        for number, (one, name) in enumerate(zip(found, names, strict=True))
    ]
    return Group(lines, colours=names)


def _overlaid(
    place: Place,
    found: Sequence[Curve],
    chart: Callable[[Group, Unit], Spec],
    axis: str = "x",
    *,
    is_low: bool = False,
) -> Spec:
    group, unit = _group_of_curves(found), place.row.unit
    spec = styled(chart(group, unit), group.colours, [one.is_grey for one in found])
    shown = standards_for(place.row, place.standards)
    return with_standards(spec, axis, shown, unit, is_low=is_low)


def _panelled(
    place: Place,
    lines: _Lines,
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
        Panel(_curve_name(one, True), points, one.is_grey, one.column.is_reference)
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


def _share_axes(lines: _Lines) -> tuple[Spec, Spec]:
    low, high = domain([x for _, points in lines for x, _ in points], 1.08)
    least = min((y for _, points in lines for _, y in points if y), default=0.1) * 0.6
    marks = {"values": ticks(least, 1.0)[::2], "labelExpr": run_charts.SHARE_LABEL}
    return _channel("v", low, high, {}), _channel("s", least, 1.0, marks)


def _count_axes(lines: _Lines) -> tuple[Spec, Spec]:
    low, high = domain([x for _, points in lines for x, _ in points])
    top = max((y for _, points in lines for _, y in points if y), default=1.0) * 1.6
    marks = {"values": ticks(1, top)[::2], "format": ".0s"}
    return _channel("v", low, high, {}), _channel("s", run_charts.FLOOR, top, marks)


def _second_axes(lines: _Lines) -> tuple[Spec, Spec]:
    low, high = domain([y for _, points in lines for _, y in points if y is not None], 1.25)
    x: Spec = {
        "field": "v",
        "type": "quantitative",
        "axis": {"grid": False, "tickCount": 3},
        "scale": {"nice": False, "zero": True},
    }
    return x, _channel("s", low, high, {})


_PANEL_RESOLUTION = 22
_PANEL_COURSE = 60
_OVERLAID_COURSES = 3  # lines over time cover each other
_PANEL_BINS = 28
_TAIL = 0.999


def exceedance_figure(place: Place) -> Figure | None:
    """Share of values above each duration."""
    found = [one for one in place.curves if None not in (one.series.min, one.series.max)]
    place = replace(place, curves=found)
    if not found or is_rate(place.row.unit):
        return None
    is_many = len(found) > MOST_OVERLAID
    depth = _PANEL_RESOLUTION if is_many else run_charts.RESOLUTION
    lines = [(one, run_charts.curve(one.series, depth)) for one in found]
    about = "Share of values above each duration, both axes logarithmic."
    spec = (
        _panelled(place, lines, _share_axes(lines), tips=("above", "share"))
        if is_many
        else _overlaid(place, found, run_charts.exceedance_chart, is_low=True)
    )
    if not is_many:
        about += " Open triangle: upper bound, at 95 %, of the share above the worst observed."
    about += _ends_at(place)
    exact = [(one, [(one.series.min, points[0][1]), *points[1:]]) for one, points in lines]
    table = _table(place, [unit_title("above", place.row.unit), "share"], exact)
    return _figure(place, "exceedance", "Exceedance", about, spec, table, found)


def histogram_figure(place: Place) -> Figure | None:
    """Values per bin."""
    found = list(place.curves)
    if not found:
        return None
    is_many = len(found) > _OVERLAID_COURSES
    edges = run_charts.grid([one.series.histogram for one in found])
    if not edges:  # no value lies within the buckets
        return None
    if is_many:
        edges = sorted({*edges[:: -(-len(edges) // _PANEL_BINS)], edges[-1]})
    binned = [(one, run_charts.draw_bins(one.series.histogram, edges)) for one in found]
    unit = place.row.unit
    rows: list[list[Value]] = [
        [*who(one.column), place.row.address, part.low, part.high, part.count, one.source]
        for one, bins in binned
        for part in bins
    ]
    head = [*WHO, "series", unit_title("from", unit), unit_title("below", unit), "values"]
    table = ChartTable([*head, "source"], rows)
    about = f"Values per bin, both axes logarithmic.{_in_no_bin(place)}"
    if is_many:
        lines: _Lines = [(one, list(run_charts.steps(bins))) for one, bins in binned]
        spec = _panelled(place, lines, _count_axes(lines), tips=("from", "values"))
    else:
        spec = _overlaid(place, found, run_charts.histogram_chart)
        about += " The triangle on the axis marks the worst observed."
    return _figure(place, "histogram", "Histogram", about, spec, table, found)


def course_figure(place: Place) -> Figure | None:
    """The largest value of each second."""
    whole = place.curves
    found = [one for one in whole if run_charts.is_drawable(one.series)]
    if not found or is_rate(place.row.unit):
        return None
    is_many = len(found) > _OVERLAID_COURSES
    if is_many:
        longest = max(len(one.series.maxima_per_s) for one in found)
        joined = max(1, -(-longest // _PANEL_COURSE))
    else:
        joined = run_charts.intervals_joined(_group_of_curves(found))
    lines = [(one, run_charts.course(one.series, joined)) for one in found]
    spans = sorted({joined * one.series.maxima_interval_ns / 1e9 for one in found})
    about = f"Largest value of each {' or '.join(f'{span:g}' for span in spans)} s."
    if is_many:
        shown: _Lines = [
            (one, [(t, None if v is None else drawn(v)) for t, v in points])
            for one, points in lines
        ]
        spec = _panelled(place, shown, _second_axes(shown), tips=("s", "largest"), across="y")
    else:
        spec = _overlaid(place, found, run_charts.time_chart, axis="y")
    if len(found) < len(whole):
        about += f" {len(whole) - len(found)} systems have too few values, or no times."
    head = ["from (s)", unit_title("largest", place.row.unit)]
    return _figure(place, "time", "Over time", about, spec, _table(place, head, lines), found)


def shift_figure(place: Place) -> Figure | None:
    """The ratio of each quantile to that of the reference; None unless that has values."""
    found = [one for one in place.curves if not one.is_grey]
    first = next((one for one in found if one.column.is_reference), None)
    if first is None or is_rate(place.row.unit):
        return None
    shifts = [
        (one, points)
        for one in found
        if one is not first
        if (points := shift_function(first.series.histogram, one.series.histogram))
    ]
    if not shifts:
        return None
    is_many = len(shifts) > MOST_OVERLAID
    spec = charts.shift_chart(
        [charts.Shift(_curve_name(one, is_many), points) for one, points in shifts]
    )
    head = [*WHO, "series", "quantile", "ratio", "low", "high"]
    rows: list[list[Value]] = [
        [
            *who(one.column),
            *(place.row.address, point.q, point.ratio, point.low, point.high),
            f"{one.source} over {first.source}",
        ]
        for one, points in shifts
        for point in points
    ]
    about = f"Reference: {system_name(first.column)}. {SHIFT_ABOUT}"
    spoken = [f"{system_name(one.column)}: {_spoken_shift(points)}" for one, points in shifts]
    return system_figure(
        f"{place.name}-shift",
        f"{row_name(place.row)}: shift function",
        about,
        f"Shift function, {row_name(place.row)}, to {system_name(first.column)}. "
        f"{'; '.join(spoken)}.",
        spec,
        ChartTable([*head, "source"], rows),
        place.drawer,
    )


def _spoken_shift(points: Sequence[Any]) -> str:
    middle = min(points, key=lambda one: abs(one.q - 0.5))
    last = points[-1]
    return ", ".join(
        f"{100 * one.q:.8g} % {one.ratio:.3g} times" for one in dict.fromkeys((middle, last))
    )


def _table(
    place: Place, heads: list[str], lines: Sequence[tuple[Curve, Sequence[tuple[Any, Any]]]]
) -> ChartTable:
    rows: list[list[Value]] = [
        [*who(one.column), place.row.address, x, y, one.source]
        for one, points in lines
        for x, y in points
    ]
    return ChartTable([*WHO, "series", *heads, "source"], rows)


def _figure(
    place: Place,
    kind: str,
    title: str,
    about: str,
    spec: Spec,
    table: ChartTable,
    found: Sequence[Curve],
) -> Figure:
    label = row_name(place.row)
    if "facet" in spec:
        first = next((one for one in found if one.column.is_reference), None)
        about += f" Grey behind: the reference, {system_name(first.column)}." if first else ""
        shown = standards_for(place.row, place.standards)
        about += f" Red lines: {'; '.join(one.text for one in shown)}." if shown else ""
    if any(one.is_grey for one in found):
        about += " Systems in grey are not comparable with the reference."
    about += _not_drawn(place) if kind != "time" else ""
    return system_figure(
        f"{place.name}-{kind}",
        f"{label}: {title.lower()}",
        about,
        f"{title}, {label}. {'; '.join(_spoken(one, place.row.unit) for one in found)}.",
        spec,
        table,
        place.drawer,
    )


def _spoken(one: Curve, unit: Unit) -> str:
    texts = [f"{count_text(one.series)} values"]
    subject = one.column.subject  # one condition of a run, so one clock
    own = subject.document.instrument if isinstance(subject, MeasuredRun) else None
    quantum_ns = quantum_of(one.series, own)
    for q, words in ((0.5, "median"), (_TAIL, "99.9 %")):
        found = quantile_of_series(one.series, q)
        if found is not None and one.series.count * (1 - q) >= 10:
            value = quantile_value(found, unit, quantum_ns, step_of(one.series))
            texts.append(f"{words} {value}")
    texts.append(f"worst observed {read_value(one.series.max, unit, quantum_ns)}")
    return f"{system_name(one.column)}: {', '.join(texts)}"


_KERNEL_NAME_CHARACTERS = 22


_SECTIONS = (
    "Share of kernel time in sections shorter than each length, of all operations together, for "
    "lengths above the idle latency."
)


_RATES = "Blocking intervals longer than each length, per second, of all operations together."
_OVERLAID = " Band: 95 %, of the first. Dashed: lower rates may have been missed."
_MOST_POINTS = 40


@dataclass(frozen=True)
class _System:
    """The kernel time of one system; `whole` is named after it."""

    column: SystemColumn
    time: KernelTime
    whole: Operation


def kernel_figures(view: CompareView, drawer: Drawer) -> list[Figure]:
    """Kernel time by length of section, and blocking rates, of the systems that measured them."""
    systems = [one for column in view.columns if (one := _system(column)) is not None]
    runs = [one.subject for one in view.columns if isinstance(one.subject, MeasuredRun)]
    refused = next(filter(None, map(why_apart, runs)), "")
    shares = [one for one in systems if kernel_charts.has_sections(one.whole)]
    rates = [one for one in systems if kernel_charts.has_blocking(one.whole)]
    found = [_sections(shares, refused)] if shares else []
    found += [_rates(rates)] if rates else []
    return [one.figure(drawer) for one in found]


@dataclass(frozen=True)
class _Chart:
    name: str
    title: str
    about: str
    spec: Spec
    systems: Sequence[_System]
    table: ChartTable

    def figure(self, drawer: Drawer) -> Figure:
        spoken = [f"{one.whole.name}: {summary(one.time)}" for one in self.systems]
        alt = f"{self.title}. {'; '.join(spoken)}."
        if any(one.column.apart for one in self.systems):
            about = f"{self.about} Grey: not comparable with the reference."
        else:
            about = self.about
        return system_figure(self.name, self.title, about, alt, self.spec, self.table, drawer)


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
            name = system_name(column, _KERNEL_NAME_CHARACTERS)
            return _System(column, time, replace(time.whole, name=name))
    return None


def _sections(found: Sequence[_System], refused: str) -> _Chart:
    """`refused`: why HP's figures may not be compared with those of one of the systems."""
    whole, history, is_apart = [one.whole for one in found], kernel_history(), bool(refused)
    about = _SECTIONS + kernel_charts.history_about(history, shorten(refused, 220))
    lines = [kernel_charts.section_rows(one, number) for number, one in enumerate(whole)]
    points = kernel_charts.point_rows(history, len(found), is_apart=is_apart)
    if len(found) > MOST_OVERLAID:
        low, high = domain([number_in(row, "v") for rows in [*lines, points] for row in rows], 1.1)
        y = _kernel_channel([0, 1.03], kernel_charts.share_axis([0, 0.5, 0.9]), is_log=False)
        spec = _panels(found, lines, low, high, y, ("shorter than (ns)", "share"))
        spec["spec"]["layer"].append(_points_layer(points, is_apart=is_apart))
        about += _behind(found)
    else:
        spec = _styled(kernel_charts.section_chart(whole, history, is_apart=is_apart), found)
    table = _kernel_table(found, lines, ["shorter than (ns)", "share of kernel time"], points)
    return _Chart(
        "chart-kernel-sections", "Kernel time by length of section", about, spec, found, table
    )


def _rates(found: Sequence[_System]) -> _Chart:
    whole = [one.whole for one in found]
    lines = [kernel_charts.blocking_rows(one, number) for number, one in enumerate(whole)]
    if len(found) > MOST_OVERLAID:
        low, high = domain([number_in(row, "v") for rows in lines for row in rows], 1.1)
        rates = [number_in(row, "s") for rows in lines for row in rows]
        least, most = min(rates) / 3, max(rates) * 2
        marks = {"values": ticks(least, most)[::2], "format": "~s"}
        y = _kernel_channel([least, most], marks, is_log=True)
        spec = _panels(found, lines, low, high, y, ("longer than (ns)", "per s"))
        about = _RATES + _behind(found)
    else:
        spec, about = _styled(kernel_charts.blocking_chart(whole), found), _RATES + _OVERLAID
    table = _kernel_table(found, lines, ["longer than (ns)", "intervals per s"], [])
    return _Chart("chart-kernel-rates", "Blocking rate", about, spec, found, table)


def _behind(found: Sequence[_System]) -> str:
    first = next((one.whole.name for one in found if one.column.is_reference), None)
    return f" Grey behind: the reference, {first}." if first else ""


def _styled(spec: Spec, found: Sequence[_System]) -> Spec:
    """Names of systems come first in the chart, in the order given."""
    layers = spec.get("spec", spec)["layer"]
    names: list[str] = layers[0]["encoding"]["color"]["scale"]["domain"]
    grey = {one.whole.name for one in found if one.column.apart}
    return styled(spec, names, [name in grey for name in names])


def _kernel_channel(ends: Sequence[float], axis: Spec, *, is_log: bool) -> Spec:
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
        [(number_in(row, "v"), number_in(row, "s")) for row in _thinned(rows)] for rows in lines
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


def _points_layer(points: Sequence[Row], *, is_apart: bool) -> Spec:
    return {
        "data": {"values": [{"v": row["v"], "b": row["b"]} for row in points]},
        "mark": kernel_charts.published_mark(22, is_apart=is_apart, color="var(--series-2)"),
        "encoding": {
            "x": {"field": "v", "type": "quantitative"},
            "y": {"field": "b", "type": "quantitative"},
        },
    }


def _kernel_table(
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


_NAME_CHARACTERS = 26
_ROW_CHARACTERS = 60
WHO = ["number", "system", "label"]


_LATENCIES = ("LAT", "DLT", "TLT")


def system_name(column: SystemColumn, most: int = _NAME_CHARACTERS) -> str:
    """The number, which tells systems apart, and as much of the label as has room."""
    return f"{column.number} {shorten(column.label, most)}"


def who(column: SystemColumn) -> list[Value]:
    """The cells of WHO."""
    return [column.number, column.id, column.label]


def row_name(row: ComparedRow, most: int = _ROW_CHARACTERS) -> str:
    """The test and the series, since tests have series of the same name."""
    return shorten(f"{row.address.split('/')[0]} {row.label}", most)


def standards_for(row: ComparedRow, standards: Sequence[Standard]) -> Sequence[Standard]:
    """The yardsticks, which are of latencies, for a row that is one; else none."""
    test = row.address.split("/")[0]
    is_latency = test.rpartition("-")[2] in _LATENCIES or test == "KRN-P-PRE"
    return standards if is_latency and row.unit == "ns" else ()


def measured_cells(
    row: ComparedRow, columns: Sequence[SystemColumn]
) -> list[tuple[SystemColumn, ComparedCell]]:
    """The systems that have a distribution of this row."""
    pairs = zip(columns, row.cells, strict=True)
    return [(column, cell) for column, cell in pairs if cell.series is not None]


def system_figure(
    name: str,
    title: str,
    about: str,
    alt: str,
    spec: Spec,
    table: ChartTable,
    drawer: Drawer,
) -> Figure:
    """A chart of several systems, with its data as a table for files."""
    return Figure(
        id=name,
        title=title,
        about=about,
        alt=alt,
        drawing=drawer.draw(spec),
        table=table,
    )
