"""Values as they are kept: buckets, histograms, what contradicts itself, several series as one."""

from __future__ import annotations

import weakref

import msgspec
import numpy as np
import pytest
from hdrh.histogram import HdrHistogram
from hypothesis import given, settings
from hypothesis import strategies as st

from hardstone.errors import InputError
from hardstone.model import Histogram, Series, Window, Worst
from hardstone.stats.histogram import bins_of, histogram_of
from hardstone.stats.identity import (
    DEFAULT_LAYOUT,
    MAX_VALUE,
    LogLinear,
    edges_of,
    histogram_problem,
    index_of,
    pair_problem,
    parse_layout,
    ranked_counts_of,
    series_problem,
    total_count,
    window_problem,
    windows_problem,
)
from hardstone.stats.join import merged
from hardstone.stats.quantiles import LADDER, quantile_of_bins
from tests.unit.stats import make

# ---- buckets ----

VALUES = st.integers(0, MAX_VALUE) | st.integers(0, 1 << 14)


@pytest.mark.slow
@given(VALUES, st.integers(1, 20))
def test_a_value_lies_in_its_narrow_bucket_and_the_next_follows(value: int, bits: int) -> None:
    index = index_of(value, LogLinear(bits))
    low, high = edges_of(index, LogLinear(bits))
    assert low <= value <= high
    assert (high - low) * 2**bits <= low
    assert edges_of(index + 1, LogLinear(bits))[0] == high + 1


@pytest.mark.parametrize(
    ("value", "index"),
    [(0, 0), (1023, 1023), (1024, 1024), (2047, 2047), (2048, 2048), (2049, 2048), (4096, 3072)],
)
def test_indices_are_those_of_the_closed_form(value: int, index: int) -> None:
    assert index_of(value) == index


def test_buckets_end_at_0_and_at_the_largest_value() -> None:
    assert edges_of(index_of(MAX_VALUE))[1] == MAX_VALUE
    for value in (-1, MAX_VALUE + 1):
        with pytest.raises(ValueError, match="has no bucket"):
            index_of(value)
    with pytest.raises(ValueError, match="not the index"):
        edges_of(-1)


@pytest.mark.parametrize(
    "layout",
    ["", "linear/10", "log-linear/", "log-linear/0", "log-linear/21", "log-linear/-1",
     "log-linear/1e1", "log-linear/\N{SUPERSCRIPT TWO}", "log-linear/" + "9" * 5000],
)  # fmt: skip
def test_an_unknown_layout_is_refused_with_a_remedy(layout: str) -> None:
    assert parse_layout("log-linear/7") == LogLinear(7)
    with pytest.raises(InputError) as caught:
        parse_layout(layout)
    assert "upgrade" in caught.value.remedy
    assert len(caught.value.cause) < 100


# ---- histograms ----

RAW = st.lists(st.integers(-5, MAX_VALUE) | st.integers(-5, 5000), max_size=200)


@pytest.mark.slow
@given(RAW, st.sampled_from([1, 7, 10, 20]))
def test_arrays_agree_with_the_closed_form(values: list[int], bits: int) -> None:
    expected: dict[int, int] = {}
    for index in (index_of(value, LogLinear(bits)) for value in values if value >= 0):
        expected[index] = expected.get(index, 0) + 1
    histogram = histogram_of(np.array(values, dtype=np.int64), layout=f"log-linear/{bits}")
    assert dict(histogram.buckets) == expected
    assert histogram.underflow == sum(value < 0 for value in values)
    bins = bins_of(histogram)
    edges = [edges_of(index, LogLinear(bits)) for index, _ in histogram.buckets]
    assert list(zip(bins.lower.tolist(), bins.upper.tolist(), strict=True)) == edges
    assert bins.total == total_count(histogram) == len(values)


def test_values_past_the_limit_overflow_and_are_counted() -> None:
    histogram = histogram_of([1, 10, 11, 12], limit=10)
    assert (histogram.overflow, total_count(histogram)) == (2, 4)


def test_empty_buckets_are_left_out_of_the_bins() -> None:
    bins = bins_of(Histogram(layout=DEFAULT_LAYOUT, buckets=[(3, 0), (5, 2)]))
    assert bins.lower.tolist() == [5]


def test_percentiles_agree_with_hdrhistogram_within_both_widths() -> None:
    values = np.random.default_rng(7).lognormal(9, 1.5, 5_000).astype(np.int64) + 1
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
    for read in (bins_of, ranked_counts_of):
        with pytest.raises(InputError, match=f"unreadable histogram.*{problem}"):
            read(histogram)


