"""The probe for small systems: without load, without shields, for few CPUs, on plain POSIX."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

import small_build
from tests.conftest import ROOT
from tests.running import run

SOURCES = ROOT / "probe" / "src"
LEFT_OUT = {"load", "shield"}

pytestmark = pytest.mark.e2e


def is_needed(file: Path) -> bool:
    parts = file.relative_to(SOURCES).parts
    if "port" in parts:
        return "posix" in parts
    is_left_out = parts[0] == "command" and file.stem in LEFT_OUT
    return not is_left_out and not LEFT_OUT & set(parts[:-1])


@pytest.fixture(scope="module")
def small_probe() -> Path:
    """The build whose unit tests the check `probe small` runs."""
    compiler = os.environ.get("CC", "cc").split()[0]
    if shutil.which(compiler) is None:
        pytest.skip(f"there is no {compiler} here")
    command = [sys.executable, small_build.__file__, "hardstone-probe"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return small_build.PROGRAM


def test_it_lists_every_test(small_probe: Path, probe: Path) -> None:
    told = [
        msgspec.json.decode(subprocess.check_output([program, "list", "--json"]))
        for program in (small_probe, probe)
    ]
    small, whole = [[test["id"] for test in register["tests"]] for register in told]
    assert small == whole


def test_it_measures(small_probe: Path) -> None:
    stream = run(small_probe, "CLK-B-RES", "--samples", "100")
    assert stream.result.status == "measured"


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--load", "heavy"], "load is left out of this build"),
        (["--load", "no such thing"], "load is left out of this build"),
        (["--cpu-config", "shielded"], "shields are left out of this build"),
        (["--settings", "interrupts"], "shields are left out of this build"),
    ],
)
def test_a_run_says_what_is_left_out(small_probe: Path, options: list[str], reason: str) -> None:
    stream = run(small_probe, "CLK-B-RES", "--samples", "100", *options)
    assert (stream.result.status, stream.result.reason) == ("unsupported", reason)
    assert "build the probe with -D" in (stream.result.remedy or "")


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["load", "heavy"], "load is left out of this build"),
        (["load", "--list"], "load is left out of this build"),
        (["load", "--check", "heavy"], "load is left out of this build"),
        (["shield", "--", "true"], "shields are left out of this build"),
        (["shield", "--show"], "shields are left out of this build"),
        (["shield", "--restore"], "shields are left out of this build"),
    ],
)
def test_a_command_says_what_is_left_out(small_probe: Path, words: list[str], reason: str) -> None:
    done = subprocess.run([small_probe, *words], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (5, "")
    assert reason in done.stderr


def test_nothing_of_them_is_linked(small_probe: Path) -> None:
    if shutil.which("nm") is None:
        pytest.skip("there is no nm here")
    told = subprocess.check_output(["nm", small_probe], text=True)
    names = {line.split()[-1] for line in told.splitlines()}
    assert "load_start" in names
    assert not names & {"load_elements", "load_cpu", "duty_keep", "guard_start", "load_kernel"}
    assert not names & {"journal_create", "shield_guard_start", "shield_undo_all"}


def test_signals_are_queued_with_nothing_but_posix(small_probe: Path) -> None:
    """Its limit cannot be lowered there, and is reached if it is no higher than a burst may be."""
    stream = run(small_probe, "SIG-B-QUE", "-p", "burst=500", "-p", "receivers=handler")
    assert stream.result.status == "measured", stream.result.reason
    assert stream.verdicts["none_lost/handler/process"] and all(stream.verdicts.values())
    assert ("limit/handler/process" in stream.verdicts) != ("limit_not_reached" in stream.events)


def test_rights_are_unsupported_with_nothing_but_posix(small_probe: Path) -> None:
    stream = run(small_probe, "PRV-B-GRP")
    assert stream.result.status == "unsupported" and stream.verdicts == {}
    assert "right_not_tried" in stream.events
