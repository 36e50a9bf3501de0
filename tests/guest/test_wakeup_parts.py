"""The parts of a wake-up, by the kernel's tracer or its tracepoints, the trace around the worst
one, and what is left of them."""

from __future__ import annotations

import time
from typing import Any

from hardstone.model import StreamSeries, StreamTrace
from hardstone.stats.causes import ran_before
from hardstone.targets.lab import LabTransport
from tests.guest.called import GUEST_S, TRACING, call, measured, shell
from tests.guest.kernels import Build
from tests.running import Stream, total

PARTS = ("interrupt", "dispatch", "return")
# Whatever a run with timerlat changes, and the instances that it makes.
STATE = (
    f"cat {TRACING}/osnoise/options {TRACING}/osnoise/timerlat_period_us {TRACING}/tracing_on "
    f"{TRACING}/current_tracer; ls {TRACING}/instances"
)
KILL_GUARDS = (
    "for one in /proc/[0-9]*; do read name <$one/comm && "
    '[ "$name" = hs-trace-guard ] && kill -9 "${one#/proc/}"; done;'
)
UNTIL_TRACED = (
    f"until cat {TRACING}/instances/hardstone-*/tracing_on 2>/dev/null | grep -q 1; do "
    "[ -e /proc/$!/exe ] || exit 9; sleep 0.1; done;"
)


def parts(
    guest: LabTransport, source: str, *words: str, length: tuple[str, str] = ("--samples", "100")
) -> Stream:
    """A short run, 10 ms between two releases: emulated timers are slow."""
    options = ("-p", f"parts={source}", "-p", "interval_ns=10ms", *length, *words)
    return measured(guest, "TMR-P-LAT", *options)


def data_of(stream: Stream, event: str) -> dict[str, Any]:
    return stream.events[event].data


def wakeups(stream: Stream) -> dict[str, StreamSeries]:
    return {str(one.labels["part"]): one for one in stream.named("wakeup")}


def expect_parts(stream: Stream, source: str) -> None:
    """Every part of every wake-up that was matched; they add up where all were."""
    seen, series = data_of(stream, "parts_seen"), wakeups(stream)
    assert seen["source"] == source
    assert seen["matched_count"] > 0
    assert seen["out_of_order_count"] == 0
    assert {series[part].count for part in PARTS} == {seen["matched_count"]}
    if seen["matched_count"] == series["total"].count:
        assert abs(sum(total(series[part]) for part in PARTS) - total(series["total"])) < 100
    worst, at_ns = data_of(stream, "parts_worst"), stream.events["parts_worst"].at_ns
    assert worst["value_ns"] == sum(worst[f"{part}_ns"] for part in PARTS)
    totals = {one.at_ns: one.value_ns for one in series["total"].worst}
    assert totals.get(at_ns or 0, worst["value_ns"]) == worst["value_ns"]


def test_a_kernel_without_timerlat_says_so(guest: LabTransport, build: Build) -> None:
    lines = parts(guest, "timerlat")
    if has_timerlat(build):
        assert lines.result.status == "measured"
        expect_parts(lines, "timerlat")
        checked = data_of(lines, "parts_checked")
        assert checked["checked_count"] > 0
        assert checked["least_difference_ns"] >= 0  # the kernel's last stamp is after ours
        return
    assert lines.result.status == "unsupported"
    assert "timerlat" in (lines.result.reason or "")


def has_timerlat(build: Build) -> bool:
    return build.is_realtime and "lazy" in build.choices


def test_the_parts_are_the_total_within_the_limit_of_the_instrument(
    counting: LabTransport, build: Build
) -> None:
    lines = parts(counting, "tracepoints")
    expect_parts(lines, "tracepoints")
    seen, series = data_of(lines, "parts_seen"), wakeups(lines)
    assert seen["matched_count"] == series["total"].count  # so that each total is checked
    worst = series["total"].worst[0]  # of a wake-up that is not matched, none is said
    assert worst.before and worst.before_thread is not None and worst.before_thread >= 0
    assert data_of(lines, "parts_worst")["before"]
    if not has_timerlat(build):
        return
    lines = parts(counting, "timerlat")
    expect_parts(lines, "timerlat")
    seen, checked = data_of(lines, "parts_seen"), data_of(lines, "parts_checked")
    assert seen["matched_count"] == seen["sample_count"]
    assert checked["checked_count"] >= seen["matched_count"] - 1  # the last has no later read
    assert 0 <= checked["least_difference_ns"] <= checked["most_difference_ns"]
    assert checked["beyond_count"] == 0, checked


