"""Intervals of dependent values: against scipy, and as wide as they are meant to be."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from hardstone.stats.dependent_values import (
    mean_estimate,
    quantile_estimate,
    share_estimate,
    supports,
    values_for_share,
    values_needed,
    worth_of,
)
from hardstone.stats.two_runs import AS_ONE, DEPENDENCE
from tests.unit.stats import make


def test_the_mean_is_that_of_scipy_for_so_many_values() -> None:
    values = np.random.default_rng(3).integers(1000, 2000, AS_ONE * 400)
    found = mean_estimate(make.series(values))
    spread = values.std(ddof=1) / np.sqrt(400)
    low, high = stats.norm.interval(0.95, loc=values.mean(), scale=spread)
    assert found is not None and found.low is not None and found.high is not None
    assert (found.low, found.value, found.high) == pytest.approx((low, values.mean(), high))


def test_too_few_values_leave_the_mean_open() -> None:
    assert mean_estimate(make.series([])) is None
    assert mean_estimate(make.series([5])) == (5, None, None)
    assert mean_estimate(make.series(range(2 * AS_ONE - 1)))[1:] == (None, None)  # type: ignore[index]


@pytest.mark.parametrize(("count", "total"), [(0, 1000), (3, 50), (500, 1000), (1000, 1000)])
def test_the_share_is_the_exact_interval_of_scipy(count: int, total: int) -> None:
    found = share_estimate(count * AS_ONE, count * AS_ONE, total * AS_ONE)
    exact = stats.binomtest(count, total).proportion_ci(0.95, method="exact")
    assert found == pytest.approx((count / total, exact.low, exact.high))


def test_a_share_of_too_few_values_may_be_anything() -> None:
    assert share_estimate(0, 0, AS_ONE - 1) == (0, 0, 1)


@pytest.mark.slow
@given(st.integers(0, 5000), st.integers(0, 5000), st.integers(5000, 10**6))
def test_the_share_grows_with_the_count(least: int, more: int, total: int) -> None:
    one, other = (
        share_estimate(count, count, total) for count in (least, min(least + more, total))
    )
    assert one.low is not None and one.high is not None
    assert other.low is not None and other.high is not None
    assert one.low <= other.low and one.high <= other.high
    assert 0 <= one.low <= one.high <= 1


@pytest.mark.parametrize("share", [0.01, 1e-4])
def test_as_many_values_as_are_told_bound_a_share(share: float) -> None:
    needed = values_for_share(share)
    assert (share_estimate(0, 0, needed).high or 1) <= share
    assert (share_estimate(0, 0, needed - AS_ONE).high or 0) > share


@pytest.mark.slow
@pytest.mark.parametrize("q", [0.01, 0.5, 0.99, 0.999])
def test_as_many_values_as_are_told_bound_a_quantile(q: float) -> None:
    needed = values_needed(q)
    assert supports(q, needed) and not supports(q, needed - AS_ONE)
    found = quantile_estimate(make.series(range(needed)), q)
    assert found is not None and None not in found


@pytest.mark.slow
def test_the_interval_of_a_quantile_is_wider_than_of_independent_values() -> None:
    count = 100_000
    found = quantile_estimate(make.series(range(count)), 0.5)
    assert found is not None and found.low is not None and found.high is not None
    independent = 2 * 1.96 * np.sqrt(count) / 2
    assert (found.high - found.low) / independent == pytest.approx(DEPENDENCE, rel=0.05)
    assert worth_of(count) == count // AS_ONE


def test_no_quantile_is_above_the_largest_value() -> None:
    found = quantile_estimate(make.series([1_000_001] * 1000), 0.5)
    assert found is not None and found.value == found.high == 1_000_001
    assert quantile_estimate(make.series([]), 0.5) is None


def test_a_single_value_above_counts_as_one_at_the_upper_end() -> None:
    found = share_estimate(1, 1, 100 * AS_ONE)
    wanted = stats.binomtest(1, 100).proportion_ci(0.95, "exact")
    assert (found.low, found.high) == (0.0, pytest.approx(wanted.high))
