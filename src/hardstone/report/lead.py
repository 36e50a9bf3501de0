"""The two charts that lead a page: the distribution of the wake-up latency over the full width,
and the second of its worst value with the causes that were seen in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import ceil, log

from hardstone.comparison.grey import Pair, why_alone_grey, why_grey
from hardstone.errors import InputError
from hardstone.model import Result, RunDocument, Series
from hardstone.present.answer import WAKE_UP, Answer
from hardstone.present.why_late import LateValue
from hardstone.report.chart_frame import (
    CONFIG,
    PALETTE,
    Row,
    Spec,
    domain,
    drawn,
    mark,
    ticks,
    value_channel,
    value_scale,
)
from hardstone.report.charts import FLOOR, course, draw_bins, grid, steps, values_of
from hardstone.report.drawing import Drawer
from hardstone.report.figures import LEAST_VALUES, Figure, beyond_text
from hardstone.stats.causes import Lateness, latenesses
from hardstone.stats.conditions import NOT_KNOWN, condition_of, names_in
from hardstone.stats.consistency import is_contradictory
from hardstone.stats.identity import step_of
from hardstone.stats.quantiles import count_text, quantile_of_series, quantum_of
from hardstone.systems.subjects import (
    Amount,
    MeasuredRun,
    MeasuredSeries,
    PublishedSeries,
    PublishedSystem,
    other_numbers,
    published_ids,
    published_system,
    subjects_of,
    why_apart,
)
from hardstone.units import format_ns
from hardstone.wording import label_text, read_value, shorten

_NO_LOAD = "none"
_MOST_OTHERS = 3  # thin lines behind the one that leads
_MOST_PUBLISHED = 3
WIDE, NARROW = (1010, 250), (270, 210)
_ROW_HEIGHT = 14  # of the labels above the chart
_AXIS_LABEL = 55  # pixels
_LETTER = 6.6  # pixels, of the widest fonts that browsers take for sans-serif
_QUIET, _INK, _BAD = "var(--quiet)", "var(--ink)", "var(--bad)"


@dataclass(frozen=True)
class Lead:
    """The series that an answer is about. `others`: those of other CPUs of the same result, and
    that of the same CPU without load, with their names."""

    result: Result
    series: Series
    title: str
    name: str
    others: list[tuple[str, Series]] = field(default_factory=list)
    has_idle: bool = False


@dataclass(frozen=True)
class Mark:
    """A value that has a line across the chart and words above it."""

    value: float
    text: str
    colour: str = _INK
    dash: tuple[int, int] = (1, 0)
    is_bold: bool = False
    width: float = 1.2


def lead_of(document: RunDocument, answer: Answer) -> Lead | None:
    """What `answer` is about, with what it can be compared with in the same run; None where nothing
    was timed, or its figures cannot be true."""
    figure = answer.figure
    if figure is None or not _is_sound(figure.series):
        return None
    result, series = figure.result, figure.series
    under = names_in(document).label(condition_of(result))
    cpus = [one for one in _like(series, result) if one is not series]
    title = "Wake-up latency" if result.test == WAKE_UP else shorten(answer.what, 80)
    title += f" ({under})" if under else ""
    if cpus:
        cpu = series.labels.get("cpu", NOT_KNOWN)
        title += f", CPU {cpu} (the worst of {len(cpus) + 1})"
    others = [(_named(one, ""), one) for one in cpus]
    idle = _idle(document, result, series) if _is_loaded(result) else None
    if idle is not None:
        others = [("without load", idle), *others]
    return Lead(
        result=result,
        series=series,
        title=title,
        name=_named(series, under) or title,
        others=[one for one in others if one[1].count >= LEAST_VALUES][:_MOST_OTHERS],
        has_idle=idle is not None and idle.count >= LEAST_VALUES,
    )


def _idle(document: RunDocument, loaded: Result, series: Series) -> Series | None:
    """The same series of the same CPU without load, all other conditions being the same."""
    own = condition_of(loaded)
    for one in document.results:
        if one.test == loaded.test and condition_of(one) == own._replace(load=_NO_LOAD):
            found = (each for each in one.series if each.labels == series.labels)
            return next((each for each in found if each.name == series.name), None)
    return None


def _like(series: Series, result: Result) -> list[Series]:
    """The same series of every CPU, the highest worst value first."""
    own = {key: value for key, value in series.labels.items() if key != "cpu"}
    found = [
        one
        for one in result.series
        if (one.name, one.unit) == (series.name, series.unit)
        and "cpu" in one.labels
        and {key: value for key, value in one.labels.items() if key != "cpu"} == own
        and _is_sound(one)
    ]
    return sorted(found, key=lambda one: -(one.max or 0))


def _named(series: Series, under: str) -> str:
    cpu = series.labels.get("cpu")
    return shorten(", ".join(filter(None, ("" if cpu is None else label_text("CPU", cpu), under))))


def _is_loaded(result: Result) -> bool:
    return result.conditions.load not in (None, NOT_KNOWN, _NO_LOAD)


def _is_sound(series: Series) -> bool:
    is_drawable = series.max is not None and bool(series.histogram.buckets)
    return series.count > 0 and is_drawable and not is_contradictory(series)


def lead_chart(
    document: RunDocument,
    answer: Answer,
    drawer: Drawer,
    *,
    limits: Sequence[int] = (),
    is_narrow: bool = False,
    name: str = "lead-chart",
) -> Figure | None:
    """How the values of the figure of `answer` are distributed; None where `lead_of` has none.
    `limits`: in ns. `is_narrow`: for a phone."""
    lead = lead_of(document, answer)
    if lead is None:
        return None
    published = _published(document, lead)
    size = NARROW if is_narrow else WIDE
    spec = lead_spec(lead, limits, [one.mark for one in published], size=size)
    return Figure(
        id=name,
        title=lead.title,
        about=_about(lead, limits, published),
        alt=_alt(lead, limits, published),
        drawing=drawer.draw(spec),
        subject=lead.result.test,
    )


def lead_spec(
    lead: Lead,
    limits: Sequence[int],
    published: Sequence[Mark] = (),
    *,
    size: tuple[int, int] = WIDE,
) -> Spec:
    """The chart of `lead`; values of fewer than 20 are dots. `size`: width and height, in pixels,
    without axes and labels."""
    width, height = size
    marks = [*_own_marks(lead), *_limit_marks(limits), *published]
    is_few = lead.series.count < LEAST_VALUES
    shown = [(lead.name, lead.series), *([] if is_few else lead.others)]
    edges = grid([series.histogram for _, series in shown])
    values = [one.value for one in marks] + (
        [float(one) for one in values_of(lead.series)] if is_few else list(map(float, edges))
    )
    low, high = domain(values, 1.08)
    x = value_channel("v", low, high, "ns", "latency")
    x["axis"] = {**x["axis"], "values": _axis_values(low, high, width)}
    rows: list[Row]
    if is_few:
        rows = [{"c": lead.name, "v": drawn(one)} for one in values_of(lead.series)]
        layers, height = [_dots(x)], 60
    else:
        rows, layers = _outlines(lead, shown, edges, x)
    top = _labels(marks, (low, high), width)
    return {
        "config": CONFIG,
        "data": {"values": rows},
        "layer": [*layers, *top],
        "width": width,
        "height": height,
        "usermeta": {"zoom": ["x"]},
    }


def _axis_values(low: float, high: float, width: int) -> list[float]:
    """Round values as close together as their labels allow."""
    found = ticks(low, high)
    for steps_of in ((1, 2, 5), (1, 3)):
        fine = [step * 10.0**power for power in range(-1, 19) for step in steps_of]
        fine = [one for one in fine if low <= one <= high]
        if len(found) < len(fine) <= width / _AXIS_LABEL:
            return fine
    stride = max(1, ceil(len(found) * _AXIS_LABEL / width))
    return found[::stride]


def _dots(x: Spec) -> Spec:
    tips = [{"field": "v", "type": "quantitative", "title": "value (ns)", "format": ",.0f"}]
    look = mark("point", filled=True, size=70, opacity=0.7, color=PALETTE[0])
    return {"mark": look, "encoding": {"x": x, "tooltip": tips}}


def _outlines(
    lead: Lead, shown: Sequence[tuple[str, Series]], edges: list[int], x: Spec
) -> tuple[list[Row], list[Spec]]:
    found = [(name, draw_bins(series.histogram, edges)) for name, series in shown]
    top = max((one.count for _, bins in found for one in bins), default=1) * 1.5
    rows: list[Row] = [{"c": name, "v": v, "n": n} for name, bins in found for v, n in steps(bins)]
    names = [name for name, _ in shown]
    hues = [PALETTE[0], *([_QUIET] if lead.has_idle else []), *PALETTE[1:]][: len(names)]
    colour: Spec = {
        "field": "c",
        "type": "nominal",
        "sort": None,
        "scale": {"domain": names, "range": hues},
        "legend": {"columns": 2} if len(names) > 1 else None,
    }
    encoding: Spec = {
        "x": x,
        "y": {
            "field": "n",
            "type": "quantitative",
            "scale": value_scale(FLOOR, top),
            "axis": {"values": [1, *ticks(2, top)], "format": "~s", "grid": True},
            "title": "values per bin (log)",
        },
        "color": colour,
        "tooltip": [
            {"field": "c", "type": "nominal", "title": "series"},
            {"field": "v", "type": "quantitative", "title": "from (ns)", "format": ",.0f"},
            {"field": "n", "type": "quantitative", "title": "values", "format": ",.0f"},
        ],
    }
    first = f"datum.c === {_quoted(lead.name)}"
    main: Spec = {
        "transform": [{"filter": first}],
        "mark": mark("area", line=True, fillOpacity=0.22, interpolate="step-after"),
        "encoding": {**encoding, "y2": {"datum": FLOOR}},
    }
    if len(names) == 1:
        return rows, [main]
    thin: Spec = {
        "transform": [{"filter": f"!({first})"}],
        "mark": mark("line", strokeWidth=1.2, interpolate="step-after"),
        "encoding": encoding,
    }
    return rows, [main, thin]


def _quoted(text: str) -> str:
    """`text` as a string of Vega's expressions."""
    escaped = "".join(f"\\u{ord(one):04x}" if one in "\\'\"\n\r" else one for one in text)
    return f"'{escaped}'"


