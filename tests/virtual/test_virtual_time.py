"""What the timer tests compute, on a libc whose time is known to the nanosecond.

A constant error, a release that is taken from the wrong one, or a swallowed release that
is left out would not be seen on a real machine: its latencies are not known beforehand.
"""

from __future__ import annotations

from itertools import cycle, islice
from pathlib import Path

import pytest

from hardstone.model import StreamSeries
from tests.running import Stream, run
from tests.virtual.calls import DAY_NS

INTERVAL_NS = 100_000
START_AHEAD_NS = {"TMR-P-LAT": 10_000_000, "TMR-P-JIT": 5_000_000}
PATTERNS = [
    [7_000],
    [0, 99_999],
    [1_000, 100_000, 2_000],
    [7_000, 250_000, 0, 3_000_123],
]


def measure(probe: Path, libc: Path, late_ns: list[int], test: str, *words: str) -> Stream:
    stream = run(
        probe,
        test,
        *("--samples", "120", "--clock", "monotonic", "--deadline-ns", str(DAY_NS)),
        *words,
        variables={
            "LD_PRELOAD": str(libc),
            "HARDSTONE_LATE_NS": ",".join(map(str, late_ns)),
        },
    )
    assert stream.result.status == "measured", stream.result
    return stream


def swallowed(late_ns: int) -> list[int]:
    """Lateness of the releases that a wake-up late by `late_ns` has swallowed."""
    return [late_ns - j * INTERVAL_NS for j in range(1, late_ns // INTERVAL_NS + 1)]


def check_values(series: StreamSeries, values: list[int]) -> None:
    assert series.count == len(values)
    assert (series.min, series.max) == (min(values), max(values))
    assert series.mean == pytest.approx(sum(values) / len(values), rel=1e-12)
    highest = sorted(values, reverse=True)[:32]
    assert [worst.value_ns for worst in series.worst] == highest


@pytest.mark.parametrize("late_ns", PATTERNS, ids=str)
def test_wakeups_and_releases(shared_probe: Path, virtual_libc: Path, late_ns: list[int]) -> None:
    words = ("-p", f"interval_ns={INTERVAL_NS}")
    stream = measure(shared_probe, virtual_libc, late_ns, "TMR-P-LAT", *words)
    wakeups = list(islice(cycle(late_ns), 120))
    check_values(stream.series("wakeup"), wakeups)
    lost = [swallowed(late) for late in wakeups]
    check_values(stream.series("release"), wakeups + [one for many in lost for one in many])
    assert stream.series("missed").count == sum(1 for many in lost if many)


@pytest.mark.parametrize("late_ns", PATTERNS, ids=str)
def test_the_time_of_the_worst(shared_probe: Path, virtual_libc: Path, late_ns: list[int]) -> None:
    words = ("-p", f"interval_ns={INTERVAL_NS}")
    stream = measure(shared_probe, virtual_libc, late_ns, "TMR-P-LAT", *words)
    release_ns, at_ns = START_AHEAD_NS["TMR-P-LAT"], []
    for late in islice(cycle(late_ns), 120):
        at_ns.append(release_ns + late)
        release_ns += (1 + late // INTERVAL_NS) * INTERVAL_NS
    for worst in stream.series("wakeup").worst:
        assert worst.at_ns == at_ns[worst.index]


@pytest.mark.parametrize("late_ns", PATTERNS, ids=str)
def test_jitter_of_every_expiry(shared_probe: Path, virtual_libc: Path, late_ns: list[int]) -> None:
    words = ("-p", f"periods_ns={INTERVAL_NS}", "-p", "mechanisms=nanosleep")
    stream = measure(shared_probe, virtual_libc, late_ns, "TMR-P-JIT", *words)
    jitter = stream.series("jitter")
    values: list[int] = []
    for late in cycle(late_ns):
        values += [late, *swallowed(late)]
        if len(values) >= 120:
            break
    check_values(jitter, values)


def test_overruns_of_late_wakeups(shared_probe: Path, virtual_libc: Path) -> None:
    words = ("-p", f"periods_ns={INTERVAL_NS}", "-p", "mechanisms=nanosleep")
    late_ns = [7_000, 250_000, 0, 3_000_123]
    overrun = measure(shared_probe, virtual_libc, late_ns, "TMR-P-JIT", *words).series("overrun")
    served = [late // INTERVAL_NS + 1 for late in late_ns]
    wakeups = next(n for n in range(120) if sum(islice(cycle(served), n)) >= 120)
    check_values(overrun, [one - 1 for one in islice(cycle(served), wakeups) if one > 1])


def test_early_wakeups_are_named(shared_probe: Path, virtual_libc: Path) -> None:
    words = ("-p", f"periods_ns={INTERVAL_NS}", "-p", "mechanisms=nanosleep")
    stream = measure(shared_probe, virtual_libc, [1_000, -500, -300], "TMR-P-JIT", *words)
    assert stream.series("jitter").histogram.underflow == 80
    text = stream.events["early_expirations"].text
    assert "nanosleep" in text and "80 of 120" in text and "up to 500 ns" in text
    stream = measure(shared_probe, virtual_libc, [0], "TMR-P-JIT", *words)
    assert "early_expirations" not in stream.events


def test_a_backlog_that_is_full_loses_no_release(shared_probe: Path, virtual_libc: Path) -> None:
    """More releases than are expanded between two wake-ups, and more late wake-ups than the
    backlog holds."""
    words = ("-p", f"interval_ns={INTERVAL_NS}", "--samples", "5000")
    late_ns = 300 * INTERVAL_NS + 1
    stream = measure(shared_probe, virtual_libc, [late_ns], "TMR-P-LAT", *words)
    release = stream.series("release")
    assert release.count == 5000 * 301
    assert (release.min, release.max) == (1, late_ns)
    assert release.mean == pytest.approx(150 * INTERVAL_NS + 1, rel=1e-12)
    assert stream.series("missed").count == 5000


@pytest.mark.parametrize(("late_ns", "crosses"), [(7_000, False), (7_001, True)])
def test_the_threshold_is_crossed_above_it(
    shared_probe: Path, virtual_libc: Path, late_ns: int, crosses: bool
) -> None:
    stream = run(
        shared_probe,
        *("TMR-P-LAT", "--samples", "20", "--clock", "monotonic", "--deadline-ns", str(DAY_NS)),
        *("-p", f"interval_ns={INTERVAL_NS}", "-p", "threshold_ns=7000"),
        variables={"LD_PRELOAD": str(virtual_libc), "HARDSTONE_LATE_NS": f"1000,{late_ns},0"},
    )
    assert ("threshold_crossed" in stream.events) == crosses
    assert stream.result.status == ("failed" if crosses else "measured")
    assert stream.series("wakeup").count == (2 if crosses else 20)
    assert not crosses or f"{late_ns} ns is above 7000 ns" in (stream.result.reason or "")
