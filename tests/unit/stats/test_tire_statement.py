"""Real-time against real-fast: only what the data says."""

from __future__ import annotations

from math import exp, log

import pytest
from scipy import stats

from hardstone.model import Result
from hardstone.stats.tire_points import points_of
from hardstone.stats.tire_sides import MOST_STATEMENTS, statements_between, statements_within
from hardstone.stats.tire_speed import LEAST_PAIRS
from hardstone.stats.tire_statement import Side, Statement
from tests.unit.stats.tires import real_fast, real_time, sweep

MASSES = [400, 800, 1200, 1600, 2000, 2400, 2800]


def only(*results: Result) -> Statement:
    (found,) = statements_within(points_of(sweep(*results)))
    return found


def fast(policy: str, factor: float, spread: float = 0.0, repeats: int = 1) -> list[Result]:
    return [
        real_fast(
            n,
            policy=policy,
            totals=[round(n * 1e6 * factor * (1 + spread * k)) for k in range(repeats)],
        )
        for n in MASSES
    ]


def real(policy: str, missed: list[int]) -> list[Result]:
    return [real_time(n, policy=policy, missed=m) for n, m in zip(MASSES, missed, strict=True)]


FEW, MANY = [0, 0, 1, 2, 3, 4, 5], [9, 8, 10, 12, 13, 24, 35]


def test_the_faster_one_may_miss_more() -> None:
    found = only(*fast("other", 0.8), *fast("fifo", 1.0), *real("fifo", FEW), *real("other", MANY))
    assert (found.first, found.second) == ("fifo", "other")
    assert found.conclusion == "faster misses more"
    assert found.speed is not None
    assert found.speed.ratio == pytest.approx(0.8)
    assert found.speed.faster == "second"
    assert found.misses is not None
    assert found.misses.fewer == "first"
    assert found.misses.missed == (sum(FEW), sum(MANY))
    assert found.misses.released == (700, 700)
    assert found.needed == []


def test_and_it_may_miss_fewer() -> None:
    found = only(*fast("other", 1.3), *fast("fifo", 1.0), *real("fifo", FEW), *real("other", MANY))
    assert found.conclusion == "faster misses fewer"


def test_the_p_values_are_those_of_the_signed_rank_test() -> None:
    times = [1.01, 0.98, 1.07, 1.11, 1.16, 0.9, 1.21]
    found = only(
        *fast("fifo", 1.0),
        *(
            real_fast(n, policy="other", totals=[round(n * 1e9 * f)])
            for n, f in zip(MASSES, times, strict=True)
        ),
    )
    assert found.speed is not None
    logs = [log(1000 * one) for one in times]
    assert found.speed.p == pytest.approx(stats.wilcoxon(logs, mode="exact").pvalue)
    assert found.speed.least == pytest.approx(min(map(exp, logs)))
    assert found.speed.most == pytest.approx(max(map(exp, logs)))


def test_mixed_differences_stay_undecided() -> None:
    found = only(
        *fast("fifo", 1.0),
        *(
            real_fast(n, policy="other", totals=[round(n * 1e6 * f)])
            for n, f in zip(MASSES, [0.9, 1.1, 0.95, 1.05, 1.2, 0.8, 1.0], strict=True)
        ),
        *real("fifo", FEW),
        *real("other", [0, 5, 0, 3, 2, 9, 1]),
    )
    assert found.conclusion == "undecided"
    assert found.speed is not None
    assert found.speed.faster is None
    assert len(found.needed) == 2


def test_too_few_common_points_stay_undecided() -> None:
    assert LEAST_PAIRS == 6
    assert stats.wilcoxon(range(1, 7), mode="exact").pvalue <= 0.05
    assert stats.wilcoxon(range(1, 6), mode="exact").pvalue > 0.05
    found = only(
        *fast("fifo", 1.0)[:5], *fast("other", 0.5)[:5], *real("fifo", FEW), *real("other", MANY)
    )
    assert found.conclusion == "undecided"
    assert found.needed == ["total times differ at 5 common points; a decision needs 6 at least"]


