"""A run as an HdrHistogram log: a tagged interval for each distribution of times.

Format: histogram log 1.3 with histograms in the encoding V2 (zlib, base64), as HdrHistogram's
HistogramLogWriter and AbstractHistogram (Java, 2.1) and its port hdrhistogram (Python, 0.10) write
them. The buckets of hardstone are those of an HdrHistogram with three significant digits, so no
value is rounded there. Other buckets count at their upper edge.
"""

from __future__ import annotations

import base64
import re
import struct
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

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
from hardstone.stats.identity import LogLinear, highest_of

_VERSION = "#[Histogram log format version 1.3]"
_LEGEND = '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"'
_COOKIE, _PACKED_COOKIE = 0x1C849313, 0x1C849314
# Significant digits, and the buckets that HdrHistogram gives them.
_LAYOUTS = {3: LogLinear(10), 4: LogLinear(14), 5: LogLinear(17)}
_NS_PER_MS = 1_000_000
_UNFIT = re.compile(r"[^A-Za-z0-9_.:;=@/+~-]", re.ASCII)


def export_hdr(documents: Sequence[RunDocument], _: Wanted) -> Exported:
    """The log of one run, in ns; Interval_Max is in ms, as its readers expect."""
    (document,) = documents
    left, lost = LeftOut(), of_other_time(document)
    intervals: list[tuple[float, list[str]]] = []
    tags: Counter[str] = Counter()
    for held in held_distributions(document, left):
        if held.series.histogram.overflow and held.series.max is None:
            left.add(held, "values are past the buckets, and the largest is not known")
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
    most = bins.top if highest is None else highest
    digits, counts = _counts(bins, most)
    length_s, max_ms = held.result.duration_ns / 1e9, most / _NS_PER_MS
    return f"{length_s:.3f},{max_ms:.6f},{encoded(digits, counts)}"


def _counts(bins: Bins, most: int) -> tuple[int, dict[int, int]]:
    """The significant digits, and the count of each index of an HdrHistogram. No value is above
    `most`."""
    edges = [*zip(bins.lower.tolist(), bins.upper.tolist(), bins.count.tolist(), strict=True)]
    digits = next((one for one in _LAYOUTS if _is_fine(edges, _LAYOUTS[one])), max(_LAYOUTS))
    layout = _LAYOUTS[digits]
    counts: Counter[int] = Counter()
    for _, upper, count in [*edges, (0, -1, bins.underflow), (0, most, bins.overflow)]:
        counts[layout.index_of(max(min(upper, most), 0))] += count
    return digits, {index: count for index, count in sorted(counts.items()) if count}


def _is_fine(edges: Sequence[tuple[int, int, int]], layout: LogLinear) -> bool:
    """Whether buckets of `layout` are nowhere wider than ours."""
    for lower, upper, _ in edges:
        low, high = layout.edges_of(layout.index_of(max(upper, 0)))
        if high - low > upper - lower:
            return False
    return True


def encoded(digits: int, counts: dict[int, int]) -> str:
    """A histogram in the encoding V2; `counts` by index, ascending."""
    highest = _LAYOUTS[digits].edges_of(max(counts, default=0))[1]
    payload = b"".join(_packed(number) for number in _numbers(counts))
    header = struct.pack(">iiiiqqd", _COOKIE, len(payload), 0, digits, 1, max(highest, 2), 1.0)
    compressed = zlib.compress(header + payload)
    whole = struct.pack(">ii", _PACKED_COOKIE, len(compressed)) + compressed
    return base64.b64encode(whole).decode("ascii")


def _numbers(counts: dict[int, int]) -> Iterator[int]:
    """The counts from index 0 on; zeros in a row are one negative number, how many they are."""
    expected = 0
    for index, count in counts.items():
        if index > expected:
            yield expected - index
        yield count
        expected = index + 1


def _packed(number: int) -> bytes:
    """ZigZag LEB128 in at most 9 bytes, of which the last one has 8 bits."""
    rest = (number << 1) ^ (number >> 63)
    found = bytearray()
    while rest > 0x7F and len(found) < 8:
        found.append(rest & 0x7F | 0x80)
        rest >>= 7
    found.append(rest)
    return bytes(found)
