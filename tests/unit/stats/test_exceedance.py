from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats

from hardstone.model import Histogram
from hardstone.stats.exceedance import exceedance, upper_bound
from hardstone.stats.histogram import histogram_of
from hardstone.stats.layout import DEFAULT_LAYOUT, edges_of, index_of

RAW = st.lists(st.integers(-3, 10**7), min_size=1, max_size=300)
EVENTS = st.tuples(st.integers(0, 50), st.integers(50, 10**9))


@pytest.mark.slow
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


@pytest.mark.slow
@given(st.integers(1, 10**12))
def test_the_bound_for_the_unseen_is_the_closed_form(total: int) -> None:
    bound = upper_bound(0, total)
    assert (1 - bound) ** total == pytest.approx(0.05, rel=1e-3)
    assert bound <= 3 / total


@pytest.mark.slow
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


@pytest.mark.parametrize("events", [(-1, 5), (6, 5)])
def test_impossible_counts_are_refused(events: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="samples"):
        upper_bound(*events)
