"""Semaphores and mutexes under bad conditions: what is said, and what is never made up."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from hardstone.model import StreamSeries
from tests import machine
from tests.host.hogs import cut
from tests.running import run

realtime = pytest.mark.skipif(machine.no_realtime() is not None, reason=str(machine.no_realtime()))

ORDER = [
    "SEM-P-RTP",
    "SEM-P-SHF",
    "SEM-B-LCK",
    "SEM-B-REL",
    "SEM-P-ARC",
    "MUT-B-ARC",
    "MUT-B-INV",
    "MUT-P-ARC",
    "MUT-P-INV",
    "SIG-P-LAT",
    "PWR-B-SIG",
]
# The hog ends with the run. It goes on for longer than a busy machine takes to begin measuring.
BURSTS = ["120000000", "150000000", "40"]


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
def test_the_text_says_how_many_waiters_there_were(probe: Path, quick: list[str]) -> None:
    words = ["run", "SEM-P-ARC", "-p", "kinds=eventfd,unnamed", "-p", "waiters=128", "--text"]
    done = subprocess.run(
        [probe, *words, "--samples", "20", "--priority", "6", *quick],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    rows = [line for line in done.stdout.splitlines() if line.startswith(("acquire", "release"))]
    assert len(rows) == 8
    assert all(" waiters 5 " in row for row in rows), rows
    assert "5 waiters" in done.stdout


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
    stream = cut(probe, hog, [words[0], *options], BURSTS)
    assert stream.result.status == "failed"
    assert "CPU was not given" in (stream.result.reason or "") and stream.result.remedy
    assert "throttled" in stream.events
