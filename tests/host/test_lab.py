"""Guests of the lab, with a kernel of Debian's where one was fetched: hardstone lab get debian."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from hardstone.errors import HardstoneError
from hardstone.lab.kernels import find_kernel
from hardstone.lab.lab_folder import lab_folder
from hardstone.lab.qemu import emulator
from hardstone.store.store import Store
from hardstone.targets.find import find_probe
from tests.host.place import dumped
from tests.waiting import wait_until

KERNELS = lab_folder()  # read before each test gets a home of its own
HARDSTONE = [sys.executable, "-m", "hardstone"]
BOOT_S = 120


@pytest.fixture(autouse=True)
def kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARDSTONE_LAB_DIR", str(KERNELS))
    try:
        find_kernel("debian")
        emulator("x86_64")
    except HardstoneError as error:
        pytest.skip(str(error))


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for the guest's memory, so that what is left there is this test's."""
    folder = tmp_path / "memory"
    folder.mkdir()
    monkeypatch.setenv("HARDSTONE_MEMORY_DIR", str(folder))
    return folder


def test_a_killed_tool_leaves_no_guest_and_loses_no_value(tmp_path: Path, memory: Path) -> None:
    store = tmp_path / "store"
    arguments = ["run", "TMR-P-LAT", "-D", "100s", "--target", "lab:debian", "--store", str(store)]
    tool = subprocess.Popen([*HARDSTONE, *arguments], stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: any(map(is_recording, memory.glob("*/*.rec"))), within_s=BOOT_S)
        assert running_guests(memory)
    finally:
        tool.kill()
        tool.wait()
    wait_until(lambda: not running_guests(memory) and not list(memory.glob("hardstone-lab-*")))
    subprocess.run([*HARDSTONE, "runs", "--store", str(store)], timeout=60, check=True)  # recovers
    document = Store(store).load("last")
    assert document.status == "incomplete"
    assert document.results[0].series[0].count > 0


def is_recording(path: Path) -> bool:
    """Whether the probe in the guest has kept a value."""
    return dumped(find_probe(), path, "TMR-P-LAT").sample_count > 0


def running_guests(memory: Path) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            command = path.read_bytes()
            if os.fsencode(memory) in command and b"qemu-system" in command:
                found.append(int(path.parent.name))
    return found
