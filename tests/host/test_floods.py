"""IRQ-P-TRK: what was sent, counted and compared is what the series hold."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from hardstone.model import StreamEvent, StreamSeries
from tests import machine
from tests.running import Stream, above, children, has_ended, run
from tests.waiting import wait_until

pytestmark = pytest.mark.skipif(
    machine.no_realtime() is not None, reason=str(machine.no_realtime())
)

BLOCK = 250
LATE_NS = 2_000_000


def of_flood(stream: Stream, name: str, flood: str) -> StreamSeries | None:
    found = [
        series
        for series in stream.of(StreamSeries)
        if series.name == name and series.labels == {"flood": flood}
    ]
    return found[0] if found else None


def count(stream: Stream, name: str, flood: str) -> int:
    series = of_flood(stream, name, flood)
    return series.count if series else 0


def told(stream: Stream, event: str) -> dict[object, dict[str, object]]:
    """Data of each event of that name, by flood."""
    return {
        one.data["flood"]: dict(one.data) for one in stream.of(StreamEvent) if one.name == event
    }


def test_every_value_under_a_flood_has_its_difference(probe: Path, quick: list[str]) -> None:
    stream = run(probe, "IRQ-P-TRK", "--samples", "300", *quick)
    assert stream.result.status == "measured"
    ran = set(told(stream, "flood_rate"))
    assert {"packets", "timers"} <= ran
    for flood in ran:
        latency, added = (
            of_flood(stream, "latency", str(flood)),
            of_flood(stream, "added", str(flood)),
        )
        assert latency and added and latency.count == added.count == 300
        baseline = told(stream, "added_baseline")[flood]
        assert baseline["value_count"] == 300
        assert added.min is not None and added.max is not None and latency.max is not None
        least, most = baseline["least_median_ns"], baseline["most_median_ns"]
        assert isinstance(least, int) and isinstance(most, int)
        effects = [int(str(baseline[f"{name}effect_ns"])) for name in ("least_", "", "most_")]
        assert effects == sorted(effects)
        assert added.min == 0 or baseline["below_count"] == 0
        assert latency.max - most <= added.max <= latency.max - least
    # two blocks under each flood, and one without it around and between them
    assert count(stream, "latency", "none") == 3 * BLOCK * len(ran)
    assert all(rate["done_count"] for rate in told(stream, "flood_rate").values())


def test_a_flood_that_cannot_run_gives_no_figures(
    probe: Path, quick: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", "/dev/shm")
    words = ("-p", "flood=disk,timers", "--samples", "20")
    stream = run(probe, "IRQ-P-TRK", *words, *quick)
    assert "not on a disk" in str(told(stream, "flood_not_run")["disk"]["reason"])
    assert count(stream, "latency", "disk") == count(stream, "added", "disk") == 0
    assert count(stream, "added", "timers") == 20


def test_without_any_flood_it_is_unsupported(
    probe: Path, quick: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", "/dev/shm")
    stream = run(probe, "IRQ-P-TRK", "-p", "flood=disk", "--samples", "20", *quick)
    assert stream.result.status == "unsupported"
    assert stream.sample_count == 0


def test_lateness_under_a_flood_is_found_under_that_flood(
    shared_probe: Path, broken_libc: Path, quick: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sleeps that end 2 ms late while packets are sent are added by packets, by nothing else."""
    monkeypatch.setenv("LD_PRELOAD", str(broken_libc))
    monkeypatch.setenv("HARDSTONE_BROKEN", "flooded_late")
    words = ("-p", "flood=packets,timers", "--samples", "500")
    stream = run(shared_probe, "IRQ-P-TRK", *words, *quick)
    late = {
        flood: above(series, LATE_NS * 9 // 10) / series.count
        for flood in ("packets", "timers")
        if (series := of_flood(stream, "added", flood))
    }
    without = of_flood(stream, "latency", "none")
    assert without
    assert late["packets"] > 3 * late["timers"]
    assert late["packets"] > 3 * above(without, LATE_NS) / without.count


def test_the_flood_is_ordinary_and_dies_with_the_probe(probe: Path, quick: list[str]) -> None:
    words = ["-p", "flood=packets", "--samples", "1000000", *quick]
    command = [str(probe), "run", "IRQ-P-TRK", *words]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as running:
        try:
            (child,) = wait_until(lambda: children(running.pid))
            wait_until(lambda: os.sched_getscheduler(child) == os.SCHED_OTHER)
            assert os.sched_getaffinity(child) == {machine.cpu()}
        finally:
            running.send_signal(signal.SIGKILL)
            running.wait()
    wait_until(lambda: has_ended(child))
