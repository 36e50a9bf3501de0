"""The mix `storm` of runs from before the element `messages`."""

from __future__ import annotations

import msgspec
import pytest

from hardstone.model import LoadReached, Result, RunDocument
from hardstone.older.old_storm import storm_as_measured
from hardstone.plan.condition_options import check_loads
from hardstone.plan.problems import Problems
from hardstone.store.convert import decode_document
from tests.process.targets import sample
from tests.unit.stats import make

WRITTEN = "heavy+storm=240+build=1+kernel"
EACH = "heavy@cpu+storm=240@cpu+build=1@cpu+kernel@cpu"


def reached(element: str) -> LoadReached:
    return LoadReached(element=element, degree="1", asked=1, reached=1, unit="jobs", processes=1)


def result(load: str, *elements: str) -> Result:
    made = make.result()
    made.conditions.load = load
    made.load = [reached(element) for element in elements]
    return made


def document(load: str, *elements: str) -> RunDocument:
    """A run under `load` and under none; the first had `elements`."""
    loads = [load, "none"]
    made = make.document(results=[result(load, *elements), result("none")])
    plan = make.plan_of([sample.planned(load=one) for one in loads], loads=loads)
    command = ["run", "TMR-P-JIT", "--load", load, "--name", "storm"]
    made.plan = msgspec.structs.replace(plan, load=",".join(loads), command=command)
    reasons = [f"TMR-P-JIT [{load}, shared]: short", f"TMR-P-JIT [{load}]: short"]
    made.trust = msgspec.structs.replace(made.trust, reasons=reasons)
    return made


@pytest.mark.parametrize(
    ("load", "written"),
    [
        ("storm", WRITTEN),
        ("storm@cpu", EACH),
        ("storm+stress-ng:--cpu 2,storm", f"{WRITTEN}+stress-ng:--cpu 2,storm"),
    ],
)
def test_a_storm_without_messages_is_written_out(load: str, written: str) -> None:
    found = storm_as_measured(document(load, "cpu", "storm", "build", "kernel"))
    assert [one.conditions.load for one in found.results] == [written, "none"]
    assert found.plan.loads == [test.load for test in found.plan.tests] == [written, "none"]
    assert found.plan.command == ["run", "TMR-P-JIT", "--load", written, "--name", "storm"]
    assert found.trust.reasons[0] == f"TMR-P-JIT [{written}, shared]: short"
    assert found.trust.reasons[1] == f"TMR-P-JIT [{written}]: short"


def test_it_is_in_the_form_that_a_plan_has_today() -> None:
    for written in (WRITTEN, EACH):
        assert check_loads([written], sample.loads(), Problems()) == [written]


@pytest.mark.parametrize(
    ("load", "elements"),
    [
        ("storm", ("cpu", "storm", "build", "kernel", "messages")),
        ("storm", ()),  # nothing was measured
        ("storm=240", ("storm",)),
        ("heavy", ("cpu",)),
        ("heavy+stress-ng:+storm", ("cpu", "stress-ng")),
    ],
)
def test_other_loads_stay(load: str, elements: tuple[str, ...]) -> None:
    made = document(load, *elements)
    assert storm_as_measured(made) is made


def test_reading_a_document_writes_it_out() -> None:
    raw = msgspec.json.encode(document("storm", "storm", "build"))
    assert decode_document(raw, "a run").plan.loads == [WRITTEN, "none"]
