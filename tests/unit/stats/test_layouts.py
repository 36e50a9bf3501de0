"""Layouts of other tools: which values share a bucket, and that nothing is said beyond a file."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hardstone.errors import InputError
from hardstone.model import Histogram, Series
from hardstone.stats.histogram import Above, above, bins_of, histogram_of
from hardstone.stats.identity import (
    MAX_VALUE,
    Linear,
    LogLinear,
    NoDistribution,
    histogram_problem,
    parse_layout,
    ranked_counts_of,
    series_problem,
)
from hardstone.stats.join import joined_series, merged
from hardstone.stats.projection import Refusal, project
from hardstone.stats.quantiles import (
    Quantile,
    exceedance,
    lacking_quantile,
    misses_of,
    quantile,
    quantile_of_series,
    quantiles_of,
    summarise,
    why_no_quantile,
)
from hardstone.stats.two_runs import (
    compare_quantile,
    mean_estimate,
    quantile_ends,
    quantile_estimate,
    shift_function,
)
from tests import imported
from tests.unit.stats import make

LAYOUTS = st.builds(Linear, st.integers(1, 10**7), st.integers(-(10**9), 10**9))
NO_QUANTILE = "the file has minimum, mean and maximum only, so no quantile"
CUT = "the file has no count of the values above 20 us, so no quantile"
LATE = [*range(2000, 19_000, 10), *range(30_000, 60_000, 500)]


# ---- layouts ----


@given(LAYOUTS, st.integers(0, 10**12))
@settings(max_examples=50)
def test_a_value_lies_in_its_bucket_and_the_next_follows(layout: Linear, beyond: int) -> None:
    index = layout.index_of(layout.first + beyond)
    low, high = layout.edges_of(index)
    assert low <= layout.first + beyond <= high
    assert high - low + 1 == layout.width
    assert layout.edges_of(index + 1)[0] == high + 1
    assert parse_layout(f"linear/{layout.width}/{layout.first}") == layout


def test_a_linear_layout_ends_within_64_bits() -> None:
    for layout in (Linear(1, 0), Linear(1000, -5_000_000), Linear(7, MAX_VALUE - 7)):
        assert layout.edges_of(layout.last)[1] <= MAX_VALUE
        assert layout.edges_of(0)[0] == layout.least
        for value in (layout.least - 1, MAX_VALUE + 1):
            with pytest.raises(ValueError, match="has no bucket"):
                layout.index_of(value)
    with pytest.raises(ValueError, match="not the index"):
        Linear(1, 0).edges_of(-1)


@pytest.mark.parametrize(
    "layout",
    ["linear", "linear/0/0", "linear/1000", "linear/1000/-0", "linear/1/+1", "linear/1/1/1",
     "linear/01/0", "linear/\N{ARABIC-INDIC DIGIT ONE}/0", f"linear/1/{2**63}", "none/0", "None"],
)  # fmt: skip
def test_what_is_no_layout_is_refused(layout: str) -> None:
    with pytest.raises(InputError, match="is not known"):
        parse_layout(layout)


def test_no_distribution_has_no_bucket() -> None:
    layout = parse_layout("none")
    assert layout == NoDistribution()
    for ask in (layout.index_of, layout.edges_of):
        with pytest.raises(ValueError, match="there are none"):
            ask(0)


@pytest.mark.parametrize(
    ("histogram", "problem"),
    [
        (Histogram(layout="none", buckets=[(0, 1)]), "bucket 0 of a source without a distribution"),
        (Histogram(layout="linear/10/0", buckets=[(3, 1), (2, 1)]), "bucket 2 does not ascend"),
        (Histogram(layout=f"linear/{2**62}/0", buckets=[(2, 1)]), "past the last one, 1"),
        (Histogram(layout="log-linear/7", buckets=[], is_cut=True), "loses no values"),
        (Histogram(layout="linear/10/-50", buckets=[(0, 1)], is_cut=True), None),
        (Histogram(layout="none", buckets=[], overflow=7), None),
    ],
)
def test_a_histogram_of_a_file_is_checked(histogram: Histogram, problem: str | None) -> None:
    found = histogram_problem(histogram)
    assert found is None if problem is None else problem in str(found)


# ---- histograms and quantiles ----

VALUES = st.lists(st.integers(-3000, 90_000), min_size=1, max_size=300)


@given(VALUES, st.integers(1, 3000), st.integers(-2000, 2000))
@settings(max_examples=40)
def test_arrays_agree_with_the_closed_form(values: list[int], width: int, first: int) -> None:
    layout = Linear(width, first)
    histogram = histogram_of(values, layout=f"linear/{width}/{first}", limit=60_000)
    assert histogram_problem(histogram) is None
    bins = bins_of(histogram)
    edges = [layout.edges_of(index) for index, _ in histogram.buckets]
    assert list(zip(bins.lower.tolist(), bins.upper.tolist(), strict=True)) == edges
    assert bins.total == len(values)
    assert bins.underflow == sum(value < first for value in values)
    assert bins.top == ranked_counts_of(histogram).top


@pytest.mark.slow
@given(VALUES, st.sampled_from([(1000, 0), (7, -3000), (50_000, -100)]), st.floats(0.01, 0.99))
@settings(max_examples=40)
def test_a_quantile_bounds_that_of_the_raw_values(
    values: list[int], layout: tuple[int, int], q: float
) -> None:
    """The nearest rank of numpy on what the tool saw, which lies in the bucket that is named."""
    series = imported.linear(values, *layout, limit=59_999)
    assert series_problem(series) is None
    true = int(np.quantile(values, q, method="inverted_cdf"))
    found = quantile_of_series(series, q)
    assert found is not None
    if found.value is not None:
        assert true <= found.value <= max(true + layout[0] - 1, true)
    elif found.above is not None:
        assert true > found.above
    else:
        assert true < (found.below or 0)
    assert found.low is None or found.low <= true
    assert found.high is None or true <= found.high


def test_quantiles_of_microseconds_are_those_of_numpy_rounded_up_to_the_maximum() -> None:
    values = np.random.default_rng(1).integers(2000, 80_000, 20_000)
    series = imported.cyclictest(values, buckets=100)
    for q in (0.5, 0.99, 0.999):
        true = int(np.quantile(values, q, method="inverted_cdf"))
        found = quantile_of_series(series, q)
        assert found is not None
        assert found.value == min(true // 1000 * 1000 + 999, series.max or 0)


def test_a_quantile_in_the_overflow_is_above_the_last_bucket_and_not_the_maximum() -> None:
    series = imported.cyclictest([*range(2000, 12_000, 10), *[57_000] * 50], buckets=20)
    assert series_problem(series) is None
    assert series.histogram.overflow == 50
    found = quantile_of_series(series, 0.99)
    assert isinstance(found, Quantile)
    assert (found.value, found.above) == (None, 19_999)
    estimate = quantile_estimate(series, 0.99)
    assert estimate is not None
    assert estimate.value is None


def test_values_below_the_first_bucket_are_below_it() -> None:
    series = imported.linear([-9000] * 40 + list(range(60)), 100, -500)
    found = quantile_of_series(series, 0.2)
    assert found is not None
    assert (found.value, found.below) == (None, -500)
    assert series_problem(series) is None
    assert "values are below -500" in str(
        series_problem(msgspec.structs.replace(series, min=-400, mean=None))
    )


# ---- without a distribution, and cut ----


def without(kind: str) -> Series:
    if kind == "none":
        return imported.bare(1760)
    return imported.cyclictest(LATE, buckets=20, is_cut=True)


@pytest.mark.parametrize(("kind", "why"), [("none", NO_QUANTILE), ("cut", CUT)])
def test_no_figure_that_needs_ranks(kind: str, why: str) -> None:
    series, other = without(kind), imported.cyclictest(LATE)
    assert series_problem(series) is None
    assert why_no_quantile(series) == lacking_quantile(0.5, series) == why
    assert quantile(series.histogram, 0.5) is quantile_of_series(series, 0.5) is None
    figures = summarise(series)
    assert (figures.quantiles, figures.why_no_quantile) == ([], why)
    assert exceedance(series.histogram) == []
    assert quantile_estimate(series, 0.5) is None
    assert quantile_ends(series, 0.5).value is None
    ratio = compare_quantile(other, series, 0.5)
    assert (ratio.ratio, ratio.outcome, ratio.reason) == (None, "not decided", why)
    assert shift_function(other.histogram, series.histogram) == []
    result = imported.imported_result(series)
    refused = project(series, result, imported.imported_run(result=result))
    assert isinstance(refused, Refusal)
    assert why.replace("so no quantile", "so no tail") in refused.text
    assert why_no_quantile(other) == ""


@pytest.mark.parametrize(
    ("series", "why"),
    [
        (imported.only_mean(), "the file has a mean only, so no quantile"),
        (imported.bare(least=None), "the file has mean and maximum only, so no quantile"),
        (
            imported.bare(least=None, mean=None, most=None),
            "the file has no distribution, so no quantile",
        ),
        (imported.cyclictest([5000]), ""),
        (make.series([]), ""),
    ],
)
def test_what_a_file_has_instead(series: Series, why: str) -> None:
    assert why_no_quantile(series) == why


@pytest.mark.parametrize(
    ("series", "limit", "low", "high"),
    [
        (without("none"), 34_999, 0, 0),
        (without("none"), 34_500, 0, 1759),  # 34 us may be 34 999 ns
        (without("none"), 20_000, 1, 1759),
        (without("none"), 1999, 1760, 1760),
        (without("none"), 2500, 1, 1760),
        (without("cut"), 59_999, 0, 0),
        (without("cut"), 58_000, 1, None),
        (without("cut"), 1000, 1700, None),
        (imported.only_mean(), 10, 0, None),
        (imported.bare(most=None), 10**9, 0, 999),
        (imported.cyclictest([5000, 6000, 34_000]), 34_500, 0, 1),
        (imported.cyclictest([5000, 6000, 34_000]), 33_999, 1, 1),
        (imported.linear([-900, -20, 10], 10, -100), -500, 2, 2),
        (imported.linear([-900, -800, 10], 10, -100), -850, 1, 2),
        (imported.linear([-900, -800, 10], 10, -100), -901, 3, 3),
    ],
)
def test_what_is_above_a_limit(series: Series, limit: int, low: int, high: int | None) -> None:
    assert above(series, limit) == Above(limit, low, high)


def test_a_share_above_is_given_where_minimum_and_maximum_decide_it() -> None:
    series = without("none")
    none, every = misses_of(series, 40_000), misses_of(series, 1000)
    assert (none.count, none.low, every.count, every.high) == (0, 0.0, 1760, 1.0)
    for one, limit in ((series, 20_000), (without("cut"), 25_000), (imported.only_mean(), 1)):
        with pytest.raises(InputError, match="so no share above a deadline"):
            misses_of(one, limit)


# ---- figures that a file lacks ----


@pytest.mark.parametrize("field", ["min", "mean", "stddev", "max"])
def test_only_a_file_may_lack_a_figure(field: str) -> None:
    changed = {field: None}
    own = make.series([1000, 2000, 3000])
    assert series_problem(msgspec.structs.replace(own, **changed)) is not None
    for series in (imported.cyclictest([1000, 2000, 3000]), imported.bare()):
        assert series_problem(msgspec.structs.replace(series, **changed)) is None
    empty = msgspec.structs.replace(
        imported.bare(0), histogram=Histogram(layout="none", buckets=[])
    )
    assert "exactly when" in str(series_problem(empty))


@pytest.mark.parametrize(
    ("series", "problem"),
    [
        (imported.bare(least=40_000), "the minimum 40000 is above the maximum 34000"),
        (imported.bare(mean=900.0), "the mean 900 is not between"),
        (imported.bare(least=None, mean=35_000.0), "the mean 35000 is not between"),
        (imported.cyclictest([5000, 9000], max=7000), "the maximum 7000 is not in the last bucket"),
        (imported.cyclictest([5000, 90_000], buckets=20, mean=None, max=19_000),
         "is in a bucket"),
        (imported.cyclictest([5000, 90_000], buckets=20, mean=None, min=7000),
         "not in the first bucket"),
        (imported.bare(count=7, histogram=Histogram(layout="none", buckets=[], overflow=8)),
         "the histogram holds 8 values but the count is 7"),
        (imported.bare(maxima_per_s=[5000, 99_000]), "the largest of the maxima is 99000"),
    ],
)  # fmt: skip
def test_figures_of_a_file_must_agree(series: Series, problem: str) -> None:
    assert problem in str(series_problem(series))


def test_a_histogram_that_contradicts_its_count_has_no_quantile() -> None:
    series = imported.cyclictest([3000] * 1000, count=1001)
    assert quantile_of_series(series, 0.5) is None
    assert (summarise(series).quantiles, quantiles_of(series)) == ([], [])
    assert "has 1 000 of 1 001 values" in why_no_quantile(series).replace("\N{NO-BREAK SPACE}", " ")


def test_the_maximum_of_whole_steps_stands_for_all_of_its_step() -> None:
    series = imported.cyclictest([5000] * 999 + [34_000])
    found = quantile_of_series(series, 0.9999)
    assert found is not None
    assert found.value == 34_000  # as the file has it, and not above the maximum that is shown
    found = quantile_of_series(imported.cyclictest([34_000] * 1000), 0.5)
    assert found is not None
    assert (found.value, found.high) == (34_000, 34_999)
    estimate = mean_estimate(imported.bare(stddev=100.0))
    assert estimate is not None
    assert estimate.high is not None
    assert estimate.high > 5000 + 1998


# ---- several series as one ----


def test_equal_layouts_are_joined_and_others_are_not() -> None:
    one, two = imported.cyclictest([5000, 6000]), imported.cyclictest([7000, 90_000], buckets=20)
    whole = merged([one, two])
    assert whole is not None
    assert (whole.count, whole.max, whole.step) == (4, 90_000, 1000)
    assert whole.histogram.overflow == 1
    assert series_problem(whole) is None
    assert merged([one, make.series([5000, 6000])]) is None
    assert merged([one, imported.bare()]) is None
    assert merged([one, msgspec.structs.replace(two, step=msgspec.UNSET)]) is None
    with pytest.raises(ValueError, match="no layout in common"):
        joined_series(one, make.series([5000, 6000]), 0)


def test_what_one_part_does_not_know_the_whole_does_not_know() -> None:
    known = imported.cyclictest([5000, 6000])
    lacking = msgspec.structs.replace(known, min=None, mean=None, max=None)
    cut = imported.cyclictest([5000, 90_000], buckets=20, is_cut=True)
    whole = merged([known, lacking, cut])
    assert whole is not None
    assert (whole.min, whole.mean, whole.stddev, whole.max) == (None, None, None, None)
    assert whole.histogram.is_cut is True


def test_layouts_of_the_probe_are_still_joined_in_the_coarsest() -> None:
    fine, coarse = make.series([5000]), make.series([5000], layout="log-linear/4")
    joined = joined_series(fine, coarse, 0)
    assert parse_layout(joined.histogram.layout) == LogLinear(4)
    assert [count for _, count in joined.histogram.buckets] == [2]