def _own_marks(lead: Lead) -> list[Mark]:
    """Median and p99, where there are values for them, and the worst observed."""
    series, quantum_ns = lead.series, quantum_of(lead.series, lead.result.instrument)
    found = []
    for q, name, least in ((0.5, "median", LEAST_VALUES), (0.99, "p99", 1000)):
        value = _quantile(series, q) if series.count >= least else None
        if value is not None:
            is_exact = step_of(series) == 1
            text = read_value(value, "ns", quantum_ns) if is_exact else f"<{format_ns(value + 1)}"
            found.append(Mark(value, f"{name} {text}", dash=(4, 3)))
    worst = float(series.max or 0)
    text = f"worst {read_value(worst, 'ns', quantum_ns)}"
    return [*found, Mark(worst, text, is_bold=True, width=1.6)]


def _quantile(series: Series, q: float) -> float | None:
    try:
        found = quantile_of_series(series, q)
    except InputError:  # an unreadable histogram
        return None
    return None if found is None or found.value is None else float(found.value)


def _limit_marks(limits: Sequence[int]) -> list[Mark]:
    return [
        Mark(float(one), f"limit {format_ns(one)}", _BAD, width=1.4) for one in sorted(set(limits))
    ]


def _labels(marks: Sequence[Mark], ends: tuple[float, float], width: int) -> list[Spec]:
    """A line across the chart for each mark, and its words above it, where no line crosses them."""
    layers: list[Spec] = []
    for one, place in placed_words(marks, ends, width):
        y = -4 - _ROW_HEIGHT * place.row
        data = {"values": [{"k": drawn(one.value), "z": one.text}]}
        x: Spec = {"field": "k", "type": "quantitative"}
        look: Spec = {"color": one.colour, "clip": False}
        line = mark("rule", strokeWidth=one.width, strokeDash=list(one.dash), **look)
        words = mark(
            "text",
            align="right" if place.is_left else "left",
            dx=-3 if place.is_left else 3,
            baseline="bottom",
            fontSize=11,
            fontWeight=600 if one.is_bold else 400,
            **look,
        )
        ends_y = {"y": {"value": y - 10}, "y2": {"value": "height"}}
        text: Spec = {"y": {"value": y}, "text": {"field": "z", "type": "nominal"}}
        layers += [
            {"data": data, "mark": line, "encoding": {"x": x, **ends_y}},
            {"data": data, "mark": words, "encoding": {"x": x, **text}},
        ]
    return layers


