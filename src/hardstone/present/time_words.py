"""Words for a run whose times are not those of hardware, or perhaps not."""

from __future__ import annotations

from collections.abc import Mapping

from hardstone.model import Scalar
from hardstone.stats.kind_of_time import KindOfTime, kind_of_time

_MARKS = {
    KindOfTime.EMULATED: "(emulated)",
    KindOfTime.COUNTED: "(instructions)",
    KindOfTime.UNKNOWN: "(emulated?)",
}
_MACHINES = {
    KindOfTime.EMULATED: "emulated",
    KindOfTime.COUNTED: "emulated, time counts instructions",
    KindOfTime.UNKNOWN: "perhaps emulated",
}


def time_mark(system: Mapping[str, Scalar]) -> str:
    """What stands over or beside figures: "(emulated)"; empty for those of hardware."""
    return _MARKS.get(kind_of_time(system), "")


def time_machine(system: Mapping[str, Scalar]) -> str:
    """What stands before the name of the processor: "emulated"; empty for hardware."""
    return _MACHINES.get(kind_of_time(system), "")
