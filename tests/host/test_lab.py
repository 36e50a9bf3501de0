"""Guests of the lab, with a kernel of Debian's where one was fetched: hardstone lab get debian."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from hardstone.errors import HardstoneError
from hardstone.lab.emulator import emulator
from hardstone.lab.kernels import find_kernel
from hardstone.lab.lab_folder import lab_folder
from hardstone.targets.find import find_probe
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
    done = subprocess.run(
        [*HARDSTONE, "runs", "--json", "--store", str(store)],
        capture_output=True,
        timeout=60,
        check=True,
    )
    run = json.loads(done.stdout)[0]["id"]
    document = json.loads(
        subprocess.run(
            [*HARDSTONE, "show", run, "--json", "--store", str(store)],
            capture_output=True,
            timeout=60,
            check=True,
        ).stdout
    )
    assert document["status"] == "incomplete"
    assert document["results"][0]["series"][0]["count"] > 0


def is_recording(path: Path) -> bool:
    """Whether the probe in the guest has kept a value."""
    done = subprocess.run(
        [find_probe(), "dump", path, "--json"], capture_output=True, timeout=60, check=False
    )
    return re.search(rb'"name":"wakeup".*"count":[1-9]', done.stdout) is not None


def running_guests(memory: Path) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                command = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if os.fsencode(memory) in command and b"qemu-system" in command:
                found.append(int(entry.name))
    return found