@dataclass(frozen=True)
class _Place:
    """Where words stand: from `left` to `right`, in a row above the chart, at a line at `at`."""

    at: float
    left: float
    right: float
    is_left: bool
    row: int = 0

    def is_free(self, other: _Place) -> bool:
        """Whether neither the words nor the line of `other` cross these."""
        low, high = sorted((self, other), key=lambda one: one.row)
        return self.is_apart(other) and not low.left <= high.at <= low.right

    def is_apart(self, other: _Place) -> bool:
        """Whether the words do not overlap those of `other`."""
        return self.row != other.row or self.right < other.left or other.right < self.left


def placed_words(
    marks: Sequence[Mark], ends: tuple[float, float], width: int
) -> Iterator[tuple[Mark, _Place]]:
    """Each mark with the lowest free place for its words."""
    span = log(ends[1] / ends[0]) or 1.0
    wanted = []
    for one in marks:
        at = log(drawn(one.value) / ends[0]) / span * width
        long = len(one.text) * _LETTER + 6
        is_left = at + long > width and at > long
        left, right = (at - long, at - 3) if is_left else (at + 3, at + long)
        wanted.append((one, _Place(at, left, right, is_left)))
    # Those in the way of others come first, so that they stay low.
    wanted.sort(key=lambda one: one[1].at if one[1].is_left else -one[1].at)
    found: list[_Place] = []
    for one, place in wanted:
        rows = [replace(place, row=row) for row in range(len(wanted))]
        free = [row for row in rows if all(row.is_free(other) for other in found)]
        # Where the lines of two cross each other's words, the words are above each other.
        free += [row for row in rows if all(row.is_apart(other) for other in found)]
        found.append(free[0])
        yield one, found[-1]


