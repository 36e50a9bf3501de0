"""The probe for small systems: without load, without shields, for few CPUs, on plain POSIX, and on
musl where that is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

import variant_build
from hardstone.model import Facts, StreamSeries
from tests.running import run

LIMIT_BYTES = 64 * 1024
ORDINARY = ("--policy", "other")  # others may take the CPU from it without a failure

on_musl = pytest.mark.skipif(
    shutil.which("musl-gcc") is None, reason="musl-gcc is not here: apt-get install musl-tools"
)


def variant_of(target: str) -> Path:
    """A program of the build whose unit tests the check `probe variant` runs."""
    compiler = os.environ.get("CC", "cc").split()[0]
    if shutil.which(compiler) is None:
        pytest.skip(f"there is no {compiler} here")
    command = [sys.executable, variant_build.__file__, target]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return variant_build.VARIANT.folder / target


@pytest.fixture(scope="module")
def small_probe() -> Path:
    return variant_of("hardstone-probe")


def test_it_lists_every_test(small_probe: Path, probe: Path) -> None:
    told = [
        msgspec.json.decode(subprocess.check_output([program, "list", "--json"]))
        for program in (small_probe, probe)
    ]
    small, whole = [[test["id"] for test in register["tests"]] for register in told]
    assert small == whole


def test_what_only_other_ports_notice_is_said(small_probe: Path) -> None:
    stream = run(small_probe, "CLK-B-RES", "--samples", "100", *ORDINARY)
    assert stream.result.status == "measured"
    assert stream.events["stops_not_watched"].data == {"reason": "this port cannot detect stops"}
    assert stream.events["not_watched"].data == {
        "reason": "the system does not report which CPUs measure"
    }
    bound = run(small_probe, "CLK-B-RES", "--samples", "100", "--cpu", "0", *ORDINARY)
    assert (bound.result.status, bound.result.reason) == (
        "unsupported",
        "this port cannot choose a CPU",
    )


LEFT_OUT = {
    "this build has no load": (
        *("--load heavy", "--load nothing", "load heavy", "load --list", "load --check heavy"),
    ),
    "this build has no shields": (
        *("--cpu-config shielded", "--settings interrupts"),
        *("shield -- true", "shield --show", "shield --restore"),
    ),
}


@pytest.mark.parametrize(
    ("words", "reason"), [(words, why) for why, rows in LEFT_OUT.items() for words in rows]
)
def test_what_is_left_out_is_said(small_probe: Path, words: str, reason: str) -> None:
    if words.startswith("--"):
        result = run(small_probe, "CLK-B-RES", "--samples", "100", *words.split()).result
        assert (result.status, result.reason) == ("unsupported", reason)
        assert "build the probe with -D" in (result.remedy or "")
    else:
        command = [small_probe, *words.split()]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (5, "")
        assert reason in done.stderr


def test_one_series_takes_64_kb() -> None:
    """All memory of the probe's own code, counted."""
    options = ["-p", "kinds=mutex", "-p", "scopes=thread", "--samples", "1000", *ORDINARY]
    stream = run(variant_of("tests/hardstone-probe-counted"), "SEM-P-SIG", *options)
    assert stream.result.status == "measured", stream.result.reason
    (series,) = stream.of(StreamSeries)
    assert series.count == 1000
    parts = dict(line.split() for line in stream.stderr.splitlines())
    assert set(parts) == {"heap", "threads", "main"}
    assert sum(map(int, parts.values())) <= LIMIT_BYTES, parts


def test_nothing_of_them_is_linked(small_probe: Path) -> None:
    if shutil.which("nm") is None:
        pytest.skip("there is no nm here")
    told = subprocess.check_output(["nm", small_probe], text=True)
    names = {line.split()[-1] for line in told.splitlines()}
    assert "load_start" in names
    assert not names & {"load_elements", "load_cpu", "duty_keep", "load_guard_start", "load_kernel"}
    assert not names & {"journal_create", "shield_guard_start", "shield_undo_all"}


def test_signals_are_queued_with_nothing_but_posix(small_probe: Path) -> None:
    """Its limit cannot be lowered there, and is reached if it is no higher than a burst may be."""
    words = ["-p", "burst=500", "-p", "receivers=handler", *ORDINARY]
    stream = run(small_probe, "SIG-B-QUE", *words)
    assert stream.result.status == "measured", stream.result.reason
    assert stream.verdicts["none_lost/handler/process"] and all(stream.verdicts.values())
    assert ("limit/handler/process" in stream.verdicts) != ("limit_not_reached" in stream.events)


def test_rights_are_unsupported_with_nothing_but_posix(small_probe: Path) -> None:
    stream = run(small_probe, "PRV-B-GRP")
    assert stream.result.status == "unsupported" and stream.verdicts == {}
    assert "right_not_tried" in stream.events


@on_musl
def test_the_library_is_not_taken_for_another(small_probe: Path) -> None:
    told = subprocess.run([small_probe, "facts", "--json"], capture_output=True, check=True)
    assert msgspec.json.decode(told.stdout, type=Facts).libc.startswith("musl")


@on_musl
def test_what_musl_claims_works_and_some_works_without_a_claim(small_probe: Path) -> None:
    """It has no priority ceilings, not even the functions."""
    stream = run(small_probe, "POS-B-INV", "-p", "limit_ns=60s", *ORDINARY)
    told = {
        key: str(value).split()
        for event in stream.told("posix_options")
        for key, value in event.data.items()
    }
    assert stream.verdicts["claims_are_true"]
    assert told["priority_scheduling"] == ["none", "none", "missing"]  # its call says ENOSYS
    assert told["thread_prio_protect"] == ["none", "none", "missing"]
    assert told["synchronized_io"] == ["none", "none", "works"]
