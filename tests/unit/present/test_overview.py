"""What a person sees first: nothing that failed is missing, and it stays bounded."""

from __future__ import annotations

from typing import Any

import pytest

from hardstone.model import (
    Conditions,
    Event,
    PlannedTest,
    Result,
    RunDocument,
    Series,
    Trust,
    Verdict,
)
from hardstone.older.old_events import with_data
from hardstone.present.headline import headline, target_text
from hardstone.present.overview import (
    MOST_STANDING_OUT,
    decisive,
    families,
    stands_out,
    timings,
)
from hardstone.stats.trust import grade_run
from tests.unit.stats import make


def document(*results: Result, **changed: Any) -> RunDocument:
    return make.document(results=list(results), **changed)


def claims(test: str, *failed: str, held: tuple[str, ...] = (), **changed: Any) -> Result:
    verdicts = [Verdict(name=name, passed=False, evidence="seen") for name in failed]
    verdicts += [Verdict(name=name, passed=True, evidence="seen") for name in held]
    return make.result(test, series=[], verdicts=verdicts, **changed)


def count_series(name: str, *values: int) -> Series:
    found = make.series(values, name)
    found.unit = "count"
    return found


def told(*results: Result) -> list[str]:
    return [one.text for one in stands_out(document(*results))]


def test_claims_are_counted_by_family() -> None:
    found = families(
        document(
            claims("THR-B-RR", "fair", held=("rotates", "slice_length")),
            claims("THR-B-PRI", held=("levels",)),
            claims("MUT-B-ARC", held=("avoided/inherit",)),
        )
    )
    assert [(one.name, one.text) for one in found] == [
        ("threads", "3 of 4 claims hold, 1 failed"),
        ("mutexes", "1 of 1 claims hold"),
    ]


def test_a_failed_claim_is_named_once_with_its_cases_and_its_meaning() -> None:
    (family,) = families(document(claims("THR-B-NEW", "lower/fifo", "lower/rr", held=("equal",))))
    (claim,) = family.failed
    assert claim.title == "THR-B-NEW lower (fifo, rr)"
    assert claim.meaning.startswith("a new thread can run before its creator")
    assert not claim.uncounted


def test_what_does_not_count_for_a_rating_comes_after_what_does() -> None:
    (family,) = families(document(claims("THR-B-RR", "first_slice", "fair")))
    assert [(one.name, bool(one.uncounted)) for one in family.failed] == [
        ("fair", False),
        ("first slice", True),
    ]
    assert told(claims("THR-B-RR", "first_slice", "fair")) == ["1 claim failed: THR-B-RR fair"]


def test_a_claim_of_an_unknown_test_means_what_its_probe_says() -> None:
    (family,) = families(document(claims("NEW-B-ONE", "holds")))
    assert family.failed[0].meaning == "the claim does not hold"


def test_a_claim_that_could_not_be_judged_is_counted_apart() -> None:
    unseen = Event(name="not_seen", text="-", data={"verdict": "first_slice"})
    (family,) = families(document(claims("THR-B-RR", held=("fair",), events=[unseen])))
    assert family.text == "1 of 2 claims hold, 1 not judged"
    assert family.look == "partly"


def test_a_test_that_judged_nothing_is_named_with_its_family() -> None:
    denied = make.result("THR-B-NEW", status="denied", series=[])
    (family,) = families(document(claims("THR-B-RR", held=("fair",)), denied))
    assert family.text == "1 of 1 claims hold; THR-B-NEW denied"
    assert family.look == "partly"
    others = [make.result(f"SEM-B-{one}", status="skipped", series=[]) for one in ("LCK", "REL")]
    (family,) = families(document(*others))
    assert family.text == "SEM-B-LCK, SEM-B-REL skipped"
    assert family.look == "partly"


def test_a_family_has_passed_if_every_claim_holds() -> None:
    (family,) = families(document(claims("THR-B-RR", held=("fair",))))
    assert family.look == "passed"
    (family,) = families(document(claims("THR-B-RR", "first_slice", held=("fair",))))
    assert family.look == "partly"
    (family,) = families(document(claims("THR-B-RR", "fair", held=("rotates",))))
    assert family.look == "failed"


