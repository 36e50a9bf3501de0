"""The table of all results, and a section for each result with content."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec.structs import replace

from hardstone import event_names
from hardstone.calling import harmless
from hardstone.catalogue import kind_of
from hardstone.figure_text import Cell, bound_text, lacking_quantile, level_text, quantile_cell
from hardstone.model import Descriptor, Event, Instrument, Result, Series, Stopped
from hardstone.present.deadlines import ProjectionText
from hardstone.present.measured_tables import (
    CAPTION,
    COLUMNS,
    HEADINGS,
    NoiseTable,
    noise_tables,
    reached_text,
    step_rows,
)
from hardstone.present.notices import idle_remark, warnings_of
from hardstone.present.overview import cpu_text, policy_text, result_conditions_text
from hardstone.present.why_late import NOTE, LateValue, by_cause, late_values
from hardstone.report import charts
from hardstone.report.drawing import Drawer
from hardstone.report.figures import (
    KINDS,
    Figure,
    figures_of,
    noise_figures,
    notes_on_drawing,
)
from hardstone.report.latency_pages import PartPage, has_pages, pages_of
from hardstone.stats.conditions import NOT_KNOWN, Names, condition_of, config_text
from hardstone.stats.consistency import MARK, MARK_NOTE, is_contradictory
from hardstone.stats.identity import duration_problem
from hardstone.stats.join import joins_of
from hardstone.stats.quantiles import LADDER, SeriesSummary, instrument_limit, summarise
from hardstone.stats.sustained import steps_of
from hardstone.units import format_count, format_ns, format_span
from hardstone.wording import (
    Claim,
    claim_of,
    claims_text,
    fact_text,
    format_value,
    is_rate,
    parameter_text,
    series_text,
    shorten,
    work_text,
    worst_value,
)

if TYPE_CHECKING:
    from hardstone.kernel.page import KernelPage

_TITLE = "Loss by period"
_ABOUT = (
    "Share of the interrupts of each step that were lost. Filled: the period was sustained. "
    "A hollow mark at 0 is a period that the source did not hold."
)
_MOST_SPOKEN = 6


@dataclass(frozen=True)
class SearchPage:
    rows: list[tuple[str, ...]]
    figures: list[Figure]
    caption: str = f"Steps of the search. {CAPTION}"
    headings: tuple[str, ...] = tuple(one.capitalize() for one in HEADINGS)


def search_page(result: Result, anchor: str, drawer: Drawer) -> SearchPage | None:
    """Table and chart of a result of IRQ-S-SUS; None where it has no step."""
    steps = steps_of([result])
    if not steps:
        return None
    spec = charts.loss_chart(steps)
    lines = [f"{one.source} {one.period_ns} ns: {one.lost} lost" for one in steps[-_MOST_SPOKEN:]]
    figure = Figure(
        id=f"{anchor}-loss",
        title=_TITLE,
        about=_ABOUT,
        alt=shorten(f"{_TITLE}. {'; '.join(lines)}", 400),
        drawing=drawer.draw(spec),
    )
    return SearchPage(step_rows([result]), [figure])


@dataclass(frozen=True)
class Row:
    label: str
    count: str
    minimum: str
    quantiles: list[Cell]
    mean: str
    stddev: str
    worst: str
    bound: str
    notes: list[str]


@dataclass(frozen=True)
class Table:
    """`levels` are the headings of the quantile columns: "median", "p99"."""

    levels: list[str]
    rows: list[Row]
    empty: list[str]


def table_of(
    found: list[Series],
    instrument: Instrument | None,
    deepest: float,
    calibrated: Mapping[str, int],
) -> Table:
    """Figures of all series with values. Quantiles are as deep as the counts support, at most
    `deepest`. Empty series are listed below. `calibrated` is that of the result.
    """
    empty = [series_text(series) for series in found if not series.count]
    found = [series for series in found if series.count]
    summaries = [summarise(series, deepest=deepest) for series in found]
    present = {quantile.q for summary in summaries for quantile in summary.quantiles}
    levels = [q for q in LADDER if q in present or q == LADDER[0]]
    quantum_ns = instrument.quantum_ns if instrument else 1.0
    rows = [
        _row(series, summary, levels, quantum_ns, _series_notes(series, instrument, calibrated))
        for series, summary in zip(found, summaries, strict=True)
    ]
    return Table([level_text(q) for q in levels], rows, empty)


def _row(
    series: Series,
    summary: SeriesSummary,
    levels: list[float],
    quantum_ns: float,
    notes: list[str],
) -> Row:
    unit = series.unit
    by_level = {quantile.q: quantile for quantile in summary.quantiles}
    mark = f" {MARK}" if is_contradictory(series) else ""
    return Row(
        label=series_text(series) + mark,
        count=format_count(series.count),
        minimum=format_value(series.min, unit),
        quantiles=[
            quantile_cell(by_level.get(q), unit, lacking_quantile(q, series.count)) for q in levels
        ],
        mean=format_value(series.mean if series.count > 1 else None, unit, quantum_ns),
        stddev=format_value(series.stddev if series.count > 1 else None, unit, quantum_ns),
        worst=format_value(worst_value(series), unit),
        bound=bound_text(summary),
        notes=notes,
    )


def _series_notes(
    series: Series, instrument: Instrument | None, calibrated: Mapping[str, int]
) -> list[str]:
    work = work_text(series, calibrated)
    notes = [MARK_NOTE] if is_contradictory(series) else []
    notes += [f"work per value: {work}"] if work else []
    if series.derived:
        notes.append(f"derived, not timed: {series.derived}")
    limit = instrument_limit(series, instrument)
    if limit:
        notes.append(limit)
    if series.histogram.underflow:
        notes.append(f"{format_count(series.histogram.underflow)} values below 0, not drawn")
    if series.histogram.overflow:
        lost = format_count(series.histogram.overflow)
        notes.append(
            f"{lost} values past the last bucket: not drawn, but included in count and maximum"
        )
    if isinstance(series.stopped, Stopped):
        apart = format_count(series.stopped.count)
        worst = format_value(series.stopped.worst, series.unit)
        notes.append(
            f"kept apart, because the program was stopped: {apart}, the worst {worst}; in no figure"
        )
    return notes


SpecLookup = Callable[[str], Descriptor | None]
_MOST_WORST_TABLES = 24
_MANY_SERIES = 40
_WORST_OF_MANY = 8
_LATE_AT_LENGTH = 10
_FOLDED_TITLES = {
    "not_moved": "Not moved",
    "shielded": "Moved",
    "offline": "Taken offline",
}
_ELSEWHERE = {
    *event_names.DEVIATIONS,
    *_FOLDED_TITLES,
    event_names.LEFT,
    *event_names.POSIX,
}


@dataclass(frozen=True)
class WorstTable:
    label: str
    rows: list[tuple[str, str, str]]


@dataclass(frozen=True)
class Section:
    """One result. Without `shown` it appears in the table of results only."""

    anchor: str
    test: str
    under: str
    title: str
    status: str
    label: str
    reason: str
    remedy: str
    command: str
    duration: str
    outcome: str
    has_failed: bool
    shown: bool
    conditions: str
    setting: list[tuple[str, str]]
    moments: list[tuple[str, str]]
    claims: list[Claim]
    table: Table | None
    figures: list[Figure]
    notes: list[str]
    worst: list[WorstTable]
    worst_summary: str
    events: list[tuple[str, str, str]]
    folded: list[tuple[str, str]]
    warnings: list[str]
    parts: list[PartPage]
    kernel: KernelPage | None
    search: SearchPage | None
    late: list[LateValue]
    late_by_cause: list[tuple[str, str]]
    late_rows: list[tuple[str, str]]
    noise: list[NoiseTable]
    projection: ProjectionText | None
    late_note: str = NOTE
    noise_columns: tuple[str, ...] = COLUMNS


@dataclass(frozen=True)
class Settings:
    """What all sections of a page share."""

    lookup: SpecLookup
    drawer: Drawer
    deepest: float
    charts_each: int
    instrument: Instrument | None
    names: Names
    run_id: str
    worst_each: int | None
    limits: Sequence[int]
    watched_ns: int | None
    why_not_comparable: str | None
    projected: Callable[[Result], ProjectionText | None]


def worst_each(results: list[Result]) -> int | None:
    """How many of the highest values of a series the page lists; None: all recorded ones."""
    return _WORST_OF_MANY if sum(len(one.series) for one in results) > _MANY_SERIES else None


def is_shown(result: Result) -> bool:
    """Whether a result has a section of its own."""
    return bool(result.series or result.verdicts or result.events)


def section_of(result: Result, anchor: str, settings: Settings) -> Section:
    """Everything that the page says about `result`."""
    spec = settings.lookup(result.test)
    instrument = result.instrument or settings.instrument
    behaves = kind_of(result.test) == "behaviour"
    has_room = settings.charts_each == len(KINDS)
    late = late_values(result)
    claims = [claim_of(verdict, result.test, spec) for verdict in result.verdicts]
    return Section(
        anchor=anchor,
        test=result.test,
        under=settings.names.label(condition_of(result)),
        title=spec.title if spec else "",
        status=result.status,
        label=_status_label(result, claims),
        reason=result.reason or "",
        remedy=result.remedy or "",
        command=harmless(result.command),
        duration=_duration(result.duration_ns),
        outcome=_outcome(result, claims),
        has_failed=any(one.look == "failed" for one in claims),
        shown=is_shown(result),
        conditions=result_conditions_text(result),
        setting=_setting(result),
        moments=_moments(result, spec),
        claims=claims,
        table=table_of(result.series, instrument, settings.deepest, result.calibrated)
        if result.series
        else None,
        figures=[]
        if behaves
        else noise_figures(result, anchor, settings.drawer)
        + figures_of(
            _charted(result),
            anchor,
            settings.charts_each,
            settings.drawer,
            has_parts=has_pages(result),
        ),
        notes=[] if behaves else _notes(result, settings),
        worst=_worst_tables(result.series, settings.worst_each),
        worst_summary=_worst_summary(result.series, settings),
        events=[_event_row(event) for event in result.events if event.name not in _ELSEWHERE],
        folded=[
            (_FOLDED_TITLES[event.name], event.text)
            for event in result.events
            if event.name in event_names.SHIELD_DETAILS
        ],
        warnings=warnings_of(result),
        parts=pages_of(
            result,
            anchor,
            settings.limits,
            settings.drawer,
            is_brief=not has_room,
            watched_ns=settings.watched_ns,
        ),
        noise=noise_tables(result),
        kernel=_kernel_page(result, anchor, settings, is_brief=not has_room),
        search=search_page(result, anchor, settings.drawer),
        late=late[:_LATE_AT_LENGTH],
        late_by_cause=by_cause(late[_LATE_AT_LENGTH:]),
        late_rows=_late_rows(late[_LATE_AT_LENGTH:], settings),
        projection=settings.projected(result),
    )


def _kernel_page(
    result: Result, anchor: str, settings: Settings, *, is_brief: bool
) -> KernelPage | None:
    if result.test != event_names.KERNEL_TEST:
        return None
    from hardstone.kernel.page import kernel_page

    return kernel_page(
        result, anchor, settings.drawer, is_brief=is_brief, refused=settings.why_not_comparable
    )


def _charted(result: Result) -> Result:
    """Without the count of missed steps of the tire, which is one value."""
    if result.test not in event_names.TIRE_TESTS:
        return result
    return replace(result, series=[one for one in result.series if one.unit != "count"])


def _notes(result: Result, settings: Settings) -> list[str]:
    idle = idle_remark(result)
    notes = [idle] if idle else []
    for one in joins_of(result):
        gap = "" if one.gap_ns is None else f" after a gap of {format_ns(one.gap_ns)}"
        notes.append(f"Resumed at {one.at_ns / 1e9:.3f} s{gap}: nothing was recorded in between.")
    return notes + notes_on_drawing(_charted(result).series, settings.charts_each)


def _late_rows(found: list[LateValue], settings: Settings) -> list[tuple[str, str]]:
    """A row for each value; on a page of many series the values of one cause share a row."""
    if settings.worst_each is not None:
        return by_cause(found)
    return [(f"{one.place}, {one.series}", one.cause) for one in found]


def _duration(duration_ns: int) -> str:
    mark = f" {MARK}" if duration_problem(duration_ns) else ""
    return format_span(duration_ns) + mark if duration_ns else "-"


def _status_label(result: Result, claims: list[Claim]) -> str:
    failed = sum(one.look == "failed" for one in claims)
    if result.status == "measured" and failed:
        return "measured, a claim failed" if failed == 1 else f"measured, {failed} claims failed"
    if result.status == "measured" and not result.complete:
        return "measured, incomplete"
    return result.status


def _outcome(result: Result, claims: list[Claim]) -> str:
    """The outcome in a few words: claims, then figures."""
    parts = [claims_text(claims)] if claims else []
    if result.series:
        values = sum(series.count for series in result.series)
        parts.append(f"{len(result.series)} series, {format_count(values)} values")
    return "; ".join(parts)


def _setting(result: Result) -> list[tuple[str, str]]:
    conditions = result.conditions
    latency_us = conditions.dma_latency_us
    found = [
        ("Load", conditions.load or NOT_KNOWN),
        ("Load reached", reached_text(result)),
        ("CPU configuration", config_text(conditions)),
        ("Settings in force", ", ".join(conditions.settings)),
        ("Preemption model, switched to", conditions.preemption or ""),
        ("CPU", cpu_text(result).removeprefix("CPU ")),
        ("Policy", policy_text(conditions).removeprefix("policy ")),
        ("Real-time", fact_text(conditions.realtime)),
        ("Memory locked", fact_text(conditions.memory_locked)),
        ("cpu_dma_latency", "" if latency_us is None else f"{latency_us} us"),
        ("Clock", conditions.clock or NOT_KNOWN),
        ("Parameters", "; ".join(parameter_text(*item) for item in result.params.items())),
        ("Calibrated", "; ".join(parameter_text(*item) for item in result.calibrated.items())),
        ("Kernel counters", "; ".join(_counter(*item) for item in result.environment.items())),
    ]
    return [(name, value) for name, value in found if value]


def _counter(name: str, value: int) -> str:
    if name.endswith("_milli"):
        return f"{name[:-6].replace('_', ' ')} {value / 1000:.2f}"
    if name.endswith("_ns"):
        return f"{name[:-3].replace('_', ' ')} {format_ns(value)}"
    return f"{name.removesuffix('_count').replace('_', ' ')} {format_count(value)}"


def _moments(result: Result, spec: Descriptor | None) -> list[tuple[str, str]]:
    """The meaning of each series, from the register."""
    known = spec.series if spec else []
    return [
        (one.title, one.meaning)
        for one in known
        if any(
            one.name == found.name
            and all(found.labels.get(name) == value for name, value in one.fixed.items())
            for found in result.series
        )
    ]


def _worst_tables(found: list[Series], each: int | None) -> list[WorstTable]:
    listed = [one for one in found if one.worst and not is_rate(one.unit)][:_MOST_WORST_TABLES]
    tables = []
    for series in listed:
        highest = sorted(series.worst, key=lambda one: -one.value_ns)[:each]
        rows = [
            (
                format_value(one.value_ns, series.unit),
                f"{one.at_ns / 1e9:.6f} s",
                format_count(one.index),
            )
            for one in highest
        ]
        tables.append(WorstTable(series_text(series), rows))
    return tables


def _worst_summary(found: list[Series], settings: Settings) -> str:
    """What the tables of the highest values show, and how to get the others."""
    kept = [len(one.worst) for one in found if one.worst and not is_rate(one.unit)]
    most, each = max(kept, default=0), settings.worst_each
    parts = ["The highest values of each series, with their times"]
    if len(kept) > _MOST_WORST_TABLES:
        parts[0] = (
            f"The highest values of {_MOST_WORST_TABLES} of {len(kept)} series, with their times"
        )
    if each is not None and most > each:
        parts.append(f"the {each} highest of each; all {most}")
    elif len(kept) > _MOST_WORST_TABLES:
        parts.append("all")
    if len(parts) == 1:
        return parts[0]
    return f"{': '.join(parts)} in `hardstone show {settings.run_id} --json`"


def _event_row(event: Event) -> tuple[str, str, str]:
    """An event as (when, name, text)."""
    when = "outside the measurement" if event.at_ns is None else f"{event.at_ns / 1e9:.6f} s"
    return when, event.name, event.text
