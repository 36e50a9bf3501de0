"""Counts above a limit: exact where something decides it, else between two counts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardstone.model import Series, Worst
from hardstone.stats.above import Above, above, above_all
from tests.unit.stats import make

VALUES = st.lists(st.integers(0, 50_000), min_size=1, max_size=60)


def series(values: list[int], kept: int = 0, limit: int = 2**40) -> Series:
    found = make.series(values, layout="log-linear/3", limit=limit)
    largest = sorted(values, reverse=True)[:kept]
    found.worst = [Worst(value_ns=one, at_ns=0, index=0) for one in largest]
    return found


@pytest.mark.slow
@given(VALUES, st.integers(0, 60), st.integers(0, 60_000), st.sampled_from([2**40, 9_000]))
def test_the_count_lies_between(values: list[int], kept: int, limit: int, range_ns: int) -> None:
    found = above(series(values, kept, range_ns), limit)
    assert found.low <= sum(value > limit for value in values) <= found.high


@pytest.mark.slow
@given(VALUES, VALUES, st.integers(0, 60_000))
def test_of_several_it_lies_between_too(one: list[int], other: list[int], limit: int) -> None:
    found = above_all([series(one, 4), series(other, 4)], limit)
    assert found.low <= sum(value > limit for value in one + other) <= found.high


def test_a_limit_in_a_bucket_is_open() -> None:
    values = [1000, 1030, 1090, 5000]  # the first three share the bucket of 1024 but for one
    assert above(series(values), 1050) == Above(1050, 1, 3)


def test_the_list_of_the_worst_decides() -> None:
    assert above(series([1000, 1030, 1090, 5000], 3), 1050) == Above(1050, 2, 2)
    assert above(series([1000, 1030, 1090, 5000], 2), 1050) == Above(1050, 2, 3)


def test_a_list_that_lacks_values_takes_none_away() -> None:
    """The histogram shows at least as many."""
    found = series([1000] + [5000] * 500)
    found.worst = [Worst(value_ns=one, at_ns=0, index=0) for one in (5000, 1000)]
    assert above(found, 2000) == Above(2000, 500, 500)
    found.worst = [Worst(value_ns=5000, at_ns=0, index=0)] * 600
    assert above(found, 2000) == Above(2000, 500, 500)


def test_edges_and_extremes_are_exact() -> None:
    values = [1000, 1030, 1090, 5000]
    assert [above(series(values), limit).is_exact for limit in (999, 1023, 1151, 5000)] == [
        True
    ] * 4
    assert above(series(values), 999).low == 4
    assert above(series(values), 5000).high == 0


def test_what_overflowed_is_above_every_bucket() -> None:
    values = [1000, 2000, 900_000, 950_000]
    assert above(series(values, limit=4000), 1500) == Above(1500, 3, 3)
    assert above(series(values, limit=4000), 920_000) == Above(920_000, 1, 2)
    assert above(series([9216, 9217], limit=9000), 9216) == Above(9216, 1, 2)
    assert above(make.series([]), 5) == Above(5, 0, 0)


def test_a_large_count_is_counted() -> None:
    values = np.full(100_000, 70_000).tolist()
    assert above(series(values), 1000) == Above(1000, 100_000, 100_000)
