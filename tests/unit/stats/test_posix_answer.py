"""What part of POSIX works, and HP's features: by options, and by measurements of the run."""

from __future__ import annotations

from hardstone.model import Conditions, Result
from hardstone.stats.posix_answer import (
    Measured,
    PartCoverage,
    PointAnswer,
    answers_in,
    coverage_of,
    to_measure,
)
from hardstone.stats.posix_data import posix_data
from hardstone.stats.posix_reading import inventory_of
from tests.process.targets import sample
from tests.unit.stats import inventories, make


def coverage(part: str = "1003.1b", **odd: str) -> PartCoverage:
    return coverage_of(inventory_of(inventories.result(inventories.events(odd))), part)


def point(name: str, *others: Result, **odd: str) -> PointAnswer:
    found = inventories.result(inventories.events(odd))
    (answer,) = answers_in(inventories.document(*others, found=found))
    return next(one for one in answer.points if one.name == name)


def measured(name: str, *others: Result) -> Measured:
    return point(name, *others).measured[0]


def test_full_is_every_option_by_a_real_call() -> None:
    found = coverage()
    assert (found.coverage, found.working_count, found.options_count) == ("full", 14, 14)


def test_an_option_that_only_claims_does_not_cover() -> None:
    found = coverage(timers="200809 200809 fails", fsync="none none missing")
    assert (found.coverage, found.missing) == ("partial", ["timers", "fsync"])
    assert coverage(timers="200809 200809 partly").coverage == "partial"


def test_what_was_not_tried_never_counts_as_working() -> None:
    found = coverage(memlock="200809 200809 denied", timers="200809 200809 untried")
    assert (found.coverage, found.not_known) == ("not known", ["timers", "memlock"])
    assert coverage(memlock="200809 200809 denied", timers="none none fails").coverage == "partial"


def test_an_option_that_was_not_reported_is_not_known() -> None:
    few = inventory_of(
        inventories.result([inventories.options("1003.1b", {"timers": inventories.WORKS})])
    )
    found = coverage_of(few, "1003.1b")
    assert found.coverage == "not known" and len(found.not_known) == 13
    assert coverage_of(few, "1003.1c").coverage == "not known"


def test_none_is_every_option_missing() -> None:
    every = posix_data().parts["1003.1b"].options
    assert coverage(**dict.fromkeys(every, "none none missing")).coverage == "none"


def test_a_point_by_its_options() -> None:
    one, other = "semaphores", "message_passing"
    name = "interprocess communication"
    fails, works, denied = "200809 200809 fails", inventories.WORKS, "200809 200809 denied"
    partly = "none none partly"
    for first, second, answer in (
        (works, works, "yes"),
        (works, fails, "partly"),
        (fails, "none none missing", "no"),
        (works, denied, "not known"),
        (fails, denied, "not known"),
        (partly, denied, "partly"),
        (denied, "200809 200809 untried", "not known"),
    ):
        assert point(name, **{one: first, other: second}).by_options == answer
    assert point("power-fail notice").by_options == "no option"


def test_a_point_by_claims_of_the_run() -> None:
    held = make.result("THR-B-PRI", series=[], verdicts=[inventories.claim("a", "x")] * 3)
    found = measured("priority scheduling", held)
    assert (found.judgement, found.claims_count, found.failed) == ("holds", 3, [])
    broken = make.result(
        "THR-B-PRI",
        series=[],
        verdicts=[inventories.claim("a", "x"), inventories.claim("b", "y", is_true=False)],
    )
    found = measured("priority scheduling", broken)
    assert (found.judgement, found.failed) == ("fails", ["b"])


def test_a_test_that_was_cut_off_never_holds() -> None:
    cut = make.result(
        "THR-B-PRI", series=[], verdicts=[inventories.claim("a", "x")], complete=False
    )
    found = measured("priority scheduling", cut)
    assert (found.judgement, found.status) == ("nothing", "incomplete")


def test_a_failed_claim_of_any_result_is_said() -> None:
    results = [
        make.result("THR-B-PRI", series=[], verdicts=[inventories.claim("a", "x", is_true=is_true)])
        for is_true in (False, True)
    ]
    assert measured("priority scheduling", *results).judgement == "fails"


