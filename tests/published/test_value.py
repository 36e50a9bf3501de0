"""What a series gives for a published statistic; never a quantile that it cannot know."""

from __future__ import annotations

import pytest

from hardstone.published import AddressError, value_of
from tests.stats import make


@pytest.mark.parametrize(("statistic", "expected"), [("min", 10), ("mean", 20), ("max", 30)])
def test_what_a_series_holds(statistic: str, expected: int) -> None:
    assert value_of(make.series([10, 20, 30]), statistic) == expected


def test_a_quantile() -> None:
    series = make.series(range(1, 2001))
    assert value_of(series, "p99") == pytest.approx(1980, rel=0.01)


def test_a_quantile_needs_values_beyond_it() -> None:
    with pytest.raises(AddressError, match="2000 values are too few for p99"):
        value_of(make.series(range(2000)), "p99.9999")


@pytest.mark.parametrize("statistic", ["min", "mean", "max"])
def test_an_empty_series_has_no_figure(statistic: str) -> None:
    with pytest.raises(AddressError, match="has no values"):
        value_of(make.series([]), statistic)


def test_a_statistic_of_another_kind_is_refused() -> None:
    with pytest.raises(AddressError, match="has no 'time_99'"):
        value_of(make.series([1]), "time_99")
