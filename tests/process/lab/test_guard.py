"""The guard of a guest, with a program that only sleeps for QEMU."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hardstone.lab.guest import guard_command
from hardstone.lab.guest_folder import make_guest_folder, remove_abandoned_guests
from tests.running import has_ended
from tests.waiting import LONGEST_S, wait_until

MOST_BYTES = 1 << 20
SLEEPS = "import os, sys, time; print(os.getpid(), file=sys.stderr, flush=True); time.sleep(1000)"


@pytest.fixture
def locked(tmp_path: Path) -> Iterator[tuple[Path, int]]:
    folder, lock = make_guest_folder(tmp_path)
    try:
        yield folder, lock
    finally:
        os.close(lock)


@pytest.fixture
def folder(locked: tuple[Path, int]) -> Path:
    return locked[0]


@pytest.fixture
def guard(locked: tuple[Path, int]) -> Iterator[subprocess.Popen[bytes]]:
    yield from started(*locked)


def started(
    folder: Path, lock: int, program: str = SLEEPS, *, on_one_cpu: bool = False
) -> Iterator[subprocess.Popen[bytes]]:
    guarding = guard_command(folder, lock, MOST_BYTES, on_one_cpu=on_one_cpu)
    words = [*guarding, sys.executable, "-c", program]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, pass_fds=[lock])
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def until_started(folder: Path) -> int:
    def said() -> str:
        path = folder / "qemu"
        return path.read_text() if path.exists() else ""

    return int(wait_until(lambda: said().endswith("\n") and said(), "it did not start"))


def until_gone(pid: int) -> None:
    wait_until(lambda: has_ended(pid), "it is still there")


def test_the_end_of_the_tool_ends_the_guest_and_removes_its_folder(
    folder: Path, guard: subprocess.Popen[bytes]
) -> None:
    pid = until_started(folder)
    guard.communicate(timeout=LONGEST_S)  # closes the pipe, as the kernel does after a kill
    until_gone(pid)
    assert not folder.exists()


def test_a_request_to_end_removes_all_too(folder: Path, guard: subprocess.Popen[bytes]) -> None:
    pid = until_started(folder)
    guard.terminate()
    guard.wait(LONGEST_S)
    until_gone(pid)
    assert not folder.exists()


def test_a_killed_guard_takes_the_guest_along(folder: Path, guard: subprocess.Popen[bytes]) -> None:
    pid = until_started(folder)
    guard.kill()
    until_gone(pid)


def test_the_lock_is_the_guard_s_and_not_the_guest_s(tmp_path: Path) -> None:
    """After a kill of tool and guard nobody holds it, whatever became of the guest."""
    folder, lock = make_guest_folder(tmp_path)
    for guard in started(folder, lock):
        os.close(lock)  # as at the end of the tool
        pid = until_started(folder)
        held = [str(path.readlink()) for path in Path(f"/proc/{pid}/fd").iterdir()]
        assert str(folder) not in held
        remove_abandoned_guests(tmp_path)
        assert folder.exists()
        guard.kill()
        guard.wait(LONGEST_S)
        remove_abandoned_guests(tmp_path)
        assert not folder.exists()
        until_gone(pid)


def test_a_guest_that_writes_without_end_is_ended(locked: tuple[Path, int]) -> None:
    folder, lock = locked
    writes = f"open({str(folder / 'console')!r}, 'wb').write(bytes({2 * MOST_BYTES}))"
    begins = "import os, signal, sys, time; signal.signal(signal.SIGXFSZ, signal.SIG_DFL)"
    told = "print(os.getpid(), file=sys.stderr, flush=True)"
    program = f"{begins}\n{told}\n{writes}\ntime.sleep(1000)"
    for guard in started(folder, lock, program):
        until_gone(until_started(folder))  # by itself: at the end of the tool its guard kills it
        assert (folder / "console").stat().st_size == MOST_BYTES
        guard.communicate(timeout=LONGEST_S)
        assert guard.returncode == 128 + signal.SIGXFSZ


@pytest.mark.parametrize("on_one_cpu", [False, True])
def test_a_guest_that_counts_instructions_has_one_cpu(
    locked: tuple[Path, int], on_one_cpu: bool
) -> None:
    """Its guard has all that there were: that it takes one is over when QEMU has begun."""
    own = os.sched_getaffinity(0)
    for guard in started(*locked, on_one_cpu=on_one_cpu):
        pid = until_started(locked[0])
        assert os.sched_getaffinity(pid) == ({max(own)} if on_one_cpu else own)
        wait_until(lambda pid=guard.pid: os.sched_getaffinity(pid) == own)
