"""Interrupts in guests whose kernel shows the handler, by tracepoint and by what a thread sees;
also those of a device, QEMU's edu."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from hardstone.errors import EXIT_OK, EXIT_PRIVILEGE
from hardstone.lab.kernels import Kernel
from hardstone.model import StreamLoad, StreamSeries
from hardstone.targets.lab import LabTransport
from tests.guest.called import TRACING, call, measured, shell
from tests.guest.kernels import NO_DRIVER
from tests.running import Stream

FATES = ("seen", "in_other", "ambiguous", "not_seen", "not_watched")
TRIES = 8
EXIT_SHORT = 3  # less than 80 % of the load was reached
AFFINITY = "/proc/irq/11/smp_affinity_list"  # of edu on QEMU's machine `pc`
EXTERNAL = ("--samples", "50", "-p", "source=external", "-p", "uio=0")


@pytest.fixture
def two_cpus(kernel: Kernel, held: LabTransport) -> LabTransport:
    """Two CPUs at the same time: interrupts from one to the other take no turns."""
    if kernel.arch != "x86_64":
        pytest.skip("the tracepoints that are held are those of x86")
    return held


@pytest.fixture
def with_device(held: LabTransport, device: str) -> LabTransport:
    """Two CPUs, and QEMU's edu, whose interrupt is sent to the second one."""
    if not device:
        pytest.skip(NO_DRIVER)
    return held


def event(stream: Stream, name: str, source: str) -> dict[str, Any]:
    """The data of an event; nothing where it was not sent."""
    found = (one.data for one in stream.told(name) if one.data.get("source") == source)
    return next(found, {})


def series(stream: Stream, name: str, source: str) -> StreamSeries:
    (found,) = [one for one in stream.named(name) if one.labels["source"] == source]
    return found


def until(is_enough: Callable[[Stream], bool], attempt: Callable[[], Stream]) -> Stream:
    """A host that takes a CPU of the guest away ends a run early: the last of some, at most."""
    for _ in range(TRIES - 1):
        stream = attempt()
        if is_enough(stream):
            return stream
    return attempt()


def expect_accounts(stream: Stream, source: str) -> None:
    accounted = event(stream, "interrupts_accounted", source)
    assert sum(accounted[f"{fate}_count"] for fate in FATES) == accounted["sent_count"] > 0


def expect_split(stream: Stream, source: str) -> None:
    """What the kernel stamped lies within what the thread saw, and both are the same time."""
    split, seen = event(stream, "interrupts_split", source), event(stream, "handler_seen", source)
    assert split["matched_count"] == seen["matched_count"]
    parts_ns = sum(split[f"{part}_mean_ns"] for part in ("latency", "handler", "dispatch"))
    assert abs(parts_ns - split["service_mean_ns"]) <= seen["error_ns"] + 2
    assert min(split[f"{part}_mean_ns"] for part in ("latency", "handler", "dispatch")) >= 0


def matched(stream: Stream, source: str) -> int:
    return int(event(stream, "handler_seen", source).get("matched_count", 0))


@pytest.mark.wall_clock
@pytest.mark.parametrize(
    ("test", "always", "shown"),
    [("IRQ-P-LAT", "delivery", "latency"), ("IRQ-P-DLT", "service", "dispatch")],
)
def test_the_handler_and_the_thread_say_the_same(
    two_cpus: LabTransport, test: str, always: str, shown: str
) -> None:
    """Sent by membarrier: the send and the gap are the probe's, entry and exit the kernel's."""
    words = ("--samples", "200", "-p", "source=ipi", "-p", "handler=tracepoints")
    stream = until(lambda one: matched(one, "ipi") >= 50, lambda: measured(two_cpus, test, *words))
    assert matched(stream, "ipi") >= 50, stream.raw
    expect_accounts(stream, "ipi")
    expect_split(stream, "ipi")
    assert series(stream, shown, "ipi").count == matched(stream, "ipi")
    seen_count = event(stream, "interrupts_accounted", "ipi")["seen_count"]
    assert series(stream, always, "ipi").count == seen_count >= matched(stream, "ipi")


@pytest.mark.wall_clock
def test_a_thread_is_woken_from_another_cpu(two_cpus: LabTransport) -> None:
    words = ("--samples", "200", "-p", "source=ipi", "-p", "handler=tracepoints")
    stream = until(
        lambda one: matched(one, "ipi") >= 50, lambda: measured(two_cpus, "IRQ-P-TLT", *words)
    )
    total, part = series(stream, "send_to_thread", "ipi"), series(stream, "to_thread", "ipi")
    assert part.count == matched(stream, "ipi") >= 50
    assert (part.min or 0) > 0
    assert (part.max or 0) <= (total.max or 0)


