"""What the durations of a run are: time of a processor, of an emulated one, or instructions."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from hardstone.model import RunDocument, Scalar
from hardstone.stats.clock_check import clocks_apart

_EMULATOR = "TCG"  # QEMU reports this name when it emulates the processor


class KindOfTime(Enum):
    """Durations of different kinds are never compared. The value is what a note says of a run."""

    HARDWARE = "is not emulated"
    EMULATED = "is emulated"
    COUNTED = "counts instructions in place of time"
    UNKNOWN = "may be emulated"


_NOT_OF_HARDWARE = {
    KindOfTime.EMULATED: "emulated: not beside figures of hardware",
    KindOfTime.COUNTED: "time counts instructions: not beside figures of hardware",
    KindOfTime.UNKNOWN: "perhaps emulated: not beside figures of hardware",
}
_MEANINGS = {
    KindOfTime.EMULATED: "Times of an emulated processor do not apply to hardware.",
    KindOfTime.COUNTED: (
        "Each instruction takes the same virtual time: the times are path lengths, and do not "
        "apply to hardware."
    ),
    KindOfTime.UNKNOWN: (
        "If the processor is emulated, which is not known, the times do not apply to hardware."
    ),
}


def is_emulated(system: Mapping[str, Scalar]) -> bool:
    """Whether the facts `system` say that the processor is emulated."""
    hypervisor = str(system.get("virtual.hypervisor"))
    return bool(system.get("virtual.emulated")) or hypervisor.startswith(_EMULATOR)


def counts_instructions(system: Mapping[str, Scalar]) -> bool:
    """Whether the clocks of the system count instructions, each of which takes the same time."""
    return system.get("virtual.time") == "instructions"


def kind_of_time(system: Mapping[str, Scalar]) -> KindOfTime:
    """A system without the fact is taken for hardware, one that could not find it out is not."""
    if counts_instructions(system):
        return KindOfTime.COUNTED
    if is_emulated(system):
        return KindOfTime.EMULATED
    is_unknown = system.get("virtual.emulated", False) is None
    return KindOfTime.UNKNOWN if is_unknown else KindOfTime.HARDWARE


def time_meaning(system: Mapping[str, Scalar]) -> str:
    """What the kind of time means for the figures, as a sentence; empty for hardware."""
    return _MEANINGS.get(kind_of_time(system), "")


def why_incomparable(first: RunDocument, other: RunDocument) -> str | None:
    """Why no duration of `other` may be divided by one of `first`; None if it may."""
    ours, theirs = kind_of_time(other.system), kind_of_time(first.system)
    if ours is not theirs:
        return f"it {ours.value}, and the first target {theirs.value}"
    for document, whose in ((other, ""), (first, "of the first target: ")):
        apart = _clock_wrong(document)
        if apart:
            return whose + apart
    return None


def why_not_beside_hardware(document: RunDocument) -> str | None:
    """Why no figure of `document` may stand beside one measured on hardware; None if it may."""
    return _NOT_OF_HARDWARE.get(kind_of_time(document.system)) or _clock_wrong(document)


def _clock_wrong(document: RunDocument) -> str | None:
    return clocks_apart(document.clock_check) if document.clock_check else None
