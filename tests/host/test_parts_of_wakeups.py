"""The parts of a wake-up on a machine that cannot show them: totals with the reason, or an end."""

from __future__ import annotations

from pathlib import Path

import pytest

from hardstone.model import StreamEvent, StreamSeries
from tests.running import run

QUICK = ("--duration-ns", "50ms", "--samples", "0", "-p", "interval_ns=1ms")


@pytest.fixture(autouse=True)
def no_tracing() -> None:
    """Tracing where there is any is tested in guests of the lab."""
    if any(
        Path(place, "instances").exists()
        for place in ("/sys/kernel/tracing", "/sys/kernel/debug/tracing")
    ):
        pytest.skip("this machine has tracefs")


def test_auto_measures_totals_and_says_why(probe: Path) -> None:
    stream = run(probe, "TMR-P-LAT", *QUICK, "-p", "parts=auto")
    (event,) = [one for one in stream.of(StreamEvent) if one.name == "parts_not_seen"]
    assert event.data["reason"].startswith("tracepoints: ")
    assert "timerlat: " in event.data["reason"]
    assert stream.result.status == "measured"
    parts = {one.labels.get("part") for one in stream.of(StreamSeries)}
    assert parts == {"total", None}  # `missed` has none


@pytest.mark.parametrize("source", ["timerlat", "tracepoints"])
def test_what_was_asked_for_and_is_not_there_ends_the_test(probe: Path, source: str) -> None:
    stream = run(probe, "TMR-P-LAT", *QUICK, "-p", f"parts={source}")
    assert stream.result.status in ("unsupported", "denied")
    assert stream.result.reason is not None
    assert stream.result.reason.startswith(f"{source}: ")
    assert stream.result.remedy
    assert stream.code == 5
    assert stream.of(StreamSeries) == []
