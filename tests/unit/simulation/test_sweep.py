"""The points of a sweep: what is asked next, on made-up kernels; and what does not fit together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import msgspec
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from hardstone.model import Event, ParamValue, Plan, PlannedTest, Result
from hardstone.plan.params import PlanError, Problems, check_tire, longest_stable_ns
from hardstone.simulation.request import usual_threads
from hardstone.simulation.sweep import (
    Limits,
    Point,
    Sweeper,
    boundary_of,
    coarse_curves,
    curve_of,
    ended_curves,
    masses_of,
    next_of_grid,
    next_size,
    read_results,
    single,
)
from tests.sweeps import SECOND_NS, Kernel, facts, plan_of, register, result_of, threshold

SIZES = st.integers(1, 250_000).map(lambda n: 4 * n)


def searched(kernel: Any, limits: Limits) -> list[Point]:
    """The points of one curve, as they are asked for; each must be one that may be."""
    points: list[Point] = []
    counts: Counter[int] = Counter()
    while (wish := next_size(points, limits)) is not None:
        assert wish.is_again == (counts[wish.masses] > 0)
        assert wish.masses % 4 == 0 and limits.least <= wish.masses <= limits.most
        points.append(Point(wish.masses, kernel(wish.masses, counts[wish.masses])))
        counts[wish.masses] += 1
        assert len(points) <= limits.points
    return points


@pytest.mark.slow
@given(st.integers(4, 1_000_000), st.integers(24, 60))
@example(400, 24)
@example(403, 24)
@example(999_999, 24)
def test_a_threshold_is_found_to_a_tenth(most: int, points: int) -> None:
    limits = Limits(400, 1_000_000, points)
    found = boundary_of(searched(lambda n, _: n > most, limits))
    if most < 400:
        assert (found.held, found.missed) == (None, 400)
    elif most >= 1_000_000:
        assert (found.held, found.missed) == (1_000_000, None)
    else:
        assert found.held is not None and found.missed is not None
        assert found.held <= most < found.missed
        assert found.missed - found.held <= max(4, 0.1 * found.missed)
        assert not found.is_coarse


@pytest.mark.slow
@given(SIZES, SIZES, st.integers(2, 40), st.randoms(use_true_random=False), st.floats(0, 1))
def test_a_search_ends_whatever_the_kernel_does(
    least: int, more: int, points: int, draw: Any, chance: float
) -> None:
    """No size is asked for a fourth time, and the answers decide, not their order in time."""
    limits = Limits(least, min(least + more, 1_000_000), points)
    assume(limits.least < limits.most)
    found = searched(lambda n, count: draw.random() < chance, limits)
    assert max(Counter(one.masses for one in found).values()) <= 3


@pytest.mark.slow
@given(st.integers(400, 100_000), st.integers(400, 100_000))
def test_an_island_is_seen(low: int, top: int) -> None:
    """One size above the boundary holds: the one below it stays the boundary."""
    assume(2 * low < top)
    island = {400 * 2**n for n in range(9)} & set(range(low, top))
    found = searched(lambda n, _: n > low and n not in island, Limits(400, 1_000_000, 40))
    held = boundary_of(found).held
    assert held is None or held <= max(low, *island, 0)


def test_the_size_that_held_is_measured_again() -> None:
    found = searched(lambda n, _: n > 3000, Limits(400, 100_000, 30))
    boundary = boundary_of(found)
    counts = Counter(one.masses for one in found)
    assert counts[boundary.held or 0] == counts[boundary.missed or 0] == 3
    near = [n for n in counts if 0.5 * 3000 < n < 2 * 3000]
    assert len(near) >= 8


def test_one_unlucky_miss_does_not_end_the_search_below_the_rest() -> None:
    """A miss at 800 that was bad luck: sizes above are measured, and shown as islands."""
    found = searched(
        lambda n, count: n > 20_000 or (n == 800 and not count), Limits(400, 10**6, 40)
    )
    assert max(one.masses for one in found if not one.has_missed) > 18_000
    assert boundary_of(found).missed == 800


@pytest.mark.slow
@given(st.integers(1, 60), st.integers(2, 60))
def test_small_sizes_are_bisected_to_the_last_four(held: int, more: int) -> None:
    """Never a size that is measured already: the search would stand still."""
    low, high = 4 * held, 4 * (held + more)
    wish = next_size([Point(low, False), Point(high, True)] * 2, Limits(low, high, 40))
    assert wish is not None
    assert low < wish.masses < high or wish.is_again


def test_a_single_missed_step_is_a_miss() -> None:
    (result,) = swept(
        plan_of(threads="1", masses="400", blocks="0", has_fast=False, frames="0"), threshold(3000)
    )[-1:]
    for missed in (0, 1):
        result.series[0].max = missed
        (found,) = read_results([result]).values()
        assert [one.has_missed for one in found.points] == [missed > 0]


def test_what_lies_beyond_is_not_confirmed() -> None:
    """Half of all deadlines missed is no bad luck: the next size is not twice as large again."""
    plan = plan_of(threads="1", frames="0", has_fast=False)
    told = [Event(name="simulation", text="", data={"released_count": 100})]
    held, few, most = (
        result_of(one, missed=missed, events=told)
        for one, missed in ((at(plan, 400), 0), (at(plan, 800), 49), (at(plan, 800), 50))
    )
    sweeper = Sweeper(plan, register())
    assert [masses_of(one) for one in sweeper.next_tests([held, few], 0)] == [1600]
    assert [masses_of(one) for one in sweeper.next_tests([held, most], 0)] == [600]


def at(plan: Plan, masses: int) -> PlannedTest:
    one = plan.tests[-1]
    return msgspec.structs.replace(one, params={**one.params, "masses": [masses]})


def test_a_grid_is_measured_as_it_is() -> None:
    points: list[Point] = []
    while (wish := next_of_grid(points, [400, 1000, 2000], wants_again=True)) is not None:
        points.append(Point(wish.masses, wish.masses > 1500))
    assert [one.masses for one in points] == [400, 1000, 2000, 1000]


def swept(
    plan: Plan,
    kernel: Kernel,
    before: Iterable[Result] = (),
    point_ns: int = 2 * SECOND_NS,
    most: int = 5000,
) -> list[Result]:
    """All results of a sweep whose points take `point_ns` each."""
    sweeper = Sweeper(plan, register())
    results = list(before)
    left = [] if results else list(plan.tests)
    counts: Counter[tuple[object, ...]] = Counter()
    while left or (left := sweeper.next_tests(results, len(results) * point_ns)):
        one = left.pop(0)
        assert one.deadline_ns > one.expected_ns > 0
        masses = masses_of(one)
        key = (curve_of(one), masses)
        results.append(result_of(one, missed=2 * kernel(masses, one, counts[key])))
        counts[key] += 1
        assert len(results) < most, "it does not end"
    return results


def coarse(plan: Plan, results: Iterable[Result]) -> dict[Any, str]:
    assert plan.sweep is not None
    return coarse_curves(plan.sweep, Sweeper(plan, register()).curves.main, results)


def keys(results: Iterable[Result]) -> list[tuple[object, ...]]:
    return [(curve_of(one), one.test, masses_of(one)) for one in results]


def test_a_sweep_opens_and_ends_with_what_the_model_needs() -> None:
    results = swept(plan_of(threads="1,2", frames="3"), threshold(3000))
    opening = ["THR-P-SLS", "SEM-P-SHF", "SIM-S-RT", "SIM-P-RF"]
    assert [one.test for one in results[:4]] == opening
    assert single(results[2].params["costs_only"]) == 1 and curve_of(results[2]) is None
    assert single(results[3].params["frames"]) == 3
    assert {one.test for one in results[-10:]} == {"SIM-P-RF"}
    ends = [(masses_of(one), single(one.params["threads"])) for one in results[-10:]]
    assert sorted(ends) == [(n, i) for n in (400, 1000, 2000, 4000, 5900) for i in (1, 2)]
    assert not coarse(plan_of(threads="1,2"), results)
    without = swept(plan_of(threads="1", has_fast=False, frames="0"), threshold(3000))
    assert {one.test for one in without} == {"THR-P-SLS", "SEM-P-SHF", "SIM-S-RT"}
    bound = swept(plan_of(threads="1,2", points="7"), threshold(100_000))
    counts = Counter(curve_of(one) for one in bound if one.test == "SIM-S-RT")
    assert counts.pop(None) == 1 and {*counts.values()} == {7}


@pytest.mark.slow
def test_curves_take_turns_and_loads_do_not_alternate() -> None:
    plan = plan_of(threads="1,2", policy="fifo,other", load=("none", "heavy"), frames="0")
    results = [one for one in swept(plan, threshold(3000)) if one.test == "SIM-S-RT"]
    results = [one for one in results if curve_of(one) is not None]
    for start in range(0, 40, 8):  # rounds of eight curves
        round_of = results[start : start + 8]
        assert len({curve_of(one) for one in round_of}) == 8
        assert [one.conditions.load for one in round_of] == ["none"] * 4 + [plan.loads[1]] * 4


def test_blocks_are_kept_once_in_each_curve_where_it_held() -> None:
    results = swept(plan_of(threads="1,2", blocks="4"), threshold(3000))
    kept = [one for one in results if single(one.params.get("block_steps"))]
    assert sorted(str(curve_of(one)) for one in kept) == sorted({str(curve_of(o)) for o in kept})
    assert len(kept) == 2 and all(2700 <= masses_of(one) <= 3000 for one in kept)


@pytest.mark.slow
@pytest.mark.parametrize("within", ["60s", "2m", "8m"])
@pytest.mark.parametrize("point_s", [0.5, 2, 9])
def test_a_sweep_ends_in_time(within: str, point_s: float) -> None:
    plan = plan_of(threads="1,2,4", policy="fifo,other", within=within)
    point_ns = round(point_s * SECOND_NS)
    results = swept(plan, threshold(30_000), point_ns=point_ns)
    assert plan.sweep is not None
    first_ns = len(plan.tests) * point_ns
    assert len(results) * point_ns <= max(plan.sweep.within_ns + 2 * point_ns, first_ns)
    found = coarse(plan, results)
    assert (within, point_s) != ("60s", 9) or len(found) == 6
    assert all("masses" in why for why in found.values())


def test_what_tells_least_is_dropped_first() -> None:
    """With less time there are fewer points around the boundary, and it is still found."""
    short = swept(plan_of(threads="1,2", within="65s"), threshold(3000))
    whole = swept(plan_of(threads="1,2", within="0"), threshold(3000))
    assert len(short) < len(whole)
    assert not coarse(plan_of(threads="1,2"), short)


@pytest.mark.slow
@settings(max_examples=25)
@given(st.integers(400, 50_000), st.integers(0, 30), st.integers(0, 2**32))
def test_a_sweep_that_is_resumed_asks_for_the_same_points(most: int, at: int, seed: int) -> None:
    """From any prefix of the results, on a kernel that answers by size and number only."""

    def noisy(masses: int, planned: Any, before: int) -> bool:
        return masses > most or hash((masses, before, seed)) % 11 == 0

    plan = plan_of(threads="1,2", within="0", points="12", frames="0")
    whole = swept(plan, noisy, point_ns=0)
    first = max(len(plan.tests), at)
    counts: Counter[tuple[object, ...]] = Counter(keys(whole[:first]))
    sweeper, results = Sweeper(plan, register()), whole[:first]
    while left := sweeper.next_tests(results, 0):
        key = (curve_of(left[0]), left[0].test, masses_of(left[0]))
        missed = 2 * noisy(masses_of(left[0]), left[0], counts[key])
        results.append(result_of(left[0], missed=missed))
        counts[key] += 1
    assert Counter(keys(results)) == Counter(keys(whole))


@pytest.mark.parametrize("status", ["denied", "unsupported", "timeout"])
def test_a_refusal_ends_its_curve_and_the_others_go_on(status: Any) -> None:
    plan = plan_of(threads="1", policy="fifo,deadline", frames="0")
    sweeper, results = Sweeper(plan, register()), []
    left = list(plan.tests)
    while left or (left := sweeper.next_tests(results, 0)):
        one = left.pop(0)
        is_refused = single(one.params.get("policy")) == "deadline"
        more = {"status": status, "reason": "admission", "series": []} if is_refused else {}
        results.append(result_of(one, missed=masses_of(one) > 3000, **more))
    refused = [one for one in results if one.status == status]
    assert sorted(one.test for one in refused) == ["SIM-P-RF", "SIM-S-RT"]
    assert not coarse(plan, results)
    ((curve, why),) = ended_curves(sweeper.curves.main, results).items()
    assert curve.policy == "deadline" and why == f"{status} at 400 masses: admission"


def test_a_probe_that_fails_has_a_second_chance_and_what_was_not_counted_has_none() -> None:
    plan = plan_of(threads="1", frames="0", has_fast=False)
    sweeper = Sweeper(plan, register())
    uncounted = result_of(plan.tests[-1], series=[])
    assert sweeper.next_tests([uncounted], 0) == []
    ((_, why),) = ended_curves(sweeper.curves.main, [uncounted]).items()
    assert why == "measured at 400 masses: its missed steps were not counted"
    cut = result_of(plan.tests[-1], status="failed", complete=False, reason="gone")
    (again,) = sweeper.next_tests([cut], 0)
    assert masses_of(again) == 400
    assert sweeper.next_tests([cut, cut], 0) == []


def test_time_that_the_end_leaves_is_used() -> None:
    """Real-fast points are not taken for what is left out first, nor do they waste time."""
    plan = plan_of(threads="1,2", within="100s", frames="0")
    tests = [one.test for one in swept(plan, threshold(100_000), point_ns=SECOND_NS)]
    fast = [place for place, test in enumerate(tests) if test == "SIM-P-RF"]
    assert len(fast) == 10 and fast == list(range(fast[0], fast[0] + 10))


def test_real_fast_sweeps_a_grid() -> None:
    plan = plan_of("realfast", threads="1,2", masses="400..1200/400,2000", frames="0")
    results = swept(plan, threshold(0))
    assert len(results) == 8 and {one.test for one in results} == {"SIM-P-RF"}
    assert [masses_of(one) for one in results[::2]] == [400, 800, 1200, 2000]
    assert single(results[0].params["simulated_s"]) == 60


def test_each_mass_may_have_a_thread() -> None:
    plan = plan_of("realfast", threads="4", masses="4", frames="0")
    assert [one.params["threads"] for one in swept(plan, threshold(0))] == [[4]]


def test_the_time_left_falls_to_none() -> None:
    plan = plan_of("realfast", threads="1", masses="400,1000", frames="0")
    sweeper, results, left = Sweeper(plan, register()), [], []
    while one := sweeper.next_tests(results, len(results) * SECOND_NS):
        left.append(sweeper.left_ns(results, len(results) * SECOND_NS))
        results.append(result_of(one[0]))
    assert left == sorted(left, reverse=True) and left[-1] > 0
    assert sweeper.left_ns(results, 2 * SECOND_NS) == 0


@pytest.mark.parametrize(
    ("changed", "threads"),
    [
        ({}, [1, 2, 4, 6]),
        ({"cpu.allowed": "0-7", "cpu.smt": True}, [1, 4, 8, 12, 16]),
        ({"cpu.allowed": "0"}, [1, 2, 3]),
        ({"cpu.allowed": "0-255"}, [1, 256]),
    ],
)
def test_the_usual_numbers_of_threads(changed: dict[str, Any], threads: list[int]) -> None:
    assert sorted(set(usual_threads(facts(**changed)))) == threads


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"masses": "402"}, "402 is not a multiple of 4"),
        ({"masses": "0"}, "out of range"),
        ({"masses": "8000000"}, "out of range"),
        ({"masses": "400..100/100"}, "not a range of sizes"),
        ({"masses": "400..1000/10"}, "multiple of 4"),
        ({"masses": "800..400"}, "is empty"),
        ({"masses": "x"}, "not a whole number"),
        ({"threads": "8", "masses": "4,400"}, "8 threads for 4 masses"),
        ({"threads": "0"}, "out of range"),
        ({"policy": "fifo,idle"}, "unknown 'idle'"),
        ({"policy": "fifo,fifo"}, "names one twice"),
        ({"solver": "gauss"}, "unknown 'gauss'"),
        ({"stiffness": "100000"}, "give --step 1290994ns or less"),
        ({"rate": "100001"}, "give 100000 or less"),
        ({"rate": "0"}, "out of range"),
        ({"step": "5us"}, "give 10 us or more"),
        ({"within": "3s"}, "takes"),
        ({"points": "1"}, "out of range"),
        ({"frames": "65"}, "out of range"),
        ({"mode": "realfast", "duration": "1500ms"}, "whole seconds"),
        ({"mode": "realfast", "masses": "400..800"}, "has no step"),
        ({"threads": ",".join(map(str, range(1, 251))), "points": "200"}, "at most 8000 points"),
    ],
)
def test_what_cannot_be_is_refused(asked: dict[str, Any], words: str) -> None:
    with pytest.raises(PlanError) as caught:
        plan_of(**asked)
    assert any(words in one for one in caught.value.problems), caught.value.problems
    assert all("; " in one for one in caught.value.problems)


@pytest.mark.slow
@given(st.integers(1, 10**9))
def test_the_longest_stable_step_is_the_limit(stiffness: int) -> None:
    """6 kappa h tau <= 2 with tau = 2 h, in whole ns."""
    longest = longest_stable_ns(stiffness)
    assert 6 * stiffness * longest * 2 * longest <= 2 * 10**18
    assert 6 * stiffness * (longest + 1) * 2 * (longest + 1) > 2 * 10**18


def test_a_rate_without_a_step_has_the_step_of_real_time() -> None:
    costs, point = [
        one for one in plan_of(rate="1000", threads="1").tests if one.test == "SIM-S-RT"
    ]
    assert (costs.params["step_ns"], costs.params["period_ns"]) == (1_000_000, 1_000_000)
    assert (point.params["step_ns"], point.params["period_ns"]) == (1_000_000, 1_000_000)
    assert point.samples == 1000


def costs_of_plan(**request: Any) -> list[PlannedTest]:
    return [one for one in plan_of(**request).tests if single(one.params.get("costs_only"))]


def test_costs_are_timed_under_each_condition_before_the_first_point() -> None:
    """For as many threads as there are CPUs: with more, nothing is predicted."""
    plain, loaded = costs_of_plan(threads="1,2,4", policy="fifo,other", load=("none", "heavy"))
    assert plain.load == "none" and loaded.load != "none"
    assert plain.params["masses"] == [400, 10_000, 250_000]
    assert (plain.params["threads"], plain.params["policy"]) == ([1, 2], ["fifo", "other"])
    assert plain.params["solver"] == ["semaphore"]
    tests = [curve_of(one) is not None for one in plan_of(threads="1,2").tests]
    assert tests == sorted(tests)  # no point before them
    small = costs_of_plan(threads="1", masses="8,16")
    assert [one.params["masses"] for one in small] == [[8]]
    assert not costs_of_plan(threads="4") and not costs_of_plan(threads="1", solver="barrier")
    assert not costs_of_plan(mode="realfast", threads="1")


@pytest.mark.parametrize(
    "changed",
    [
        {"test": "TMR-P-LAT"},
        {"masses_least": 0},
        {"masses_least": 800, "masses_most": 400},
        {"masses": [0]},
        {"points_most": 0},
        {"points_most": 10**9},
        {"threads": list(range(1, 4000))},
        {"policies": ["fifo"] * 4000, "solvers": ["barrier"] * 4000},
    ],
)
def test_a_sweep_from_a_file_that_would_not_end_is_refused(changed: dict[str, Any]) -> None:
    plan = plan_of(threads="1,2")
    sweep = msgspec.structs.replace(plan.sweep, **changed)
    with pytest.raises(ValueError, match="the plan has"):
        Sweeper(msgspec.structs.replace(plan, sweep=sweep), register())
    lacking = plan_of(threads="1", load=("none", "heavy"))
    tests = [one for one in lacking.tests if one.load == "none"]
    with pytest.raises(ValueError, match="lacks a point"):
        Sweeper(msgspec.structs.replace(lacking, tests=tests), register())


TIRE_TEST = "SIM-S-RT"
FINE: dict[str, ParamValue] = {"masses": [400, 4000], "threads": [1, 2]}
FINE |= {"step_ns": 10_000_000, "stiffness_per_s2": 0}
UNSTABLE = "10 ms is unstable at 1000000 per s^2; give 408248ns or less, or leave stiffness_per_s2"
WRONG: list[tuple[dict[str, ParamValue], str]] = [
    ({}, ""),
    ({"stiffness_per_s2": 1_000_000, "step_ns": 408_248}, ""),
    ({"masses": [400, 402]}, "masses: 402 is not a multiple of 4; give 400 or 404"),
    ({"masses": [3], "threads": [1]}, "masses: 3 is not a multiple of 4; give 4"),
    (
        {"masses": [400, 8], "threads": [1, 9]},
        "threads: 9 threads are too many for 8 masses; give at most as many threads as masses",
    ),
    ({"stiffness_per_s2": 1_000_000}, f"step_ns: {UNSTABLE} out"),
]


def told(params: dict[str, ParamValue]) -> list[str]:
    problems = Problems()
    check_tire(TIRE_TEST, params, problems)
    return list(problems.lines)


@pytest.mark.parametrize(("change", "wanted"), WRONG)
def test_what_does_not_fit_is_told(change: dict[str, ParamValue], wanted: str) -> None:
    assert told(FINE | change) == [f"{TIRE_TEST} {wanted}"] * bool(wanted)
    assert told({"interval_ns": 5}) == []  # another test


@pytest.mark.slow
@given(st.integers(1, 10**6), st.integers(1, 256))
def test_a_size_is_refused_or_is_a_tire(quarter: int, threads: int) -> None:
    complaints = told(FINE | {"masses": [4 * quarter], "threads": [threads]})
    assert bool(complaints) == (threads > 4 * quarter)