def test_a_trace_holds_what_came_before_the_worst_value(counting: LabTransport) -> None:
    # The ring is read once, at the end: a value that comes while it is read may have no excerpt.
    lines = parts(counting, "none", "--trace", length=("-D", "900ms"))
    worst = {one.at_ns: one.value_ns for one in wakeups(lines)["total"].worst}
    trace = max(lines.of(StreamTrace), key=lambda one: one.value_ns)
    said = [line.partition(": ")[2] for line in trace.lines]
    assert worst[trace.at_ns] == trace.value_ns
    assert trace.value_ns == max(worst.values()) or "trace_missing" in lines.events
    assert said.index("the value begins") < said.index("the value ends")
    assert ran_before(trace) is not None
    assert "traced" in lines.events


def test_nothing_is_left_of_a_trace(guest: LabTransport) -> None:
    before = shell(guest, STATE)
    assert parts(guest, "none", "--trace").events["traced"]
    assert shell(guest, STATE) == before


def test_auto_measures_in_any_case(guest: LabTransport) -> None:
    lines = parts(guest, "auto")
    assert lines.result.status == "measured"
    expect_parts(lines, data_of(lines, "parts_seen")["source"])


def most_changing(build: Build) -> str:
    """timerlat, which changes settings of the machine, where the kernel has it."""
    return "timerlat" if has_timerlat(build) else "auto"


def goes_back(guest: LabTransport, state: str) -> bool:
    """Whether the machine is as it was: by the guards, since nothing else is run."""
    give_up_s = time.monotonic() + GUEST_S
    while shell(guest, STATE) != state:
        if time.monotonic() > give_up_s:
            return False
        time.sleep(1)
    return True


def killed(guest: LabTransport, *words: str, before: str = "") -> str:
    """The instances of a run that is killed while it measures, after the commands `before`."""
    return shell(
        guest,
        f"hardstone-probe run TMR-P-LAT {' '.join(words)} -p interval_ns=10ms -D 1h --json "
        f">/tmp/out & {UNTIL_TRACED} ls {TRACING}/instances; {before} kill -9 $!; wait $!; "
        "rm /tmp/out",
    )


def test_nothing_is_left_after_an_end_and_after_a_kill(guest: LabTransport, build: Build) -> None:
    before = shell(guest, STATE)
    parts(guest, most_changing(build))
    assert shell(guest, STATE) == before
    assert "hardstone-" in killed(guest, "-p", f"parts={most_changing(build)}")
    assert goes_back(guest, before)


def test_a_killed_trace_goes_by_itself(guest: LabTransport) -> None:
    before = shell(guest, STATE)
    assert ".ring" in killed(guest, "--trace")
    assert goes_back(guest, before)


def test_a_trace_whose_guard_was_killed_too_is_removed_by_a_restore(guest: LabTransport) -> None:
    before = shell(guest, STATE)
    assert ".ring" in killed(guest, "--trace", before=KILL_GUARDS)
    assert ".ring" in shell(guest, STATE)
    call(guest, "shield", "--restore")
    assert shell(guest, STATE) == before


def test_timerlat_of_others_is_not_taken(guest: LabTransport, build: Build) -> None:
    if not has_timerlat(build):
        return
    other, options = f"{TRACING}/instances/other", f"{TRACING}/osnoise/options"
    # Without its threads, which would wake every millisecond: too much for an emulated guest.
    shell(guest, f"echo NO_OSNOISE_WORKLOAD > {options}; mkdir {other}")
    shell(guest, f"echo timerlat > {other}/current_tracer")
    try:
        lines = parts(guest, "auto")
        assert data_of(lines, "parts_seen")["source"] == "tracepoints"
        reason = parts(guest, "timerlat").result.reason or ""
        assert "in use by somebody else (in the instance other)" in reason
        assert shell(guest, f"cat {other}/current_tracer").strip() == "timerlat"
    finally:
        shell(guest, f"echo nop > {other}/current_tracer; rmdir {other}")
        shell(guest, f"echo OSNOISE_WORKLOAD > {options}")
