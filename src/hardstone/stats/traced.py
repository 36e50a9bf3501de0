"""Which task ran before a worst value, from the kernel's lines of trace events."""

from __future__ import annotations

import re
from dataclasses import dataclass

from hardstone.model import Trace

# A name may hold anything but a line end, also what looks like the next field. The kernel cuts it
# to 15 characters, some trees to more.
_NAME = r".{0,63}?"
_EVENT = re.compile(r"\[(\d+)\] +(?:\S+ +)?(\d+\.\d+): sched_switch: (.*)")
_SWITCH = re.compile(
    rf"prev_comm=({_NAME}) prev_pid=(\d+) prev_prio=(-?\d+) prev_state=(\S+) ==> "
    rf"next_comm=({_NAME}) next_pid=(\d+) next_prio=(-?\d+)$"
)
_OWN = "hardstone"


@dataclass(frozen=True)
class Task:
    """`priority` as the kernel counts it: below 100 is real-time, 0 is the highest."""

    name: str
    pid: int
    priority: int

    @property
    def is_idle(self) -> bool:
        return self.pid == 0


def ran_before(trace: Trace) -> Task | None:
    """The task that gave the CPU to the measuring thread in the last switch to it.

    Excerpts end after the value, so it is the switch that ended the wait. None where the lines
    show no such switch.
    """
    for line in reversed(trace.lines):
        event = _EVENT.search(line)
        found = _SWITCH.fullmatch(event[3].strip()) if event else None
        if event is None or found is None:
            continue
        if trace.cpu is not None and int(event[1]) != trace.cpu:
            continue
        if found[5].startswith(_OWN) and not found[1].startswith(_OWN):
            return Task(found[1], int(found[2]), int(found[3]))
    return None
