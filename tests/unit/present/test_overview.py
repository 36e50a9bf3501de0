"""What a person sees first: nothing that failed is missing, and it stays bounded."""

from __future__ import annotations

from typing import Any

import pytest

from hardstone.model import Conditions, Event, PlannedTest, Result, RunDocument, Trust, Verdict
from hardstone.older.old_events import with_data
from hardstone.present.headline import headline, target_text
from hardstone.present.overview import (
    MOST_STANDING_OUT,
    Family,
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


def counted(name: str, *values: int) -> list[Any]:
    found = make.series(values, name)
    found.unit = "count"
    return [found]


def event(name: str, text: str = "-", **data: Any) -> Event:
    return Event(name=name, text=text, data=data)


def lacking(test: str, status: str, reason: str | None = None) -> Result:
    return make.result(test, status=status, series=[], reason=reason)


def family(*results: Result) -> Family:
    (found,) = families(document(*results))
    return found


def told(*results: Result, **changed: Any) -> list[str]:
    return [one.text for one in stands_out(document(*results, **changed))]


# Claims


FAIR = claims("THR-B-RR", held=("fair",))
UNSEEN = event("not_seen", verdict="first_slice")


@pytest.mark.parametrize(
    ("results", "text", "look"),
    [
        ([FAIR], "1 of 1 claims hold", "passed"),
        (
            [
                claims("THR-B-RR", "fair", held=("rotates", "slice")),
                claims("THR-B-PRI", held=("x",)),
            ],
            "3 of 4 claims hold, 1 failed",
            "failed",
        ),
        # what does not count for a rating
        (
            [claims("THR-B-RR", "first_slice", held=("fair",))],
            "1 of 2 claims hold, 1 failed",
            "partly",
        ),
        # what could not be judged is counted apart, and a test that judged nothing is named
        (
            [claims("THR-B-RR", held=("fair",), events=[UNSEEN])],
            "1 of 2 claims hold, 1 not judged",
            "partly",
        ),
        (
            [FAIR, lacking("THR-B-NEW", "denied")],
            "1 of 1 claims hold; THR-B-NEW denied",
            "partly",
        ),
        (
            [lacking(f"SEM-B-{one}", "skipped") for one in ("LCK", "REL")],
            "SEM-B-LCK, SEM-B-REL skipped",
            "partly",
        ),
    ],
)
def test_claims_are_counted_by_family(results: list[Result], text: str, look: str) -> None:
    found = family(*results)
    assert (found.text, found.look) == (text, look)


def test_each_family_has_its_line() -> None:
    held = claims("MUT-B-ARC", held=("avoided/inherit",))
    assert [one.name for one in families(document(FAIR, held))] == ["threads", "mutexes"]


def test_a_failed_claim_is_named_once_with_its_cases_and_its_meaning() -> None:
    (claim,) = family(claims("THR-B-NEW", "lower/fifo", "lower/rr", held=("equal",))).failed
    assert claim.title == "THR-B-NEW lower (fifo, rr)"
    assert claim.meaning.startswith("a new thread can run before its creator")
    assert not claim.uncounted
    unknown = family(claims("NEW-B-ONE", "holds")).failed[0]
    assert unknown.meaning == "the claim does not hold"
    where = [Conditions(load=load, cpu_config="shared") for load in ("none", "heavy")]
    found = family(*(claims("THR-B-NEW", "lower/fifo", conditions=one) for one in where))
    assert found.failed[0].title == "THR-B-NEW lower (fifo [none], fifo [heavy])"


def test_what_does_not_count_for_a_rating_comes_after_what_does() -> None:
    both = claims("THR-B-RR", "first_slice", "fair")
    failed = [(one.name, bool(one.uncounted)) for one in family(both).failed]
    assert failed == [("fair", False), ("first slice", True)]
    assert told(both) == ["1 claim failed: THR-B-RR fair"]


# Timings


def test_a_test_is_timed_by_its_series_with_the_highest_value() -> None:
    derived = make.series((9000,), "blocking")
    derived.derived = "max - mean"
    result = make.result("CLK-P-BIN", series=[make.series((5, 7)), derived, make.series((8, 30))])
    (found,) = timings(document(result))
    assert (found.worst_ns, found.median_ns, found.count) == (30, 8, 2)
    assert found.family == "clock" and not found.is_contradictory
    assert timings(document(make.result("THR-B-RR"))) == []  # a behaviour


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
    low, high = make.result("SEM-P-SIG", (1, 2)), make.result("SEM-P-ARN", (1, 9))
    assert [one.test for one in decisive(timings(document(low, high)), 1)] == ["SEM-P-ARN"]


def test_results_of_one_test_are_told_apart_by_their_conditions() -> None:
    where = [Conditions(load=load, cpu_config="shared") for load in ("heavy", "none")]
    found = timings(document(*(make.result(conditions=one) for one in where)))
    assert [one.under for one in found] == ["heavy", "none"]


# What stands out

LOST = "TMR-P-LAT lost CPU time (throttling or preemption)"
MISSED = "{} releases were missed: {}"
OLD_MISSED = with_data(Event(name="missed_periods", text="3 releases were missed"))


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (claims("THR-B-RR", "fair"), "1 claim failed: THR-B-RR fair"),
        (make.result(events=[event("throttled")]), LOST),
        (make.result(environment={"steal_ns": 2_000_000}), "steal time: 2 ms during TMR-P-LAT"),
        (make.result(series=counted("missed", 3, 4)), MISSED.format(7, "TMR-P-LAT")),
        (
            make.result("TMR-P-JIT", series=counted("overrun", 3, 4)),
            MISSED.format(7, "TMR-P-JIT"),
        ),
        # of an early probe it stands in an event only
        (make.result(events=[OLD_MISSED]), MISSED.format(3, "TMR-P-LAT")),
        (
            make.result(events=[OLD_MISSED], series=counted("missed", 3)),
            MISSED.format(3, "TMR-P-LAT"),
        ),
        (
            make.result(events=[event("load_short", "cpu reached little", element="cpu")]),
            "load: cpu reached little: TMR-P-LAT",
        ),
        (lacking("TMR-P-LAT", "denied", "no rights"), "TMR-P-LAT denied: no rights"),
        (
            make.result(complete=False, reason="the stream ended"),
            "TMR-P-LAT measured, incomplete: the stream ended",
        ),
        (
            make.result(interrupted=True, reason="stopped early, after 1.5 s"),
            "TMR-P-LAT measured, interrupted: stopped early, after 1.5 s",
        ),
        (
            make.result(events=[event("not_put_back", "governor")]),
            "settings not restored after TMR-P-LAT",
        ),
    ],
)
def test_each_kind_of_trouble_stands_out(result: Result, text: str) -> None:
    assert told(result) == [text]


