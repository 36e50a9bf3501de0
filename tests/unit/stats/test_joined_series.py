"""Two records joined are the record of both streams."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardstone.model import Series, Worst
from hardstone.stats.identity import series_problem
from hardstone.stats.joined_series import empty_like, joined_series
from tests.unit.stats import make

pytestmark = pytest.mark.slow

SECOND_NS = 1_000_000_000
WORST = 32
Value = tuple[int, int]  # at_ns, value

values = st.lists(
    st.tuples(st.integers(0, 20 * SECOND_NS), st.integers(0, 2**40)), max_size=80
).map(sorted)


def recorded(stream: list[Value], *, interval_ns: int = SECOND_NS, layout: str = "") -> Series:
    """The record that a recorder makes of a stream, value by value."""
    more = {"layout": layout} if layout else {}
    series = make.series([value for _, value in stream], **more)
    worst = [Worst(value_ns=v, at_ns=at, index=n) for n, (at, v) in enumerate(stream)]
    series.worst = sorted(worst, key=lambda one: (-one.value_ns, one.at_ns, one.index))[:WORST]
    length = stream[-1][0] // interval_ns + 1 if stream else 0
    for number in range(length):
        inside = [v for at, v in stream if at // interval_ns == number]
        series.maxima_per_s.append(max(inside, default=None))
    series.maxima_interval_ns = interval_ns
    return series


def later(stream: list[Value], shift_ns: int) -> list[Value]:
    return [(at + shift_ns, value) for at, value in stream]


def same(found: Series, expected: Series) -> None:
    for name in ("count", "min", "max", "histogram", "worst", "maxima_per_s"):
        assert getattr(found, name) == getattr(expected, name), name
    for name in ("mean", "stddev"):
        moment = getattr(expected, name)
        if moment is not None:
            moment = pytest.approx(moment, rel=1e-9, abs=1e-3)
        assert getattr(found, name) == moment, name
    assert found.maxima_interval_ns == expected.maxima_interval_ns
    assert series_problem(found) is None


@given(values, values, st.integers(21, 100))
def test_joined_records_are_the_record_of_both(
    first: list[Value], second: list[Value], shift_s: int
) -> None:
    shift_ns = shift_s * SECOND_NS
    found = joined_series(recorded(first), recorded(second), shift_ns)
    same(found, recorded([*first, *later(second, shift_ns)]))


@given(values, values, st.sampled_from([(1, 4), (4, 1), (2, 4)]), st.integers(6, 20))
def test_different_intervals_of_maxima_give_the_longer(
    first: list[Value], second: list[Value], seconds: tuple[int, int], shift: int
) -> None:
    longer_ns = max(seconds) * SECOND_NS
    one, other = (
        recorded(stream, interval_ns=span * SECOND_NS)
        for stream, span in zip((first, second), seconds, strict=True)
    )
    found = joined_series(one, other, shift * longer_ns)
    if first and second:
        whole = [*first, *later(second, shift * longer_ns)]
        same(found, recorded(whole, interval_ns=longer_ns))


@given(values, values, values)
def test_the_order_of_joining_changes_nothing(
    first: list[Value], second: list[Value], third: list[Value]
) -> None:
    one, two, three = recorded(first), recorded(second), recorded(third)
    shift_ns = 30 * SECOND_NS
    left = joined_series(joined_series(one, two, shift_ns), three, 2 * shift_ns)
    right = joined_series(one, joined_series(two, three, shift_ns), shift_ns)
    same(left, right)


def test_a_gap_is_null_and_maxima_move_by_half_an_interval_at_most() -> None:
    first = recorded([(0, 5), (SECOND_NS, 7)])
    second = recorded([(0, 9), (SECOND_NS, 3)])
    maxima = [
        joined_series(first, second, shift_ns).maxima_per_s
        for shift_ns in (round(4.4 * SECOND_NS), round(4.6 * SECOND_NS))
    ]
    assert maxima == [[5, 7, None, None, 9, 3], [5, 7, None, None, None, 9, 3]]


def test_a_gap_of_years_takes_no_memory() -> None:
    year_ns = 365 * 86_400 * SECOND_NS
    found = joined_series(recorded([(0, 5)]), recorded([(0, 9)]), 50 * year_ns)
    assert len(found.maxima_per_s) <= 1 << 20
    assert found.maxima_per_s[0] == 5 and found.maxima_per_s[-1] == 9
    assert series_problem(found) is None


@given(values, values)
def test_histograms_of_two_layouts_add_in_the_coarser(
    first: list[Value], second: list[Value]
) -> None:
    shift_ns = 30 * SECOND_NS
    one, other = recorded(first, layout="log-linear/7"), recorded(second)
    expected = recorded([*first, *later(second, shift_ns)], layout="log-linear/7")
    for found in (joined_series(one, other, shift_ns), joined_series(other, one, shift_ns)):
        assert found.histogram == expected.histogram
        assert all(a[0] < b[0] for a, b in pairwise(found.histogram.buckets))


@given(values)
def test_nothing_added_changes_nothing(stream: list[Value]) -> None:
    series = recorded(stream)
    same(joined_series(series, empty_like(series), 0), series)
    same(joined_series(empty_like(series), series, 0), series)


def test_what_ran_before_stays_with_its_value() -> None:
    first, second = make.series([100]), make.series([200])
    second.worst = [Worst(value_ns=200, at_ns=5, index=0, before="hog", before_thread=77)]
    (worst, *_) = joined_series(first, second, 1_000).worst
    assert (worst.at_ns, worst.before, worst.before_thread) == (1_005, "hog", 77)
