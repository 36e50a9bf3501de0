"""Quantiles, bounds, shares and counts above a limit, of independent and of dependent values."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from itertools import accumulate

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats

from hardstone.model import Histogram, Series, Worst
from hardstone.simulation.analysis import miss_bound
from hardstone.stats.histogram import Above, above, above_all, histogram_of
from hardstone.stats.identity import DEFAULT_LAYOUT, edges_of, index_of
from hardstone.stats.quantiles import (
    DEEPEST_BY_PROFILE,
    LADDER,
    exceedance,
    instrument_limit,
    is_printable,
    lacking,
    median_of,
    misses_of,
    nearest_rank,
    printable_quantiles,
    quantile,
    rank_interval,
    share_high,
    share_low,
    summarise,
    upper_bound,
    values_for,
    values_to_bound,
)
from hardstone.stats.resampling import block_bootstrap, interval_of_runs, runs_depend
from hardstone.stats.two_runs import (
    AS_ONE,
    DEPENDENCE,
    mean_estimate,
    quantile_estimate,
    share_estimate,
    supports,
    values_for_share,
    values_needed,
    worth_of,
)
from tests.unit.stats import make

EMPTY = Histogram(layout=DEFAULT_LAYOUT, buckets=[])
COUNTS = st.integers(1, 3000) | st.integers(1, 2**31 - 1)
LEVELS = st.sampled_from(LADDER) | st.floats(0.01, 0.99)
CONFIDENCES = st.sampled_from([0.5, 0.9, 0.95, 0.99])


@pytest.mark.slow
@settings(max_examples=50)
@given(COUNTS, LEVELS, CONFIDENCES)
def test_ranks_cover_the_quantile_with_the_exact_binomial_probability(
    count: int, q: float, confidence: float
) -> None:
    first, last = rank_interval(count, q, confidence)
    covered = stats.binom.cdf(last - 1, count, q) - stats.binom.cdf(first - 1, count, q)
    assert covered >= confidence - 1e-7
    tail = (1 - confidence) / 2
    assert stats.binom.cdf(first, count, q) >= tail - 1e-7, "one rank higher would do"
    assert stats.binom.cdf(last - 2, count, q) <= 1 - tail + 1e-7, "one rank lower would do"
    assert abs(first - stats.binom.ppf(tail, count, q)) <= 1
    assert abs(last - 1 - stats.binom.ppf(1 - tail, count, q)) <= 1


@pytest.mark.parametrize("q", [*LADDER, 0.05, 1 / 3])
@pytest.mark.parametrize("tail", [0.025, 0.0125, 0.25])
def test_ranks_of_few_values_are_those_of_the_binomial_distribution(q: float, tail: float) -> None:
    counts = [*range(1, 30), 99, 100, 1000, 7930, 65_537, 10**6, 22_269_952, 10**8, 10**8 + 1]
    for count in counts:
        first, last = rank_interval(count, q, 1 - 2 * tail)
        assert first == stats.binom.ppf(tail, count, q), count
        assert last - 1 == stats.binom.ppf(1 - tail, count, q), count


def test_ranks_of_few_values_load_no_scipy() -> None:
    code = (
        "import sys\nfrom hardstone.stats.quantiles import rank_interval, upper_bound\n"
        "rank_interval(7930, 0.5), upper_bound(0, 7930)\n"
        "sys.exit(', '.join({'scipy', 'numpy'} & sys.modules.keys()) or 0)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], check=False, capture_output=True, text=True
    )
    assert not ended.returncode, ended.stderr


def test_ranks_far_beyond_32_bits_follow_the_normal_law() -> None:
    count, q = 10**12, 0.999
    first, last = rank_interval(count, q)
    half_width = 1.959964 * (count * q * (1 - q)) ** 0.5
    assert (last - first) / 2 == pytest.approx(half_width, rel=1e-3)


@pytest.mark.slow
@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=400), LEVELS)
def test_the_quantile_is_numpys_and_the_interval_holds_the_order_statistics(
    values: list[int], q: float
) -> None:
    found = quantile(histogram_of(values), q)
    ranked = sorted(values)
    at_rank = ranked[nearest_rank(len(values), q) - 1]
    assert at_rank == np.quantile(values, q, method="inverted_cdf")
    assert at_rank <= found.value <= at_rank * (1 + 2**-10)
    first, last = rank_interval(len(values), q)
    assert found.low is None if first == 0 else found.low <= ranked[first - 1]
    assert found.high is None if last > len(values) else found.high >= ranked[last - 1]


@pytest.mark.parametrize(
    ("histogram", "q", "value", "below", "above_", "low", "high"),
    [
        (histogram_of([*range(50), *[10**6] * 50], limit=100), 0.9, None, None, 49, 49, None),
        (histogram_of([*range(95), *[10**6] * 5], limit=100), 0.9, 89, None, None, 83, None),
        (histogram_of([*[-1] * 90, *range(10)]), 0.5, None, 0, None, None, 0),
        (Histogram(layout=DEFAULT_LAYOUT, buckets=[], overflow=1000), 0.5, None, None, 0, 0, None),
    ],
    ids=["overflowed", "below the overflow", "negative", "all overflowed"],
)
def test_a_quantile_outside_of_the_buckets_is_never_a_number(
    histogram: Histogram,
    q: float,
    value: int | None,
    below: int | None,
    above_: int | None,
    low: int | None,
    high: int | None,
) -> None:
    found = quantile(histogram, q)
    ends = (found.value, found.below, found.above, found.low, found.high)
    assert ends == (value, below, above_, low, high)


def test_an_empty_histogram_has_no_quantile_and_is_never_exceeded() -> None:
    assert quantile(EMPTY, 0.5) is None
    assert exceedance(EMPTY) == []


@pytest.mark.parametrize(("q", "confidence"), [(0, 0.95), (1, 0.95), (0.5, 1), (float("nan"), 0.9)])
def test_a_level_outside_of_zero_and_one_is_refused(q: float, confidence: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        quantile(histogram_of([1]), q, confidence=confidence)


@pytest.mark.parametrize("q", LADDER)
def test_a_quantile_is_printed_from_ten_values_beyond_it(q: float) -> None:
    least = round(10 / (1 - q))
    assert is_printable(q, least)
    assert not is_printable(q, least - 1)
    assert values_for(q) == least


def test_a_figure_that_is_missing_says_how_many_values_it_needs() -> None:
    assert lacking(values_for(0.99), 999) == "needs 1\N{NO-BREAK SPACE}000 values, has 999"
    assert lacking(values_for(0.99), 1000) == ""
    assert values_for(0.99, share=0.5) == 2000


@pytest.mark.parametrize("share", [0.3, 0.1, 0.001, 1e-6])
def test_how_many_values_bound_a_share_above(share: float) -> None:
    least = values_to_bound(share)
    assert upper_bound(0, least) <= share < upper_bound(0, least - 1)


def test_the_ladder_stops_where_the_count_or_the_profile_does() -> None:
    assert printable_quantiles(19) == []
    assert printable_quantiles(1000) == [0.5, 0.9, 0.99]
    assert printable_quantiles(10**9) == list(LADDER)
    assert printable_quantiles(10**9, deepest=0.999) == [0.5, 0.9, 0.99, 0.999]


# ---- exceedance ----


@pytest.mark.slow
@given(st.lists(st.integers(-3, 10**7), min_size=1, max_size=300), st.integers(1, 10**7))
@example([9080, 9081], 9080)  # the limit lies inside a bucket
@example([9080, 9081, 9087, 9088, -1], 9084)
@example([3000], 3001)
def test_each_point_counts_exactly_what_lies_above_it(values: list[int], limit: int) -> None:
    raw = np.array(values)
    points = exceedance(histogram_of(raw, limit=limit))
    for point in points:
        assert point.count == int((raw > point.value).sum())
        assert point.probability == point.count / len(values)
    last_edge = edges_of(index_of(limit))[1]
    assert points[-1].count == int((raw > last_edge).sum())


@pytest.mark.slow
@given(st.just(0) | st.integers(0, 50), st.integers(50, 10**12))
def test_the_bound_is_the_closed_form_and_with_events_that_of_chi_square(
    seen: int, total: int
) -> None:
    bound = upper_bound(seen, total)
    if seen == 0:
        assert (1 - bound) ** total == pytest.approx(0.05, rel=1e-3)
        assert bound <= 3 / total
    else:
        expected = float(stats.chi2.ppf(0.95, 2 * (seen + 1)) / (2 * total))
        assert bound == pytest.approx(min(1, expected), rel=1e-9)


def test_no_sample_bounds_nothing_and_impossible_counts_are_refused() -> None:
    assert upper_bound(0, 0) == upper_bound(3, 3) == 1.0
    for events, total in ((-1, 5), (6, 5)):
        with pytest.raises(ValueError, match="samples"):
            upper_bound(events, total)


# ---- above a limit ----

VALUES = st.lists(st.integers(0, 50_000), min_size=1, max_size=60)
FOUR = [1000, 1030, 1090, 5000]  # the first three share the bucket of 1024 but for one


def listing(values: list[int], kept: int = 0, limit: int = 2**40) -> Series:
    """With its largest `kept` values."""
    found = make.series(values, layout="log-linear/3", limit=limit)
    largest = sorted(values, reverse=True)[:kept]
    found.worst = [Worst(value_ns=one, at_ns=0, index=0) for one in largest]
    return found


@pytest.mark.slow
@given(VALUES, VALUES, st.integers(0, 60), st.integers(0, 60_000), st.sampled_from([2**40, 9_000]))
def test_the_count_lies_between(
    one: list[int], other: list[int], kept: int, limit: int, range_ns: int
) -> None:
    found = above(listing(one, kept, range_ns), limit)
    assert found.low <= sum(value > limit for value in one) <= found.high
    found = above_all([listing(one, kept, range_ns), listing(other, 4)], limit)
    assert found.low <= sum(value > limit for value in one + other) <= found.high


@pytest.mark.parametrize(
    ("series", "limit", "low", "high"),
    [
        (listing(FOUR), 1050, 1, 3),
        (listing(FOUR, 3), 1050, 2, 2),
        (listing(FOUR, 2), 1050, 2, 3),
        (listing(FOUR), 999, 4, 4),
        (listing(FOUR), 1023, 3, 3),
        (listing(FOUR), 1151, 1, 1),
        (listing(FOUR), 5000, 0, 0),
        (listing([1000, 2000, 900_000, 950_000], limit=4000), 1500, 3, 3),
        (listing([1000, 2000, 900_000, 950_000], limit=4000), 920_000, 1, 2),
        (listing([9216, 9217], limit=9000), 9216, 1, 1),
        (listing([70_000] * 100_000), 1000, 100_000, 100_000),
        (make.series([]), 5, 0, 0),
    ],
)
def test_what_is_above_a_limit(series: Series, limit: int, low: int, high: int) -> None:
    """Within a bucket the list of the largest values decides; what overflowed is above all."""
    found = above(series, limit)
    assert found == Above(limit, low, high)
    assert found.is_exact == (low == high)


@pytest.mark.parametrize("worst", [(5000, 1000), (5000,) * 600])
def test_a_list_that_lacks_values_takes_none_away(worst: tuple[int, ...]) -> None:
    """The histogram shows at least as many."""
    found = listing([1000] + [5000] * 500)
    found.worst = [Worst(value_ns=one, at_ns=0, index=0) for one in worst]
    assert above(found, 2000) == Above(2000, 500, 500)


# ---- share of misses ----


def miss_interval(count: int, total: int, confidence: float = 0.95) -> tuple[float, float]:
    """What `misses_of` finds where `count` of `total` values are above its deadline."""
    counts = {10: total - count, 5000: count}
    series = make.series([value for value in counts if counts[value]])
    buckets = zip(series.histogram.buckets, filter(None, counts.values()), strict=True)
    series.histogram.buckets = [(place, number) for (place, _), number in buckets]
    series.count = total
    found = misses_of(series, 100, confidence)
    assert (found.count, found.total) == (count, total)
    return found.low, found.high


@pytest.mark.slow
@settings(max_examples=30)
@given(st.integers(1, 5000), CONFIDENCES, st.data())
def test_the_interval_is_that_of_scipy(total: int, confidence: float, data: st.DataObject) -> None:
    count = data.draw(st.integers(0, total))
    low, high = miss_interval(count, total, confidence)
    wanted = stats.binomtest(count, total).proportion_ci(confidence, "exact")
    assert (low, high) == pytest.approx((wanted.low, wanted.high), rel=1e-9)
    assert low <= count / total <= high
    one_sided = stats.binomtest(count, total, alternative="less").proportion_ci(0.95, "exact")
    assert miss_bound(count, total) == pytest.approx(one_sided.high, rel=1e-9)


@pytest.mark.slow
@given(st.integers(1, 10**9))
def test_nothing_seen_has_the_closed_form(total: int) -> None:
    low, high = miss_interval(0, total)
    assert low == 0.0
    assert high == pytest.approx(-np.expm1(np.log(0.025) / total), rel=1e-6)
    assert miss_interval(total, total)[1] == 1.0
    assert miss_bound(0, total) == pytest.approx(1 - 0.05 ** (1 / total), rel=1e-6)


@pytest.mark.slow
@settings(max_examples=50)
@given(st.lists(st.integers(0, 10**6), min_size=40, max_size=100), st.integers(0, 10**6))
def test_a_bucket_that_the_deadline_cuts_leaves_the_count_open(
    values: list[int], deadline: int
) -> None:
    true = sum(value > deadline for value in values)
    found = misses_of(make.series(values), deadline)
    least = found.count if found.least_count is None else found.least_count
    assert least <= true <= found.count
    low, high = miss_interval(true, len(values))
    assert found.low <= low and high <= found.high


def test_an_exact_count_says_so() -> None:
    found = misses_of(make.series([10] * 90 + [30] * 10), 20)
    assert (found.count, found.total, found.least_count) == (10, 100, None)
    open_ended = misses_of(make.series([10] * 90 + [9085] * 10), 9084)
    assert (open_ended.least_count, open_ended.count) == (1, 10)


@pytest.mark.parametrize(("count", "total"), [(1, 0), (0, 0), (-1, 5), (6, 5)])
def test_counts_that_cannot_be_are_refused(count: int, total: int) -> None:
    for function in (share_low, share_high):
        with pytest.raises(ValueError, match="cannot be missed"):
            function(count, total, 0.9)
    with pytest.raises(ValueError, match="cannot be missed"):
        miss_bound(count, total)
    with pytest.raises(ValueError, match="cannot be missed"):
        misses_of(make.series([]), 5)


@pytest.mark.parametrize("confidence", [0.0, 1.0, float("nan")])
def test_a_confidence_that_is_none_is_refused(confidence: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        misses_of(make.series([10] * 5), 5, confidence)


# ---- dependent values ----


def test_the_mean_is_that_of_scipy_for_so_many_values() -> None:
    values = np.random.default_rng(3).integers(1000, 2000, AS_ONE * 400)
    found = mean_estimate(make.series(values))
    spread = values.std(ddof=1) / np.sqrt(400)
    low, high = stats.norm.interval(0.95, loc=values.mean(), scale=spread)
    assert (found.low, found.value, found.high) == pytest.approx((low, values.mean(), high))


def test_too_few_values_leave_the_estimate_open() -> None:
    assert mean_estimate(make.series([])) is None
    assert mean_estimate(make.series([5])) == (5, None, None)
    assert mean_estimate(make.series(range(2 * AS_ONE - 1)))[1:] == (None, None)
    assert share_estimate(0, 0, AS_ONE - 1) == (0, 0, 1)
    assert quantile_estimate(make.series([]), 0.5) is None


@pytest.mark.parametrize(("count", "total"), [(0, 1000), (3, 50), (500, 1000), (1000, 1000)])
def test_the_share_is_the_exact_interval_of_scipy(count: int, total: int) -> None:
    found = share_estimate(count * AS_ONE, count * AS_ONE, total * AS_ONE)
    exact = stats.binomtest(count, total).proportion_ci(0.95, method="exact")
    assert found == pytest.approx((count / total, exact.low, exact.high))


def test_a_single_value_above_counts_as_one_at_the_upper_end() -> None:
    found = share_estimate(1, 1, 100 * AS_ONE)
    wanted = stats.binomtest(1, 100).proportion_ci(0.95, "exact")
    assert (found.low, found.high) == (0.0, pytest.approx(wanted.high))


@pytest.mark.parametrize("share", [0.01, 1e-4])
def test_as_many_values_as_are_told_bound_a_share(share: float) -> None:
    needed = values_for_share(share)
    assert share_estimate(0, 0, needed).high <= share < share_estimate(0, 0, needed - AS_ONE).high


@pytest.mark.slow
@pytest.mark.parametrize("q", [0.01, 0.5, 0.99, 0.999])
def test_as_many_values_as_are_told_bound_a_quantile(q: float) -> None:
    needed = values_needed(q)
    assert supports(q, needed) and not supports(q, needed - AS_ONE)
    assert None not in quantile_estimate(make.series(np.arange(needed)), q)


def test_the_interval_of_a_quantile_is_wider_than_of_independent_values() -> None:
    count = 100_000
    found = quantile_estimate(make.series(np.arange(count)), 0.5)
    independent = 2 * 1.96 * np.sqrt(count) / 2
    assert (found.high - found.low) / independent == pytest.approx(DEPENDENCE, rel=0.05)
    assert worth_of(count) == count // AS_ONE


# ---- blocks and runs ----


def median(x: np.ndarray) -> float:
    return float(np.median(x))


@pytest.mark.slow
def test_blocks_of_one_are_the_plain_bootstrap() -> None:
    values = np.random.default_rng(1).exponential(10, 200)
    found = block_bootstrap(values, 1, np.mean, draws=6000)
    wanted = stats.bootstrap(
        (values,), np.mean, n_resamples=6000, method="percentile", rng=np.random.default_rng(2)
    ).confidence_interval
    assert found.estimate == values.mean()
    width = wanted.high - wanted.low
    assert (found.low, found.high) == pytest.approx((wanted.low, wanted.high), abs=0.05 * width)


def dependent(seed: int, count: int = 2000) -> np.ndarray:
    noise = np.random.default_rng(seed).normal(size=count + 500)
    return np.array([*accumulate(noise.tolist(), lambda y, x: 0.9 * y + x)])[500:]


def test_the_same_seed_gives_the_same_interval() -> None:
    one, two = (block_bootstrap(dependent(1), 50, median, draws=50) for _ in range(2))
    other = block_bootstrap(dependent(1), 50, median, draws=50, seed=1)
    assert one == two
    assert (one.low, one.high) != (other.low, other.high)
    assert one.how == "block bootstrap, 40 blocks of 50 values"


EXTREMES: list[Callable[[np.ndarray], float]] = [
    np.max,
    np.min,
    np.ptp,
    lambda x: float(np.sort(x)[-1]),
    lambda x: float(np.quantile(x, 1.0)),
    lambda x: float(np.quantile(x, 0.9999)),
    lambda x: float(np.mean(np.sort(x)[-5:])),
]


@pytest.mark.parametrize("statistic", EXTREMES)
def test_no_maximum_is_bootstrapped(statistic: Callable[[np.ndarray], float]) -> None:
    with pytest.raises(ValueError, match="a single extreme value"):
        block_bootstrap(dependent(1), 50, statistic)


@pytest.mark.parametrize("q", [0.01, 0.5, 0.9, 0.99])
def test_a_quantile_within_the_data_is_no_maximum(q: float) -> None:
    found = block_bootstrap(dependent(1), 50, lambda x: float(np.quantile(x, q)), draws=50)
    assert found.low <= found.high


@pytest.mark.parametrize(
    ("values", "length", "changed", "problem"),
    [
        (range(99), 10, {}, "fewer than 10 blocks"),
        (range(99), 0, {}, "fewer than 10 blocks"),
        ([], 1, {}, "fewer than 10 blocks"),
        ([*range(99), float("nan")], 10, {}, "finite"),
        (range(100), 10, {"confidence": 1.0}, "confidence"),
        (range(100), 10, {"draws": 0}, "draw"),
    ],
)
def test_what_cannot_be_bootstrapped_is_refused(
    values: list[float], length: int, changed: dict[str, float], problem: str
) -> None:
    with pytest.raises(ValueError, match=problem):
        block_bootstrap(list(values), length, np.mean, **changed)


@pytest.mark.slow
def test_blocks_are_neighbours_in_their_order() -> None:
    """Of independent values blocks of any length give the width of the mean: 2 x 1.96 s / sqrt(n).
    What follows from neighbours alone has to come out as it is."""
    values = np.random.default_rng(3).normal(0, 1, 4000)
    found = block_bootstrap(values, 20, np.mean, draws=1000)
    assert found.high - found.low == pytest.approx(2 * 1.96 / 4000**0.5, rel=0.15)
    steps = block_bootstrap(np.arange(2000) % 50, 50, lambda x: median(np.diff(x)), draws=100)
    assert (steps.low, steps.high) == (1, 1)


@pytest.mark.slow
@settings(max_examples=30)
@given(st.lists(st.floats(0, 1e6), min_size=10, max_size=40), st.sampled_from([0.8, 0.95]))
def test_runs_have_the_interval_of_scipy(values: list[float], confidence: float) -> None:
    found = interval_of_runs(values, confidence)
    wanted = stats.quantile_test(values, q=0, p=0.5).confidence_interval(confidence)
    assert found.low <= found.estimate <= found.high
    assert found.low == pytest.approx(wanted.low) and found.high == pytest.approx(wanted.high)


def test_ten_runs_are_the_least() -> None:
    assert interval_of_runs(list(range(9))) is interval_of_runs([]) is None
    assert interval_of_runs(list(range(10)), 0.9999) is None
    found = interval_of_runs(list(range(10)))
    assert (found.low, found.estimate, found.high) == (1, 4.5, 8)
    assert found.how == "median of 10 runs, order statistics"
    with pytest.raises(ValueError, match="finite"):
        interval_of_runs([float("inf")] * 10)


@pytest.mark.parametrize("count", [10, 20])
def test_independent_runs_are_found_to_depend_in_one_of_twenty_cases(count: int) -> None:
    draw = np.random.default_rng(3)
    found = sum(runs_depend(list(draw.exponential(1, count))) for _ in range(400))
    assert found <= 20 + 3 * (400 * 0.05 * 0.95) ** 0.5


def test_runs_that_drift_depend() -> None:
    draw = np.random.default_rng(4)
    drifting = [draw.normal(np.linspace(0, 4, 20)) for _ in range(100)]
    assert sum(runs_depend(list(values)) for values in drifting) > 60
    assert runs_depend(list(range(20))) and not runs_depend([1.0] * 20)
    assert not runs_depend([1.0, 2.0])


# ---- summary ----


def test_a_summary_repeats_the_exact_figures_and_bounds_the_rest() -> None:
    summary = summarise(make.series(range(1, 1001)))
    assert (summary.count, summary.min, summary.max) == (1000, 1, 1000)
    assert summary.mean == pytest.approx(500.5)
    assert [(one.q, one.value) for one in summary.quantiles] == [
        (0.5, 500),
        (0.9, 900),
        (0.99, 990),
    ]
    assert summary.p_exceed_bound == pytest.approx(0.003, rel=0.01)


def test_the_deepest_quantile_of_the_profile_is_kept() -> None:
    summary = summarise(make.series(np.arange(200_000)), deepest=DEEPEST_BY_PROFILE["quick"])
    assert [entry.q for entry in summary.quantiles] == [0.5, 0.9, 0.99, 0.999]


def test_no_quantile_passes_the_exact_maximum() -> None:
    series = make.series([1_000_001] * 1000)
    assert series.histogram.buckets[0][0] > 2048
    assert [entry.value for entry in summarise(series).quantiles] == [1_000_001] * 3
    assert summarise(series).quantiles[0].low == 1_000_001
    found = quantile_estimate(series, 0.5)
    assert found.value == found.high == 1_000_001


def test_an_empty_series_has_no_figures() -> None:
    summary = summarise(make.series([]))
    assert (summary.min, summary.max, summary.quantiles) == (None, None, [])
    assert summary.p_exceed_bound == 1.0


def test_overflow_is_carried_and_never_becomes_a_number() -> None:
    summary = summarise(make.series([1] * 50 + [10**6] * 50, limit=100))
    assert summary.overflow == 50
    assert (summary.quantiles[1].value, summary.quantiles[1].above) == (None, 1)


def test_the_median_exists_for_few_values_too() -> None:
    assert median_of(make.series([7])) == 7
    assert median_of(make.series([])) is None


@pytest.mark.parametrize(
    ("median", "said"),
    [(99, "at the instrument's limit"), (100, "within 10 times"), (199, "within 10"), (200, None)],
)
def test_values_near_the_cost_of_the_clock_are_marked(median: int, said: str | None) -> None:
    limit = instrument_limit(make.series([median] * 9), make.instrument(median=20))
    assert limit is None if said is None else said in limit


def test_what_is_no_duration_or_has_no_instrument_is_not_marked() -> None:
    counted, claimed = make.series([1]), make.series([1])
    assert instrument_limit(counted, make.instrument()) is not None
    counted.unit, claimed.derived = "count", "clock_getres"
    for series in (counted, claimed, make.series([])):
        assert instrument_limit(series, make.instrument()) is None
    assert instrument_limit(make.series([1]), None) is None
