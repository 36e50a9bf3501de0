"""A recording of wake-up latency: a line for each CPU, and the distribution as text; the same while
it grows and when it has ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log10

from rich.console import Console
from rich.text import Text

from hardstone.errors import InputError
from hardstone.model import Result, RunDocument, Series
from hardstone.stats.consistency import MARK, MARK_NOTE, is_contradictory
from hardstone.stats.identity import (
    NO_DISTRIBUTION,
    edges_of,
    is_end_of_step,
    parse_layout,
    ranked_counts_of,
    step_of,
)
from hardstone.stats.quantiles import (
    count_text,
    is_printable,
    quantile_between,
    quantum_of,
    why_no_quantile,
)
from hardstone.units import format_count, format_ns, format_span
from hardstone.wording import clean, read_value

TEST = "TMR-P-LAT"
MOST_ROWS = 10
_WAKEUP = "wakeup"
_MOST_CPUS = 8
_STEPS = (1, 2, 5)
_LABELS = 26  # columns before a bar
_PLACES = {"CPU": 4, "thread": 6}  # columns
_WIDEST = 80
_NO_BREAK = "\N{NO-BREAK SPACE}"


def recording_lines(document: RunDocument, console: Console) -> list[Text]:
    """The figures of each CPU and the histogram of all; empty where `document` is not a recording,
    which is one result of TMR-P-LAT."""
    if len(document.results) != 1 or document.results[0].test != TEST:
        return []
    found = wakeups(document.results[0])
    if not found:
        return []
    notes = [MARK_NOTE] if any(map(is_contradictory, found)) else []
    quantum_ns = quantum_of(found[0], document.results[0].instrument)
    table = lines_of([*table_rows(found, quantum_ns), *notes], console)
    bars = lines_of(bar_rows(found, console), console)
    for lines in filter(None, (table, bars)):
        lines[0].stylize("bold")
    return [*table, *bars]


def lines_of(rows: Sequence[str], console: Console) -> list[Text]:
    """`rows` as lines that do not wrap; a terminal that has ASCII alone gets nothing else."""
    if not _is_unicode(console):
        rows = [row.replace(_NO_BREAK, " ") for row in rows]
    return [Text(clean(row), no_wrap=True, overflow="ellipsis") for row in rows]


def wakeups(result: Result) -> list[Series]:
    """The series of the whole latency, one for each CPU, of those that have values."""
    return [
        one
        for one in result.series
        if one.name == _WAKEUP and one.labels.get("part", "total") == "total" and one.count
    ]


def table_rows(found: Sequence[Series], quantum_ns: float = 1.0) -> list[str]:
    """A title, and a row for each CPU; of many CPUs those with the highest latencies."""
    titles = ("min", "median", "p99", "max")
    labels = {label for one in found for label in one.labels}
    place = "thread" if "thread" in labels and "cpu" not in labels else "CPU"
    figures = "".join(f"{one:>10}" for one in titles)
    has_times = any(one.worst or not _is_imported(one) for one in found)
    head = f"{place:>{_PLACES[place]}}{'wake-ups':>15}{figures}" + "  max at" * has_times
    highest = sorted(found, key=lambda one: -(one.max or 0))[:_MOST_CPUS]
    rows = [_cpu_row(one, place, quantum_ns, has_time=has_times) for one in found if one in highest]
    if len(found) > len(highest):
        rows.append(f"and {len(found) - len(highest)} {place}s with a lower maximum, with --all")
    reasons = dict.fromkeys(filter(None, map(why_no_quantile, found)))
    return [head, *rows, *(f"-: {why}" for why in reasons)]


def _cpu_row(series: Series, place: str, quantum_ns: float, *, has_time: bool) -> str:
    mark = MARK if is_contradictory(series) else ""
    figures = (
        read_value(series.min, "ns", quantum_ns),
        _quantile_text(series, 0.5, quantum_ns),
        _quantile_text(series, 0.99, quantum_ns),
        read_value(series.max, "ns", quantum_ns) + mark,
    )
    wide = _PLACES[place]
    start = f"{str(series.labels.get(place.lower(), '-'))[:wide]:>{wide}}{count_text(series):>15}"
    moment = f"  {moment_of_worst(series)}" * has_time
    return start + "".join(f"{one:>10}" for one in figures) + moment


def _is_imported(series: Series) -> bool:
    try:
        return parse_layout(series.histogram.layout).is_imported
    except InputError:
        return False


def moment_of_worst(series: Series) -> str:
    """The time from the start to the worst value."""
    return format_span(series.worst[0].at_ns) if series.worst else "-"


def _quantile_text(series: Series, q: float, quantum_ns: float) -> str:
    """ "-" where too few values lie beyond it; ">20 us" out of the range of the histogram, and "<6
    us" of whole microseconds."""
    if not is_printable(q, series.count):
        return "-"
    try:
        bins = ranked_counts_of(series.histogram)
    except InputError:
        return "-"
    # Its interval is not shown, so the ranks are those of no bound.
    if not bins.total or not bins.has_quantiles or bins.total != series.count:
        return "-"
    found = quantile_between(bins, q, (0, bins.total + 1), 0.95)
    step = step_of(series)
    if found.value is None:
        return "-" if found.above is None else f">{format_ns(found.above + (step > 1))}"
    value = found.value if series.max is None else min(found.value, series.max)
    is_bound = is_end_of_step(value, step)
    return f"<{format_ns(value + 1)}" if is_bound else read_value(value, "ns", quantum_ns)


