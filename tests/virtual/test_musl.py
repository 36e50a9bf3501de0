"""The probe on another C library: musl has no priority ceilings, not even the functions."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import msgspec
import pytest

from hardstone.model import Facts, StreamEvent, StreamSeries
from tests import machine
from tests.conftest import ROOT
from tests.host.again import unless_same, until_quiet
from tests.running import run

SOURCES = ROOT / "probe" / "src"
HEADERS = Path("/usr/include")
ON_MUSL = {"avoided/inherit", "chain/inherit", "boost_goes/inherit"}

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("alone")]
realtime = pytest.mark.skipif(machine.no_realtime() is not None, reason=str(machine.no_realtime()))


@pytest.fixture(scope="module")
def musl_probe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """musl's compiler sees no header of the kernel: it gets those, and nothing of glibc."""
    compiler = shutil.which("musl-gcc")
    if compiler is None:
        pytest.skip("musl-gcc is not here: apt-get install musl-tools")
    folder = tmp_path_factory.mktemp("musl")
    machine_headers = next(HEADERS.glob("*-linux-gnu/asm"), HEADERS / "asm")
    for name, place in {
        "linux": HEADERS / "linux",
        "asm-generic": HEADERS / "asm-generic",
        "asm": machine_headers,
    }.items():
        (folder / name).symlink_to(place)
    files = [
        str(file) for file in sorted(SOURCES.rglob("*.c")) if file.parent != SOURCES / "port/posix"
    ]
    program = folder / "hardstone-probe"
    command = [compiler, "-std=c11", "-O0", "-static", "-isystem", str(folder), f"-I{SOURCES}"]
    subprocess.run([*command, "-o", str(program), *files, "-lm", "-lpthread"], check=True)
    return program


@realtime
def test_ceilings_that_the_library_lacks_have_no_verdict(
    musl_probe: Path, quick: list[str]
) -> None:
    def attempt() -> list[str]:
        stream = run(musl_probe, "MUT-B-ARC", *quick)
        assert "protect" in stream.events["protocol_unsupported"].text
        complaints = unless_same("status", stream.result.status, "measured")
        return complaints + unless_same("verdicts", stream.verdicts, dict.fromkeys(ON_MUSL, True))

    until_quiet(attempt)


@realtime
def test_ceilings_that_the_library_lacks_have_no_figure(musl_probe: Path, quick: list[str]) -> None:
    def attempt() -> list[str]:
        stream = run(musl_probe, "MUT-P-INV", "--samples", "3", *quick)
        counts = {series.labels["protocol"]: series.count for series in stream.of(StreamSeries)}
        return unless_same(
            "counts", counts, {"none": 3, "inherit": 3, "protect": 0, "semaphore": 3}
        )

    until_quiet(attempt)


@realtime
@pytest.mark.parametrize("test", ["SEM-P-RTP", "SEM-P-SHF"])
def test_mutex_and_condition_variable(musl_probe: Path, quick: list[str], test: str) -> None:
    def attempt() -> list[str]:
        stream = run(musl_probe, test, "--samples", "20", "-p", "kinds=mutex", *quick)
        counts = {
            (series.name, series.labels["scope"]): series.count
            for series in stream.of(StreamSeries)
            if series.name != "signal_wait"
        }
        complaints = unless_same("status", stream.result.status, "measured")
        return complaints + unless_same("counts", set(counts.values()), {20})

    until_quiet(attempt)


def test_the_library_is_not_taken_for_another(musl_probe: Path) -> None:
    told = subprocess.run([musl_probe, "facts", "--json"], capture_output=True, check=True)
    assert "unknown" in msgspec.json.decode(told.stdout, type=Facts).libc


def test_what_musl_claims_works_and_some_works_without_a_claim(musl_probe: Path) -> None:
    stream = run(musl_probe, "POS-B-INV")
    told = {
        key: str(value).split()
        for event in stream.of(StreamEvent)
        if event.name == "posix_options"
        for key, value in event.data.items()
    }
    assert stream.verdicts["claims_are_true"]
    assert told["priority_scheduling"] == ["none", "none", "missing"]  # its call says ENOSYS
    assert told["thread_prio_protect"] == ["none", "none", "missing"]
    assert told["synchronized_io"] == ["none", "none", "works"]
