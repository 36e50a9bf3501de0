from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardstone.errors import InputError
from hardstone.model import Series, Worst
from hardstone.stats.histogram import histogram_of
from hardstone.stats.merge import WORST_KEPT, merge_histograms, merge_series
from tests.stats import make

PARTS = st.lists(st.lists(st.integers(-3, 10**9), max_size=60), min_size=1, max_size=5)


@given(PARTS)
def test_merging_is_pooling(parts: list[list[int]]) -> None:
    pooled = np.array([value for part in parts for value in part], dtype=np.int64)
    merged = merge_series([make.series(part) for part in parts], {"part": "total"})
    whole = make.series(pooled.tolist())
    assert merged.histogram == whole.histogram
    assert (merged.count, merged.min, merged.max) == (whole.count, whole.min, whole.max)
    assert merged.mean == pytest.approx(whole.mean)
    if whole.stddev is None:
        assert merged.stddev is None
    else:
        assert merged.stddev == pytest.approx(whole.stddev, rel=1e-6, abs=1e-3)


def test_two_parts_by_hand() -> None:
    """1, 3 and 8 of the one, 4 of the other; an empty part changes nothing."""
    parts = [make.series([1, 3, 8]), make.series([4]), make.series([])]
    merged = merge_series(parts, {"part": "total"})
    assert (merged.count, merged.min, merged.max, merged.mean) == (4, 1, 8, 4.0)
    assert merged.stddev == pytest.approx((26 / 3) ** 0.5)
    assert merged.histogram.buckets == [(1, 1), (3, 1), (4, 1), (8, 1)]
    assert merged.labels == {"part": "total"}


def test_what_lies_outside_of_the_buckets_is_added_up() -> None:
    parts = [make.series([-1, 5, 900], limit=100), make.series([-2, -3, 800], limit=100)]
    merged = merge_series(parts, {}).histogram
    assert (merged.underflow, merged.overflow, merged.buckets) == (3, 2, [(5, 1)])


def test_unlike_layouts_are_refused() -> None:
    with pytest.raises(InputError, match="log-linear/10, log-linear/7"):
        merge_histograms([histogram_of([1]), histogram_of([1], layout="log-linear/7")])


def test_nothing_cannot_be_merged() -> None:
    with pytest.raises(InputError, match="none"):
        merge_histograms([])


def test_unlike_series_are_refused() -> None:
    with pytest.raises(InputError, match="unlike name"):
        merge_series([make.series([1]), make.series([1], "release")], {})


def _with_worst(values: list[int], maxima: list[int | None], interval_ns: int = 10**9) -> Series:
    part = make.series(values)
    part.worst = [Worst(value_ns=value, at_ns=at, index=at) for at, value in enumerate(values)]
    part.maxima_per_s, part.maxima_interval_ns = maxima, interval_ns
    return part


def test_the_worst_of_all_parts_are_kept_largest_first() -> None:
    parts = [_with_worst(list(range(30)), []), _with_worst(list(range(100, 130)), [])]
    worst = merge_series(parts, {}).worst
    assert len(worst) == WORST_KEPT
    assert [entry.value_ns for entry in worst[:2]] == [129, 128]


def test_maxima_are_taken_interval_by_interval() -> None:
    parts = [_with_worst([1], [5, None, 7]), _with_worst([2], [6, None])]
    assert merge_series(parts, {}).maxima_per_s == [6, None, 7]


def test_maxima_of_unlike_intervals_are_left_out() -> None:
    parts = [_with_worst([1], [5]), _with_worst([2], [6], interval_ns=2 * 10**9)]
    assert merge_series(parts, {}).maxima_per_s == []
