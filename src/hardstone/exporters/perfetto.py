"""The kernel's trace around the worst values of a run, for Perfetto's viewer and its SQL.

The file is a protobuf `perfetto.protos.Trace` as the library `perfetto` of its authors writes it
(0.59; protos/perfetto/trace). All times are those of the lines: CLOCK_MONOTONIC in ns.

Tasks are `GenericKernelTaskStateEvent`, which fill Perfetto's tables sched and thread_state as
ftrace events do. They state one task, and so no more than is known: an ftrace sched_switch would
need the state and name of both, which the probe does not keep, and a claim of what a task did
between two excerpts. There the CPU has a task named NOT_TRACED.

A wake-up whose waker is known is an ftrace event `sched_waking`. Perfetto takes the stamps of
ftrace for CLOCK_BOOTTIME, so the file has the distance of the two clocks, as the run began.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from hardstone.errors import InputError
from hardstone.exporters.exportable import WRONG, Held, LeftOut, of_other_time
from hardstone.exporters.kernel_trace import (
    ENDS,
    IDLE,
    INTERRUPTS,
    NO_PRIORITY,
    SECTIONS,
    SOFTIRQS,
    TIMERS,
    Change,
    Excerpt,
    changes_of,
    ended_by,
    is_understood,
    read_excerpt,
    spans_of,
    stretches_of,
)
from hardstone.exporters.registry import Exported, Wanted
from hardstone.model import Event, Interval, Result, RunDocument, Scalar, Series, Trace
from hardstone.stats.causes import Lateness, latenesses, task_before
from hardstone.stats.conditions import names_in
from hardstone.stats.consistency import is_contradictory
from hardstone.units import format_ns
from hardstone.wording import one_line, series_text, shorten

CATEGORY, PART_CATEGORY = "hardstone.worst", "hardstone.part"
NOT_TRACED = "not traced"
_PARTS = ("interrupt", "dispatch", "return")
_MOST_LINES = 200_000
_MOST = 2**63 - 1
_NO_TASK = 1 << 30  # above all ids of the kernel (at most 2**22); one for each CPU follows
_NO_PROCESS = (1 << 30) - 1
_PROCESS = "hardstone-probe (its process id is not recorded)"
_SEQUENCE = 1
_MONOTONIC, _BOOTTIME, _REALTIME = 3, 6, 1  # BuiltinClock
_SLICE_BEGIN, _SLICE_END, _INSTANT, _COUNTER = 1, 2, 3, 4  # TrackEvent.Type
_STATES = {"runnable": 2, "running": 3, "sleeping": 4, "blocked": 5, "stopped": 6}
_RUNNING, _SLEEPING = _STATES["running"], _STATES["sleeping"]

Values = Mapping[str, Scalar]


def export_perfetto(documents: Sequence[RunDocument], _: Wanted) -> Exported:
    """The traces of one run; InputError where it has none."""
    (document,) = documents
    measured = [_Measured.of(one) for one in document.results if one.traces]
    if not measured:
        cause = "the run has no trace of the kernel around its worst values"
        raise InputError(cause, "measure with hardstone latstat --trace")
    if sum(len(one.lines) for result in document.results for one in result.traces) > _MOST_LINES:
        raise InputError(
            f"the run has more than {_MOST_LINES} lines of the kernel's trace",
            "choose fewer results with --load or --cpu-config",
        )
    writer = _Writer()
    _write_clocks(writer, measured[0], document)
    _write_tasks(writer, measured)
    lost = of_other_time(document)
    left = LeftOut()
    for one in measured:
        for series in one.result.series:
            if is_contradictory(series):
                left.add(Held(one.result, series), WRONG)
        _write_result(writer, one, names_in(document).name(one.result), document.trust.grade)
        lost += one.lost
    lost += left.sentences()
    without = len(document.results) - len(measured)
    if without:
        lost.append(f"{without} {'result has' if without == 1 else 'results have'} no trace")
    return Exported(writer.content(), lost)


@dataclass
class _Measured:
    """A result with its excerpts. `offsets`: (time since the start of the measurement, what it is
    before CLOCK_MONOTONIC), of each trace by time; the parts of a resumed run may differ."""

    result: Result
    traces: list[Trace]
    excerpts: list[Excerpt]
    offsets: list[tuple[int, int]]
    lost: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, result: Result) -> _Measured:
        """InputError where no trace says when its value ended: then no time can be placed."""
        traces = sorted(result.traces, key=lambda one: one.at_ns)
        excerpts = [read_excerpt(one) for one in traces]
        offsets = []
        for trace, excerpt in zip(traces, excerpts, strict=True):
            ended = next((one.at_ns for one in excerpt.lines if one.text == ENDS), None)
            if ended is not None:
                offsets.append((trace.at_ns, ended - trace.at_ns))
        if not offsets:
            cause = f"no trace of {shorten(result.test)} says when its value ended"
            raise InputError(cause, "export a run that hardstone measured with --trace")
        found = cls(result, traces, excerpts, offsets)
        count = sum(one.not_understood for one in excerpts)
        if count:
            lines = "line is" if count == 1 else "lines are"
            found.lost.append(f"{count} {lines} not understood: kept as text")
        return found

    def clock(self, at_ns: int) -> int:
        """A time since the start of the measurement on CLOCK_MONOTONIC, by the nearest trace."""
        place = bisect_left(self.offsets, (at_ns, 0))
        near = self.offsets[max(place - 1, 0) : place + 1]
        return at_ns + min(near, key=lambda one: abs(one[0] - at_ns))[1]

    @property
    def end_ns(self) -> int:
        """After the measurement and all lines."""
        lines = (one.at_ns for excerpt in self.excerpts for one in excerpt.lines)
        return max(self.clock(self.result.duration_ns), *lines) + 1000


class _Writer:
    """A trace being written. A track is made by its name and parent, when it is first used."""

    def __init__(self) -> None:
        from perfetto.protos.perfetto.trace import perfetto_trace_pb2

        self._trace: Any = perfetto_trace_pb2.Trace()
        self._track_count = 0
        self._is_first = True

    def content(self) -> bytes:
        content: bytes = self._trace.SerializeToString(deterministic=True)
        return content

    def packet(self, at_ns: int | None = None) -> Any:
        packet = self._trace.packet.add()
        packet.trusted_packet_sequence_id = _SEQUENCE
        if self._is_first:
            packet.sequence_flags = 1  # SEQ_INCREMENTAL_STATE_CLEARED
            self._is_first = False
        if at_ns is not None:
            packet.timestamp = _within(at_ns)
            packet.timestamp_clock_id = _MONOTONIC
        return packet

    def track(self, name: str, parent: int = 0, counter_unit: str = "") -> int:
        """A new track. Perfetto shows tracks of the same name and parent as one, and what overlaps
        on them one below the other."""
        descriptor = self._new_track()
        descriptor.name = name
        if parent:
            descriptor.parent_uuid = parent
        if counter_unit:
            descriptor.counter.unit_name = counter_unit
        return self._track_count

    def thread_track(self, tid: int, name: str) -> int:
        """The track of a task, which Perfetto joins with its states."""
        descriptor = self._new_track()
        descriptor.thread.pid = _NO_PROCESS
        descriptor.thread.tid = tid
        if name:
            descriptor.thread.thread_name = name
        return self._track_count

    def process(self, name: str) -> None:
        descriptor = self._new_track()
        descriptor.process.pid = _NO_PROCESS
        descriptor.process.process_name = name

    def _new_track(self) -> Any:
        self._track_count += 1
        descriptor = self.packet().track_descriptor
        descriptor.uuid = self._track_count
        return descriptor

    def slice(
        self,
        track: int,
        name: str,
        begin_ns: int,
        end_ns: int | None,
        values: Values | None = None,
        *,
        category: str = "hardstone",
        within: Iterable[tuple[str, int, int]] = (),
    ) -> None:
        """A slice, with slices `within` it (name, begin, end); an instant without `end_ns`."""
        kind = _INSTANT if end_ns is None else _SLICE_BEGIN
        event = self._event(track, begin_ns, kind)
        event.name, event.categories[:] = name, [category]
        for key, value in (values or {}).items():
            if value is not None:
                _annotate(event.debug_annotations.add(), key, value)
        for inner, inner_begin_ns, inner_end_ns in within:
            part = self._event(track, inner_begin_ns, _SLICE_BEGIN)
            part.name, part.categories[:] = inner, [PART_CATEGORY]
            self._event(track, inner_end_ns, _SLICE_END)
        if end_ns is not None:
            self._event(track, end_ns, _SLICE_END)

    def count(self, track: int, at_ns: int, value: int) -> None:
        self._event(track, at_ns, _COUNTER).counter_value = _within(value)

    def _event(self, track: int, at_ns: int, kind: int) -> Any:
        event = self.packet(at_ns).track_event
        event.type, event.track_uuid = kind, track
        return event


def _within(value: int) -> int:
    """`value` as Perfetto can hold it; damaged runs have larger ones."""
    return min(max(value, 0), _MOST)


def _annotate(annotation: Any, key: str, value: Scalar) -> None:
    annotation.name = one_line(key)
    if isinstance(value, bool):
        annotation.bool_value = value
    elif isinstance(value, int):
        annotation.int_value = value
    elif isinstance(value, float):
        annotation.double_value = value
    else:
        annotation.string_value = one_line(str(value))


# ---- clocks and tasks ----


def _write_clocks(writer: _Writer, first: _Measured, document: RunDocument) -> None:
    """Both clocks and the time of day when the first traced measurement began."""
    begin_ns = first.clock(0)
    boot_ns = first.result.started_uptime_ns
    snapshot = writer.packet().clock_snapshot
    snapshot.primary_trace_clock = _MONOTONIC
    known = {_MONOTONIC: begin_ns, _BOOTTIME: begin_ns if boot_ns is None else boot_ns}
    moment = _moment(first.result.started_utc or "")
    if moment is not None:
        known[_REALTIME] = moment
    for clock, at_ns in known.items():
        one = snapshot.clocks.add()
        one.clock_id, one.timestamp = clock, _within(at_ns)
    name = writer.packet().system_info.utsname
    release = document.system.get("kernel.release")
    name.sysname, name.release = "Linux", one_line(str(release or ""))
    name.machine = one_line(str(document.system.get("machine.arch") or ""))


def _moment(text: str) -> int | None:
    """A time of day in ns since 1970; None where it is none."""
    try:
        return int(datetime.fromisoformat(text).timestamp()) * 1_000_000_000
    except (ValueError, OverflowError):
        return None


def _write_tasks(writer: _Writer, measured: Sequence[_Measured]) -> None:
    """The tasks of all results: who ran, and who was woken by whom."""
    first = measured[0]
    boot_ns = first.result.started_uptime_ns
    from_boot_ns = 0 if boot_ns is None else boot_ns - first.clock(0)
    writer.process(_PROCESS)
    stretches = stretches_of(excerpt for one in measured for excerpt in one.excerpts)
    running: dict[int, int] = {}  # the task of each CPU
    for cpu in sorted({one.cpu for one in stretches}):
        _write_state(writer, first.clock(0), cpu, _not_traced(cpu))
        running[cpu] = _not_traced(cpu)
    for change in changes_of(stretches):
        _write_change(writer, change, running, from_boot_ns)
    end_ns = max(one.end_ns for one in measured)
    for cpu, tid in running.items():
        _write_state(writer, end_ns, cpu, tid, state=_SLEEPING)


def _not_traced(cpu: int) -> int:
    return _NO_TASK + cpu


def _write_change(
    writer: _Writer, change: Change, running: dict[int, int], from_boot_ns: int
) -> None:
    """A change, in view of whom each CPU was last seen to run."""
    at_ns, cpu = change.at_ns, change.cpu
    if change.waker is not None:
        if change.tid not in running.values():
            _write_waking(writer, change, change.waker, from_boot_ns)
    elif change.state in ("running", "unknown"):
        tid = change.tid if change.state == "running" else _not_traced(cpu)
        # Lost events may hide that a task left another CPU.
        elsewhere = [one for one, task in running.items() if task == tid != IDLE and one != cpu]
        for other in elsewhere:
            running[other] = _not_traced(other)
            _write_state(writer, at_ns - 1, other, running[other])
        if running.get(cpu) != tid:
            running[cpu] = tid
            _write_state(writer, at_ns, cpu, tid, change if change.state == "running" else None)
    else:
        if running.get(cpu) == change.tid:
            del running[cpu]
        _write_state(writer, at_ns, cpu, change.tid, change, state=_STATES[change.state])


def _write_state(
    writer: _Writer,
    at_ns: int,
    cpu: int,
    tid: int,
    change: Change | None = None,
    *,
    state: int = _RUNNING,
) -> None:
    event = writer.packet(at_ns).generic_kernel_task_state_event
    event.cpu, event.tid, event.state = cpu, tid, state
    if change is None:
        event.comm, event.prio = NOT_TRACED, NO_PRIORITY
    else:
        event.prio = change.priority
        if change.name:
            event.comm = one_line(change.name)


def _write_waking(writer: _Writer, change: Change, waker: int, from_boot_ns: int) -> None:
    bundle = writer.packet().ftrace_events
    bundle.cpu = change.cpu
    event = bundle.event.add()
    event.timestamp, event.pid = _within(change.at_ns + from_boot_ns), waker
    waking = event.sched_waking
    waking.comm, waking.pid, waking.prio = one_line(change.name), change.tid, change.priority


# ---- a result ----


def _write_result(writer: _Writer, measured: _Measured, name: str, trust: str) -> None:
    group = writer.track(one_line(f"hardstone: {name}"))
    _write_values(writer, measured, group)
    _write_measurement(writer, measured, group, trust)
    _write_intervals(writer, measured, group)
    for track, cpu, title, begin_ns, end_ns, text in _served(measured):
        place = writer.track(f"{track}, CPU {cpu}", group)
        writer.slice(place, title, begin_ns, end_ns, {"line": text})
    _write_lines(writer, measured, group)


def _write_measurement(writer: _Writer, measured: _Measured, group: int, trust: str) -> None:
    """The measurement as a slice, and its events. One without a time is a value of that slice."""
    result = measured.result
    values: dict[str, Scalar] = {"test": result.test, "status": result.status, "trust": trust}
    values |= {key: str(value) for key, value in result.params.items()}
    values |= {"load": result.conditions.load, "cpu_config": result.conditions.cpu_config}
    values |= {f"event {one.name}": one.text for one in result.events if one.at_ns is None}
    track = writer.track("measurement", group)
    end_ns = measured.clock(result.duration_ns)
    writer.slice(track, one_line(result.test), measured.clock(0), end_ns, values)
    for event in result.events:
        if event.at_ns is not None:
            at_ns = measured.clock(event.at_ns)
            track = writer.track("events", group)
            writer.slice(track, one_line(event.name), at_ns, None, _event_values(event))


def _event_values(event: Event) -> Values:
    kept = (bool, int, float, str)
    data = {key: value for key, value in event.data.items() if isinstance(value, kept)}
    return {"text": event.text, **data}


def _served(
    measured: _Measured,
) -> Iterator[tuple[str, int, str, int, int | None, str]]:
    order = (INTERRUPTS, SOFTIRQS, TIMERS, SECTIONS)
    spans = [span for one in stretches_of(measured.excerpts) for span in spans_of(one)]
    for one in sorted(spans, key=lambda span: (order.index(span.track), span.cpu, span.begin_ns)):
        yield one.track, one.cpu, one_line(one.name), one.begin_ns, one.end_ns, one.text


def _write_lines(writer: _Writer, measured: _Measured, group: int) -> None:
    """Each line of the kernel's trace as an instant with its text."""
    tracks: dict[int | None, int] = {}
    for trace, excerpt in zip(measured.traces, measured.excerpts, strict=True):
        for line in excerpt.lines:
            if line.cpu not in tracks:
                tracks[line.cpu] = writer.track(f"kernel trace, CPU {line.cpu}", group)
            values: Values = {"line": line.text, "understood": is_understood(line)}
            name = one_line(line.name or line.text)
            writer.slice(tracks[line.cpu], name, line.at_ns, None, values)
        for text in excerpt.unread:
            if None not in tracks:
                tracks[None] = writer.track("kernel trace, lines without a time", group)
            at_ns = measured.clock(trace.at_ns)
            values = {"line": text, "understood": False}
            writer.slice(tracks[None], shorten(text), at_ns, None, values)


