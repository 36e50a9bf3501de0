"""A histogram by rank, with and without arrays, says the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardstone.errors import InputError
from hardstone.model import Histogram
from hardstone.stats.histogram import bins_of
from hardstone.stats.quantiles import LADDER, quantile_of_bins
from hardstone.stats.ranked_counts import ranked_counts_of

BUCKETS = st.dictionaries(st.integers(0, 40_000), st.integers(0, 3), max_size=40)
OUTSIDE = st.integers(0, 20)


def made(counts: dict[int, int], underflow: int = 0, overflow: int = 0) -> Histogram:
    return Histogram(
        layout="log-linear/10",
        buckets=sorted(counts.items()),
        underflow=underflow,
        overflow=overflow,
    )


@pytest.mark.slow
@given(BUCKETS, OUTSIDE, OUTSIDE)
def test_each_rank_lies_in_the_bucket_of_the_bins(
    counts: dict[int, int], underflow: int, overflow: int
) -> None:
    histogram = made(counts, underflow, overflow)
    ranked, bins = ranked_counts_of(histogram), bins_of(histogram)
    assert (ranked.total, ranked.top) == (bins.total, bins.top)
    for inside in range(1, sum(counts.values()) + 1):
        assert ranked.edges_at(inside) == bins.edges_at(inside)


@pytest.mark.slow
@given(BUCKETS, OUTSIDE, OUTSIDE, st.sampled_from(LADDER) | st.floats(0.01, 0.99))
def test_quantiles_and_intervals_are_those_of_the_bins(
    counts: dict[int, int], underflow: int, overflow: int, q: float
) -> None:
    histogram = made(counts, underflow, overflow)
    found = quantile_of_bins(ranked_counts_of(histogram), q)
    assert found == quantile_of_bins(bins_of(histogram), q)


@pytest.mark.parametrize("ranks", [(1, 256, 257, 700), (700, 257, 256, 1), (512, 513)])
def test_buckets_are_added_up_as_far_as_they_are_needed(ranks: tuple[int, ...]) -> None:
    counts = {index: 0 if index % 257 == 256 else 1 for index in range(1000)}
    histogram = made(counts)
    ranked, bins = ranked_counts_of(histogram), bins_of(histogram)
    for rank in ranks:
        assert ranked.edges_at(rank) == bins.edges_at(rank)


def test_an_unreadable_histogram_has_no_ranks() -> None:
    with pytest.raises(InputError, match="unreadable histogram"):
        ranked_counts_of(Histogram(layout="log-linear/10", buckets=[(5, 1), (3, 1)]))


@pytest.mark.parametrize("counts", [{}, {3: 1, 4: 2}])
def test_a_rank_beyond_the_last_value_is_refused(counts: dict[int, int]) -> None:
    with pytest.raises(ValueError, match=f"rank 4: there are {sum(counts.values())}"):
        ranked_counts_of(made(counts)).edges_at(4)
