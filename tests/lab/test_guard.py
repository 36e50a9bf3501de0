"""The guard of a guest, with a program that only sleeps for QEMU."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hardstone.lab import guest

LONGEST_S = 60.0
SLEEPS = "import os, sys, time; print(os.getpid(), file=sys.stderr, flush=True); time.sleep(1000)"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "guest"
    made.mkdir()
    return made


@pytest.fixture
def guard(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    words = [sys.executable, "-I", "-S", str(guest.GUARD), str(folder)]
    process = subprocess.Popen([*words, sys.executable, "-c", SLEEPS], stdin=subprocess.PIPE)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def until_started(folder: Path) -> int:
    until = time.monotonic() + LONGEST_S
    while time.monotonic() < until:
        said = folder / "qemu"
        if said.exists() and said.read_text().endswith("\n"):
            return int(said.read_text())
        time.sleep(0.01)
    raise AssertionError("it did not start")


def until_gone(pid: int) -> None:
    until = time.monotonic() + LONGEST_S
    while time.monotonic() < until:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return
        except (FileNotFoundError, ProcessLookupError):
            return
        time.sleep(0.01)
    raise AssertionError("it is still there")


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
