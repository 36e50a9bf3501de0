"""rtla of Linux: timerlat and osnoise (hwnoise), histogram, top, analysis; and their traces.

From tools/tracing/rtla/src of Linux 5.17 to 6.19 (timerlat_hist.c, timerlat_top.c, timerlat_aa.c,
osnoise_hist.c, osnoise_top.c, osnoise.c), kernel/trace/trace_osnoise.c, and output of 6.1. What
the output does not say by itself:

- Only the comment lines have unit and columns: with --no-header neither is known.
- The width of a bucket is nowhere: it is taken as the largest that all printed rows allow, which is
  the true one or a multiple of it. With --no-index rows have no name at all.
- A column without a value has the minimum 18446744073709551615, in newer versions "-".
- timerlat's mean is that of values cut to the unit, cut again.
- osnoise's histogram has the lower end of a bucket in place of each value: so have its minimum,
  mean and maximum.
- The count of timerlat top is that of the interrupts.
- A lost part of the trace ("events missed") is in no figure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import gcd
from typing import Any

from hardstone.importers.fields import count, in_ns, mean_ns, quoted, refuse
from hardstone.importers.reading import Format, Reading, ReadSeries
from hardstone.importers.recognise import lines_of
from hardstone.importers.rt_json import ends_of
from hardstone.model import Event, Loss, Verdict

TOOL = "rtla"
NO_VALUE = ("-", "18446744073709551615")
_UNITS = {"us": 1000, "ns": 1}
_MOST_EVENTS = 1000
_MOST_COLUMNS = 3 * 8192

# ---- what every output may have beside its figures ----

_STOPPED = re.compile(r"rtla (?:timerlat|osnoise) hit stop tracing\s*")
_HIT = re.compile(r"## CPU (\d{1,5}) hit stop tracing, analyzing it ##\s*", re.ASCII)
_TOTAL = re.compile(r"\s*(IRQ|Thread) latency:\s+([0-9.]+) us \(100\s*%\)\s*")
_MISSED = re.compile(
    r"(unknown number of|[0-9]{1,19} \([0-9.]+ ?%\)) (?:osnoise )?events missed, results might not "
    r"be accurate\s*"
)
_TRACER = re.compile(r"# tracer: (timerlat|osnoise)\s*")
_TIMERLAT_LINE = re.compile(
    r"\s*\S.*?-\d+\s+\[(?P<cpu>\d{1,5})\]\s+\S{1,16}\s+(?P<at>[\d.]+):\s+#\d{1,12}\s+"
    r"context\s+(?P<context>irq|thread|user-ret)\s+timer_latency\s+(?P<ns>\S+) ns\s*",
    re.ASCII,
)
_OSNOISE_LINE = re.compile(
    r"\s*\S.*?-\d+\s+\[(?P<cpu>\d{1,5})\]\s+\S{1,16}\s+(?P<at>[\d.]+):\s+(?P<runtime>\d{1,12})\s+"
    r"(?P<noise>\d{1,12})\s+[\d.]{1,12}\s+(?P<single>\d{1,12})(?P<counters>(?:\s+\d{1,12}){2,5})\s*",
    re.ASCII,
)
_CONTEXTS = {"irq": "irq", "thread": "thread", "user-ret": "user"}
_CUT = Loss(what="mean", text="Means are cut to whole microseconds.")


@dataclass
class _Aside:
    """Lines after, or in place of, the figures."""

    events: list[Event] = field(default_factory=list)
    losses: list[Loss] = field(default_factory=list)
    is_stopped: bool = False
    hit_cpu: int | None = None
    hits: list[tuple[int, str, int]] = field(default_factory=list)
    tracer: str | None = None
    traced: dict[tuple[str, int], list[int]] = field(default_factory=dict)
    singles: dict[int, list[int]] = field(default_factory=dict)
    dropped: int = 0
    unknown: dict[str, str] = field(default_factory=dict)

    def take(self, text: str, place: str) -> None:
        """One line that is no figure of a histogram or of top."""
        if _STOPPED.fullmatch(text):
            self.is_stopped = True
        elif found := _MISSED.fullmatch(text):
            missed = f"rtla missed events of the trace ({found[1]}): values are missing."
            self.losses.append(Loss(what="values", text=missed))
        elif found := _TRACER.fullmatch(text):
            self.tracer = found[1]
        elif found := _HIT.fullmatch(text):
            self.hit_cpu = int(found[1])
            self.note("analysis", text)
        elif self.tracer is not None:
            self._take_trace(text, place)
        elif self.hit_cpu is not None:
            self._take_analysis(text, place)
        elif text.strip() and not text.strip().startswith("Saving trace to"):
            self.unknown[place] = json.dumps(text.strip()[:1000])

    def _take_analysis(self, text: str, place: str) -> None:
        if found := _TOTAL.fullmatch(text):
            name = "irq" if found[1] == "IRQ" else "thread"
            self.hits.append((self.hit_cpu or 0, name, in_ns(found[2], 1000, place)))
        if text.strip(" -") and "Saving trace" not in text:
            self.note("analysis", text)

    def _take_trace(self, text: str, place: str) -> None:
        if text.lstrip().startswith("#"):
            return
        if found := _TIMERLAT_LINE.fullmatch(text):
            key = _CONTEXTS[found["context"]], int(found["cpu"])
            self.traced.setdefault(key, []).append(count(found["ns"], place))
        elif self.tracer == "osnoise" and (found := _OSNOISE_LINE.fullmatch(text)):
            cpu = int(found["cpu"])
            self.traced.setdefault(("noise-per-period", cpu), []).append(int(found["noise"]) * 1000)
            self.singles.setdefault(cpu, []).append(int(found["single"]) * 1000)
        elif "timer_latency" in text and "context" in text:
            refuse(place, f"{quoted(text.strip())} is no line of the tracer timerlat")
        self.note("trace", text)

    def note(self, name: str, text: str) -> None:
        """A line of analysis or trace for people, up to a bound."""
        line = " ".join(text.split())
        if not line:
            return
        if len(self.events) < _MOST_EVENTS:
            self.events.append(Event(name=name, text=line[:1000]))
        else:
            self.dropped += 1

    def finish(self, reading: Reading) -> Reading:
        """`reading` with what stood beside its figures."""
        events = [*reading.events, *self.events]
        if self.dropped:
            text = f"{self.dropped} more lines of analysis and trace are not kept."
            events.append(Event(name="lines_left_out", text=text))
        verdicts = [*reading.verdicts]
        if self.is_stopped or self.hits:
            said = [f"CPU {cpu}: {name} {ns / 1000:.2f} us" for cpu, name, ns in self.hits]
            evidence = "; ".join(["rtla hit stop tracing", *said])
            verdicts.append(Verdict(name="below_stop_threshold", passed=False, evidence=evidence))
        return replace(
            reading,
            events=events,
            verdicts=verdicts,
            losses=[*reading.losses, *self.losses],
            unknown={**reading.unknown, **self.unknown},
        )


def _duration(days: str, clock: str) -> int:
    hours, minutes, seconds = (int(part) for part in clock.split(":"))
    return (((int(days) * 24 + hours) * 60 + minutes) * 60 + seconds) * 10**9


# ---- histograms ----

_HEAD = re.compile(r"# RTLA (timerlat|osnoise) histogram\s*")
_UNIT = re.compile(r"# Time unit is \w+ \((us|ns)\)\s*")
_TIME = re.compile(r"# Duration:\s+(\d{1,6}) (\d\d:\d\d:\d\d)\s*", re.ASCII)
_COLUMN = re.compile(r"(IRQ|Thr|Usr|CPU)-(\d{1,5})", re.ASCII)
_LABELLED = re.compile(r"(over|count|min|avg|max):(.*)")
_ALL_HEAD = re.compile(r"(?:ALL:)?(?:\s+(?:IRQ|Thr|Usr))+\s*")
_NAMES = {"IRQ": "irq", "Thr": "thread", "Usr": "user", "CPU": "noise"}
_SUMMARY = ("count", "min", "avg", "max")
_NO_HEADER_UNIT = Loss(
    what="unit",
    text="The file has no header, so it does not say its unit: microseconds are taken; of rtla -n "
    "it is nanoseconds (--unit ns).",
)
_NO_HEADER = Loss(
    what="conditions",
    text="The file has no header: of which CPU a column is, and whether of interrupt, thread or "
    "user space, is not known.",
)
_NO_INDEX = Loss(
    what="bucket width",
    text="The rows have no index, and the file does not say the width of a bucket: no quantiles.",
)
_NO_WIDTH = Loss(
    what="bucket width",
    text="The rows do not show the width of a bucket: no quantiles.",
)
_WIDTH = Loss(
    what="bucket width",
    text="The file does not say the width of a bucket: the largest that fits all rows is taken.",
)
_ENDS_EARLY = Loss(
    what="overflow", text="The file ends before the row 'over:': larger values may be missing."
)
_EDGES = Loss(
    what="extremes",
    text="osnoise's histogram has the lower end of a bucket for each value: so have minimum, mean "
    "and maximum.",
)


@dataclass
class _Hist:
    """Rows are (index, counts); with --no-index all fields of the rows are in `bare`."""

    kind: str | None = None
    unit_ns: int | None = None
    duration_ns: int | None = None
    columns: list[tuple[str, int]] | None = None
    has_index: bool = True
    rows: list[tuple[int, list[int]]] = field(default_factory=list)
    bare: list[list[str]] = field(default_factory=list)
    summary: dict[str, list[str]] = field(default_factory=dict)
    whole: dict[str, list[str]] | None = None
    aside: _Aside = field(default_factory=_Aside)

    @property
    def has_ended(self) -> bool:
        """Whether the figures are behind: the rest is analysis and trace."""
        aside = self.aside
        return aside.is_stopped or aside.hit_cpu is not None or aside.tracer is not None


def _is_head(name: bytes) -> Callable[[bytes], bool]:
    return lambda content: b"# RTLA " + name + b" histogram" in content[:65_536]


_IS_BARE = re.compile(rb"\A\s*\d{1,9}(?: +\d{1,9})+ *\n")


def _is_without_header(content: bytes) -> bool:
    content = ends_of(content).replace(b"\r\n", b"\n")
    return (
        _IS_BARE.match(content) is not None
        and re.search(rb"\nover:  *\d", content) is not None
        and b"# RTLA " not in content
    )


def _read_hist(content: bytes) -> Reading:
    found = _Hist()
    for line, text in lines_of(content):
        _take_hist(found, text, f"line {line}")
    if not found.rows and not found.bare and not found.summary:
        refuse("", "it ends before its figures: rtla was stopped", "let it run to its end")
    losses: list[Loss] = []
    if found.unit_ns is None:
        losses += [_NO_HEADER_UNIT, _NO_HEADER]
    reading = Reading(
        tool=TOOL,
        format=f"{found.kind or 'histogram'} without header"
        if found.unit_ns is None
        else "histogram",
        series=list(_hist_series(found, losses)),
        duration_ns=found.duration_ns,
        losses=losses,
        is_cut=_ENDS_EARLY in losses,
    )
    return found.aside.finish(reading)


def _take_hist(found: _Hist, text: str, place: str) -> None:
    if one := _HEAD.fullmatch(text):
        if found.kind is not None:
            refuse(place, "a second histogram", "import one result a file")
        found.kind = one[1]
    elif one := _UNIT.fullmatch(text):
        found.unit_ns = _UNITS[one[1]]
    elif one := _TIME.fullmatch(text):
        found.duration_ns = _duration(one[1], one[2])
    elif not found.has_ended and _take_figures(found, text, place):
        return
    else:
        found.aside.take(text, place)


def _take_figures(found: _Hist, text: str, place: str) -> bool:
    """Whether the line is one of the table."""
    words = text.split()
    if found.columns is None and words and (words[0] == "Index" or _COLUMN.fullmatch(words[0])):
        _take_columns(found, words, place)
    elif one := _LABELLED.fullmatch(text):
        figures = found.summary if found.whole is None else found.whole
        if one[1] in figures:
            refuse(place, f"a second row '{one[1]}:'", "import one result a file")
        figures[one[1]] = one[2].split()
    elif words and _ALL_HEAD.fullmatch(text):
        found.whole = {}
    elif words and words[0][0] in "0123456789-" and not found.summary:
        _take_row(found, words, place)
    elif found.whole is not None and not found.has_index and words and len(words) <= 3:
        missing = [name for name in _SUMMARY if name not in found.whole]
        if not missing:
            return False
        found.whole[missing[0]] = words
    else:
        return False
    return True


def _take_columns(found: _Hist, words: Sequence[str], place: str) -> None:
    found.has_index = words[0] == "Index"
    columns = [_COLUMN.fullmatch(word) for word in (words[1:] if found.has_index else words)]
    if any(one is None for one in columns) or len(columns) > _MOST_COLUMNS:
        refuse(place, "it is no line of columns")
    found.columns = [(_NAMES[one[1]], int(one[2])) for one in columns if one is not None]
    if len(set(found.columns)) != len(found.columns):
        refuse(place, "a column is there twice")


def _take_row(found: _Hist, words: Sequence[str], place: str) -> None:
    columns = len(found.columns) if found.columns is not None else None
    if not found.has_index:
        if found.whole is not None:  # of all CPUs
            missing = [name for name in _SUMMARY if name not in found.whole]
            if missing:
                found.whole[missing[0]] = list(words)
            return
        if len(words) != columns:
            refuse(place, f"{len(words)} figures for {columns} columns")
        found.bare.append(list(words))
        return
    index, counts = count(words[0], place), [count(word, place) for word in words[1:]]
    if columns is None:  # without a header
        found.columns = [("column", number) for number in range(1, len(counts) + 1)]
        columns = len(counts)
    if len(counts) != columns:
        refuse(place, f"{len(counts)} figures for {columns} columns")
    if found.rows and index <= found.rows[-1][0]:
        refuse(place, f"row {index} does not ascend")
    found.rows.append((index, counts))


def _hist_series(found: _Hist, losses: list[Loss]) -> Iterator[ReadSeries]:
    columns = found.columns or []
    if not found.has_index:
        _label_bare(found, losses)
    for name, figures in found.summary.items():
        is_empty = not columns and figures == ["0"]
        if len(figures) != len(columns) and not is_empty:
            refuse(f"row '{name}:'", f"{len(figures)} figures for {len(columns)} columns")
    if not columns:
        yield ReadSeries(name="noise", count=0)
        return
    if found.has_index and "over" not in found.summary:
        losses.append(_ENDS_EARLY)
    width = _width(found, losses)
    series = [_column(found, number, width) for number in range(len(columns))]
    _check_whole(found, series)
    if found.kind != "osnoise" and found.unit_ns != 1 and any(one.mean for one in series):
        losses.append(_CUT)
    if found.kind == "osnoise":
        losses.append(_EDGES)
    yield from series


def _label_bare(found: _Hist, losses: list[Loss]) -> None:
    """Rows without index: the last five are the summary if the one of counts is the sum of those
    before it."""
    losses.append(_NO_INDEX)
    rows = found.bare
    for end in (4, 3, 2, 1):
        if len(rows) > end and _is_sum(rows, len(rows) - end):
            if end != 4:
                refuse("", "it ends within its summary: rtla was stopped")
            found.summary = dict(zip(("over", *_SUMMARY), rows[-5:], strict=True))
            rows = rows[:-5]
            break
    else:
        losses.append(
            Loss(
                what="values",
                text="The file has neither index nor summary: whether it is whole cannot be seen.",
            )
        )
    found.bare = rows


def _is_sum(rows: Sequence[Sequence[str]], at: int) -> bool:
    if not all(word.isascii() and word.isdigit() for row in rows[: at + 1] for word in row):
        return False
    sums = [sum(int(row[number]) for row in rows[:at]) for number in range(len(rows[at]))]
    return any(sums) and sums == [int(word) for word in rows[at]]


def _width(found: _Hist, losses: list[Loss]) -> int | None:
    """In the file's unit. None: not even a multiple of it is known."""
    if not found.has_index:
        return None
    width = gcd(*(index for index, _ in found.rows))
    if width == 0:
        losses.append(_NO_WIDTH)
        return None
    losses.append(_WIDTH)
    return width


