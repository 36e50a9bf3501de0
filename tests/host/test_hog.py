"""A known delay is found as what it is: its length, its number, what it swallowed.

A machine with other work adds late wake-ups of its own. They are not the hog's: the
hog's are those at the times that it printed, and the counts hold for all together.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from hardstone.model import StreamSeries
from tests import machine
from tests.host.hogs import (
    PRIORITY,
    TOLERANCE,
    Burst,
    Bursts,
    found,
    hogging,
    measure_under,
)
from tests.running import GIVE_UP_S, Stream, above, total

pytestmark = pytest.mark.skipif(
    machine.no_realtime() is not None, reason=str(machine.no_realtime())
)

SECOND_NS = 1_000_000_000
SHORT = Bursts(length_ns=3_000_000, period_ns=200_000_000, count=3)
LONG = Bursts(length_ns=250_000_000, period_ns=500_000_000, count=2)
CROSS = Bursts(length_ns=20_000_000, period_ns=300_000_000, count=2)  # within cyclictest's second


def check_lengths(series: StreamSeries, bursts: list[Burst]) -> None:
    """Each burst is in the view, at its time and as long as the hog says."""
    ends = found(series.worst, bursts)
    starts_ns = [burst.end_ns - end.at_ns for end, burst in zip(ends, bursts, strict=True)]
    assert max(starts_ns) - min(starts_ns) <= bursts[0].length_ns * TOLERANCE
    for end, burst in zip(ends, bursts, strict=True):
        assert end.value_ns == pytest.approx(burst.length_ns, rel=TOLERANCE)


def late(wakeup: StreamSeries, limit_ns: int) -> list[int]:
    """Every lateness above the limit, if there are fewer than the worst 32."""
    return [one.value_ns for one in wakeup.worst if one.value_ns > limit_ns]


def check_counts(stream: Stream, bursts: Bursts, interval_ns: int) -> None:
    """As many late releases as fit into what is more than half a burst.

    The edge of a bucket and the limit differ: one more or less for each wake-up.
    """
    half_ns = bursts.length_ns // 2
    wakeup, release = stream.series("wakeup"), stream.series("release")
    values = late(wakeup, half_ns)
    assert bursts.count <= len(values) < len(wakeup.worst)
    releases = sum((value - half_ns) // interval_ns + 1 for value in values)
    assert abs(above(wakeup, half_ns) - len(values)) <= 1
    assert abs(above(release, half_ns) - releases) <= len(values)
    assert releases >= bursts.count * half_ns / interval_ns * (1 - TOLERANCE)


def check_misses(stream: Stream, bursts: Bursts, interval_ns: int) -> None:
    """Every late wake-up swallowed as many releases as it is periods late."""
    half_ns = bursts.length_ns // 2
    wakeup, missed = stream.series("wakeup"), stream.series("missed")
    half = half_ns // interval_ns
    periods = [value // interval_ns for value in late(wakeup, half_ns)]
    wanted = sorted(count for count in periods if count > half)
    told = sorted(one.value_ns for one in missed.worst if one.value_ns > half)
    assert told == wanted
    assert stream.series("release").count == wakeup.count + total(missed)


def missed_by_bursts(stream: Stream, bursts: list[Burst]) -> list[int]:
    ends = [end.at_ns for end in found(stream.series("wakeup").worst, bursts)]
    return [one.value_ns for one in stream.series("missed").worst if one.at_ns in ends]


def test_short_bursts(probe: Path, hog: Path, quick: list[str]) -> None:
    """3 ms at times at 100 us: about thirty releases a burst."""
    interval_ns = 100_000

    stream, bursts = measure_under(hog, SHORT, probe, interval_ns, quick)
    assert stream.result.status == "measured" and stream.result.conditions.realtime
    assert stream.series("wakeup").max == stream.series("release").max
    check_counts(stream, SHORT, interval_ns)
    check_misses(stream, SHORT, interval_ns)
    check_lengths(stream.series("wakeup"), bursts)
    assert all(27 <= count <= 33 for count in missed_by_bursts(stream, bursts))


def test_long_bursts(probe: Path, hog: Path, quick: list[str]) -> None:
    """250 ms at 1 ms: 249 or 250 releases a burst, and all of them in the second view."""
    interval_ns = 1_000_000

    stream, bursts = measure_under(hog, LONG, probe, interval_ns, quick)
    assert "missed_periods" in stream.events
    check_counts(stream, LONG, interval_ns)
    check_misses(stream, LONG, interval_ns)
    check_lengths(stream.series("wakeup"), bursts)
    counts = missed_by_bursts(stream, bursts)
    periods = [burst.length_ns // interval_ns for burst in bursts]
    assert len(counts) == 2
    assert all(min(periods) - 1 <= count <= max(periods) for count in counts)


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

    stream, _ = measure_under(hog, CROSS, probe, SECOND_NS // 1000, quick)
    our, their = stream.series("wakeup").max or 0, cyclictest_maximum_ns(hog)
    assert min(our, their) >= CROSS.length_ns // 2
    assert our == pytest.approx(their, rel=TOLERANCE)
