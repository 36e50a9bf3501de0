"""Timers of each mechanism on a libc whose time, ticks and latencies are known: the stamps of
TMR-P-JIT, and the step of expiries that CLK-B-RES finds."""

from __future__ import annotations

import shutil
from itertools import cycle
from pathlib import Path

import pytest

from hardstone.model import StreamSeries
from tests import machine
from tests.running import Stream, run
from tests.virtual.calls import DAY_NS

pytestmark = [
    pytest.mark.skipif(shutil.which("taskset") is None, reason="taskset is not installed"),
]

MECHANISMS = ("timer-handler", "timer-sigwaitinfo", "nanosleep", "timerfd", "setitimer")
OPTIONS = ("--clock", "monotonic", "--deadline-ns", str(DAY_NS))
PERIOD_NS = 100_000
READ_NS, CALL_NS = 50, 300
MS = 1_000_000


def measure(probe: Path, libc: Path, words: tuple[str, ...], **variables: object) -> Stream:
    prefix = ("taskset", "-c", str(machine.cpu()))
    told = {f"HARDSTONE_{name.upper()}": str(value) for name, value in variables.items()}
    stream = run(
        probe, *words, *OPTIONS, prefix=prefix, variables={"LD_PRELOAD": str(libc), **told}
    )
    assert stream.result.status == "measured", stream.result
    return stream


def jitter(probe: Path, libc: Path, mechanism: str, **variables: object) -> StreamSeries:
    words = ("-p", f"periods_ns={PERIOD_NS}", "-p", f"mechanisms={mechanism}", "--samples", "120")
    return measure(probe, libc, ("TMR-P-JIT", *words), **variables).series("jitter")


def expanded(late_ns: list[int]) -> list[int]:
    """A value for each expiry: also for those that a late wake-up serves."""
    values: list[int] = []
    for late in cycle(late_ns):
        values += [late - j * PERIOD_NS for j in range(late // PERIOD_NS + 1)]
        if len(values) >= 120:
            return values
    return values


@pytest.mark.parametrize("mechanism", [one for one in MECHANISMS if one != "setitimer"])
@pytest.mark.parametrize("late_ns", [[7_000], [1_000, 250_000, 0, 3_000_123]], ids=str)
def test_each_expiry_has_its_lateness(
    shared_probe: Path, virtual_libc: Path, mechanism: str, late_ns: list[int]
) -> None:
    late = ",".join(map(str, late_ns))
    series = jitter(shared_probe, virtual_libc, mechanism, late_ns=late, return_ns=11_000)
    values = expanded(late_ns)
    assert (series.count, series.min, series.max) == (len(values), min(values), max(values))
    assert series.mean == pytest.approx(sum(values) / len(values), rel=1e-12)
    assert series.labels["mechanism"] == mechanism


def test_the_stamp_is_the_first_act_of_the_handler(shared_probe: Path, virtual_libc: Path) -> None:
    """What comes after it in the handler, and the way back from it, is not in the figure."""
    costs = {"late_ns": 5_000, "call_ns": 13_000, "return_ns": 40_000}
    series = jitter(shared_probe, virtual_libc, "timer-handler", **costs)
    assert (series.min, series.max) == (5_000, 5_000)


def steps(probe: Path, libc: Path, tick_ns: int, late_ns: list[int], **more: object) -> Stream:
    late = ",".join(map(str, late_ns))
    timing = {"read_ns": READ_NS, "call_ns": CALL_NS, "late_ns": late, "tick_ns": tick_ns, **more}
    return measure(probe, libc, ("CLK-B-RES", "--samples", "20000"), **timing)


def step_of(stream: Stream, mechanism: str) -> StreamSeries:
    found = [
        one
        for one in stream.of(StreamSeries)
        if one.name == "expiry_step" and one.labels == {"mechanism": mechanism}
    ]
    assert len(found) == 1
    return found[0]


def smallest(stream: Stream) -> dict[str, int]:
    return {mechanism: step_of(stream, mechanism).min or 0 for mechanism in MECHANISMS}


def noise(*usual_ns: int, rare_ns: int = 0) -> list[int]:
    """61 values, no divisor of which repeats in pairs of requests."""
    return [*([*usual_ns] * 61)[:60], rare_ns or usual_ns[0]]


LATE_NS = {"quiet": [3_000], "noise": noise(4_000, 9_000, 5_500, 30_000, rare_ns=700_000)}
SLOW_CALLS = {"long": [20_000], "at times": noise(300, rare_ns=60_000)}

each_tick = pytest.mark.parametrize("tick_ns", [10 * MS, MS], ids=["10 ms", "1 ms"])


@each_tick
@pytest.mark.parametrize("late_ns", LATE_NS.values(), ids=LATE_NS.keys())
def test_the_step_of_a_system_of_ticks(
    shared_probe: Path, virtual_libc: Path, tick_ns: int, late_ns: list[int]
) -> None:
    stream = steps(shared_probe, virtual_libc, tick_ns, late_ns)
    for mechanism, ns in smallest(stream).items():
        assert tick_ns <= ns <= 1.06 * tick_ns, mechanism
    assert "expiry_step_bounded" not in stream.events


@each_tick
@pytest.mark.parametrize("call_ns", SLOW_CALLS.values(), ids=SLOW_CALLS.keys())
def test_a_request_that_comes_too_late_is_no_step(
    shared_probe: Path, virtual_libc: Path, tick_ns: int, call_ns: list[int]
) -> None:
    """What is asked for a moment that has passed expires at once, between two ticks."""
    told = ",".join(map(str, call_ns))
    stream = steps(shared_probe, virtual_libc, tick_ns, [3_000], call_ns=told)
    for mechanism, ns in smallest(stream).items():
        assert tick_ns <= ns <= tick_ns + 200_000, mechanism


@pytest.mark.parametrize("late_ns", LATE_NS.values(), ids=LATE_NS.keys())
def test_latency_bounds_a_fine_step(
    shared_probe: Path, virtual_libc: Path, late_ns: list[int]
) -> None:
    stream = steps(shared_probe, virtual_libc, 1, late_ns)
    assert all(2 * min(late_ns) < ns < 100_000 for ns in smallest(stream).values())
    assert all(mechanism in stream.events["expiry_step_bounded"].text for mechanism in MECHANISMS)


def test_an_early_expiry_makes_no_step(shared_probe: Path, virtual_libc: Path) -> None:
    """Every second is early: no pair counts."""
    stream = steps(shared_probe, virtual_libc, 1, [8_000, -8_000])
    assert step_of(stream, "nanosleep").count == 0
    assert "expired before they were due" in stream.events["early_expirations"].text
    assert "expiry_step_unseen" in stream.events


def test_a_tick_that_is_too_long_gives_no_value(shared_probe: Path, virtual_libc: Path) -> None:
    stream = steps(shared_probe, virtual_libc, 1000 * MS, [3_000])
    assert step_of(stream, "nanosleep").count == 0
    assert "no expiry step found in 1000 ms" in stream.events["expiry_step_unseen"].text
