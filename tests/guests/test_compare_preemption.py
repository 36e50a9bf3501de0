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
from tests.guests.called import call
from tests.guests.kernels import Build
from tests.guests.path_lengths import RUN_S
from tests.guests.test_preemption_models import SWITCH, facts

TEST = "KRN-P-PRE"
OPTIONS = ("--samples", "60", "-p", "operation=none,map,all")
# Beside the figures these are all that two runs may differ in.
_OF_THE_DAY = ("id", "started_utc", "finished_utc")
# The run does not end by itself; each loop does.
KILLED = """
model() {{
    n=0
    until grep -q "($1)" {switch}; do n=$((n+1)); [ $n -lt 200 ] || exit 9; sleep 0.1; done
}}
hardstone-probe run SEM-P-SIG --samples 0 --duration-ns 1h --preemption {other} >/dev/null 2>&1 &
model {other}; kill -9 $!; model {own}; echo back
"""


Done = subprocess.CompletedProcess[bytes]


@pytest.fixture(scope="session")
def twice(kernel: Kernel, build: Build, tmp_path_factory: pytest.TempPathFactory) -> list[Done]:
    """In the lab of the person who runs the tests: no test has its own home yet. A kernel that has
    no `none` is asked once, and one that boots otherwise not at all."""
    folder = tmp_path_factory.mktemp("preemption")
    count = 2 if "none" in build.choices else 0 if build.choices else 1
    return [compared(kernel.name, folder, "--json") for _ in range(count)]


def compared(name: str, folder: Path, *words: str) -> Done:
    return subprocess.run(
        [
            *(sys.executable, "-m", "hardstone", "run", TEST, *OPTIONS, "--compare-preemption"),
            *("--target", f"lab:{name},deterministic", "--quiet", "--store", folder / "store"),
            *words,
        ],
        env=os.environ | {"HARDSTONE_LOCK_FILE": str(folder / "lock")},
        capture_output=True,
        timeout=RUN_S,
        check=False,
    )


def runs(done: Done) -> list[dict[str, Any]]:
    assert done.returncode == 0, done.stderr.decode()
    found: list[dict[str, Any]] = json.loads(done.stdout)["runs"]
    return found


def without_the_day(run: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in run.items() if name not in _OF_THE_DAY}


def highest(run: dict[str, Any]) -> int:
    """The worst observed of all operations together."""
    (result,) = run["results"]
    return next(one["max"] for one in result["series"] if one["labels"] == {"operation": "all"})


def test_off_and_on_differ_and_repeat_to_the_nanosecond(twice: list[Done], build: Build) -> None:
    if "none" not in build.choices:
        pytest.skip("the kernel has no preempt=none")
    first, second = map(runs, twice)
    assert [without_the_day(run) for run in first] == [without_the_day(run) for run in second]
    off, on = first
    models = [run["system"]["kernel.preemption_model"] for run in first]
    assert models == ["none", "full"]
    assert highest(on) < highest(off)
    sides = msgspec.convert([off, on], list[RunDocument])
    (pair,) = pairs_of(*sides)
    rows = {row.figure: row for row in pair.table.rows if row.operation == "all"}
    worst = rows["worst observed"]
    assert float(worst.improvement) > 1 and worst.published == ("1127 ms", "14.6 ms", "77")
    assert not [line for line in pair.table.unlike if line.startswith("kernel.")]


def test_a_kernel_with_one_model_says_so(twice: list[Done], build: Build) -> None:
    if build.choices:
        pytest.skip("the kernel can be booted with several models")
    (done,) = twice
    assert (done.returncode, done.stdout) == (5, b"")
    assert b"is built in" in done.stderr and b"--target lab:debian" in done.stderr


def test_a_run_switches_the_model_and_puts_it_back(guest: LabTransport, build: Build) -> None:
    if not build.choices:
        pytest.skip("the kernel's model is built in")
    for model in build.choices:
        words = ("run", "SEM-P-SIG", "--samples", "20", "--json", "--preemption", model)
        code, said = call(guest, *words)
        result = next(line for line in map(json.loads, said.splitlines()) if "status" in line)
        assert (code, result["status"]) == (0, "measured"), result
        assert result["conditions"]["preemption"] == model
        assert facts(guest)["kernel.preemption_model"] == build.model


def test_a_killed_run_puts_the_model_back(guest: LabTransport, build: Build) -> None:
    if not build.choices:
        pytest.skip("the kernel's model is built in")
    other = next(one for one in build.choices if one != build.model)
    script = KILLED.format(switch=SWITCH, own=build.model, other=other)
    code, said = call(guest, "shield", "--settings", "dma_latency", "--", "sh", "-c", script)
    assert (code, said.strip()) == (0, "back")
    assert facts(guest)["kernel.preemption_model"] == build.model
