"""The parts of a wake-up, by the kernel's tracer or its tracepoints, the trace around the worst
one, and what is left of them."""

from __future__ import annotations

import json
import time
from typing import Any

import msgspec

from hardstone.model import StreamTrace
from hardstone.stats.traced import ran_before
from hardstone.targets.lab import LabTransport
from tests.guest.called import call, shell
from tests.guest.kernels import Build

PARTS = ("interrupt", "dispatch", "return")
TRACING = "/sys/kernel/tracing"
LINES = {"event": "name", "series": "name", "result": "status"}
# Whatever a run with timerlat changes, and the instances that it makes.
STATE = (
    f"cat {TRACING}/osnoise/options {TRACING}/osnoise/timerlat_period_us {TRACING}/tracing_on "
    f"{TRACING}/current_tracer; ls {TRACING}/instances"
)
KILL_GUARDS = (
    "for one in /proc/[0-9]*; do read name <$one/comm && "
    '[ "$name" = hs-trace-guard ] && kill -9 "${one#/proc/}"; done;'
)
WAIT_S = 120
# A busy host may take seconds to let a run begin.
UNTIL_TRACED = (
    f"n=0; until cat {TRACING}/instances/hardstone-*/tracing_on 2>/dev/null | grep -q 1; do "
    "n=$((n+1)); [ $n -lt 600 ] || exit 9; sleep 0.1; done; sleep 1;"
)


def measured(
    guest: LabTransport, source: str, *words: str, length: tuple[str, str] = ("--samples", "100")
) -> list[dict[str, Any]]:
    """The lines of a short run, 10 ms between two releases: emulated timers are slow."""
    options = ("-p", f"parts={source}", "-p", "interval_ns=10ms", *length, *words)
    _, text = call(guest, "run", "TMR-P-LAT", *options, "--json")
    return [json.loads(line) for line in text.splitlines()]


def of_kind(lines: list[dict[str, Any]], kind: str, name: str) -> list[dict[str, Any]]:
    return [line for line in lines if line["type"] == kind and line[LINES[kind]] == name]


def data_of(lines: list[dict[str, Any]], event: str) -> dict[str, Any]:
    (found,) = of_kind(lines, "event", event)
    data: dict[str, Any] = found["data"]
    return data


