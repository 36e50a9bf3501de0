"""Names of results: what differs within the run, and nothing else."""

from __future__ import annotations

import pytest

from hardstone.model import Conditions, Result
from hardstone.stats.conditions import Condition, Names, conditions_in, names_in, result_under
from tests.stats import make
from tests.targets import sample


def result(load: str, config: str, **changed: object) -> Result:
    return make.result(conditions=Conditions(load=load, cpu_config=config), **changed)


@pytest.mark.parametrize(
    ("conditions", "names"),
    [
        ([("heavy", "shielded")], ["TMR-P-LAT"]),
        ([("none", "shared"), ("heavy", "shared")], ["TMR-P-LAT [none]", "TMR-P-LAT [heavy]"]),
        (
            [("heavy", "shared"), ("heavy", "single")],
            ["TMR-P-LAT [shared]", "TMR-P-LAT [single]"],
        ),
        (
            [("none", "shared"), ("heavy", "single")],
            ["TMR-P-LAT [none, shared]", "TMR-P-LAT [heavy, single]"],
        ),
    ],
)
def test_a_name_says_what_differs(conditions: list[tuple[str, str]], names: list[str]) -> None:
    document = make.document(results=[result(*one) for one in conditions])
    assert [names_in(document).name(one) for one in document.results] == names


def test_conditions_come_in_the_order_of_the_plan() -> None:
    tests = [sample.planned(load=load) for load in ("none", "heavy", "storm")]
    document = make.document(results=[result("storm", "shared"), result("none", "shared")])
    document.plan = make.plan_of(tests, loads=["none", "heavy", "storm"])
    assert conditions_in(document) == [Condition("none", "shared"), Condition("storm", "shared")]


def test_what_did_not_run_before_there_were_loads_has_no_condition() -> None:
    lacking = make.result(status="denied", series=[], conditions=Conditions())
    document = make.document(results=[result("heavy", "shared"), lacking])
    assert conditions_in(document) == [Condition("heavy", "shared")]
    assert [names_in(document).name(one) for one in document.results] == ["TMR-P-LAT"] * 2


def test_long_loads_are_cut_and_stay_apart() -> None:
    long = [f"stress-ng:--matrix 2 --vm 3 --vm-bytes 1G --cpu {n}" for n in range(3)]
    found = Names([Condition(load, "shared") for load in ["none", *long]])
    labels = [found.label(Condition(load, "shared")) for load in ["none", *long]]
    assert labels[0] == "none" and len(set(labels)) == 4
    assert all(len(label) <= 36 for label in labels)


def test_a_whole_result_under_other_conditions_says_so() -> None:
    planned = sample.planned(load="heavy", cpu_config="shielded")
    wrong = result_under(planned, result("none", "shielded"))
    assert (wrong.conditions.load, wrong.conditions.cpu_config) == ("heavy", "shielded")
    (event,) = wrong.events
    assert event.name == "conditions_differ" and "load none" in event.text


@pytest.mark.parametrize("changed", [{"complete": False}, {"status": "denied"}])
def test_what_was_cut_or_never_ran_has_the_conditions_asked(changed: dict[str, object]) -> None:
    found = result_under(sample.planned(load="heavy"), result("none", "shared", **changed))
    assert found.conditions.load == "heavy" and found.events == []
