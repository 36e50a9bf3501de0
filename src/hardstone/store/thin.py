"""A run that is longer than a document: its maxima get longer intervals, as in the probe."""

from __future__ import annotations

import msgspec

from hardstone.model import RunDocument, Series

# Half of what `content_of` reads; histograms and all else need the rest.
MOST_STORED_MAXIMA = 6_000_000


def thinned(document: RunDocument, most: int = MOST_STORED_MAXIMA) -> RunDocument:
    """`document` with at most `most` maxima (or one per series): those of the series that
    have the most are joined in twos, their interval doubled. No maximum is lost.

    Lengths are told apart by powers of two: series of one time, of which some end a second
    earlier, keep one interval.
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


def joined(series: Series, most: int) -> Series:
    """`series` with at most `most` maxima, 1 or more."""
    maxima, interval_ns = series.maxima_per_s, series.maxima_interval_ns
    while len(maxima) > most:
        pairs = (maxima[at : at + 2] for at in range(0, len(maxima), 2))
        maxima = [max((one for one in pair if one is not None), default=None) for pair in pairs]
        interval_ns *= 2
    if maxima is series.maxima_per_s:
        return series
    return msgspec.structs.replace(series, maxima_per_s=maxima, maxima_interval_ns=interval_ns)
