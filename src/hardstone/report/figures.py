"""The charts of one result: specification, table, and text for both."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from hardstone.model import Result, Series, Unit
from hardstone.present.measured_tables import noise_line
from hardstone.report import charts
from hardstone.report.chart_frame import CONFIG, Group, Spec, common_numbers, group
from hardstone.report.drawing import Drawer, Drawing
from hardstone.report.page_frame import json_for_script
from hardstone.stats.identity import NO_DISTRIBUTION, has_quantiles, parse_layout
from hardstone.stats.join import joins_of
from hardstone.stats.quantiles import count_text
from hardstone.units import format_count, format_ns
from hardstone.wording import format_value, is_rate, series_text, shorten

Value = str | float | int | None


@dataclass(frozen=True)
class ChartTable:
    """`columns` name their units: "value (ns)". Texts are untrusted; None is an empty cell."""

    columns: list[str]
    rows: list[list[Value]] = field(default_factory=list)


MOST_CHARTS = 40
LEAST_VALUES = charts.LEAST_VALUES
_LEAST_DOTS = 2  # one alone is a figure and no picture
_SPOKEN_SERIES = 8


@dataclass(frozen=True)
class Kind:
    """A chart with its title, what to look at, and which series it can show."""

    title: str
    about: str
    chart: Callable[[Group, Unit], Spec]
    shows: Callable[[Series], bool]


def has_values(series: Series) -> bool:
    return series.count >= LEAST_VALUES and bool(series.histogram.buckets)


def _has_curve(series: Series) -> bool:
    is_ended = series.min is not None and series.max is not None
    return has_values(series) and is_ended and has_quantiles(series.histogram)


def beyond_text(series: Series) -> str:
    """What a chart of a file's histogram does not show: values above its last bucket."""
    histogram = series.histogram
    if histogram.layout == NO_DISTRIBUTION:
        return ""
    if histogram.is_cut is True:
        return "Values above the last bucket are not counted in the file, and not drawn."
    if histogram.overflow and parse_layout(histogram.layout).is_imported:
        return f"Not drawn: {format_count(histogram.overflow)} values above the last bucket."
    return ""


def _has_any(series: Series) -> bool:
    return series.count > 0


# Most important first: a long run shows only the first ones.
KINDS = (
    Kind(
        "Exceedance",
        "Share of values above each duration. The open triangle is the upper bound, at 95 %, of "
        "the share above the worst observed.",
        charts.exceedance_chart,
        _has_curve,
    ),
    Kind(
        "Histogram",
        "Values per bin. The triangle on the axis marks the worst observed.",
        charts.histogram_chart,
        has_values,
    ),
    Kind(
        "Over time",
        "Largest value of each second. A gap in a line is a time without values.",
        charts.time_chart,
        charts.is_drawable,
    ),
    Kind(
        "Average and worst observed",
        "Line from minimum to worst observed (dot), tick at the average.",
        charts.range_chart,
        _has_any,
    ),
)

_WITHOUT_BOUND = Kind(
    "Exceedance",
    "Share of values above each duration.",
    charts.exceedance_without_bound,
    _has_curve,
)
_CURVES = (charts.exceedance_chart, charts.exceedance_without_bound)

# Of a rate the least value is the worst: what shows the largest ones is left out.
_ABOUT_RATES: dict[Callable[[Group, Unit], Spec], str] = {
    charts.histogram_chart: "Values per bin. The triangle on the axis marks the largest.",
    charts.range_chart: "Line from the minimum, which is the worst observed (dot), to the maximum, "
    "tick at the average.",
}


def kind_for(kind: Kind, unit: Unit) -> Kind | None:
    """`kind` with its words for `unit`; None where it would mislead."""
    if not is_rate(unit):
        return kind
    about = _ABOUT_RATES.get(kind.chart)
    return replace(kind, about=about) if about else None


@dataclass(frozen=True)
class Figure:
    """One chart of a page. `table`: what is drawn, with where it is from; None: the rows of the
    specification say it, which are of `subject`, a test."""

    id: str
    title: str
    about: str
    alt: str
    drawing: Drawing
    table: ChartTable | None = None
    subject: str = ""


