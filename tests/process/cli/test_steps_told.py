"""The steps of a search that takes long are told while it measures, each once."""

from __future__ import annotations

import msgspec

from hardstone.campaign import Look, Tick
from hardstone.catalogue import load_catalogue
from hardstone.cli.steps_told import StepsTold
from hardstone.model import Event, PlannedTest
from hardstone.plan import Request, make_plan
from tests.process.targets import sample
from tests.unit.stats import make
from tests.unit.stats.test_sustained import step_event

SECOND_NS = 1_000_000_000


class Told:
    """What is told at ticks of a search that has done `events` by then."""

    def __init__(self, seconds: int = 3600, test: str = "IRQ-S-SUS") -> None:
        plan = make_plan(Request(tests=(test,)), sample.register(), load_catalogue())
        self.planned: PlannedTest = msgspec.structs.replace(
            plan.tests[0], expected_ns=seconds * SECOND_NS
        )
        self.steps = StepsTold()
        self.look_count = 0
        self.events: list[Event] = []
        self.cost_ns = 0

    def look(self) -> Look:
        self.look_count += 1
        return Look(make.result("IRQ-S-SUS", events=self.events), self.cost_ns)

    def at(self, second: int) -> list[str]:
        return self.steps.lines(Tick(self.planned, second * SECOND_NS, self.look))


def test_each_step_is_told_once() -> None:
    told = Told()
    assert told.at(1) == []
    told.events = [step_event(1000, lost=4), step_event(2000)]
    first, second = told.at(20)
    assert "1 us" in first and "left" not in first
    assert "2 us" in second and "left" in second
    assert told.at(40) == []
    told.events.append(step_event(1400))
    assert len(told.at(60)) == 1


def test_nobody_looks_at_each_tick() -> None:
    told = Told()
    for second in range(100):
        told.at(second)
    assert told.look_count <= 11


def test_looking_that_costs_much_is_rare() -> None:
    told = Told()
    told.cost_ns = SECOND_NS
    for second in range(300):
        told.at(second)
    assert told.look_count <= 3


def test_a_short_search_and_another_test_are_left_alone() -> None:
    for told in (Told(seconds=5), Told(test="TMR-P-LAT")):
        told.events = [step_event(1000)]
        assert told.at(100) == [] and told.look_count == 0


def test_the_next_measurement_begins_anew() -> None:
    told = Told()
    told.events = [step_event(1000), step_event(2000)]
    assert len(told.at(50)) == 2
    told.events = [step_event(1000)]
    assert len(told.at(1)) == 1
