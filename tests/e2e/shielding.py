"""Shields that tests start, and how they look that nothing of them is left."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.e2e.shield_state import JOURNAL, State, differences, read_state, read_task

RESERVED = max(os.sched_getaffinity(0))
GIVE_UP_S = 30
QUICK = ("--samples", "200", "--cpu", str(RESERVED))
FOREVER = ("sh", "-c", "echo ready; exec sleep 60")

Shield = subprocess.Popen[bytes]
SHIELD_MARKS = [
    pytest.mark.e2e,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can reserve a CPU"),
    pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one CPU: none can be reserved"),
    pytest.mark.usefixtures("alone"),
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


def wait_until(claim: Callable[[], bool], what: str) -> None:
    give_up_s = time.monotonic() + GIVE_UP_S
    while not claim():
        assert time.monotonic() < give_up_s, what
        time.sleep(0.005)


def all_is_back(before: State) -> None:
    wait_until(lambda: not JOURNAL.exists(), "the journal is still there")
    assert differences(before, read_state()) == []


def is_over(pid: int) -> bool:
    with suppress(OSError):
        return read_task(Path(f"/proc/{pid}/task/{pid}"))[1].is_ending
    return True


def holds(members: Path, pid: int) -> bool:
    with suppress(OSError):
        return str(pid) in members.read_text().split()
    return False
