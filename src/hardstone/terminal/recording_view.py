"""A recording that is still growing, in 80 columns: one row for each CPU, and the distribution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log10

from rich.console import Group
from rich.text import Text

from hardstone.model import Result, Series
from hardstone.stats.identity import edges_of, parse_layout
from hardstone.terminal.console import words
from hardstone.units import format_count, format_ns, format_span
from hardstone.wording import clean

_BAR = "\N{FULL BLOCK}"
_BAR_CHARACTERS = 36
_MOST_ROWS = 18
_MOST_CPUS = 12
_STEPS = (1, 2, 5)


@dataclass(frozen=True)
class Progress:
    """How far a recording is. `rate_hz` is None until two looks could tell it."""

    elapsed_ns: int
    left_ns: int
    rate_hz: float | None


@dataclass(frozen=True)
class _Bin:
    lower_ns: int
    upper_ns: int
    count: int


def recording_view(name: str, result: Result | None, said: str, progress: Progress) -> Group:
    """All lines; `said` stands in for `result` where there is none."""
    spans = f"{format_span(progress.elapsed_ns)} elapsed, {format_span(progress.left_ns)} left"
    head = words(f"{name}  {spans}", "bold")
    if result is None:
        return Group(head, words(said))
    found = wakeups(result)
    rows = [*_table(found, progress), "", *_bars(found)]
    return Group(head, *(Text(clean(row), no_wrap=True) for row in rows))


def recording_line(result: Result, progress: Progress) -> str:
    """The same in one line, for pipes, of plain characters."""
    found = wakeups(result)
    count = sum(series.count for series in found)
    worst = max(found, key=lambda one: one.max or 0, default=None)
    text = f"{format_span(progress.elapsed_ns)}: {count} wake-ups"
    if progress.rate_hz is not None:
        text += f", {round(progress.rate_hz)} per s"
    return text if worst is None else f"{text}, worst {_worst_text(worst)}{_on_cpu(worst)}"


def wakeups(result: Result) -> list[Series]:
    """The series of the whole latency, one for each CPU, of those that have values."""
    return [
        one
        for one in result.series
        if one.name == "wakeup" and one.labels.get("part", "total") == "total" and one.count
    ]


def log_bins(found: Sequence[Series]) -> list[_Bin]:
    """Counts of all CPUs in steps of 1, 2, 5, 10, from the first in use to the last.

    A bucket counts where it begins, which is at most a thousandth of its value off.
    """
    counts: dict[int, int] = {}
    for series in found:
        bits = parse_layout(series.histogram.layout)
        for index, count in series.histogram.buckets:
            place = _place(edges_of(index, bits)[0])
            counts[place] = counts.get(place, 0) + count
    if not counts:
        return []
    used = range(min(counts), max(counts) + 1)
    return [_Bin(_lower(place), _lower(place + 1), counts.get(place, 0)) for place in used]


def _place(value_ns: int) -> int:
    """The number of the step that a value lies in; 0 begins at 1 ns, and holds 0 too."""
    digits = str(max(value_ns, 1))
    return 3 * (len(digits) - 1) + sum(int(digits[0]) >= step for step in _STEPS) - 1


def _lower(place: int) -> int:
    exponent, step = divmod(place, len(_STEPS))
    return _STEPS[step] * int(10**exponent)


def _table(found: Sequence[Series], progress: Progress) -> list[str]:
    head = f"{'CPU':>4} {'wake-ups':>15} {'mean':>9} {'worst':>9}  at"
    rows = []
    for series in found[:_MOST_CPUS]:
        cpu = series.labels.get("cpu", "-")
        mean, worst = format_ns(series.mean), format_ns(series.max)
        rows.append(
            f"{cpu:>4} {format_count(series.count):>15} {mean:>9} {worst:>9}  {_at(series)}"
        )
    if len(found) > _MOST_CPUS:
        rows.append(f"and {len(found) - _MOST_CPUS} more CPUs")
    if progress.rate_hz is not None:
        rows.append(f"{format_count(round(progress.rate_hz))} wake-ups per s")
    return [head, *rows]


def _bars(found: Sequence[Series]) -> list[str]:
    bins = log_bins(found)
    if len(bins) > _MOST_ROWS:  # the tail is what matters
        below = bins[: len(bins) - _MOST_ROWS + 1]
        rest = _Bin(below[0].lower_ns, below[-1].upper_ns, sum(one.count for one in below))
        bins = [rest, *bins[len(below) :]]
    most = max((one.count for one in bins), default=0)
    return ["from          wake-ups  (bars: logarithmic)", *(_bar_row(one, most) for one in bins)]


def _bar_row(one: _Bin, most: int) -> str:
    bar = ""
    if one.count:
        share = (log10(one.count) + 1) / (log10(most) + 1)
        bar = _BAR * max(1, round(share * _BAR_CHARACTERS))
    return f"{format_ns(one.lower_ns):>8} {format_count(one.count):>15}  {bar}"


def _worst_text(series: Series) -> str:
    return f"{format_ns(series.max)} at {_at(series)}"


def _at(series: Series) -> str:
    return format_span(series.worst[0].at_ns) if series.worst else "-"


def _on_cpu(series: Series) -> str:
    cpu = series.labels.get("cpu")
    return "" if cpu is None else f" on CPU {cpu}"
