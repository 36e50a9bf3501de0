"""Under which conditions a result was measured: its name says what differs within the run and
nothing else; and which durations of several targets may be compared."""

from __future__ import annotations

import pytest

from hardstone.model import ClockCheck, Conditions, Result, RunDocument
from hardstone.stats.conditions import (
    Condition,
    Names,
    across_runs,
    conditions_in,
    conditions_of,
    listed,
    most_interesting_first,
    names_in,
    result_under,
)
from hardstone.stats.consistency import (
    KindOfTime,
    kind_of_time,
    why_incomparable,
    why_not_comparable_to_hardware,
)
from tests.process.targets import sample
from tests.unit.stats import make


def result(load: str, config: str = "shared", **changed: object) -> Result:
    return make.result(conditions=Conditions(load=load, cpu_config=config), **changed)


def under(model: str | None) -> Result:
    return make.result(conditions=Conditions(load="none", cpu_config="shared", preemption=model))


def with_settings(config: str, *settings: str) -> Result:
    return make.result(conditions=Conditions(cpu_config=config, settings=list(settings)))


@pytest.mark.parametrize(
    ("results", "names"),
    [
        ([result("heavy", "shielded")], [""]),
        ([result("none"), result("heavy")], [" [none]", " [heavy]"]),
        ([result("heavy"), result("heavy", "single")], [" [shared]", " [single]"]),
        ([result("none"), result("heavy", "single")], [" [none, shared]", " [heavy, single]"]),
        ([under("none"), under("full")], [" [preemption none]", " [preemption full]"]),
        ([under("full")], [""]),
        # settings are named where they were switched alone
        ([with_settings("shared", "dma_latency")], [" [with dma_latency]"]),
        ([with_settings("shared", "timers", "watchdog")], [" [with timers, watchdog]"]),
        ([with_settings("shared")], [""]),
        ([with_settings("shielded", "cpuset", "dma_latency", "watchdog")], [""]),
        ([with_settings("single", "dma_latency")], [""]),
    ],
)
def test_a_name_says_what_differs(results: list[Result], names: list[str]) -> None:
    found = names_in(make.document(results=results))
    assert [found.name(one).removeprefix("TMR-P-LAT") for one in results] == names


@pytest.mark.parametrize(("said", "is_other"), [("none", False), ("lazy", True), (None, True)])
def test_a_probe_that_measured_under_another_model_is_found_out(
    said: str | None, is_other: bool
) -> None:
    found = result_under(sample.planned(preemption="none"), under(said))
    assert found.conditions.preemption == "none"
    assert bool(found.events) is is_other
    for event in found.events:
        assert (event.name, event.data["asked_preemption"]) == ("conditions_differ", "none")
        assert "requested: load none, CPUs shared, preemption none" in event.text


def test_a_whole_result_under_other_conditions_says_so() -> None:
    planned = sample.planned(load="heavy", cpu_config="shielded")
    wrong = result_under(planned, result("none", "shielded"))
    assert (wrong.conditions.load, wrong.conditions.cpu_config) == ("heavy", "shielded")
    (event,) = wrong.events
    assert event.name == "conditions_differ" and "load none" in event.text


@pytest.mark.parametrize("changed", [{"complete": False}, {"status": "denied"}])
def test_what_was_cut_or_never_ran_has_the_conditions_asked(changed: dict[str, object]) -> None:
    found = result_under(sample.planned(load="heavy"), result("none", **changed))
    assert found.conditions.load == "heavy" and found.events == []


LACKING = {"status": "denied", "series": []}


@pytest.mark.parametrize(
    ("results", "planned", "loads"),
    [
        ([result("storm"), result("none")], ["none", "heavy", "storm"], ["none", "storm"]),
        # what did not run under a planned load has its condition
        ([result("none"), result("heavy", **LACKING)], ["none", "heavy"], ["none", "heavy"]),
        # and none where there were no loads
        ([result("heavy"), make.result(**LACKING, conditions=Conditions())], [], ["heavy"]),
    ],
)
def test_conditions_come_in_the_order_of_the_plan(
    results: list[Result], planned: list[str], loads: list[str]
) -> None:
    document = make.document(results=results)
    if planned:
        tests = [sample.planned(load=load) for load in planned]
        document.plan = make.plan_of(tests, loads=planned)
    assert conditions_in(document) == [Condition(load, "shared") for load in loads]


def test_a_run_from_before_loads_has_the_conditions_of_its_results() -> None:
    """Its plan says of each test what is the default now, which was not in force."""
    document = make.document(results=[result("heavy")])
    document.plan = make.plan_of([sample.planned()], load="heavy")
    assert names_in(document).name(document.results[0]) == "TMR-P-LAT"
    assert conditions_in(document) == [Condition("heavy", "shared")]


LONG = [f"stress-ng:--matrix 2 --vm 3 --vm-bytes 1G --cpu {n}" for n in range(3)]
ALONE = "stress-ng:--matrix 2 --vm 3 --vm-bytes 1G"


@pytest.mark.parametrize(
    ("loads", "labels"),
    [
        (["none", *LONG], ["none"] + [f"stress-ng:…--cpu {n}" for n in range(3)]),
        (
            [f"cpu=10ms/100ms,disk=100ms/1s,network={n}" for n in ("4000/s", "40/s")],
            ["cpu=10ms/1…network=4000/s", "cpu=10ms/1…network=40/s"],
        ),
        (["none", ALONE], ["none", ALONE[:31] + "…"]),
    ],
)
def test_long_loads_are_cut_to_where_they_differ(loads: list[str], labels: list[str]) -> None:
    found = Names([Condition(load, "shared") for load in loads])
    assert [found.label(Condition(load, "shared")) for load in loads] == labels


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


