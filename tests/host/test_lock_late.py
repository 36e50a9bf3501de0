"""Priority inversion on a host that is late or takes the CPU: no system is blamed for that, and
what really locks up is still found."""

from __future__ import annotations

from pathlib import Path

import pytest

from hardstone.model import StreamEvent, StreamSeries, StreamVerdict
from tests import machine
from tests.running import Stream, run
from tests.virtual.calls import figures, measure, measure_with_calls

pytestmark = pytest.mark.skipif(
    machine.no_realtime() is not None, reason=str(machine.no_realtime())
)

ARC = ("MUT-B-ARC",)
ONE_ARC = (*ARC, "-p", "protocols=inherit")
INV = ("MUT-B-INV", "-p", "medium_ns=1ms")
ALONE = ("--cpu", str(machine.cpu()))
MS = 1_000_000
WARM_UP = 8
WATCHDOG = "late_watchdog,unseen"  # by a host of which the guest sees nothing


def broken(
    probe: Path, libc: Path, quick: list[str], breach: str, words: tuple[str, ...]
) -> Stream:
    variables = {"HARDSTONE_BROKEN": breach, "LD_PRELOAD": str(libc)}
    return run(probe, *words, *quick, variables=variables)


def failed(stream: Stream) -> set[str]:
    return {name for name, passed in stream.verdicts.items() if not passed}


@pytest.mark.parametrize(
    ("breach", "words"), [(WATCHDOG, ONE_ARC), ("late_patience,unseen", ARC), (WATCHDOG, INV)]
)
def test_a_late_host_fails_no_verdict(
    shared_probe: Path, broken_libc: Path, quick: list[str], breach: str, words: tuple[str, ...]
) -> None:
    stream = broken(shared_probe, broken_libc, quick, breach, words)
    assert not failed(stream), str(stream.of(StreamVerdict))
    if words == INV:
        check_lock_ups(stream)
    assert stream.result.status == "measured", stream.result
    assert stream.verdicts
    assert "round_repeated" in stream.events


def check_lock_ups(stream: Stream) -> None:
    """A late watchdog is none."""
    ended = [one for one in stream.of(StreamSeries) if one.name == "ended_by_watchdog"]
    locked_up = {one.labels["primitive"] for one in ended if one.max}
    assert locked_up <= {"spin"}
    told = [one.text for one in stream.of(StreamEvent) if one.name == "vulnerable"]
    assert not [text for text in told if "watchdog" in text and not text.startswith("spin")]


@pytest.mark.parametrize("test", ["MUT-P-ARC", "MUT-P-INV"])
def test_a_late_watchdog_fails_no_figures(
    shared_probe: Path, broken_libc: Path, quick: list[str], test: str
) -> None:
    words = (test, "--samples", "10", "-p", "protocols=none,inherit")
    stream = broken(shared_probe, broken_libc, quick, WATCHDOG, words)
    assert "not_the_case" not in stream.events
    assert stream.result.status == "measured", stream.result
    assert {one.count for one in stream.of(StreamSeries)} == {10}
    assert "round_repeated" in stream.events


@pytest.mark.parametrize("words", [ARC, INV], ids=lambda words: words[0])
def test_rounds_without_the_cpu_leave_no_verdict(
    shared_probe: Path, broken_libc: Path, quick: list[str], words: tuple[str, ...]
) -> None:
    """Of a libc that breaks its promises, in whose every round the CPU is taken: whether it is
    the one or the other that spoils the order is not known."""
    stream = broken(shared_probe, broken_libc, quick, "taken,no_protocol", words)
    assert not failed(stream), str(stream.of(StreamVerdict))
    assert stream.result.status == "failed"
    assert "no verdict" in (stream.result.reason or "") and stream.result.remedy


# ---- figures of MUT-B-INV ----


def test_a_delay_occurs_when_high_has_the_lock(shared_probe: Path, virtual_calls: Path) -> None:
    """By then the whole delay has passed, so the first one is not longer than the time of its
    occurrence; later ones follow each other by a delay at least."""
    words = ("MUT-B-INV", "-p", "medium_ns=20ms", "-p", "primitives=none", *ALONE)
    stream = measure(shared_probe, virtual_calls, *words, read_ns=100)
    (delay,) = (one for one in stream.of(StreamSeries) if one.name == "delay")
    values = sorted(delay.worst, key=lambda one: one.at_ns)
    assert len(values) == 5
    earlier_ns = 0
    for one in values:
        assert one.value_ns > 20 * MS and one.at_ns - earlier_ns >= one.value_ns
        earlier_ns = one.at_ns


@pytest.mark.parametrize("medium_ms", [0, 200])
def test_cold_rounds_are_no_delays(
    shared_probe: Path, virtual_calls: Path, tmp_path: Path, medium_ms: int
) -> None:
    """Rounds that are not recorded go before the first one, and before the next after a rest:
    with 200 ms each there is one in the course of five."""
    words = ("MUT-B-INV", "-p", f"medium_ns={medium_ms}ms", "-p", "primitives=none", *ALONE)
    stream, calls = measure_with_calls(
        shared_probe, virtual_calls, tmp_path, *words, "--priority", "60", read_ns=300
    )
    high = 59
    requests = [
        one for one in calls if (one.name, one.priority, one.is_leave) == ("lock_none", high, False)
    ]
    assert figures(stream)["delay", "none"][0] == 5
    rests = 1 if medium_ms else 0
    assert len(requests) == WARM_UP * (1 + rests) + 5
