"""The static probe of each architecture, as the wheel brings it, run by an emulator."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from hardstone.errors import TargetError
from hardstone.model import Register, Result
from hardstone.stream import StreamReader
from hardstone.targets.arches import ARCHES, Arch, cross_compiler, own_arch
from hardstone.targets.build import built_programs
from hardstone.targets.probe_target import decode_facts
from tests.conftest import PROBE, ROOT
from tests.waiting import wait_until

EMULATORS = {"x86_64": "x86_64", "aarch64": "aarch64", "armv7l": "arm", "riscv64": "riscv64"}

pytestmark = pytest.mark.full


@pytest.fixture(scope="module", params=ARCHES, ids=[arch.name for arch in ARCHES])
def arch(request: pytest.FixtureRequest) -> Arch:
    return request.param


@pytest.fixture(scope="module")
def probe(arch: Arch) -> Iterator[list[str]]:
    """The command that runs it; it is built once for each state of the source."""
    try:
        cross_compiler(arch.name, "musl")
    except TargetError as error:
        pytest.skip(str(error))
    emulator = []
    if arch.name != own_arch():
        name = f"qemu-{EMULATORS[arch.name]}"
        found = shutil.which(name) or shutil.which(f"{name}-static")
        if found is None:
            pytest.skip(f"there is no {name}: sudo apt-get install qemu-user-static")
        emulator = [found]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HARDSTONE_LAB_DIR", str(ROOT / "build" / "static-probes"))
        yield [*emulator, str(built_programs(arch.name, libc="musl").probe)]


def said(command: list[str], *words: str) -> bytes:
    done = subprocess.run([*command, *words], capture_output=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def read(command: list[str], test: str, *words: str) -> Result:
    """The stream of a run as the toolkit decodes it; no line of it is wrong."""
    reader = StreamReader(test)
    for line in said(command, "run", test, *words, "--policy", "other").splitlines():
        reader.feed(line)
    result = reader.finish()
    assert reader.problem is None and result.complete
    return result


def test_it_has_the_version_and_the_tests_of_this_one(probe: list[str]) -> None:
    assert said(probe, "--version") == said([str(PROBE)], "--version")
    listed = said(probe, "list", "--json")
    assert listed == said([str(PROBE)], "list", "--json")
    assert msgspec.json.decode(listed, type=Register).tests


def test_its_self_test_passes(probe: list[str]) -> None:
    lines = said(probe, "selftest").splitlines()
    assert msgspec.json.decode(lines[-1])["failed"] == 0


def test_it_knows_its_machine_and_its_library(arch: Arch, probe: list[str]) -> None:
    facts = decode_facts(said(probe, "facts", "--json"))
    assert facts.facts["machine.arch"] == arch.name
    assert facts.libc.startswith("musl 1.2.")
    assert facts.compiler
    total = facts.facts["memory.total_bytes"]
    assert isinstance(total, int) and total > 1 << 24


def test_a_run_is_a_stream_that_the_toolkit_reads(arch: Arch, probe: list[str]) -> None:
    result = read(probe, "TMR-P-LAT", "-D", "200ms", "--cpu", "0")
    assert result.status == "measured"
    (wakeup, *_) = [one for one in result.series if one.name == "wakeup"]
    assert wakeup.count > 10 and wakeup.min is not None and wakeup.min > 0
    # Sizes of 64 bits: the time of today, and one that counts from boot.
    assert result.started_utc and result.started_utc > "2026"
    assert 0 < result.duration_ns < 60_000_000_000
    if arch.name == "armv7l":
        assert result.instrument and result.instrument.clock == "monotonic"
        assert "no counter is known for this architecture" in str(result.instrument.reason)


def test_the_kernel_is_asked_the_time_without_the_library(probe: list[str]) -> None:
    result = read(probe, "CLK-P-BIN", "-p", "via=vdso,syscall", "-D", "100ms")
    counts = {one.labels["via"]: one.count for one in result.series if one.name == "call"}
    assert result.status == "measured"
    assert counts["vdso"] > 10 and counts["syscall"] > 10


def test_what_a_killed_one_recorded_is_read_here(probe: list[str], tmp_path: Path) -> None:
    file = tmp_path / "recording"
    options = ["TMR-P-LAT", "-D", "1h", "--policy", "other", "--cpu", "0", "--backing", str(file)]
    running = subprocess.Popen(
        [*probe, "run", *options], stdout=subprocess.DEVNULL, start_new_session=True
    )
    try:
        wait_until(lambda: values(file) > 0 or running.poll() is not None)
        assert running.poll() is None
    finally:
        os.killpg(running.pid, signal.SIGKILL)
        running.wait()
    assert values(file) > 0


def values(file: Path) -> int:
    done = subprocess.run([PROBE, "dump", str(file)], capture_output=True, check=False)
    lines = [msgspec.json.decode(line) for line in done.stdout.splitlines()]
    counts = [one["count"] for one in lines if one["type"] == "series" and one["name"] == "wakeup"]
    return max(counts, default=0)