@dataclass(frozen=True)
class Published:
    """What a study published of the worst wake-up of a system. `load`: "" where it had none."""

    name: str
    mark: Mark
    load: str


def _published(document: RunDocument, lead: Lead) -> list[Published]:
    """The published systems that may be compared with the series that leads."""
    if lead.result.test != WAKE_UP or document.imported is not None:
        return []
    run = _subject(document, lead.result)
    own = MeasuredSeries(document.id, lead.result, lead.series)
    if run is None or why_apart(run) or why_alone_grey(own):
        return []
    found = []
    for key in published_ids():
        system = published_system(key)
        for one in system.held():
            if one.test != own.test or one.name != own.name or other_numbers(one, own):
                continue
            if why_grey(Pair(one, own, subject=system, reference=run)):
                continue
            found += list(_published_worst(system, one))
    return found[:_MOST_PUBLISHED]


def _published_worst(system: PublishedSystem, one: PublishedSeries) -> Iterator[Published]:
    amount = one.amount("max")
    if isinstance(amount, Amount) and amount.value is not None:
        name = " ".join(filter(None, (system.label.partition(",")[0], system.year)))
        text = f"{name}: worst {format_ns(amount.value)}"
        yield Published(
            name=name,
            mark=Mark(amount.value, text, _QUIET, (2, 3), width=1),
            load=system.conditions.get("load", ""),
        )


def _subject(document: RunDocument, result: Result) -> MeasuredRun | None:
    wanted = condition_of(result)
    return next((one for one in subjects_of(document) if one.condition == wanted), None)


def _about(lead: Lead, limits: Sequence[int], published: Sequence[Published]) -> str:
    count = count_text(lead.series)
    if lead.series.count < LEAST_VALUES:
        are = "value" if lead.series.count == 1 else "values"
        text = f"{count} {are}, each one a dot: too few for a distribution."
    else:
        text = f"{count} values; both axes are logarithmic."
        if beyond := beyond_text(lead.series):
            text += f" {beyond}"
    if lead.has_idle:
        text += " Grey line: the same CPU without load."
    if limits:
        text += " Red: limits."
    if published:
        text += f" Dotted: published, {', '.join(one.name for one in published)}."
        if any(one.load for one in published) and not _is_loaded(lead.result):
            text += " It was measured under load and this run was not, which favours this run."
    return text


def _alt(lead: Lead, limits: Sequence[int], published: Sequence[Published]) -> str:
    """The figures of the chart as text, for screen readers."""
    said = [one.text for one in _own_marks(lead)]
    said += [f"{name}: worst {format_ns(one.max)}" for name, one in lead.others]
    said += [one.text for one in _limit_marks(limits)]
    said += [one.mark.text for one in published]
    count = count_text(lead.series)
    return f"Distribution, {shorten(lead.title, 80)}. {count} values: {', '.join(said)}."


