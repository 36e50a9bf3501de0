"""One run against other runs of its system: the prediction against closed forms, how often runs of
the same system fail, and what is found."""

from __future__ import annotations

from math import exp, log, sqrt

import numpy as np
import pytest
from scipy import stats

from hardstone.stats.run_gate import (
    FASTEST,
    LEAST_CHANGE,
    LEAST_RUNS,
    MEDIAN,
    Figure,
    FloatArray,
    RunGate,
    gate_run,
    predict,
    runs_needed,
)

ONE = ("boot",) * 60


def figures(series: int) -> list[Figure]:
    """The fastest values, the median and a tail of each of `series`."""
    kinds = (FASTEST, MEDIAN, "p99")
    return [Figure(at, kind) for at in range(series) for kind in kinds]


def runs(
    count: int, series: int, seed: int, *, shared: float = 0.02, own: float = 0.02
) -> FloatArray:
    """Logarithms about 1 us: what all series of a run share, and what each has of its own."""
    chance = np.random.default_rng(seed)
    found = chance.normal(0, own, (count, series, 3)) * (1, 2, 5)
    found += chance.normal(0, shared, (count, 1, 1)) + log(1000)
    return found.reshape(count, 3 * series)


def gate(held: FloatArray, own: FloatArray, *boots: str) -> RunGate:
    labels = boots or ONE[: len(held)]
    return gate_run(held, own, figures(held.shape[1] // 3), labels)


def fails(found: RunGate) -> bool:
    return any(one.outcome == "FAIL" for one in (found.together, *found.alone))


def test_the_prediction_of_one_more_value_is_that_of_student() -> None:
    values = np.array([1.0, 1.2, 0.9, 1.1, 1.4, 0.8, 1.0])
    found = predict(values, ONE[:7])
    scale = values.std(ddof=1) * sqrt(1 + 1 / 7)
    assert found.centre == pytest.approx(values.mean())
    assert found.bound(0.01) == pytest.approx(stats.t.isf(0.01, 6, values.mean(), scale))
    assert found.p_above(2.0) == pytest.approx(stats.t.sf(2.0, 6, values.mean(), scale))


def test_boots_that_differ_widen_it_as_a_random_effect() -> None:
    """Balanced groups, for which the variance of one more group is a closed form."""
    values = np.array([1.0, 1.1, 0.9, 2.0, 2.1, 1.9, 3.0, 3.1, 2.9])
    labels = [label for label in "abc" for _ in range(3)]
    between, within = 3 * 1.0, 0.01  # mean squares
    first, rest = between * (1 + 1 / 3) / 3, within * (1 - 1 / 3)
    found = predict(values, labels)
    assert found.scale == pytest.approx(sqrt(first + rest))
    assert found.freedom == pytest.approx((first + rest) ** 2 / (first**2 / 2 + rest**2 / 6))
    anova = stats.f_oneway(*values.reshape(3, 3)).statistic
    assert between / within == pytest.approx(anova)
    alike = np.array([1.0, 1.2, 0.9, 1.0, 1.2, 0.9])
    assert predict(alike, list("aaabbb")) == predict(alike, ONE[:6])


def test_the_number_of_runs_that_find_a_difference() -> None:
    count = runs_needed(0.055, 0.3, 0.005)
    assert count is not None and count > LEAST_RUNS
    for one, is_enough in ((count, True), (count - 1, False)):
        found = (stats.t.isf(0.005, one - 1) + stats.norm.isf(0.05)) * 0.055 * sqrt(1 + 1 / one)
        assert bool(found <= log(1.3)) is is_enough
    assert runs_needed(0.01, 0.3, 0.005) == LEAST_RUNS
    assert runs_needed(0.1, 0.3, 0.005) is None


@pytest.mark.slow
@pytest.mark.parametrize(("count", "boots", "between"), [(10, 1, 0.0), (20, 1, 0.0), (12, 3, 0.03)])
def test_runs_of_one_system_rarely_fail_and_a_slow_down_of_30_percent_is_found(
    count: int, boots: int, between: float
) -> None:
    """100 gates each: at most 1 % fail; of those that say that they would find it 95 % do."""
    chance = np.random.default_rng(5)
    failed = found = asked = 0
    for seed in range(100):
        held = runs(count + 1, 12, seed)
        labels = [str(at % boots) for at in range(count)]
        shift = chance.normal(0, between, boots + 1)
        held += shift[[*(at % boots for at in range(count)), boots]][:, np.newaxis]
        same = gate(held[:-1], held[-1], *labels)
        failed += fails(same)
        if (same.together.found_from or 9.0) <= 1.3:
            asked += 1
            found += fails(gate(held[:-1], held[-1] + log(1.3), *labels))
    assert failed <= 1, f"{failed} of 100"
    assert asked > 30 and found >= 0.95 * asked, f"{found} of {asked}"


def test_what_a_gate_would_have_found_is_said_and_needed_to_pass() -> None:
    quiet, loud = runs(11, 8, 1), runs(11, 8, 1, shared=0.2)
    passed, unknown = (gate(held[:-1], held[-1]).together for held in (quiet, loud))
    assert passed.outcome == "PASS" and (passed.found_from or 9.0) <= 1.3
    assert unknown.outcome == "INCONCLUSIVE" and (unknown.found_from or 0.0) > 1.3
    assert unknown.runs_needed is None
    assert unknown.scatter == pytest.approx(0.3, rel=0.05)


def test_fewer_baselines_than_that_fail_nothing() -> None:
    held = runs(LEAST_RUNS, 8, 1)
    found = gate(held[:-1], held[-1] + 5)
    assert (found.together.outcome, found.alone, found.suspects) == ("INCONCLUSIVE", [], [])
    assert found.together.ratio > exp(4)


def test_one_series_that_is_slower_fails_alone() -> None:
    held = runs(31, 8, 3)
    held[-1, 3:6] += log(2)
    found = gate(held[:-1], held[-1])
    assert found.together.outcome == "PASS"
    assert [one.outcome == "FAIL" for one in found.alone] == [at == 1 for at in range(8)]
    assert found.alone[1].ratio == pytest.approx(2, rel=0.15)


def test_a_series_of_a_moment_fails_only_with_the_others() -> None:
    held = runs(31, 8, 3)
    held[-1, 3:6] += log(8)
    brief = [Figure(at, kind, is_brief=at == 1) for at, kind, *_ in figures(8)]
    found = gate_run(held[:-1], held[-1], brief, ONE[:30])
    assert not fails(found) and len(found.alone) == 7
    assert {one.column for one in found.suspects} == {4, 5}
    assert fails(gate_run(held[:-1], held[-1] + log(1.3), brief, ONE[:30]))
    held[-1, 6:9] += log(8)
    assert [one.outcome for one in gate_run(held[:-1], held[-1], brief, ONE[:30]).alone] == [
        *("PASS", "FAIL"),
        *["PASS"] * 5,
    ]


def test_a_run_whose_fastest_values_are_slower_fails_whatever_its_medians_are() -> None:
    """Of which a run in a faster moment of its machine has shorter ones."""
    held = runs(21, 8, 4)
    held[-1] += log(1.3)
    held[-1, 1::3] -= log(1.4)
    assert gate(held[:-1], held[-1]).together.outcome == "FAIL"


@pytest.mark.parametrize(("column", "all_medians"), [(slice(1, None, 3), True), (5, False)])
def test_medians_and_tails_make_a_run_suspicious_and_fail_nothing(
    column: slice | int, all_medians: bool
) -> None:
    held = runs(21, 8, 4)
    held[-1, column] += 2
    found = gate(held[:-1], held[-1])
    assert not fails(found)
    assert (None in {one.column for one in found.suspects}) is all_medians
    assert all_medians or [one.column for one in found.suspects] == [5]


def test_a_small_change_is_no_failure_however_little_runs_vary() -> None:
    held = np.full((10, 12), log(1000.0))
    for factor, is_failure in ((1 + 0.9 * LEAST_CHANGE, False), (1 + 1.1 * LEAST_CHANGE, True)):
        assert fails(gate(held, held[0] + log(factor))) is is_failure


def test_what_a_baseline_did_too_is_no_failure() -> None:
    held = runs(21, 8, 6, shared=0.001, own=0.001)
    held[4] += log(1.5)
    assert not fails(gate(held[:-1], held[-1] + log(1.45)))
    assert fails(gate(held[:-1], held[-1] + log(1.9)))


def test_values_without_a_logarithm_are_refused() -> None:
    held = runs(11, 4, 1)
    held[2, 2] = -np.inf
    for baselines in (held[:-1], held[:0]):
        with pytest.raises(ValueError, match="finite"):
            gate(baselines, held[-1])
