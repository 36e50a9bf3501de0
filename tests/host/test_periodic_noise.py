"""CLK-P-DUR on this machine: what is injected is found, with its rate and length.

The injectors stamp what they do themselves, and are compared with that. Whatever else this machine
and its host do beside it only adds gaps.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from hardstone.model import Noise, NoiseComb, Result, StreamWindow
from hardstone.stats.histogram import IntArray
from hardstone.stats.identity import windows_problem
from hardstone.stats.noise import with_noise
from tests import machine
from tests.running import GIVE_UP_S, Stream, run, witnesses

needs_realtime = machine.needs(machine.no_realtime())

PRIORITY = 97
ABOVE = str(PRIORITY + 1)
REFUSED = 77
# A host that takes a CPU 10,000 times a second fills the usual room within seconds.
ROOM = ("-p", "gaps_count=1000000")
A_WHILE = ("--samples", "0", "--duration-ns", "600000000")
MEASURED_NS = 4_000_000_000
INJECTED_S = 6  # from before the measurement to after it
NEAR = 0.05
MOST_GAPS_PER_S = 2500  # ticks of kernel and host, and all that is injected, are below 1800


@dataclass(frozen=True)
class Injected:
    """By its own stamps: begins and ends, CLOCK_MONOTONIC."""

    begin_ns: IntArray
    end_ns: IntArray

    @property
    def rate_hz(self) -> float:
        return 1e9 * (self.begin_ns.size - 1) / float(self.begin_ns[-1] - self.begin_ns[0])

    @property
    def length_ns(self) -> float:
        return float(np.median(self.end_ns - self.begin_ns))

    @property
    def is_steady(self) -> bool:
        """False where others kept it from its period, and no comb was injected."""
        steps = np.diff(self.begin_ns)
        period_ns = np.median(steps)
        return float(np.mean(np.abs(steps - period_ns) > 0.1 * period_ns)) <= 0.01


def told(process: subprocess.Popen[str]) -> Injected:
    out, _ = process.communicate(timeout=GIVE_UP_S)
    if process.returncode == REFUSED:
        pytest.skip("the kernel does not let root interrupt a CPU by perf_event_open")
    begins, ends = zip(*(map(int, line.split()) for line in out.splitlines()), strict=True)
    return Injected(np.array(begins), np.array(ends))


@contextmanager
def injecting(*commands: Sequence[str]) -> Iterator[list[subprocess.Popen[str]]]:
    processes = [subprocess.Popen(words, stdout=subprocess.PIPE, text=True) for words in commands]
    try:
        yield processes
    finally:
        for one in processes:
            one.kill()
            one.communicate()


def periodically(program: Path, words: Sequence[str], hz: float, most: int) -> list[str]:
    period_ns = round(1e9 / hz)
    return [str(program), *words, str(period_ns), str(min(round(hz * INJECTED_S), most))]


def analysed(stream: Stream) -> Result:
    result, problem = stream.read_by_the_toolkit()
    assert problem is None
    return with_noise(result)


def only_noise(result: Result) -> Noise:
    (noise,) = result.noise
    return noise


def noise_beside_the_hosts(stream: Stream) -> Noise:
    """Notes as a witness where the host's own gaps hide what is injected, or fill a window, which
    has room for 65,536 gaps a second: full ones are left out."""
    noise = only_noise(analysed(stream))
    per_s = noise.gaps_count / max(noise.watched_ns / 1e9, 1e-9)
    if noise.left_out_windows or per_s > MOST_GAPS_PER_S:
        left_out = f"{noise.left_out_windows} windows left out"
        witnesses.append(f"{per_s:.0f} gaps a second, {left_out}")
    return noise


def comb_near(noise: Noise, rate_hz: float) -> NoiseComb:
    comb = min(noise.combs, key=lambda one: abs(one.rate_hz - rate_hz))
    assert comb.rate_hz == pytest.approx(rate_hz, rel=NEAR)
    return comb


@needs_realtime
def test_a_hog_a_timer_and_interrupts_are_found(
    probe: Path, hog: Path, interrupter: Path, quick: list[str]
) -> None:
    """A real-time hog of 1 ms, a periodic timer with a task of 1.2 ms, and interrupts from another
    CPU, all at once, each at a rate of its own.

    Rates are compared with the injectors' stamps. So are the lengths of the hog and of the timer's
    task: the interrupt and the switches before and after belong to the gap too, 25 us on a busy
    machine. How long the kernel serves an interrupt no injector knows; it is not longer than its
    call, which waits for it.
    """
    cpu = machine.cpu()
    others = sorted(machine.allowed() - {cpu})
    if not others:
        pytest.skip("interrupts from another CPU need one")
    commands = [
        periodically(hog, [str(cpu), ABOVE, "1000000"], 21, 1000),
        periodically(hog, [str(cpu), ABOVE, "1200000"], 43, 1000),
        periodically(interrupter, [str(cpu), str(others[0]), "95"], 190, 10_000),
    ]

    words = ["--priority", str(PRIORITY), "--samples", "0", "--cpu", str(cpu)]
    words += ["--duration-ns", str(MEASURED_NS), *ROOM, *quick]
    with injecting(*commands) as processes:
        stream = run(probe, "CLK-P-DUR", *words)
        ended_ns = time.monotonic_ns()
        injected = [told(one) for one in processes]
    assert all(one.is_steady and one.end_ns[-1] > ended_ns for one in injected)
    long, short, sent = injected
    noise = noise_beside_the_hosts(stream)
    for one in (long, short):
        found = comb_near(noise, one.rate_hz).median_ns
        assert found == pytest.approx(one.length_ns, rel=NEAR)
    assert comb_near(noise, sent.rate_hz).median_ns <= sent.length_ns * (1 + NEAR)


@needs_realtime
def test_a_share_for_others_is_recognised(probe: Path, quick: list[str]) -> None:
    """Without rests, and with a task that starves on its CPU: throttling, or the fair server."""
    cpu = machine.cpu()
    share = machine.share_of_others()
    if share is None:
        pytest.skip("neither throttling nor a fair server takes the CPU from real-time threads")
    spin = ["taskset", "-c", str(cpu), "sh", "-c", "while :; do :; done"]

    words = ["-p", "rest=no", "--samples", "0", "--duration-ns", "5000000000", *ROOM]
    with injecting(spin):
        stream = run(probe, "CLK-P-DUR", "--cpu", str(cpu), *words, *quick)
    noise = noise_beside_the_hosts(stream)
    named = [one for one in noise.combs if one.name in ("throttling", "fair server")]
    (comb,) = named
    assert comb.rate_hz == pytest.approx(1, rel=2 * NEAR)
    assert share * 0.7 <= comb.median_ns / 1e9 <= share * 1.4


def test_windows_are_whole_and_hold_all_gaps(probe: Path, quick: list[str]) -> None:
    stream = run(probe, "CLK-P-DUR", *A_WHILE, *quick)
    windows = stream.of(StreamWindow)
    assert windows_problem(windows) is None
    assert stream.result.status == "measured"
    kept = sum(len(one.length_ns) for one in windows)
    assert kept == stream.series("gap").count
    longest = max(max(one.length_ns, default=0) for one in windows)
    assert longest == stream.series("gap").max
    (watch,) = [event for name, event in stream.events.items() if name == "gap_watch"]
    least = min(min(one.length_ns, default=10**9) for one in windows)
    assert least >= int(str(watch.data["threshold_ns"]))


def test_a_full_table_says_so_and_the_series_stays_whole(probe: Path, quick: list[str]) -> None:
    stream = run(probe, "CLK-P-DUR", "-p", "gaps_count=5", *A_WHILE, *quick)
    windows = stream.of(StreamWindow)
    kept = sum(len(one.length_ns) for one in windows)
    dropped = sum(one.dropped_count for one in windows)
    assert kept <= 5 and stream.series("gap").count == kept + dropped
    if not dropped:
        pytest.skip("too few gaps: the tick is off")
    assert stream.events["gaps_dropped"].data["dropped_count"] == dropped
    assert only_noise(analysed(stream)).left_out_windows > 0


def test_the_portable_clock_makes_a_coarser_loop(probe: Path, quick: list[str]) -> None:
    del quick  # it has the rate of the counter
    stream = run(probe, "CLK-P-DUR", "--clock", "monotonic", *A_WHILE)
    assert stream.result.status == "measured"
    assert "clock_gettime" in stream.events["gap_watch"].text
    assert any("clock_gettime" in one for one in only_noise(analysed(stream)).notes)


@machine.needs(machine.no_other_user())
def test_without_privilege_it_is_said_that_gaps_may_be_tasks(
    open_probe: Path, quick: list[str]
) -> None:
    stream = run(open_probe, "CLK-P-DUR", *A_WHILE, *quick, prefix=machine.as_nobody())
    assert stream.result.status == "measured"
    assert stream.result.conditions.realtime is False
    notes = only_noise(analysed(stream)).notes
    assert any("not real-time" in one for one in notes)