def test_a_test_is_timed_by_its_series_with_the_highest_value() -> None:
    derived = make.series((9000,), "blocking")
    derived.derived = "max - mean"
    result = make.result("CLK-P-BIN", series=[make.series((5, 7)), derived, make.series((8, 30))])
    (found,) = timings(document(result))
    assert (found.worst_ns, found.median_ns, found.count) == (30, 8, 2)
    assert found.family == "clock" and not found.is_contradictory


def test_series_of_a_behaviour_are_no_timings() -> None:
    assert timings(document(make.result("THR-B-RR"))) == []


def test_an_unreadable_histogram_has_no_median_and_is_marked() -> None:
    result = make.result()
    result.series[0].histogram.layout = "nonsense"
    (found,) = timings(document(result))
    assert found.median_ns is None and found.is_contradictory


def test_where_not_all_fit_each_family_keeps_its_highest() -> None:
    tests = {"SEM-P-NEW": 900, "SEM-P-ARN": 800, "SEM-P-ARC": 700, "TMR-P-LAT": 5, "MUT-P-ARN": 3}
    found = timings(document(*(make.result(test, (1, worst)) for test, worst in tests.items())))
    assert [one.test for one in decisive(found, 3)] == ["SEM-P-NEW", "TMR-P-LAT", "MUT-P-ARN"]
    assert [one.test for one in decisive(found, 4)][:2] == ["SEM-P-NEW", "SEM-P-ARN"]
    assert decisive(found, 5) == found and decisive(found, 0) == []


def test_a_machine_that_is_fine_has_nothing_that_stands_out() -> None:
    assert told(make.result(), claims("THR-B-RR", held=("fair",))) == []


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (claims("THR-B-RR", "fair"), "1 claim failed: THR-B-RR fair"),
        (
            make.result(events=[Event(name="throttled", text="-")]),
            "TMR-P-LAT lost CPU time (throttling or preemption)",
        ),
        (
            make.result(environment={"steal_ns": 2_000_000}),
            "steal time: 2 ms during TMR-P-LAT",
        ),
        (
            make.result(series=[count_series("missed", 3, 4)]),
            "7 releases were missed: TMR-P-LAT",
        ),
        (
            make.result("TMR-P-JIT", series=[count_series("overrun", 3, 4)]),
            "7 releases were missed: TMR-P-JIT",
        ),
        (
            make.result(
                events=[
                    Event(name="load_short", text="cpu reached little", data={"element": "cpu"})
                ]
            ),
            "load: cpu reached little: TMR-P-LAT",
        ),
        (
            make.result(status="denied", series=[], reason="no rights"),
            "TMR-P-LAT denied: no rights",
        ),
        (
            make.result(complete=False, reason="the stream ended"),
            "TMR-P-LAT measured, incomplete: the stream ended",
        ),
        (
            make.result(events=[Event(name="not_put_back", text="governor")]),
            "settings not restored after TMR-P-LAT",
        ),
    ],
)
def test_each_kind_of_trouble_stands_out(result: Result, text: str) -> None:
    assert told(result) == [text]


def test_a_missed_release_of_an_early_probe_stands_in_an_event_only() -> None:
    event = with_data(Event(name="missed_periods", text="3 releases were missed"))
    assert told(make.result(events=[event])) == ["3 releases were missed: TMR-P-LAT"]
    counted = make.result(events=[event], series=[count_series("missed", 3)])
    assert told(counted) == ["3 releases were missed: TMR-P-LAT"]


def test_a_case_names_its_condition_apart() -> None:
    where = [Conditions(load=load, cpu_config="shared") for load in ("none", "heavy")]
    results = [claims("THR-B-NEW", "lower/fifo", conditions=one) for one in where]
    (family,) = families(document(*results))
    assert family.failed[0].title == "THR-B-NEW lower (fifo [none], fifo [heavy])"


