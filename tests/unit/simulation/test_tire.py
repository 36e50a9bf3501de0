"""The tire: results as points, sweeps, what a curve held, the cost model, real-time against
real-fast, and the tables that a run keeps. What is not sound is left out and never flatters."""

from __future__ import annotations

from math import exp, log
from operator import attrgetter
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from hardstone.model import Conditions, DataValue, Event, Plan, Result, Sweep, Table, Verdict
from hardstone.simulation.analysis import (
    LEAST_PAIRS,
    MOST_STATEMENTS,
    Bound,
    Model,
    NoModel,
    Side,
    Statement,
    bounds_of,
    maps_of,
    miss_bound,
    model_of,
    models_of,
    statements_between,
    statements_within,
)
from hardstone.simulation.results import (
    MOST_BLOCK_THREADS,
    MOST_FRAMES,
    MOST_POINTS,
    Block,
    Point,
    blocks_of,
    by_curve,
    frames_of,
    has_tire,
    mean_blocks,
    points_of,
    problems_of,
)
from hardstone.stats.conditions import listed_results, sweep_points
from tests.unit.simulation.tires import (
    labelled,
    labels,
    real_fast,
    real_time,
    simulation,
    sweep,
    timed_costs,
)
from tests.unit.stats.made_tables import COLUMNS, MS, blocks, frame, steps
from tests.unit.stats.make import document, result

# ---- points ----


def point_of(*results: Result) -> Point:
    (point,) = points_of(sweep(*results))
    return point


def test_a_point_has_what_its_series_and_event_say() -> None:
    point = point_of(real_time(400, 2, missed=3, released=1000))
    variant = (point.masses, point.threads, point.solver, point.policy)
    assert variant == (400, 2, "semaphore", "fifo")
    assert (point.deadlines.missed_count, point.deadlines.released_count) == (3, 1000)
    assert point.deadlines.first_missed_count == 3
    assert point.deadlines.lateness_max_ns == 1_000_000
    time = point.step_time
    assert time.mean_ns == time.max_ns == time.p99_ns == 400_000
    assert (point.step_ns, point.period_ns) == (10_000_000, 10_000_000)
    assert point.work.operations_count == 160_000
    assert (point.is_whole, point.is_delayed, point.problems) == (True, False, ())


DENIED = {"status": "denied", "reason": "the kernel's admission refused", "remedy": "fewer"}
OF_THE_RUN = real_time(status="timeout", series=[], events=[])
OF_THE_RUN.params["policy"] = ["run"]
SEVENS = {"repeats_count": 3, "mean_ns": 7, "min_ns": 5, "max_ns": 9}


def contradicting(
    data: dict[str, DataValue], missed: int, released: int | None
) -> tuple[Result, dict[str, object]]:
    wanted = {"deadlines.missed_count": missed, "deadlines.released_count": released}
    return real_time(missed=2, data=data), wanted


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        (real_time(released=999), {"step_time.p99_ns": None}),  # ten values beyond it are needed
        (real_fast(totals=[5, 7, 9]), {f"total.{name}": one for name, one in SEVENS.items()}),
        (real_fast(totals=[5, 7, 9]), {"deadlines": None, "period_ns": 0}),
        # what was refused has its reason, and the policy of the run is that of its conditions
        (
            real_time(4000, 4, policy="deadline", **DENIED, series=[], events=[]),
            {"masses": 4000, "threads": 4, "policy": "deadline", "status": DENIED["status"]}
            | {"reason": DENIED["reason"], "deadlines.missed_count": None, "is_measured": False},
        ),
        (OF_THE_RUN, {"policy": "fifo"}),
        # contradictions never flatter
        contradicting({"missed_count": 7}, 7, 100),  # the event says more than the series
        contradicting({"missed_count": 0}, 2, 100),  # and less
        *(contradicting({"missed_count": odd}, 2, 100) for odd in (None, -1, True, "many", 2**62)),
        contradicting({"released_count": 1}, 2, None),  # more missed than released
        *(contradicting({"released_count": odd}, 2, None) for odd in (-5, None)),
        (
            real_time(data={"semaphore_blocked_count": 10**9}),  # of fewer operations
            {"work.operations_count": None, "work.blocked_count": None}
            | {"problems": ("1000000000 of 160000 semaphore operations blocked",)},
        ),
        (
            real_time(missed=4, events=[]),  # what its series say
            {"deadlines.missed_count": 4, "deadlines.released_count": None}
            | {"work.operations_count": None},
        ),
    ],
)
def test_what_a_point_has(found: Result, wanted: dict[str, object]) -> None:
    point = point_of(found)
    assert {name: attrgetter(name)(point) for name in wanted} == wanted


