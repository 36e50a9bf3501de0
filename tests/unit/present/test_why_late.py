"""Worst values with what was seen in their seconds, in words."""

from __future__ import annotations

import pytest

from hardstone.model import Event, Result, Trace
from hardstone.present.why_late import all_causes, late_values, worst_causes
from tests.unit.stats import make, recorded
from tests.unit.stats.recorded import BAD, QUIET, VALUE_NS, at, second, whole


def said(result: Result) -> str:
    return late_values(result)[0].cause.replace("\N{NO-BREAK SPACE}", " ")


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"migrations_count": 1}, "seen in that second: 1 migration (usually 0)"),
        ({"minor_faults_count": 3}, "seen in that second: 3 page faults (usually 0)"),
        (
            {"throttled_count": 2, "throttled_ns": 40_000_000},
            "seen in that second: 40 ms of throttling of the control group (usually 0 ns)",
        ),
        (
            {"interrupts_count": 9000, "busiest_count": 7000},
            "seen in that second: 9 000 interrupts (usually 1 200), most of them 24: eth0",
        ),
        (
            {"steal_ns": 10_000_000},
            "seen in that second: 10 ms stolen by the hypervisor (usually 0 ns)",
        ),
        (
            {"run_delay_ns": 2_900_000},
            "seen in that second: 2.90 ms of waiting for the CPU, behind a task or throttled "
            "(usually 900 us)",
        ),
        ({}, "none seen"),
    ],
)
def test_a_cause_is_said_as_seen(changed: dict[str, int], words: str) -> None:
    assert said(recorded.with_cause(busiest="24: eth0", **changed)) == words


def test_throttling_without_its_time_is_counted() -> None:
    quiet = {"throttled_count": 0}
    listed = [second(BAD, {"throttled_count": 1})]
    text = said(recorded.result([at(BAD)], [*listed, whole(listed, quiet)]))
    assert text == "seen in that second: 1 throttling of the control group (usually 0)"


def test_nothing_is_said_where_nothing_was_watched() -> None:
    assert late_values(make.result()) == []
    assert worst_causes(make.document(), 3) == []


def test_what_could_not_be_watched_says_why() -> None:
    told = Event(name="not_watched", text="/proc/stat: EACCES")
    assert said(recorded.result([at(BAD)], [], events=(told,))) == "not watched: /proc/stat: EACCES"
    told.data["reason"] = "no /proc/stat"
    assert said(recorded.result([at(BAD)], [], events=(told,))) == "not watched: no /proc/stat"
    listed = [second(3)]
    missing = recorded.result([at(BAD)], [*listed, whole(listed)])
    assert said(missing) == "not watched: no counters of that second"


def test_a_second_alone_is_not_judged() -> None:
    text = said(recorded.result([at(BAD)], [second(BAD, QUIET | {"migrations_count": 9})]))
    assert text == "nothing to compare that second with"


def test_the_counters_stand_beside_their_usual() -> None:
    (first, *_) = late_values(recorded.with_cause(migrations_count=1))
    assert "migrations 1 (usually 0)" in first.counters
    assert "run delay 900 us (usually 900 us)" in first.counters
    assert not any("major" in one for one in first.counters)
    assert first.counters[-1] == "usual: over 27 s"


HIDDEN = "\N{REPLACEMENT CHARACTER}"
SWITCH = "[001] 812.004: sched_switch: prev_comm=hog prev_pid=77 prev_prio={} ==> next_pid=80"


@pytest.mark.parametrize(
    ("priority", "words"),
    [
        (49, "hog (pid 77, real-time priority 50) ran before it"),
        (120, "hog (pid 77) ran before it"),
        (-1, "hog (pid 77, deadline) ran before it"),
    ],
)
def test_the_trace_tells_what_ran_before(priority: int, words: str) -> None:
    lines = [SWITCH.format(priority), "[001] 812.005: the value ends"]
    trace = Trace(at_ns=at(BAD).at_ns, value_ns=VALUE_NS, cpu=1, lines=lines)
    (one,) = late_values(recorded.result([at(BAD)], [], traces=(trace,)))
    assert one.before == words
    assert one.trace == lines


def test_a_result_has_one_line_for_its_worst() -> None:
    document = make.document(results=[recorded.with_cause(migrations_count=1)])
    assert worst_causes(document, 1) == [
        ("TMR-P-LAT", "2 ms at 10.50 s, CPU 1: seen in that second: 1 migration (usually 0)")
    ]


@pytest.mark.parametrize(
    ("name", "thread", "words"),
    [
        ("hog", 77, "none seen; hog (pid 77) ran before it"),
        ("swapper/1", 0, "none seen; the CPU was idle before it"),
        ("a\x1b[31m\u202eb", 7, f"none seen; a{HIDDEN}[31m{HIDDEN}b (pid 7) ran before it"),
        ("", 7, "none seen; a task without a name (pid 7) ran before it"),
    ],
)
def test_the_probe_tells_what_ran_before(name: str, thread: int, words: str) -> None:
    result = recorded.with_cause()
    result.series[0].worst[1].before = name
    result.series[0].worst[1].before_thread = thread
    assert late_values(result)[0].cause == "none seen"
    assert late_values(result)[1].cause == words


def test_the_trace_is_believed_first() -> None:
    trace = Trace(
        at_ns=at(BAD).at_ns,
        value_ns=VALUE_NS,
        cpu=1,
        lines=[SWITCH.format(49), "[001] 812.005: the value ends"],
    )
    worst = at(BAD)
    worst.before, worst.before_thread = "other", 5
    (one,) = late_values(recorded.result([worst], [], traces=(trace,)))
    assert one.before == "hog (pid 77, real-time priority 50) ran before it"


def test_what_ran_before_is_said_where_nobody_watched() -> None:
    worst = at(BAD)
    worst.before, worst.before_thread = "hog", 77
    (one,) = late_values(recorded.result([worst], []))
    assert one.cause == "not watched: no counters of that second; hog (pid 77) ran before it"


def test_all_worst_values_are_covered() -> None:
    """Those of which the same is said share a line."""
    result = recorded.with_cause(migrations_count=1)
    listed = result.series[0].worst
    listed += [at(3, 1000 + number) for number in range(20)]
    for number, one in enumerate(listed[3:]):
        one.at_ns += number + 1
    listed[10].before, listed[10].before_thread = "hog", 77
    document = make.document(results=[result])
    said = [text.replace("\N{NO-BREAK SPACE}", " ") for _, text in all_causes(document, 1)]
    assert said[0].startswith("2 ms at 10.50 s, CPU 1: seen in that second: 1 migration")
    assert said[1].startswith("21 values from 1 us to 250 us: none seen")
    assert said[2].endswith("none seen; hog (pid 77) ran before it")
    assert len(said) == 3
    assert len(late_values(result)) == 23
