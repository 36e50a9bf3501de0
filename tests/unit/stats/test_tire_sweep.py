"""Which runs are sweeps, and what is listed one by one."""

from __future__ import annotations

from hardstone.model import Plan, Sweep, Verdict
from hardstone.stats.tire_sweep import listed_results, sweep_points
from tests.unit.stats.make import document, result
from tests.unit.stats.tires import real_fast, real_time, sweep


def test_a_battery_is_no_sweep() -> None:
    loads = [real_time(400, load=load) for load in ("none", "heavy", "cpu", "disk", "build")]
    battery = sweep(result(), *loads, *(real_fast(400, load=load) for load in ("none", "heavy")))
    assert not sweep_points(battery)
    assert listed_results(battery) == battery.results


def test_several_points_of_one_condition_are_a_sweep() -> None:
    found = sweep(result(), *(real_time(n) for n in (400, 800, 1200, 1600)))
    assert sweep_points(found) == {1, 2, 3, 4}
    assert listed_results(found) == found.results[:1]


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


def test_a_point_that_failed_a_claim_is_listed() -> None:
    found = sweep(*(real_time(n) for n in (400, 800, 1200, 1600)))
    found.results[2].verdicts.append(Verdict(name="energy", passed=False, evidence="it grew"))
    assert listed_results(found) == [found.results[2]]
