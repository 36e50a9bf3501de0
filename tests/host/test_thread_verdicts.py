"""Each claim about threads fails on a libc that breaks it, and holds on the real one."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest

from hardstone.model import StreamSeries
from tests import machine
from tests.host.hogs import cut
from tests.running import Stream, run

pytestmark = pytest.mark.skipif(
    machine.no_realtime() is not None, reason=str(machine.no_realtime())
)

NEW = ("THR-B-NEW", "--samples", "3")
PRI = ("THR-B-PRI", "--samples", "1")
RR = ("THR-B-RR", "--samples", "6")
SPINNING = (*RR, "--clock", "monotonic")  # the breach acts where the clock is read
TWO_SPINNING = (*SPINNING, "-p", "threads=2")  # leaves room for long slices in a burst
SLS = ("THR-P-SLS", "-p", "threads=2,10", "--samples", "5000")
BEHAVIOURS = (NEW, RR, PRI)
TESTS = ("THR-B-NEW", "THR-B-RR", "THR-B-PRI", "THR-P-SLS", "THR-P-PRE", "THR-P-NEW")

# Linux puts a thread that lowers itself at the head whatever the call; sched(7) says so.
NOT_ON_LINUX = {"lowered_setschedparam/fifo", "lowered_setschedparam/rr"}

CALLS = {f"system_calls/{kind}" for kind in ("copy", "map", "fork", "scan", "wait")}
# Given only where one of the system's processes was ready; probe/tests/test_system_threads.c.
SELDOM = {"system_processes"}


def both(*claims: str) -> set[str]:
    return {f"{claim}/{policy}" for claim in claims for policy in ("fifo", "rr")}


# The verdicts that must fail, and no others.
BREACHES = [
    ("equal_at_once", NEW, both("equal", "yield") | NOT_ON_LINUX),
    ("lower_at_once", NEW, both("lower") | NOT_ON_LINUX),
    ("higher_later", NEW, both("higher") | NOT_ON_LINUX),
    ("yield_nothing", NEW, both("yield") | NOT_ON_LINUX),
    ("setschedprio_tail", NEW, both("lowered_setschedprio") | NOT_ON_LINUX),
    ("none", NEW, NOT_ON_LINUX),
    ("rr_is_fifo", RR, {"rotates", "fair"}),
    ("rr_interval", RR, {"slice_length"}),
    ("rr_unfair", SPINNING, {"fair", "slice_length"}),
    ("rr_little", SPINNING, {"fair"}),
    ("rr_first_short", SPINNING, {"first_slice"}),
    ("rr_first_long", TWO_SPINNING, {"first_slice"}),
    ("two_levels", PRI, {"ready_order", "preempts", "levels"}),
    ("one_pair", PRI, {"ready_order", "preempts"}),
    ("few_levels", PRI, {"levels"}),
    ("late_wake", PRI, {"preempts", "levels", "long_use", "time_shared"}),
    ("late_wake_rare", PRI, {"time_shared"}),
    ("degrade", PRI, {"long_use"}),
    ("late_beside_child", PRI, CALLS),
]
DOUBTS = [
    ("yield_nothing", SLS, "ring_out_of_order"),
    ("lower_at_once", ("THR-P-NEW", "--samples", "50"), "not_the_case"),
    ("higher_later", ("THR-P-NEW", "--samples", "50"), "not_the_case"),
    ("late_wake", ("THR-P-PRE", "-p", "by=thread", "--samples", "500"), "not_at_once"),
]


def failing(stream: Stream) -> set[str]:
    assert stream.result.status == "measured", stream.result.reason
    return {name for name, passed in stream.verdicts.items() if not passed}


@pytest.mark.parametrize(("breach", "words", "fail"), BREACHES, ids=[one[0] for one in BREACHES])
def test_a_breach_is_seen(
    shared_probe: Path,
    broken_libc: Path,
    quick: list[str],
    breach: str,
    words: tuple[str, ...],
    fail: set[str],
) -> None:
    libc = {"LD_PRELOAD": str(broken_libc), "HARDSTONE_BROKEN": breach}
    assert failing(run(shared_probe, *words, *quick, variables=libc).checked()) == fail


@pytest.mark.parametrize(("breach", "words", "event"), DOUBTS)
def test_a_figure_of_something_else_fails(
    shared_probe: Path,
    broken_libc: Path,
    quick: list[str],
    breach: str,
    words: tuple[str, ...],
    event: str,
) -> None:
    libc = {"LD_PRELOAD": str(broken_libc), "HARDSTONE_BROKEN": breach}
    stream = run(shared_probe, *words, *quick, variables=libc).checked()
    assert stream.result.status == "failed"
    assert event in stream.events


@pytest.mark.parametrize(
    ("breach", "event", "limits"),
    [
        ("late_start", "low_not_started", ("--samples", "500")),
        ("late_start", "low_not_started", ("--samples", "0", "--duration-ns", "100ms")),
        ("naps", "nobody_to_preempt", ("--samples", "500")),
    ],
)
def test_a_thread_that_does_not_run_is_no_lack_of_preemption(
    shared_probe: Path,
    broken_libc: Path,
    quick: list[str],
    breach: str,
    event: str,
    limits: tuple[str, ...],
) -> None:
    words = ("THR-P-PRE", "-p", "by=timer", "--priority", "50", "--clock", "monotonic", *limits)
    libc = {"LD_PRELOAD": str(broken_libc), "HARDSTONE_BROKEN": breach}
    stream = run(shared_probe, *words, *quick, variables=libc).checked()
    assert stream.result.status == "failed"
    assert event in stream.events
    assert "not measured whether it is preempted" in str(stream.result.reason)
    assert "THR-B-PRI" not in str(stream.result.remedy)


@pytest.mark.parametrize("words", BEHAVIOURS, ids=lambda words: words[0])
def test_the_real_libc_keeps_its_word(
    shared_probe: Path, quick: list[str], words: tuple[str, ...]
) -> None:
    """And every verdict has a breach, by its full name: one of several instances that fails says
    nothing of the others."""
    broken = {name for _, other, fail in BREACHES if other[0] == words[0] for name in fail}
    expected = NOT_ON_LINUX if platform.system() == "Linux" and words == NEW else set()
    stream = run(shared_probe, *words, *quick).checked()
    assert set(stream.verdicts) - SELDOM == broken
    assert failing(stream) == expected


def test_all_promises_can_be_kept(shared_probe: Path, broken_libc: Path, quick: list[str]) -> None:
    libc = {"LD_PRELOAD": str(broken_libc), "HARDSTONE_BROKEN": "setschedparam_tail"}
    assert failing(run(shared_probe, *NEW, *quick, variables=libc).checked()) == set()


@pytest.mark.parametrize("test", TESTS)
def test_without_the_right_it_is_denied(open_probe: Path, test: str) -> None:
    reason = machine.no_other_user() or machine.no_prlimit()
    if reason:
        pytest.skip(reason)
    stream = run(open_probe, test, prefix=machine.as_nobody())
    assert stream.result.status == "denied"
    assert stream.result.remedy
    assert stream.sample_count == 0 and not stream.verdicts


@pytest.mark.parametrize("test", TESTS)
def test_time_shared_threads_are_not_measured_by_the_same_name(probe: Path, test: str) -> None:
    stream = run(probe, test, "--policy", "other")
    assert stream.result.status == "denied"
    assert not stream.verdicts


@pytest.mark.parametrize("test", ("THR-B-NEW", "THR-B-PRI", "THR-P-NEW"))
def test_too_few_priorities_are_told(probe: Path, quick: list[str], test: str) -> None:
    stream = run(probe, test, "--priority", "1", *quick)
    assert stream.result.status == "denied"
    assert "priorities" in str(stream.result.reason)


def test_a_limit_leaves_the_smaller_rings(probe: Path, quick: list[str]) -> None:
    if reason := machine.no_prlimit():
        pytest.skip(reason)
    prefix = ["prlimit", f"--as={24 * 2**20}"]
    words = ("THR-P-SLS", "-p", "threads=2,1000", "--samples", "2000")
    stream = run(probe, *words, *quick, prefix=prefix)
    counts = [(one.labels["threads"], one.count) for one in stream.of(StreamSeries)]
    assert stream.result.status == "denied"
    assert "1000 threads" in str(stream.result.reason) and stream.result.remedy
    assert counts == [(2, 2000), (1000, 0)]


def test_a_thread_above_the_ring_is_noticed(probe: Path, hog: Path, quick: list[str]) -> None:
    words = ("THR-P-SLS", "-p", "threads=2", "--duration-ns", "800ms", "--samples", "0")
    stream = cut(probe, hog, [*words, *quick], ["60000000", "150000000", "40"])
    assert stream.result.status == "failed"
    assert "throttled" in stream.events
