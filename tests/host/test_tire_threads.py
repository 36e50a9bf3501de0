"""Threads of the simulation by the real probe: their policy as the kernel says, when they begin,
and what is counted of them."""

from __future__ import annotations

import os
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest

from tests import machine
from tests.host.tire import BOTH, PERIOD_NS, RF, RT, simulations, values
from tests.running import measuring, run
from tests.waiting import soon

pytestmark = pytest.mark.skipif(
    machine.no_realtime() is not None, reason=str(machine.no_realtime())
)


@pytest.fixture
def free(quick: list[str]) -> list[str]:
    """Saves the second of calibration, and binds to nothing."""
    return quick[:2]


def test_steps_begin_at_their_release(probe: Path, free: list[str]) -> None:
    """Each thread, and the release is that of the deadline: those that are late add up to no
    drift, and a step that is early is none."""

    words = ("-p", "threads=2", "-p", "block_steps=20", "-p", "masses=400", *BOTH)
    result, problem = run(probe, RT, *free, "--samples", "20", *words).read_by_the_toolkit()
    assert problem is None
    tables = [table.columns for table in result.tables if table.name == "blocks"]
    assert [len(columns["step"]) for columns in tables] == [20] * 4
    waits = [
        [begin - release for release, begin in zip(one["release_ns"], one["begin_ns"], strict=True)]
        for one in tables
    ]
    assert min(map(min, waits)) >= 0
    read_ns, write_ns = (
        sum(
            end - begin
            for one in tables[:2]
            for end, begin in zip(one[last], one[first], strict=True)
        )
        for last, first in (("read_ns", "begin_ns"), ("write_ns", "compute_ns"))
    )
    # three semaphores of each mass to read, one to write
    assert 1 <= read_ns / write_ns <= 100
    assert max(min(one[10:]) for one in waits) <= PERIOD_NS * 0.125


def test_total_time_ends_with_the_last_step_of_the_last_thread(
    probe: Path, free: list[str]
) -> None:
    words = ("-p", "threads=3", "-p", "step_ns=100ms", "-p", "block_steps=10", *BOTH)
    stream = run(probe, RF, *free, "-p", "simulated_s=1", *words)
    result, problem = stream.read_by_the_toolkit()
    assert problem is None
    ends = [table.columns["write_ns"][9] for table in result.tables]
    totals = [total for total in values(stream, "total_time") if total is not None]
    lasts = [max(ends[:3]), max(ends[3:])]
    after = [total - last for total, last in zip(totals, lasts, strict=True)]
    assert min(after) >= 0
    assert max(after) <= 1_000_000


def test_cpu_time_and_switches_of_one_thread(probe: Path, free: list[str]) -> None:
    """It has no more CPU time than there is; it sleeps once a step, of its own accord."""
    words = ("-p", "threads=1", "-p", "masses=4000")

    fast = run(probe, RF, *free, *words, "-p", "simulated_s=5")
    (told,), (total,) = simulations(fast), values(fast, "total_time")
    cpu_ns = told["cpu_ns"]
    assert isinstance(cpu_ns, int) and total is not None and cpu_ns <= total + 1_000_000
    (slow,) = simulations(run(probe, RT, *free, *words, "--samples", "20"))
    willing, forced = slow.get("voluntary_count", 20), slow.get("involuntary_count", 0)
    assert isinstance(willing, int) and isinstance(forced, int)
    assert 0.6 <= cpu_ns / total <= 1.1
    assert 15 <= willing <= 25
    assert forced <= 10


def scheduling_of(pid: int) -> Counter[tuple[int, int]]:
    """Policy and priority of each thread of a process but the first, which supervises."""
    found = Counter[tuple[int, int]]()
    for one in machine.thread_ids(pid)[1:]:
        with suppress(ProcessLookupError):  # threads of the preparation come and go
            found[os.sched_getscheduler(one), priority_of(one)] += 1
    return found


def priority_of(thread: int) -> int:
    return os.sched_getparam(thread).sched_priority


POLICIES = {"fifo": os.SCHED_FIFO, "rr": os.SCHED_RR, "other": os.SCHED_OTHER, "deadline": 6}


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("policy", ["fifo", "rr", "other", "deadline"])
def test_threads_have_the_policy_and_their_parents_priority(
    probe: Path, free: list[str], policy: str, named: bool
) -> None:
    """Three threads and their parent, as the kernel says. With `named` the policy is the
    parameter's, else that of the run; nobody inherits SCHED_DEADLINE."""
    if policy == "deadline" and not named:
        pytest.skip("no policy of a run")
    words = ("-p", f"policy={policy}") if named else ("--policy", policy)
    long = ("--samples", "0", "--duration-ns", "30s", "-p", "threads=3", "-p", "step_ns=1ms")
    priority = 0 if policy in {"other", "deadline"} else 37
    asked = () if policy == "other" and not named else ("--priority", "37")
    with measuring(probe, RT, *free, *long, *words, *asked) as running:
        wanted = Counter({(POLICIES[policy], priority): 3 if policy == "deadline" else 4})
        if policy == "deadline":
            wanted[os.SCHED_FIFO, 37] = 1
        is_as_wanted = soon(lambda: scheduling_of(running.pid) == wanted, within_s=15)
        stream = running.stopped()
    if policy == "deadline" and stream.result.status in {"denied", "unsupported"}:
        pytest.skip(str(stream.result.reason))
    assert is_as_wanted
    (told,) = simulations(stream)
    assert told["policy"] == policy
