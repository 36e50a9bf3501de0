"""A device that raises interrupts, QEMU's edu, and what counts them in the guest."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hardstone.errors import InputError
from hardstone.lab.kernels import Kernel
from hardstone.targets.lab import LabTransport, lab_transport
from tests.guests.called import call

RAISED = 20
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


@pytest.fixture(scope="module")
def guest(kernel: Kernel) -> Iterator[LabTransport]:
    try:
        with_guest = lab_transport(f"{kernel.name},cpus=2,device=edu")
    except InputError as error:
        pytest.skip(str(error))
    with_guest.open()
    yield with_guest
    with_guest.close()


def test_of_each_interrupt_the_guest_counts_one(guest: LabTransport) -> None:
    said = call(guest, "shield", "--settings", "dma_latency", "--", "sh", "-c", ONE_BY_ONE)[1]
    *counts, line = said.splitlines()
    first, *served, last = map(int, counts)
    assert served == [first + one + 1 for one in range(RAISED + 1)]  # those at once are one
    assert last == served[-1]
    assert sum(map(int, line.split()[1:3])) == last  # the kernel's own count