def test_a_point_by_figures_of_the_run() -> None:
    timed = make.result("KRN-P-PRE", [10, 20, 9000])
    found = measured("kernel preemption", timed)
    assert (found.judgement, found.statistic, found.value) == ("figures", "max", 9000)
    assert found.values_count == 3 and found.labels == {"part": "total"}


def test_fine_timers_are_the_smallest_step_of_expiries() -> None:
    steps = [make.series([4000, 9000], "expiry_step"), make.series([3000, 20_000], "expiry_step")]
    steps.append(make.series([1], "step"))
    resolution = make.result("CLK-B-RES", series=steps, verdicts=[inventories.claim("a", "x")])
    found = measured("fine timers", resolution)
    assert (found.judgement, found.statistic, found.value) == ("holds", "min", 3000)


def test_only_the_series_of_a_kind_answers() -> None:
    found = {"mq": 7000, "pipe": 99_000}
    series = [make.series([value], "latency") for value in found.values()]
    for one, kind in zip(series, found, strict=True):
        one.labels = {"kind": kind, "scope": "process"}
    messages = make.result("MSG-P-LAT", series=series)
    told = point("interprocess communication", messages).measured[1]
    assert (told.test, told.labels, told.value) == (
        "MSG-P-LAT",
        {"kind": "mq", "scope": "process"},
        7000,
    )
    memory = point("shared memory", messages).measured[0]
    assert (memory.judgement, memory.status) == ("nothing", "measured")


def test_what_could_not_be_measured_has_its_reason() -> None:
    denied = make.result("THR-B-PRI", series=[], status="denied", reason="no right")
    found = measured("priority scheduling", denied)
    assert (found.judgement, found.status, found.reason) == ("nothing", "denied", "no right")


def test_only_results_under_the_same_condition_answer() -> None:
    other = make.result("KRN-P-PRE", conditions=Conditions(load="none", cpu_config="shared"))
    assert measured("kernel preemption", other).judgement == "absent"


def test_only_tests_that_are_known_are_named_to_measure() -> None:
    (answer,) = answers_in(inventories.document(make.result("KRN-P-PRE")))
    found = to_measure(answer)
    assert "CLK-B-RES" in found and "KRN-P-PRE" not in found and len(set(found)) == len(found)


def test_resolutions_stand_beside_those_seen() -> None:
    claimed, step, expiry = (
        make.series([value], name)
        for value, name in ((7, "claimed"), (42, "step"), (9, "expiry_step"))
    )
    for series in (claimed, step):
        series.labels = {"clock": "CLOCK_MONOTONIC"}
    expiry.labels = {"mechanism": "timerfd"}
    resolution = make.result("CLK-B-RES", series=[claimed, step, expiry])
    (answer,) = answers_in(inventories.document(resolution))
    found = {one.name: (one.kind, one.claimed_ns, one.seen_ns) for one in answer.clocks}
    assert found["monotonic"] == ("clock", 1, 42)
    assert found["realtime"] == ("clock", 1, None)
    assert found["timerfd"] == ("timer", None, 9)


def test_a_run_under_several_conditions_has_an_answer_for_each() -> None:
    loads = [
        inventories.result(conditions=Conditions(load=load, cpu_config="shared"))
        for load in ("none", "heavy")
    ]
    document = make.document(results=loads)
    assert [one.under for one in answers_in(document)] == ["none", "heavy"]
    assert answers_in(make.document()) == []


def test_series_and_labels_of_the_points_are_those_of_the_register() -> None:
    tests = {one.id: one for one in sample.register().tests}
    asked = [one for point in posix_data().points for one in point.tests if one.test in tests]
    assert asked
    for one in asked:
        spec = tests[one.test]
        assert one.series is None or one.series in {series.name for series in spec.series}
        choices = {param.label: param.choices for param in spec.params if param.label}
        for label, value in one.labels.items():
            fixed = {series.fixed.get(label) for series in spec.series}
            assert value in choices.get(label, fixed)


def test_every_option_and_test_of_the_points_is_named_as_it_is() -> None:
    known = {name for part in posix_data().parts.values() for name in part.options}
    for one in posix_data().points:
        assert set(one.options) <= known
        assert one.tests
