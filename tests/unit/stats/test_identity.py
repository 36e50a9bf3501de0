from __future__ import annotations

import weakref
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardstone.model import Histogram, Series, Window, Worst
from hardstone.stats.identity import (
    histogram_problem,
    pair_problem,
    series_problem,
    total_count,
    window_problem,
)
from tests.unit.stats import make


@pytest.mark.slow
@given(st.lists(st.integers(-5, 10**12), max_size=50), st.integers(1, 10**12))
def test_a_sound_series_breaks_nothing(values: list[int], limit: int) -> None:
    assert series_problem(make.series(values, limit=limit)) is None


def test_a_single_value_may_have_a_deviation_of_none_or_nothing() -> None:
    single = make.series([5])
    assert single.stddev is None and series_problem(single) is None
    single.stddev = 0.0
    assert series_problem(single) is None


def _with(field: str, value: object) -> Callable[[Series], None]:
    return lambda series: setattr(series, field, value)


def _with_maxima(maxima: list[int | None], interval_ns: int) -> Callable[[Series], None]:
    def damage(series: Series) -> None:
        series.maxima_per_s, series.maxima_interval_ns = maxima, interval_ns

    return damage


def _with_histogram(field: str, value: object) -> Callable[[Series], None]:
    return lambda series: setattr(series.histogram, field, value)


def _worst(value: int) -> Worst:
    return Worst(value_ns=value, at_ns=0, index=0)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (_with("count", 4), "holds 3 values but the count is 4"),
        (_with("min", None), "minimum, mean and maximum"),
        (_with("mean", None), "minimum, mean and maximum"),
        (_with("stddev", None), "deviation"),
        (_with("min", 9), "above the maximum"),
        (_with("mean", 300.0), "the mean 300 is not between"),
        (_with("mean", 0.9), "the mean 0.9 is not between"),
        (_with("mean", float("nan")), "the mean nan is not between"),
        (_with("stddev", -5.0), "the deviation -5 is below 0"),
        (_with("min", 0), "the minimum 0 is not in the first bucket, 1 to 1"),
        (_with("max", 3000), "the maximum 3000 is not in the last bucket, 3 to 3"),
        (_with("worst", [_worst(2)]), "the worst value is 2 but the maximum is 3"),
        (_with("worst", [_worst(2), _worst(3)]), "do not descend"),
        (_with("maxima_per_s", [2, None, 4]), "the largest of the maxima is 4"),
        (_with("maxima_per_s", [2, None, 1]), "the largest of the maxima is 2"),
        (_with("max", 2**63), "64 bits"),
        (_with("maxima_per_s", [None, -(2**63)]), "64 bits"),
        (_with("worst", [Worst(value_ns=1, at_ns=2**70, index=0)]), "64 bits"),
        (_with("maxima_interval_ns", 0), "not a time"),
        (_with_maxima([1, None, 3], 1 << 62), "not a time"),
        (_with_histogram("underflow", 1), "holds 4 values"),
        (_with_histogram("overflow", -3), "negative"),
        (_with_histogram("layout", "log-linear/99"), "not known"),
    ],
)
def test_each_broken_identity_is_named(damage: Callable[[Series], None], said: str) -> None:
    series = make.series([1, 2, 3])
    damage(series)
    problem = series_problem(series)
    assert problem is not None and said in problem


@pytest.mark.parametrize(
    ("values", "limit", "field", "value", "said"),
    [
        ([-3, 5], 100, "min", 1, "the minimum is 1 but 1 values are below 0"),
        ([3, 5], 100, "min", -1, "the minimum is -1 but 0 values are below 0"),
        ([3, 5000], 100, "max", 3, "overflowed, but the maximum 3 is in a bucket"),
        ([-3, -2], 100, "max", 7, "the maximum 7 is in no bucket"),
        ([3_000_001], 10**9, "min", 2_900_000, "not in the first bucket"),
    ],
)
def test_extremes_outside_of_the_buckets(
    values: list[int], limit: int, field: str, value: int, said: str
) -> None:
    series = make.series(values, limit=limit)
    assert series_problem(series) is None
    setattr(series, field, value)
    assert series.min is not None and series.max is not None
    series.mean = float(series.max if field == "max" else series.min)
    problem = series_problem(series)
    assert problem is not None and said in problem


@pytest.mark.parametrize(
    ("field", "value"),
    [("median", 17), ("p99", 19), ("max", 24), ("mean", 1e6), ("mean", 17.9), ("count", -1)],
)
def test_a_pair_of_stamps_that_contradicts_itself(field: str, value: float) -> None:
    pair = make.instrument().pair
    assert pair_problem(pair) is None
    setattr(pair, field, value)
    assert pair_problem(pair) is not None


@pytest.mark.parametrize(
    ("field", "value", "total"),
    [
        ("buckets", [(5, 1), (4, 2)], 3),
        ("overflow", -1, 2),
        ("underflow", -1, 2),
        ("layout", "log-linear/99", 3),
    ],
)
def test_a_histogram_that_was_changed_is_looked_at_again(
    field: str, value: object, total: int
) -> None:
    one = Histogram(layout="log-linear/7", buckets=[(4, 1), (5, 2)])
    assert histogram_problem(one) is None and total_count(one) == 3
    setattr(one, field, value)
    assert histogram_problem(one) and total_count(one) == total


def test_a_bucket_more_in_the_same_list_is_seen() -> None:
    one = Histogram(layout="log-linear/7", buckets=[(4, 1)])
    assert histogram_problem(one) is None
    one.buckets.append((3, 1))
    assert histogram_problem(one) and total_count(one) == 2


class _Buckets(list[tuple[int, int]]):
    """A list that can be watched."""


def test_what_was_found_in_a_histogram_goes_with_it() -> None:
    buckets = _Buckets([(4, 1)])
    one = Histogram(layout="log-linear/7", buckets=buckets)
    held = weakref.ref(buckets)
    assert histogram_problem(one) is None
    del one, buckets
    assert held() is None


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(-2, 9), st.integers(-1, 9)), max_size=6), st.integers(-5, 60))
def test_gaps_that_overlap_or_go_back_are_told(gaps: list[tuple[int, int]], end_ns: int) -> None:
    at_ns = past_ns = 0
    is_sound = end_ns >= 0
    for distance_ns, length_ns in gaps:
        at_ns += distance_ns
        is_sound &= at_ns >= past_ns and length_ns >= 0
        past_ns = at_ns + length_ns
    window = Window(
        begin_ns=0,
        end_ns=end_ns,
        distance_ns=[distance for distance, _ in gaps],
        length_ns=[length for _, length in gaps],
    )
    assert (window_problem(window) is None) == (is_sound and past_ns <= end_ns)