def _column(found: _Hist, number: int, width: int | None) -> ReadSeries:
    name, at = (found.columns or [])[number]
    unit = found.unit_ns or 1000
    place = f"column {number + 1}"
    label = "column" if name == "column" else "cpu"
    if found.has_index:
        buckets = [(index * unit, row[number]) for index, row in found.rows if row[number]]
        inside = sum(one for _, one in buckets)
    else:
        buckets = []
        inside = sum(count(row[number], place) for row in found.bare)
    over = _figure(found, "over", number, place)
    total = _figure(found, "count", number, place)
    if total is not None and over is not None and inside + over != total:
        refuse(
            place, f"{inside} values in its rows and {over} over make {inside + over}, not {total}"
        )
    known = inside + (over or 0)
    one = ReadSeries(
        name=name,
        labels={label: at},
        count=known if total is None else total,
        step_ns=unit * (width or 1) if name == "noise" else unit,
        buckets=buckets if width is not None else None,
        bucket_width_ns=unit * (width or 0),
        overflow=(over if found.has_index else 0) if width is not None else 0,
    )
    return _with_extremes(one, found, number, unit, place)


def _figure(found: _Hist, name: str, number: int, place: str) -> int | None:
    figures = found.summary.get(name)
    return None if figures is None else count(figures[number], f"row '{name}:', {place}")