def test_bins_follow_a_histogram_that_grows_and_cannot_be_written() -> None:
    """Though they are kept for who asks again."""
    histogram = histogram_of([1, 2, 3])
    assert bins_of(histogram) is bins_of(histogram)
    histogram.buckets.append((9, 5))
    assert bins_of(histogram).total == 8
    histogram.buckets = [(4, 1)]
    assert bins_of(histogram).count.tolist() == [1]
    histogram.overflow = 7
    assert bins_of(histogram).total == 8
    with pytest.raises(ValueError, match="read-only"):
        bins_of(histogram).count[0] = 5


# ---- by rank, without arrays ----

BUCKETS = st.dictionaries(st.integers(0, 40_000), st.integers(0, 3), max_size=40)
OUTSIDE = st.integers(0, 20)


def counted(counts: dict[int, int], underflow: int = 0, overflow: int = 0) -> Histogram:
    buckets = sorted(counts.items())
    return Histogram(layout=DEFAULT_LAYOUT, buckets=buckets, underflow=underflow, overflow=overflow)


@pytest.mark.slow
@given(BUCKETS, OUTSIDE, OUTSIDE, st.sampled_from(LADDER) | st.floats(0.01, 0.99))
def test_ranks_and_quantiles_are_those_of_the_bins(
    counts: dict[int, int], underflow: int, overflow: int, q: float
) -> None:
    histogram = counted(counts, underflow, overflow)
    ranked, bins = ranked_counts_of(histogram), bins_of(histogram)
    assert (ranked.total, ranked.top) == (bins.total, bins.top)
    for inside in range(1, sum(counts.values()) + 1):
        assert ranked.edges_at(inside) == bins.edges_at(inside)
    assert quantile_of_bins(ranked_counts_of(histogram), q) == quantile_of_bins(bins, q)


@pytest.mark.parametrize("ranks", [(1, 256, 257, 700), (700, 257, 256, 1), (512, 513)])
def test_buckets_are_added_up_as_far_as_they_are_needed(ranks: tuple[int, ...]) -> None:
    histogram = counted({index: 0 if index % 257 == 256 else 1 for index in range(1000)})
    ranked, bins = ranked_counts_of(histogram), bins_of(histogram)
    assert [ranked.edges_at(rank) for rank in ranks] == [bins.edges_at(rank) for rank in ranks]


@pytest.mark.parametrize("counts", [{}, {3: 1, 4: 2}])
def test_a_rank_beyond_the_last_value_is_refused(counts: dict[int, int]) -> None:
    with pytest.raises(ValueError, match=f"rank 4: there are only {sum(counts.values())}"):
        ranked_counts_of(counted(counts)).edges_at(4)


# ---- what contradicts itself ----


@pytest.mark.slow
@given(st.lists(st.integers(-5, 10**12), max_size=50), st.integers(1, 10**12))
def test_a_sound_series_breaks_nothing(values: list[int], limit: int) -> None:
    assert series_problem(make.series(values, limit=limit)) is None


def test_a_single_value_may_have_a_deviation_of_none_or_nothing() -> None:
    single = make.series([5])
    assert single.stddev is None and series_problem(single) is None
    single.stddev = 0.0
    assert series_problem(single) is None


def _worst(value: int, at_ns: int = 0) -> Worst:
    return Worst(value_ns=value, at_ns=at_ns, index=0)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"count": 4}, "holds 3 values but the count is 4"),
        ({"min": None}, "minimum, mean and maximum"),
        ({"mean": None}, "minimum, mean and maximum"),
        ({"stddev": None}, "deviation"),
        ({"min": 9}, "above the maximum"),
        ({"mean": 300.0}, "the mean 300 is not between"),
        ({"mean": 0.9}, "the mean 0.9 is not between"),
        ({"mean": float("nan")}, "the mean nan is not between"),
        ({"stddev": -5.0}, "the deviation -5 is below 0"),
        ({"stddev": 0.0}, "the deviation is 0, but the values are "),
        ({"min": 0}, "the minimum 0 is not in the first bucket, 1 to 1"),
        ({"max": 3000}, "the maximum 3000 is not in the last bucket, 3 to 3"),
        ({"worst": [_worst(2)]}, "the worst value is 2 but the maximum is 3"),
        ({"worst": [_worst(2), _worst(3)]}, "do not descend"),
        ({"maxima_per_s": [2, None, 4]}, "the largest of the maxima is 4"),
        ({"maxima_per_s": [2, None, 1]}, "the largest of the maxima is 2"),
        ({"max": 2**63}, "64 bits"),
        ({"maxima_per_s": [None, -(2**63)]}, "64 bits"),
        ({"worst": [_worst(1, at_ns=2**70)]}, "64 bits"),
        ({"maxima_interval_ns": 0}, "not a time"),
        ({"maxima_per_s": [1, None, 3], "maxima_interval_ns": 1 << 62}, "not a time"),
        ({"histogram.underflow": 1}, "holds 4 values"),
        ({"histogram.overflow": -3}, "negative"),
        ({"histogram.layout": "log-linear/99"}, "not known"),
    ],
)
def test_each_broken_identity_is_named(changed: dict[str, object], said: str) -> None:
    series = make.series([1, 2, 3])
    for name, value in changed.items():
        owner, _, field = name.rpartition(".")
        setattr(series.histogram if owner else series, field, value)
    assert said in series_problem(series)


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
    series.mean = float(series.max if field == "max" else series.min)
    assert said in series_problem(series)


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


