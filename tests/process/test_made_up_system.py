"""A port to a system that does not exist, made by docs/how-to/port.md alone: what the system says
and measures comes through, what it lacks is said, and what it says wrongly is no figure."""

from __future__ import annotations

import fcntl
import os
import re
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import msgspec
import pytest

from hardstone.model import Facts, Register, StreamSeries
from tests.conftest import ROOT
from tests.port_build import build_port, compiler, run_command
from tests.running import Stream, run

SYSTEM = ROOT / "tests/made_up_system"
PORT = SYSTEM / "port"
BUILD = ROOT / "build/made-up-system"
TICK_NS = 100_000
QUICK = ("--samples", "3", "--policy", "other", "--clock", "monotonic")


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Whoever comes second finds it built."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def build_library(folder: Path) -> None:
    """libkestrel.a, unless it is younger than its source."""
    source, library = SYSTEM / "kestrel.c", folder / "libkestrel.a"
    youngest = max(file.stat().st_mtime for file in (source, SYSTEM / "include/kestrel.h"))
    if library.exists() and library.stat().st_mtime > youngest:
        return
    run_command(compiler(), "-O1", "-Wall", "-Werror", "-c", source, "-o", folder / "kestrel.o")
    run_command("ar", "rcs", library, folder / "kestrel.o")


@pytest.fixture(scope="module")
def kestrel() -> Path:
    with locked(BUILD):
        build_library(BUILD)
        include = f"-Dc_args=['-isystem', '{SYSTEM / 'include'}']"
        return build_port(BUILD, "kestrel", PORT, [include, f"-Dc_link_args=-L{BUILD}"])


@cache
def facts_of(probe: Path, fault: str = "") -> Facts:
    told = subprocess.check_output(
        [probe, "facts", "--json"], env={**os.environ, "KESTREL_FAULT": fault}
    )
    return msgspec.json.decode(told, type=Facts)


def run_with(fault: str, probe: Path, test: str, *options: str) -> Stream:
    return run(probe, test, *QUICK, *options, variables={"KESTREL_FAULT": fault})


# ---- what it says of itself ----


def test_facts_come_from_the_system(kestrel: Path) -> None:
    told = facts_of(kestrel)
    wanted = {
        "probe.port": "kestrel",
        "kernel.name": "Kestrel",
        "kernel.release": "3.1",
        "os.name": "Kestrel 3.1",
        "machine.board": "Kestrel Evaluation Board",
        "kernel.hz": 10_000,
        "kernel.timer_resolution_ns": TICK_NS,
    }
    assert {name: told.facts.get(name) for name in wanted} == wanted
    memory, allowed = told.facts["memory.total_bytes"], told.facts["cpu.allowed"]
    assert isinstance(memory, int) and memory > 1 << 20
    assert isinstance(allowed, str) and allowed.startswith("0")


def test_a_coarse_clock_bounds_the_rate_of_the_counter(kestrel: Path) -> None:
    """A calibration that a busy host makes longer is the tighter for it."""
    begin_s = time.monotonic()
    instrument = facts_of.__wrapped__(kestrel).instrument
    longest_s = time.monotonic() - begin_s
    if instrument.clock == "monotonic":
        pytest.skip(f"no counter here: {instrument.reason}")
    assert instrument.calibration_ppb is not None
    assert instrument.calibration_ppb > TICK_NS * 0.8 / longest_s


# ---- what it measures, and what it lacks ----


def test_the_register_is_whole(kestrel: Path, probe: Path) -> None:
    own, other = (
        msgspec.json.decode(subprocess.check_output([one, "list", "--json"]), type=Register)
        for one in (kestrel, probe)
    )
    assert [test.id for test in own.tests] == [test.id for test in other.tests]


def test_the_step_of_the_clock_is_measured(kestrel: Path) -> None:
    stream = run(kestrel, "CLK-B-RES", *QUICK)
    steps = {
        (series.labels["clock"], series.name): series.min
        for series in stream.of(StreamSeries)
        if "clock" in series.labels
    }
    assert stream.result.status == "measured"
    assert steps["CLOCK_MONOTONIC", "step"] == TICK_NS
    assert steps["CLOCK_MONOTONIC", "claimed"] == TICK_NS


@pytest.mark.parametrize(
    "test",
    [
        *("TMR-P-LAT", "SEM-P-SIG", "MUT-P-ARN", "FIO-P-SYN", "FIO-B-ASY", "POS-B-INV"),
        *("SIM-S-RT", "TMR-P-JIT"),
    ],
)
def test_each_family_measures(kestrel: Path, test: str) -> None:
    assert run(kestrel, test, *QUICK).result.status == "measured"


