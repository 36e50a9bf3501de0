"""What is known of a search of IRQ-S-SUS by the events of its steps."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hardstone.catalogue import load_catalogue
from hardstone.model import Event, Plan
from hardstone.plan.make import Request, make_plan, rest_of_search
from hardstone.stats.sustained import Bracket, Step, bracket_of, ended_sources, steps_of
from tests.process.targets import sample
from tests.unit.stats import make


def step_event(
    period_ns: int, *, source: str = "ipi", lost: int = 0, limited: bool = False, **changed: object
) -> Event:
    data: dict[str, object] = {
        "source": source,
        "period_ns": period_ns,
        "interrupts_count": 1000,
        "seen_count": 1000 - lost,
        "lost_count": lost,
        "late_count": 2,
        "merged_count": 1,
        "is_source_limited": limited,
        "passed": lost == 0 and not limited,
    }
    return Event(name="sustained_step", text="a step", data=data | changed)


def steps(*events: Event) -> list[Step]:
    return steps_of([make.result("IRQ-S-SUS", events=list(events))])


def test_the_bracket_is_between_what_passed_and_what_failed() -> None:
    found = steps(
        step_event(1000, lost=400),
        step_event(2000, lost=3),
        step_event(4000),
        step_event(2800),
        step_event(2400, lost=1),
        step_event(900, source="timer"),
    )
    assert bracket_of(found, "ipi") == Bracket(2800, 2400)
    assert bracket_of(found, "timer") == Bracket(900, 0)
    assert bracket_of(found, "external") == Bracket()


@pytest.mark.parametrize(
    ("events", "bracket"),
    [
        # a limit of the source is known as such
        ([step_event(1000, limited=True), step_event(2000)], Bracket(2000, source_failed_ns=1000)),
        # what failed above what passed is no bound, only failures are
        ([step_event(4000, lost=1), step_event(2000)], Bracket(2000, 0)),
        ([step_event(1000, lost=5), step_event(2000, lost=5)], Bracket(0, 2000)),
    ],
)
def test_which_steps_bound_the_search(events: list[Event], bracket: Bracket) -> None:
    assert bracket_of(steps(*events), "ipi") == bracket


@pytest.mark.parametrize(
    "changed",
    [
        {"interrupts_count": "2000"},
        {"lost_count": None},
        {"merged_count": 3.5},
        {"late_count": True},
    ],
)
def test_an_event_that_is_no_step_is_left_out(changed: dict[str, object]) -> None:
    assert steps(step_event(1000, **changed)) == []


def test_sources_whose_search_has_ended() -> None:
    limit = Event(name="sustained_limit", text="", data={"source": "ipi"})
    silent = Event(name="sustained_not_sent", text="", data={"source": "timer"})
    assert ended_sources([make.result("IRQ-S-SUS", events=[limit, silent])]) == {"ipi", "timer"}


@pytest.mark.slow
@settings(max_examples=50)
@given(st.lists(st.tuples(st.integers(200, 10**6), st.booleans()), max_size=30))
def test_the_bracket_holds_for_any_steps(tried: list[tuple[int, bool]]) -> None:
    found = steps(*(step_event(period, lost=0 if passed else 1) for period, passed in tried))
    bracket = bracket_of(found, "ipi")
    passed = [period for period, is_good in tried if is_good]
    assert bracket.passed_ns == min(passed, default=0)
    if bracket.failed_ns and bracket.passed_ns:
        assert bracket.failed_ns < bracket.passed_ns
    if bracket.failed_ns:
        assert (bracket.failed_ns, False) in tried


def searched(*sources: str) -> Plan:
    words = (f"source={','.join(sources)}", "interrupts=1000")
    request = Request(tests=("IRQ-S-SUS",), params=words)
    return make_plan(request, sample.register(), load_catalogue())


TIMER = {"timer": {"passed_ns": 2800, "failed_ns": 2400}}


def test_the_rest_are_the_sources_that_have_not_ended() -> None:
    rest = rest_of_search(searched("ipi", "timer", "external"), {"ipi"}, TIMER)
    params = rest.tests[0].params
    assert params["source"] == ["timer", "external"]
    assert (params["passed_ns"], params["failed_ns"]) == ([2800, 0], [2400, 0])
    assert (params["source_failed_ns"], params["interrupts"]) == ([0, 0], 1000)


def test_nothing_is_left_when_all_have_ended() -> None:
    assert rest_of_search(searched("ipi"), {"ipi"}, {}) is None
