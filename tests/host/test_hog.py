"""A known delay is found as what it is: its length, its number, what it swallowed.

A machine with other work adds late wake-ups of its own. They are not the hog's: the
hog's are those at the times that it printed, and the counts hold for all together.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests import machine
from tests.host.hogs import (
    PRIORITY,
    TOLERANCE,
    Bursts,
    found,
    hogging,
    measure_under,
)
from tests.running import GIVE_UP_S, total

pytestmark = pytest.mark.skipif(
    machine.no_realtime() is not None, reason=str(machine.no_realtime())
)

SHORT = Bursts(length_ns=3_000_000, period_ns=200_000_000, count=3)
LONG = Bursts(length_ns=250_000_000, period_ns=500_000_000, count=2)
CROSS = Bursts(length_ns=20_000_000, period_ns=300_000_000, count=2)  # within cyclictest's second


@pytest.mark.parametrize(
    ("asked", "interval_ns"), [(SHORT, 100_000), (LONG, 1_000_000)], ids=["short", "long"]
)
def test_each_burst_is_found(
    probe: Path, hog: Path, quick: list[str], asked: Bursts, interval_ns: int
) -> None:
    """At its time, as long as the hog says, and with the releases that it swallowed. How all are
    counted: tests/virtual."""
    stream, bursts = measure_under(hog, asked, probe, interval_ns, quick)
    assert stream.result.status == "measured" and stream.result.conditions.realtime
    ends = found(stream.series("wakeup").worst, bursts)
    starts_ns = [burst.end_ns - end.at_ns for end, burst in zip(ends, bursts, strict=True)]
    assert max(starts_ns) - min(starts_ns) <= asked.length_ns * TOLERANCE
    swallowed = {one.at_ns: one.value_ns for one in stream.series("missed").worst}
    for end, burst in zip(ends, bursts, strict=True):
        assert end.value_ns == pytest.approx(burst.length_ns, rel=TOLERANCE)
        assert swallowed[end.at_ns] == end.value_ns // interval_ns
    wakeup, release = stream.series("wakeup"), stream.series("release")
    assert release.count == wakeup.count + total(stream.series("missed"))
    assert release.max == wakeup.max
    assert "missed_periods" in stream.events


def cyclictest_maximum_ns(hog: Path) -> int:
    """What cyclictest sees under the same hog, from the last line of its report."""
    words = ["cyclictest", "-q", "-m", "-t1", f"-p{PRIORITY}", f"-a{machine.cpu()}"]
    words += ["-i1000", "-N", f"-D{round(CROSS.duration_s)}"]
    with (
        subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process,
        hogging(hog, CROSS) as told,
    ):
        out, _ = process.communicate(timeout=GIVE_UP_S)
        told()
    return int(out.strip().splitlines()[-1].rpartition("Max:")[2])


@pytest.mark.skipif(shutil.which("cyclictest") is None, reason="cyclictest is not installed")
def test_cyclictest_agrees(probe: Path, hog: Path, quick: list[str]) -> None:
    """Both see the injected delay; 20 ms, so that a period is small against it."""

    stream, _ = measure_under(hog, CROSS, probe, 1_000_000, quick)
    our, their = stream.series("wakeup").max or 0, cyclictest_maximum_ns(hog)
    assert min(our, their) >= CROSS.length_ns // 2
    assert our == pytest.approx(their, rel=TOLERANCE)
