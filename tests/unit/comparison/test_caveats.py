"""What is said of a figure of a run that stands beside a published one."""

from __future__ import annotations

import pytest

from hardstone.comparison.grey import beside
from hardstone.systems.published import Address

TO_THREAD = Address("IRQ-P-TLT", ("to_thread",), {"source": "external"})
DISPATCH = Address("IRQ-P-DLT", ("dispatch",), {"source": "external"})
PAIR = Address("SEM-P-SIG", ("signal_wait",), {"kind": "unnamed", "scope": "thread"})


@pytest.mark.parametrize(
    ("address", "system", "said"),
    [
        (TO_THREAD, "Linux", "from the entry of the handler"),
        (TO_THREAD, "Other", "from the entry of the handler"),
        (DISPATCH, "Linux", ""),
        (PAIR, "Linux", "enters the kernel only when"),
        (PAIR, "Other", ""),
    ],
)
def test_a_caveat(address: Address, system: str, said: str) -> None:
    (one,) = beside(address, {"kernel.name": system})
    assert one.address == address and not one.refused
    assert said in one.note and bool(one.note) == bool(said)
