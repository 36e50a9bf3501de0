"""Kernel preemption off and on: a guest that counts instructions shows the difference, and repeats
it to the nanosecond; a kernel that switches at run time is put back. What a kernel says of its
preemption is what Debian built, and what was asked of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hardstone.doctor.diagnose import Diagnosis
from hardstone.lab.kernels import Kernel
from hardstone.model import RunDocument
from hardstone.preemption.tables import pairs_of
from hardstone.targets.lab import LabTarget, LabTransport
from hardstone.targets.probe_target import decode_facts
from tests.guest.called import GUEST_S, call, measured, shell
from tests.guest.kernels import Build
from tests.guest.path_lengths import Counted

SWITCH = "/sys/kernel/debug/sched/preempt"
TEST = "KRN-P-PRE"
# Of a timer and of what two threads share: whatever is measured repeats.
OTHERS = ("TMR-P-LAT", "SEM-P-SHF", "MUT-P-ARC")
OPTIONS = ("--samples", "60", "-p", "operation=none,map,all")
# Beside the figures these are all that two runs may differ in.
_OF_THE_DAY = ("id", "started_utc", "finished_utc")
# The run does not end by itself.
KILLED = """
model() {{
    until grep -q "($1)" {switch}; do sleep 0.1; done
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
    return compared_in(folder, memory, "--target", target, "--compare-preemption")


@pytest.fixture(scope="module")
def again(
    kernel: Kernel, build: Build, memory: Path, tmp_path_factory: pytest.TempPathFactory
) -> Done:
    """One side of it, asked for in another way."""
    if "none" not in build.choices:
        pytest.skip("the kernel has no preempt=none")
    target = f"lab:{kernel.name},preempt=none"
    folder = tmp_path_factory.mktemp("again")
    return compared_in(folder, memory, "--target", target, "--deterministic")


def compared_in(folder: Path, memory: Path, *words: str) -> Done:
    own = {"HARDSTONE_LOCK_FILE": str(folder / "lock"), "HARDSTONE_MEMORY_DIR": str(memory)}
    command = [sys.executable, "-m", "hardstone", "run", TEST, *OTHERS, *OPTIONS, *words]
    return subprocess.run(
        [*command, "--json", "--quiet", "--store", folder / "store"],
        env=os.environ | own,
        capture_output=True,
        timeout=GUEST_S,
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


# ---- what a kernel says, and what a run switches ----


def needs_choices(build: Build) -> None:
    if not build.choices:
        pytest.skip("the kernel's model is built in")


def chosen(guest: LabTransport) -> str:
    """The model that the kernel has now, in its own words: facts take a second."""
    return shell(guest, f"cat {SWITCH}").partition("(")[2].partition(")")[0]


def test_the_facts_after_a_plain_boot(guest: LabTransport, build: Build, kernel: Kernel) -> None:
    found = LabTarget(guest).facts().facts
    assert found["kernel.release"] == kernel.release
    assert found["kernel.realtime"] is build.is_realtime
    assert found["kernel.preemption_model"] == build.model
    assert found["kernel.preemption_is_dynamic"] is bool(build.choices)
    assert found.get("kernel.preemption_choices", "") == ", ".join(build.choices)
    before = "rt, " if build.is_realtime and build.choices else ""
    after = " (dynamic)" if build.choices else ""
    assert found["kernel.preemption"] == f"{before}{build.model}{after}"


def test_the_facts_follow_the_model_at_run_time(guest: LabTransport, build: Build) -> None:
    needs_choices(build)
    models = [*build.choices, build.model]
    one = f"echo $model > {SWITCH} && hardstone-probe facts --json"
    script = f"for model in {' '.join(models)}; do {one} || exit 1; done"
    code, said = call(guest, "shield", "--settings", "cpuset", "--", "sh", "-c", script)
    assert code == 0, said
    assert [model_in(line) for line in said.splitlines()] == models
    assert chosen(guest) == build.model


def model_in(line: str) -> object:
    return decode_facts(line.encode()).facts["kernel.preemption_model"]


def test_the_boot_line_chooses_the_model(counted: Counted, tuned: Diagnosis, build: Build) -> None:
    """The run that counts instructions asked for `full`, the machine with many words for the first
    model: neither boots otherwise."""
    needs_choices(build)
    (finding,) = [one for one in tuned.findings if one.rule == "preemption"]
    assert finding.facts["kernel.preemption_model"] == build.models[0]
    assert counted.facts.facts["kernel.preemption_model"] == "full"


def test_a_run_switches_the_model_and_puts_it_back(guest: LabTransport, build: Build) -> None:
    needs_choices(build)
    for model in build.choices:
        stream = measured(guest, "SEM-P-SIG", "--samples", "20", "--preemption", model)
        assert stream.sample_count > 0, stream.result
        assert stream.result.conditions.preemption == model
        assert chosen(guest) == build.model


def test_a_killed_run_puts_the_model_back(guest: LabTransport, build: Build) -> None:
    needs_choices(build)
    other = next(one for one in build.choices if one != build.model)
    script = KILLED.format(switch=SWITCH, own=build.model, other=other)
    code, said = call(guest, "shield", "--settings", "dma_latency", "--", "sh", "-c", script)
    assert (code, said.strip()) == (0, "back")
    assert chosen(guest) == build.model
