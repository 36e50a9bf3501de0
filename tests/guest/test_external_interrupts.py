"""A device that raises interrupts, QEMU's edu, and what counts them in the guest."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hardstone.errors import EXIT_OK, EXIT_PRIVILEGE
from hardstone.targets.lab import LabTransport
from tests.guest.called import call, shell
from tests.guest.kernels import NO_DRIVER

RAISED = 20
WOKEN = 100
# Without the probe: the device's registers are those of QEMU's manual, docs/specs/edu.txt.
ONE_BY_ONE = f"""
cd /sys/class/uio/uio0
begin=$(head -n 1 device/resource | cut -d ' ' -f 1)
allow() {{ printf '\\003\\000' | dd of=device/config bs=2 seek=2 conv=notrunc 2>/dev/null; }}
raise() {{ devmem $((begin + 0x60)) 32 1; }}
served() {{
    timeout 60 dd bs=4 count=1 2>/dev/null <&3 | od -A n -t u4
    devmem $((begin + 0x64)) 32 1
}}
exec 3</dev/uio0
cat event
for one in $(seq {RAISED}); do allow; raise; served; done
raise; raise; allow; raise; served
cat event
grep uio_pci_generic /proc/interrupts
"""


@pytest.fixture(autouse=True)
def needs_device(device: str) -> None:
    if not device:
        pytest.skip(NO_DRIVER)


def measured(guest: LabTransport, *words: str) -> tuple[int, list[dict[str, Any]]]:
    options = ("-p", "source=external", "--samples", str(WOKEN), *words, "--json")
    code, text = call(guest, "run", "IRQ-P-TLT", *options)
    return code, [json.loads(line) for line in text.splitlines()]


def data_of(lines: list[dict[str, Any]], event: str) -> dict[str, Any]:
    (data,) = [one["data"] for one in lines if one["type"] == "event" and one["name"] == event]
    return dict(data)


def test_of_each_interrupt_the_guest_counts_one(held: LabTransport) -> None:
    said = shell(held, ONE_BY_ONE)
    *counts, line = said.splitlines()
    first, *served, last = map(int, counts)
    assert served == [first + one + 1 for one in range(RAISED + 1)]  # those at once are one
    assert last == served[-1]
    assert sum(map(int, line.split()[1:3])) == last  # the kernel's own count


def test_each_interrupt_wakes_the_thread(counting: LabTransport) -> None:
    """Raised by the low-priority thread, since the guest has one CPU."""
    code, lines = measured(counting, "-p", "uio=0", "-p", "handler=tracepoints")
    assert code == EXIT_OK, lines
    assert data_of(lines, "raised_here")["cpu"] == 0
    counted, seen = data_of(lines, "interrupts_counted"), data_of(lines, "handler_seen")
    assert counted["kernel_count"] == counted["sent_count"] > WOKEN  # with those of warm-up
    assert seen["matched_count"] == WOKEN
    series = {one["name"]: one for one in lines if one["type"] == "series"}
    total, part = series["send_to_thread"], series["to_thread"]
    assert total["count"] == part["count"] == WOKEN
    assert 0 < part["min"] < total["min"]
    assert part["max"] < total["max"]


def test_a_device_that_is_not_there_is_told(counting: LabTransport) -> None:
    code, lines = measured(counting, "-p", "uio=1")
    (result,) = [line for line in lines if line["type"] == "result"]
    assert (code, result["status"]) == (EXIT_PRIVILEGE, "unsupported")
    assert "there is no UIO device 1" in result["reason"]
    assert "uio0" in result["remedy"]


def test_without_a_name_no_device_is_touched(counting: LabTransport) -> None:
    """Although there is one."""
    _, lines = measured(counting)
    (result,) = [line for line in lines if line["type"] == "result"]
    assert result["status"] == "skipped"
    assert "no device is named" in result["reason"]
