"""Each claim about behaviour fails on a libc that breaks it, and holds on the real one.

Those of TMR-B-EDGE, and of clocks that do not move, break on virtual time: nothing is waited for,
and nothing that happens on the machine can change what is found."""

from __future__ import annotations

import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest

from hardstone.model import Register, StreamVerdict
from tests import machine
from tests.running import Stream, run

POSIX_TIMERS = ("timer-handler", "timer-sigwaitinfo")
OBJECTS = (*POSIX_TIMERS, "timerfd", "setitimer")
MECHANISMS = ("nanosleep", *OBJECTS)
RES = ("CLK-B-RES", "--samples", "20000")
EDGE = ("TMR-B-EDGE",)


def edge(*mechanisms: str) -> tuple[str, ...]:
    return (*EDGE, "-p", f"mechanisms={','.join(mechanisms)}")


def of(claim: str, *kinds: str) -> set[str]:
    return {f"{claim}/{kind}" for kind in kinds}


STILL = ("still", RES, of("monotonic", "THREAD_CPUTIME_ID", "MONOTONIC_RAW"))
BREACHES = [
    ("back", RES, of("monotonic", "MONOTONIC") | of("monotonic_across_cpus", "MONOTONIC")),
    ("back_cpu", RES, of("monotonic_across_cpus", "MONOTONIC")),
]
TIMER_BREACHES = [
    (
        "early",
        edge(*MECHANISMS),
        of("never_early", *MECHANISMS)
        | of("never_early_relative", "nanosleep")
        | of("overrun_count", *POSIX_TIMERS, "timerfd"),  # one more than has passed
    ),
    (
        "drift",
        edge(*OBJECTS),
        of("interval_exact", *OBJECTS) | of("overrun_count", *POSIX_TIMERS, "timerfd"),
    ),
    (
        "overrun",
        edge(*POSIX_TIMERS, "timerfd"),
        of("overrun_count", *POSIX_TIMERS, "timerfd"),
    ),
    ("twice", edge(*OBJECTS), of("one_shot_once", *OBJECTS)),
    ("disarm", edge(*OBJECTS), of("disarm_works", *OBJECTS)),
]


def run_on(
    libc: Path | str,
    probe: Path,
    breach: str,
    words: tuple[str, ...],
    read_ns: int = 1000,
    **variables: str,
) -> Stream:
    """`read_ns`: of a reading of the clock where time is virtual."""
    variables |= {"HARDSTONE_BROKEN": breach, "LD_PRELOAD": str(libc)}
    variables["HARDSTONE_READ_NS"] = str(read_ns)
    options = ["--clock", "monotonic", "--cpu", str(machine.cpu())]
    stream = run(probe, *words, *options, variables=variables)
    assert stream.code == 0, stream.stderr
    assert stream.result.status == "measured", stream.result.reason
    return stream


@pytest.fixture(scope="module")
def virtually(broken_libc: Path, virtual_libc: Path) -> str:
    """The broken libc before the one whose time is virtual."""
    return f"{broken_libc}:{virtual_libc}"


def failed(stream: Stream) -> set[str]:
    return {name for name, passed in stream.verdicts.items() if not passed}


@pytest.mark.parametrize(("breach", "words", "fail"), BREACHES, ids=[one[0] for one in BREACHES])
def test_a_breach_is_seen(
    shared_probe: Path, broken_libc: Path, breach: str, words: tuple[str, ...], fail: set[str]
) -> None:
    if any(name.startswith("monotonic_across") for name in fail) and not two_cpus():
        pytest.skip("one CPU: nothing to compare across CPUs")
    assert fail <= failed(run_on(broken_libc, shared_probe, breach, words))


@pytest.mark.parametrize(
    ("breach", "words", "fail"), TIMER_BREACHES, ids=[one[0] for one in TIMER_BREACHES]
)
def test_a_breach_of_timers_is_seen(
    shared_probe: Path, virtually: str, breach: str, words: tuple[str, ...], fail: set[str]
) -> None:
    """Every claim that a breach touches, for every mechanism, and no other."""
    stream = run_on(virtually, shared_probe, breach, words)
    assert failed(stream) == fail, stream.of(StreamVerdict)


