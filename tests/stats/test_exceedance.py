from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats

from hardstone.model import Histogram
from hardstone.stats.exceedance import (
    clopper_pearson,
    deadline_miss,
    exceedance,
    samples_for,
    upper_bound,
)
from hardstone.stats.histogram import histogram_of
from hardstone.stats.layout import DEFAULT_LAYOUT, edges_of, index_of

RAW = st.lists(st.integers(-3, 10**7), min_size=1, max_size=300)
EVENTS = st.tuples(st.integers(0, 50), st.integers(50, 10**9))


@given(RAW, st.integers(1, 10**7))
@example([9080, 9081], 9080)  # the limit lies inside a bucket
@example([9080, 9081, 9087, 9088, -1], 9084)
@example([3000], 3001)
def test_each_point_counts_exactly_what_lies_above_it(values: list[int], limit: int) -> None:
    raw = np.array(values)
    points = exceedance(histogram_of(raw, limit=limit))
    for point in points:
        assert point.count == int((raw > point.value).sum())
        assert point.probability == point.count / len(values)
    last_edge = edges_of(index_of(limit))[1]
    assert points[-1].count == int((raw > last_edge).sum())


def test_nothing_gives_no_points() -> None:
    assert exceedance(Histogram(layout=DEFAULT_LAYOUT, buckets=[])) == []


@given(st.integers(1, 10**12))
def test_the_bound_for_the_unseen_is_the_closed_form(total: int) -> None:
    bound = upper_bound(0, total)
    assert (1 - bound) ** total == pytest.approx(0.05, rel=1e-3)
    assert bound <= 3 / total


@given(EVENTS)
def test_the_bound_with_events_is_that_of_chi_square(events: tuple[int, int]) -> None:
    seen, total = events
    expected = float(stats.chi2.ppf(0.95, 2 * (seen + 1)) / (2 * total))
    assert upper_bound(seen, total) == pytest.approx(
        min(1, expected), rel=0.03 if seen == 0 else 1e-9
    )


def test_no_sample_bounds_nothing() -> None:
    assert upper_bound(0, 0) == 1.0
    assert upper_bound(3, 3) == 1.0


def test_a_claim_of_one_in_a_thousand_million_takes_three_thousand_million_samples() -> None:
    assert samples_for(1e-9) == pytest.approx(3e9, rel=2e-3)


@given(st.floats(1e-9, 0.5))
def test_the_samples_needed_are_the_fewest(probability: float) -> None:
    needed = samples_for(probability)
    assert upper_bound(0, needed) <= probability * (1 + 1e-9)
    assert needed == 1 or upper_bound(0, needed - 1) > probability * (1 - 1e-9)


@given(EVENTS, st.sampled_from([0.9, 0.95, 0.99]))
def test_the_interval_is_that_of_scipy(events: tuple[int, int], confidence: float) -> None:
    seen, total = events
    expected = stats.binomtest(seen, total).proportion_ci(confidence, method="exact")
    low, high = clopper_pearson(seen, total, confidence)
    assert low == pytest.approx(expected.low, rel=1e-6)
    assert high == pytest.approx(expected.high, rel=1e-6)


@pytest.mark.parametrize("events", [(-1, 5), (6, 5)])
def test_impossible_counts_are_refused(events: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="samples"):
        upper_bound(*events)
    with pytest.raises(ValueError, match="samples"):
        clopper_pearson(*events)


@pytest.mark.parametrize("probability", [0, 1, -1])
def test_samples_for_an_impossible_probability_are_refused(probability: float) -> None:
    with pytest.raises(ValueError, match="probability"):
        samples_for(probability)


@given(RAW, st.integers(-5, 10**7), st.integers(1, 10**7))
def test_the_true_number_of_misses_is_never_left_out(
    values: list[int], deadline: int, limit: int
) -> None:
    raw = np.array(values)
    missed = int((raw > deadline).sum())
    found = deadline_miss(histogram_of(raw, limit=limit), deadline)
    assert found.least <= missed <= found.most
    assert found.low <= missed / len(values) <= found.high


@given(st.lists(st.integers(0, 2047), min_size=1, max_size=100), st.integers(0, 2047))
def test_where_each_value_has_a_bucket_the_count_is_exact(values: list[int], deadline: int) -> None:
    found = deadline_miss(histogram_of(values), deadline)
    assert found.least == found.most == sum(value > deadline for value in values)


def test_a_deadline_past_the_range_leaves_the_overflow_open() -> None:
    found = deadline_miss(histogram_of([1, 2, 500, 600], limit=100), 550)
    assert (found.least, found.most) == (0, 2)
    assert found.low == 0.0


@pytest.mark.parametrize(("deadline", "fewest"), [(1, 3), (2, 2), (99, 2), (100, 2)])
def test_what_overflowed_is_above_every_deadline_within_the_range(
    deadline: int, fewest: int
) -> None:
    histogram = histogram_of([1, 2, 500, 600], limit=100)
    found = deadline_miss(histogram, deadline)
    if deadline <= 2:  # the last bucket in use
        assert (found.least, found.most) == (fewest, fewest)
        assert found.low == clopper_pearson(fewest, 4)[0] > 0
    else:
        assert (found.least, found.most) == (0, 2)
