"""A run and a part of it that was recorded later, as one run.

The clock that counts from boot joins them, never that of the wall. Where both do not share a boot,
a machine and conditions, the part keeps a result of its own.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from hardstone.event_names import JOINED, NEW_PART, NOT_RESUMED
from hardstone.model import (
    ClockCheck,
    Conditions,
    Event,
    Part,
    Result,
    RunDocument,
    Scalar,
    Tool,
)
from hardstone.stats.joined_results import joined_results, unknown_of_one
from hardstone.stats.joined_sweep import joined_points
from hardstone.stats.moved import environment_moved
from hardstone.stats.tracing import other_tracing
from hardstone.stats.trust import grade_run
from hardstone.stats.watched import mark_breach
from hardstone.units import format_ns, format_span

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
    """Points are added and never pooled: each has a begin of its own."""
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
    """Puts the result of `part` into `results`: the place, or None if it recorded nothing."""
    if not part.results or not _has_values(part.results[0]):
        said = part.results[0].reason if part.results else None
        text = f"it was resumed and recorded nothing: {said or 'no reason given'}"
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
    before = next((one for one in reversed(filled) if _is_same_boot(one, whole, part)), filled[-1])
    place = before.result or 0
    why = _why_apart(before, whole, part)
    if why is None:
        first = next(one for one in filled if one.result == place)
        mark = _join_mark(before, first, part, results[place])
        results[place] = joined_results(results[place], result, mark.at_ns or 0, mark)
        return place
    mark = Event(name=NEW_PART, text=f"a new part: {why}", data={"part": part.id, "reason": why})
    results.append(msgspec.structs.replace(result, events=[mark, *result.events]))
    return len(results) - 1


def _join_mark(before: Part, first: Part, part: RunDocument, result: Result) -> Event:
    """The event at the begin of `part`, on the time line of the result that it is joined to."""
    later = part.results[0]
    begin_ns = (later.started_uptime_ns or 0) - (first.started_uptime_ns or 0)
    end_ns = (before.started_uptime_ns or 0) + before.duration_ns - (first.started_uptime_ns or 0)
    gap_ns = begin_ns - end_ns
    text = f"resumed: nothing is known of {_span(gap_ns)}"
    if before.uncertainty_ns:
        recorded = min(before.uncertainty_ns, gap_ns)
        text += f", the first {_span(recorded)} of which may be recorded: it was cut off"
    unknown = unknown_of_one(result, later)
    if unknown:
        text += f"; of one part only: {', '.join(unknown)}"
    if _build(before.tool) != _build(part.tool):
        text += f"; the tool changed: {_named(before.tool)} before, {_named(part.tool)} now"
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
        return "when it began is not known on the clock that counts from boot"
    if later.started_uptime_ns < before.started_uptime_ns + before.duration_ns:
        return "the clock that counts from boot went back: an earlier state was restored"
    earlier = whole.results[before.result or 0]
    changed = _other_conditions(earlier.conditions, later.conditions)
    changed = changed or other_tracing(earlier, later)
    return f"other conditions: {changed}" if changed else None


def _why_other_system(was: Facts, now: Facts) -> str | None:
    """Why figures of both are of two systems: another machine, or another boot of it."""
    other = _difference(was, now, _MACHINE)
    if other:
        return f"another machine: {other}"
    if was.get(_BOOT) is None or now.get(_BOOT) is None:
        return "whether it is the same boot of the same machine is not known"
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
            return f"{name} was {was[name]}, is {now[name]}"
    return ""


def _other_conditions(was: Conditions, now: Conditions) -> str:
    """The first that both know and that differs."""
    for name in _CONDITIONS:
        one, other = getattr(was, name), getattr(now, name)
        if one is not None and other is not None and one != other:
            return f"{name} was {one}, is {other}"
    return ""


def _is_same_boot(one: Part, whole: RunDocument, part: RunDocument) -> bool:
    boot = part.system.get(_BOOT)
    return boot is not None and _facts_of(one, whole).get(_BOOT) == boot


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
    """A recording that was cut off tells its length in whole intervals of its maxima."""
    if result is None or result.complete:
        return 0
    return max((one.maxima_interval_ns for one in result.series if one.maxima_per_s), default=0)


def _has_values(result: Result) -> bool:
    return any(series.count for series in result.series)


def _build(tool: Tool) -> tuple[str | None, ...]:
    return tool.version, tool.probe_version, tool.probe_sha256


def _named(tool: Tool) -> str:
    digest = (tool.probe_sha256 or "not known")[:12]
    return f"{tool.version} with probe {tool.probe_version or 'not known'} ({digest})"


def _clock_check(first: ClockCheck | None, second: ClockCheck | None) -> ClockCheck | None:
    """Over both spans; None where one was not held against another clock."""
    if first is None or second is None:
        return None
    return ClockCheck(
        host_ns=first.host_ns + second.host_ns,
        target_ns=first.target_ns + second.target_ns,
        uncertainty_ns=first.uncertainty_ns + second.uncertainty_ns,
    )
