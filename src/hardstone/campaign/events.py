"""Events of a campaign while it runs; reporters print them."""

from __future__ import annotations

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
class Tick:
    """A sign of life, at most once a second, while the test measures in silence."""

    planned: PlannedTest
    elapsed_ns: int


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


CampaignEvent = RunStarted | MeasuringStarted | Tick | MeasuringFinished | Warned | RunFinished