def wakeups(lines: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {line["labels"]["part"]: line for line in of_kind(lines, "series", "wakeup")}


def expect_parts(lines: list[dict[str, Any]], source: str) -> None:
    """Every part of every wake-up that was matched; they add up where all were."""
    seen = data_of(lines, "parts_seen")
    series = wakeups(lines)
    assert seen["source"] == source
    assert seen["matched_count"] > 0
    assert seen["out_of_order_count"] == 0
    assert {series[part]["count"] for part in PARTS} == {seen["matched_count"]}
    if seen["matched_count"] == series["total"]["count"]:
        sum_ns = sum(series[part]["mean"] for part in PARTS)
        assert abs(sum_ns - series["total"]["mean"]) < 1
    (event,) = of_kind(lines, "event", "parts_worst")
    worst = event["data"]
    assert worst["value_ns"] == sum(worst[f"{part}_ns"] for part in PARTS)
    totals = {one["at_ns"]: one["value_ns"] for one in series["total"]["worst"]}
    assert totals.get(event["at_ns"], worst["value_ns"]) == worst["value_ns"]


def test_tracepoints_show_the_parts(guest: LabTransport) -> None:
    lines = measured(guest, "tracepoints")
    expect_parts(lines, "tracepoints")
    assert data_of(lines, "parts_worst")["before"]
    worst = wakeups(lines)["total"]["worst"]
    assert worst[0]["before"] and worst[0]["before_thread"] >= 0


def test_a_kernel_without_timerlat_says_so(guest: LabTransport, build: Build) -> None:
    lines = measured(guest, "timerlat")
    (result,) = [line for line in lines if line["type"] == "result"]
    if has_timerlat(build):
        assert result["status"] == "measured"
        expect_parts(lines, "timerlat")
        checked = data_of(lines, "parts_checked")
        assert checked["checked_count"] > 0
        assert checked["least_difference_ns"] >= 0  # the kernel's last stamp is after ours
        return
    assert result["status"] == "unsupported"
    assert "timerlat" in result["reason"]


def has_timerlat(build: Build) -> bool:
    return build.is_realtime and "lazy" in build.choices


def test_the_parts_are_the_total_within_the_limit_of_the_instrument(
    counting: LabTransport, build: Build
) -> None:
    lines = measured(counting, "tracepoints")
    expect_parts(lines, "tracepoints")
    seen, series = data_of(lines, "parts_seen"), wakeups(lines)
    assert seen["matched_count"] == series["total"]["count"]  # so that each total is checked
    if not has_timerlat(build):
        return
    lines = measured(counting, "timerlat")
    expect_parts(lines, "timerlat")
    seen, checked = data_of(lines, "parts_seen"), data_of(lines, "parts_checked")
    assert seen["matched_count"] == seen["sample_count"]
    assert checked["checked_count"] >= seen["matched_count"] - 1  # the last has no later read
    assert 0 <= checked["least_difference_ns"] <= checked["most_difference_ns"]
    assert checked["beyond_count"] == 0, checked


def test_a_trace_holds_what_came_before_the_worst_value(guest: LabTransport) -> None:
    before = shell(guest, STATE)
    # The ring is read once, at the end, unless a busy host makes more than a second of it: a value
    # that comes while it is read is told to have no excerpt.
    lines = measured(guest, "none", "--trace", length=("-D", "900ms"))
    worst = {one["at_ns"]: one["value_ns"] for one in wakeups(lines)["total"]["worst"]}
    traces = [line for line in lines if line["type"] == "trace"]
    trace = max(traces, key=lambda line: line["value_ns"])
    said = [line.partition(": ")[2] for line in trace["lines"]]
    assert worst[trace["at_ns"]] == trace["value_ns"]
    has_largest = trace["value_ns"] == max(worst.values())
    assert has_largest or of_kind(lines, "event", "trace_missing")
    assert said.index("the value begins") < said.index("the value ends")
    assert ran_before(msgspec.convert(trace, StreamTrace)) is not None
    assert of_kind(lines, "event", "traced")
    assert shell(guest, STATE) == before


def test_auto_measures_in_any_case(guest: LabTransport) -> None:
    lines = measured(guest, "auto")
    assert of_kind(lines, "result", "measured")
    expect_parts(lines, data_of(lines, "parts_seen")["source"])


def most_changing(build: Build) -> str:
    """timerlat, which changes settings of the machine, where the kernel has it."""
    return "timerlat" if has_timerlat(build) else "auto"


def test_nothing_is_left(guest: LabTransport, build: Build) -> None:
    before = shell(guest, STATE)
    measured(guest, most_changing(build))
    assert shell(guest, STATE) == before


def goes_back(guest: LabTransport, state: str) -> bool:
    """Whether the machine is as it was: by the guards, since nothing else is run."""
    give_up_s = time.monotonic() + WAIT_S
    while shell(guest, STATE) != state:
        if time.monotonic() > give_up_s:
            return False
        time.sleep(1)
    return True


def killed(guest: LabTransport, *words: str, before: str = "") -> str:
    """The instances of a run that is killed while it measures, after the commands `before`."""
    return shell(
        guest,
        f"hardstone-probe run TMR-P-LAT {' '.join(words)} -p interval_ns=10ms -D 60s --json "
        f">/tmp/out & {UNTIL_TRACED} ls {TRACING}/instances; {before} kill -9 $!; wait $!; "
        "rm /tmp/out",
    )


def test_nothing_is_left_after_a_kill(guest: LabTransport, build: Build) -> None:
    before = shell(guest, STATE)
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
        lines = measured(guest, "auto")
        assert data_of(lines, "parts_seen")["source"] == "tracepoints"
        (result,) = [line for line in measured(guest, "timerlat") if line["type"] == "result"]
        assert "in use by somebody else (in the instance other)" in result["reason"]
        assert shell(guest, f"cat {other}/current_tracer").strip() == "timerlat"
    finally:
        shell(guest, f"echo nop > {other}/current_tracer; rmdir {other}")
        shell(guest, f"echo OSNOISE_WORKLOAD > {options}")
