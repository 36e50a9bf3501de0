"""Kernel preemption off and on: a guest that counts instructions shows the difference, and repeats
it to the nanosecond; a kernel that switches at run time is put back."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hardstone.lab.kernels import Kernel
from hardstone.model import RunDocument
from hardstone.present.preemption_pairs import pairs_of
from hardstone.targets.lab import LabTransport
from tests.guest.called import call
from tests.guest.kernels import Build
from tests.guest.test_preemption_models import SWITCH, chosen

RUN_S = 600
TEST = "KRN-P-PRE"
# Of a timer and of what two threads share: whatever is measured repeats.
OTHERS = ("TMR-P-LAT", "SEM-P-SHF", "MUT-P-ARC")
OPTIONS = ("--samples", "60", "-p", "operation=none,map,all")
# Beside the figures these are all that two runs may differ in.
_OF_THE_DAY = ("id", "started_utc", "finished_utc")
# The run does not end by itself; each loop does.
KILLED = """
model() {{
    n=0
    until grep -q "($1)" {switch}; do n=$((n+1)); [ $n -lt 600 ] || exit 9; sleep 0.1; done
}}
hardstone-probe run SEM-P-SIG --samples 0 --duration-ns 1h --preemption {other} >/dev/null 2>&1 &
model {other}; kill -9 $!; model {own}; echo back
"""


Done = subprocess.CompletedProcess[bytes]


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for the memory of guests, so that what is left there is theirs."""
    return tmp_path_factory.mktemp("memory")


@pytest.fixture(scope="module")
def compared(
    kernel: Kernel, build: Build, memory: Path, tmp_path_factory: pytest.TempPathFactory
) -> Done:
    """In the lab of the person who runs the tests: no test has its own home yet."""
    if build.choices and "none" not in build.choices:
        pytest.skip("the kernel has no preempt=none")
    target = f"lab:{kernel.name},deterministic"
    folder = tmp_path_factory.mktemp("preemption")
    return measured(folder, memory, "--target", target, "--compare-preemption")


@pytest.fixture(scope="module")
def again(
    kernel: Kernel, build: Build, memory: Path, tmp_path_factory: pytest.TempPathFactory
) -> Done:
    """One side of it, asked for in another way."""
    if "none" not in build.choices:
        pytest.skip("the kernel has no preempt=none")
    target = f"lab:{kernel.name},preempt=none"
    folder = tmp_path_factory.mktemp("again")
    return measured(folder, memory, "--target", target, "--deterministic")


def measured(folder: Path, memory: Path, *words: str) -> Done:
    own = {"HARDSTONE_LOCK_FILE": str(folder / "lock"), "HARDSTONE_MEMORY_DIR": str(memory)}
    command = [sys.executable, "-m", "hardstone", "run", TEST, *OTHERS, *OPTIONS, *words]
    return subprocess.run(
        [*command, "--json", "--quiet", "--store", folder / "store"],
        env=os.environ | own,
        capture_output=True,
        timeout=RUN_S,
        check=False,
    )


def document(done: Done) -> dict[str, Any]:
    assert done.returncode == 0, done.stderr.decode()
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def without_the_day(run: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in run.items() if name not in _OF_THE_DAY}


def highest(run: dict[str, Any]) -> int:
    """The worst observed of all operations together."""
    result = next(one for one in run["results"] if one["test"] == TEST)
    return next(one["max"] for one in result["series"] if one["labels"] == {"operation": "all"})


def test_off_and_on_differ_and_off_repeats_to_the_nanosecond(
    compared: Done, again: Done, memory: Path
) -> None:
    """Under `full` repeats what the golden files of path lengths have."""
    first = document(compared)["runs"]
    off, on = first
    second = document(again)
    assert without_the_day(off) == without_the_day(second)
    assert {one["status"] for one in second["results"]} == {"measured"}
    assert list(memory.iterdir()) == []
    models = [run["system"]["kernel.preemption_model"] for run in first]
    assert models == ["none", "full"]
    assert highest(on) < highest(off)
    sides = msgspec.convert([off, on], list[RunDocument])
    (pair,) = pairs_of(*sides)
    rows = {row.figure: row for row in pair.table.rows if row.operation == "all"}
    worst = rows["worst observed"]
    assert float(worst.improvement) > 1 and worst.published == ("1127 ms", "14.6 ms", "77")
    assert not [line for line in pair.table.unlike if line.startswith("kernel.")]


def test_a_kernel_with_one_model_says_so(compared: Done, build: Build) -> None:
    if build.choices:
        pytest.skip("the kernel can be booted with several models")
    assert (compared.returncode, compared.stdout) == (5, b"")
    assert b"is built in" in compared.stderr and b"--target lab:debian" in compared.stderr


def test_a_run_switches_the_model_and_puts_it_back(guest: LabTransport, build: Build) -> None:
    if not build.choices:
        pytest.skip("the kernel's model is built in")
    for model in build.choices:
        words = ("run", "SEM-P-SIG", "--samples", "20", "--json", "--preemption", model)
        code, said = call(guest, *words)
        result = next(line for line in map(json.loads, said.splitlines()) if "status" in line)
        assert (code, result["status"]) == (0, "measured"), result
        assert result["conditions"]["preemption"] == model
        assert chosen(guest) == build.model


def test_a_killed_run_puts_the_model_back(guest: LabTransport, build: Build) -> None:
    if not build.choices:
        pytest.skip("the kernel's model is built in")
    other = next(one for one in build.choices if one != build.model)
    script = KILLED.format(switch=SWITCH, own=build.model, other=other)
    code, said = call(guest, "shield", "--settings", "dma_latency", "--", "sh", "-c", script)
    assert (code, said.strip()) == (0, "back")
    assert chosen(guest) == build.model
