"""Replaces unreadable histograms of a run by empty ones."""

from __future__ import annotations

import msgspec

from hardstone.model import Histogram, Result, RunDocument, Series
from hardstone.stats.identity import DEFAULT_LAYOUT, histogram_problem


def with_readable_histograms(document: RunDocument) -> RunDocument:
    """`document` with an empty histogram in the place of each unreadable one.

    Nothing else changes, so a report still shows count, extremes and worst values.
    """
    results = [_readable_result(result) for result in document.results]
    return msgspec.structs.replace(document, results=results)


def _readable_result(result: Result) -> Result:
    return msgspec.structs.replace(result, series=[_readable(one) for one in result.series])


def _readable(series: Series) -> Series:
    if histogram_problem(series.histogram) is None:
        return series
    return msgspec.structs.replace(series, histogram=Histogram(layout=DEFAULT_LAYOUT, buckets=[]))
