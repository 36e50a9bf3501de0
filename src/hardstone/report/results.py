"""The section of each result, and what the sections of a page share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

import msgspec

from hardstone import event_names
from hardstone.calling import harmless
from hardstone.catalogue import kind_of, load_catalogue
from hardstone.model import (
    Descriptor,
    Event,
    Instrument,
    Result,
)
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
from hardstone.present.overview import Finding, cpu_text, finding_of, policy_text
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
from hardstone.report.literature import PublishedBeside, PublishedFigures
from hardstone.report.tables import (
    CauseRow,
    HeldClaim,
    Table,
    cause_rows,
    held_claims,
    left_out_text,
    table_of,
    unwatched_rows,
)
from hardstone.stats.conditions import NOT_KNOWN, Names, condition_of, config_text
from hardstone.stats.consistency import MARK
from hardstone.stats.identity import duration_problem
from hardstone.stats.join import joins_of
from hardstone.stats.quantiles import is_count_known
from hardstone.stats.sustained import STEP, steps_of
from hardstone.units import format_count, format_ns, format_span
from hardstone.wording import (
    Claim,
    claim_of,
    claims_text,
    fact_text,
    parameter_text,
    shorten,
    spoken,
)

if TYPE_CHECKING:
    from hardstone.kernel.page import KernelPage

_LEAST_SHARED = 3
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


SpecLookup = Callable[[str], Descriptor | None]
_MANY_SERIES = 40
_WORST_OF_MANY = 2
_WORST_OF_FEW = 12
_MOST_CAUSES = 10
_LATE_AT_LENGTH = 10
_OWN_SETTING = ("Load reached", "Parameters", "Calibrated", "Kernel counters")
# Counters that a test raises by itself.
_EXPECTED = ("timer_interrupts_count", "voluntary_switches_count")
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
    STEP,  # a row of the table of the search
}


@dataclass(frozen=True)
class EventLine:
    """An event; `when` is empty outside the measurement."""

    name: str
    text: str
    when: str


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
    family: str
    finding: Finding | None
    setting: list[tuple[str, str]]
    moments: list[tuple[str, str]]
    claims: list[Claim]
    failed: list[Claim]
    held: list[HeldClaim]
    table: Table | None
    figures: list[Figure]
    notes: list[str]
    causes: list[CauseRow]
    more_causes: list[CauseRow]
    causes_left_out: str
    events: list[EventLine]
    folded: list[tuple[str, str]]
    warnings: list[str]
    parts: list[PartPage]
    kernel: KernelPage | None
    search: SearchPage | None
    late: list[LateValue]
    late_by_cause: list[tuple[str, str]]
    noise: list[NoiseTable]
    projection: ProjectionText | None
    published: PublishedBeside | None
    late_note: str = NOTE
    noise_columns: tuple[str, ...] = COLUMNS


@dataclass(frozen=True)
class Shared:
    """What is the same for many sections, and is said once: settings, events and notes with the
    tests that have them, and what charts of a title show."""

    setting: list[tuple[str, str]]
    events: list[tuple[EventLine, list[str]]]
    notes: list[tuple[str, list[str]]]
    charts: list[tuple[str, str]]


def shared_of(sections: Sequence[Section]) -> Shared:
    """What more than half of the sections with figures or claims have in common, and the texts that
    _LEAST_SHARED or more of them repeat."""
    shown = [one for one in sections if one.shown]
    keys = dict.fromkeys(key for one in shown for key, _ in one.setting)
    setting = []
    for key in keys:
        if key in _OWN_SETTING:
            continue
        values = Counter(dict(one.setting).get(key, "") for one in shown)
        value, count = values.most_common(1)[0]
        if "" not in values and 2 * count > len(shown) >= _LEAST_SHARED:
            setting.append((key, value))
    return Shared(
        setting,
        _repeated((event, one.test) for one in shown for event in one.events if not event.when),
        _repeated((note, one.test) for one in shown for note in one.notes),
        [
            charted
            for charted, _ in _repeated(
                ((each.title, each.about), one.anchor) for one in shown for each in one.figures
            )
        ],
    )


_Said = TypeVar("_Said", bound=Hashable)


def _repeated(found: Iterable[tuple[_Said, str]]) -> list[tuple[_Said, list[str]]]:
    tests: dict[_Said, dict[str, None]] = {}
    for what, test in found:
        tests.setdefault(what, {})[test] = None
    return [(what, list(said)) for what, said in tests.items() if len(said) >= _LEAST_SHARED]


def without_shared(section: Section, shared: Shared) -> Section:
    """`section` with what it alone has."""
    events = {event for event, _ in shared.events}
    notes = {note for note, _ in shared.notes}
    return replace(
        section,
        setting=[item for item in section.setting if item not in shared.setting],
        events=[one for one in section.events if one not in events],
        notes=[one for one in section.notes if one not in notes],
        figures=[
            replace(one, about="") if (one.title, one.about) in shared.charts else one
            for one in section.figures
        ],
    )


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
    is_imported: bool
    has_idle_remarks: bool
    lacks_values: bool
    worst_each: int
    limits: Sequence[int]
    watched_ns: int | None
    why_not_comparable: str | None
    preemption: str
    projected: Callable[[Result], ProjectionText | None]
    published: PublishedFigures


def worst_each(results: list[Result]) -> int:
    """How many values of each cause the page names."""
    is_many = sum(len(one.series) for one in results) > _MANY_SERIES
    return _WORST_OF_MANY if is_many else _WORST_OF_FEW


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
    is_many = settings.worst_each == _WORST_OF_MANY
    causes = cause_rows(late, settings.worst_each) or unwatched_rows(result, settings.worst_each)
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
        family=load_catalogue().entry(result.test).category,
        finding=None if behaves else finding_of(result, anchor, "", settings.deepest),
        setting=_setting(result, is_imported=settings.is_imported),
        moments=_moments(result, spec),
        claims=claims,
        failed=[one for one in claims if not one.passed],
        held=held_claims(result.verdicts, claims),
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
            lacks_values=settings.lacks_values,
        ),
        notes=[] if behaves else _notes(result, settings),
        causes=causes[:_MOST_CAUSES],
        more_causes=[] if is_many else causes[_MOST_CAUSES:],
        causes_left_out=left_out_text(causes[_MOST_CAUSES:]) if is_many else "",
        events=[_event_line(event) for event in result.events if event.name not in _ELSEWHERE],
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
        projection=settings.projected(result),
        published=settings.published.beside(result),
    )


def _kernel_page(
    result: Result, anchor: str, settings: Settings, *, is_brief: bool
) -> KernelPage | None:
    if result.test != event_names.KERNEL_TEST:
        return None
    from hardstone.kernel.page import kernel_page

    return kernel_page(
        result,
        anchor,
        settings.drawer,
        is_brief=is_brief,
        refused=settings.why_not_comparable,
        preemption=shorten(result.conditions.preemption or settings.preemption, 24),
    )


def _charted(result: Result) -> Result:
    """Without the count of missed steps of the tire, which is one value."""
    if result.test not in event_names.TIRE_TESTS:
        return result
    return msgspec.structs.replace(
        result, series=[one for one in result.series if one.unit != "count"]
    )


def _notes(result: Result, settings: Settings) -> list[str]:
    idle = idle_remark(result) if settings.has_idle_remarks else ""
    notes = [idle] if idle else []
    for one in joins_of(result):
        gap = "" if one.gap_ns is None else f" after a gap of {format_ns(one.gap_ns)}"
        notes.append(f"Resumed at {one.at_ns / 1e9:.3f} s{gap}: nothing was recorded in between.")
    return notes + notes_on_drawing(_charted(result).series, settings.charts_each)


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
        counted = f", {format_count(values)} values" * all(map(is_count_known, result.series))
        parts.append(f"{len(result.series)} series{counted}")
    return "; ".join(parts)


def _setting(result: Result, *, is_imported: bool) -> list[tuple[str, str]]:
    """How it ran; of another tool what its file says of that."""
    conditions = result.conditions
    cpu = cpu_text(result)
    if is_imported and not cpu.startswith("CPU"):
        cpu = f"CPU {NOT_KNOWN}"
    latency_us = conditions.dma_latency_us
    found = [
        ("Load", conditions.load or NOT_KNOWN),
        ("Load reached", reached_text(result)),
        ("CPU configuration", config_text(conditions)),
        ("Settings in force", ", ".join(conditions.settings)),
        ("Preemption model, switched to", conditions.preemption or ""),
        ("CPU", cpu.removeprefix("CPU ")),
        ("Policy", policy_text(conditions).removeprefix("policy ")),
        ("Real-time", fact_text(conditions.realtime)),
        ("Memory locked", fact_text(conditions.memory_locked)),
        ("cpu_dma_latency", "" if latency_us is None else f"{latency_us} us"),
        ("Clock", conditions.clock or NOT_KNOWN),
        ("Parameters", "; ".join(parameter_text(*item) for item in result.params.items())),
        ("Calibrated", "; ".join(parameter_text(*item) for item in result.calibrated.items())),
        (
            "Kernel counters",
            "; ".join(
                _counter(*item)
                for item in result.environment.items()
                if item[1] and item[0] not in _EXPECTED
            ),
        ),
    ]
    lacking = (NOT_KNOWN, fact_text(None)) if is_imported else ()
    return [(name, value) for name, value in found if value and value not in lacking]


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


def _event_line(event: Event) -> EventLine:
    when = "" if event.at_ns is None else f"{event.at_ns / 1e9:.6f} s"
    return EventLine(spoken(event.name), event.text, when)
