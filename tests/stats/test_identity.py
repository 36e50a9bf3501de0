from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardstone.model import Series, Worst
from hardstone.stats.identity import series_problem
from tests.stats import make


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


def _with_histogram(field: str, value: object) -> Callable[[Series], None]:
    return lambda series: setattr(series.histogram, field, value)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (_with("count", 4), "holds 3 values and the count says 4"),
        (_with("min", None), "minimum, mean and maximum"),
        (_with("mean", None), "minimum, mean and maximum"),
        (_with("stddev", None), "deviation"),
        (_with("min", 9), "above the maximum"),
        (_with("max", 2**63), "64 bits"),
        (_with("maxima_per_s", [None, -(2**63)]), "64 bits"),
        (_with("worst", [Worst(value_ns=1, at_ns=2**70, index=0)]), "64 bits"),
        (_with("maxima_interval_ns", 0), "not a time"),
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