def _with_extremes(one: ReadSeries, found: _Hist, number: int, unit: int, place: str) -> ReadSeries:
    if one.count == 0:
        return replace(one, buckets=None, overflow=0)
    said: dict[str, Any] = {}
    for name in ("min", "avg", "max"):
        figures = found.summary.get(name)
        if figures is None:
            continue
        if figures[number] in NO_VALUE:
            refuse(place, f"'{name}:' is {quoted(figures[number])}, but it has values")
        where = f"row '{name}:', {place}"
        if name == "avg":
            said["mean"] = mean_ns(figures[number], unit, where)
        else:
            said[name] = count(figures[number], where) * unit
    one = replace(one, **said)
    _check_extremes(one, place)
    return one


def _check_extremes(one: ReadSeries, place: str) -> None:
    low, high = one.min, one.max
    if low is None or high is None:
        return
    mean = one.mean
    if low > high or (mean is not None and not low - one.step_ns <= mean <= high + one.step_ns):
        refuse(place, f"minimum {low} ns, mean {mean} ns and maximum {high} ns do not fit")
    if one.buckets:
        first, last = one.buckets[0][0], one.buckets[-1][0]
        if not first <= low < first + one.bucket_width_ns or high < last:
            refuse(place, "its minimum or maximum is not where its buckets are")
        if not one.overflow and high >= last + one.bucket_width_ns:
            refuse(place, f"the maximum {high} ns is above its buckets, but nothing is 'over:'")