NO_FORK = "this system cannot start a second process (fork)"
LACKS = {
    "KRN-P-PRE": NO_FORK,
    "MEM-B-LCK": NO_FORK,
    "PRV-B-GRP": NO_FORK,
    "PWR-B-SIG": NO_FORK,
    "IRQ-P-LAT": "timer: a timerfd: Operation not supported",
    "IRQ-S-SUS": "ipi: membarrier, which sends the interrupt: Operation not supported",
}


@pytest.mark.parametrize("test", LACKS)
def test_what_it_lacks_has_a_reason(kestrel: Path, test: str) -> None:
    stream = run(kestrel, test, *QUICK)
    assert stream.result.status == "unsupported"
    assert LACKS[test] in (stream.result.reason or "")
    assert not any(series.count for series in stream.of(StreamSeries))


def test_a_part_that_it_lacks_has_a_reason(kestrel: Path) -> None:
    stream = run(kestrel, "SEM-P-SIG", *QUICK)
    missing = {event.data["kind"] for event in stream.told("kind_unsupported")}
    assert missing == {"named", "sysv", "eventfd", "futex"}
    measured = {series.labels["kind"] for series in stream.of(StreamSeries) if series.count}
    assert not measured & missing and "unnamed" in measured


# ---- boards with a fault ----


def test_no_cpus_are_no_choice_of_a_cpu(kestrel: Path) -> None:
    assert facts_of(kestrel, "cpus").facts["cpu.allowed"] is None
    result = run_with("cpus", kestrel, "TMR-P-LAT", "--cpu", "0").result
    assert (result.status, result.reason) == ("unsupported", "this port cannot choose a CPU")
    unbound = run_with("cpus", kestrel, "SEM-P-SIG").result
    assert (unbound.status, unbound.conditions.cpu) == ("measured", None)


@pytest.mark.parametrize("test", ["CLK-B-RES", "SEM-P-SIG", "TMR-P-LAT"])
def test_a_clock_that_stands_still_measures_nothing(kestrel: Path, test: str) -> None:
    stream = run_with("clock", kestrel, test)
    assert stream.code == 3 and stream.result.status == "failed"
    assert stream.result.reason == "CLOCK_MONOTONIC stands still: no time can be measured"
    assert not any(series.count for series in stream.of(StreamSeries))


def test_facts_say_that_the_clock_stands_still(kestrel: Path) -> None:
    instrument = facts_of(kestrel, "clock").instrument
    assert not instrument.trusted and instrument.reason == "CLOCK_MONOTONIC stands still"
    assert instrument.pair.count == 0


def test_a_call_that_links_and_fails_is_no_figure(kestrel: Path) -> None:
    stream = run_with("timers", kestrel, "TMR-P-JIT")
    said = Counter(
        (event.data["mechanism"], event.data["error"])
        for event in stream.told("mechanism_unsupported")
    )
    assert said["timer-handler", "Function not implemented"] > 0
    measured = {series.labels["mechanism"] for series in stream.of(StreamSeries) if series.count}
    assert measured and not measured & {"timer-handler", "timer-sigwaitinfo"}


def test_a_cpu_that_cannot_be_bound_to_ends_the_test(kestrel: Path) -> None:
    result = run_with("bind", kestrel, "TMR-P-LAT", "--cpu", "0").result
    assert result.status == "unsupported" and "Operation not supported" in (result.reason or "")


# ---- how long the port is ----


def lines_of(file: Path) -> list[str]:
    return file.read_text().splitlines()


def own_lines(file: Path) -> int:
    """Those that are not in the file of the same name in posix, which was copied."""
    model = ROOT / "probe/src/port/posix" / file.name
    left = Counter(lines_of(file)) - Counter(lines_of(model) if model.exists() else [])
    return sum(left.values())


def test_the_guide_says_how_long_it_is() -> None:
    files = sorted(PORT.iterdir())
    guide = (ROOT / "docs/how-to/port.md").read_text()
    said = re.search(
        r"(\d+) files with (\d+) lines, of which (\d+) are not", " ".join(guide.split())
    )
    assert said is not None
    assert [int(number) for number in said.groups()] == [
        len(files),
        sum(len(lines_of(file)) for file in files),
        sum(own_lines(file) for file in files),
    ]
