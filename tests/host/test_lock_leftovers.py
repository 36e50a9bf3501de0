"""A probe that is killed while it holds named semaphores, System V sets, shared memory and
a second process leaves nothing of it."""

from __future__ import annotations

import os
import signal
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import pytest

from tests import machine
from tests.running import Running, Stream, children, measuring
from tests.waiting import soon

GONE_S = 60  # only a failure waits so long
HERE = ["--clock", "monotonic", "--cpu", str(machine.cpu())]
LONG = [*HERE, "--samples", "1000000000", "--deadline-ns", "60s"]
A_MOMENT_S = 0.03  # of work
SOME_ROUNDS = 300  # of one that sleeps in each; with those that warm up, which are not recorded
CASES = [
    ("SEM-P-RTP", ["-p", "kinds=sysv", "-p", "scopes=process"]),
    ("SEM-P-SHF", ["-p", "kinds=named", "-p", "scopes=process"]),
    (  # each waiter has a priority
        "SEM-P-ARC",
        ["-p", "kinds=sysv", "-p", "scopes=process", "-p", "waiters=128", "--priority", "90"],
    ),
    ("SEM-P-ARC", ["-p", "kinds=named", "-p", "scopes=process", "-p", "waiters=8"]),
    ("SEM-P-NEW", ["-p", "kinds=named"]),
    ("SEM-P-NEW", ["-p", "kinds=sysv"]),
]


def sets_of_this_user() -> set[str]:
    """Ids of the System V sets, with their keys."""
    lines = Path("/proc/sysvipc/sem").read_text().splitlines()[1:]
    fields = [line.split() for line in lines]
    return {f"{one[0]}/{one[1]}" for one in fields if int(one[4]) == os.geteuid()}


def names_of(pid: int) -> set[str]:
    """Of shared memory and semaphores."""
    return {path.name for path in Path("/dev/shm").iterdir() if f"hardstone-{pid}-" in path.name}


def unfinished() -> set[str]:
    """Files that making a named semaphore takes for a moment, with the probe's own mark."""
    found = set()
    for path in Path("/dev/shm").iterdir():
        with suppress(FileNotFoundError):
            facts = path.stat()
            if facts.st_mode == stat.S_IFREG | 0o700 and facts.st_uid == os.geteuid():
                found.add(path.name)
    return found


