"""A probe that is killed while it holds named semaphores, System V sets, shared memory and
a second process leaves nothing of it."""

from __future__ import annotations

import os
import signal
import stat
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from tests.e2e import machine
from tests.e2e.running import Running, measuring

pytestmark = pytest.mark.e2e

GONE_S = 60  # only a failure waits so long
LONG = ["--samples", "1000000000", "--deadline-ns", "60s", "--clock", "monotonic"]
CASES = [
    ("SEM-P-RTP", ["-p", "kinds=sysv", "-p", "scopes=process"]),
    ("SEM-P-SHF", ["-p", "kinds=named", "-p", "scopes=process"]),
    ("SEM-P-ARC", ["-p", "kinds=sysv", "-p", "scopes=process", "-p", "waiters=128"]),
    ("SEM-P-ARC", ["-p", "kinds=named", "-p", "scopes=process", "-p", "waiters=8"]),
    ("SEM-P-NEW", ["-p", "kinds=named"]),
    ("SEM-P-NEW", ["-p", "kinds=sysv"]),
]


def children(pid: int) -> set[int]:
    found = set()
    for task in Path(f"/proc/{pid}/task").iterdir():
        with suppress(*machine.HAS_GONE):  # threads come and go
            found.update(map(int, (task / "children").read_text().split()))
    return found


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


def wait_until(holds: Callable[[], bool]) -> bool:
    give_up_s = time.monotonic() + GONE_S
    while time.monotonic() < give_up_s:
        if holds():
            return True
        time.sleep(0.01)
    return False


