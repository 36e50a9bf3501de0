"""What the timer tests compute, on a libc whose time, ticks and latencies are known.

A constant error, a release that is taken from the wrong one, or a swallowed release that is left
out would not be seen on a real machine: its latencies are not known beforehand."""

from __future__ import annotations

import shutil
from itertools import cycle, islice
from pathlib import Path

import pytest

from hardstone.model import StreamSeries
from hardstone.stats.consistency import series_contradictions
from hardstone.stats.trust import grade_run
from tests import machine
from tests.running import Stream, preloaded, run
from tests.unit.stats import make
from tests.virtual.calls import DAY_NS

pytestmark = [
    pytest.mark.skipif(shutil.which("taskset") is None, reason="taskset is not installed"),
]

MECHANISMS = ("timer-handler", "timer-sigwaitinfo", "nanosleep", "timerfd", "setitimer")
PERIOD_NS = 100_000
START_AHEAD_NS = 10_000_000  # of TMR-P-LAT
READ_NS, CALL_NS = 50, 300
MS = 1_000_000
PATTERNS = [
    [7_000],
    [0, 99_999],
    [1_000, 100_000, 2_000],
    [7_000, 250_000, 0, 3_000_123],
]
LAT = ("TMR-P-LAT", "-p", f"interval_ns={PERIOD_NS}", "--samples", "120")
JIT = ("TMR-P-JIT", "-p", f"periods_ns={PERIOD_NS}", "--samples", "120")
NANOSLEEP = (*JIT, "-p", "mechanisms=nanosleep")


def run_on(probe: Path, libc: Path, late_ns: list[int], *words: str, **told: object) -> Stream:
    """On one CPU; what is told sets the libc up."""
    variables = {f"HARDSTONE_{name.upper()}": str(value) for name, value in told.items()}
    variables |= {"LD_PRELOAD": preloaded(libc), "HARDSTONE_LATE_NS": ",".join(map(str, late_ns))}
    words = (*words, "--clock", "monotonic", "--deadline-ns", str(DAY_NS), "--policy", "other")
    return run(probe, *words, prefix=("taskset", "-c", str(machine.cpu())), variables=variables)


def measure(probe: Path, libc: Path, late_ns: list[int], *words: str, **told: object) -> Stream:
    stream = run_on(probe, libc, late_ns, *words, **told)
    assert stream.result.status == "measured", stream.result
    return stream


