"""Distributions of own runs in a comparison: overlaid up to six systems, then in panels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hardstone.model import Unit
from hardstone.present.wording import format_value, is_rate, quantile_value
from hardstone.report.chart_table import ChartTable, Value
from hardstone.report.charts import exceedance_chart, histogram_chart, over_time, shift_chart
from hardstone.report.charts.frame import unit_title
from hardstone.report.charts.scale import drawn
from hardstone.report.charts.system_panels import Point
from hardstone.report.charts.system_style import MOST_OVERLAID
from hardstone.report.figures import Figure
from hardstone.report.system_curves import (
    Curve,
    Place,
    count_axes,
    curve_name,
    group_of_curves,
    overlaid,
    panelled,
    second_axes,
    share_axes,
)
from hardstone.report.system_figure import (
    WHO,
    row_name,
    standards_for,
    system_figure,
    system_name,
    who,
)
from hardstone.report.theme import Spec
from hardstone.stats.quantiles import quantile
from hardstone.stats.two_runs import ABOUT as SHIFT_ABOUT
from hardstone.stats.two_runs import shift_function
from hardstone.units import format_count

PANEL_NAME = 20
_PANEL_RESOLUTION = 22
_PANEL_COURSE = 60
_OVERLAID_COURSES = 3  # lines over time cover each other
_PANEL_BINS = 28
_TAIL = 0.999


def exceedance_figure(place: Place) -> Figure | None:
    """Share of values above each duration."""
    found = list(place.curves)
    if not found or is_rate(place.row.unit):
        return None
    is_many = len(found) > MOST_OVERLAID
    depth = _PANEL_RESOLUTION if is_many else exceedance_chart.RESOLUTION
    lines = [(one, exceedance_chart.curve(one.series, depth)) for one in found]
    about = "Share of values above each duration, both axes logarithmic."
    spec = (
        panelled(place, lines, share_axes(lines), tips=("above", "share"))
        if is_many
        else overlaid(place, found, exceedance_chart.chart, is_low=True)
    )
    if not is_many:
        about += " Open triangle: upper bound, at 95 %, of the share above the worst observed."
    exact = [(one, [(one.series.min, points[0][1]), *points[1:]]) for one, points in lines]
    table = _table(place, [unit_title("above", place.row.unit), "share"], exact)
    return _figure(place, "exceedance", "Exceedance", about, spec, table, found)


def histogram_figure(place: Place) -> Figure | None:
    """Values per bin."""
    found = list(place.curves)
    if not found:
        return None
    is_many = len(found) > _OVERLAID_COURSES
    edges = histogram_chart.grid([one.series.histogram for one in found])
    if not edges:  # no value lies within the buckets
        return None
    if is_many:
        edges = sorted({*edges[:: -(-len(edges) // _PANEL_BINS)], edges[-1]})
    binned = [(one, histogram_chart.draw_bins(one.series.histogram, edges)) for one in found]
    unit = place.row.unit
    rows: list[list[Value]] = [
        [*who(one.column), place.row.address, part.low, part.high, part.count, one.source]
        for one, bins in binned
        for part in bins
    ]
    head = [*WHO, "series", unit_title("from", unit), unit_title("below", unit), "values"]
    table = ChartTable([*head, "source"], rows)
    about = "Values per bin, both axes logarithmic."
    if is_many:
        lines: list[tuple[Curve, Sequence[Point]]] = [
            (one, list(histogram_chart.steps(bins))) for one, bins in binned
        ]
        spec = panelled(place, lines, count_axes(lines), tips=("from", "values"))
    else:
        spec = overlaid(place, found, histogram_chart.chart)
        about += " The triangle on the axis marks the worst observed."
    return _figure(place, "histogram", "Histogram", about, spec, table, found)


def course_figure(place: Place) -> Figure | None:
    """The largest value of each second."""
    whole = place.curves
    found = [one for one in whole if over_time.is_drawable(one.series)]
    if not found or is_rate(place.row.unit):
        return None
    is_many = len(found) > _OVERLAID_COURSES
    joined = _joined(found, is_many)
    lines = [(one, over_time.course(one.series, joined)) for one in found]
    spans = sorted({joined * one.series.maxima_interval_ns / 1e9 for one in found})
    about = f"Largest value of each {' or '.join(f'{span:g}' for span in spans)} s."
    if is_many:
        shown: list[tuple[Curve, Sequence[Point]]] = [
            (one, [(t, None if v is None else drawn(v)) for t, v in points])
            for one, points in lines
        ]
        spec = panelled(place, shown, second_axes(shown), tips=("s", "largest"), across="y")
    else:
        spec = overlaid(place, found, over_time.chart, axis="y")
    if len(found) < len(whole):
        about += f" {len(whole) - len(found)} systems are too short, or have no times."
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
    spec = shift_chart.chart(
        [shift_chart.Shift(curve_name(one, is_many), points) for one, points in shifts]
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
    told = [f"{system_name(one.column)}: {_spoken_shift(points)}" for one, points in shifts]
    return system_figure(
        f"{place.name}-shift",
        f"{row_name(place.row)}: shift function",
        about,
        f"Shift function, {row_name(place.row)}, to {system_name(first.column)}. "
        f"{'; '.join(told)}.",
        spec,
        ChartTable([*head, "source"], rows),
        place.drawer,
        live=place.live,
    )


def _spoken_shift(points: Sequence[Any]) -> str:
    middle = min(points, key=lambda one: abs(one.q - 0.5))
    last = points[-1]
    return ", ".join(
        f"{100 * one.q:.8g} % {one.ratio:.3g} times" for one in dict.fromkeys((middle, last))
    )


def _joined(found: Sequence[Curve], is_many: bool) -> int:
    if not is_many:
        return over_time.intervals_joined(group_of_curves(found))
    return max(1, -(-max(len(one.series.maxima_per_s) for one in found) // _PANEL_COURSE))


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
        about += _aboutpanelled(place, found)
    if any(one.is_grey for one in found):
        about += " Systems in grey may not be compared with the reference."
    return system_figure(
        f"{place.name}-{kind}",
        f"{label}: {title.lower()}",
        about,
        f"{title}, {label}. {'; '.join(_spoken(one, place.row.unit) for one in found)}.",
        spec,
        table,
        place.drawer,
        live=place.live,
    )


def _aboutpanelled(place: Place, found: Sequence[Curve]) -> str:
    first = next((one for one in found if one.column.is_reference), None)
    about = f" Grey behind: the reference, {system_name(first.column)}." if first else ""
    shown = standards_for(place.row, place.standards)
    return about + (f" Red lines: {'; '.join(one.text for one in shown)}." if shown else "")


def _spoken(one: Curve, unit: Unit) -> str:
    told = [f"{format_count(one.series.count)} values"]
    for q, words in ((0.5, "median"), (_TAIL, "99.9 %")):
        found = quantile(one.series.histogram, q)
        if found is not None and one.series.count * (1 - q) >= 10:
            told.append(f"{words} {quantile_value(found, unit)}")
    told.append(f"worst observed {format_value(one.series.max, unit)}")
    return f"{system_name(one.column)}: {', '.join(told)}"