# ---- worst values ----


def _write_values(writer: _Writer, measured: _Measured, group: int) -> None:
    """A slice for each worst value from its begin to its end, on the track of the task that ended
    it; one whose task is not known, or that overlaps the one before, is on a track of its CPU."""
    found = [one for one in latenesses(measured.result) if _is_whole(one.series)]
    by_thread: dict[int, tuple[int, int]] = {}  # track and end of the last slice
    for late in sorted(found, key=lambda one: one.worst.at_ns):
        end_ns = measured.clock(late.worst.at_ns)
        begin_ns = end_ns - late.worst.value_ns
        tid = _task_of(measured, late)
        track, before_ns = by_thread.get(tid, (0, 0)) if tid else (0, 0)
        if tid and not track:
            track = writer.thread_track(tid, "")
        if not tid or begin_ns < before_ns:
            cpu = "not known" if late.cpu is None else late.cpu
            track = writer.track(f"worst values, CPU {cpu}", group)
        else:
            by_thread[tid] = track, end_ns
        known = _known_parts(late, measured.result)
        writer.slice(
            track,
            f"{shorten(series_text(late.series, ()))} {format_ns(late.worst.value_ns)}",
            begin_ns,
            end_ns,
            {**_value_values(late, measured.result, tid), **_with_unit(known)},
            category=CATEGORY,
            within=_placed(known, begin_ns, end_ns),
        )


