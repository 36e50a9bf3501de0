"""A value's time of occurrence is that of the value, not of the burst that it was taken in."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from hardstone.model import StreamSeries
from tests import machine
from tests.running import run

realtime = pytest.mark.skipif(machine.no_realtime() is not None, reason=str(machine.no_realtime()))

# By CLOCK_MONOTONIC: then stamps and times of occurrence are readings of one clock.
OPTIONS = ("--clock", "monotonic", "--samples", "100")
ONE_THREAD = {
    "SEM-P-SIG": "kinds=unnamed,futex,mutex",
    "SEM-P-ARN": "kinds=unnamed,eventfd",
    "SEM-P-NEW": "kinds=unnamed",
    "MUT-P-ARN": "protocols=none,inherit",
}
SEVERAL = {
    "SEM-P-RTP": "kinds=unnamed",
    "SEM-P-SHF": "kinds=unnamed",
    "SEM-P-ARC": "waiters=2,8",
    "MUT-P-ARC": "protocols=none,inherit",
    "MUT-P-INV": "medium_ns=1ms",
    "THR-P-SLS": "threads=2",
    "THR-P-NEW": "cases=run-and-terminate",
    "THR-P-PRE": "by=thread",
    "SIG-P-LAT": "receivers=handler,sigwaitinfo",
    "PWR-B-SIG": "bound_ns=10ms",
}


def check(probe: Path, test: str, param: str) -> None:
    """Of two values of a series the later one began after the earlier one was complete."""
    stream = run(probe, test, *OPTIONS, "-p", param)
    looked_at = 0
    for series in stream.of(StreamSeries):
        if series.unit != "ns" or series.derived:
            continue
        worst = sorted(series.worst, key=lambda value: value.index)
        for earlier, later in pairwise(worst):
            assert later.at_ns - earlier.at_ns >= later.value_ns, (series.labels, earlier, later)
            looked_at += 1
    assert looked_at >= 10


@pytest.mark.parametrize("test", ONE_THREAD)
def test_of_one_thread(probe: Path, test: str) -> None:
    check(probe, test, ONE_THREAD[test])


def test_of_a_clock(probe: Path) -> None:
    """Its steps are read in one loop, and each that is among the worst has a reading of its own."""
    stream = run(probe, "CLK-B-RES", "--samples", "20000")
    looked_at = 0
    for series in stream.of(StreamSeries):
        if series.name == "step":
            worst = sorted(series.worst, key=lambda value: value.index)
            looked_at += len(worst)
            assert len({value.at_ns for value in worst}) == len(worst), series.labels
    assert looked_at >= 100


@realtime
@pytest.mark.parametrize("test", SEVERAL)
def test_of_several_threads(probe: Path, test: str) -> None:
    check(probe, test, SEVERAL[test])