_AROUND_S = 5
_KIND_NAMES = {
    "throttled": "throttling",
    "steal": "steal time",
    "heat": "slowed down for heat",
    "interrupts": "interrupts",
    "major_faults": "major page faults",
    "minor_faults": "minor page faults",
    "migrations": "migrations",
    "delay": "waiting for the CPU",
}
_NO_CAUSE, _NOT_WATCHED = "no cause found", "cause unknown"


@dataclass(frozen=True)
class Shade:
    """A second with worst values, and what was seen in it."""

    begin_s: float
    end_s: float
    name: str


def worst_second_chart(
    answer: Answer,
    drawer: Drawer,
    *,
    is_narrow: bool = False,
    name: str = "worst-second-chart",
) -> Figure | None:
    """The second of the worst value of `answer`, with the seconds around it; None where the run
    does not have its moment, or there are no other seconds."""
    figure = answer.figure
    if figure is None or not _is_sound(figure.series):
        return None
    found = [one for one in latenesses(figure.result) if one.series is figure.series]
    spec = worst_second_spec(figure.series, found, is_narrow=is_narrow)
    if spec is None:
        return None
    late = LateValue(found[0], figure.result)
    cpu = "" if late.cpu == "-" else f", CPU {late.cpu}"
    cause = f": {answer.cause}" if answer.cause else ""
    return Figure(
        id=name,
        title="The second of the worst value",
        about=f"{late.value} at {late.when}{cpu}{cause}. Line: largest value of each "
        "second. Dots: the largest values of the run. Shaded: the second of the worst value, and "
        "others with a likely cause.",
        alt=f"Largest value of each second around the worst one, {late.value} at {late.when}{cpu}"
        f"{cause}.",
        drawing=drawer.draw(spec),
        subject=figure.result.test,
    )


def worst_second_spec(
    series: Series, found: Sequence[Lateness], *, is_narrow: bool = False
) -> Spec | None:
    """The largest value of each second around the first of `found`, which are of `series`, the
    largest first; None without any, or where fewer than three seconds have one."""
    if not found:
        return None
    worst = found[0].worst
    span_s = series.maxima_interval_ns / 1e9
    at_s = worst.at_ns / 1e9
    first, last = at_s - _AROUND_S * span_s, at_s + _AROUND_S * span_s
    points = [one for one in course(series, 1) if first - span_s <= one[0] <= last]
    if sum(value is not None for _, value in points) < 3:
        return None
    begin_s, end_s = points[0][0], max(points[-1][0] + span_s, at_s)
    kept = [one for one in series.worst if begin_s <= one.at_ns / 1e9 <= end_s]
    values = [value for _, value in points if value is not None]
    low, high = domain([*values, *(one.value_ns for one in kept)], 1.35)
    high *= (high / low) ** 0.14  # for the words above the worst
    rows: list[Row] = []
    for start, value in points:
        shown = None if value is None else drawn(value)
        rows += [{"c": "max", "t": start, "v": shown}]
    rows.append({"c": "max", "t": round(points[-1][0] + span_s, 6), "v": rows[-1]["v"]})
    rows += [
        {"c": "value", "t": round(one.at_ns / 1e9, 6), "w": drawn(one.value_ns)} for one in kept
    ]
    shades = _shades(found, series.maxima_interval_ns, begin_s, end_s)
    x: Spec = {
        "field": "t",
        "type": "quantitative",
        "title": "time since start (s)",
        "axis": {"grid": False, "tickCount": 6, "tickMinStep": 1},
        "scale": {"domain": [begin_s, end_s], "nice": False, "zero": False},
    }
    y = value_channel("v", low, high, "ns", "latency")
    width, height = NARROW if is_narrow else WIDE
    return {
        "config": CONFIG,
        "data": {"values": rows},
        "layer": [
            _line(x, y),
            *_shaded(shades),
            _kept(y),
            *_worst_label(worst.value_ns, at_s, is_left=at_s - begin_s > (end_s - begin_s) / 2),
        ],
        "width": width,
        "height": height * 3 // 4,
        "usermeta": {"zoom": ["x"]},
    }


