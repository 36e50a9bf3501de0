from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from hardstone.model import Histogram
from hardstone.stats.histogram import histogram_of
from hardstone.stats.layout import DEFAULT_LAYOUT
from hardstone.stats.quantiles import (
    LADDER,
    is_printable,
    nearest_rank,
    printable_quantiles,
    quantile,
    rank_interval,
)

COUNTS = st.integers(1, 3000) | st.integers(1, 10**9)
LEVELS = st.sampled_from(LADDER) | st.floats(0.01, 0.99)
CONFIDENCES = st.sampled_from([0.5, 0.9, 0.95, 0.99])


@pytest.mark.slow
@given(COUNTS, LEVELS, CONFIDENCES)
def test_ranks_cover_the_quantile_with_the_exact_binomial_probability(
    count: int, q: float, confidence: float
) -> None:
    first, last = rank_interval(count, q, confidence)
    covered = stats.binom.cdf(last - 1, count, q) - stats.binom.cdf(first - 1, count, q)
    assert covered >= confidence - 1e-7
    tail = (1 - confidence) / 2
    assert stats.binom.cdf(first, count, q) >= tail - 1e-7, "one rank higher would do"
    assert stats.binom.cdf(last - 2, count, q) <= 1 - tail + 1e-7, "one rank lower would do"


@pytest.mark.slow
@given(st.integers(1, 2**31 - 1), LEVELS)
def test_ranks_are_those_of_scipy(count: int, q: float) -> None:
    first, last = rank_interval(count, q)
    assert abs(first - stats.binom.ppf(0.025, count, q)) <= 1
    assert abs(last - 1 - stats.binom.ppf(0.975, count, q)) <= 1


def test_ranks_far_beyond_32_bits_follow_the_normal_law() -> None:
    count, q = 10**12, 0.999
    first, last = rank_interval(count, q)
    half_width = 1.959964 * (count * q * (1 - q)) ** 0.5
    assert (last - first) / 2 == pytest.approx(half_width, rel=1e-3)


@pytest.mark.slow
@given(
    st.lists(st.integers(0, 10**7), min_size=1, max_size=300),
    st.sampled_from([0.01, 0.25, 0.5, 0.9, 0.99]),
)
def test_the_quantile_is_numpys_within_one_bucket(values: list[int], q: float) -> None:
    found = quantile(histogram_of(values), q)
    exact = float(np.quantile(values, q, method="inverted_cdf"))
    assert found is not None and found.value is not None
    rank = nearest_rank(len(values), q)
    assert sorted(values)[rank - 1] <= found.value <= sorted(values)[rank - 1] * (1 + 2**-10)
    assert exact <= found.value * (1 + 1e-12)


@pytest.mark.slow
@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=400), LEVELS)
def test_the_interval_holds_the_order_statistics(values: list[int], q: float) -> None:
    found = quantile(histogram_of(values), q)
    assert found is not None
    first, last = rank_interval(len(values), q)
    ranked = sorted(values)
    if first == 0:
        assert found.low is None
    else:
        assert found.low is not None and found.low <= ranked[first - 1]
    if last > len(values):
        assert found.high is None
    else:
        assert found.high is not None and found.high >= ranked[last - 1]


@pytest.mark.slow
@settings(max_examples=3, deadline=None)
@given(st.integers(0, 2**32))
def test_the_interval_covers_the_truth_as_often_as_it_claims(seed: int) -> None:
    draws = np.random.default_rng(seed).exponential(1e6, (600, 400)).astype(np.int64)
    truth = -np.log(0.1) * 1e6
    covered = 0
    for row in draws:
        found = quantile(histogram_of(row), 0.9)
        assert found is not None and found.low is not None and found.high is not None
        covered += found.low <= truth <= found.high
    assert covered >= stats.binom.ppf(1e-9, 600, 0.95)


def test_a_quantile_among_overflowed_values_is_above_and_never_a_number() -> None:
    found = quantile(histogram_of([*range(50), *[10**6] * 50], limit=100), 0.9)
    assert found is not None
    assert (found.value, found.above, found.low, found.high) == (None, 49, 49, None)


def test_a_quantile_below_the_overflow_can_be_unbounded_upwards() -> None:
    found = quantile(histogram_of([*range(95), *[10**6] * 5], limit=100), 0.9)
    assert found is not None
    assert (found.value, found.above, found.high) == (89, None, None)


def test_a_quantile_among_negative_values_is_below_zero() -> None:
    found = quantile(histogram_of([*[-1] * 90, *range(10)]), 0.5)
    assert found is not None
    assert (found.value, found.below, found.low, found.high) == (None, 0, None, 0)


def test_only_overflow_gives_no_number() -> None:
    found = quantile(Histogram(layout=DEFAULT_LAYOUT, buckets=[], overflow=1000), 0.5)
    assert found is not None
    assert (found.value, found.above, found.low, found.high) == (None, 0, 0, None)


def test_an_empty_histogram_has_no_quantile() -> None:
    assert quantile(Histogram(layout=DEFAULT_LAYOUT, buckets=[]), 0.5) is None


@pytest.mark.parametrize(("q", "confidence"), [(0, 0.95), (1, 0.95), (0.5, 1), (float("nan"), 0.9)])
def test_a_level_outside_of_zero_and_one_is_refused(q: float, confidence: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        quantile(histogram_of([1]), q, confidence=confidence)


@pytest.mark.parametrize("q", LADDER)
def test_a_quantile_is_printed_from_ten_values_beyond_it(q: float) -> None:
    least = round(10 / (1 - q))
    assert is_printable(q, least)
    assert not is_printable(q, least - 1)


def test_the_ladder_stops_where_the_count_or_the_profile_does() -> None:
    assert printable_quantiles(19) == []
    assert printable_quantiles(1000) == [0.5, 0.9, 0.99]
    assert printable_quantiles(10**9) == list(LADDER)
    assert printable_quantiles(10**9, deepest=0.999) == [0.5, 0.9, 0.99, 0.999]
