"""A run as an HdrHistogram log: a tagged interval for each distribution of times.

The library hdrhistogram (0.10) makes and encodes the histograms (encoding V2). The lines around
them are of the histogram log 1.3, as HdrHistogram's HistogramLogWriter (Java, 2.1) writes them: the
writer of the library has no tags, cuts Interval_Max to whole ms, and cannot write a start time.

The buckets of hardstone are those of an HdrHistogram with three significant digits, so no value is
rounded there. Other buckets count at their upper edge.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from hardstone.exporters.exportable import (
    Held,
    LeftOut,
    address_of,
    held_distributions,
    of_other_time,
)
from hardstone.exporters.registry import Exported, Wanted
from hardstone.model import RunDocument, Series
from hardstone.stats.histogram import Bins, bins_of
from hardstone.stats.identity import MAX_VALUE, highest_of

_VERSION = "#[Histogram log format version 1.3]"
_LEGEND = '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"'
_DIGITS = (3, 4, 5)
_MOST_VALUES = 2**62 - 1  # the library encodes larger counts wrongly, without an error
_NS_PER_MS = 1_000_000
_UNFIT = re.compile(r"[^A-Za-z0-9_.:;=@/+~-]", re.ASCII)


def export_hdr(documents: Sequence[RunDocument], _: Wanted) -> Exported:
    """The log of one run, in ns; Interval_Max is in ms, as its readers expect."""
    (document,) = documents
    left, lost = LeftOut(), of_other_time(document)
    intervals: list[tuple[float, list[str]]] = []
    tags: Counter[str] = Counter()
    for held in held_distributions(document, left):
        if why := _why_left_out(held.series):
            left.add(held, why)
            continue
        tag = _tag(held)
        tags[tag] += 1
        tag += f"~{tags[tag]}" if tags[tag] > 1 else ""
        remarks = [f"{tag}: {text}" for text in _remarks(held.series)]
        lost += remarks
        start_s = _seconds(held.result.started_utc or document.started_utc)
        line = f"Tag={tag},{start_s:.3f},{_interval(held)}"
        intervals.append((start_s, [*(f"#{one}" for one in remarks), line]))
    intervals.sort(key=lambda one: one[0])
    first_s = intervals[0][0] if intervals else _seconds(document.started_utc)
    head = [f"#[Run {document.id}, values in ns]", *(f"#{one}" for one in of_other_time(document))]
    lines = [*head, _VERSION, _start(first_s), _LEGEND]
    lines += [line for _, one in intervals for line in one]
    return Exported("".join(f"{line}\n" for line in lines).encode(), [*lost, *left.sentences()])


def _why_left_out(series: Series) -> str:
    """Why the library cannot hold the values of a series; "" where it can."""
    if series.histogram.overflow and series.max is None:
        return "values are past the buckets, and the largest is not known"
    if (highest_of(series) or 0) > MAX_VALUE:
        return "values are past the largest that a histogram of the log can hold"
    if series.count > _MOST_VALUES:
        return "more values than a histogram of the log can count"
    return ""


def _seconds(utc: str) -> float:
    return datetime.fromisoformat(utc).timestamp()


def _start(seconds: float) -> str:
    words = datetime.fromtimestamp(seconds, UTC).strftime("%a %b %d %H:%M:%S UTC %Y")
    return f"#[StartTime: {seconds:.3f} (seconds since epoch), {words}]"


def _tag(held: Held) -> str:
    """TEST/label values/series, and the conditions. A tag has no comma and no space."""
    where = held.result.conditions
    parts = [address_of(held)]
    parts += [f"load={where.load}"] if where.load else []
    parts += [f"cpus={where.cpu_config}"] if where.cpu_config else []
    parts += [f"preemption={where.preemption}"] if where.preemption else []
    return _UNFIT.sub("_", ":".join(part.replace(",", ";") for part in parts))


def _remarks(series: Series) -> Iterator[str]:
    histogram = series.histogram
    if series.min is None or series.min < 0:
        bins = bins_of(histogram)
        below = bins.underflow + int(bins.count[bins.upper < 0].sum())
        if below:
            yield f"{below} values below 0 are counted at 0"
    if histogram.overflow:
        yield f"{histogram.overflow} values past the last bucket are counted at the largest of them"


def _interval(held: Held) -> str:
    series = held.series
    bins = bins_of(series.histogram)
    highest = highest_of(series)
    most = max(bins.top if highest is None else highest, 0)
    length_s, max_ms = held.result.duration_ns / 1e9, most / _NS_PER_MS
    return f"{length_s:.3f},{max_ms:.6f},{_encoded(bins, most)}"


def _encoded(bins: Bins, most: int) -> str:
    """The counts as a histogram of the library, encoded. No value is above `most`."""
    from hdrh.histogram import HdrHistogram

    layouts = (HdrHistogram(1, 2, digits) for digits in _DIGITS[:-1])
    fine = next((one.significant_figures for one in layouts if _is_fine(one, bins)), _DIGITS[-1])
    made = HdrHistogram(1, max(most, 2), fine)
    counts = [*zip(bins.upper.tolist(), bins.count.tolist(), strict=True)]
    for upper, count in [*counts, (0, bins.underflow), (most, bins.overflow)]:
        if not made.record_value(max(min(upper, most), 0), count):
            raise ValueError(f"hdrhistogram has no bucket for {upper}, up to {most}")
    text: str = made.encode().decode("ascii")
    return text


def _is_fine(layout: Any, bins: Bins) -> bool:
    """Whether the buckets of a histogram of the library are nowhere wider than `bins`."""
    for lower, upper in zip(bins.lower.tolist(), bins.upper.tolist(), strict=True):
        value = max(upper, 0)
        low = layout.get_lowest_equivalent_value(value)
        if layout.get_highest_equivalent_value(value) - low > upper - lower:
            return False
    return True