def test_a_result_of_several_variants_has_a_point_each() -> None:
    one, other = real_time(400, 1), real_time(400, 2, missed=5)
    one.series += other.series
    one.events += other.events
    found = [(point.threads, point.deadlines.missed_count) for point in points_of(sweep(one))]
    assert found == [(1, 0), (2, 5)]


def test_more_late_steps_than_were_counted_are_missed_steps() -> None:
    odd = real_time(missed=0)
    odd.series[1] = labelled("lateness", "ns", [5, 6, 7], odd.series[1].labels)
    point = point_of(odd)
    assert point.deadlines.missed_count == 3
    assert "late steps" in problems_of([point])[0]


def test_series_that_cannot_be_durations_are_left_out_and_do_not_raise() -> None:
    odd = real_time()
    odd.series[2] = labelled("step_time", "ns", [-5, 3], odd.series[2].labels)
    assert point_of(odd).step_time is None
    odd = real_time()
    odd.series[0].mean, odd.series[0].count = float("nan"), 3
    odd.series[2].mean = float("inf")
    odd.events.append(Event(name="simulation", text="", data={"masses_count": None}))
    assert point_of(odd).step_time is None


@pytest.mark.parametrize(
    "own",
    [
        labels(-4, 1, "s", "p"),
        {"masses": "<b>", "threads": 1},
        {},
        labels(4, 300, "semaphore", "fifo"),
        labels(4, 1, "", "fifo"),
    ],
)
def test_labels_of_no_simulation_make_no_point(own: dict[str, int | str]) -> None:
    odd = real_time(400, 2)
    odd.series.append(labelled("missed", "count", [1], own))
    point = point_of(odd)
    assert (point.masses, point.threads) == (400, 2)


def test_parts_of_a_resumed_point_are_added_up() -> None:
    joined = real_time(missed=2)
    own = labels(400, 2, "semaphore", "fifo")
    joined.series[0] = labelled("missed", "count", [2, 3], own)
    joined.series[1] = labelled("lateness", "ns", [1_000_000] * 5, own)
    joined.events.append(simulation(400, 2, released_count=100, missed_count=3))
    point = point_of(joined)
    assert (point.deadlines.missed_count, point.deadlines.released_count) == (5, 200)
    assert point.problems == ()


@pytest.mark.slow
def test_names_and_points_are_bounded() -> None:
    assert len(point_of(real_time(policy="<script>" * 100)).policy) == 32
    many = real_time(4, 1, series=[], events=[])
    many.params["masses"] = [4] * 3000
    assert len(points_of(sweep(*[many] * 10))) <= MOST_POINTS


def test_curves_differ_by_load_policy_and_threads() -> None:
    variants = [(800, 1), (400, 1), (400, 2)]
    found = [real_time(*one) for one in variants]
    found += [real_time(400, 1, load="heavy"), real_time(400, 1, policy="other")]
    curves = list(by_curve(points_of(sweep(*found))).values())
    assert [[one.masses for one in own] for own in curves] == [[400, 800], [400], [400], [400]]


def test_other_tests_have_no_points() -> None:
    assert not has_tire(document()) and points_of(document()) == []
    assert has_tire(sweep(real_time()))


# ---- sweeps ----


def test_a_battery_is_no_sweep() -> None:
    loads = [real_time(400, load=load) for load in ("none", "heavy", "cpu", "disk", "build")]
    battery = sweep(result(), *loads, *(real_fast(400, load=load) for load in ("none", "heavy")))
    assert not sweep_points(battery)
    assert listed_results(battery) == battery.results


def test_several_points_of_one_condition_are_a_sweep_and_a_failed_claim_is_listed() -> None:
    found = sweep(result(), *(real_time(n) for n in (400, 800, 1200, 1600)))
    assert sweep_points(found) == {1, 2, 3, 4}
    assert listed_results(found) == found.results[:1]
    found.results[3].verdicts.append(Verdict(name="late_once", passed=False, evidence="twice"))
    assert listed_results(found) == [found.results[0], found.results[3]]


