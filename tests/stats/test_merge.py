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