def test_a_difference_within_the_repeats_is_none() -> None:
    found = only(*fast("fifo", 1.0, 0.1, 3), *fast("other", 1.05, 0.1, 3))
    assert found.speed is not None
    assert found.speed.p <= 0.05
    assert found.speed.faster is None
    assert (found.speed.overlapping, found.speed.repeated) == (7, 7)
    assert "no more than repeats do" in found.needed[0]


def test_no_miss_on_either_side_decides_nothing() -> None:
    found = only(
        *fast("fifo", 1.0), *fast("other", 0.5), *real("fifo", [0] * 7), *real("other", [0] * 7)
    )
    assert found.conclusion == "undecided"
    assert "larger simulations" in found.needed[0]


def test_a_few_large_differences_do_not_turn_many_small_ones() -> None:
    masses = [400 * n for n in range(1, 13)]
    first = [2] * 11 + [0]
    second = [1] * 11 + [90]
    found = only(
        *(real_time(n, policy="fifo", missed=m) for n, m in zip(masses, first, strict=True)),
        *(real_time(n, policy="other", missed=m) for n, m in zip(masses, second, strict=True)),
    )
    assert found.misses is not None
    assert found.misses.p <= 0.05
    assert found.misses.more_on_first == 11
    assert found.misses.fewer is None
    assert "one side missed more at most points" in " ".join(found.needed)


def test_cut_off_points_are_not_compared() -> None:
    cut = [real_time(n, policy="other", missed=0, interrupted=True) for n in MASSES]
    found = only(*real("fifo", FEW), *cut)
    assert found.misses is None
    assert "SIM-S-RT" in " ".join(found.needed)


def test_without_common_points_there_is_no_comparison() -> None:
    found = only(*real("fifo", FEW), *[real_time(n + 4, policy="other", missed=9) for n in MASSES])
    assert found.misses is None
    assert found.held[0].first is not None
    assert found.held[0].second is not None
    assert found.held[0].first.held_masses == 800


def test_each_condition_has_its_statement_and_holm_counts_them() -> None:
    quiet = [*fast("fifo", 1.0), *fast("other", 0.8)]
    loaded = [
        real_fast(n, policy=policy, load="heavy", totals=[round(n * factor)])
        for n in MASSES
        for policy, factor in (("fifo", 1e6), ("other", 2e6))
    ]
    found = statements_within(points_of(sweep(*quiet, *loaded)))
    assert [one.under[0] for one in found] == ["none", "heavy"]
    assert [one.speed.p_adjusted / one.speed.p for one in found if one.speed] == [2, 2]
    assert [one.speed.faster for one in found if one.speed] == ["second", "first"]


def test_two_documents_are_two_kernels() -> None:
    standard = sweep(*fast("fifo", 0.8), *real("fifo", MANY))
    patched = sweep(*fast("fifo", 1.0), *real("fifo", FEW), *real("other", MANY))
    (found,) = statements_between(
        Side(label="6.12", points=points_of(standard)),
        Side(label="6.12-rt", points=points_of(patched)),
    )
    assert (found.first, found.second) == ("6.12, fifo", "6.12-rt, fifo")
    assert found.conclusion == "faster misses more"


def test_preemption_models_of_one_run_are_two_sides() -> None:
    results = [*fast("fifo", 1.0), *fast("fifo", 0.7)]
    for number, one in enumerate(results):
        one.conditions.preemption = "full" if number < len(MASSES) else "none"
    found = only(*results)
    assert (found.first, found.second) == ("fifo, preemption full", "fifo, preemption none")
    assert found.speed is not None
    assert found.speed.faster == "second"


@pytest.mark.slow
def test_hostile_numbers_of_points_and_policies_are_bounded() -> None:
    many = [
        real_time(4 * n, 1, policy=f"p{k}", missed=n % 3, released=10)
        for n in range(1, 301)
        for k in range(2)
    ]
    (found,) = statements_within(points_of(sweep(*many)))
    assert found.misses is not None
    assert len(found.misses.places) <= 120
    crowd = [real_time(4, 1, policy=f"p{k}") for k in range(40)]
    assert len(statements_within(points_of(sweep(*crowd)))) == MOST_STATEMENTS
