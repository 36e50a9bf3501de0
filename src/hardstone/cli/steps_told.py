"""The finished steps of a search that takes long, told while it goes on."""

from __future__ import annotations

from hardstone.campaign import Tick
from hardstone.present.search_steps import step_line
from hardstone.stats.sustained import SUSTAINED, Step, steps_of, time_left_ns

_SECOND_NS = 1_000_000_000
_LEAST_NS = 20 * _SECOND_NS  # what takes less is told when it is over
_INTERVAL_NS = 10 * _SECOND_NS
_COST_SHARE = 100  # looking takes no more than this share of a CPU


class StepsTold:
    """Looks at a search now and then; each finished step is a line, once."""

    def __init__(self) -> None:
        self._next_ns = 0
        self._told = 0
        self._elapsed_ns = 0

    def lines(self, event: Tick) -> list[str]:
        """What is new since the last look: often nothing, and nobody looked."""
        planned = event.planned
        if planned.test != SUSTAINED or planned.expected_ns < _LEAST_NS:
            return []
        self._begin_anew(event)
        if event.elapsed_ns < self._next_ns:
            return []
        look = event.look()
        pause_ns = max(_INTERVAL_NS, look.cost_ns * _COST_SHARE)
        self._next_ns = event.elapsed_ns + pause_ns if look.can_come else planned.deadline_ns
        return [] if look.result is None else self._new(steps_of([look.result]), event)

    def _begin_anew(self, event: Tick) -> None:
        """A later measurement of the same run has steps of its own."""
        if event.elapsed_ns < self._elapsed_ns:
            self._told = self._next_ns = 0
        self._elapsed_ns = event.elapsed_ns

    def _new(self, steps: list[Step], event: Tick) -> list[str]:
        new, self._told = steps[self._told :], len(steps)
        left_ns = time_left_ns(steps, event.planned.params, event.planned.samples)
        return [step_line(step, left_ns if step is new[-1] else None) for step in new]