def test_a_device_that_another_cpu_serves_is_not_measured(with_device: LabTransport) -> None:
    shell(with_device, f"echo 0 >{AFFINITY}")
    stream = measured(with_device, "IRQ-P-DLT", "--cpu", "1", *EXTERNAL)
    missing = event(stream, "source_missing", "external")
    assert missing["reason"].startswith("CPU 0 serves the interrupt of /dev/uio0")
    assert missing["command"] == f"echo 1 > {AFFINITY}"
    assert stream.result.status == "unsupported"
    assert stream.result.reason == missing["reason"]


@pytest.mark.wall_clock
def test_a_device_interrupts_a_thread(with_device: LabTransport) -> None:
    shell(with_device, f"echo 1 >{AFFINITY}")
    words = ("--cpu", "1", *EXTERNAL)

    def has_values(stream: Stream) -> bool:
        return event(stream, "interrupts_accounted", "external").get("seen_count", 0) > 0

    stream = until(has_values, lambda: measured(with_device, "IRQ-P-DLT", *words))
    expect_accounts(stream, "external")
    assert has_values(stream)
    if counted := event(stream, "interrupts_counted", "external"):
        assert counted["kernel_count"] >= counted["sent_count"] > 0


@pytest.mark.wall_clock
def test_a_device_wakes_a_thread(with_device: LabTransport) -> None:
    shell(with_device, f"echo 1 >{AFFINITY}")

    def attempt() -> Stream:
        return measured(with_device, "IRQ-P-TLT", "--cpu", "1", *EXTERNAL)

    stream = until(lambda one: one.sample_count > 0, attempt)
    assert (series(stream, "send_to_thread", "external").min or 0) > 0


def test_the_timer_counts_to_the_nanosecond(counting: LabTransport) -> None:
    words = ("--samples", "100", "-p", "source=timer", "-p", "handler=tracepoints")
    latency = measured(counting, "IRQ-P-LAT", *words)
    dispatch = measured(counting, "IRQ-P-DLT", *words)
    thread = measured(counting, "IRQ-P-TLT", *words)
    for stream in (latency, dispatch, thread):
        assert stream.result.status == "measured", stream.result
    for stream in (latency, dispatch):
        expect_accounts(stream, "timer")
        expect_split(stream, "timer")
        accounted = event(stream, "interrupts_accounted", "timer")
        assert accounted["seen_count"] == 100
        assert accounted["not_seen_count"] == accounted["not_watched_count"] == 0
    counted = event(latency, "interrupts_counted", "timer")
    assert counted["kernel_count"] >= counted["sent_count"]
    assert series(thread, "to_thread", "timer").count == matched(thread, "timer") > 0


def test_one_cpu_cannot_be_interrupted_from_another(counting: LabTransport) -> None:
    stream = measured(counting, "IRQ-P-LAT", "--samples", "20")
    assert event(stream, "source_missing", "ipi")["reason"].startswith(
        "it is sent from another CPU"
    )
    assert series(stream, "delivery", "timer").count == 20


@pytest.mark.wall_clock
def test_nothing_is_left_of_tracing(guest: LabTransport) -> None:
    before = shell(guest, f"cat {TRACING}/tracing_on; ls {TRACING}/instances")
    words = ("--samples", "20", "-p", "source=timer", "-p", "handler=auto")
    stream = until(
        lambda one: bool(one.result.status == "measured"),
        lambda: measured(guest, "IRQ-P-LAT", *words),
    )
    assert stream.result.status == "measured", stream.result
    assert shell(guest, f"cat {TRACING}/tracing_on; ls {TRACING}/instances") == before


# ---- a device, and what counts its interrupts in the guest ----

RAISED = 20
WOKEN = 100
# Without the probe: the device's registers are those of QEMU's manual, docs/specs/edu.txt.
ONE_BY_ONE = f"""
cd /sys/class/uio/uio0
begin=$(head -n 1 device/resource | cut -d ' ' -f 1)
allow() {{ printf '\\003\\000' | dd of=device/config bs=2 seek=2 conv=notrunc 2>/dev/null; }}
raise() {{ devmem $((begin + 0x60)) 32 1; }}
served() {{
    timeout 3600 dd bs=4 count=1 2>/dev/null <&3 | od -A n -t u4
    devmem $((begin + 0x64)) 32 1
}}
exec 3</dev/uio0
cat event
for one in $(seq {RAISED}); do allow; raise; served; done
raise; raise; allow; raise; served
cat event
grep uio_pci_generic /proc/interrupts
"""


