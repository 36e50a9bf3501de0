"""What the tests of threads time, on a libc whose calls cost known times: each value is the
sum of the calls between its two moments, and of nothing else."""

from __future__ import annotations

import os
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from tests import machine
from tests.virtual.calls import (
    COST,
    READ_NS,
    Call,
    Cost,
    figures,
    in_words,
    measure,
    measure_with_calls,
)

pytestmark = [
    pytest.mark.skipif(machine.no_realtime() is not None, reason=str(machine.no_realtime())),
]

RINGS = (2, 10, 33)
SAMPLES = 200
SLOW_READ_NS = 10  # where a thread reads the clock until a time: a tenth of the readings
YIELD = COST["sched_yield"]
CREATE, CANCEL, JOIN = COST["pthread_create"], COST["pthread_cancel"], COST["pthread_join"]
POST, WAIT = COST["sem_post"], COST["sem_wait"]


def test_a_switch_is_one_yield(shared_probe: Path, virtual_calls: Path) -> None:
    """Its beginning in one thread and its end in the next: no wake-up, no lap that begins."""
    rings = ",".join(map(str, RINGS))
    words = ("THR-P-SLS", "-p", f"threads={rings}", "--samples", str(SAMPLES))
    stream = measure(shared_probe, virtual_calls, *words)
    value = YIELD.whole + READ_NS
    assert figures(stream) == {("switch", str(n)): [SAMPLES, value, value] for n in RINGS}
    assert stream.result.status == "measured", stream.result.reason


@pytest.mark.parametrize("count", RINGS)
def test_a_ring_has_as_many_threads_as_its_label(
    shared_probe: Path, virtual_calls: Path, tmp_path: Path, count: int
) -> None:
    words = ("THR-P-SLS", "-p", f"threads={count}", "--samples", str(SAMPLES))
    stream, calls = measure_with_calls(shared_probe, virtual_calls, tmp_path, *words)
    yields = [one for one in calls if one.name == "sched_yield"]
    turns = [one.thread for one in yields if not one.is_leave]
    ring = turns[:count]
    assert len(set(ring)) == count
    assert turns == (ring * len(turns))[: len(turns)]
    assert len({one.priority for one in yields}) == 1
    assert stream.result.status == "measured", stream.result.reason


def test_rings_are_those_asked_for(shared_probe: Path, virtual_calls: Path, tmp_path: Path) -> None:
    """One after the other in one run: each label's turns are made by so many threads."""
    words = ("THR-P-SLS", "-p", "threads=2,7,5", "--samples", "100")
    _, calls = measure_with_calls(shared_probe, virtual_calls, tmp_path, *words)
    turns = [one.thread for one in calls if one.name == "sched_yield" and not one.is_leave]
    counts: list[int] = []
    while turns:
        size = 1 + next((i for i, one in enumerate(turns[1:]) if one == turns[0]), 0)
        whole = next((i for i, one in enumerate(turns) if one != turns[i % size]), len(turns))
        counts.append(size)
        turns = turns[whole:]
    assert [one for i, one in enumerate(counts) if i == 0 or one != counts[i - 1]] == [2, 7, 5]


def test_a_preemption_is_a_wake_up(shared_probe: Path, virtual_calls: Path) -> None:
    words = ("THR-P-PRE", "--samples", "100")
    stream = measure(shared_probe, virtual_calls, *words, read_ns=SLOW_READ_NS)
    by_thread = POST.enter + WAIT.woken + SLOW_READ_NS
    assert set(figures(stream)) == {("preemption", "thread"), ("preemption", "timer")}
    assert figures(stream)["preemption", "thread"] == [100, by_thread, by_thread]
    assert_by_timer(figures(stream)["preemption", "timer"])
    assert stream.result.status == "measured" and not stream.events


def assert_by_timer(figure: list[int]) -> None:
    """Low reads the clock until the time has come, which the last reading may be beyond."""
    count, least, most = figure
    wake_up = COST["clock_nanosleep"].leave
    assert count == 100
    assert wake_up + SLOW_READ_NS <= least <= most < wake_up + 2 * SLOW_READ_NS


def test_who_has_not_started_is_not_preempted(shared_probe: Path, virtual_calls: Path) -> None:
    """Low comes out of its sem_wait after the first expiry of each chunk."""
    slow = {**COST, "sem_wait": Cost(WAIT.enter, 200_000, WAIT.blocked)}
    words = ("THR-P-PRE", "-p", "by=timer", "--samples", "100")
    costs = in_words(slow, SLOW_READ_NS)
    stream = measure(shared_probe, virtual_calls, *words, HARDSTONE_COSTS=costs)
    assert stream.result.status == "measured", stream.result.reason
    assert set(figures(stream)) == {("preemption", "timer")}
    assert_by_timer(figures(stream)["preemption", "timer"])
    assert set(stream.events) == {"low_not_started"}


def test_who_is_preempted(shared_probe: Path, virtual_calls: Path, tmp_path: Path) -> None:
    """The wakers are one thread, one below the woken one."""
    words = ("THR-P-PRE", "-p", "by=thread", "--samples", "64", "--priority", "50")
    _, calls = measure_with_calls(shared_probe, virtual_calls, tmp_path, *words)
    pairs = Counter(pairs_of(calls))
    assert pairs[(49, 50)] >= 64


def pairs_of(calls: list[Call]) -> list[tuple[int, int]]:
    """Priorities of who called sem_post, and of who came out of sem_wait by it at once."""
    return [
        (one.priority, other.priority)
        for one, other in pairwise(calls)
        if one.name == "sem_post" and not one.is_leave and one.thread != other.thread
        if other.name == "sem_wait" and other.is_leave and other.object == one.object
    ]


def test_the_first_cancellation_loads_the_unwinder(shared_probe: Path, virtual_calls: Path) -> None:
    """From a file that is not in memory, so that the creator blocks; nobody may take it for a
    thread that ran although it should never run."""
    for file in (*Path("/lib").glob("libgcc_s.so.1"), *Path("/lib").glob("*/libgcc_s.so.1")):
        with file.open("rb") as opened:
            os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    words = ("THR-P-NEW", "-p", "cases=never-run", "--samples", "50")
    stream = measure(shared_probe, virtual_calls, *words)
    assert "not_the_case" not in stream.events
    assert stream.result.status == "measured", stream.result.reason


def test_creation_and_deletion(shared_probe: Path, virtual_calls: Path) -> None:
    stream = measure(shared_probe, virtual_calls, "THR-P-NEW", "--samples", "50")
    end = CANCEL.whole + JOIN.whole + READ_NS
    # the one that blocks lowered itself and has still to come back from that, and to block
    lowered = COST["pthread_setschedprio"].leave + WAIT.enter
    expected = {
        ("create", "never-run"): CREATE.whole + READ_NS,
        ("delete", "never-run"): end,
        ("create", "run-and-terminate"): CREATE.enter + READ_NS,
        ("delete", "run-and-terminate"): JOIN.whole + READ_NS,
        ("create", "run-and-block"): CREATE.enter + READ_NS,
        ("delete", "run-and-block"): end + lowered,
    }
    assert figures(stream) == {key: [50, value, value] for key, value in expected.items()}
    assert stream.result.status == "measured", stream.result.reason