def is_alive(pid: int) -> bool:
    """A process that has ended and that nobody has waited for yet is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def none_is_alive(pids: set[int]) -> bool:
    return not any(map(is_alive, pids))


def helpers_of(running: Running, count: int) -> set[int]:
    assert wait_until(lambda: len(children(running.pid)) >= count)
    return children(running.pid)


def second_process_of(running: Running) -> int:
    """The other one, which cleans up, leads a session of its own: it takes it a moment."""
    is_there = wait_until(lambda: len(children(running.pid)) == 2 and len(followers(running)) == 1)
    assert is_there, state_of(running)
    return followers(running).pop()


def state_of(running: Running) -> str:
    """What the probe said, should it have ended, and else who is there."""
    if running.process.poll() is not None:
        return str(running.rest().result)
    family = [running.pid, *children(running.pid)]
    return str([Path(f"/proc/{one}/stat").read_text() for one in family])


def followers(running: Running) -> set[int]:
    return {child for child in children(running.pid) if os.getsid(child) != child}


@pytest.mark.skipif(not Path("/proc/sysvipc/sem").exists(), reason="no System V semaphores")
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize(("test", "words"), CASES, ids=[f"{one[0]}-{one[1][1]}" for one in CASES])
def test_nothing_is_left(probe: Path, test: str, words: list[str], end: signal.Signals) -> None:
    before = sets_of_this_user()
    options = [*LONG, *words, "--cpu", str(machine.cpu())]
    with measuring(probe, test, *options) as running:
        helpers = helpers_of(running, 2 if "scopes=process" in words else 1)
        time.sleep(0.1)
        running.process.send_signal(end)
        running.process.wait(GONE_S)
    assert wait_until(partial(none_is_alive, helpers))
    assert names_of(running.pid) == set()
    assert wait_until(lambda: sets_of_this_user() <= before)


def test_a_kill_in_the_middle_of_making_a_name(probe: Path) -> None:
    """A third of the time goes into what would leave a file of a random name."""
    options = [*LONG, "-p", "kinds=named", "--cpu", str(machine.cpu())]
    for _ in range(12):
        with measuring(probe, "SEM-P-NEW", *options) as running:
            helpers = helpers_of(running, 1)
            assert wait_until(lambda: bool(names_of(running.pid)))
            running.process.kill()
            running.process.wait(GONE_S)
        assert wait_until(partial(none_is_alive, helpers))
        assert names_of(running.pid) == set()
        assert wait_until(lambda: unfinished() == set())  # of others, for a moment


def test_a_killed_cleanup_process_costs_no_result(probe: Path) -> None:
    """The probe says to a pipe that nobody reads that all is removed."""
    options = [*LONG, "-p", "kinds=named", "--cpu", str(machine.cpu())]
    with measuring(probe, "SEM-P-NEW", *options) as running:
        (guard,) = helpers_of(running, 1)
        assert wait_until(lambda: bool(names_of(running.pid)))
        os.kill(guard, signal.SIGKILL)
        running.process.send_signal(signal.SIGINT)
        stream = running.rest()
    assert stream.code == stream.told_code
    assert stream.result.interrupted and stream.footer.series > 0
    assert names_of(running.pid) == set()


@pytest.mark.parametrize(
    ("after_s", "stopped_s"),
    [(0, 0), (0.2, 0), (0.2, 0.15)],
    ids=["at its start", "at its work", "after a pause"],
)
def test_a_killed_second_process_fails_the_result(
    probe: Path, after_s: float, stopped_s: float
) -> None:
    """A pause before its end is no reason of its own."""
    if (no_realtime := machine.no_realtime()) is not None:
        pytest.skip(no_realtime)
    words = ["-p", "kinds=unnamed", "-p", "scopes=process", "-p", "waiters=8"]
    with measuring(probe, "SEM-P-ARC", *LONG, *words, "--cpu", str(machine.cpu())) as running:
        helper = second_process_of(running)
        time.sleep(after_s)
        if stopped_s:
            os.kill(helper, signal.SIGSTOP)
            time.sleep(stopped_s)
        os.kill(helper, signal.SIGKILL)
        result = running.rest().result
    assert result.status == "failed"
    assert result.reason == "the process of the waiters ended early"
    assert "kills processes" in (result.remedy or "")


@pytest.mark.parametrize("kind", ["unnamed", "named", "sysv", "eventfd", "futex", "mutex"])
@pytest.mark.parametrize("test", ["SEM-P-RTP", "SEM-P-SHF"])
def test_who_waits_for_a_killed_process_is_given_up(probe: Path, test: str, kind: str) -> None:
    """At once, not at the deadline; what was measured is kept."""
    if kind == "sysv" and not Path("/proc/sysvipc/sem").exists():
        pytest.skip("no System V semaphores")
    words = ["-p", f"kinds={kind}", "-p", "scopes=process"]
    with measuring(probe, test, *LONG, *words, "--cpu", str(machine.cpu())) as running:
        helper = second_process_of(running)
        time.sleep(0.3)
        os.kill(helper, signal.SIGKILL)
        stream = running.rest()
    assert stream.code == 3 and stream.sample_count > 0
    assert stream.result.status == "failed"
    assert stream.result.reason == "the process of the second party ended early"
    assert wait_until(lambda: names_of(running.pid) == set())


def test_a_kill_at_the_start_of_the_second_process(probe: Path) -> None:
    """Also between its start and the first look at it."""
    words = ["-p", "kinds=unnamed", "-p", "scopes=process"]
    for after_s in (0, 0.0005, 0.002):
        with measuring(probe, "SEM-P-RTP", *LONG, *words, "--cpu", str(machine.cpu())) as running:
            helper = second_process_of(running)
            time.sleep(after_s)
            os.kill(helper, signal.SIGKILL)
            result = running.rest().result
        assert result.status == "failed"
        assert result.reason == "the process of the second party ended early"


def test_the_second_process_has_the_conditions_of_the_first(probe: Path) -> None:
    """CPU, policy, priority and locked memory, or the comparison with a thread means nothing."""
    if (reason := machine.no_realtime()) is not None:
        pytest.skip(reason)
    words = ["-p", "kinds=unnamed", "-p", "scopes=process", "--priority", "42"]
    with measuring(probe, "SEM-P-RTP", *LONG, *words, "--cpu", str(machine.cpu())) as running:
        partner = second_process_of(running)
        status = Path(f"/proc/{partner}/status")
        assert wait_until(lambda: machine.status_number(status, "VmLck") > 0)
        assert os.sched_getaffinity(partner) == {machine.cpu()}
        assert os.sched_getscheduler(partner) == os.SCHED_FIFO
        assert os.sched_getparam(partner).sched_priority == 42
