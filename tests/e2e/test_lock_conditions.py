"""Semaphores and mutexes under bad conditions: what is said, and what is never made up."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from hardstone.model import StreamSeries
from tests.e2e import machine
from tests.e2e.running import measuring, run

realtime = pytest.mark.skipif(machine.no_realtime() is not None, reason=str(machine.no_realtime()))
pytestmark = pytest.mark.e2e

ORDER = ["SEM-B-LCK", "SEM-B-REL", "SEM-P-ARC", "MUT-B-ARC", "MUT-B-INV", "MUT-P-ARC", "MUT-P-INV"]
HOG = ["99", "120000000", "150000000", "5"]


@pytest.mark.parametrize("test", ORDER)
def test_what_means_order_is_never_measured_without_priorities(
    probe: Path, quick: list[str], test: str
) -> None:
    stream = run(probe, test, "--policy", "other", *quick)
    assert stream.result.status == "denied" and stream.result.remedy
    assert (stream.sample_count, stream.verdicts) == (0, {})


@pytest.mark.skipif(machine.no_other_user() is not None, reason=str(machine.no_other_user()))
@pytest.mark.skipif(machine.no_prlimit() is not None, reason=str(machine.no_prlimit()))
@pytest.mark.parametrize("test", ORDER)
def test_an_ordinary_user_is_told_what_to_grant(
    open_probe: Path, quick: list[str], test: str
) -> None:
    stream = run(open_probe, test, *quick, prefix=machine.as_nobody())
    assert stream.result.status == "denied" and "setcap" in (stream.result.remedy or "")
    assert (stream.sample_count, stream.verdicts) == (0, {})


@realtime
def test_fewer_levels_are_fewer_waiters(probe: Path, quick: list[str]) -> None:
    options = ["-p", "kinds=unnamed", "-p", "waiters=2,128", "--samples", "20", "--priority", "6"]
    stream = run(probe, "SEM-P-ARC", *options, *quick)
    assert "5 waiters" in stream.events["fewer_levels"].text
    waiters = {series.labels["waiters"] for series in stream.of(StreamSeries)}
    assert waiters == {2, 5}


@realtime
@pytest.mark.parametrize("test", ["MUT-B-ARC", "MUT-B-INV", "MUT-P-ARC", "MUT-P-INV"])
def test_too_few_levels_for_a_scenario(probe: Path, quick: list[str], test: str) -> None:
    stream = run(probe, test, "--priority", "5", *quick)
    assert stream.result.status == "denied" and "needs 6 priorities" in (stream.result.reason or "")


@realtime
@pytest.mark.parametrize(
    "words",
    [
        ("SEM-P-RTP", "kinds=unnamed", "scopes=thread"),
        ("SEM-P-SHF", "kinds=unnamed", "scopes=process"),
        ("MUT-P-ARC", "protocols=inherit"),
        ("MUT-P-INV", "protocols=none"),
    ],
    ids=lambda words: words[0],
)
def test_a_cut_fails_the_result(
    probe: Path, hog: Path, quick: list[str], words: tuple[str, ...]
) -> None:
    """What throttling does to the test's threads, a hog above them does too."""
    options = [option for word in words[1:] for option in ("-p", word)]
    options += ["--samples", "0", "--duration-ns", "2s", "--priority", "90", *quick]
    command = [str(hog), str(machine.cpu()), *HOG]
    with (
        measuring(probe, words[0], *options) as running,
        subprocess.Popen(command, stdout=subprocess.DEVNULL) as above,
    ):
        stream = running.rest()
        above.wait()
    assert stream.result.status == "failed"
    assert "CPU was not given" in (stream.result.reason or "") and stream.result.remedy
    assert "throttled" in stream.events


@realtime
@pytest.mark.usefixtures("alone")
def test_inheritance_and_ceilings_spare_the_delay(probe: Path, quick: list[str]) -> None:
    stream = run(probe, "MUT-P-INV", "--samples", "10", "-p", "medium_ns=5ms", *quick)
    if "throttled" in stream.events:
        pytest.skip(str(stream.result.reason))
    means = {str(one.labels["protocol"]): one.mean or 0 for one in stream.of(StreamSeries)}
    assert all(5e6 < means[one] < 7e6 for one in ("none", "semaphore")), means
    assert all(means[one] < 1e6 for one in ("inherit", "protect")), means