def test_a_plan_that_says_so_is_a_sweep_from_its_first_point() -> None:
    asked = Sweep(
        test="SIM-S-RT",
        solvers=["semaphore"],
        policies=["fifo"],
        threads=[1],
        masses=[],
        masses_least=400,
        masses_most=1000,
        points_most=5,
        within_ns=0,
    )
    plan = Plan(name="a", profile="quick", target="local", tests=[], sweep=asked)
    assert sweep_points(document(plan=plan, results=[result(), real_time(400)])) == {1}
    assert not sweep_points(document(plan=plan, results=[result()]))


# ---- what a curve held ----


def bound_of(*results: Result) -> Bound:
    (found,) = bounds_of(points_of(sweep(*results)))
    return found


REFUSED = real_time(800, status="denied", series=[], events=[])
CUT_OFF = real_time(800, interrupted=True)


@pytest.mark.parametrize(
    ("results", "held", "first_missed", "islands", "not_counted"),
    [
        # in any order of measuring
        ([real_time(1200, missed=2), real_time(800), real_time(1600), real_time(2000, missed=50),
          real_time(400)], 800, 1200, [1600], []),
        ([real_time(400, missed=1), real_time(800)], None, 400, [800], []),
        ([real_time(400), real_time(800)], 800, None, [], []),
        # once of several measurements
        ([real_time(400), real_time(800), real_time(800, missed=1)], 400, 800, [], []),
        # what was not measured to its end never held, but a miss is one
        ([real_time(400), CUT_OFF], 400, None, [], [800]),
        ([real_time(400), real_time(800, complete=False)], 400, None, [], [800]),
        ([real_time(400), real_time(800, status="timeout")], 400, None, [], [800]),
        ([real_time(400), REFUSED], 400, None, [], [800]),
        ([real_time(400), real_time(800, events=[])], 400, None, [], [800]),
        ([real_time(400), real_time(800, released=0)], 400, None, [], [800]),
        ([real_time(400), real_time(800, data={"released_count": -1})], 400, None, [], [800]),
        ([real_time(400), real_time(800, missed=1, interrupted=True)], 400, 800, [], []),
        ([real_time(400), CUT_OFF, real_time(800)], 800, None, [], []),
        # a gap below is no miss
        ([real_time(400), REFUSED, real_time(1200)], 1200, None, [], [800]),
    ],
)  # fmt: skip
def test_the_largest_held_has_no_miss_at_or_below_it(
    results: list[Result],
    held: int | None,
    first_missed: int | None,
    islands: list[int],
    not_counted: list[int],
) -> None:
    found = bound_of(*results)
    assert [one and one.masses for one in (found.held, found.first_missed)] == [held, first_missed]
    assert [one.masses for one in found.islands] == islands
    assert [one.masses for one in found.not_counted] == not_counted


def test_the_bound_is_that_of_all_steps_of_a_point() -> None:
    assert bound_of(real_time(400)).held.bound == pytest.approx(1 - 0.05 ** (1 / 100))
    twice = bound_of(real_time(400), real_time(400)).held
    assert twice.bound == pytest.approx(1 - 0.05 ** (1 / 200))
    again = bound_of(real_time(800), CUT_OFF).held
    assert again.released_count == 100
    missed = bound_of(real_time(800), real_time(800, missed=1), real_time(800)).cells[0]
    assert (missed.released_count, missed.bound) == (300, pytest.approx(miss_bound(1, 300)))


def test_a_step_that_was_delayed_on_purpose_says_nothing() -> None:
    late = real_time(400, missed=1)
    late.events.append(Event(name="delayed_on_purpose", text="", data={"step_count": 3}))
    assert bounds_of(points_of(sweep(late))) == []


def test_maps_have_a_panel_for_each_policy_and_condition() -> None:
    found = [real_time(400, 1), real_time(800, 1, missed=100), real_time(400, 2)]
    found += [real_time(400, 2, policy="other", missed=5)]
    found += [real_time(400, 2, load="heavy", missed=7)]
    panels = maps_of(bounds_of(points_of(sweep(*found))))
    keys = [("fifo", "none"), ("other", "none"), ("fifo", "heavy")]
    assert [(one.key.policy, one.key.load) for one in panels] == keys
    assert (panels[0].threads, panels[0].masses) == ([1, 2], [400, 800])
    assert [(one.masses, one.share) for one in panels[0].cells] == [(400, 0), (800, 1), (400, 0)]


