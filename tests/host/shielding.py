"""Shields that tests start, and how they look that nothing of them is left."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.host.shield_state import (
    JOURNAL,
    State,
    differences,
    guard_of,
    read_state,
)
from tests.running import has_ended
from tests.waiting import wait_until

RESERVED = max(os.sched_getaffinity(0))
GIVE_UP_S = 30
QUICK = ("--samples", "200", "--cpu", str(RESERVED))
FOREVER = ("sh", "-c", "echo ready; exec sleep 60")

Shield = subprocess.Popen[bytes]
SHIELD_MARKS = [
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can reserve a CPU"),
    pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one CPU: none can be reserved"),
]


def command(probe: Path, *words: str) -> list[str]:
    return [str(probe), "shield", "--cpu", str(RESERVED), "--", *words]


def tool(*words: str) -> list[str]:
    """The same by way of the toolkit."""
    start = "from hardstone.cli.main import main; main()"
    return [sys.executable, "-c", start, "shield", "--cpu", str(RESERVED), "--", *words]


@contextmanager
def shielded(words: list[str], *, is_session: bool = True) -> Iterator[Shield]:
    """Returns when COMMAND runs on the reserved CPU; as a session, or as a job of this one."""
    with subprocess.Popen(
        words,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=is_session,
        process_group=None if is_session else 0,
    ) as process:
        try:
            assert process.stdout is not None and process.stderr is not None
            assert process.stdout.readline() == b"ready\n", process.stderr.read()
            yield process
        finally:
            with suppress(ProcessLookupError):
                process.kill()


@contextmanager
def on_a_terminal(words: Sequence[str]) -> Iterator[tuple[int, int]]:
    """The process that leads the session of the terminal, and the other side of that. Keys reach it
    also where the tests themselves were started in the background, with signals ignored."""
    pid, terminal = pty.fork()
    if pid == 0:
        for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTSTP):
            signal.signal(number, signal.SIG_DFL)
        os.execvp(words[0], list(words))  # noqa: S606
    try:
        yield pid, terminal
    finally:
        with suppress(OSError):
            os.close(terminal)
        with suppress(ProcessLookupError, ChildProcessError):
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def read_until(terminal: int, what: bytes | None) -> bytes:
    """None: until the last process of the terminal has gone."""
    shown = b""
    give_up_s = time.monotonic() + GIVE_UP_S
    while what is None or what not in shown:
        left_s = max(give_up_s - time.monotonic(), 0)
        assert select.select([terminal], [], [], left_s)[0], f"no {what!r} came after {shown!r}"
        try:
            more = os.read(terminal, 4096)
        except OSError:  # the terminal has gone
            more = b""
        if not more:
            assert what is None, f"the terminal ended without {what!r} after {shown!r}"
            break
        shown += more
    return shown


def journal_lines() -> int:
    """-1 without a journal."""
    with suppress(FileNotFoundError):
        return JOURNAL.read_bytes().count(b"\n")
    return -1


def wait_for_moment(process: Shield, has_come: Callable[[], bool]) -> None:
    """Or for the end, should the moment have passed unseen."""
    give_up_s = time.monotonic() + GIVE_UP_S
    while not has_come() and process.poll() is None:
        assert time.monotonic() < give_up_s, "the moment does not come"


def all_is_back(before: State) -> None:
    wait_until(lambda: not JOURNAL.exists(), "the journal is still there")
    assert_same(before)


def assert_same(before: State) -> None:
    """For a moment an interrupt that moves shows CPUs that it had before: looked at twice."""
    left = differences(before, read_state())
    if left:
        time.sleep(0.01)
        left = [one for one in differences(before, read_state()) if one in left]
    assert left == [], left  # told here: pytest does so for the files of tests only


def holds(members: Path, pid: int) -> bool:
    with suppress(OSError):
        return str(pid) in members.read_text().split()
    return False


def kill_both(process: Shield) -> None:
    """Owner and guard at one moment: nobody is left to put things back."""
    guard = guard_of(process.pid)
    os.kill(process.pid, signal.SIGSTOP)
    os.kill(guard, signal.SIGKILL)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=GIVE_UP_S)
    wait_until(lambda: has_ended(guard), "the guard does not end")  # it holds the journal till then
    assert JOURNAL.exists()