def _with_unit(known: Mapping[str, int]) -> Values:
    return {f"{part}_ns": value for part, value in known.items()}


def _is_whole(series: Series) -> bool:
    return series.labels.get("part", "total") == "total" and not is_contradictory(series)


def _task_of(measured: _Measured, late: Lateness) -> int | None:
    for trace, excerpt in zip(measured.traces, measured.excerpts, strict=True):
        if trace is late.trace:
            return ended_by(excerpt, late.cpu)
    return None


def _value_values(late: Lateness, result: Result, tid: int | None) -> Values:
    values: dict[str, Scalar] = {"value_ns": late.worst.value_ns, "at_ns": late.worst.at_ns}
    values |= {"test": result.test, "series": late.series.name, "index": late.worst.index}
    values |= {"cpu": late.cpu} if late.cpu is not None else {}
    values |= {"tid": tid} if tid is not None else {}
    values |= {"has_trace": late.trace is not None}
    before = task_before(late.worst, late.trace)
    if before is not None:
        values |= {"before": before.name, "before_tid": before.pid}
    for number, cause in enumerate(late.causes, start=1):
        seen = format_ns(cause.seen) if cause.is_time else str(cause.seen)
        values[f"cause {number}"] = f"{cause.kind}: {seen} in its second"
    return values


