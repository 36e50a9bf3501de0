"""Series of several CPUs as one: what is exact of each is exact of all."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardstone.model import Series, Worst
from hardstone.stats.identity import series_problem
from hardstone.stats.merged import merged
from tests.unit.stats import make

VALUES = st.lists(st.integers(-5, 10**6), max_size=40)


def of_cpu(values: list[int], cpu: int, layout: str = "log-linear/7") -> Series:
    found = make.series(values, layout=layout, limit=500_000)
    found.labels = {"part": "total", "cpu": cpu}
    largest = sorted(values, reverse=True)[:8]
    found.worst = [Worst(value_ns=one, at_ns=0, index=0) for one in largest]
    return found


@pytest.mark.slow
@given(VALUES, VALUES, VALUES)
def test_it_is_the_series_of_all_values(one: list[int], other: list[int], third: list[int]) -> None:
    found = merged([of_cpu(one, 0), of_cpu(other, 1), of_cpu(third, 2)])
    values = one + other + third
    if not values:
        assert found is None
        return
    assert found is not None
    whole = of_cpu(values, 0)
    assert (found.count, found.min, found.max) == (whole.count, whole.min, whole.max)
    assert found.histogram == whole.histogram
    assert found.mean == pytest.approx(whole.mean, rel=1e-9, abs=1e-9)
    assert (found.stddev is None) == (whole.stddev is None)
    assert (found.stddev or 0.0) == pytest.approx(whole.stddev or 0.0, rel=1e-6, abs=1e-4)
    worst = [one.value_ns for one in found.worst]
    assert worst == sorted(values, reverse=True)[: len(worst)]
    assert series_problem(found) is None


def test_only_equal_layouts_are_joined() -> None:
    assert merged([of_cpu([5, 6], 0), of_cpu([7], 1, "log-linear/10")]) is None
    assert merged([of_cpu([5, 6], 0), of_cpu([7], 1)]) is not None


def test_labels_that_differ_are_left_out() -> None:
    found = merged([of_cpu([5, 6], 0), of_cpu([7], 1)])
    assert found is not None and found.labels == {"part": "total"}