def _check_whole(found: _Hist, series: Sequence[ReadSeries]) -> None:
    """The counts of all CPUs together, where the file has them."""
    if not found.whole or "count" not in found.whole:
        return
    names = list(dict.fromkeys(one.name for one in series))
    sums = [sum(one.count or 0 for one in series if one.name == name) for name in names]
    if found.whole["count"] != [str(one) for one in sums]:
        said = " ".join(found.whole["count"])
        refuse("row 'ALL: count:'", f"{quoted(said)}, but the columns have {sums}")


# ---- timerlat top ----

_TOP_HEAD = re.compile(
    r"\s*(\d{1,6}) (\d\d:\d\d:\d\d)\s*\|\s*IRQ Timer Latency \((us|ns)\)\s*\|\s*"
    r"Thread Timer Latency \(\3\)(\s*\|\s*Ret user Timer Latency \(\3\))?\s*",
    re.ASCII,
)
_TOP_ROW = re.compile(r"\s*(\d{1,5}) #(\S+)(.*)", re.ASCII)
_TOP_NAMES = ("irq", "thread", "user")
_TOP_COUNT = Loss(
    what="count",
    text="The count of timerlat top is that of the interrupts: of the thread's values it does not "
    "say it.",
)


@dataclass
class _Top:
    unit: str | None = None
    columns: int = 2
    duration_ns: int | None = None
    rows: dict[int, tuple[int, list[list[str]], str]] = field(default_factory=dict)
    aside: _Aside = field(default_factory=_Aside)