def test_of_each_interrupt_the_guest_counts_one(with_device: LabTransport) -> None:
    said = shell(with_device, ONE_BY_ONE)
    *counts, line = said.splitlines()
    first, *served, last = map(int, counts)
    assert served == [first + one + 1 for one in range(RAISED + 1)]  # those at once are one
    assert last == served[-1]
    assert sum(map(int, line.split()[1:3])) == last  # the kernel's own count


def raised(guest: LabTransport, device: str, *words: str) -> Stream:
    if not device:
        pytest.skip(NO_DRIVER)
    return measured(guest, "IRQ-P-TLT", "-p", "source=external", "--samples", str(WOKEN), *words)


def test_each_interrupt_wakes_the_thread(counting: LabTransport, device: str) -> None:
    """Raised by the low-priority thread, since the guest has one CPU."""
    stream = raised(counting, device, "-p", "uio=0", "-p", "handler=tracepoints")
    assert stream.code == EXIT_OK, stream.raw
    data = {name: one.data for name, one in stream.events.items()}
    assert data["raised_here"]["cpu"] == 0
    counted = data["interrupts_counted"]
    assert counted["kernel_count"] == counted["sent_count"] > WOKEN  # with those of warm-up
    assert data["handler_seen"]["matched_count"] == WOKEN
    total, part = stream.series("send_to_thread"), stream.series("to_thread")
    assert total.count == part.count == WOKEN
    assert 0 < (part.min or 0) < (total.min or 0)
    assert (part.max or 0) < (total.max or 0)


# ---- a device as load ----

LOADED = 200  # in a second
EVENT = "cat /sys/class/uio/uio0/event"


def loaded(guest: LabTransport, device: str, load: str) -> tuple[int, list[dict[str, Any]]]:
    if not device:
        pytest.skip(NO_DRIVER)
    code, said = call(guest, "load", load, "-D", "1s", "--json")
    return code, [json.loads(line) for line in said.splitlines()]


def test_a_device_interrupts_at_the_rate_of_a_load(counting: LabTransport, device: str) -> None:
    code, lines = loaded(counting, device, f"interrupt={LOADED}/s@/dev/uio0")
    (line,) = [one for one in lines if one["type"] == "load"]
    assert (code, line["how"]) == (EXIT_OK, "device /dev/uio0")
    assert line["reached"] == pytest.approx(LOADED, rel=0.02)
    assert line["counters"]["delivered_count"] == pytest.approx(LOADED, abs=4)
    assert line["counters"]["missed_count"] == 0
    assert "seen_timer_interrupts_count" not in line["counters"]
    assert {one["name"] for one in lines if one["type"] == "event"} == {"load_runs"}


def test_a_device_interrupts_beside_a_test(counting: LabTransport, device: str) -> None:
    """The test sleeps between its samples; what is left of the CPU is the load's."""
    if not device:
        pytest.skip(NO_DRIVER)
    words = ("--load", f"interrupt={LOADED}/s@/dev/uio0", "--duration-ns", "1s")
    stream = measured(counting, "TMR-P-LAT", *words)
    assert stream.result.status == "measured", stream.result
    (line,) = stream.of(StreamLoad)
    assert (line.how, line.reached) == ("device /dev/uio0", pytest.approx(LOADED, rel=0.1))
    stream = measured(counting, "IRQ-P-TLT", "-p", "uio=0", *words[:2])
    assert stream.result.reason == "the test and its load are both to use UIO device 0"


def test_the_driver_has_counted_what_a_load_reached(with_device: LabTransport, device: str) -> None:
    before = int(shell(with_device, EVENT))
    code, lines = loaded(with_device, device, "interrupt=50/s@/dev/uio0")
    (line,) = [one for one in lines if one["type"] == "load"]
    counted = int(shell(with_device, EVENT)) - before
    assert code in (EXIT_OK, EXIT_SHORT) and 0 < line["counters"]["delivered_count"] <= counted


def test_a_load_with_a_device_that_is_not_there_is_refused(
    counting: LabTransport, device: str
) -> None:
    assert loaded(counting, device, "interrupt=5/s@/dev/uio1") == (EXIT_PRIVILEGE, [])


def test_a_device_that_is_not_there_is_told(counting: LabTransport, device: str) -> None:
    """Without a name none is touched: probe/tests/test_interrupted.c."""
    stream = raised(counting, device, "-p", "uio=1")
    assert (stream.code, stream.result.status) == (EXIT_PRIVILEGE, "unsupported")
    assert "UIO device 1 does not exist" in (stream.result.reason or "")
    assert "uio0" in (stream.result.remedy or "")
