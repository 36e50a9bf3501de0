"""What the durations of a run are: time of a processor, of an emulated one, or instructions; and
whether its clock kept time.

A guest that calibrated its clock wrongly is consistent within itself: nothing that its probe
measures shows it.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from hardstone.model import ClockCheck, RunDocument, Scalar
from hardstone.units import format_count, format_ns

_MOST_PERCENT = 1


def clocks_apart(check: ClockCheck) -> str | None:
    """The reason, if the spans differ by more than 1 % beyond the uncertainty; else None."""
    beyond_ns = abs(check.target_ns - check.host_ns) - _uncertainty_ns(check)
    if check.host_ns <= 0 or 100 * beyond_ns <= _MOST_PERCENT * check.host_ns:
        return None
    if check.target_ns <= 0:
        return f"the target's clock {'went back' if check.target_ns else 'stood still'}"
    speed = _speed_text(check.target_ns / check.host_ns)
    return f"the target's clock ran {speed} times as fast as this machine's"


def clocks_not_held(check: ClockCheck) -> str | None:
    """The reason, if the uncertainty exceeds 1 % of the span and nothing else is seen; else None.

    Without a span there is nothing to hold against either.
    """
    uncertainty_ns = _uncertainty_ns(check)
    is_sure = 100 * uncertainty_ns <= _MOST_PERCENT * check.host_ns
    if (check.host_ns > 0 and is_sure) or clocks_apart(check):
        return None
    return (
        "the target's clock could not be held against this machine's: "
        f"uncertain by {format_ns(uncertainty_ns)} in {format_ns(max(check.host_ns, 0))}"
    )


def _uncertainty_ns(check: ClockCheck) -> int:
    return max(check.uncertainty_ns, 0)


def _speed_text(ratio: float) -> str:
    """Four significant digits: a clock that is off by 1 % is not called 1.0 times as fast."""
    if ratio < 0.001:
        return "less than 0.001"
    return format_count(round(ratio)) if ratio >= 1000 else f"{ratio:.4g}"


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
