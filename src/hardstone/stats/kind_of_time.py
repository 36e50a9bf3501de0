"""What the durations of a run are: time of a processor, of an emulated one, or instructions."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from hardstone.model import RunDocument, Scalar
from hardstone.stats.clock_check import clocks_apart

_EMULATOR = "TCG"  # QEMU reports this name when it emulates the processor
_COUNTED = "hardstone.lab=icount"  # on the command line of a guest of the lab


class KindOfTime(Enum):
    """Durations of different kinds are never compared. The value is what a note says of a run."""

    HARDWARE = "is not emulated"
    EMULATED = "is emulated"
    COUNTED = "counts instructions in place of time"
    UNKNOWN = "may be emulated"


def is_emulated(system: Mapping[str, Scalar]) -> bool:
    """Whether the facts `system` say that the processor is emulated."""
    hypervisor = str(system.get("virtual.hypervisor"))
    return bool(system.get("virtual.emulated")) or hypervisor.startswith(_EMULATOR)


def kind_of_time(system: Mapping[str, Scalar]) -> KindOfTime:
    """A system without the fact is taken for hardware, one that could not find it out is not."""
    if _COUNTED in str(system.get("kernel.cmdline")).split():
        return KindOfTime.COUNTED
    if is_emulated(system):
        return KindOfTime.EMULATED
    is_unknown = system.get("virtual.emulated", False) is None
    return KindOfTime.UNKNOWN if is_unknown else KindOfTime.HARDWARE


def why_incomparable(first: RunDocument, other: RunDocument) -> str | None:
    """Why no duration of `other` may be divided by one of `first`; None if it may."""
    ours, theirs = kind_of_time(other.system), kind_of_time(first.system)
    if ours is not theirs:
        return f"it {ours.value}, and the first target {theirs.value}"
    for document, whose in ((other, ""), (first, "of the first target: ")):
        apart = document.clock_check and clocks_apart(document.clock_check)
        if apart:
            return whose + apart
    return None
