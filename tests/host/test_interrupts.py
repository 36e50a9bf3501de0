"""Interrupts on this machine: each one sent is accounted for, and the kernel has counted it; what
was sent, counted and compared under a flood, and in a search, is what the series hold."""

from __future__ import annotations

import ctypes
import os
import platform
import signal
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from hardstone.model import StreamEvent, StreamSeries
from hardstone.stats.sustained import Step, bracket_of, steps_of
from tests import machine
from tests.running import Stream, above, children, command, has_ended, run
from tests.waiting import wait_until

realtime = pytest.mark.skipif(machine.no_realtime() is not None, reason=str(machine.no_realtime()))
FATES = ("seen", "in_other", "ambiguous", "not_seen", "not_watched")
MANY = 20_000
SENT_FROM_ANOTHER = "it is sent from another CPU, and the test has only one"

# seccomp(2): a filter that refuses membarrier on x86-64 with EPERM, as some containers do.
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
MEMBARRIER = 324
LOAD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, REFUSE = 0x7FFF0000, 0x00050001


def events(stream: Stream, name: str) -> dict[str, StreamEvent]:
    """The events of that name, by source."""
    return {str(one.data["source"]): one for one in stream.of(StreamEvent) if one.name == name}


def by_source(stream: Stream, series: str) -> dict[str, StreamSeries]:
    return {str(one.labels["source"]): one for one in stream.of(StreamSeries) if one.name == series}


def measured(probe: Path, test: str, *options: str) -> Stream:
    stream = run(probe, test, *options)
    assert stream.result.status == "measured", stream.result.reason
    return stream


@pytest.fixture
def rate(quick: list[str]) -> list[str]:
    """Of the counter; the CPU stays the probe's choice."""
    return quick[:2]


@pytest.fixture
def two_cpus() -> None:
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("needs a second CPU")