def _is_top(content: bytes) -> bool:
    return b"IRQ Timer Latency (" in content


def _read_top(content: bytes) -> Reading:
    found = _Top()
    for line, text in lines_of(content):
        _take_top(found, text, f"line {line}")
    if found.unit is None or not found.rows:
        refuse("", "it has no row of a CPU: rtla was stopped before it measured")
    unit = _UNITS[found.unit]
    series = [
        _top_series(_TOP_NAMES[number], cpu, *row, number=number, unit=unit)
        for number in range(found.columns)
        for cpu, row in sorted(found.rows.items())
    ]
    losses = [_TOP_COUNT, *([_CUT] if unit != 1 else [])]
    reading = Reading(
        tool=TOOL, format="top", series=series, duration_ns=found.duration_ns, losses=losses
    )
    return found.aside.finish(reading)


def _take_top(found: _Top, text: str, place: str) -> None:
    aside = found.aside
    if one := _TOP_HEAD.fullmatch(text):  # of a new screen
        found.unit, found.columns, found.rows = one[3], 3 if one[4] else 2, {}
        found.duration_ns = _duration(one[1], one[2])
    elif aside.tracer is None and aside.hit_cpu is None and (one := _TOP_ROW.fullmatch(text)):
        none, *groups = [group.split() for group in one[3].split("|")]
        if none or len(groups) != found.columns or any(len(group) != 4 for group in groups):
            refuse(place, f"{quoted(text.strip())} is no row of a CPU")
        if int(one[1]) in found.rows:
            refuse(place, f"CPU {one[1]} is there twice")
        found.rows[int(one[1])] = count(one[2], place), groups, place
    elif re.fullmatch(r"\s*(?:Timer Latency|CPU COUNT .*|-+(?:\|-+)+|ALL #.*)\s*", text):
        return
    else:
        aside.take(text, place)


