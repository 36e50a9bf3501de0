from __future__ import annotations

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram
from hypothesis import given
from hypothesis import strategies as st

from hardstone.errors import InputError
from hardstone.model import Histogram
from hardstone.stats.histogram import bins_of, histogram_of
from hardstone.stats.identity import total_count
from hardstone.stats.layout import DEFAULT_LAYOUT, MAX_VALUE, edges_of, index_of

RAW = st.lists(st.integers(-5, MAX_VALUE) | st.integers(-5, 5000), max_size=200)


@pytest.mark.slow
@given(RAW, st.sampled_from([1, 7, 10, 20]))
def test_the_vectorised_form_agrees_with_the_closed_form(values: list[int], bits: int) -> None:
    expected: dict[int, int] = {}
    for value in values:
        if value >= 0:
            index = index_of(value, bits)
            expected[index] = expected.get(index, 0) + 1
    histogram = histogram_of(np.array(values, dtype=np.int64), layout=f"log-linear/{bits}")
    assert dict(histogram.buckets) == expected
    assert histogram.underflow == sum(value < 0 for value in values)
    assert total_count(histogram) == len(values)


@pytest.mark.slow
@given(RAW)
def test_bins_carry_the_edges_of_their_buckets(values: list[int]) -> None:
    histogram = histogram_of(np.array(values, dtype=np.int64))
    bins = bins_of(histogram)
    edges = [edges_of(index) for index, _ in histogram.buckets]
    assert list(zip(bins.lower.tolist(), bins.upper.tolist(), strict=True)) == edges
    assert bins.total == len(values)


def test_values_past_the_limit_overflow_and_are_counted() -> None:
    histogram = histogram_of([1, 10, 11, 12], limit=10)
    assert (histogram.overflow, total_count(histogram)) == (2, 4)


def test_empty_buckets_are_left_out_of_the_bins() -> None:
    bins = bins_of(Histogram(layout=DEFAULT_LAYOUT, buckets=[(3, 0), (5, 2)]))
    assert bins.lower.tolist() == [5]


def test_percentiles_agree_with_hdrhistogram_within_both_widths() -> None:
    values = np.random.default_rng(7).lognormal(9, 1.5, 20_000).astype(np.int64) + 1
    reference = HdrHistogram(1, 10**10, 3)
    for value in values.tolist():
        reference.record_value(value)
    bins = bins_of(histogram_of(values))
    for percentile in (50, 90, 99, 99.9):
        at = np.searchsorted(np.cumsum(bins.count), np.ceil(len(values) * percentile / 100))
        ours, theirs = int(bins.upper[at]), reference.get_value_at_percentile(percentile)
        assert abs(ours - theirs) <= 0.002 * theirs


@pytest.mark.parametrize(
    ("histogram", "problem"),
    [
        (Histogram(layout="x", buckets=[]), "layout"),
        (Histogram(layout=DEFAULT_LAYOUT, buckets=[(2, 1), (2, 1)]), "ascend"),
        (Histogram(layout=DEFAULT_LAYOUT, buckets=[(-1, 1)]), "ascend"),
        (Histogram(layout=DEFAULT_LAYOUT, buckets=[(1, -1)]), "negative"),
        (Histogram(layout=DEFAULT_LAYOUT, buckets=[], overflow=-1), "negative"),
        (Histogram(layout=DEFAULT_LAYOUT, buckets=[(10**12, 1)]), "past the last"),
        (Histogram(layout=DEFAULT_LAYOUT, buckets=[(1, 2**63)]), "63 bits"),
    ],
)
def test_an_unreadable_histogram_is_refused_by_name(histogram: Histogram, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        bins_of(histogram)


def test_bins_follow_a_histogram_that_grows() -> None:
    """Though they are kept for who asks again."""
    histogram = histogram_of([1, 2, 3])
    assert bins_of(histogram) is bins_of(histogram)
    histogram.buckets.append((9, 5))
    assert bins_of(histogram).total == 8
    histogram.buckets = [(4, 1)]
    assert bins_of(histogram).count.tolist() == [1]
    histogram.overflow = 7
    assert bins_of(histogram).total == 8


def test_nobody_writes_to_bins() -> None:
    with pytest.raises(ValueError, match="read-only"):
        bins_of(histogram_of([1, 2, 3])).count[0] = 5
