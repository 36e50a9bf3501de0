"""The policy that a result names is the policy of the threads that were measured."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests import machine
from tests.running import Running, measuring
from tests.waiting import soon

pytestmark = pytest.mark.skipif(
    machine.no_realtime() is not None, reason=str(machine.no_realtime())
)

FOREVER = ("--samples", "0", "--duration-ns", "30s")
TESTS = [
    (("THR-P-SLS", "-p", "threads=10", *FOREVER), 11),
    (("THR-P-PRE", "-p", "by=thread", *FOREVER), 2),
    (("THR-P-NEW", "-p", "cases=run-and-block", *FOREVER), 2),
    (("THR-B-PRI", "--samples", "9"), 3),
    (("SEM-P-ARC", "-p", "kinds=unnamed", "-p", "waiters=8", *FOREVER), 9),
    (("MUT-P-ARC", "-p", "protocols=none", *FOREVER), 4),
]


def policies(running: Running) -> list[int]:
    """Of the threads beside the main one, which only supervises, that are there right now."""
    found = []
    for thread in machine.thread_ids(running.pid):
        if thread == running.pid:
            continue
        try:
            found.append(os.sched_getscheduler(thread))
        except ProcessLookupError:
            continue
    return found


@pytest.mark.parametrize(("words", "least"), TESTS, ids=[words[0] for words, _ in TESTS])
@pytest.mark.parametrize(("policy", "number"), [("rr", os.SCHED_RR), ("fifo", os.SCHED_FIFO)])
def test_the_threads_have_the_policy_of_the_result(
    probe: Path, quick: list[str], policy: str, number: int, words: tuple[str, ...], least: int
) -> None:
    seen: list[int] = []

    def have_been_seen() -> bool:
        seen[:] = policies(running)
        return len(seen) >= least or running.process.poll() is not None

    with measuring(probe, *words, "--policy", policy, *quick) as running:
        soon(have_been_seen)
        stream = running.stopped()
    assert len(seen) >= least
    shared = seen.count(os.SCHED_OTHER)  # the time-shared one of THR-B-PRI
    assert shared <= (words[0] == "THR-B-PRI")
    assert set(seen) - {os.SCHED_OTHER} == {number}
    assert stream.result.conditions.policy == policy
