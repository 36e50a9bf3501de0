"""Two recordings of one test, the second resumed after a gap, as one result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import msgspec

from hardstone.model import (
    MOST_TABLES,
    Event,
    Instrument,
    Interval,
    LoadReached,
    Result,
    Series,
    Table,
    Trace,
    Window,
)
from hardstone.stats.joined_events import joined_events, of_part, part_after
from hardstone.stats.joined_series import empty_like, joined_series

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
    number = part_after(first)
    ends = first if first.status == "failed" and first.complete else second
    kept = Result(
        test=first.test,
        status=ends.status,
        reason=of_part(second.reason, number) if ends is second else first.reason,
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
    kept.events = joined_events(first.events, mark, _shifted(second.events, shift_ns), number)
    kept.intervals = _intervals(first, second, shift_ns, kept)
    windows = [*first.windows, *_shifted_windows(second.windows, shift_ns)]
    kept.windows = windows[:_MOST_WINDOWS]
    kept.noise = [*first.noise, *second.noise]
    kept.tables = [*first.tables, *_tables_of_part(second.tables, number)][:MOST_TABLES]
    traces = [*first.traces, *_shifted(second.traces, shift_ns)]
    kept.traces = traces if len(traces) <= _MOST_TIMED else _of_worst(traces, kept)
    return kept


def unknown_of_one(first: Result, second: Result) -> list[str]:
    """What is known of one of both only, in words."""
    pairs = (("counters of the kernel", "environment"), ("the load reached", "load"))
    return [
        words for words, name in pairs if bool(getattr(first, name)) != bool(getattr(second, name))
    ]


def _series(first: Result, second: Result, shift_ns: int) -> list[Series]:
    """Each series of either, joined by name and labels."""
    later = {_key(one): one for one in second.series}
    found = []
    for one in first.series:
        other = later.pop(_key(one)) if _key(one) in later else empty_like(one)
        found.append(joined_series(one, other, shift_ns))
    found += [joined_series(empty_like(one), one, shift_ns) for one in later.values()]
    return found


def _key(series: Series) -> tuple[str, tuple[tuple[str, int | str], ...]]:
    return series.name, tuple(sorted(series.labels.items()))


def _shifted(found: Sequence[Timed], shift_ns: int) -> list[Timed]:
    return [
        one if one.at_ns is None else msgspec.structs.replace(one, at_ns=one.at_ns + shift_ns)
        for one in found
    ]


def _shifted_windows(windows: Sequence[Window], shift_ns: int) -> list[Window]:
    return [
        msgspec.structs.replace(one, begin_ns=one.begin_ns + shift_ns, end_ns=one.end_ns + shift_ns)
        for one in windows
    ]


def _tables_of_part(tables: Sequence[Table], number: int) -> list[Table]:
    """Their times count from moments of their own part, so they are not shifted but named."""
    return [
        msgspec.structs.replace(one, data={"part": number, **one.data})
        if len(one.data) <= _MOST_DATA
        else one
        for one in tables
    ]


def _counters(first: Result, second: Result) -> dict[str, int]:
    """Sums; a sum of one part only is a lower bound, and better than no word of it."""
    added = dict(first.environment)
    for name, value in second.environment.items():
        added[name] = value if name in _LEVELS else added.get(name, 0) + value
    return added


def _load(first: Result, second: Result) -> list[LoadReached]:
    """Of each element the mean over the time recorded, and the lowest loader of any part."""
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
    """The one that is not trusted, if any is."""
    known = [one for one in (first, second) if one is not None]
    return next((one for one in known if not one.trusted), known[0] if known else None)


def _intervals(first: Result, second: Result, shift_ns: int, kept: Result) -> list[Interval]:
    """Single seconds as they are; the sums over the whole measurement are added for each CPU."""
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
    """Those in which a worst value lies that is still kept."""
    at = [worst.at_ns for series in kept.series for worst in series.worst]
    near = []
    for one in found:
        begin_ns = one.at_ns or 0
        span_ns = one.span_ns if isinstance(one, Interval) else 0
        if any(begin_ns <= moment <= begin_ns + span_ns for moment in at):
            near.append(one)
    return near[-_MOST_TIMED:]
