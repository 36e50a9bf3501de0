"""Each claim about behaviour fails on a libc that breaks it, and holds on the real one."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import msgspec
import pytest

from hardstone.model import Register, StreamVerdict
from tests.e2e import machine
from tests.e2e.again import uncut, until_quiet
from tests.e2e.running import Stream, run

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("alone")]

POSIX_TIMERS = ("timer-handler", "timer-sigwaitinfo")
OBJECTS = (*POSIX_TIMERS, "timerfd", "setitimer")
RES = ("CLK-B-RES", "--samples", "20000")
EDGE = ("TMR-B-EDGE",)


def edge(*mechanisms: str) -> tuple[str, ...]:
    return (*EDGE, "-p", f"mechanisms={','.join(mechanisms)}")


def of(claim: str, *kinds: str) -> set[str]:
    return {f"{claim}/{kind}" for kind in kinds}


BREACHES = [
    ("back", RES, of("monotonic", "MONOTONIC") | of("monotonic_across_cpus", "MONOTONIC")),
    ("still", RES, of("monotonic", "THREAD_CPUTIME_ID", "MONOTONIC_RAW")),
    ("back_cpu", RES, of("monotonic_across_cpus", "MONOTONIC")),
    (
        "early",
        edge("nanosleep", *OBJECTS),
        of("never_early", "nanosleep", *OBJECTS) | of("never_early_relative", "nanosleep"),
    ),
    ("drift", edge(*OBJECTS), of("interval_exact", *OBJECTS)),
    (
        "overrun",
        edge(*POSIX_TIMERS, "timerfd"),
        of("overrun_count", *POSIX_TIMERS, "timerfd"),
    ),
    ("twice", edge(*OBJECTS), of("one_shot_once", *OBJECTS)),
    ("disarm", edge(*OBJECTS), of("disarm_works", *OBJECTS)),
]


def run_on(libc: Path | None, probe: Path, breach: str, words: tuple[str, ...]) -> Stream:
    variables = {"HARDSTONE_BROKEN": breach}
    if libc is not None:
        variables["LD_PRELOAD"] = str(libc)
    options = ["--clock", "monotonic", "--cpu", str(machine.cpu())]
    stream = uncut(lambda: run(probe, *words, *options, variables=variables))
    assert stream.code == 0, stream.stderr
    assert stream.result.status == "measured", stream.result.reason
    return stream


@pytest.mark.parametrize(("breach", "words", "fail"), BREACHES, ids=[one[0] for one in BREACHES])
def test_a_breach_is_seen(
    shared_probe: Path, broken_libc: Path, breach: str, words: tuple[str, ...], fail: set[str]
) -> None:
    if any(name.startswith("monotonic_across") for name in fail) and not two_cpus():
        pytest.skip("one CPU: nothing to compare across CPUs")
    verdicts = run_on(broken_libc, shared_probe, breach, words).verdicts
    assert fail <= {name for name, passed in verdicts.items() if not passed}


def two_cpus() -> bool:
    """An odd CPU is the one that the broken libc sets back."""
    return {cpu % 2 for cpu in os.sched_getaffinity(0)} == {0, 1}


def test_a_clock_that_stands_still_never_passes(shared_probe: Path, broken_libc: Path) -> None:
    stream = run_on(broken_libc, shared_probe, "still", RES)
    told = [verdict for verdict in stream.of(StreamVerdict) if "does not move" in verdict.evidence]
    assert {verdict.name for verdict in told} == of(
        "monotonic", "THREAD_CPUTIME_ID", "MONOTONIC_RAW"
    )
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


def broken_words(libc: Path | None, probe: Path, words: tuple[str, ...]) -> list[str]:
    verdicts = run_on(libc, probe, "none", words).verdicts
    assert verdicts
    return [name for name, passed in verdicts.items() if not passed]


@pytest.mark.parametrize("words", [RES, EDGE], ids=lambda words: words[0])
def test_the_real_libc_keeps_its_word(shared_probe: Path, words: tuple[str, ...]) -> None:
    until_quiet(lambda: broken_words(None, shared_probe, words))


def test_a_libc_that_breaks_nothing_passes(shared_probe: Path, broken_libc: Path) -> None:
    until_quiet(lambda: broken_words(broken_libc, shared_probe, RES))


def test_every_claim_has_a_breach(shared_probe: Path) -> None:
    done = subprocess.run([str(shared_probe), "list", "--json"], capture_output=True, check=True)
    tests = msgspec.json.decode(done.stdout, type=Register).tests
    broken = {words[0] for _, words, _ in BREACHES}
    claims = {one.name for test in tests if test.id in broken for one in test.verdicts}
    assert claims == {name.partition("/")[0] for _, _, fail in BREACHES for name in fail}