def test_the_most_important_comes_first_and_the_rest_is_counted() -> None:
    troubled = make.result(
        events=[Event(name="throttled", text="-"), Event(name="load_short", text="little")],
        environment={"steal_ns": 1000},
        series=[count_series("missed", 3)],
    )
    skipped = make.result("SEM-P-SIG", status="skipped", series=[], reason="not run")
    found = stands_out(document(claims("THR-B-RR", "fair"), skipped, troubled))
    assert len(found) == MOST_STANDING_OUT
    assert found[0].text.startswith("1 claim failed") and found[0].is_grave
    assert found[1].text.startswith("TMR-P-LAT lost CPU time") and found[1].is_grave
    assert found[2].text.startswith("steal time")
    assert found[3].text == "3 releases were missed: TMR-P-LAT"
    assert found[-1].text == "2 more: see all results"


def test_lost_cpu_time_and_unequal_work_are_told_as_the_trust_tells_them() -> None:
    throttled = [
        make.result(f"SEM-P-{n}", events=[Event(name="throttled", text="-")]) for n in range(5)
    ]
    unlike = [make.result("RSP-P-FIX", calibrated={"add_operations": n}) for n in (1, 2)]
    found = document(*throttled, *unlike)
    said = [one.text for one in stands_out(found)]
    assert "SEM-P-0, SEM-P-1, SEM-P-2 and 2 more lost CPU time" in said[0] and len(said) == 2
    assert grade_run(found).reasons == said


def test_tests_that_this_machine_does_not_support_push_nothing_off_the_screen() -> None:
    troubled = make.result(
        events=[Event(name="throttled", text="-"), Event(name="load_short", text="little")],
        series=[count_series("missed", 3)],
    )
    lacking = [
        make.result(f"IRQ-P-{n}", status="unsupported", series=[], reason=f"no {n}")
        for n in range(5)
    ]
    assert told(*lacking, troubled) == [
        "TMR-P-LAT lost CPU time (throttling or preemption)",
        "3 releases were missed: TMR-P-LAT",
        "load: little: TMR-P-LAT",
        "IRQ-P-0, IRQ-P-1, IRQ-P-2 and 2 more unsupported",
    ]


def test_a_test_that_was_stopped_early_stands_out() -> None:
    result = make.result(interrupted=True, reason="stopped early, after 1.5 s")
    assert told(result) == ["TMR-P-LAT measured, interrupted: stopped early, after 1.5 s"]


def test_what_was_planned_and_never_started_stands_out() -> None:
    ids = ("TMR-P-LAT", "SEM-P-SIG", "THR-P-SLS")
    limits = {"samples": 0, "duration_ns": 0, "deadline_ns": 0, "expected_ns": 0}
    plan = make.plan_of([PlannedTest(test=test, params={}, **limits) for test in ids])
    (found,) = stands_out(document(make.result(), plan=plan, status="incomplete"))
    assert found.is_grave
    assert found.text == "2 of 3 planned measurements were not started: SEM-P-SIG, THR-P-SLS"


def test_figures_that_contradict_each_other_stand_above_all() -> None:
    result = make.result(events=[Event(name="not_put_back", text="governor")])
    result.series[0].count = 7
    first = stands_out(document(result, trust=Trust(grade="full")))[0]
    assert first.text == "1 contradictory figure: do not use this run"


def test_results_of_one_test_are_told_apart_by_their_conditions() -> None:
    heavy, idle = (
        make.result(conditions=Conditions(load=load, cpu_config="shared"))
        for load in ("heavy", "none")
    )
    assert [one.under for one in timings(document(heavy, idle))] == ["heavy", "none"]


def test_of_a_family_the_highest_are_kept_and_not_the_first() -> None:
    low, high = make.result("SEM-P-SIG", (1, 2)), make.result("SEM-P-ARN", (1, 9))
    assert [one.test for one in decisive(timings(document(low, high)), 1)] == ["SEM-P-ARN"]


def test_the_machine_is_named_after_its_target() -> None:
    document = make.document(system={"machine.cpu_model": "Chip"})
    assert target_text(document) == "Chip"
    elsewhere = make.document(
        system={"machine.cpu_model": "Chip"},
        plan=make.plan_of([], target="lab:debian\x1b,preempt=full" + 60 * "x"),
    )
    assert target_text(elsewhere).startswith("lab:debian\N{REPLACEMENT CHARACTER},preempt=full")
    assert target_text(elsewhere).endswith("\N{HORIZONTAL ELLIPSIS}: Chip")
    assert target_text(elsewhere) in headline(elsewhere)
