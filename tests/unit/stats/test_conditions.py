"""Names of results: what differs within the run, and nothing else."""

from __future__ import annotations

import pytest

from hardstone.model import Conditions, Result
from hardstone.stats.conditions import (
    Condition,
    Names,
    conditions_in,
    listed,
    names_in,
    result_under,
)
from tests.process.targets import sample
from tests.unit.stats import make


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


def under(model: str | None, **changed: object) -> Result:
    conditions = Conditions(load="none", cpu_config="shared", preemption=model)
    return make.result(conditions=conditions, **changed)


def test_a_name_says_which_model_the_kernel_was_switched_to() -> None:
    document = make.document(results=[under("none"), under("full")])
    assert [names_in(document).name(one) for one in document.results] == [
        "TMR-P-LAT [preemption none]",
        "TMR-P-LAT [preemption full]",
    ]
    assert names_in(make.document(results=[under("full")])).name(under("full")) == "TMR-P-LAT"


@pytest.mark.parametrize(("said", "is_other"), [("none", False), ("lazy", True), (None, True)])
def test_a_probe_that_measured_under_another_model_is_found_out(
    said: str | None, is_other: bool
) -> None:
    found = result_under(sample.planned(preemption="none"), under(said))
    assert found.conditions.preemption == "none"
    (event,) = found.events or [None]
    assert (event is not None) is is_other
    if event is not None:
        assert (event.name, event.data["asked_preemption"]) == ("conditions_differ", "none")
        assert "requested: load none, CPUs shared, preemption none" in event.text


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


def test_a_run_from_before_loads_has_the_conditions_of_its_results() -> None:
    """Its plan says of each test what is the default now, which was not in force."""
    document = make.document(results=[result("heavy", "shared")])
    document.plan = make.plan_of([sample.planned()], load="heavy")
    assert names_in(document).name(document.results[0]) == "TMR-P-LAT"
    assert conditions_in(document) == [Condition("heavy", "shared")]


def labels(*loads: str) -> list[str]:
    found = Names([Condition(load, "shared") for load in loads])
    return [found.label(Condition(load, "shared")) for load in loads]


def test_long_loads_are_cut_to_where_they_differ() -> None:
    long = [f"stress-ng:--matrix 2 --vm 3 --vm-bytes 1G --cpu {n}" for n in range(3)]
    assert labels("none", *long) == ["none"] + [f"stress-ng:…--cpu {n}" for n in range(3)]
    mixes = [f"cpu=10ms/100ms,disk=100ms/1s,network={n}" for n in ("4000/s", "40/s")]
    assert labels(*mixes) == ["cpu=10ms/1…network=4000/s", "cpu=10ms/1…network=40/s"]
    alone = "stress-ng:--matrix 2 --vm 3 --vm-bytes 1G"
    assert labels("none", alone)[1] == alone[:31] + "…"


def test_loads_that_differ_too_far_apart_have_numbers_and_a_legend() -> None:
    same = "stress-ng:--matrix 2 --vm 3 --hdd 1 "
    loads = [same + "--cpu 1" + "0" * 30 + end for end in "ab"] + [same + "--vm-bytes 1G"]
    found = Names([Condition(load, "shared") for load in ["none", *loads]])
    shown = [found.load(load) for load in loads]
    assert shown[0].removesuffix(" #2") == shown[1].removesuffix(" #3")
    assert (shown[0][-3:], shown[1][-3:]) == (" #2", " #3")
    assert shown[2] == "stress-ng:…--vm-bytes 1G"
    assert all(len(one) <= 36 for one in shown)
    assert found.legend() == dict(zip(shown, loads, strict=True))
    assert Names([Condition("heavy", "shared")]).legend() == {}


@pytest.mark.parametrize(
    ("config", "settings", "name"),
    [
        ("shared", ["dma_latency"], "TMR-P-LAT [with dma_latency]"),
        ("shared", ["timers", "watchdog"], "TMR-P-LAT [with timers, watchdog]"),
        ("shared", [], "TMR-P-LAT"),
        ("shielded", ["cpuset", "dma_latency", "watchdog"], "TMR-P-LAT"),
        ("single", ["dma_latency"], "TMR-P-LAT"),
    ],
)
def test_settings_are_named_where_they_were_switched_alone(
    config: str, settings: list[str], name: str
) -> None:
    where = Conditions(cpu_config=config, settings=settings)
    document = make.document(results=[make.result(conditions=where)])
    assert names_in(document).name(document.results[0]) == name


def test_what_did_not_run_under_a_planned_load_has_its_condition() -> None:
    lacking = result("heavy", "shared", status="denied", series=[])
    document = make.document(results=[result("none", "shared"), lacking])
    tests = [sample.planned(load=load) for load in ("none", "heavy")]
    document.plan = make.plan_of(tests, loads=["none", "heavy"])
    assert conditions_in(document) == [Condition("none", "shared"), Condition("heavy", "shared")]


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


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ("", ""),
        ("A", "A"),
        ("ABC", "A, B, C"),
        ("ABCD", "A, B, C and 1 more"),
        ("ABCDEF", "A, B, C and 3 more"),
        ("CABAC", "C, A, B"),
        ("AABBCCDD", "A, B, C and 1 more"),
    ],
)
def test_many_names_are_three_and_a_count(names: str, text: str) -> None:
    assert listed(names) == text