def _known_parts(late: Lateness, result: Result) -> dict[str, int]:
    """The parts of a value, of those that the series and events of the run have."""
    at_ns = late.worst.at_ns
    known: dict[str, int] = {}
    for series in result.series:
        part = str(series.labels.get("part", ""))
        if part in _PARTS and series.name == late.series.name and _is_at(series, late):
            known.update((part, one.value_ns) for one in series.worst if one.at_ns == at_ns)
    for event in result.events:
        if event.at_ns == at_ns and event.data.get("cpu") == late.cpu:
            of_event = ((part, event.data.get(f"{part}_ns")) for part in _PARTS)
            known.update((part, value) for part, value in of_event if isinstance(value, int))
    return known


def _placed(known: Mapping[str, int], begin_ns: int, end_ns: int) -> list[tuple[str, int, int]]:
    """Where the parts of a value lie: the first from its begin, the last up to its end, and the one
    between where either is known. None where they are longer than the value."""
    if sum(known.values()) > end_ns - begin_ns or min(known.values(), default=0) < 0:
        return []
    after = begin_ns + known["interrupt"] if "interrupt" in known else None
    before = end_ns - known["return"] if "return" in known else None
    found = []
    if after is not None:
        found.append(("interrupt", begin_ns, after))
    if "dispatch" in known and after is not None:
        found.append(("dispatch", after, after + known["dispatch"]))
    elif "dispatch" in known and before is not None:
        found.append(("dispatch", before - known["dispatch"], before))
    if before is not None:
        found.append(("return", before, end_ns))
    return found


