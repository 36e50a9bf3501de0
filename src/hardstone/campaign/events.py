"""Events of a campaign while it runs; reporters print them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hardstone.model import Plan, PlannedTest, Result


@dataclass(frozen=True)
class RunStarted:
    """The plan is stored and measuring begins."""

    run_id: str
    plan: Plan


@dataclass(frozen=True)
class MeasuringStarted:
    """`position` counts from 1."""

    planned: PlannedTest
    position: int
    total: int


@dataclass(frozen=True)
class Snapshot:
    """What a running test has recorded so far: `result`, or None and why there is nothing to see.

    `cost_ns`: the time of a CPU that looking took. `can_come`: a later look may see something.
    """

    result: Result | None
    cost_ns: int
    reason: str | None = None
    can_come: bool = True


@dataclass(frozen=True)
class Tick:
    """A sign of life, at most once a second, while the test measures in silence.

    `look` reads what the test has recorded from a copy of its memory; the probe takes no notice.
    """

    planned: PlannedTest
    elapsed_ns: int
    look: Callable[[], Snapshot]


@dataclass(frozen=True)
class MeasuringFinished:
    planned: PlannedTest
    position: int
    total: int
    result: Result


@dataclass(frozen=True)
class Warned:
    """A message for the person who waits."""

    text: str


@dataclass(frozen=True)
class RunFinished:
    run_id: str
    is_aborted: bool = False  # what had not arrived yet is lost


CampaignEvent = RunStarted | MeasuringStarted | Tick | MeasuringFinished | Warned | RunFinished