def test_maps_are_bounded() -> None:
    bounds = bounds_of(points_of(sweep(*(real_time(4 * n, 1) for n in range(1, 60)))))
    assert sum(len(one.cells) for one in maps_of(bounds, most=50)) == 50


# ---- costs ----

SPRING, MASS, SEMAPHORE, SWITCH, HAND_OVER = 5.0, 3.0, 20.0, 1000, 4000


def with_costs(one: Result, **changed: object) -> Result:
    data = {"spring_ns": SPRING, "mass_ns": MASS, "semaphore_ns": SEMAPHORE, "masses_count": 400}
    one.events.append(Event(name="tire_costs", text="", data=data | changed))
    return one


def inputs(load: str = "none") -> list[Result]:
    where = Conditions(load=load, cpu_config="shared")
    switch = [
        labelled("switch", "ns", [SWITCH] * 4, {"threads": 2}),
        labelled("switch", "ns", [9 * SWITCH] * 4, {"threads": 128}),
    ]
    shuffle = [
        labelled("shuffle", "ns", [9], {"kind": "mutex", "scope": "thread"}),
        labelled("shuffle", "ns", [HAND_OVER] * 4, {"kind": "unnamed", "scope": "thread"}),
    ]
    return [
        result("THR-P-SLS", series=switch, conditions=where),
        result("SEM-P-SHF", series=shuffle, conditions=where),
    ]


def model(*results: Result) -> Model | NoModel:
    run = sweep(*results)
    (found,) = models_of(run, points_of(run))
    return found


def test_one_thread_has_springs_and_masses_only() -> None:
    found = model(with_costs(real_time(400, 1, step_ns=7000)))
    assert found.model_ns == 1.5 * 400 * SPRING + 400 * MASS
    assert (found.semaphore, found.extended_residual_ns) == (None, None)
    assert found.residual_ns == 7000 - found.model_ns


def test_threads_have_the_terms_of_the_paper() -> None:
    counts = {"involuntary_count": 30, "semaphore_operations_count": 1600}
    counts["semaphore_blocked_count"] = 80
    found = model(with_costs(real_time(400, 3, step_ns=50_000, data=counts)), *inputs())
    each = 400 // 3
    assert {one.name: one.ns for one in found.terms} == {
        "spring": pytest.approx((2 * each + 1) * SPRING),
        "mass": pytest.approx(each * MASS),
        "hand-over": pytest.approx(4 * each * (80 / 1600) * HAND_OVER),
        "switch": pytest.approx(30 / (3 * 100) * SWITCH),
    }
    assert found.semaphore.ns == pytest.approx(4 * each * SEMAPHORE)
    assert found.residual_ns == pytest.approx(50_000 - found.model_ns)
    rest_ns = 50_000 - found.model_ns - 4 * each * SEMAPHORE
    assert found.extended_residual_ns == pytest.approx(rest_ns)
    assert any("3 threads on 2 CPUs" in note for note in found.notes)


def test_reads_and_writes_take_the_place_of_the_hand_overs() -> None:
    """Springs, masses and switches stay as they are."""
    counts = {"involuntary_count": 30, "semaphore_operations_count": 1600}
    counts["semaphore_blocked_count"] = 80
    point = real_time(400, 2, step_ns=50_000, data=counts)
    point.events += [
        timed_costs(800, 2, access_ns=9.0),
        timed_costs(400, 2, "other", access_ns=9.0),
        timed_costs(400, 2, spring_ns=SPRING, mass_ns=MASS, access_ns=30_000.0),
    ]
    found = model(point, *inputs())
    terms = {one.name: one.ns for one in found.terms}
    assert (found.access.ns, found.semaphore) == (30_000, None)
    assert found.model_ns == pytest.approx(sum(terms.values()))
    whole_ns = terms["spring"] + terms["mass"] + terms["switch"] + 30_000
    assert found.extended_ns == pytest.approx(whole_ns)
    assert found.extended_residual_ns == pytest.approx(50_000 - whole_ns)


