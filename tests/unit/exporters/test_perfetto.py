"""The trace for Perfetto: what it claims of tasks, interrupts and worst values, and no more.

`traced-run.json` is a run of TMR-P-LAT under Debian's 6.1 PREEMPT_RT kernel in a guest (TCG, two
CPUs, load heavy). Its series are cut to their worst values.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace as PerfettoTrace

from hardstone.errors import InputError
from hardstone.exporters.perfetto import NOT_TRACED, export_perfetto
from hardstone.exporters.registry import Exported, Wanted, export, find_exporter
from hardstone.model import YEAR_NS, Event, Interval, Result, RunDocument, Trace, Worst
from tests.unit.stats import make, recorded
from tests.waiting import LONGEST_S

REAL = Path(__file__).parent / "traced-run.json"
PAGE = Path(__file__).parents[3] / "docs/how-to/look-at-a-spike.md"
START_NS = 812_000_000_000
STATES = {2: "runnable", 3: "running", 4: "sleeping", 5: "blocked", 6: "stopped"}


@dataclass
class Seen:
    """What a reader of the file finds. Times in ns, those of tasks since START_NS."""

    slices: dict[str, list[tuple[str, int, int | None]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    values: dict[str, dict[str, Any]] = field(default_factory=dict)
    counters: dict[str, list[tuple[int, int]]] = field(default_factory=lambda: defaultdict(list))
    tasks: list[tuple[int, int, str, str]] = field(default_factory=list)
    priorities: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    wakings: list[tuple[int, str, int]] = field(default_factory=list)
    clocks: dict[int, int] = field(default_factory=dict)


def read(exported: Exported) -> Seen:
    """Tracks by name, those of tasks "thread TID"."""
    trace = PerfettoTrace()
    trace.ParseFromString(exported.content)
    seen = Seen()
    names: dict[int, str] = {}
    stack: dict[int, list[tuple[str, int, int]]] = defaultdict(list)
    for packet in trace.packet:
        at_ns = packet.timestamp
        kind = packet.WhichOneof("data")
        if kind == "clock_snapshot":
            seen.clocks = {one.clock_id: one.timestamp for one in packet.clock_snapshot.clocks}
        elif kind == "track_descriptor":
            one = packet.track_descriptor
            names[one.uuid] = f"thread {one.thread.tid}" if one.HasField("thread") else one.name
        elif kind == "generic_kernel_task_state_event":
            one = packet.generic_kernel_task_state_event
            name = one.comm or str(one.tid)
            seen.tasks.append((at_ns - START_NS, one.cpu, name, STATES[one.state]))
            seen.priorities[name].add(one.prio)
        elif kind == "ftrace_events":
            (one,) = packet.ftrace_events.event
            assert one.HasField("sched_waking")
            seen.wakings.append((one.timestamp, one.sched_waking.comm, one.pid))
        elif kind == "track_event":
            read_event(seen, names, stack, at_ns, packet.track_event)
    assert not any(stack.values()), "a slice has no end"
    return seen


def read_event(seen: Seen, names: Any, stack: Any, at_ns: int, one: Any) -> None:
    track = names[one.track_uuid]
    if one.type == 4:
        seen.counters[track].append((at_ns, one.counter_value))
    elif one.type == 2:
        name, begin_ns, place = stack[one.track_uuid].pop()
        seen.slices[track][place] = (name, begin_ns, at_ns)
    else:
        if one.type == 1:
            stack[one.track_uuid].append((one.name, at_ns, len(seen.slices[track])))
        seen.slices[track].append((one.name, at_ns, None))
        values = {each.name: value_of(each) for each in one.debug_annotations}
        seen.values.setdefault(one.name, values)


def value_of(annotation: Any) -> Any:
    return getattr(annotation, annotation.WhichOneof("value"))


# ---- a made-up result with one value, from 4 to 9 ms after START_NS ----


def at(ms: float, text: str, cpu: int = 1) -> str:
    return f"[{cpu:03}] {(START_NS + round(ms * 1e6)) / 1e9:.9f}: {text}"


def switch(ms: float, prev: int, following: int, cpu: int = 1, state: str = "") -> str:
    told = f" prev_state={state}" if state else ""
    text = f"sched_switch: prev_comm=t{prev} prev_pid={prev} prev_prio={prev + 20}{told}"
    return at(ms, f"{text} ==> next_pid={following}", cpu)


def wakeup(ms: float, pid: int, cpu: int = 1) -> str:
    return at(ms, f"sched_wakeup: comm=t{pid} pid={pid} prio={pid + 20} target_cpu=001", cpu)


BEGINS, ENDS = at(4, "the value begins"), at(9, "the value ends")


def traced(*lines: str, cpu: int | None = 1, more: Sequence[Trace] = (), **changed: Any) -> Result:
    worst = Worst(value_ns=5_000_000, at_ns=9_000_000, index=8)
    trace = Trace(at_ns=worst.at_ns, value_ns=worst.value_ns, cpu=cpu, lines=list(lines))
    result = recorded.result([worst], [], traces=(trace, *more), policy="fifo")
    return msgspec.structs.replace(result, **({"duration_ns": 20_000_000} | changed))


def exported(*results: Result) -> Exported:
    return export_perfetto([make.document(results=list(results))], Wanted())


def tasks(*lines: str, more: Sequence[Trace] = ()) -> list[tuple[float, str, str]]:
    """Time in ms, name and state of each change but the first and last, which frame the trace."""
    first, *seen, last = read(exported(traced(*lines, more=more))).tasks
    assert first[2:] == (NOT_TRACED, "running") and first[0] == 0
    assert last[2] == NOT_TRACED and last[3] == "sleeping" and last[0] > 20_000_000
    return [(at_ns / 1e6, name, state) for at_ns, _, name, state in seen]


def ran(*lines: str, more: Sequence[Trace] = ()) -> list[tuple[float, str]]:
    return [(ms, name) for ms, name, state in tasks(*lines, more=more) if state == "running"]


# ---- a real run ----


@pytest.fixture(scope="module")
def real() -> Exported:
    document = msgspec.json.decode(REAL.read_bytes(), type=RunDocument)
    return export(find_exporter(None, Path("run.pftrace")), [document], Wanted())


def test_a_late_wake_up_of_a_real_run_shows_who_ran(real: Exported) -> None:
    """By hand, from the lines of the second trace: hs-load-disk had the CPU at the release, gave it
    up at 8.346334683 to rcu_preempt, and that one at 8.346431799 to the thread that was late."""
    seen = read(real)
    begin_ns, end_ns = 8_307_721_480, 8_346_508_794
    assert ("wakeup 38.8 ms", begin_ns, end_ns) in seen.slices["thread 151"]
    within = [
        (START_NS + at_ns, name)
        for at_ns, _, name, state in seen.tasks
        if begin_ns <= START_NS + at_ns < end_ns and state == "running"
    ]
    assert within == [
        (begin_ns, "hs-load-disk"),
        (8_346_334_683, "rcu_preempt"),
        (8_346_431_799, "hardstone-probe"),
    ]
    assert (START_NS + seen.tasks[-1][0]) > end_ns
    values = seen.values["wakeup 38.8 ms"]
    assert values["value_ns"] == 38_787_314 == end_ns - begin_ns - 0
    assert (values["cpu"], values["tid"], values["before"]) == (1, 151, "rcu_preempt")
    assert ("local_timer", 8_328_882_238, 8_345_997_388) in seen.slices["interrupts, CPU 1"]
    (lost,) = real.lost
    assert "do not apply to hardware" in lost


def test_the_parts_of_the_worst_value_are_within_it(real: Exported) -> None:
    slices = read(real).slices["thread 151"]
    place = slices.index(("wakeup 43.6 ms", 15_766_721_480, 15_810_359_545))
    parts = slices[place + 1 : place + 4]
    assert [name for name, _, _ in parts] == ["interrupt", "dispatch", "return"]
    assert parts[0][1] == 15_766_721_480 and parts[2][2] == 15_810_359_545
    assert [one[2] for one in parts[:2]] == [one[1] for one in parts[1:]]


def test_every_line_is_there_with_its_text(real: Exported) -> None:
    document = msgspec.json.decode(REAL.read_bytes(), type=RunDocument)
    (result,) = document.results
    count = sum(len(one.lines) for one in result.traces)
    assert len(read(real).slices["kernel trace, CPU 1"]) == count == 41


# ---- who ran ----


def test_nothing_is_known_between_two_excerpts_and_after_the_last() -> None:
    late = [at(14, "the value begins"), switch(14.5, 7, 8), at(15, "the value ends")]
    second = Trace(at_ns=15_000_000, value_ns=1_000_000, cpu=1, lines=late)
    assert ran(BEGINS, switch(5, 77, 80), ENDS, more=[second]) == [
        *((4, "t77"), (5, "80"), (9, NOT_TRACED)),
        *((14, "t7"), (14.5, "8"), (15, NOT_TRACED)),
    ]


@pytest.mark.parametrize("cut", ["LOST 12 EVENTS", "7 events left out before this"])
def test_nothing_is_known_where_events_are_lost(cut: str) -> None:
    assert ran(BEGINS, switch(5, 77, 80), at(7, cut), switch(8, 3, 4), ENDS) == [
        *((4, "t77"), (5, "80"), (5.000001, NOT_TRACED), (8, "4"), (9, NOT_TRACED)),
    ]
    later = wakeup(7.5, 5)
    assert (7.5, "t3") in ran(BEGINS, switch(5, 77, 80), at(7, cut), later, switch(8, 3, 4), ENDS)


def test_events_lost_on_another_cpu_hide_nothing_of_this_one() -> None:
    lost = at(7, "LOST 12 EVENTS", cpu=0)
    assert ran(BEGINS, switch(5, 77, 80), lost, ENDS) == ran(BEGINS, switch(5, 77, 80), ENDS)


def test_a_ring_that_starts_late_says_nothing_of_what_was_before() -> None:
    starts = at(3.95, "the trace starts here")
    lines = (wakeup(4.5, 5), switch(5, 77, 80), ENDS)
    assert ran(starts, BEGINS, *lines)[0] == (4.5, "t77")
    assert ran(BEGINS, *lines)[0] == (4, "t77")


def test_excerpts_that_overlap_are_one() -> None:
    later = [
        switch(5, 77, 80),
        at(8, "the value begins"),
        switch(8.5, 80, 3),
        at(10, "the value ends"),
    ]
    second = Trace(at_ns=10_000_000, value_ns=2_000_000, cpu=1, lines=later)
    assert ran(BEGINS, switch(5, 77, 80), ENDS, more=[second]) == [
        (4, "t77"),
        (5, "t80"),
        (8.5, "3"),
        (10, NOT_TRACED),
    ]


@pytest.mark.parametrize(
    ("state", "following", "found"),
    [
        ("", [wakeup(6, 77)], "sleeping"),  # who is woken had slept
        ("", [switch(6, 80, 77)], None),  # or it slept, and was woken on another CPU
        ("", [], None),
        ("R", [switch(6, 80, 77)], "runnable"),
        ("R+", [switch(6, 80, 77)], "runnable"),
        ("S", [switch(6, 80, 77)], "sleeping"),
        ("D|K", [switch(6, 80, 77)], "blocked"),
        ("S", [], None),  # for how long is not known
    ],
)
def test_the_state_of_a_task_is_claimed_only_where_the_lines_say_it(
    state: str, following: list[str], found: str | None
) -> None:
    states = tasks(BEGINS, switch(5, 77, 80, state=state), *following, ENDS)
    told = [one for ms, name, one in states if ms == 5 and name == "t77"]
    assert told == ([found] if found else [])


def test_a_wake_up_has_its_waker_if_the_task_is_seen_to_run() -> None:
    lines = [wakeup(4.5, 80), wakeup(4.6, 99), wakeup(4.7, 77), switch(5, 77, 80), ENDS]
    seen = read(exported(traced(BEGINS, *lines)))
    assert seen.wakings == [(START_NS + 4_500_000, "t80", 77)]
    assert seen.priorities["t80"] == {100} and seen.priorities[NOT_TRACED] == {1000}


def test_stamps_of_ftrace_are_of_the_other_clock() -> None:
    result = traced(
        BEGINS, wakeup(4.5, 80), switch(5, 77, 80), ENDS, started_uptime_ns=START_NS + 7
    )
    seen = read(exported(result))
    assert (seen.clocks[3], seen.clocks[6]) == (START_NS, START_NS + 7)
    assert seen.wakings[0][0] == START_NS + 4_500_007
    assert seen.tasks[1][0] == 4_000_000


def test_a_task_runs_on_one_cpu_only() -> None:
    lines = (BEGINS, switch(5, 77, 80), switch(6, 3, 77), switch(6.5, 1, 80, cpu=0), ENDS)
    changes = read(exported(traced(*lines, cpu=None))).tasks
    running: dict[int, str] = {}
    for _, cpu, name, state in changes:
        if state == "running":
            assert name == NOT_TRACED or name not in running.values()
            running[cpu] = name
        elif running.get(cpu) == name:
            del running[cpu]


def test_the_idle_task_is_named_by_its_cpu() -> None:
    assert ran(BEGINS, switch(5, 77, 0), switch(6, 0, 80), ENDS)[1] == (5, "swapper/1")


@pytest.mark.parametrize("name", ["a b", "x prev_pid=3", "[001] 1.0: y", "=> ==> z"])
def test_a_name_may_look_like_a_field(name: str) -> None:
    text = f"sched_switch: prev_comm={name} prev_pid=77 prev_prio=9 ==> next_pid=80"
    assert ran(BEGINS, at(5, text), ENDS)[0] == (4, name)


def test_an_id_may_be_of_another_task_in_another_excerpt() -> None:
    line = switch(14.5, 77, 8).replace("prev_comm=t77", "prev_comm=other")
    late = [at(14, "the value begins"), line, at(15, "the value ends")]
    second = Trace(at_ns=15_000_000, value_ns=1_000_000, cpu=1, lines=late)
    names = ran(BEGINS, switch(5, 77, 80), ENDS, more=[second])
    assert names[0] == (4, "t77") and names[3] == (14, "other")


# ---- interrupts and others ----


SERVED = {
    "irq 24 eth0": (
        "interrupts",
        "irq_handler_entry: irq=24 name=eth0",
        "irq_handler_exit: irq=24",
    ),
    "local_timer": ("interrupts", "local_timer_entry: vector=236", "local_timer_exit: vector=236"),
    "reschedule": ("interrupts", "reschedule_entry: vector=253", "reschedule_exit: vector=253"),
    "softirq 8": ("softirqs", "softirq_entry: vec=8", "softirq_exit: vec=8"),
    "hrtimer_expire f": (
        "timers",
        "hrtimer_expire_entry: hrtimer=0xf0 function=f now=1",
        "hrtimer_expire_exit: hrtimer=0xf0",
    ),
    "preemption off": (
        "sections",
        "preempt_disable: caller=f parent=g",
        "preempt_enable: caller=f",
    ),
    "interrupts off": (
        "sections",
        "irq_disable: caller=f parent=g",
        "irq_enable: caller=f parent=g",
    ),
}


@pytest.mark.parametrize("name", SERVED)
def test_what_a_cpu_serves_is_a_slice_from_entry_to_exit(name: str) -> None:
    track, entry, end = SERVED[name]
    seen = read(exported(traced(BEGINS, at(5, entry), at(6, end), ENDS)))
    found = seen.slices[f"{track}, CPU 1"]
    assert found == [(name, START_NS + 5_000_000, START_NS + 6_000_000)]


def test_one_within_another_ends_first() -> None:
    lines = [at(5, "softirq_entry: vec=1"), at(6, "softirq_entry: vec=8")]
    lines += [at(7, "softirq_exit: vec=8"), at(8, "softirq_exit: vec=1")]
    seen = read(exported(traced(BEGINS, *lines, ENDS)))
    ms = [
        (name, (b - START_NS) / 1e6, (e - START_NS) / 1e6)
        for name, b, e in seen.slices["softirqs, CPU 1"]
        if e
    ]
    assert ms == [("softirq 1", 5, 8), ("softirq 8", 6, 7)]


@pytest.mark.parametrize(
    ("event", "track", "name"),
    [
        ("softirq_entry: vec=8", "softirqs, CPU 1", "softirq_entry 8"),
        ("local_timer_exit: vector=236", "interrupts, CPU 1", "local_timer_exit"),
        ("softirq_raise: vec=8 [action=HRTIMER]", "softirqs, CPU 1", "softirq_raise 8"),
        ("hrtimer_start: hrtimer=0xf0 function=f expires=1", "timers, CPU 1", "hrtimer_start f"),
    ],
)
def test_an_event_without_its_other_end_has_no_length(event: str, track: str, name: str) -> None:
    seen = read(exported(traced(BEGINS, at(5, event), ENDS)))
    assert seen.slices[track] == [(name, START_NS + 5_000_000, None)]


def test_an_interrupt_does_not_reach_over_lost_events() -> None:
    entry, end = at(5, "local_timer_entry: vector=236"), at(7, "local_timer_exit: vector=236")
    seen = read(exported(traced(BEGINS, entry, at(6, "LOST 3 EVENTS"), end, ENDS)))
    assert all(one[2] is None for one in seen.slices["interrupts, CPU 1"])


def test_lines_that_are_not_understood_are_kept_and_counted() -> None:
    odd = [at(5, "sys_enter: NR 1"), at(6, "sched_switch: odd"), at(7, "no event"), "no stamp"]
    found = exported(traced(BEGINS, *odd, ENDS))
    assert found.lost == ["4 lines are not understood: kept as text"]
    seen = read(found)
    names = [name for name, *_ in seen.slices["kernel trace, CPU 1"]]
    assert names == [
        "the value begins",
        "sys_enter",
        "sched_switch: odd",
        "no event",
        "the value ends",
    ]
    (unread,) = seen.slices["kernel trace, lines without a time"]
    assert unread == ("no stamp", START_NS + 9_000_000, None)
    assert seen.values["sys_enter"] == {"line": "sys_enter: NR 1", "understood": False}


# ---- worst values, events, counters ----


def test_a_value_whose_task_is_not_known_is_on_a_track_of_its_cpu() -> None:
    seen = read(exported(traced(BEGINS, switch(5, 77, 80), at(6, "LOST 3 EVENTS"), ENDS)))
    assert not any(name.startswith("thread") for name in seen.slices)
    (value,) = seen.slices["worst values, CPU 1"]
    assert value == ("wakeup 5 ms", START_NS + 4_000_000, START_NS + 9_000_000)


def test_a_listed_value_without_a_trace_is_placed_by_the_clock_of_another() -> None:
    result = traced(BEGINS, switch(5, 77, 80), ENDS)
    result.series[0].worst.append(Worst(value_ns=1000, at_ns=15_000_000, index=14))
    seen = read(exported(result))
    assert ("wakeup 1 us", START_NS + 14_999_000, START_NS + 15_000_000) in seen.slices[
        "worst values, CPU 1"
    ]
    assert seen.values["wakeup 1 us"]["has_trace"] is False


@pytest.mark.parametrize(
    ("known", "placed"),
    [
        ({"interrupt": 1}, [("interrupt", 4, 5)]),
        ({"return": 1}, [("return", 8, 9)]),
        ({"dispatch": 1}, []),
        ({"interrupt": 1, "dispatch": 2}, [("interrupt", 4, 5), ("dispatch", 5, 7)]),
        ({"dispatch": 2, "return": 1}, [("dispatch", 6, 8), ("return", 8, 9)]),
        ({"interrupt": 4, "dispatch": 2, "return": 1}, []),  # longer than the value
    ],
)
def test_known_parts_are_within_the_value(
    known: dict[str, int], placed: list[tuple[str, int, int]]
) -> None:
    data = {f"{part}_ns": ms * 1_000_000 for part, ms in known.items()}
    event = Event(name="parts_worst", text="", at_ns=9_000_000, data={"cpu": 1, **data})
    seen = read(exported(traced(BEGINS, switch(5, 77, 80), ENDS, events=[event])))
    value, *parts = seen.slices["thread 80"]
    assert value[0] == "wakeup 5 ms"
    assert parts == [
        (name, START_NS + begin * 1_000_000, START_NS + end * 1_000_000)
        for name, begin, end in placed
    ]


def test_events_of_the_run_are_at_their_time_or_of_the_measurement() -> None:
    events = [
        Event(name="threshold_crossed", text="a\nb", at_ns=9_000_000, data={"cpu": 1}),
        Event(name="traced", text="recorded"),
    ]
    seen = read(exported(traced(BEGINS, ENDS, switch(9.05, 3, 4), events=events)))
    assert seen.slices["events"] == [("threshold_crossed", START_NS + 9_000_000, None)]
    assert seen.values["threshold_crossed"] == {"text": "a b", "cpu": 1}
    assert seen.slices["measurement"] == [("TMR-P-LAT", START_NS, START_NS + 20_000_000)]
    assert seen.values["TMR-P-LAT"]["event traced"] == "recorded"


def test_steal_is_that_of_each_counted_second_and_the_mean_of_the_rest() -> None:
    second, steal = 1_000_000_000, "steal_ns"
    intervals = [
        Interval(at_ns=0, span_ns=4 * second, cpu=1, whole=True, counters={steal: 60_000_000}),
        Interval(at_ns=second, span_ns=second, cpu=1, counters={steal: 30_000_000}),
    ]
    seen = read(exported(traced(BEGINS, ENDS, intervals=intervals)))
    assert [(at_ns - START_NS, rate) for at_ns, rate in seen.counters["steal, CPU 1"]] == [
        (0, 10_000_000),
        (second, 30_000_000),
        (2 * second, 10_000_000),
    ]
    (counted,) = seen.slices["counted seconds, CPU 1"]
    assert counted == ("steal 30 ms", START_NS + second, START_NS + 2 * second)
    only = read(exported(traced(BEGINS, ENDS, intervals=intervals[1:])))
    assert not only.counters and only.slices["counted seconds, CPU 1"]


def test_a_series_that_cannot_be_true_is_left_out() -> None:
    result = traced(BEGINS, switch(5, 77, 80), ENDS)
    result.series[0].possible_max = 1
    found = exported(result)
    assert found.lost == [
        "1 series is left out, figures that cannot be true: TMR-P-LAT/total/1/wakeup"
    ]
    assert "thread 80" not in read(found).slices


# ---- what is refused, and what is survived ----


def test_a_run_without_a_trace_is_refused() -> None:
    with pytest.raises(InputError, match=r"no trace of the kernel.*latstat --trace"):
        exported(make.result(values=[1, 2]))


def test_a_trace_without_the_end_of_its_value_has_no_place_in_time() -> None:
    with pytest.raises(InputError, match="says when its value ended"):
        exported(traced(BEGINS, switch(5, 77, 80)))


def test_results_without_a_trace_are_counted() -> None:
    found = exported(traced(BEGINS, ENDS), make.result(values=[1, 2]))
    assert found.lost == ["1 result has no trace"]


@pytest.mark.parametrize(
    "changed",
    [
        {"started_utc": "yesterday"},
        {"started_uptime_ns": 2**63 - 1},
        {"duration_ns": 100 * YEAR_NS},
        {"events": [Event(name="a\nb", text="\u202e", at_ns=-(2**63), data={"c\x1b": 2**63 - 1})]},
        {"events": [Event(name="a", text="b", at_ns=2**63 - 1)]},
        {
            "intervals": [
                Interval(at_ns=0, span_ns=9, cpu=1, whole=True, counters={"steal_ns": 2**63 - 1}),
                Interval(at_ns=0, span_ns=1, cpu=1, counters={"steal_ns": 2**63 - 1}),
            ]
        },
    ],
)
def test_a_damaged_run_is_written_all_the_same(changed: dict[str, Any]) -> None:
    seen = read(exported(traced(BEGINS, switch(5, 77, 80), ENDS, **changed)))
    assert seen.slices["thread 80"][0][0] == "wakeup 5 ms"


def test_ids_that_no_kernel_gives_are_no_tasks() -> None:
    odd = f"sched_wakeup: comm=a pid={2**31} prio=1 target_cpu=001"
    found = exported(traced(BEGINS, at(4.5, odd), switch(5, 77, 80), ENDS))
    assert found.lost == ["1 line is not understood: kept as text"]


@pytest.mark.slow
@given(st.lists(st.one_of(st.text(max_size=80), st.text(max_size=40).map(lambda one: at(5, one)))))
def test_any_text_is_kept(lines: list[str]) -> None:
    seen = read(exported(traced(BEGINS, *lines, ENDS)))
    kept = [
        one for name, found in seen.slices.items() if name.startswith("kernel") for one in found
    ]
    assert len(kept) == len(lines) + 2


# ---- Perfetto's own reader ----


def shell() -> str:
    found = os.environ.get("TRACE_PROCESSOR_SHELL") or shutil.which("trace_processor_shell")
    if not found:
        pytest.skip(
            "no trace_processor_shell: set TRACE_PROCESSOR_SHELL to Perfetto's (no package has it)"
        )
    return found


def answers() -> dict[str, list[list[str]]]:
    """Each query of the page, with the table that the page says it gives; [] if it shows none."""
    found = {}
    for part in PAGE.read_text(encoding="utf-8").split("```sql\n")[1:]:
        sql, rest = part.split("```\n")
        rows = [row for row in rest.splitlines() if row.startswith("|")]
        found[sql] = [cells(row) for row in rows[2:]]
    return found


def cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.strip("| ").split("|")]


def query(sql: str, exported: Exported, folder: Path) -> list[list[str]]:
    trace, file = folder / "run.pftrace", folder / "query.sql"
    trace.write_bytes(exported.content)
    file.write_text(sql, encoding="utf-8")
    command = [shell(), "-q", str(file), str(trace)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST_S, check=True)
    rows = [line.split(",") for line in done.stdout.splitlines() if line.strip()]
    return [[cell.strip('"') for cell in row] for row in rows[1:]]


def test_the_page_has_queries_with_their_answers() -> None:
    assert [len(table) for table in answers().values()] == [10, 4, 0]


@pytest.mark.parametrize("number", [0, 1])
def test_perfetto_answers_as_the_page_says(number: int, real: Exported, tmp_path: Path) -> None:
    """Which tasks ran between release and wake-up, and what the CPU served."""
    sql, table = list(answers().items())[number]
    assert query(sql, real, tmp_path) == table


def test_perfetto_shows_the_states_of_the_late_thread(real: Exported, tmp_path: Path) -> None:
    """By hand, from the lines: woken by the tick in hs-load-disk, it got the CPU at the switch."""
    rows = query(list(answers())[2], real, tmp_path)
    late = [row[1:] for row in rows if row[0] == "wakeup 38.8 ms"]
    woken_ns, switched_ns = 8_328_942_088 - 8_307_721_480, 8_346_431_799 - 8_307_721_480
    assert late == [
        [str(woken_ns), "R", "hs-load-disk"],
        [str(switched_ns), "Running", "[NULL]"],
    ]


def test_perfetto_reads_every_trace_without_an_error(real: Exported, tmp_path: Path) -> None:
    overlap = [
        switch(5, 77, 80),
        wakeup(6, 77),
        at(7, "LOST 3 EVENTS"),
        switch(8, 3, 77, state="S"),
    ]
    made_up = exported(traced(BEGINS, *overlap, ENDS, at(9.1, "odd"), "no stamp"))
    errors = "SELECT name, value FROM stats WHERE severity != 'info' AND value > 0"
    for one in (real, made_up):
        assert query(errors, one, tmp_path) == []
