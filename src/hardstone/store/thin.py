"""Limits what a stored run holds: the maxima of a long one by longer intervals, as the probe does,
and tables by leaving out the last ones."""

from __future__ import annotations

from itertools import zip_longest

import msgspec

from hardstone.event_names import TABLES_CUT
from hardstone.model import Event, Result, RunDocument, Series, Table

# Half of what `content_of` reads; histograms and all else need the rest.
MOST_STORED_MAXIMA = 6_000_000
MOST_STORED_CELLS = 2_000_000  # of all tables


def thinned(document: RunDocument, most: int = MOST_STORED_MAXIMA) -> RunDocument:
    """`document` with at most `most` maxima, or one per series.

    In the series that have the most, neighbours are joined in twos and the interval doubled. No
    maximum is lost. Lengths are rounded to powers of two, so that series of the same time, of
    which some end a second earlier, keep the same interval.
    """
    lengths = [len(one.maxima_per_s) for result in document.results for one in result.series]
    longest = 1 << max(lengths, default=0).bit_length()
    while longest > 1 and sum(min(length, longest) for length in lengths) > most:
        longest //= 2
    if longest >= max(lengths, default=0):
        return document
    results = [
        msgspec.structs.replace(result, series=[joined(one, longest) for one in result.series])
        for result in document.results
    ]
    return msgspec.structs.replace(document, results=results)


def with_fewer_tables(document: RunDocument, most: int = MOST_STORED_CELLS) -> RunDocument:
    """`document` with the first tables that have at most `most` numbers together; an event of each
    result tells how many it lost."""
    if sum(_cells(table) for result in document.results for table in result.tables) <= most:
        return document
    results = []
    for result in document.results:
        kept = []
        for table in result.tables:
            most -= _cells(table)
            if most >= 0:
                kept.append(table)
        results.append(_with_tables(result, kept))
    return msgspec.structs.replace(document, results=results)


def _cells(table: Table) -> int:
    return sum(len(column) for column in table.columns.values())


def _with_tables(result: Result, kept: list[Table]) -> Result:
    lost = len(result.tables) - len(kept)
    if not lost:
        return result
    text = f"{lost} tables are not stored: those of all results together are too large"
    event = Event(name=TABLES_CUT, text=text, data={"dropped_count": lost})
    return msgspec.structs.replace(result, tables=kept, events=[*result.events, event])


def joined(series: Series, most: int) -> Series:
    """`series` with at most `most` maxima, 1 or more."""
    maxima, interval_ns = series.maxima_per_s, series.maxima_interval_ns
    while len(maxima) > most:
        pairs = zip_longest(maxima[::2], maxima[1::2])
        maxima = [a if b is None or (a is not None and a > b) else b for a, b in pairs]
        interval_ns *= 2
    if maxima is series.maxima_per_s:
        return series
    return msgspec.structs.replace(series, maxima_per_s=maxima, maxima_interval_ns=interval_ns)