def test_one_thread_has_accesses_too() -> None:
    point = real_time(400, 1, step_ns=7000)
    point.events.append(timed_costs(400, 1, spring_ns=SPRING, mass_ns=MASS, access_ns=500.0))
    found = model(point)
    assert found.extended_ns == 1.5 * 400 * SPRING + 400 * MASS + 500


def test_real_fast_steps_come_from_the_total_time() -> None:
    fast = with_costs(real_fast(400, 1, totals=[60_000_000, 66_000_000]))
    fast.params["simulated_s"] = 60
    assert model(fast).measured_ns == pytest.approx(63_000_000 / 6000)


def test_threads_that_shared_a_cpu_are_told() -> None:
    """Both had one CPU, one after the other: the model has no term for that."""
    for cpu_ns, is_told in ((60_000_000, True), (115_000_000, False)):
        one = with_costs(real_fast(400, 2, totals=[60_000_000], data={"cpu_ns": cpu_ns}))
        one.params["simulated_s"] = 60
        notes = model(one, *inputs()).notes
        assert any("had a CPU for 50 % of the time" in note for note in notes) == is_told


def test_inputs_of_another_condition_are_told() -> None:
    point = with_costs(real_time(load="heavy"))
    notes = model(point, *inputs("none")).notes
    assert notes and all("was measured under load none" in note for note in notes)
    assert model(point, *inputs("none"), *inputs("heavy")).notes == ()


UNCOUNTED = real_time(data={"involuntary_count": None})
ODD_COUNT = real_time(data={"semaphore_blocked_count": -2})


@pytest.mark.parametrize(
    ("results", "why"),
    [
        ([real_time(), *inputs()], "did not report the cost of a spring and a mass"),
        ([with_costs(real_time(), spring_ns=0), *inputs()], "spring"),
        ([with_costs(real_time(), mass_ns=-3.0), *inputs()], "mass"),
        ([with_costs(real_time(), mass_ns="<b>"), *inputs()], "mass"),
        ([with_costs(real_time(), mass_ns=float("nan")), *inputs()], "mass"),
        ([with_costs(real_time()), inputs()[0]], "SEM-P-SHF"),
        ([with_costs(real_time()), inputs()[1]], "THR-P-SLS"),
        ([with_costs(UNCOUNTED), *inputs()], "context switches"),
        ([with_costs(ODD_COUNT), *inputs()], "semaphore operations"),
        ([with_costs(real_time(solver="barrier")), *inputs()], "solver semaphore"),
    ],
)
def test_without_an_input_there_is_no_model(results: list[Result], why: str) -> None:
    found = model(*results)
    assert isinstance(found, NoModel) and why in found.why


def test_a_point_without_times_has_no_model() -> None:
    point = with_costs(real_time())
    point.series = point.series[:2]
    run = sweep(point, *inputs())
    assert "no step" in model_of(run, points_of(run)[0]).why


# ---- real-time against real-fast ----

MASSES = [400, 800, 1200, 1600, 2000, 2400, 2800]
FEW, MANY = [0, 0, 1, 2, 3, 4, 5], [9, 8, 10, 12, 13, 24, 35]


def statement(*results: Result) -> Statement:
    (found,) = statements_within(points_of(sweep(*results)))
    return found


def fast(
    policy: str, factor: float | list[float], spread: float = 0.0, repeats: int = 1, **of: str
) -> list[Result]:
    factors = factor if isinstance(factor, list) else [factor] * len(MASSES)
    return [
        real_fast(
            n,
            policy=policy,
            totals=[round(n * 1e6 * one * (1 + spread * k)) for k in range(repeats)],
            **of,
        )
        for n, one in zip(MASSES, factors, strict=True)
    ]


def real(policy: str, missed: list[int], masses: list[int] = MASSES) -> list[Result]:
    return [real_time(n, policy=policy, missed=m) for n, m in zip(masses, missed, strict=True)]


def test_the_faster_one_may_miss_more_or_fewer() -> None:
    found = statement(*fast("other", 0.8), *fast("fifo", 1.0), *MISSED)
    assert (found.first, found.second) == ("fifo", "other")
    assert found.conclusion == "faster misses more"
    assert found.speed.ratio == pytest.approx(0.8)
    assert (found.speed.faster, found.misses.fewer) == ("second", "first")
    assert found.misses.missed == (sum(FEW), sum(MANY))
    assert found.misses.released == (700, 700)
    assert found.needed == []
    slower = statement(*fast("other", 1.3), *fast("fifo", 1.0), *MISSED)
    assert slower.conclusion == "faster misses fewer"


