"""Two records of one distribution as the one that a recorder of both would hold.

Counts and the histogram add, moments are pooled in closed form. The second record begins
`shift_ns` after the first on one time line.

The clock that counts from boot joins them, never that of the wall. Where both do not share a boot,
a machine and conditions, the part keeps a result of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest
from math import fsum, inf, sqrt
from typing import NamedTuple, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from hardstone import event_names
from hardstone.event_names import JOINED, NEW_PART, NOT_RESUMED, PARTS_NOT_SEEN, PARTS_SEEN, TRACED
from hardstone.model import (
    MOST_MAXIMA,
    MOST_TABLES,
    ClockCheck,
    Conditions,
    Event,
    Histogram,
    Instrument,
    Interval,
    LoadReached,
    Part,
    PlannedTest,
    Result,
    RunDocument,
    Scalar,
    Series,
    Stopped,
    Table,
    Tool,
    Trace,
)
from hardstone.stats.conditions import environment_moved
from hardstone.stats.identity import LogLinear, parse_layout
from hardstone.stats.sustained import mark_breach
from hardstone.stats.trust import grade_run
from hardstone.units import format_ns, format_span

_WORST_COUNT = 32  # what the probe keeps
_MOST_MAXIMA = MOST_MAXIMA // 2


def joined_series(first: Series, second: Series, shift_ns: int) -> Series:
    """The series of all values of both, which have the same name and labels."""
    mean, stddev = _moments(first, second)
    maxima, interval_ns = _maxima(first, second, shift_ns)
    later = [
        msgspec.structs.replace(one, at_ns=one.at_ns + shift_ns, index=one.index + first.count)
        for one in second.worst
    ]
    worst = sorted([*first.worst, *later], key=lambda one: (-one.value_ns, one.at_ns))
    most_worst = max(_WORST_COUNT, len(first.worst), len(second.worst))
    return msgspec.structs.replace(
        first,
        count=first.count + second.count,
        min=min((one.min for one in (first, second) if one.min is not None), default=None),
        mean=mean,
        stddev=stddev,
        max=max((one.max for one in (first, second) if one.max is not None), default=None),
        histogram=_joined_histogram([first.histogram, second.histogram]),
        worst=worst[:most_worst],
        maxima_per_s=maxima,
        maxima_interval_ns=interval_ns,
        possible_max=_most_possible([first, second]),
        stopped=_joined_stopped((first, second)),
    )


def _most_possible(found: Sequence[Series]) -> int | None:
    """The limit that no value of any of them can exceed."""
    most = [one.possible_max for one in found if one.possible_max is not None]
    return max(most) if len(most) == len(found) else None


def _joined_stopped(found: Iterable[Series]) -> Stopped | UnsetType:
    """The values that stops of the program kept out of all of them."""
    apart = [one.stopped for one in found if isinstance(one.stopped, Stopped)]
    if not apart:
        return UNSET
    return Stopped(count=sum(one.count for one in apart), worst=max(one.worst for one in apart))


def empty_like(series: Series) -> Series:
    """A record of no value, which `series` may be joined to."""
    return Series(
        name=series.name,
        labels=series.labels,
        unit=series.unit,
        count=0,
        min=None,
        mean=None,
        stddev=None,
        max=None,
        histogram=Histogram(layout=series.histogram.layout, buckets=[]),
        maxima_interval_ns=series.maxima_interval_ns,
        derived=series.derived,
        possible_min=series.possible_min,
        possible_max=series.possible_max,
    )


def _moments(first: Series, second: Series) -> tuple[float | None, float | None]:
    if first.mean is None or second.mean is None:
        one = first if second.mean is None else second
        return one.mean, one.stddev
    total = first.count + second.count
    apart = second.mean - first.mean
    mean = first.mean + apart * (second.count / total)
    squares = sum((one.stddev or 0.0) ** 2 * (one.count - 1) for one in (first, second))
    squares += apart**2 * first.count * (second.count / total)
    return mean, sqrt(squares / (total - 1))


def _joined_histogram(found: Sequence[Histogram]) -> Histogram:
    """The histogram in the coarsest layout: a bucket of a finer one lies in one of its buckets.
    ValueError where buckets would have to be split: linear layouts join their like only."""
    layouts = {one.layout: parse_layout(one.layout) for one in found}
    layout = found[0].layout
    if len(layouts) > 1:
        bits = {name: one.bits for name, one in layouts.items() if isinstance(one, LogLinear)}
        if len(bits) < len(layouts):
            raise ValueError(f"{' and '.join(layouts)} have no layout in common")
        layout = min(bits, key=bits.__getitem__)
    counts: dict[int, int] = {}
    for one in found:
        buckets = one.buckets
        if one.layout != layout:
            own, other = layouts[one.layout], layouts[layout]
            buckets = [(other.index_of(own.edges_of(at)[0]), count) for at, count in buckets]
        for index, count in buckets:
            counts[index] = counts.get(index, 0) + count
    return Histogram(
        layout=layout,
        buckets=sorted(counts.items()),
        underflow=sum(one.underflow for one in found),
        overflow=sum(one.overflow for one in found),
        is_cut=True if any(one.is_cut is True for one in found) else UNSET,
    )


def _maxima(first: Series, second: Series, shift_ns: int) -> tuple[list[int | None], int]:
    """On one time line, null between both; an interval is placed by its middle.

    So nothing moves where the shift is a multiple of the interval, and else by half of one at most.
    """
    if not second.maxima_per_s:
        return first.maxima_per_s, first.maxima_interval_ns
    used = [one for one in (first, second) if one.maxima_per_s]
    interval_ns = max(one.maxima_interval_ns for one in used)
    end_ns = shift_ns + len(second.maxima_per_s) * second.maxima_interval_ns
    while end_ns // interval_ns >= _MOST_MAXIMA:
        interval_ns *= 2
    placed: dict[int, int] = {}
    for one, begin_ns in ((first, 0), (second, shift_ns)):
        middle_ns = begin_ns + one.maxima_interval_ns // 2
        for number, value in enumerate(one.maxima_per_s):
            if value is not None:
                at = (middle_ns + number * one.maxima_interval_ns) // interval_ns
                placed[at] = max(placed.get(at, value), value)
    length = max(placed, default=-1) + 1
    return [placed.get(at) for at in range(length)], interval_ns


def merged(found: Sequence[Series]) -> Series | None:
    """The values of `found` as one series, with the labels that all share.

    None unless there are values, and name, unit, layout and step are equal. Without maxima of
    seconds: the parts may have begun at different times. A quantile of it can hide one bad CPU.
    """
    filled = [one for one in found if one.count]
    kinds = {(one.name, one.unit, one.histogram.layout, one.step) for one in filled}
    if len(kinds) != 1:
        return None
    count = sum(one.count for one in filled)
    means = [one.mean for one in filled if one.mean is not None]
    mean = None
    if len(means) == len(filled):
        parts = zip(means, filled, strict=True)
        mean = _sum(own * one.count for own, one in parts) / count
    kept = max(len(one.worst) for one in filled)
    first = filled[0]
    shared = set.intersection(*(set(one.labels.items()) for one in filled))
    return Series(
        name=first.name,
        labels={key: value for key, value in first.labels.items() if (key, value) in shared},
        unit=first.unit,
        count=count,
        min=_of_all(min, [one.min for one in filled]),
        mean=mean,
        stddev=_deviation(filled, mean, count),
        max=_of_all(max, [one.max for one in filled]),
        histogram=_joined_histogram([one.histogram for one in filled]),
        worst=nlargest(
            kept, (one for part in filled for one in part.worst), key=lambda one: one.value_ns
        ),
        derived=first.derived,
        possible_min=first.possible_min,
        possible_max=_most_possible(filled),
        stopped=_joined_stopped(found),
        step=first.step,
    )


def _of_all(which: Callable[[list[int]], int], found: Sequence[int | None]) -> int | None:
    """The extreme of all parts; None where one of them does not know its own."""
    known = [one for one in found if one is not None]
    return which(known) if len(known) == len(found) else None


def _deviation(found: Sequence[Series], mean: float | None, count: int) -> float | None:
    """The deviation of a sample: the squares within each part, and those between their means. None
    where a part of several values does not know its own."""
    lacks = any(one.stddev is None and one.count > 1 for one in found)
    if count < 2 or mean is None or lacks:
        return None
    within = _sum((one.count - 1) * _square(one.stddev or 0.0) for one in found)
    between = _sum(one.count * _square((one.mean or 0.0) - mean) for one in found)
    return sqrt((within + between) / (count - 1))


def _square(value: float) -> float:
    return value * value


def _sum(values: Iterable[float]) -> float:
    """The exact sum; infinite where figures of a damaged document are too large for one."""
    try:
        return fsum(values)
    except (OverflowError, ValueError):
        return inf


@dataclass(frozen=True)
class Join:
    """At `at_ns` a recording was resumed; nothing was recorded for `gap_ns` (None: not known)."""

    at_ns: int
    gap_ns: int | None


def joins_of(result: Result) -> list[Join]:
    """The joins of a result, in their order."""
    found = []
    for event in result.events:
        at_ns = event.data.get("at_ns", event.at_ns)
        gap_ns = event.data.get("gap_ns")
        if event.name == event_names.JOINED and isinstance(at_ns, int):
            found.append(Join(at_ns, gap_ns if isinstance(gap_ns, int) else None))
    return sorted(found, key=lambda one: one.at_ns)


_OF = "of_parts"  # in the data of an event: "1", "1, 2"
_MARKS = (JOINED, NEW_PART, NOT_RESUMED)
_LONGEST, _MOST_EVENT_DATA = 65_000, 63  # a document may hold little more
_WORST = "parts_worst"  # the one with a moment that is the worst of its part only


def _joined_events(
    first: Sequence[Event], mark: Event, later: Sequence[Event], number: int
) -> list[Event]:
    """`later`, the events of part `number`, after those of the parts before it and `mark`.

    One that both have, in the same words and figures, is kept once.
    """
    found = [_event_of_parts(event, "1") if number == 2 else event for event in first]
    places = {_event_key(event): place for place, event in enumerate(found) if _OF in event.data}
    added = [mark]
    for event in later:
        named = _event_of_parts(event, str(number))
        place = places.get(_event_key(named)) if _OF in named.data else None
        if place is None:
            added.append(named)
        else:
            found[place] = _event_of_parts(_bare(named), f"{found[place].data[_OF]}, {number}")
    return [*found, *added]


def _event_of_parts(event: Event, parts: str) -> Event:
    """What has a moment lies in its part; what has none speaks of all of it."""
    has_moment = event.at_ns is not None and event.name != _WORST
    is_full = len(event.text) > _LONGEST or len(event.data) >= _MOST_EVENT_DATA
    if has_moment or is_full or event.name in _MARKS:
        return event
    return msgspec.structs.replace(
        event, text=f"{_head(parts)}{event.text}", data={**event.data, _OF: parts}
    )


def _bare(event: Event) -> Event:
    data = {name: value for name, value in event.data.items() if name != _OF}
    text = event.text.removeprefix(_head(str(event.data[_OF])))
    return msgspec.structs.replace(event, text=text, data=data)


def _head(parts: str) -> str:
    return f"part{'s' if ', ' in parts else ''} {parts}: "


def _event_key(event: Event) -> tuple[object, ...]:
    if _OF not in event.data:
        return ()
    bare = _bare(event)
    return bare.name, bare.text, bare.at_ns, repr(sorted(bare.data.items()))


Timed = TypeVar("Timed", Event, Interval, Trace)
_MOST_TIMED = 1 << 12  # of each kind, as a stream may have
_MOST_WINDOWS = 1 << 13
_MOST_DATA = 63  # of a table; a document may hold one more
_LEVELS = ("load_average_1min_milli",)  # no counters: those of the latest part


def joined_results(first: Result, second: Result, shift_ns: int, mark: Event) -> Result:
    """`second`, which began `shift_ns` after `first`, added to it, with the event `mark` between.

    What only one of both knows (a recording that was cut off has no counters and no load) is that
    of one part; the text of `mark` says so. `duration_ns` is the time that was recorded, without
    the gap.
    """
    number = 2 + sum(event.name == JOINED for event in first.events)  # of parts, from 1
    ends = first if first.status == "failed" and first.complete else second
    reason = first.reason if ends is first else second.reason
    if ends is second and reason:
        reason = f"part {number}: {reason}"
    kept = Result(
        test=first.test,
        status=ends.status,
        reason=reason,
        remedy=ends.remedy,
        command=ends.command,
        complete=second.complete,
        interrupted=second.interrupted,
        params=first.params,
        calibrated=first.calibrated | second.calibrated,
        conditions=first.conditions,
        started_utc=first.started_utc,
        duration_ns=first.duration_ns + second.duration_ns,
        verdicts=[*first.verdicts, *second.verdicts],
        instrument=_instrument(first.instrument, second.instrument),
        environment=_counters(first, second),
        load=_load(first, second),
        started_uptime_ns=first.started_uptime_ns,
        foreign_count=first.foreign_count + second.foreign_count,
        foreign_lines=first.foreign_lines or second.foreign_lines,
    )
    kept.series = _series(first, second, shift_ns)
    kept.events = _joined_events(first.events, mark, _shifted(second.events, shift_ns), number)
    kept.intervals = _intervals(first, second, shift_ns, kept)
    later_windows = [
        msgspec.structs.replace(one, begin_ns=one.begin_ns + shift_ns, end_ns=one.end_ns + shift_ns)
        for one in second.windows
    ]
    kept.windows = [*first.windows, *later_windows][:_MOST_WINDOWS]
    kept.noise = [*first.noise, *second.noise]
    kept.tables = [*first.tables, *_tables_of_part(second.tables, number)][:MOST_TABLES]
    traces = [*first.traces, *_shifted(second.traces, shift_ns)]
    kept.traces = traces if len(traces) <= _MOST_TIMED else _of_worst(traces, kept)
    return kept


def _series(first: Result, second: Result, shift_ns: int) -> list[Series]:
    """Each series of either, joined by name and labels."""
    later = {_series_key(one): one for one in second.series}
    found = []
    for one in first.series:
        other = later.pop(_series_key(one)) if _series_key(one) in later else empty_like(one)
        found.append(joined_series(one, other, shift_ns))
    found += [joined_series(empty_like(one), one, shift_ns) for one in later.values()]
    return found


def _series_key(series: Series) -> tuple[str, tuple[tuple[str, int | str], ...]]:
    return series.name, tuple(sorted(series.labels.items()))


def _shifted(found: Sequence[Timed], shift_ns: int) -> list[Timed]:
    return [
        one if one.at_ns is None else msgspec.structs.replace(one, at_ns=one.at_ns + shift_ns)
        for one in found
    ]


def _tables_of_part(tables: Sequence[Table], number: int) -> list[Table]:
    """The times of a table count from moments of its own part: it is not shifted, but names it."""
    return [
        msgspec.structs.replace(one, data={"part": number, **one.data})
        if len(one.data) <= _MOST_DATA
        else one
        for one in tables
    ]


def _counters(first: Result, second: Result) -> dict[str, int]:
    """Sums; a sum of one part only is a lower bound, and better than nothing."""
    added = dict(first.environment)
    for name, value in second.environment.items():
        added[name] = value if name in _LEVELS else added.get(name, 0) + value
    return added


def _load(first: Result, second: Result) -> list[LoadReached]:
    """The mean of each element over the time recorded, and the lowest loader of any part."""
    later = {one.element: one for one in second.load}
    found = []
    for one in first.load:
        other = later.pop(one.element, None)
        found.append(one if other is None else _mean_load(one, first, other, second))
    return [*found, *later.values()]


def _mean_load(one: LoadReached, first: Result, other: LoadReached, second: Result) -> LoadReached:
    total_ns = first.duration_ns + second.duration_ns
    share = second.duration_ns / total_ns if total_ns > 0 else 0.5
    lowest = [value.least for value in (one, other) if value.least is not None]
    names = {**one.counters, **other.counters}
    return msgspec.structs.replace(
        one,
        reached=one.reached + (other.reached - one.reached) * share,
        least=min(lowest) if len(lowest) == 2 else None,
        counters={name: one.counters.get(name, 0) + other.counters.get(name, 0) for name in names},
    )


def _instrument(first: Instrument | None, second: Instrument | None) -> Instrument | None:
    """The instrument that is not trusted, if one is."""
    known = [one for one in (first, second) if one is not None]
    return next((one for one in known if not one.trusted), known[0] if known else None)


def _intervals(first: Result, second: Result, shift_ns: int, kept: Result) -> list[Interval]:
    """Single seconds as they are; for each CPU the sums over the whole measurement, added."""
    singles = [one for one in first.intervals if not one.whole]
    singles += _shifted([one for one in second.intervals if not one.whole], shift_ns)
    if len(singles) > _MOST_TIMED:
        singles = _of_worst(singles, kept)
    wholes: dict[int | None, Interval] = {}
    for one in (*first.intervals, *second.intervals):
        if one.whole:
            before = wholes.get(one.cpu)
            wholes[one.cpu] = one if before is None else _added(before, one)
    return [*singles, *wholes.values()]


def _added(before: Interval, one: Interval) -> Interval:
    both = before.counters.keys() & one.counters.keys()
    is_same = before.busiest == one.busiest
    return msgspec.structs.replace(
        before,
        span_ns=before.span_ns + one.span_ns,
        busiest=before.busiest if is_same else None,
        counters={
            name: before.counters[name] + one.counters[name]
            for name in sorted(both)
            if is_same or name != "busiest_count"
        },
    )


def _of_worst(found: list[Timed], kept: Result) -> list[Timed]:
    """Those that contain a worst value that is still kept."""
    at = [worst.at_ns for series in kept.series for worst in series.worst]
    near = []
    for one in found:
        begin_ns = one.at_ns or 0
        span_ns = one.span_ns if isinstance(one, Interval) else 0
        if any(begin_ns <= moment <= begin_ns + span_ns for moment in at):
            near.append(one)
    return near[-_MOST_TIMED:]


class JoinedPoints(NamedTuple):
    """Planned tests and results in the same order, then the tests that have no result.

    `parts` are the parts before; the points of the new one begin at `place`, None: it has none.
    """

    tests: list[PlannedTest]
    results: list[Result]
    parts: list[Part]
    place: int | None


class _Pair(NamedTuple):
    planned: PlannedTest
    result: Result


def joined_points(
    whole: RunDocument, part: RunDocument, parts: Sequence[Part], why_apart: str | None
) -> JoinedPoints:
    """The points of `whole`, then those of `part`. A point that was cut off and then begun again
    is there once, and nothing that was skipped. `why_apart`: why the figures are of two systems."""
    later = [one for one in _pairs(part) if one.result.status != "skipped"]
    again = {_point_key(one.planned) for one in later}
    kept: list[_Pair] = []
    places: list[int] = []
    for one in _pairs(whole):
        places.append(len(kept))
        if one.result.status == "skipped":
            continue
        if is_whole(one.result) or _point_key(one.planned) not in again:
            kept.append(one)
    if later and why_apart is not None:
        later[0] = _Pair(later[0].planned, _as_new_part(later[0].result, part.id, why_apart))
    joined = [*kept, *later]
    cut = {_point_key(one.planned) for one in joined if not is_whole(one.result)}
    skipped = [one.planned for one in _pairs(part) if one.result.status == "skipped"]
    left = [*skipped, *part.plan.tests[len(part.results) :]]
    return JoinedPoints(
        tests=[
            *(one.planned for one in joined),
            *(one for one in left if _point_key(one) not in cut),
        ],
        results=[one.result for one in joined],
        parts=[_placed(one, places, len(kept)) for one in parts],
        place=len(kept) if later else None,
    )


def is_whole(result: Result) -> bool:
    """Whether a point was measured, or refused, to its end."""
    return result.complete and not result.interrupted and result.status != "skipped"


def _pairs(document: RunDocument) -> list[_Pair]:
    return [_Pair(*one) for one in zip(document.plan.tests, document.results, strict=False)]


def unmeasured_tests(document: RunDocument) -> list[PlannedTest]:
    """The tests that were planned and not measured to their end, each once."""
    cut = [one.planned for one in _pairs(document) if not is_whole(one.result)]
    tests = [*cut, *document.plan.tests[len(document.results) :]]
    return list({_point_key(one): one for one in tests}.values())


def _point_key(planned: PlannedTest) -> tuple[object, ...]:
    """What makes two measurements the same point."""
    params = tuple(sorted((name, str(value)) for name, value in planned.params.items()))
    return planned.test, planned.load, planned.cpu_config, params


def _placed(part: Part, places: Sequence[int], end: int) -> Part:
    """`part` with the place where its first result is now."""
    if part.result is None:
        return part
    place = places[part.result] if 0 <= part.result < len(places) else end
    return msgspec.structs.replace(part, result=place if place < end else None)


def _as_new_part(result: Result, part: str, why: str) -> Result:
    mark = Event(name=NEW_PART, text=f"a new part: {why}", data={"part": part, "reason": why})
    return msgspec.structs.replace(result, events=[mark, *result.events])


_NONE = "none"
_SOURCES = frozenset({"tracepoints", "timerlat"})


def _other_tracing(was: Result, now: Result) -> str:
    """What traced only `was`, or only `now`, in words; empty where it was the same, or is not known
    of both."""
    one, other = _sources(was), _sources(now)
    if one and other and not one & other:
        return (
            f"the source of the parts changed from {_source_names(one)} to {_source_names(other)}"
        )
    if _is_traced(was) != _is_traced(now):
        words = "on before and is off now" if _is_traced(was) else "off before and is on now"
        return f"--trace was {words}"
    return ""


def _sources(result: Result) -> frozenset[str]:
    """The sources that may have shown the parts; empty: not known.

    The probe says at the end which one it was, and before it measures that there is none. A
    recording that was cut off had one if it has values of the parts.
    """
    sources = {_NONE for event in result.events if event.name == PARTS_NOT_SEEN}
    sources |= {
        str(event.data.get("source")) for event in result.events if event.name == PARTS_SEEN
    }
    if sources:
        return frozenset(sources)
    asked = str(result.params.get("parts", ""))
    if any(one.count and one.labels.get("part", "total") != "total" for one in result.series):
        return frozenset({asked} & _SOURCES or _SOURCES)
    return frozenset({_NONE} if asked == _NONE else ())


def _is_traced(result: Result) -> bool:
    """The event comes before memory is locked: a recording that was cut off has it too."""
    return any(event.name == TRACED for event in result.events)


def _source_names(sources: frozenset[str]) -> str:
    return " or ".join(sorted(sources))


Facts = Mapping[str, Scalar]
_BOOT = "os.boot_id"
_MACHINE = (
    "machine.arch",
    "machine.cpu_model",
    "machine.product",
    "machine.board",
    "machine.node",
    "virtual.hypervisor",
)
_KERNEL = ("kernel.name", "kernel.release", "kernel.version", "kernel.cmdline")
_CONDITIONS = (
    "load",
    "cpu_config",
    "cpu",
    "policy",
    "priority",
    "clock",
    "memory_locked",
    "realtime",
    "dma_latency_us",
)


def measured_ns(document: RunDocument) -> int:
    """The time that all parts have recorded."""
    return sum(result.duration_ns for result in document.results)


def parts_of(document: RunDocument) -> list[Part]:
    """The parts of a run; one that was never resumed is one part."""
    if document.parts:
        return document.parts
    results = document.results[:1]
    place = 0 if results and _has_values(results[0]) else None
    return [_part(document, results[0] if results else None, place, document.system)]


def joined_run(whole: RunDocument, part: RunDocument) -> RunDocument:
    """`whole` with the run `part`, which resumed it; `whole` itself if it holds the part already.

    Pure: recovery after a crash gives what the tool would have given.
    """
    parts = parts_of(whole)
    if part.id in {one.id for one in parts}:
        return whole
    if whole.plan.sweep is not None:
        return _joined_sweep(whole, part, parts)
    results = list(whole.results)
    place = _place(results, parts, whole, part)
    result = part.results[0] if part.results else None
    later = _part(part, result, place, whole.system)
    added = _grown(whole, part, [*parts, later], results)
    if place is None and part.status == "complete":
        added.status = "incomplete"
    for one in added.results:
        mark_breach(one, whole.plan.watched_ns)
    added.trust = grade_run(added)
    return added


def _joined_sweep(whole: RunDocument, part: RunDocument, parts: list[Part]) -> RunDocument:
    """Points are added and never pooled: each has its own begin."""
    why = _why_other_system(_facts_of(parts[-1], whole), part.system)
    found = joined_points(whole, part, parts, why)
    first = part.results[0] if part.results else None
    later = _part(part, first, found.place, whole.system)
    added = _grown(whole, part, [*found.parts, later], found.results)
    added.plan = msgspec.structs.replace(whole.plan, tests=found.tests)
    added.trust = grade_run(added)
    return added


def _grown(
    whole: RunDocument, part: RunDocument, parts: list[Part], results: list[Result]
) -> RunDocument:
    return msgspec.structs.replace(
        whole,
        results=results,
        parts=parts,
        status=part.status,
        finished_utc=part.finished_utc,
        instrument=whole.instrument or part.instrument,
        descriptors=whole.descriptors or part.descriptors,
        environment_moved=[
            *whole.environment_moved,
            *environment_moved(_facts_of(parts[-2], whole), part.system),
            *part.environment_moved,
        ],
        clock_check=_clock_check(whole.clock_check, part.clock_check),
        advice=part.advice or whole.advice,
    )


def _place(
    results: list[Result], parts: list[Part], whole: RunDocument, part: RunDocument
) -> int | None:
    """Puts the result of `part` into `results`: its place, or None if it recorded nothing."""
    if not part.results or not _has_values(part.results[0]):
        said = part.results[0].reason if part.results else None
        text = f"it was resumed, but recorded nothing: {said or 'no reason given'}"
        if results:
            mark = Event(name=NOT_RESUMED, text=text, data={"part": part.id})
            results[-1] = msgspec.structs.replace(results[-1], events=[*results[-1].events, mark])
        else:
            results += part.results[:1]
        return None
    result = part.results[0]
    filled = [one for one in parts if one.result is not None]
    if not filled:
        results[:] = [result]
        return 0
    boot = part.system.get(_BOOT)
    before = filled[-1]
    if boot is not None:
        same = [one for one in filled if _facts_of(one, whole).get(_BOOT) == boot]
        before = same[-1] if same else before
    place = before.result or 0
    why = _why_apart(before, whole, part)
    if why is None:
        first = next(one for one in filled if one.result == place)
        mark = _join_mark(before, first, part, results[place])
        results[place] = joined_results(results[place], result, mark.at_ns or 0, mark)
        return place
    results.append(_as_new_part(result, part.id, why))
    return len(results) - 1


def _join_mark(before: Part, first: Part, part: RunDocument, result: Result) -> Event:
    """The event at the begin of `part`, on the time line of the result that it is joined to."""
    later = part.results[0]
    begin_ns = (later.started_uptime_ns or 0) - (first.started_uptime_ns or 0)
    end_ns = (before.started_uptime_ns or 0) + before.duration_ns - (first.started_uptime_ns or 0)
    gap_ns = begin_ns - end_ns
    text = f"resumed; nothing was recorded for {_span(gap_ns)}"
    if before.uncertainty_ns:
        recorded = min(before.uncertainty_ns, gap_ns)
        text += f", except perhaps the first {_span(recorded)} before it was cut off"
    unknown = []
    if bool(result.environment) != bool(later.environment):
        unknown.append("counters of the kernel")
    if bool(result.load) != bool(later.load):
        unknown.append("the load reached")
    if unknown:
        text += f"; known for one part only: {', '.join(unknown)}"
    if _build(before.tool) != _build(part.tool):
        text += (
            f"; the tool changed: {_probe_name(before.tool)} before, {_probe_name(part.tool)} now"
        )
    return Event(
        name=JOINED,
        at_ns=begin_ns,
        text=text,
        data={
            "gap_ns": gap_ns,
            "uncertainty_ns": before.uncertainty_ns,
            "ended_at_ns": end_ns,
            "part": part.id,
            "has_other_tool": _build(before.tool) != _build(part.tool),
        },
    )


def _span(span_ns: int) -> str:
    return format_ns(span_ns) if span_ns < 100 * 10**9 else format_span(span_ns)


def _why_apart(before: Part, whole: RunDocument, part: RunDocument) -> str | None:
    """Why `part` cannot be joined to `before`."""
    later = part.results[0]
    why = _why_other_system(_facts_of(before, whole), part.system)
    if why is not None:
        return why
    if before.started_uptime_ns is None or later.started_uptime_ns is None:
        return "its start on the boot-time clock is unknown"
    if later.started_uptime_ns < before.started_uptime_ns + before.duration_ns:
        return "the boot-time clock went back: an earlier state of the machine was restored"
    earlier = whole.results[before.result or 0]
    changed = _other_conditions(earlier.conditions, later.conditions)
    changed = changed or _other_tracing(earlier, later)
    return f"other conditions: {changed}" if changed else None


def _why_other_system(was: Facts, now: Facts) -> str | None:
    """Why figures of both are of two systems: another machine, or another boot of it."""
    other = _difference(was, now, _MACHINE)
    if other:
        return f"another machine: {other}"
    if was.get(_BOOT) is None or now.get(_BOOT) is None:
        return "it is not known whether this is the same boot of the same machine"
    if was[_BOOT] != now[_BOOT]:
        kernel = _difference(was, now, _KERNEL)
        return f"the machine was rebooted{': ' if kernel else ''}{kernel}"
    return None


def other_machine(was: Facts, now: Facts) -> str:
    """The first fact of machine or kernel that both know and that differs, in words; "": none."""
    return _difference(was, now, _MACHINE + _KERNEL)


def _difference(was: Facts, now: Facts, names: tuple[str, ...]) -> str:
    """The first fact that both know and that differs, in words."""
    for name in names:
        if name in was and name in now and was[name] != now[name]:
            return f"{name} changed from {was[name]} to {now[name]}"
    return ""


def _other_conditions(was: Conditions, now: Conditions) -> str:
    """The first condition that both know and that differs, in words."""
    for name in _CONDITIONS:
        one, other = getattr(was, name), getattr(now, name)
        if one is not None and other is not None and one != other:
            return f"{name} changed from {one} to {other}"
    return ""


def _facts_of(part: Part, whole: RunDocument) -> dict[str, Scalar]:
    return whole.system | part.system


def _part(document: RunDocument, result: Result | None, place: int | None, known: Facts) -> Part:
    duration_ns = result.duration_ns if result is not None else 0
    if document.plan.sweep is not None:
        duration_ns = measured_ns(document)
    names = {*document.system, *known}
    return Part(
        id=document.id,
        result=place,
        started_utc=document.started_utc,
        started_uptime_ns=result.started_uptime_ns if result is not None else None,
        duration_ns=duration_ns,
        uncertainty_ns=_uncertainty_ns(result),
        tool=document.tool,
        system={
            name: document.system.get(name)
            for name in sorted(names)
            if document.system.get(name) != known.get(name)
        },
    )


def _uncertainty_ns(result: Result | None) -> int:
    """The length of a recording that was cut off is known in whole intervals of its maxima."""
    if result is None or result.complete:
        return 0
    return max((one.maxima_interval_ns for one in result.series if one.maxima_per_s), default=0)


def _has_values(result: Result) -> bool:
    return any(series.count for series in result.series)


def _build(tool: Tool) -> tuple[str | None, ...]:
    return tool.version, tool.probe_version, tool.probe_sha256


def _probe_name(tool: Tool) -> str:
    digest = (tool.probe_sha256 or "not known")[:12]
    return f"{tool.version} with probe {tool.probe_version or 'not known'} ({digest})"


def _clock_check(first: ClockCheck | None, second: ClockCheck | None) -> ClockCheck | None:
    """The check over both spans; None where one was not checked against another clock."""
    if first is None or second is None:
        return None
    return ClockCheck(
        host_ns=first.host_ns + second.host_ns,
        target_ns=first.target_ns + second.target_ns,
        uncertainty_ns=first.uncertainty_ns + second.uncertainty_ns,
    )