def _top_series(
    name: str, cpu: int, values: int, groups: list[list[str]], place: str, *, number: int, unit: int
) -> ReadSeries:
    _, low, mean, high = groups[number]
    one = ReadSeries(name=name, labels={"cpu": cpu}, step_ns=unit)
    if "-" in (low, mean, high):
        if {low, mean, high} != {"-"}:
            refuse(place, "some of its figures are missing")
        return replace(one, count=0)
    one = replace(
        one,
        count=values if name == "irq" else None,
        min=count(low, place) * unit,
        mean=float(count(mean, place) * unit),
        max=count(high, place) * unit,
    )
    _check_extremes(one, place)
    return one


# ---- osnoise top, hwnoise ----

_NOISE_TITLE = re.compile(r"\s*(Operating System|Hardware-related) Noise\s*")
_NOISE_TIME = re.compile(r"duration:\s+(\d{1,6}) (\d\d:\d\d:\d\d) \| time is in us\s*", re.ASCII)
_COUNTERS = ("hw", "nmi", "irq", "softirq", "thread")


@dataclass
class _Noise:
    is_hardware: bool = False
    has_head: bool = False
    duration_ns: int | None = None
    rows: dict[int, list[int]] = field(default_factory=dict)
    available: dict[int, str] = field(default_factory=dict)
    aside: _Aside = field(default_factory=_Aside)


def _is_noise_top(content: bytes) -> bool:
    is_title = b"Operating System Noise" in content or b"Hardware-related Noise" in content
    return is_title and b"| time is in us" in content


def _read_noise_top(content: bytes) -> Reading:
    found = _Noise()
    for line, text in lines_of(content):
        _take_noise(found, text, f"line {line}")
    if not found.rows:
        refuse("", "it has no row of a CPU: rtla was stopped before it measured")
    name = "hwnoise" if found.is_hardware else "noise"
    series = []
    for cpu, (periods, _, _, most, single, *_) in sorted(found.rows.items()):
        labels = {"cpu": cpu}
        series.append(ReadSeries(name=name, labels=labels, max=single * 1000, step_ns=1000))
        series.append(
            ReadSeries(
                name=f"{name}-per-period",
                labels=labels,
                count=periods,
                max=most * 1000,
                step_ns=1000,
            )
        )
    events = [
        _noise_event(cpu, row, found.available[cpu]) for cpu, row in sorted(found.rows.items())
    ]
    reading = Reading(
        tool=TOOL, format="top", series=series, duration_ns=found.duration_ns, events=events
    )
    return found.aside.finish(reading)