def test_the_p_values_are_those_of_the_signed_rank_test() -> None:
    times = [1010.0, 980.0, 1070.0, 1110.0, 1160.0, 900.0, 1210.0]
    speed = statement(*fast("fifo", 1.0), *fast("other", times)).speed
    logs = [log(one) for one in times]
    assert speed.p == pytest.approx(stats.wilcoxon(logs, mode="exact").pvalue)
    assert speed.least == pytest.approx(min(map(exp, logs)))
    assert speed.most == pytest.approx(max(map(exp, logs)))


MISSED = [*real("fifo", FEW), *real("other", MANY)]
FASTER = [*fast("fifo", 1.0), *fast("other", 0.5)]
MIXED = [0.9, 1.1, 0.95, 1.05, 1.2, 0.8, 1.0]
TWELVE = [400 * n for n in range(1, 13)]
CUT = [real_time(n, policy="other", missed=0, interrupted=True) for n in MASSES]
NOWHERE_BOTH = "no point of SIM-S-RT was counted on both sides"


@pytest.mark.parametrize(
    ("results", "needed"),
    [
        (
            [*fast("fifo", 1.0), *fast("other", MIXED), *real("fifo", FEW),
             *real("other", [0, 5, 0, 3, 2, 9, 1])],
            ["differ at 7 common points, which is not significant", "missed deadlines differ at"],
        ),
        (
            [*FASTER[:5], *FASTER[7:12], *MISSED],
            ["total times differ at 5 common points; at least 6 are needed to decide"],
        ),
        (
            [*fast("fifo", 1.0, 0.1, 3), *fast("other", 1.05, 0.1, 3), *MISSED],
            ["at 7 of 7 repeated points: both sides differ no more than the repeats of one"],
        ),
        ([*FASTER, *real("fifo", [0] * 7), *real("other", [0] * 7)], ["measure larger"]),
        # a few large differences do not turn many small ones
        (
            [*FASTER, *real("fifo", [2] * 11 + [0], TWELVE),
             *real("other", [1] * 11 + [90], TWELVE)],
            ["one side missed more at most points, the other missed more steps in total"],
        ),
        ([*FASTER, *real("fifo", FEW), *CUT], [NOWHERE_BOTH]),
        ([*FASTER, *real("fifo", FEW), *real("other", [9] * 7, [n + 4 for n in MASSES])],
         [NOWHERE_BOTH]),
    ],
    ids=["mixed", "few", "repeats", "no miss", "contrary", "cut off", "no common point"],
)  # fmt: skip
def test_what_stays_undecided_says_what_is_needed(results: list[Result], needed: list[str]) -> None:
    found = statement(*results)
    assert (found.conclusion, len(found.needed)) == ("undecided", len(needed))
    assert all(said in text for said, text in zip(needed, found.needed, strict=True)), found.needed


def test_fewer_pairs_decide_nothing_whatever_they_are() -> None:
    p = [stats.wilcoxon(range(1, count + 1), mode="exact").pvalue for count in (6, 5)]
    assert LEAST_PAIRS == 6 and p[0] <= 0.05 < p[1]


def test_each_condition_has_its_statement_and_holm_counts_them() -> None:
    quiet = [*fast("fifo", 1.0), *fast("other", 0.8)]
    loaded = [*fast("fifo", 1.0, load="heavy"), *fast("other", 2.0, load="heavy")]
    found = statements_within(points_of(sweep(*quiet, *loaded)))
    assert [one.under[0] for one in found] == ["none", "heavy"]
    assert [one.speed.p_adjusted / one.speed.p for one in found] == [2, 2]
    assert [one.speed.faster for one in found] == ["second", "first"]


def test_two_documents_are_two_kernels() -> None:
    standard = sweep(*fast("fifo", 0.8), *real("fifo", MANY))
    patched = sweep(*fast("fifo", 1.0), *real("fifo", FEW), *real("other", MANY))
    sides = {"6.12": standard, "6.12-rt": patched}
    (found,) = statements_between(
        *(Side(label=label, points=points_of(run)) for label, run in sides.items())
    )
    assert (found.first, found.second) == ("6.12, fifo", "6.12-rt, fifo")
    assert found.conclusion == "faster misses more"


