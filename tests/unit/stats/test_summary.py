from __future__ import annotations

import pytest

from hardstone.stats.quantiles import DEEPEST_BY_PROFILE
from hardstone.stats.summary import instrument_limit, median_of, summarise
from tests.unit.stats import make


def test_a_summary_repeats_the_exact_figures_and_bounds_the_rest() -> None:
    series = make.series(range(1, 1001))
    summary = summarise(series)
    assert (summary.count, summary.min, summary.max) == (1000, 1, 1000)
    assert summary.mean == pytest.approx(500.5)
    assert [entry.q for entry in summary.quantiles] == [0.5, 0.9, 0.99]
    assert [entry.value for entry in summary.quantiles] == [500, 900, 990]
    assert summary.p_exceed_bound == pytest.approx(0.003, rel=0.01)


def test_the_deepest_quantile_of_the_profile_is_kept() -> None:
    summary = summarise(make.series(range(200_000)), deepest=DEEPEST_BY_PROFILE["quick"])
    assert [entry.q for entry in summary.quantiles] == [0.5, 0.9, 0.99, 0.999]


def test_no_quantile_passes_the_exact_maximum() -> None:
    series = make.series([1_000_001] * 100)
    assert series.histogram.buckets[0][0] > 2048
    assert [entry.value for entry in summarise(series).quantiles] == [1_000_001] * 2
    assert summarise(series).quantiles[0].low == 1_000_001


def test_an_empty_series_has_no_figures() -> None:
    summary = summarise(make.series([]))
    assert (summary.min, summary.max, summary.quantiles) == (None, None, [])
    assert summary.p_exceed_bound == 1.0


def test_overflow_is_carried_and_never_becomes_a_number() -> None:
    summary = summarise(make.series([1] * 50 + [10**6] * 50, limit=100))
    assert summary.overflow == 50
    assert summary.quantiles[1].value is None
    assert summary.quantiles[1].above == 1


def test_the_median_exists_for_few_values_too() -> None:
    assert median_of(make.series([7])) == 7
    assert median_of(make.series([])) is None


@pytest.mark.parametrize(
    ("median", "said"),
    [(99, "at the instrument's limit"), (100, "within 10 times"), (199, "within 10"), (200, None)],
)
def test_values_near_the_cost_of_the_clock_are_marked(median: int, said: str | None) -> None:
    limit = instrument_limit(make.series([median] * 9), make.instrument(median=20))
    assert limit is None if said is None else limit is not None and said in limit


def test_what_is_no_duration_or_has_no_instrument_is_not_marked() -> None:
    counted = make.series([1])
    counted.unit = "count"
    assert instrument_limit(counted, make.instrument()) is None
    assert instrument_limit(make.series([1]), None) is None
    claimed = make.series([1])
    assert instrument_limit(claimed, make.instrument()) is not None
    claimed.derived = "clock_getres"
    assert instrument_limit(claimed, make.instrument()) is None
    assert instrument_limit(make.series([]), make.instrument()) is None
