"""Interrupts on this machine: each one sent is accounted for, and the kernel has counted it."""

from __future__ import annotations

import ctypes
import os
import platform
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from hardstone.model import StreamEvent, StreamSeries
from tests.running import Stream, command, run

FATES = ("seen", "in_other", "ambiguous", "not_seen", "not_watched")
MANY = 20_000
SENT_FROM_ANOTHER = "it is sent from another CPU, and the test has only one"
TRACING = ("/sys/kernel/tracing", "/sys/kernel/debug/tracing")

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


@pytest.fixture
def no_tracing() -> Iterator[None]:
    """Tracing where there is any is tested in guests of the lab."""
    if any(Path(place, "instances").exists() for place in TRACING):
        pytest.skip("this machine has tracefs")
    yield


def test_without_tracefs_auto_says_why(probe: Path, no_tracing: None, rate: list[str]) -> None:
    options = ("--samples", "200", "-p", "source=timer", *rate)
    stream = run(probe, "IRQ-P-LAT", *options, "-p", "handler=auto")
    assert events(stream, "handler_not_seen")["timer"].data["reason"]
    assert {one.name for one in stream.of(StreamSeries)} == {"delivery"}
    asked = run(probe, "IRQ-P-LAT", *options, "-p", "handler=tracepoints")
    assert asked.result.status in ("unsupported", "denied")
    assert asked.result.reason is not None
    assert asked.result.reason.startswith("the handler: ")
    assert asked.code == 5


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