@pytest.mark.parametrize(
    ("test", "series", "many"),
    [("IRQ-P-LAT", "delivery", MANY), ("IRQ-P-DLT", "service", MANY // 10)],
)
def test_each_of_20000_interrupts_is_accounted_for(
    probe: Path, two_cpus: None, rate: list[str], test: str, series: str, many: int
) -> None:
    stream = measured(probe, test, "--samples", str(many), *rate)
    accounted, values = events(stream, "interrupts_accounted"), by_source(stream, series)
    for source in ("ipi", "timer"):
        data = accounted[source].data
        assert data["sent_count"] >= many
        assert sum(data[f"{fate}_count"] for fate in FATES) == data["sent_count"]
        assert values[source].count == data["seen_count"] == many
        assert data["refused_count"] == 0
    counted = events(stream, "interrupts_counted")
    for source in ("ipi", "timer"):
        data = counted[source].data
        assert data["sent_count"] >= many
        # one that is sent while another's call waits for that CPU is served with it
        assert data["kernel_count"] >= 0.99 * data["sent_count"]


def test_a_thread_is_woken_by_interrupts(probe: Path, two_cpus: None, rate: list[str]) -> None:
    stream = measured(probe, "IRQ-P-TLT", "--samples", "2000", *rate)
    values = by_source(stream, "send_to_thread")
    assert {source: one.count for source, one in values.items()} == {"ipi": 2000, "timer": 2000}
    for source, event in events(stream, "interrupts_counted").items():
        assert event.data["kernel_count"] >= 0.99 * event.data["sent_count"], source


def test_a_device_is_measured_only_if_it_is_named(probe: Path, rate: list[str]) -> None:
    stream = run(probe, "IRQ-P-DLT", "--samples", "100", *rate)
    event = events(stream, "source_missing")["external"]
    assert event.data["remedy"] == "name one that only this test uses: -p uio=N for /dev/uioN"
    assert "external" not in by_source(stream, "service")
    other = run(probe, "IRQ-P-DLT", "--samples", "100", "-p", "source=external")
    assert other.result.status == "skipped"
    assert other.result.reason == "external: no device is named"


def test_a_device_that_is_not_there(probe: Path) -> None:
    stream = run(probe, "IRQ-P-LAT", "-p", "source=external", "-p", "uio=255")
    assert stream.result.status in ("unsupported", "denied")
    assert stream.result.reason is not None
    assert stream.result.reason.startswith("external: ")


def test_one_cpu_has_its_timer_only(probe: Path, rate: list[str]) -> None:
    prefix = ("taskset", "-c", str(max(os.sched_getaffinity(0))))
    stream = run(probe, "IRQ-P-LAT", "--samples", "200", *rate, prefix=prefix)
    assert events(stream, "source_missing")["ipi"].data["reason"] == SENT_FROM_ANOTHER
    assert by_source(stream, "delivery")["ipi"].count == 0
    alone = run(probe, "IRQ-P-LAT", "--samples", "200", "-p", "source=ipi", prefix=prefix)
    assert alone.result.status == "unsupported"
    assert alone.result.reason == f"ipi: {SENT_FROM_ANOTHER}"


def test_the_portable_clock_is_enough(probe: Path, two_cpus: None) -> None:
    stream = measured(probe, "IRQ-P-LAT", "--samples", "500", "--clock", "monotonic")
    assert {one.count for one in stream.of(StreamSeries)} == {500}


def refuse_membarrier() -> None:
    """In the process that becomes the probe."""
    program = [(LOAD, 0, 0, 0), (JUMP_IF_EQUAL, 0, 1, MEMBARRIER), (RETURN, 0, 0, REFUSE)]
    code = b"".join(struct.pack("HBBI", *one) for one in [*program, (RETURN, 0, 0, ALLOW)])
    buffer = ctypes.create_string_buffer(code)
    header = struct.pack("HxxxxxxQ", len(code) // 8, ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.c_char_p(header), 0, 0) != 0:
        os._exit(99)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the filter has x86-64's number")
def test_a_filter_of_system_calls_refuses_membarrier(probe: Path, two_cpus: None) -> None:
    words = command(probe, "IRQ-P-LAT", ("--samples", "100", "-p", "source=ipi"))
    done = subprocess.run(words, capture_output=True, preexec_fn=refuse_membarrier, check=False)
    stream = Stream("IRQ-P-LAT", done.returncode, done.stdout)
    assert stream.result.status == "denied"
    assert stream.result.reason is not None
    assert stream.result.reason.startswith("ipi: membarrier")
    assert "filter of system calls" in (stream.result.remedy or "")


# ---- IRQ-S-SUS: a search ----

SUS = "IRQ-S-SUS"
FEW = ("-p", "interrupts=500", "-p", "period_min_ns=20us", "-p", "period_max_ns=80us")


def steps(stream: Stream) -> list[Step]:
    return steps_of([stream.read_by_the_toolkit()[0]])


@pytest.fixture
def searched(probe: Path, recorded: Callable[..., Stream], quick: list[str]) -> Stream:
    if machine.no_realtime() or len(os.sched_getaffinity(0)) < 2:
        pytest.skip("no right to SCHED_FIFO, or one CPU")
    stream = recorded(probe, SUS, *FEW, *quick)
    assert stream.result.status == "measured"
    return stream


def test_each_interrupt_has_one_fate(searched: Stream) -> None:
    found = [one for one in searched.of(StreamEvent) if one.name == "sustained_step"]
    assert {one.data["source"] for one in found} >= {"timer"}
    for one in found:
        data = one.data
        fates = [data[f"{name}_count"] for name in ("seen", "lost", "merged", "unwatched")]
        assert sum(map(int, fates)) == data["interrupts_count"] == 500  # type: ignore[arg-type]
        assert not data["passed"] or data["lost_count"] == 0


def test_each_period_tried_has_its_loss(searched: Stream) -> None:
    losses = {
        (one.labels["source"], one.labels["period_ns"]): one
        for one in searched.of(StreamSeries)
        if one.name == "loss"
    }
    found = steps(searched)
    assert set(losses) == {(one.source, one.period_ns) for one in found}
    for one in found:
        loss = losses[one.source, one.period_ns]
        assert (loss.count, loss.min, loss.max) == (1, one.lost, one.lost)


def test_the_figure_is_the_shortest_period_that_passed(searched: Stream) -> None:
    found = steps(searched)
    for series in searched.of(StreamSeries):
        if series.name != "minimal_period":
            continue
        bracket = bracket_of(found, str(series.labels["source"]))
        assert series.min == (bracket.passed_ns or None)
        assert series.count == (1 if bracket.passed_ns else 0)


def test_a_search_goes_on_from_what_is_known(probe: Path, two_cpus: None, quick: list[str]) -> None:
    """Two periods that differ by less than 2 %: nothing is tried, and the figure is there."""
    bounds = ("passed_ns=50500,30us", "failed_ns=50us,0", "source_failed_ns=0,29900")
    known = ("-p", "source=timer,ipi", *(word for one in bounds for word in ("-p", one)))
    stream = run(probe, SUS, *FEW, *known, *quick)
    assert steps(stream) == []
    found = {source: one.min for source, one in by_source(stream, "minimal_period").items()}
    assert found == {"timer": 50_500, "ipi": 30_000}
    why = {source: one.data["why"] for source, one in events(stream, "sustained_limit").items()}
    assert why == {"timer": "lost", "ipi": "source"}


# ---- IRQ-P-TRK: under a flood ----

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


@realtime
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


@realtime
def test_a_flood_that_cannot_run_gives_no_figures(
    probe: Path, quick: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", "/dev/shm")
    words = ("-p", "flood=disk,timers", "--samples", "20")
    stream = run(probe, "IRQ-P-TRK", *words, *quick)
    assert "not on a disk" in str(told(stream, "flood_not_run")["disk"]["reason"])
    assert count(stream, "latency", "disk") == count(stream, "added", "disk") == 0
    assert count(stream, "added", "timers") == 20


@realtime
def test_without_any_flood_it_is_unsupported(
    probe: Path, quick: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", "/dev/shm")
    stream = run(probe, "IRQ-P-TRK", "-p", "flood=disk", "--samples", "20", *quick)
    assert stream.result.status == "unsupported"
    assert stream.sample_count == 0


@realtime
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


@realtime
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
