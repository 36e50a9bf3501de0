"""What a person sees first: nothing that failed is missing, and it stays bounded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from hardstone.model import Conditions, Event, PlannedTest, Result, RunDocument, Trust, Verdict
from hardstone.present.overview import (
    conditions_text,
    decisive,
    families,
    finding_of,
    headline,
    stands_out,
    state_text,
    timings,
)
from hardstone.wording import target_text
from tests.unit.golden import assert_as_stored
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


def told(*results: Result, **changed: Any) -> list[str]:
    return [one.text for one in stands_out(document(*results, **changed))]


# Claims and what stands out


def of_claims() -> Iterator[tuple[str, list[Result]]]:
    fair, lacking_new = claims("THR-B-RR", held=("fair",)), lacking("THR-B-NEW", "denied")
    yield "a claim that holds", [fair]
    failed = claims("THR-B-RR", "fair", held=("rotates", "slice"))
    yield "a claim that fails", [failed, claims("THR-B-PRI", held=("x",))]
    uncounted = claims("THR-B-RR", "first_slice", held=("fair",))
    yield "what does not count for a rating", [uncounted]
    unseen = event("not_seen", verdict="first_slice")
    yield "what could not be judged", [claims("THR-B-RR", held=("fair",), events=[unseen])]
    yield "a test that judged nothing", [fair, lacking_new]
    yield "nothing judged", [lacking(f"SEM-B-{one}", "skipped") for one in ("LCK", "REL")]
    yield "each family", [fair, claims("MUT-B-ARC", held=("avoided/inherit",))]
    cases = ("lower/fifo", "lower/rr")
    yield "cases of a claim", [claims("THR-B-NEW", *cases, held=("equal",))]
    yield "a claim without a meaning", [claims("NEW-B-ONE", "holds")]
    where = [Conditions(load=load, cpu_config="shared") for load in ("none", "heavy")]
    each = [claims("THR-B-NEW", "lower/fifo", conditions=one) for one in where]
    yield "a claim under two conditions", each
    yield "what counts comes first", [claims("THR-B-RR", "first_slice", "fair")]


def of_trouble() -> Iterator[tuple[str, list[Result]]]:
    yield "nothing", [make.result(), claims("THR-B-RR", held=("fair",))]
    yield "throttling", [make.result(events=[event("throttled")])]
    yield "steal time", [make.result(environment={"steal_ns": 2_000_000})]
    yield "missed releases", [make.result(series=counted("missed", 3, 4))]
    yield "overruns", [make.result("TMR-P-JIT", series=counted("overrun", 3, 4))]
    # of an early probe it stands in an event only
    early = event("missed_periods", "3 releases were missed", missed_count=3)
    yield "missed releases of an early probe", [make.result(events=[early])]
    both = make.result(events=[early], series=counted("missed", 3))
    yield "missed releases, told twice", [both]
    short = event("load_short", "cpu reached little", element="cpu")
    yield "a load that fell short", [make.result(events=[short])]
    yield "denied", [lacking("TMR-P-LAT", "denied", "no rights")]
    yield "incomplete", [make.result(complete=False, reason="the stream ended")]
    stopped = "stopped early, after 1.5 s"
    yield "interrupted", [make.result(interrupted=True, reason=stopped)]
    yield "not restored", [make.result(events=[event("not_put_back", "governor")])]
    events = [event("throttled"), event("load_short", "little")]
    counts = counted("missed", 3)
    many = make.result(environment={"steal_ns": 1000}, series=counts, events=events)
    failed = claims("THR-B-RR", "fair")
    yield "the rest is counted", [failed, lacking("SEM-P-SIG", "skipped", "not run"), many]
    unsupported = [lacking(f"IRQ-P-{n}", "unsupported", f"no {n}") for n in range(5)]
    troubled = make.result(series=counts, events=events)
    yield "what is not supported pushes nothing off", [*unsupported, troubled]
    contradictory = make.result(events=[event("not_put_back", "governor")])
    contradictory.series[0].count = 7
    yield "contradictory figures", [contradictory]


@pytest.mark.slow
def test_what_a_person_sees_first(request: pytest.FixtureRequest) -> None:
    texts = {}
    for name, results in (*of_claims(), *of_trouble()):
        run = document(*results, trust=Trust(grade="full"))
        lines = []
        for one in families(run):
            lines.append(f"{one.name}: {one.text} ({one.look})")
            for claim in one.failed:
                aside = f" ({claim.uncounted})" if claim.uncounted else ""
                lines.append(f"  {claim.title}{aside}: {claim.meaning}")
        lines += [f"{'!' if one.is_grave else '-'} {one.text}" for one in stands_out(run)]
        texts[name] = "\n".join(lines) or "nothing"
    assert_as_stored(request, "overview.txt", texts)


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


def on_cpus(*worst_of_cpu: int) -> Result:
    found = []
    for name in ("wakeup", "release"):
        for cpu, worst in enumerate(worst_of_cpu):
            one = make.series((1, worst), name)
            one.labels |= {"cpu": cpu}
            found.append(one)
    conditions = Conditions(load="none", cpu_config="shared", cpu=1, policy="fifo", priority=98)
    return make.result(series=found, conditions=conditions)


def test_each_measured_cpu_has_a_line_and_is_in_the_conditions() -> None:
    run = document(on_cpus(900, 20, 30))
    found = timings(run)
    assert [(one.under, one.worst_ns) for one in found] == [
        ("CPU 0", 900),
        ("CPU 1", 20),
        ("CPU 2", 30),
    ]
    assert {one.label for one in found} == {"wakeup, total"}
    assert ", CPU 0-2, " in conditions_text(run)
    assert ", CPU 0-1, " in conditions_text(document(on_cpus(9, 20)))
    one = document(on_cpus(900))
    assert [timing.under for timing in timings(one)] == [""] and ", CPU 0, " in conditions_text(one)
    gap = on_cpus(1, 2, 3, 4)
    gap.series = [one for one in gap.series if one.labels["cpu"] != 1]
    assert ", CPU 0,2-3, " in conditions_text(document(gap))


def test_what_was_planned_and_never_started_stands_out() -> None:
    limits = {"samples": 0, "duration_ns": 0, "deadline_ns": 0, "expected_ns": 0}
    ids = ("TMR-P-LAT", "SEM-P-SIG", "THR-P-SLS")
    plan = make.plan_of([PlannedTest(test=test, params={}, **limits) for test in ids])
    (found,) = stands_out(document(make.result(), plan=plan, status="incomplete"))
    assert found.is_grave
    assert found.text == "2 of 3 planned measurements were not started: SEM-P-SIG, THR-P-SLS"


def test_the_machine_is_named_after_its_target() -> None:
    chip = {"machine.cpu_model": "Chip"}
    assert target_text(make.document(system=chip)) == "Chip"
    plan = make.plan_of([], target="lab:debian\x1b,preempt=full" + 60 * "x")
    elsewhere = make.document(system=chip, plan=plan)
    text = target_text(elsewhere)
    assert text.startswith("lab:debian\N{REPLACEMENT CHARACTER},preempt=full")
    assert text.endswith("\N{HORIZONTAL ELLIPSIS}: Chip") and text in headline(elsewhere)


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (1, "no bound: 1 value, fewer than 20"),
        (19, "no bound: 19 values, fewer than 20"),
        (20, "none of 20 values is above 9 us; at 95 % confidence fewer than 14 % are"),
    ],
)
def test_few_values_have_no_bound(count: int, said: str) -> None:
    result = make.result("MUT-P-INV", (9000,) * count)
    found = finding_of(result, "", "", 0.999)
    assert found is not None and found.bound == said


def test_time_of_a_guest_is_named_and_how_long_people_waited() -> None:
    run = document(make.result(duration_ns=84 * 10**9))
    run.started_utc, run.finished_utc = "2026-11-30T03:00:00Z", "2026-11-30T03:04:10Z"
    assert "1 min 24 s of measuring" in state_text(run)
    run.system = {"virtual.time": "instructions"}
    assert "1 min 24 s guest, 4 min 10 s real" in state_text(run)
    run.finished_utc = None
    assert state_text(run).endswith("1 min 24 s guest time")


def test_a_limit_that_is_too_low_is_named_with_its_figure() -> None:
    evidence = "HOST_NAME_MAX is 64, POSIX requires 255"
    name = "base_limits_at_least_posix_minimum"
    verdict = Verdict(name=name, passed=False, evidence=f"{evidence}\x1b[2J")
    result = make.result("POS-B-INV", series=[], verdicts=[verdict])
    (family,) = families(make.document(results=[result]))
    (failed,) = family.failed
    assert failed.title.startswith(f"POS-B-INV {evidence}") and "\x1b" not in failed.title
    assert failed.meaning == "a program that relies on POSIX's minimum limits may fail"
    no_words = Verdict(name=name, passed=False, evidence="")
    result.verdicts = [no_words]
    (family,) = families(make.document(results=[result]))
    assert family.failed[0].title == "POS-B-INV base limits at least posix minimum"
