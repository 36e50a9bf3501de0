"""The share of misses against scipy's exact interval, and against what it promises."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from hardstone.stats.miss_interval import miss_interval, misses_of, share_high, share_low
from hardstone.stats.tire_bound import miss_bound
from tests.unit.stats.make import series

CONFIDENCES = st.sampled_from([0.8, 0.95, 0.99])


@pytest.mark.slow
@given(st.integers(1, 5000), CONFIDENCES, st.data())
def test_the_interval_is_that_of_scipy(total: int, confidence: float, data: st.DataObject) -> None:
    count = data.draw(st.integers(0, total))
    found = miss_interval(count, total, confidence)
    wanted = stats.binomtest(count, total).proportion_ci(confidence, "exact")
    assert (found.low, found.high) == pytest.approx((wanted.low, wanted.high), rel=1e-9)
    assert found.low <= count / total <= found.high


@pytest.mark.slow
@given(st.integers(1, 10**9))
def test_nothing_seen_has_the_closed_form(total: int) -> None:
    found = miss_interval(0, total)
    assert found.low == 0.0
    assert found.high == pytest.approx(-np.expm1(np.log(0.025) / total), rel=1e-6)
    assert miss_interval(total, total).high == 1.0


@pytest.mark.parametrize("share", [0.002, 0.03, 0.4])
def test_it_covers_at_least_as_often_as_it_says(share: float) -> None:
    """Summed over all counts, not drawn."""
    total = 200
    counts = np.arange(total + 1)
    covers = [miss_interval(k, total).low <= share <= miss_interval(k, total).high for k in counts]
    assert stats.binom.pmf(counts, total, share)[covers].sum() >= 0.95


@pytest.mark.slow
@given(st.integers(1, 10**6), st.data())
def test_the_bound_of_the_tire_is_one_end_of_it(released: int, data: st.DataObject) -> None:
    missed = data.draw(st.integers(0, released))
    assert miss_bound(missed, released) == pytest.approx(miss_interval(missed, released, 0.9).high)


@pytest.mark.slow
@given(st.lists(st.integers(0, 10**6), min_size=40, max_size=300), st.integers(0, 10**6))
def test_a_bucket_that_the_deadline_cuts_leaves_the_count_open(
    values: list[int], deadline: int
) -> None:
    true = sum(value > deadline for value in values)
    found = misses_of(series(values), deadline)
    least = found.count if found.least_count is None else found.least_count
    assert least <= true <= found.count
    exact = miss_interval(true, len(values))
    assert found.low <= exact.low and exact.high <= found.high


def test_an_exact_count_says_so() -> None:
    found = misses_of(series([10] * 90 + [30] * 10), 20)
    assert (found.count, found.total, found.least_count) == (10, 100, None)
    open_ended = misses_of(series([10] * 90 + [9085] * 10), 9084)
    assert (open_ended.least_count, open_ended.count) == (1, 10)


@pytest.mark.parametrize(("count", "total"), [(1, 0), (0, 0), (-1, 5), (6, 5)])
def test_counts_that_cannot_be_are_refused(count: int, total: int) -> None:
    for function in (miss_interval, share_low, share_high):
        with pytest.raises(ValueError, match="cannot be missed"):
            function(count, total, 0.9)


@pytest.mark.parametrize("confidence", [0.0, 1.0, float("nan")])
def test_a_confidence_that_is_none_is_refused(confidence: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        miss_interval(1, 5, confidence)


def test_no_values_have_no_share() -> None:
    with pytest.raises(ValueError, match="cannot be missed"):
        misses_of(series([]), 5)
