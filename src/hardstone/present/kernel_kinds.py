"""Which kinds of semaphore compare with a published figure of calls that enter the kernel."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from hardstone.catalogue import load_catalogue
from hardstone.model import Scalar
from hardstone.systems.published import Address

_SWITCH = "context_switch"
_PAIR = "signal_wait"
ON_LINUX = "on Linux this kind enters the kernel only when a thread waits"
NOT_COMPARABLE = f"not comparable: {ON_LINUX}"


@dataclass(frozen=True)
class Stand:
    """An address of a run to compare with a published one. `refused`: why it is not
    comparable; `note`: a caveat if it is."""

    address: Address
    refused: str = ""
    note: str = ""


def beside(address: Address, system: Mapping[str, Scalar]) -> Iterator[Stand]:
    """The addresses of a run to compare with `address`.

    For a context switch of a kind that is not comparable these are those of comparable kinds.
    """
    kinds = load_catalogue().entry(address.test).enters_kernel
    when = kinds.get(address.labels.get("kind", ""), "always")
    series = address.parts[-1] if address.parts else ""
    if when == "always" or system.get("kernel.name") != "Linux":
        yield Stand(address)
    elif series != _SWITCH:
        yield Stand(address, note=ON_LINUX if series == _PAIR else "")
    else:
        yield Stand(address, refused=NOT_COMPARABLE)
        for kind in (kind for kind, found in kinds.items() if found == "always"):
            yield Stand(replace(address, labels={**address.labels, "kind": kind}))