def test_a_machine_that_is_fine_has_nothing_that_stands_out() -> None:
    assert told(make.result(), FAIR) == []


TROUBLED = {"events": [event("throttled"), event("load_short", "little")]}


def test_the_most_important_comes_first_and_the_rest_is_counted() -> None:
    environment = {"steal_ns": 1000}
    troubled = make.result(environment=environment, series=counted("missed", 3), **TROUBLED)
    skipped = lacking("SEM-P-SIG", "skipped", "not run")
    found = stands_out(document(claims("THR-B-RR", "fair"), skipped, troubled))
    texts = [one.text for one in found]
    assert len(found) == MOST_STANDING_OUT and found[0].is_grave and found[1].is_grave
    assert texts[0].startswith("1 claim failed") and texts[1:2] == [LOST]
    assert texts[2].startswith("steal time") and texts[3] == MISSED.format(3, "TMR-P-LAT")
    assert texts[-1] == "2 more: see all results"


def test_tests_that_this_machine_does_not_support_push_nothing_off_the_screen() -> None:
    unsupported = [lacking(f"IRQ-P-{n}", "unsupported", f"no {n}") for n in range(5)]
    assert told(*unsupported, make.result(series=counted("missed", 3), **TROUBLED)) == [
        *(LOST, MISSED.format(3, "TMR-P-LAT"), "load: little: TMR-P-LAT"),
        "IRQ-P-0, IRQ-P-1, IRQ-P-2 and 2 more unsupported",
    ]


def test_lost_cpu_time_and_unequal_work_are_told_as_the_trust_tells_them() -> None:
    throttled = [make.result(f"SEM-P-{n}", events=[event("throttled")]) for n in range(5)]
    unlike = [make.result("RSP-P-FIX", calibrated={"add_operations": n}) for n in (1, 2)]
    said = told(*throttled, *unlike)
    assert "SEM-P-0, SEM-P-1, SEM-P-2 and 2 more lost CPU time" in said[0] and len(said) == 2
    assert grade_run(document(*throttled, *unlike)).reasons == said


def test_what_was_planned_and_never_started_stands_out() -> None:
    limits = {"samples": 0, "duration_ns": 0, "deadline_ns": 0, "expected_ns": 0}
    ids = ("TMR-P-LAT", "SEM-P-SIG", "THR-P-SLS")
    plan = make.plan_of([PlannedTest(test=test, params={}, **limits) for test in ids])
    (found,) = stands_out(document(make.result(), plan=plan, status="incomplete"))
    assert found.is_grave
    assert found.text == "2 of 3 planned measurements were not started: SEM-P-SIG, THR-P-SLS"


def test_figures_that_contradict_each_other_stand_above_all() -> None:
    result = make.result(events=[event("not_put_back", "governor")])
    result.series[0].count = 7
    said = told(result, trust=Trust(grade="full"))
    assert said[0] == "1 contradictory figure: do not use this run"


def test_the_machine_is_named_after_its_target() -> None:
    chip = {"machine.cpu_model": "Chip"}
    assert target_text(make.document(system=chip)) == "Chip"
    plan = make.plan_of([], target="lab:debian\x1b,preempt=full" + 60 * "x")
    elsewhere = make.document(system=chip, plan=plan)
    text = target_text(elsewhere)
    assert text.startswith("lab:debian\N{REPLACEMENT CHARACTER},preempt=full")
    assert text.endswith("\N{HORIZONTAL ELLIPSIS}: Chip") and text in headline(elsewhere)