def test_a_stall_of_many_periods_is_no_drift(shared_probe: Path, virtually: str) -> None:
    """One late wait serves all expirations of a hundred periods: these have no lateness."""
    late = ",".join(["0"] * 15 + ["250000000"])
    stream = run_on(virtually, shared_probe, "none", edge(*OBJECTS), HARDSTONE_LATE_NS=late)
    exact = {name for name in stream.verdicts if name.startswith("interval_exact/")}
    assert exact == of("interval_exact", *OBJECTS) and not exact & failed(stream)


def test_timers_of_virtual_time_keep_their_word(shared_probe: Path, virtually: str) -> None:
    stream = run_on(virtually, shared_probe, "none", EDGE)
    claims = {name for _, _, fail in TIMER_BREACHES for name in fail}
    assert failed(stream) == set(), stream.of(StreamVerdict)
    assert claims <= set(stream.verdicts)


def two_cpus() -> bool:
    """An odd CPU is the one that the broken libc sets back."""
    return {cpu % 2 for cpu in os.sched_getaffinity(0)} == {0, 1}


def test_a_clock_that_stands_still_never_passes(shared_probe: Path, virtually: str) -> None:
    """As many readings as are made in a second, of 10 ms each twenty thousandth."""
    stream = run_on(virtually, shared_probe, *STILL[:2], read_ns=10_000_000)
    told = [verdict for verdict in stream.of(StreamVerdict) if "does not move" in verdict.evidence]
    assert {verdict.name for verdict in told} == STILL[2]
    assert not any(verdict.passed for verdict in told)
    assert "monotonic_across_cpus/MONOTONIC_RAW" not in stream.verdicts
    assert "CLOCK_TAI does not move" in stream.events["clock_stands_still"].text


def test_a_clock_that_cannot_be_read_has_no_verdict(shared_probe: Path, broken_libc: Path) -> None:
    stream = run_on(broken_libc, shared_probe, "absent", RES)
    assert "CLOCK_PROCESS_CPUTIME_ID" in stream.events["clock_unsupported"].text
    assert "monotonic/PROCESS_CPUTIME_ID" not in stream.verdicts
    assert "monotonic/THREAD_CPUTIME_ID" in stream.verdicts


def test_equal_readings_compare_no_cpus(shared_probe: Path, broken_libc: Path) -> None:
    if not two_cpus():
        pytest.skip("one CPU: nothing to compare across CPUs")
    stream = run_on(broken_libc, shared_probe, "stops", RES)
    assert "CLOCK_BOOTTIME" in stream.events["clock_stands_still"].text
    assert "monotonic_across_cpus/BOOTTIME" not in stream.verdicts
    assert stream.verdicts["monotonic/BOOTTIME"]


@pytest.mark.parametrize("is_preloaded", [False, True], ids=["real", "breaks nothing"])
def test_clocks_keep_their_word(
    shared_probe: Path, broken_libc: Path, *, is_preloaded: bool
) -> None:
    stream = run_on(broken_libc if is_preloaded else "", shared_probe, "none", RES)
    assert stream.verdicts
    assert failed(stream) == set(), stream.of(StreamVerdict)


def test_real_timers_keep_their_word(shared_probe: Path) -> None:
    """A process for each mechanism, at once: most of the time each waits."""

    with ThreadPoolExecutor() as pool:
        runs = pool.map(lambda one: run_on("", shared_probe, "none", edge(one)), MECHANISMS)
        streams = list(runs)
    assert all(stream.verdicts for stream in streams)
    assert [name for stream in streams for name in failed(stream)] == []


def test_every_claim_has_a_breach(shared_probe: Path) -> None:
    done = subprocess.run([str(shared_probe), "list", "--json"], capture_output=True, check=True)
    tests = msgspec.json.decode(done.stdout, type=Register).tests
    breaches = [*BREACHES, STILL, *TIMER_BREACHES]
    broken = {words[0] for _, words, _ in breaches}
    claims = {one.name for test in tests if test.id in broken for one in test.verdicts}
    assert claims == {name.partition("/")[0] for _, _, fail in breaches for name in fail}