def test_preemption_models_of_one_run_are_two_sides() -> None:
    results = [*fast("fifo", 1.0), *fast("fifo", 0.7)]
    for number, one in enumerate(results):
        one.conditions.preemption = "full" if number < len(MASSES) else "none"
    found = statement(*results)
    assert (found.first, found.second) == ("fifo, preemption full", "fifo, preemption none")
    assert found.speed.faster == "second"


@pytest.mark.slow
def test_hostile_numbers_of_points_and_policies_are_bounded() -> None:
    many = [
        real_time(4 * n, 1, policy=f"p{k}", missed=n % 3, released=10)
        for n in range(1, 151)
        for k in range(2)
    ]
    assert len(statement(*many).misses.places) <= 120
    crowd = [real_time(4, 1, policy=f"p{k}", released=10) for k in range(40)]
    assert len(statements_within(points_of(sweep(*crowd)))) == MOST_STATEMENTS


# ---- tables ----


def of(*tables: Table) -> Result:
    return result("SIM-S-RT", tables=list(tables))


def changed(table: Table, **data: Any) -> Table:
    return msgspec.structs.replace(table, data=table.data | data)


def columns(table: Table, **found: list[int]) -> Table:
    return msgspec.structs.replace(table, columns=table.columns | found)


def test_pictures_are_in_the_order_of_simulated_time() -> None:
    found = frames_of(of(frame(40), frame(0), frame(20)))
    assert [one.at_ns // MS for one in found] == [0, 20, 40]
    first = found[0]
    assert (first.masses, first.every, first.step_ns, first.energy_uj) == (40, 2, MS, 78_000_000)
    assert first.points_um[0] == (0, 1_100_000)
    assert len(first.points_um) == 20


def test_pictures_are_of_one_simulation_and_each_moment_is_there_once() -> None:
    other = [frame(at_ms, masses=80) for at_ms in (0, 5, 10)]
    found = frames_of(of(frame(0), frame(20), *other, other[0]))
    assert [(one.masses, one.at_ns // MS) for one in found] == [(80, 0), (80, 5), (80, 10)]


def test_the_numbers_of_pictures_and_threads_are_bounded() -> None:
    assert len(frames_of(of(*(frame(at_ms) for at_ms in range(90))))) == MOST_FRAMES
    many = [blocks(steps(1), thread=number, threads=99) for number in range(99)]
    (found,) = blocks_of(of(*many))
    assert len(found.rows) == MOST_BLOCK_THREADS


@pytest.mark.parametrize(
    "bad",
    [
        changed(frame(9), simulated_ns=-1),
        changed(frame(9), simulated_ns="soon"),
        changed(frame(9), simulated_ns=True),
        changed(frame(9), masses_count=0),
        changed(frame(9), masses_count=19),  # fewer than are in it
        columns(frame(9), x_um=[1]),
        columns(frame(9), x_um=[], y_um=[]),
        columns(frame(9), x_um=[2**62] * 20),
        columns(frame(9), x_um=[1] * 18 + [0, 0], y_um=[1] * 18 + [0, 0]),  # not written
        msgspec.structs.replace(frame(9), columns={"x_um": [1] * 20}),
        msgspec.structs.replace(frame(9), name="another"),
    ],
    ids=range(11),
)
def test_an_unsound_picture_is_left_out(bad: Table) -> None:
    assert [one.at_ns // MS for one in frames_of(of(bad, frame(1)))] == [1]
    assert frames_of(of(bad)) == []


def test_a_mass_at_the_origin_is_no_unwritten_row() -> None:
    """The lowest mass may lie there."""
    table = frame(1)
    x, y = table.columns["x_um"], table.columns["y_um"]
    assert len(frames_of(of(columns(table, x_um=[*x[:-1], 0], y_um=[*y[:-1], 0])))) == 1


def test_steps_are_read_with_their_period() -> None:
    (found,) = blocks_of(of(blocks(steps(3), thread=1), blocks(steps(3), thread=0)))
    assert [row.thread for row in found.rows] == [0, 1]
    assert (found.masses, found.threads, found.solver) == (400, 2, "semaphore")
    assert found.period_ns == 10 * MS
    assert found.rows[0].blocks[1] == Block(*steps(3)[1])


@pytest.mark.parametrize("rows", [[[row[0], row[2], *row[2:]] for row in steps(3)], steps(1)])
def test_a_single_step_and_steps_without_releases_have_no_period(rows: list[list[int]]) -> None:
    (found,) = blocks_of(of(blocks(rows)))
    assert found.period_ns is None


def test_variants_are_apart_also_those_of_another_recording() -> None:
    pair = [blocks(steps(2), thread=0), blocks(steps(2), thread=1)]
    found = blocks_of(of(frame(1), *pair, *pair, blocks(steps(2), policy="other")))
    variants = [(one.policy, len(one.rows)) for one in found]
    assert variants == [("fifo", 2), ("fifo", 2), ("other", 1)]


@pytest.mark.parametrize(
    "row",
    [
        [0, 0, 0, 0, 0, 0],  # not written
        [-3, 1, 2, 3, 4, 5],
        [3, 30 * MS, 31 * MS, 30 * MS, 33 * MS, 34 * MS],  # computed before it was read
        [3, 30 * MS, 1, 2, 3, 4],  # before the end of the step before
        [2, 30 * MS, 31 * MS, 32 * MS, 33 * MS, 34 * MS],  # twice
        [3, 30 * MS, 31 * MS, 32 * MS, 33 * MS, 2**62],
    ],
    ids=range(6),
)
def test_an_unsound_step_is_left_out(row: list[int]) -> None:
    (found,) = blocks_of(of(blocks([*steps(2), row])))
    assert [one.step for one in found.rows[0].blocks] == [1, 2]


@pytest.mark.parametrize(
    "bad",
    [
        changed(blocks(steps(2)), thread=-1),
        changed(blocks(steps(2)), masses_count=None),
        changed(blocks(steps(2)), threads_count=0),
        msgspec.structs.replace(blocks(steps(2)), columns={"step": [1]}),
        blocks([]),
        blocks([[0] * 6] * 4),
    ],
    ids=range(6),
)
def test_an_unsound_table_of_steps_is_left_out(bad: Table) -> None:
    assert blocks_of(of(bad)) == []


def test_a_cpu_that_is_not_known_is_none_and_names_are_cut() -> None:
    (found,) = blocks_of(of(changed(blocks(steps(1)), cpu=-1, solver="x" * 999, policy=7)))
    assert found.rows[0].cpu is None
    assert (len(found.solver), found.policy) == (40, "unknown")


@pytest.mark.parametrize(
    ("rows", "count", "wait_ns"),
    [(steps(3), 3, 10 * MS - 8 * MS), ([steps(3)[0], steps(3)[2]], 2, None)],
)
def test_means_are_those_of_the_steps_and_a_wait_is_between_steps_in_a_row(
    rows: list[list[int]], count: int, wait_ns: int | None
) -> None:
    (found,) = blocks_of(of(blocks(rows)))
    (one,) = mean_blocks(found)
    assert (one.thread, one.cpu, one.steps, one.wait_ns) == (0, 0, count, wait_ns)
    assert (one.read_ns, one.compute_ns, one.write_ns) == (MS, 5 * MS, 2 * MS)


NUMBERS = st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 40)
FIELDS = ["masses_count", "threads_count", "thread", "cpu", "simulated_ns", "step_ns"]


@pytest.mark.slow
@settings(max_examples=60)
@given(
    st.dictionaries(
        st.sampled_from(FIELDS), NUMBERS | st.text(max_size=3) | st.none() | st.booleans()
    ),
    st.lists(st.lists(NUMBERS, min_size=8, max_size=8), max_size=5),
)
def test_no_table_is_too_odd(data: dict[str, Any], rows: list[list[int]]) -> None:
    names = (*COLUMNS, "x_um", "y_um")
    found = {name: [row[place] for row in rows] for place, name in enumerate(names)}
    for name in ("frame", "blocks"):
        made = of(Table(name=name, data=data, columns=found))
        for one in blocks_of(made):
            assert all(row.blocks for row in one.rows)
            assert len(mean_blocks(one)) == len(one.rows)
        assert all(len(one.points_um) <= one.masses for one in frames_of(made))
