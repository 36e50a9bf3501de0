"""What a series gives for a published statistic; never a quantile that it cannot know."""

from __future__ import annotations

import pytest

from hardstone.model import Result
from hardstone.published import (
    AddressError,
    Resolved,
    is_of_kernel_time,
    length_of,
    parse_address,
    resolve,
    value_of,
)
from hardstone.stats.kernel_operations import kernel_time_of
from tests.unit.stats import make
from tests.unit.stats.blocked import kernel_result, with_reference_at_work


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


def resolved(found: Result) -> Resolved:
    document = make.document(results=[found])
    return resolve(parse_address("KRN-P-PRE/all/dispatch"), document)


@pytest.mark.slow
@pytest.mark.parametrize("statistic", ["time_90", "time_99"])
def test_time_in_sections_is_that_of_the_operation(statistic: str) -> None:
    found = kernel_result()
    time = kernel_time_of(found)
    assert time is not None and time.whole.blocking is not None
    expected = time.whole.blocking.lengths[{"time_90": 0.9, "time_99": 0.99}[statistic]]
    assert is_of_kernel_time(statistic)
    assert length_of(resolved(found), statistic) == expected


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (kernel_result(share=None), "the time in the kernel was not counted"),
        (kernel_result(count=100), "300 releases are too few for time_99"),
        (kernel_result(count=50), "the reference .* is missing or short"),
        (with_reference_at_work(kernel_result(), still=0.6), "other processes had the CPU for"),
    ],
)
def test_time_in_sections_that_cannot_be_told(found: Result, why: str) -> None:
    with pytest.raises(AddressError, match=why):
        length_of(resolved(found), "time_99")


def test_other_tests_have_no_time_in_sections() -> None:
    document = make.document()
    found = resolve(parse_address("TMR-P-LAT/total/wakeup"), document)
    with pytest.raises(AddressError, match="TMR-P-LAT has no time in sections"):
        length_of(found, "time_90")
