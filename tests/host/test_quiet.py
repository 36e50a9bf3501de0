"""While it measures, the probe touches nothing on its CPU: no output, no wake-ups, few pages."""

from __future__ import annotations

import os
import select
import time
from pathlib import Path

from tests import machine
from tests.running import measuring

LOCKED_LIMIT_KB = 4 * 1024
LOOKING_S = 1.1  # what wakes up once a second is seen
LOOK_SWITCHES = 2  # of a look at the kernel's counters, once a second: a wait or two


def test_nothing_happens_while_measuring(probe: Path, quick: list[str]) -> None:
    options = ["--duration-ns", "60s", "--samples", "0", *quick]
    with measuring(probe, "TMR-P-LAT", *options) as running:
        machine.wait_for_wakeups(running.pid, 200)
        locked_kb = machine.status_number(Path(f"/proc/{running.pid}/status"), "VmLck")
        begun_s = time.monotonic()
        before = machine.switches(running.pid, running.pid)
        time.sleep(LOOKING_S)
        after = machine.switches(running.pid, running.pid)
        looks_at_most = int(time.monotonic() - begun_s) + 1
        watched_from = os.sched_getaffinity(running.pid)
        said = select.select([running.process.stdout], [], [], 0)[0]
        stream = running.stopped()
    if watched_from == {machine.cpu()}:
        assert before == after
    else:
        assert after - before <= looks_at_most * LOOK_SWITCHES
        assert machine.cpu() not in watched_from
    assert said == []
    assert (locked_kb > 0) == stream.result.conditions.memory_locked
    assert locked_kb <= LOCKED_LIMIT_KB
    assert stream.result.environment["major_faults_count"] == 0


def test_every_thread_runs_as_it_says(probe: Path, quick: list[str]) -> None:
    """What the conditions tell is what the kernel tells."""
    options = ["--duration-ns", "60s", "--samples", "0", *quick]
    with measuring(probe, "TMR-P-LAT", *options) as running:
        machine.wait_for_wakeups(running.pid, 200)
        seen = {seen_by_the_kernel(running.pid, one) for one in machine.thread_ids(running.pid)}
        conditions = running.stopped().result.conditions
    assert (conditions.policy, conditions.priority, conditions.cpu) in seen


def seen_by_the_kernel(pid: int, thread: int) -> tuple[str, int, int]:
    """Policy, priority and the CPU that a thread last ran on."""
    fields = Path(f"/proc/{pid}/task/{thread}/stat").read_text().rpartition(")")[2].split()
    policy = {0: "other", 1: "fifo", 2: "rr"}[int(fields[38])]
    return policy, int(fields[37]), int(fields[36])
