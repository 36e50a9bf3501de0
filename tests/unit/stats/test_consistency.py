"""Figures that cannot be true: those that contradict each other, and values that are impossible."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest

from hardstone.model import Series
from hardstone.stats.consistency import (
    contradiction_of,
    contradictions,
    is_contradictory,
    series_contradictions,
    trust_of,
)
from hardstone.stats.join import empty_like, joined_series, merged
from hardstone.stats.trust import grade_run
from tests.unit.stats import make

DERIVED = {"name": "switch", "derived": "round_trip / 2 - mean(signal_wait)"}
MS = 1_000_000


def of(values: Sequence[int], **changed: object) -> Series:
    return msgspec.structs.replace(make.series(values), **changed)


def early(**changed: object) -> Series:
    return of([-10 * MS, -5, 7, 0], **changed)


SAID = [
    ("an old probe", early(), "2 of 4 values are negative, down to -10 ms; the clock or a timer"),
    ("a new one", early(possible_min=0), "2 of 4 values are negative"),
    ("one value", of([-5, 7]), "1 of 2 values is negative, down to -5 ns"),
    ("all", of([-5, -7]), "2 of 2 values are negative, down to -7 ns"),
    ("longer than the measurement", of([3, 4 * MS, 9 * MS], possible_max=3 * MS),
     "2 of 3 values are above the 3 ms of the measurement, up to 9 ms; the clock or a timer"),
    ("in the bucket of the bound", of([2_101], possible_max=2_099), "1 of 1 values is above"),
    ("beyond the histogram", of([60, 5_000], possible_max=100),
     "1 of 2 values is above the 100 ns of the measurement"),
    ("a count of missed releases", of([0, 1, 2], unit="count", possible_min=1),
     "1 of 3 values is below 1, down to 0, which is impossible"),
    ("yes or no", of([0, 1, 3, 2], unit="count", possible_max=1),
     "2 of 4 values are above 1, up to 3, which is impossible"),
    ("a rate", of([-1, 3], unit="bytes_per_s"), "1 of 2 values is below 0, down to -1"),
    ("a formula that cannot be negative", early(**DERIVED, possible_min=0), "below 0 ns, down to"),
    ("a count that is wrong comes first", early(count=9), "the histogram holds 4 values"),
]  # fmt: skip


@pytest.mark.parametrize(("series", "said"), [one[1:] for one in SAID], ids=[s[0] for s in SAID])
def test_what_cannot_be_true_is_said(series: Series, said: str) -> None:
    assert said in (contradiction_of(series) or "") and is_contradictory(series)


def test_what_is_known_of_a_series_ends_when_it_changes() -> None:
    series = of([1, 2, 3])
    assert contradiction_of(series) is None
    series.count = 4
    assert "the histogram holds 3 values" in (contradiction_of(series) or "")
    series.histogram.overflow = 1
    assert "values overflowed" in (contradiction_of(series) or "")
    series.histogram.overflow, series.count = 0, 3
    assert contradiction_of(series) is None
    series.maxima_per_s.append(5)
    assert "the largest of the maxima is 5" in (contradiction_of(series) or "")


POSSIBLE = [
    ("a time from 0 on", of([0, 7])),
    ("a formula that may be negative", early(**DERIVED)),
    ("the length of the measurement", of([3 * MS], possible_max=3 * MS)),
    ("longer, as far as two clocks may differ", of([3_001_000], possible_max=3 * MS)),
    ("yes or no", of([0, 1, 1], unit="count", possible_min=0, possible_max=1)),
    ("nothing", of([], possible_min=5, possible_max=1)),
]


@pytest.mark.parametrize("series", [one[1] for one in POSSIBLE], ids=[one[0] for one in POSSIBLE])
def test_what_is_possible_is_not_accused(series: Series) -> None:
    assert contradiction_of(series) is None


def test_an_impossible_value_makes_a_run_untrustworthy() -> None:
    document = make.document(results=[make.result(series=[early()])])
    (found,) = contradictions(document)
    assert found.series is document.results[0].series[0]
    trust = grade_run(document)
    assert trust.grade == "untrustworthy"
    assert trust.reasons[0].startswith("TMR-P-LAT wakeup [part total]: 2 of 4 values are negative")
    assert trust_of(document).reasons[0] == trust.reasons[0]


def test_what_is_computed_from_wrong_values_is_wrong() -> None:
    others = [of([5, 6], **DERIVED), of([5, 6], name="right"), of([], **DERIVED)]
    found = list(series_contradictions(make.result(series=[early(), *others])))
    assert [one.series for one in found[1:]] == [others[0]]
    assert found[1].what == "computed from figures that cannot be true"
    assert not list(series_contradictions(make.result(series=others)))


def test_what_is_joined_keeps_what_is_possible() -> None:
    """No value is longer than the longest of the measurements it may be of."""
    short, long = of([1], possible_min=0, possible_max=5), of([9], possible_min=0, possible_max=9)
    for one in (joined_series(short, long, 0), joined_series(empty_like(long), short, 0)):
        assert (one.possible_min, one.possible_max) == (0, 9) and not is_contradictory(one)
    both = merged([short, long])
    assert both is not None and (both.possible_min, both.possible_max) == (0, 9)
    assert joined_series(short, of([9]), 0).possible_max is None  # of an old probe