class _Buckets(list[tuple[int, int]]):
    """A list that can be watched."""


def test_a_bucket_more_in_the_same_list_is_seen_and_what_was_found_goes_with_it() -> None:
    buckets = _Buckets([(4, 1)])
    one = Histogram(layout="log-linear/7", buckets=buckets)
    held = weakref.ref(buckets)
    assert histogram_problem(one) is None
    buckets.append((3, 1))
    assert histogram_problem(one) and total_count(one) == 2
    del one, buckets
    assert held() is None


# The second gap begins where the first one ends, and the last one ends with the window.
SOUND = Window(begin_ns=100, end_ns=1_000, distance_ns=[50, 20, 780], length_ns=[20, 30, 50])


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"begin_ns": -1}, "is impossible"),
        ({"end_ns": 99}, "is impossible"),
        ({"end_ns": 2**62}, "is impossible"),
        ({"distance_ns": [50]}, "1 distances of 3 gaps"),
        ({"distance_ns": [50, 19, 700]}, "before the previous one ended"),
        ({"distance_ns": [-1, 100, 700]}, "before the previous one ended"),
        ({"length_ns": [20, -1, 50]}, "before the previous one ended"),
        ({"length_ns": [20, 30, 51]}, "after its window"),
        ({"dropped_count": -1}, "negative"),
        ({"timer_interrupts_count": -1}, "negative"),
    ],
)
def test_an_impossible_window(changed: dict[str, object], words: str) -> None:
    assert window_problem(SOUND) is None
    assert words in window_problem(msgspec.structs.replace(SOUND, **changed))


def test_windows_in_their_order() -> None:
    later = msgspec.structs.replace(SOUND, begin_ns=900, end_ns=1_800)
    assert windows_problem([SOUND, later]).startswith("window 1")
    assert windows_problem([later]) is None


# ---- several as one ----


def of_cpu(values: list[int], cpu: int, layout: str = "log-linear/7") -> Series:
    found = make.series(values, layout=layout, limit=500_000)
    found.labels = {"part": "total", "cpu": cpu}
    found.worst = [_worst(one) for one in sorted(values, reverse=True)[:8]]
    return found


@pytest.mark.slow
@settings(max_examples=50)
@given(*[st.lists(st.integers(-5, 10**6), max_size=40)] * 3)
def test_it_is_the_series_of_all_values(one: list[int], other: list[int], third: list[int]) -> None:
    found = merged([of_cpu(one, 0), of_cpu(other, 1), of_cpu(third, 2)])
    values = one + other + third
    if not values:
        assert found is None
        return
    whole = of_cpu(values, 0)
    assert (found.count, found.min, found.max) == (whole.count, whole.min, whole.max)
    assert found.histogram == whole.histogram
    assert found.mean == pytest.approx(whole.mean, rel=1e-9, abs=1e-9)
    assert (found.stddev is None) == (whole.stddev is None)
    assert (found.stddev or 0.0) == pytest.approx(whole.stddev or 0.0, rel=1e-6, abs=1e-4)
    worst = [one.value_ns for one in found.worst]
    assert worst == sorted(values, reverse=True)[: len(worst)]
    assert series_problem(found) is None


def test_only_equal_layouts_are_joined_and_labels_that_differ_left_out() -> None:
    assert merged([of_cpu([5, 6], 0), of_cpu([7], 1, "log-linear/10")]) is None
    assert merged([of_cpu([5, 6], 0), of_cpu([7], 1)]).labels == {"part": "total"}