def _is_at(series: Series, late: Lateness) -> bool:
    cpu = series.labels.get("cpu")
    return cpu is None or cpu == late.cpu


# ---- the kernel's counters of single seconds ----


def _write_intervals(writer: _Writer, measured: _Measured, group: int) -> None:
    """Each counted second with its counters, and the steal of each CPU as a counter: its mean in a
    counted second, elsewhere the mean of all that was not counted by itself."""
    of_cpu: dict[int | None, list[Interval]] = {}
    for one in measured.result.intervals:
        if one.span_ns > 0:
            of_cpu.setdefault(one.cpu, []).append(one)
    for cpu, found in of_cpu.items():
        place = "machine" if cpu is None else f"CPU {cpu}"
        listed = list({(one.at_ns, one.span_ns): one for one in found if not one.whole}.values())
        for one in listed:
            begin_ns = measured.clock(one.at_ns)
            values: Values = {**one.counters, "busiest": one.busiest}
            writer.slice(
                writer.track(f"counted seconds, {place}", group),
                f"steal {format_ns(one.counters['steal_ns'])}"
                if "steal_ns" in one.counters
                else "counters",
                begin_ns,
                begin_ns + one.span_ns,
                values,
            )
        steps = _steal_steps(found, listed)
        if steps:
            track = writer.track(f"steal, {place}", group, "ns per s")
            for at_ns, rate in steps:
                writer.count(track, measured.clock(at_ns), rate)


def _steal_steps(found: Sequence[Interval], listed: Sequence[Interval]) -> list[tuple[int, int]]:
    """Time and steal in ns of a second from there on; empty where the rest is not known."""
    wholes = [one for one in found if one.whole and "steal_ns" in one.counters]
    counted = sorted(
        (one for one in listed if "steal_ns" in one.counters), key=lambda one: one.at_ns
    )
    if not wholes or not counted:
        return []
    left_ns = sum(one.span_ns for one in wholes) - sum(one.span_ns for one in counted)
    left = sum(one.counters["steal_ns"] for one in wholes)
    left -= sum(one.counters["steal_ns"] for one in counted)
    rest = round(max(left, 0) * 1e9 / left_ns) if left_ns > 0 else 0
    steps = {one.at_ns: rest for one in wholes}
    for one in counted:
        steps.setdefault(one.at_ns + one.span_ns, rest)
    for one in counted:
        steps[one.at_ns] = round(one.counters["steal_ns"] * 1e9 / one.span_ns)
    return sorted(steps.items())