def swallowed(late_ns: int) -> list[int]:
    """Lateness of the releases that a wake-up late by `late_ns` has swallowed."""
    return [late_ns - j * PERIOD_NS for j in range(1, late_ns // PERIOD_NS + 1)]


def expanded(late_ns: list[int]) -> list[int]:
    """A value for each expiry: also for those that a late wake-up serves."""
    values: list[int] = []
    for late in cycle(late_ns):
        values += [late, *swallowed(late)]
        if len(values) >= 120:
            return values
    return values


def check_values(series: StreamSeries, values: list[int]) -> None:
    assert series.count == len(values)
    assert (series.min, series.max) == (min(values), max(values))
    assert series.mean == pytest.approx(sum(values) / len(values), rel=1e-12)
    highest = sorted(values, reverse=True)[:32]
    assert [worst.value_ns for worst in series.worst] == highest


# ---- wake-ups ----


@pytest.mark.parametrize("late_ns", PATTERNS, ids=str)
def test_wakeups_and_releases(shared_probe: Path, virtual_libc: Path, late_ns: list[int]) -> None:
    stream = measure(shared_probe, virtual_libc, late_ns, *LAT)
    wakeups = list(islice(cycle(late_ns), 120))
    check_values(stream.series("wakeup"), wakeups)
    lost = [swallowed(late) for late in wakeups]
    check_values(stream.series("release"), wakeups + [one for many in lost for one in many])
    assert stream.series("missed").count == sum(1 for many in lost if many)
    release_ns, at_ns = START_AHEAD_NS, []
    for late in wakeups:
        at_ns.append(release_ns + late)
        release_ns += (1 + late // PERIOD_NS) * PERIOD_NS
    for worst in stream.series("wakeup").worst:
        assert worst.at_ns == at_ns[worst.index]


def test_a_backlog_that_is_full_loses_no_release(shared_probe: Path, virtual_libc: Path) -> None:
    """More releases than are expanded between two wake-ups, and more late wake-ups than the
    backlog holds."""
    late_ns = 300 * PERIOD_NS + 1
    stream = measure(shared_probe, virtual_libc, [late_ns], *LAT, "--samples", "5000")
    release = stream.series("release")
    assert release.count == 5000 * 301
    assert (release.min, release.max) == (1, late_ns)
    assert release.mean == pytest.approx(150 * PERIOD_NS + 1, rel=1e-12)
    assert stream.series("missed").count == 5000


@pytest.mark.parametrize(("late_ns", "crosses"), [(7_000, False), (7_001, True)])
def test_the_threshold_is_crossed_above_it(
    shared_probe: Path, virtual_libc: Path, late_ns: int, crosses: bool
) -> None:
    words = (*LAT, "-p", "threshold_ns=7000")
    stream = run_on(shared_probe, virtual_libc, [1_000, late_ns, 0], *words)
    assert ("threshold_crossed" in stream.events) == crosses
    assert stream.result.status == ("failed" if crosses else "measured")
    assert stream.series("wakeup").count == (2 if crosses else 120)
    assert not crosses or f"{late_ns} ns is above 7000 ns" in (stream.result.reason or "")


@pytest.mark.parametrize("words", [LAT, NANOSLEEP], ids=["TMR-P-LAT", "TMR-P-JIT"])
@pytest.mark.parametrize("late_ns", [[-10 * MS], [1_000, -10 * MS, -300]], ids=["all", "some"])
def test_wakeups_before_their_release_are_trusted_by_nobody(
    shared_probe: Path, virtual_libc: Path, words: tuple[str, ...], late_ns: list[int]
) -> None:
    """clock_nanosleep returns at once: a latency cannot be shorter than none."""
    result, problem = measure(shared_probe, virtual_libc, late_ns, *words).read_by_the_toolkit()
    assert problem is None and result.status == "measured"
    trust = grade_run(make.document(results=[result]))
    early = sum(120 // len(late_ns) for late in late_ns if late < 0)
    assert trust.grade == "untrustworthy"
    assert f"{early} of 120 values are negative, down to -10 ms" in trust.reasons[0]
    assert all(one.possible_min in (0, 1) for one in result.series)


def test_late_wakeups_within_the_measurement_are_possible(
    shared_probe: Path, virtual_libc: Path
) -> None:
    stream = measure(shared_probe, virtual_libc, PATTERNS[-1], *LAT)
    result, _ = stream.read_by_the_toolkit()
    assert not list(series_contradictions(result))
    wakeup = stream.series("wakeup")
    assert wakeup.possible_max == stream.result.duration_ns > (wakeup.max or 0)


# ---- jitter ----


@pytest.mark.parametrize("late_ns", PATTERNS, ids=str)
@pytest.mark.parametrize("mechanism", [one for one in MECHANISMS if one != "setitimer"])
def test_each_expiry_has_its_lateness(
    shared_probe: Path, virtual_libc: Path, mechanism: str, late_ns: list[int]
) -> None:
    """Of a timer one expiry comes before: whether it expires at all."""
    words = (*JIT, "-p", f"mechanisms={mechanism}")
    series = measure(shared_probe, virtual_libc, late_ns, *words).series("jitter")
    later_ns = late_ns if mechanism == "nanosleep" else [*late_ns[1:], late_ns[0]]
    check_values(series, expanded(later_ns))
    assert series.labels["mechanism"] == mechanism


def test_the_stamp_is_the_first_act_of_the_handler(shared_probe: Path, virtual_libc: Path) -> None:
    """What comes after it in the handler, and the way back from it, is not in the figure."""
    words = (*JIT, "-p", "mechanisms=timer-handler")
    costs = {"call_ns": 13_000, "return_ns": 40_000}
    series = measure(shared_probe, virtual_libc, [5_000], *words, **costs).series("jitter")
    assert (series.min, series.max) == (5_000, 5_000)


def test_overruns_of_late_wakeups(shared_probe: Path, virtual_libc: Path) -> None:
    late_ns = PATTERNS[-1]
    overrun = measure(shared_probe, virtual_libc, late_ns, *NANOSLEEP).series("overrun")
    served = [late // PERIOD_NS + 1 for late in late_ns]
    wakeups = next(n for n in range(120) if sum(islice(cycle(served), n)) >= 120)
    check_values(overrun, [one - 1 for one in islice(cycle(served), wakeups) if one > 1])


def test_early_wakeups_are_named(shared_probe: Path, virtual_libc: Path) -> None:
    stream = measure(shared_probe, virtual_libc, [1_000, -500, -300], *NANOSLEEP)
    assert stream.series("jitter").histogram.underflow == 80
    text = stream.events["early_expirations"].text
    assert "nanosleep" in text and "80 of 120" in text and "up to 500 ns" in text
    assert "early_expirations" not in measure(shared_probe, virtual_libc, [0], *NANOSLEEP).events


# ---- the step of expiries ----


def steps(probe: Path, libc: Path, tick_ns: int, late_ns: list[int], **more: object) -> Stream:
    timing = {"read_ns": READ_NS, "call_ns": CALL_NS, "tick_ns": tick_ns, **more}
    return measure(probe, libc, late_ns, "CLK-B-RES", "--samples", "20000", **timing)


def step_of(stream: Stream, mechanism: str) -> StreamSeries:
    steps = stream.named("expiry_step")
    (found,) = [one for one in steps if one.labels == {"mechanism": mechanism}]
    return found


def smallest(stream: Stream) -> dict[str, int]:
    return {mechanism: step_of(stream, mechanism).min or 0 for mechanism in MECHANISMS}


def noise(*usual_ns: int, rare_ns: int = 0) -> list[int]:
    """61 values, no divisor of which repeats in pairs of requests."""
    return [*([*usual_ns] * 61)[:60], rare_ns or usual_ns[0]]


LATE_NS = {"quiet": [3_000], "noise": noise(4_000, 9_000, 5_500, 30_000, rare_ns=700_000)}
SLOW_CALLS = {"long": [20_000], "at times": noise(300, rare_ns=60_000)}

each_tick = pytest.mark.parametrize("tick_ns", [10 * MS, MS], ids=["10 ms", "1 ms"])
each_lateness = pytest.mark.parametrize("late_ns", LATE_NS.values(), ids=LATE_NS.keys())


@each_tick
@each_lateness
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


@each_lateness
def test_latency_bounds_a_fine_step(
    shared_probe: Path, virtual_libc: Path, late_ns: list[int]
) -> None:
    stream = steps(shared_probe, virtual_libc, 1, late_ns)
    assert all(2 * min(late_ns) < ns < 100_000 for ns in smallest(stream).values())
    assert all(mechanism in stream.events["expiry_step_bounded"].text for mechanism in MECHANISMS)


def test_an_early_expiry_makes_no_step(shared_probe: Path, virtual_libc: Path) -> None:
    """Every second is early: no pair counts."""
    stream = steps(shared_probe, virtual_libc, 1, [8_000, -8_000], read_ns=1_000)
    assert step_of(stream, "nanosleep").count == 0
    assert "expired before they were due" in stream.events["early_expirations"].text
    assert "expiry_step_unseen" in stream.events


def test_a_tick_that_is_too_long_gives_no_value(shared_probe: Path, virtual_libc: Path) -> None:
    stream = steps(shared_probe, virtual_libc, 1000 * MS, [3_000])
    assert step_of(stream, "nanosleep").count == 0
    assert "no expiry step found in 1000 ms" in stream.events["expiry_step_unseen"].text
