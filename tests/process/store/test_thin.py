"""Runs of hours on many CPUs: stored so that they are read again."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardstone.model import RunDocument, Series
from hardstone.store import read_document
from hardstone.store.documents import write_document
from hardstone.store.place import open_place
from hardstone.store.thin import thinned
from tests.unit.stats import make

MAXIMA = st.lists(st.none() | st.integers(0, 99), max_size=40)


def run_of(*maxima: list[int | None]) -> RunDocument:
    document = make.document()
    result = document.results[0]
    series = [msgspec.structs.replace(result.series[0], maxima_per_s=one) for one in maxima]
    results = [msgspec.structs.replace(result, series=series)]
    return msgspec.structs.replace(document, results=results)


def series_of(document: RunDocument) -> list[Series]:
    return document.results[0].series


@given(st.lists(MAXIMA, min_size=1, max_size=5), st.integers(5, 60))
def test_each_maximum_is_that_of_its_longer_interval(
    maxima: list[list[int | None]], most: int
) -> None:
    before = run_of(*maxima)
    after = thinned(before, most)
    assert sum(len(one.maxima_per_s) for one in series_of(after)) <= max(most, len(maxima))
    for was, now in zip(series_of(before), series_of(after), strict=True):
        times = now.maxima_interval_ns // was.maxima_interval_ns
        assert times & (times - 1) == 0
        assert len(now.maxima_per_s) == -(-len(was.maxima_per_s) // times)
        for at, value in enumerate(now.maxima_per_s):
            part = was.maxima_per_s[at * times : (at + 1) * times]
            assert value == max((one for one in part if one is not None), default=None)


def test_what_fits_stays_as_it_was() -> None:
    document = run_of([1, None, 3], [4])
    assert thinned(document, 4) is document


def test_the_longest_pay_first() -> None:
    short, long = series_of(thinned(run_of([1, 2], [1, 9, 3, 4, 5, 6, 7, 8]), 6))
    assert (short.maxima_per_s, long.maxima_per_s) == ([1, 2], [9, 4, 6, 8])
    assert long.maxima_interval_ns == 2 * short.maxima_interval_ns


def test_series_that_end_a_second_apart_keep_one_interval() -> None:
    ends = range(99, 104)
    of_series = series_of(thinned(run_of(*([7] * end for end in ends)), 330))
    assert {one.maxima_interval_ns for one in of_series} == {2_000_000_000}


@pytest.mark.slow  # six million values
def test_a_run_beyond_the_limits_of_a_document_is_stored_and_read(tmp_path: Path) -> None:
    one = make.document().results[0].series[0].max
    maxima: list[int | None] = [one] * (1 << 19)
    path = write_document(open_place(tmp_path), run_of(*[maxima] * 13))
    assert [len(series.maxima_per_s) for series in series_of(read_document(path))] == [1 << 18] * 13
