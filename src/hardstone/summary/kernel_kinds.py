"""Which kinds of semaphore stand beside a published figure of calls that enter the kernel."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from hardstone.catalogue import load_catalogue
from hardstone.model import Scalar
from hardstone.published import Address

_SWITCH = "context_switch"
_WITHOUT_WAITER = (_SWITCH, "signal_wait")  # both hold calls that nobody waits for
NOT_COMPARABLE = "not comparable: on Linux this kind enters the kernel only when somebody waits"


def beside(address: Address, system: Mapping[str, Scalar]) -> Iterator[tuple[Address, str]]:
    """The addresses of a run that are set beside `address`, or why that one is not.

    A context switch of a kind that is not comparable gives way to those of kinds that are.
    """
    kinds = load_catalogue().entry(address.test).enters_kernel
    when = kinds.get(address.labels.get("kind", ""), "always")
    is_meant = address.parts[-1:] and address.parts[-1] in _WITHOUT_WAITER
    if when == "always" or not is_meant or system.get("kernel.name") != "Linux":
        yield address, ""
        return
    yield address, NOT_COMPARABLE
    if address.parts[-1] == _SWITCH:
        for kind in (kind for kind, found in kinds.items() if found == "always"):
            yield replace(address, labels={**address.labels, "kind": kind}), ""