@dataclass(frozen=True)
class _Bin:
    lower_ns: int
    upper_ns: int
    count: int


def bar_rows(found: Sequence[Series], console: Console, most: int = MOST_ROWS) -> list[str]:
    """The histogram of all CPUs in at most `most` rows: logarithmic steps of latency, and bars of
    logarithmic length."""
    bins = _log_bins(found)
    if len(bins) > most:  # the tail is what matters
        below = bins[: len(bins) - most + 1]
        rest = _Bin(below[0].lower_ns, below[-1].upper_ns, sum(one.count for one in below))
        bins = [rest, *bins[len(below) :]]
    largest = max((one.count for one in bins), default=0)
    bar = "\N{FULL BLOCK}" if _is_unicode(console) else "#"
    width = max(min(console.width, _WIDEST) - _LABELS, 1)
    rows = ["from          wake-ups  (bars: logarithmic)"]
    for one in bins:
        share = (log10(one.count) + 1) / (log10(largest) + 1) if one.count else 0.0
        length = max(1, round(share * width)) if one.count else 0
        start = f"{format_ns(one.lower_ns):>8} {format_count(one.count):>15}"
        rows.append(f"{start}  {bar * length}".rstrip())
    drawn = [one.histogram for one in found if one.histogram.layout != NO_DISTRIBUTION]
    if not drawn:
        return []
    under = sum(one.underflow for one in drawn if one.layout.startswith("linear/"))
    if under:
        values = "value is" if under == 1 else "values are"
        rows.append(f"{format_count(under)} {values} below the buckets of the file")
    beyond = sum(one.overflow for one in drawn)
    if beyond:
        values = "value is" if beyond == 1 else "values are"
        rows.append(f"{format_count(beyond)} {values} above the range of the histogram")
    if any(one.is_cut is True for one in drawn):
        rows.append("values above the range of the histogram are not counted in the file")
    return rows


def _is_unicode(console: Console) -> bool:
    return "utf" in (console.encoding or "").lower()


def _log_bins(found: Sequence[Series]) -> list[_Bin]:
    """Counts of all CPUs in steps of 1, 2, 5, 10, from the first in use to the last.

    A bucket counts where it begins, which is at most a thousandth of its value off.
    """
    counts: dict[int, int] = {}
    for series in found:
        try:
            layout = parse_layout(series.histogram.layout)
        except InputError:
            continue  # it is marked as a contradiction
        for index, count in series.histogram.buckets:
            if index >= 0 and count > 0:
                place = _place(edges_of(index, layout)[0])
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