def _take_noise(found: _Noise, text: str, place: str) -> None:
    words = text.split()
    if one := _NOISE_TITLE.fullmatch(text):
        found.is_hardware, found.rows = one[1] == "Hardware-related", {}
    elif one := _NOISE_TIME.fullmatch(text):
        found.duration_ns = _duration(one[1], one[2])
    elif words[:2] == ["CPU", "Period"]:
        found.has_head = True
    elif len(words) > 1 and words[1].startswith("#") and found.aside.tracer is None:
        _take_noise_row(found, words, place)
    else:
        found.aside.take(text, place)


def _take_noise_row(found: _Noise, words: Sequence[str], place: str) -> None:
    expected = 9 if found.is_hardware else 12
    if len(words) != expected:
        refuse(place, f"{len(words)} fields where {expected} are printed")
    cpu = count(words[0], place)
    if cpu in found.rows:
        refuse(place, f"CPU {cpu} is there twice")
    row = [count(one, place) for one in (words[1][1:], *words[2:4], *words[5:])]
    _, runtime, noise, most, single = row[:5]
    if not single <= most <= noise <= max(runtime, noise) or noise > runtime:
        refuse(place, "single, period, noise and runtime do not ascend")
    found.rows[cpu], found.available[cpu] = row, words[4]


def _noise_event(cpu: int, row: Sequence[int], available: str) -> Event:
    periods, runtime, noise, _, _, *counters = row
    named = dict(zip(_COUNTERS, counters, strict=False))
    said = ", ".join(f"{name} {number}" for name, number in named.items())
    data = {f"{name}_count": number for name, number in named.items()}
    return Event(
        name="noise",
        text=f"CPU {cpu}: {noise} us of noise in {runtime} us, in {periods} periods; "
        f"{available} % was available; interferences: {said}.",
        data={
            "cpu": cpu,
            "periods_count": periods,
            "runtime_us": runtime,
            "noise_us": noise,
            **data,
        },
    )


# ---- analysis and trace alone ----

_ENTRIES = re.compile(r"# entries-in-buffer/entries-written: (\d{1,19})/(\d{1,19}) .*", re.ASCII)
_LAST_ONLY = Loss(
    what="values", text="A trace has only the last values: older ones were written over."
)


def _has_table(content: bytes) -> bool:
    heads = (
        _is_head(b"timerlat"),
        _is_head(b"osnoise"),
        _is_top,
        _is_noise_top,
        _is_without_header,
    )
    return any(head(content) for head in heads)


def _is_analysis(content: bytes) -> bool:
    return b"hit stop tracing, analyzing it ##" in content and not _has_table(content)


def _is_trace(content: bytes) -> bool:
    head = content[:4096]
    is_one = b"# tracer: timerlat" in head or b"# tracer: osnoise" in head
    return is_one and not _has_table(content) and not _is_analysis(content)


def _read_alone(content: bytes) -> Reading:
    aside = _Aside()
    for line, text in lines_of(content):
        aside.take(text, f"line {line}")
    series = [
        ReadSeries(name=name, labels={"cpu": cpu}, count=len(values), values=values)
        for (name, cpu), values in sorted(aside.traced.items())
    ]
    if aside.tracer == "osnoise":
        series = [replace(one, step_ns=1000) for one in series]
        series += [
            ReadSeries(name="noise", labels={"cpu": cpu}, max=max(values), step_ns=1000)
            for cpu, values in sorted(aside.singles.items())
        ]
    losses = [_LAST_ONLY] if series else []
    if not series:  # each value ended the run, so it is the largest of its CPU
        series = [
            ReadSeries(name=name, labels={"cpu": cpu}, max=ns, step_ns=10)
            for cpu, name, ns in aside.hits
        ]
    if not series:
        refuse("", "it has no value of timerlat or osnoise")
    kind = "trace" if aside.traced else "analysis"
    return aside.finish(Reading(tool=TOOL, format=kind, series=series, losses=losses))


FORMATS = [
    Format("rtla, timerlat histogram", _is_head(b"timerlat"), _read_hist),
    Format("rtla, osnoise histogram", _is_head(b"osnoise"), _read_hist),
    Format("rtla, histogram without header", _is_without_header, _read_hist),
    Format("rtla, timerlat top", _is_top, _read_top),
    Format("rtla, osnoise top", _is_noise_top, _read_noise_top),
    Format("rtla, analysis", _is_analysis, _read_alone),
    Format("rtla, trace", _is_trace, _read_alone),
]
