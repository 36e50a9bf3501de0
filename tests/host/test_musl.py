"""The probe on musl and the Linux port: figures and verdicts of locks where the library has no
priority ceilings."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import variant_build
from hardstone.model import StreamSeries
from tests import machine
from tests.running import run

ON_MUSL = {"avoided/inherit", "chain/inherit", "boost_goes/inherit"}

pytestmark = [
    pytest.mark.skipif(machine.no_realtime() is not None, reason=str(machine.no_realtime())),
]


@pytest.fixture(scope="module")
def musl_probe() -> Path:
    if shutil.which("musl-gcc") is None:
        pytest.skip("musl-gcc is not here: apt-get install musl-tools")
    command = [sys.executable, variant_build.__file__, "--linux"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return variant_build.LINUX.probe


def test_ceilings_that_the_library_lacks_have_no_verdict(
    musl_probe: Path, quick: list[str]
) -> None:
    stream = run(musl_probe, "MUT-B-ARC", *quick)
    assert "protect" in stream.events["protocol_unsupported"].text
    assert stream.result.status == "measured"
    assert stream.verdicts == dict.fromkeys(ON_MUSL, True)


def test_ceilings_that_the_library_lacks_have_no_figure(musl_probe: Path, quick: list[str]) -> None:
    stream = run(musl_probe, "MUT-P-INV", "--samples", "3", *quick)
    counts = {series.labels["protocol"]: series.count for series in stream.of(StreamSeries)}
    assert counts == {"none": 3, "inherit": 3, "protect": 0, "semaphore": 3}


@pytest.mark.parametrize("test", ["SEM-P-RTP", "SEM-P-SHF"])
def test_mutex_and_condition_variable(musl_probe: Path, quick: list[str], test: str) -> None:
    stream = run(musl_probe, test, "--samples", "20", "-p", "kinds=mutex", *quick)
    counts = {series.count for series in stream.of(StreamSeries) if series.name != "signal_wait"}
    assert stream.result.status == "measured"
    assert counts == {20}