def _shades(found: Sequence[Lateness], span_ns: int, begin_s: float, end_s: float) -> list[Shade]:
    """The second of the worst value, and others with a cause, each named by the first cause of its
    largest value."""
    shades: dict[tuple[int, int], Shade] = {}
    if not found[0].seconds:  # nobody watched it: the second of the maxima
        at_ns = found[0].worst.at_ns // span_ns * span_ns
        shades[at_ns, span_ns] = Shade(at_ns / 1e9, (at_ns + span_ns) / 1e9, _NOT_WATCHED)
    for late in found:
        if late is not found[0] and not late.causes:
            continue
        for one in late.seconds:
            start, end = one.at_ns / 1e9, (one.at_ns + one.span_ns) / 1e9
            if start < end_s and end > begin_s:
                shade = Shade(max(start, begin_s), min(end, end_s), _cause_name(late))
                shades.setdefault((one.at_ns, one.span_ns), shade)
    return sorted(shades.values(), key=lambda one: one.begin_s)


def _cause_name(late: Lateness) -> str:
    if late.causes:
        return _KIND_NAMES[late.causes[0].kind]
    return _NO_CAUSE if late.counts else _NOT_WATCHED


def _shaded(shades: Sequence[Shade]) -> list[Spec]:
    if not shades:
        return []
    names = list(dict.fromkeys(one.name for one in shades))
    hues = iter((_BAD, PALETTE[1], PALETTE[3], PALETTE[4], PALETTE[5], PALETTE[6]))
    colours = [_QUIET if one in (_NO_CAUSE, _NOT_WATCHED) else next(hues, _BAD) for one in names]
    values = [
        {"b": round(one.begin_s, 6), "e": round(one.end_s, 6), "s": one.name} for one in shades
    ]
    return [
        {
            "data": {"values": values},
            "mark": mark("rect", opacity=0.2),
            "encoding": {
                "x": {"field": "b", "type": "quantitative"},
                "x2": {"field": "e"},
                "color": {
                    "field": "s",
                    "type": "nominal",
                    "sort": None,
                    "scale": {"domain": names, "range": colours},
                    "legend": {"symbolType": "square", "symbolSize": 120, "symbolOpacity": 0.5},
                },
                "tooltip": [{"field": "s", "type": "nominal", "title": "seen"}],
            },
        }
    ]


def _line(x: Spec, y: Spec) -> Spec:
    look = mark(
        "line",
        color=PALETTE[0],
        interpolate="step-after",
        invalid="break-paths-show-path-domains",
    )
    tips = [
        {"field": "t", "type": "quantitative", "title": "from (s)", "format": ",.1f"},
        {"field": "v", "type": "quantitative", "title": "largest (ns)", "format": ",.0f"},
    ]
    return {
        "transform": [{"filter": "datum.c === 'max'"}],
        "mark": look,
        "encoding": {"x": x, "y": y, "tooltip": tips},
    }


def _kept(y: Spec) -> Spec:
    tips = [
        {"field": "t", "type": "quantitative", "title": "at (s)", "format": ",.3f"},
        {"field": "w", "type": "quantitative", "title": "value (ns)", "format": ",.0f"},
    ]
    return {
        "transform": [{"filter": "datum.c === 'value'"}],
        "mark": mark("point", filled=True, size=36, opacity=0.8, color=PALETTE[0]),
        "encoding": {
            "x": {"field": "t", "type": "quantitative"},
            "y": {**y, "field": "w"},
            "tooltip": tips,
        },
    }


def _worst_label(value_ns: int, at_s: float, *, is_left: bool) -> list[Spec]:
    data = {"values": [{"t": at_s, "k": drawn(value_ns), "z": f"worst {format_ns(value_ns)}"}]}
    place: Spec = {
        "x": {"field": "t", "type": "quantitative"},
        "y": {"field": "k", "type": "quantitative"},
    }
    words = mark(
        "text",
        align="right" if is_left else "left",
        dx=4 if is_left else -4,
        dy=-8,
        baseline="bottom",
        fontSize=11,
        fontWeight=600,
        color=_INK,
        clip=False,
    )
    return [
        {
            "data": data,
            "mark": mark("point", filled=True, size=80, opacity=1, color=_INK),
            "encoding": place,
        },
        {
            "data": data,
            "mark": words,
            "encoding": {**place, "text": {"field": "z", "type": "nominal"}},
        },
    ]