def is_alive(pid: int) -> bool:
    """A process that has ended and that nobody has waited for yet is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def none_is_alive(pids: set[int]) -> bool:
    return not any(map(is_alive, pids))


def has_ended(running: Running) -> bool:
    return running.process.poll() is not None


@contextmanager
def at_work(
    probe: Path, test: str, count: int, *options: str
) -> Iterator[tuple[Running, set[int]]]:
    """A probe with its helpers."""
    with measuring(probe, test, *options) as running:
        soon(lambda: len(children(running.pid)) >= count or has_ended(running))
        helpers = children(running.pid)
        assert len(helpers) >= count, state_of(running)
        yield running, helpers


def has_second_process(running: Running) -> bool:
    """The other one, which cleans up, leads a session of its own: it takes it a moment."""
    return len(children(running.pid)) == 2 and len(followers(running)) == 1


def after_a_kill(
    probe: Path, test: str, *options: str, first: Callable[[Running, int], None] | None = None
) -> Stream:
    """What is said of a run whose second process is killed, after `first` with its id."""
    with measuring(probe, test, *options) as running:
        soon(lambda: has_second_process(running) or has_ended(running))
        assert has_second_process(running), state_of(running)
        (helper,) = followers(running)
        if first:
            first(running, helper)
        os.kill(helper, signal.SIGKILL)
        return running.rest()


def has_measured(running: Running) -> None:
    """Waits until there are values."""

    def rounds() -> int:
        with suppress(*machine.HAS_GONE):  # threads come and go
            threads = machine.thread_ids(running.pid)[1:]
            return sum(machine.switches(running.pid, thread) for thread in threads)
        return 0

    assert soon(lambda: rounds() >= SOME_ROUNDS or has_ended(running))


def state_of(running: Running) -> str:
    """What the probe said, should it have ended, and else who is there."""
    if running.process.poll() is not None:
        return str(running.rest().result)
    family = [running.pid, *children(running.pid)]
    return str([Path(f"/proc/{one}/stat").read_text() for one in family])


def followers(running: Running) -> set[int]:
    found = set()
    for child in children(running.pid):
        with suppress(ProcessLookupError):
            if os.getsid(child) != child:
                found.add(child)
    return found


@pytest.mark.skipif(not Path("/proc/sysvipc/sem").exists(), reason="no System V semaphores")
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize(("test", "words"), CASES, ids=[f"{one[0]}-{one[1][1]}" for one in CASES])
def test_nothing_is_left(probe: Path, test: str, words: list[str], end: signal.Signals) -> None:
    before = sets_of_this_user()
    count = 2 if "scopes=process" in words else 1
    with at_work(probe, test, count, *LONG, *words) as (running, helpers):
        time.sleep(A_MOMENT_S)
        running.process.send_signal(end)
        running.process.wait(GONE_S)
    assert soon(partial(none_is_alive, helpers))
    assert names_of(running.pid) == set()
    assert soon(lambda: sets_of_this_user() <= before)


def test_a_kill_in_the_middle_of_making_a_name(probe: Path) -> None:
    """A third of the time goes into what would leave a file of a random name."""
    before = unfinished()
    for _ in range(12):
        with at_work(probe, "SEM-P-NEW", 1, *LONG, "-p", "kinds=named") as (running, helpers):
            assert soon(lambda: bool(names_of(running.pid)) or has_ended(running))
            running.process.kill()
            running.process.wait(GONE_S)
        assert soon(partial(none_is_alive, helpers))
        assert names_of(running.pid) == set()
        assert soon(lambda: unfinished() <= before)  # of others, for a moment


def test_a_killed_cleanup_process_costs_no_result(probe: Path) -> None:
    """The probe says to a pipe that nobody reads that all is removed."""
    with at_work(probe, "SEM-P-NEW", 1, *LONG, "-p", "kinds=named") as (running, helpers):
        assert soon(lambda: bool(names_of(running.pid)) or has_ended(running))
        (guard,) = helpers
        os.kill(guard, signal.SIGKILL)
        stream = running.stopped()
    assert stream.code == stream.told_code
    assert stream.result.interrupted and stream.footer.series > 0
    assert not names_of(running.pid)


@pytest.mark.parametrize(
    ("after_s", "stopped_s"),
    [(0, 0), (0.05, 0), (0.05, 0.15)],
    ids=["at its start", "at its work", "after a pause"],
)
def test_a_killed_second_process_fails_the_result(
    probe: Path, after_s: float, stopped_s: float
) -> None:
    """A pause before its end is no reason of its own."""
    if (no_realtime := machine.no_realtime()) is not None:
        pytest.skip(no_realtime)

    def first(_: Running, helper: int) -> None:
        time.sleep(after_s)
        if stopped_s:
            os.kill(helper, signal.SIGSTOP)
            time.sleep(stopped_s)

    words = ["-p", "kinds=unnamed", "-p", "scopes=process", "-p", "waiters=8"]
    result = after_a_kill(probe, "SEM-P-ARC", *LONG, *words, first=first).result
    assert result.status == "failed"
    assert result.reason == "the process of the waiters ended early"
    assert "kills processes" in (result.remedy or "")


@pytest.mark.parametrize("kind", ["unnamed", "named", "sysv", "eventfd", "futex", "mutex"])
@pytest.mark.parametrize("test", ["SEM-P-RTP", "SEM-P-SHF"])
def test_who_waits_for_a_killed_process_is_given_up(probe: Path, test: str, kind: str) -> None:
    """At once, not at the deadline; what was measured is kept."""
    if kind == "sysv" and not Path("/proc/sysvipc/sem").exists():
        pytest.skip("no System V semaphores")
    pids: set[int] = set()

    def first(running: Running, _: int) -> None:
        pids.add(running.pid)
        has_measured(running)

    words = ["-p", f"kinds={kind}", "-p", "scopes=process"]
    stream = after_a_kill(probe, test, *LONG, *words, first=first)
    assert stream.code == 3 and stream.sample_count > 0
    assert stream.result.status == "failed"
    assert stream.result.reason == "the process of the second party ended early"
    assert pids and soon(lambda: not set().union(*map(names_of, pids)))


def test_a_kill_at_the_start_of_the_second_process(probe: Path) -> None:
    """Also between its start and the first look at it."""
    words = ["-p", "kinds=unnamed", "-p", "scopes=process"]
    for after_s in (0, 0.0005, 0.002):

        def first(_: Running, __: int, after_s: float = after_s) -> None:
            time.sleep(after_s)

        result = after_a_kill(probe, "SEM-P-RTP", *LONG, *words, first=first).result
        assert result.status == "failed"
        assert result.reason == "the process of the second party ended early"


def test_the_second_process_has_the_conditions_of_the_first(probe: Path) -> None:
    """CPU, policy, priority and locked memory, or the comparison with a thread means nothing."""
    if (reason := machine.no_realtime()) is not None:
        pytest.skip(reason)
    words = ["-p", "kinds=unnamed", "-p", "scopes=process", "--priority", "42"]
    with at_work(probe, "SEM-P-RTP", 2, *LONG, *words) as (running, _):
        soon(lambda: has_second_process(running) or has_ended(running))
        assert has_second_process(running), state_of(running)
        (partner,) = followers(running)
        found = conditions_of(partner)
    assert found == (True, {machine.cpu()}, os.SCHED_FIFO, 42)


def conditions_of(process: int) -> tuple[bool, set[int], int, int]:
    """Whether it has locked memory, which it does last; its CPUs, policy and priority."""
    status = Path(f"/proc/{process}/status")
    is_locked = soon(lambda: machine.status_number(status, "VmLck") > 0)
    cpus, policy = os.sched_getaffinity(process), os.sched_getscheduler(process)
    return is_locked, cpus, policy, os.sched_getparam(process).sched_priority