def charts_each(results: list[Result], most: int) -> int:
    """The number of charts per test that keeps the page at about `most` charts."""
    timing = sum(1 for result in results if any(_has_any(one) for one in result.series))
    return max(1, min(len(KINDS), most // max(timing, 1)))


def figures_of(
    result: Result,
    anchor: str,
    most: int,
    drawer: Drawer,
    *,
    has_parts: bool = False,
    lacks_values: bool = False,
) -> list[Figure]:
    """The charts of `result`, at most `most` for each unit that it measured in. `has_parts`: it
    has pages of its parts, which show the histograms. `lacks_values`: the file of another tool has
    not all of them, so that nothing bounds the share above the worst."""
    joins = [one.at_ns for one in joins_of(result)]
    figures = []
    for place, unit in enumerate(dict.fromkeys(series.unit for series in result.series)):
        series = [one for one in result.series if one.unit == unit]
        if sum(one.count for one in series) < _LEAST_DOTS:
            continue
        if all(one.min is one.mean is one.max is None for one in series if one.count):
            continue
        for number, kind in _kinds_for(series, most):
            is_unbound = lacks_values and kind.chart is charts.exceedance_chart
            shown = kind_for(_WITHOUT_BOUND if is_unbound else kind, unit)
            is_in_parts = has_parts and kind.chart is charts.histogram_chart and unit == "ns"
            if shown is None or is_in_parts:
                continue
            name = f"{anchor}-{place}-{number}"
            figure = figure_of(shown, series, result.test, name, drawer, joins=joins)
            if figure is not None:
                figures.append(figure)
    return figures


def _kinds_for(found: list[Series], most: int) -> list[tuple[int, Kind]]:
    """The first `most` kinds of chart that can show any of `found`, with their places."""
    fitting = [one for one in enumerate(KINDS) if any(map(one[1].shows, found))]
    return fitting[:most]


def _drawn_group(found: list[Series]) -> Group:
    """The lines for series of one unit. Colours are assigned before any line is left out."""
    return group([series for series in found if _has_any(series)])


def figure_of(
    kind: Kind,
    found: list[Series],
    subject: str,
    name: str,
    drawer: Drawer,
    *,
    joins: Sequence[int] = (),
) -> Figure | None:
    """The chart of series of one unit; None if it can show none of them. `joins`: when a
    recording was resumed."""
    whole = _drawn_group(found)
    lines = whole.only([line.series for line in whole.lines if kind.shows(line.series)])
    if not lines.lines:
        return None
    unit = lines.lines[0].series.unit
    spec = kind.chart(lines, unit)
    if kind.chart is charts.time_chart:
        spec = charts.with_joins(spec, lines, joins)
    numbers = common_numbers([line.series for line in lines.lines])
    about = f"{kind.about} With {numbers}." if numbers else kind.about
    if kind.chart in (*_CURVES, charts.histogram_chart):
        about = " ".join([about, *dict.fromkeys(filter(None, map(beyond_text, found)))])
    if any(line.series.count < LEAST_VALUES for line in lines.lines):
        about += f" A series of fewer than {LEAST_VALUES} values has a dot for each of them."
    return figure_of_spec(kind.title, about, lines, spec, subject, name, drawer)


def figure_of_spec(
    title: str,
    about: str,
    lines: Group,
    spec: Spec,
    subject: str,
    name: str,
    drawer: Drawer,
) -> Figure:
    """The figure of a chart that is drawn from `lines`."""
    return Figure(
        id=name,
        title=title,
        about=about,
        alt=_spoken(title, subject, lines, lines.lines[0].series.unit),
        drawing=drawer.draw(spec),
        subject=subject,
    )


def _spoken(title: str, test: str, lines: Group, unit: Unit) -> str:
    """The figures of the chart as text, for screen readers."""
    shown = []
    for series in [line.series for line in lines.lines[:_SPOKEN_SERIES]]:
        ends = f"{format_value(series.min, unit)} to {format_value(series.max, unit)}"
        count = count_text(series)
        shown.append(f"{shorten(series_text(series))}: {count} values from {ends}")
    more = len(lines.lines) - len(shown)
    rest = f"; and {more} more, all in the table of figures" if more > 0 else ""
    return f"{title}, {shorten(test)}. {'; '.join(shown)}{rest}."


def pictures(figures: Iterable[Figure]) -> list[tuple[str, str]]:
    """Title and drawing of each figure, for a page on paper."""
    return [(one.title, one.drawing.__html__()) for one in figures]


CHART_CONFIG = json_for_script(CONFIG)


def notes_on_drawing(found: list[Series], most: int) -> list[str]:
    """Notes on what the first `most` charts of the series `found` do not show."""
    notes = []
    for unit in dict.fromkeys(series.unit for series in found):
        of_unit = [one for one in found if one.unit == unit]
        kinds = [kind for _, kind in _kinds_for(of_unit, most)]
        few = sum(1 for one in of_unit if one.count and not has_values(one))
        if few and charts.range_chart not in [kind.chart for kind in kinds]:
            are = "series has" if few == 1 else "series have"
            notes.append(f"{few} {are} fewer than {LEAST_VALUES} values: in the table only.")
        notes += _notes_on_group(_drawn_group(of_unit), kinds)
    return notes


def _notes_on_group(whole: Group, kinds: list[Kind]) -> list[str]:
    notes = []
    if whole.left_out:
        notes.append(
            f"{whole.left_out} series in the table only: the charts show the "
            f"{len(whole.lines)} with the highest values."
        )
    if charts.time_chart not in [kind.chart for kind in kinds]:
        return notes
    lines = whole.only([one.series for one in whole.lines if charts.is_drawable(one.series)])
    missing = len(whole.lines) - len(lines.lines)
    if lines.lines and missing:
        notes.append(f"Over time: {missing} series not drawn, too short or without times.")
    joined = charts.intervals_joined(lines)
    if joined > 1:
        span = format_ns(joined * lines.lines[0].series.maxima_interval_ns)
        notes.append(f"Over time: one point is the largest value of {span}.")
    return notes


def noise_figures(result: Result, anchor: str, drawer: Drawer) -> list[Figure]:
    """One chart; none without gaps, or where several recordings make one result."""
    if not result.noise:
        return []
    from hardstone.stats.noise import MOST_POINTS, gap_points

    points = gap_points(result)
    if not points:
        return []
    noise = result.noise[0]
    has_tick = noise.tick_period_ns is not None
    spec = charts.phase_chart(points, has_tick=has_tick)
    about = "Each gap by its length" + (" and the phase of the tick." if has_tick else " and time.")
    if noise.merged_count > MOST_POINTS:
        about += f" The longest, and some of the other {format_count(noise.merged_count)}."
    return [
        Figure(
            id=f"{anchor}-phase",
            title="Gaps and the tick",
            about=about,
            alt=f"Gaps by phase, {shorten(result.test)}. {noise_line(result)}.",
            drawing=drawer.draw(spec),
        )
    ]