# ---- several runs ----

HARDWARE = {"virtual.emulated": False, "virtual.hypervisor": None}
KVM = {"virtual.emulated": False, "virtual.hypervisor": "KVMKVMKVM"}
EMULATED = {"virtual.emulated": True, "virtual.hypervisor": "TCGTCGTCGTCG"}
COUNTED = EMULATED | {"virtual.time": "instructions"}
UNKNOWN = {"virtual.emulated": None}
KINDS = [HARDWARE, EMULATED, COUNTED, UNKNOWN]
FAST = ClockCheck(host_ns=10**10, target_ns=10**11, uncertainty_ns=0)


@pytest.mark.parametrize(
    ("facts", "kind"),
    [
        (HARDWARE, KindOfTime.HARDWARE),
        (KVM, KindOfTime.HARDWARE),
        ({}, KindOfTime.HARDWARE),
        (EMULATED, KindOfTime.EMULATED),
        ({"virtual.hypervisor": "TCGTCGTCGTCG"}, KindOfTime.EMULATED),
        (COUNTED, KindOfTime.COUNTED),
        (EMULATED | {"virtual.time": None}, KindOfTime.EMULATED),
        (UNKNOWN, KindOfTime.UNKNOWN),
    ],
)
def test_what_the_times_of_a_system_are(facts: dict[str, object], kind: KindOfTime) -> None:
    assert kind_of_time(facts) is kind


def run(facts: dict[str, object], **changed: object) -> RunDocument:
    return make.document(system=facts, **changed)


@pytest.mark.parametrize("first", KINDS)
@pytest.mark.parametrize("other", KINDS)
def test_times_of_one_kind_are_compared(first: dict[str, object], other: dict[str, object]) -> None:
    assert (why_incomparable(run(first), run(other)) is None) == (first is other)
    assert (why_not_comparable_to_hardware(run(first)) is None) == (first is HARDWARE)


@pytest.mark.parametrize(
    ("first", "other", "why"),
    [
        (run(HARDWARE), run(EMULATED), "emulated: not comparable with hardware"),
        (
            run(EMULATED),
            run(COUNTED),
            "time is an instruction count: not comparable with an emulated processor",
        ),
        (run(EMULATED), run(EMULATED, clock_check=FAST), "the target's clock ran 10 times as fast"),
        (run(EMULATED, clock_check=FAST), run(EMULATED), "of the first target: "),
    ],
)
def test_why_two_runs_are_not_compared(first: RunDocument, other: RunDocument, why: str) -> None:
    assert why_incomparable(first, other).startswith(why)


def test_each_test_and_condition_of_any_run_is_a_row() -> None:
    none = Conditions(load="none", cpu_config="shared", policy="fifo", realtime=True)
    first = make.document(results=[make.result("A-P-X", [1]), make.result("B-P-X", [2])])
    second = make.document(
        results=[make.result("B-P-X", [3]), make.result("B-P-X", [4], conditions=none)]
    )
    found = across_runs([first, second])
    rows = [("A-P-X", "heavy"), ("B-P-X", "heavy"), ("B-P-X", "none")]
    assert [(one.test, one.condition.load) for one in found] == rows
    assert found[0].results == [first.results[0], None]
    assert found[0].series[0].found == [first.results[0].series[0], None]
    assert [one and one.max for one in found[1].series[0].found] == [2, 3]
    assert [one and one.max for one in found[2].series[0].found] == [None, 4]
    assert [one.load for one in conditions_of([first, second])] == ["heavy", "none"]


def test_timed_series_come_before_derived_ones_and_counts() -> None:
    low, high, derived, count = (make.series([n], f"s{n}") for n in (1, 9, 50, 99))
    derived.derived, count.unit = "a - b", "count"
    document = make.document(results=[make.result(series=[count, derived, low, high])])
    (one,) = across_runs([document, make.document(results=[])])
    shown = [row.first.name for row in most_interesting_first(one.series)]
    assert shown == ["s9", "s1", "s50", "s99"]


def on_cpus(*cpus: int) -> RunDocument:
    found = [make.series([10 + cpu]) for cpu in cpus]
    for series, cpu in zip(found, cpus, strict=True):
        series.labels["cpu"] = cpu
    return make.document(results=[make.result(series=found)])


@pytest.mark.parametrize(
    ("runs", "maxima", "cpus"),
    [
        ([on_cpus(1), on_cpus(0)], [[11, 10]], [None]),  # one CPU of each is one row
        ([on_cpus(1), on_cpus(1)], [[11, 11]], [1]),
        ([on_cpus(0, 1), on_cpus(1)], [[10, None], [11, 11]], [0, 1]),
    ],
)
def test_series_of_cpus(
    runs: list[RunDocument], maxima: list[list[int | None]], cpus: list[int | None]
) -> None:
    (one,) = across_runs([*runs, make.document(results=[])])
    rows = [[series and series.max for series in row.found] for row in one.series]
    assert rows == [[*row, None] for row in maxima]
    assert [dict(row.key[1]).get("cpu") for row in one.series] == cpus
