"""Runs of one plan on several targets, and which of their durations may be compared."""

from __future__ import annotations

import pytest

from hardstone.model import ClockCheck, Conditions, RunDocument
from hardstone.stats.kind_of_time import (
    KindOfTime,
    kind_of_time,
    why_incomparable,
    why_not_beside_hardware,
)
from hardstone.stats.several_runs import across_runs, conditions_of, most_interesting_first
from tests.unit.stats import make

HARDWARE = {"virtual.emulated": False, "virtual.hypervisor": None}
KVM = {"virtual.emulated": False, "virtual.hypervisor": "KVMKVMKVM"}
EMULATED = {"virtual.emulated": True, "virtual.hypervisor": "TCGTCGTCGTCG"}
COUNTED = EMULATED | {"virtual.time": "instructions"}
TIMED = EMULATED | {"virtual.time": None}
UNKNOWN = {"virtual.emulated": None}
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
        (TIMED, KindOfTime.EMULATED),
        (UNKNOWN, KindOfTime.UNKNOWN),
    ],
)
def test_what_the_times_of_a_system_are(facts: dict[str, object], kind: KindOfTime) -> None:
    assert kind_of_time(facts) is kind  # type: ignore[arg-type]


def run(facts: dict[str, object], **changed: object) -> RunDocument:
    return make.document(system=facts, **changed)


@pytest.mark.parametrize("facts", [HARDWARE, EMULATED, COUNTED, UNKNOWN])
def test_times_of_one_kind_are_compared(facts: dict[str, object]) -> None:
    assert why_incomparable(run(facts), run(facts)) is None


@pytest.mark.parametrize("first", [HARDWARE, EMULATED, COUNTED, UNKNOWN])
@pytest.mark.parametrize("other", [HARDWARE, EMULATED, COUNTED, UNKNOWN])
def test_times_of_two_kinds_are_not(first: dict[str, object], other: dict[str, object]) -> None:
    assert (why_incomparable(run(first), run(other)) is None) == (first is other)


@pytest.mark.parametrize(
    ("facts", "is_beside"),
    [(HARDWARE, True), (EMULATED, False), (COUNTED, False), (UNKNOWN, False)],
)
def test_what_may_stand_beside_hardware(facts: dict[str, object], is_beside: bool) -> None:
    assert (why_not_beside_hardware(run(facts)) is None) == is_beside


def test_why_two_kinds_are_not_compared() -> None:
    said = "it is emulated, and the first target is not emulated"
    assert why_incomparable(run(HARDWARE), run(EMULATED)) == said
    said = "it counts instructions in place of time, and the first target is emulated"
    assert why_incomparable(run(EMULATED), run(COUNTED)) == said


def test_a_clock_that_is_wrong_has_no_ratio() -> None:
    wrong = run(EMULATED, clock_check=FAST)
    assert "ran 10 times as fast" in (why_incomparable(run(EMULATED), wrong) or "")
    assert (why_incomparable(wrong, run(EMULATED)) or "").startswith("of the first target: ")


def under(load: str) -> Conditions:
    return Conditions(load=load, cpu_config="shared", policy="fifo", realtime=True)


def test_each_test_and_condition_of_any_run_is_a_row() -> None:
    first = make.document(results=[make.result("A-P-X", [1]), make.result("B-P-X", [2])])
    second = make.document(
        results=[make.result("B-P-X", [3]), make.result("B-P-X", [4], conditions=under("none"))]
    )
    found = across_runs([first, second])
    assert [(one.test, one.condition.load) for one in found] == [
        ("A-P-X", "heavy"),
        ("B-P-X", "heavy"),
        ("B-P-X", "none"),
    ]
    assert found[0].results == [first.results[0], None]
    assert found[0].series[0].found == [first.results[0].series[0], None]
    assert [one and one.max for one in found[1].series[0].found] == [2, 3]
    assert [one and one.max for one in found[2].series[0].found] == [None, 4]
    assert [one.load for one in conditions_of([first, second])] == ["heavy", "none"]


def test_timed_series_come_before_derived_ones_and_counts() -> None:
    low, high, derived, count = (make.series([n], f"s{n}") for n in (1, 9, 50, 99))
    derived.derived, count.unit = "a - b", "count"
    result = make.result(series=[count, derived, low, high])
    (one,) = across_runs([make.document(results=[result]), make.document(results=[])])
    shown = [row.first.name for row in most_interesting_first(one.series)]
    assert shown == ["s9", "s1", "s50", "s99"]


def on_cpus(*cpus: int) -> RunDocument:
    found = [make.series([10 + cpu]) for cpu in cpus]
    for series, cpu in zip(found, cpus, strict=True):
        series.labels["cpu"] = cpu
    return make.document(results=[make.result(series=found)])


def test_a_series_on_one_cpu_of_each_target_is_one_row() -> None:
    (one,) = across_runs([on_cpus(1), on_cpus(0), make.document(results=[])])
    (row,) = one.series
    assert [series and series.max for series in row.found] == [11, 10, None]
    assert "cpu" not in dict(row.key[1])
    (one,) = across_runs([on_cpus(1), on_cpus(1)])
    assert [dict(row.key[1])["cpu"] for row in one.series] == [1]


def test_a_series_for_each_cpu_keeps_its_rows() -> None:
    (one,) = across_runs([on_cpus(0, 1), on_cpus(1)])
    assert [[series and series.max for series in row.found] for row in one.series] == [
        [10, None],
        [11, 11],
    ]
