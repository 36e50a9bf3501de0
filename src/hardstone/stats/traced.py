"""Which task ran before a worst value, from the lines of trace events that the probe composes."""

from __future__ import annotations

import re
from dataclasses import dataclass

from hardstone.model import Trace, Worst

# A name may hold anything but a line end, also what looks like the next field. The kernel cuts it
# to 15 characters, some trees to more.
_NAME = r".{0,63}?"
_LINE = re.compile(r"\[(\d+)\] +\d+\.\d+: (.*)", re.DOTALL)
_SWITCH = re.compile(
    rf"sched_switch: prev_comm=({_NAME}) prev_pid=(\d+) prev_prio=(-?\d+) ==> next_pid=(\d+)"
)
_BEGINS, _ENDS, _LOST = "the value begins", "the value ends", "LOST "


@dataclass(frozen=True)
class Task:
    """`priority` as the kernel counts it: below 100 is real-time, 0 is the highest; None: not
    known."""

    name: str
    pid: int
    priority: int | None = None

    @property
    def is_idle(self) -> bool:
        return self.pid == 0


def task_before(worst: Worst, trace: Trace | None) -> Task | None:
    """The task that had the CPU before `worst`, by its trace or by what the probe saw of it."""
    traced = ran_before(trace) if trace else None
    if traced is not None or worst.before_thread is None:
        return traced
    return Task(worst.before or "", worst.before_thread)


def ran_before(trace: Trace) -> Task | None:
    """The task that gave up the CPU in the last switch within the value.

    What ends a value runs then, so it is the switch that ended the wait. None where the lines show
    no switch of that CPU within it, or where events are lost after it. A long excerpt begins after
    the begin of its value.
    """
    before: Task | None = None
    for line in trace.lines:
        event = _LINE.fullmatch(line)
        if event is None or (trace.cpu is not None and int(event[1]) != trace.cpu):
            continue
        if event[2] == _BEGINS or event[2].startswith(_LOST):
            before = None
        elif event[2] == _ENDS:
            return before
        elif found := _SWITCH.fullmatch(event[2]):
            before = Task(found[1], int(found[2]), int(found[3]))
    return None
