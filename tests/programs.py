"""The probe under test, and the programs and libraries that the build makes for tests."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests import machine
from tests.conftest import PROBE


@pytest.fixture(scope="session")
def probe() -> Path:
    """The probe that `make setup` built; skips where there is none."""
    if not PROBE.exists():
        pytest.skip("there is no build/probe/hardstone-probe: make setup")
    return PROBE


@pytest.fixture(scope="session")
def open_probe(probe: Path) -> Iterator[Path]:
    """A copy where every user can get at it: the folders of pytest are its user's alone."""
    with tempfile.TemporaryDirectory(prefix="hardstone-open-") as folder:
        Path(folder).chmod(0o755)
        copy = Path(folder, "hardstone-probe")
        shutil.copy(probe, copy)
        copy.chmod(0o755)
        yield copy


def script(path: Path, body: str = "") -> Path:
    """A program of the shell."""
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def ran(
    words: Sequence[str | Path], *, check: bool = False, **how: Any
) -> subprocess.CompletedProcess[str]:
    """A program that has ended, with all that it said."""
    return subprocess.run(words, capture_output=True, text=True, check=check, **how)


def needed(program: str, package: str = "") -> str:
    """The path of a program; skips where it is not installed."""
    found = shutil.which(program)
    if found is None:
        pytest.skip(f"there is no {program}: sudo apt-get install {package or program}")
    return found


def helper(probe: Path, name: str) -> Path:
    """What the build left beside the probe."""
    path = probe.parent / "tests" / name
    if not path.exists():
        pytest.skip(f"{path} is not there: make setup")
    return path


@pytest.fixture(scope="session")
def hog(probe: Path) -> Path:
    """A real-time program that takes a CPU and says from when to when."""
    return helper(probe, "hardstone-hog")


@pytest.fixture(scope="session")
def interrupter(probe: Path) -> Path:
    """A program that interrupts a CPU from another one and says when."""
    return helper(probe, "hardstone-interrupter")


@pytest.fixture(scope="session")
def broken_libc(probe: Path) -> Path:
    return helper(probe, "broken.so")


@pytest.fixture(scope="session")
def virtual_libc(probe: Path) -> Path:
    """A libc in which every call takes a time that is known."""
    return helper(probe, "virtual.so")


@pytest.fixture(scope="session")
def shared_probe(probe: Path) -> Path:
    """The probe linked dynamically: a libc can be put before its own."""
    return helper(probe, "hardstone-probe-shared")


@pytest.fixture(scope="session")
def quick(probe: Path) -> list[str]:
    """Options that save the second of calibration, and keep to one CPU."""
    from tests.running import rate_of_counter

    del probe  # without one the test is skipped
    return [*rate_of_counter(), "--cpu", str(machine.cpu())]
