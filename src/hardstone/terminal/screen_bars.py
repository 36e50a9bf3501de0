"""Timings of a run on one screen: a line and a bar for each test."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil, floor, log10

from rich.console import Console
from rich.text import Text

from hardstone.model import RunDocument
from hardstone.present.overview import Timing, decisive, timings
from hardstone.present.wording import format_value, shorten
from hardstone.stats.contradictions import MARK, MARK_NOTE
from hardstone.units import format_count

MOST_TIMINGS = 20
_COLUMNS = (9, 9)  # worst observed, median
_LEAST_COUNT = 12
_LEAST_BAR = 16
_LEAST_LABEL = 8
_MOST_LABEL = 44
_TEST = 10


def bar_lines(console: Console, document: RunDocument, room: int) -> Iterator[Text]:
    """Worst observed, median, count and bar of each test, or of the decisive tests."""
    found = timings(document)
    most = min(room, MOST_TIMINGS + 1)
    shown = found if len(found) < most else decisive(found, most - 2)
    if not shown:
        return
    low, high = _decades(shown)
    count = max(_LEAST_COUNT, *(len(format_count(one.count)) + 2 for one in shown))
    fixed = _TEST + sum(_COLUMNS) + count
    width = max(console.width - fixed - _MOST_LABEL, _LEAST_BAR)
    label = max(console.width - fixed - 1 - width, _LEAST_LABEL)
    scale = f"{format_value(10**low, 'ns')} to {format_value(10**high, 'ns')}"
    yield Text(
        f"{'test':{_TEST}}{'series':{label}}{'worst':>{_COLUMNS[0]}}{'median':>{_COLUMNS[1]}}"
        f"{'count':>{count}} {shorten(scale, width)}",
        style="bold",
    )
    farthest = max(map(_ratio, shown))
    for one in shown:
        is_farthest = _ratio(one) == farthest > 1
        columns = (label, count)
        yield _timing_line(console, one, columns, (low, high, width), is_farthest=is_farthest)
    if any(one.is_contradictory for one in shown):
        yield Text(MARK_NOTE)
    if len(shown) < len(found):
        more = len(found) - len(shown)
        yield Text(f"and {more} more tests, with --all", style="dim")


def _timing_line(
    console: Console,
    one: Timing,
    columns: tuple[int, int],
    axis: tuple[int, int, int],
    *,
    is_farthest: bool,
) -> Text:
    label, count = columns
    mark = MARK if one.is_contradictory else ""
    what = ", ".join(filter(None, (one.under, one.label)))
    median = "-" if one.median_ns is None else format_value(one.median_ns, "ns")
    style = "bold red" if is_farthest else ""
    return (
        Text(f"{shorten(one.test, _TEST - 1):{_TEST}}{shorten(what, label - 1):{label}}")
        + Text(f"{format_value(one.worst_ns, 'ns') + mark:>{_COLUMNS[0]}}", style=style or "bold")
        + Text(f"{median:>{_COLUMNS[1]}}{format_count(one.count):>{count}} ")
        + Text(_bar(console, one, *axis), style=style)
    )


def _ratio(one: Timing) -> float:
    """The ratio of worst observed to median."""
    return max(one.worst_ns, 1) / max(_known_median_ns(one), 1)


def _known_median_ns(one: Timing) -> int:
    return one.worst_ns if one.median_ns is None else one.median_ns


def _decades(found: list[Timing]) -> tuple[int, int]:
    """The powers of ten that enclose all shown values."""
    low = floor(log10(min(max(_known_median_ns(one), 1) for one in found)))
    return low, max(ceil(log10(max(max(one.worst_ns, 1) for one in found))), low + 1)


def _bar(console: Console, one: Timing, low: int, high: int, width: int) -> str:
    """From the median to the worst observed, on a logarithmic scale."""
    is_plain = "utf" not in (console.encoding or "").lower()
    line, end = ("-", "#") if is_plain else ("\u2501", "\u25cf")

    def place(value_ns: int) -> int:
        share = (log10(max(value_ns, 1)) - low) / (high - low)
        return min(max(round(share * (width - 2)), 0), width - 2)

    last = place(one.worst_ns)
    first = last if one.median_ns is None else min(place(one.median_ns), last)
    return " " * first + line * (last - first) + end
