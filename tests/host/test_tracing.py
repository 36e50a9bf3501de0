"""What the kernel's traces show of a run: an excerpt around a breach, the parts of a wake-up; and
what is said where they cannot be had. Who leaves them behind: test_leftovers.py."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from hardstone.model import StreamEvent, StreamSeries, StreamTrace
from tests.host.place import Place
from tests.machine import cpu
from tests.running import run

TEST = "TMR-P-LAT"
QUICK = ("--duration-ns", "50ms", "--samples", "0", "--cpu", str(cpu()))


def test_a_breach_has_its_excerpt_and_nobody_is_blamed(probe: Path, place: Place) -> None:
    if place.no_traces:
        pytest.skip(place.no_traces)
    words = ("--duration-ns", "1h", "--samples", "0", "--trace", "-p", "threshold_ns=1")
    with place.measuring(probe, TEST, *words, "--cpu", str(cpu())) as running:
        stream = running.rest()
    assert stream.result.status == "failed"
    value_ns = stream.events["threshold_crossed"].data["value_ns"]
    (trace,) = [one for one in stream.of(StreamTrace) if one.value_ns == value_ns]
    assert any(line.endswith("the value ends") for line in trace.lines)
    assert not {"trace_switched_off", "trace_not_read"} & set(stream.events)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a PID namespace")
@pytest.mark.parametrize("words", [("--trace",), ("-p", "parts=tracepoints")], ids=" ".join)
def test_ids_of_another_namespace_are_not_taken(probe: Path, words: tuple[str, ...]) -> None:
    prefix = ("unshare", "--pid", "--fork", "--mount-proc")
    if subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no PID namespace of its own can be had here")
    stream = run(probe, TEST, *QUICK, *words, prefix=prefix)
    assert stream.result.status == "unsupported"
    assert "PID namespace" in (stream.result.reason or "")


@pytest.fixture
def no_tracing() -> None:
    """Tracing where there is any is tested in guests of the lab."""
    places = ("/sys/kernel/tracing", "/sys/kernel/debug/tracing")
    if any(Path(place, "instances").exists() for place in places):
        pytest.skip("this machine has tracefs")


@pytest.mark.usefixtures("no_tracing")
def test_auto_measures_totals_and_says_why(probe: Path) -> None:
    stream = run(probe, TEST, *QUICK, "-p", "parts=auto")
    (event,) = [one for one in stream.of(StreamEvent) if one.name == "parts_not_seen"]
    assert event.data["reason"].startswith("tracepoints: ")
    assert "timerlat: " in event.data["reason"]
    assert stream.result.status == "measured"
    parts = {one.labels.get("part") for one in stream.of(StreamSeries)}
    assert parts == {"total", None}  # `missed` has none


@pytest.mark.usefixtures("no_tracing")
@pytest.mark.parametrize(
    ("test", "param", "start"),
    [
        (TEST, "parts=timerlat", "timerlat: "),
        (TEST, "parts=tracepoints", "tracepoints: "),
        ("IRQ-P-LAT", "handler=tracepoints", "the handler: "),
    ],
)
def test_what_was_asked_for_and_is_not_there_ends_the_test(
    probe: Path, test: str, param: str, start: str
) -> None:
    stream = run(probe, test, *QUICK, "-p", param)
    assert stream.result.status in ("unsupported", "denied")
    assert (stream.result.reason or "").startswith(start) and stream.result.remedy
    assert stream.code == 5
    assert stream.of(StreamSeries) == []


@pytest.mark.usefixtures("no_tracing")
def test_without_tracefs_a_handler_is_left_out_and_that_is_said(probe: Path) -> None:
    words = ("--samples", "200", "-p", "source=timer", "-p", "handler=auto", "--cpu", str(cpu()))
    stream = run(probe, "IRQ-P-LAT", *words)
    assert stream.events["handler_not_seen"].data["reason"]
    assert {one.name for one in stream.of(StreamSeries)} == {"delivery"}
