"""cyclictest of rt-tests: JSON, histogram, single values (-v), summary and live display.

The formats are those of src/cyclictest/cyclictest.c and src/lib/histogram.c of rt-tests, versions
1.0 to 2.8, and of output of 2.4. What they do not say:

- Only JSON has the unit, as `resolution_in_ns`: 1 for ns, 0 for us. A line "T: 0" tells it by the
  widths of "Act" and "Avg": 5 for us, 8 for ns. A histogram and single values have none
  (`unstated_unit.py`).
- A value in us is the difference of the ns, cut; within the microsecond after a full second it is
  rounded up, since seconds and the rest are subtracted apart.
- JSON has no overflow: it is `cycles` less the sum of the histogram. A histogram that is empty
  was not asked for, unless the command has -h.
- Minimum starts at 1000000 and maximum at 0, in either unit: a thread that never ran keeps both.
- A value below 0 is compared as unsigned: it becomes the maximum, and an overflow.
- From 2.5 on a histogram has neither totals nor rows of zeros; cyclicdeadline prints the same.
- With -v and -o N only the largest of each N values is printed.
"""

from __future__ import annotations

import json
import re
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from itertools import zip_longest
from pathlib import PurePath
from typing import Any, NamedTuple

import msgspec

from hardstone.errors import InputError, printable
from hardstone.event_names import THRESHOLD
from hardstone.importers.reading import Format, Reading, ReadSeries
from hardstone.importers.recognise import lines_of
from hardstone.importers.unstated_unit import unit_by_shortest
from hardstone.model import Conditions, Event, Loss, Scalar

TOOL = "cyclictest"
_HEAD_BYTES = 65_536
_NEVER_RAN = 1_000_000  # what the minimum starts at
_US = 1000
_MOST_THREADS = 8192
_MOST_UNKNOWN = 64
_MOST_NAMED = 20

_CONTROL = rb"(?:\x1b\[[0-9;]*[A-Za-z]|\r)*"
_JSON_COMMAND = re.compile(rb'"cmdline:?"\s*:\s*"((?:[^"\\]|\\.){1,4096})"')
_HISTOGRAM_HEAD = re.compile(rb"^# Histogram\s*\n\d{6,} \d{6,}", re.MULTILINE)
_SAMPLES_HEAD = re.compile(rb"^Thread \d+ Interval: \d+\s*$", re.MULTILINE)
_DEADLINE_HEAD = re.compile(
    rb"^(?:Using all CPUS|interval: \d+:\d+|deadline thread \d+|main thread \d+)\s*$"
    rb"|^T: *\d+ \( *\d+\) I:",
    re.MULTILINE,
)
_HISTOGRAM_END = re.compile(rb"^# Min Latencies: *\d+[ \d]*\n# Avg Latencies:", re.MULTILINE)
_SUMMARY_HEAD = re.compile(
    rb"^" + _CONTROL + rb"(?:\^C)?T: *\d+ \( *\d+\) P: *\d+ I: *\d+ C: *\d+ Min:", re.MULTILINE
)

_SUMMARY = re.compile(
    r"(?:\^C)?T: *(?P<thread>\d{1,5}) \( *(?P<tid>\d{1,10})\) P: *(?P<priority>\d{1,3})"
    r" I: *(?P<interval>\d{1,10}) C:(?P<count> *\d{1,19}) Min:(?P<min> *-?\d{1,19})"
    r" Act:(?P<act> *-?\d{1,19}) Avg:(?P<avg> *-?\d{1,19}) Max:(?P<max> *-?\d{1,19})"
    r"(?: SMI: *(?P<smi>\d{1,19}))?\s*"
)
_SAMPLE = re.compile(r"\s*(\d{1,5}): *(\d{1,18}): *(-?\d{1,18})(?: +\d{1,18})?\s*")
_ROW = re.compile(r"(\d{6,19}) (\d{6,19}(?:\s+\d{6,19})*)\s*")
_KNOWN_BEGIN = re.compile(r"(?:\^C)?T: *\d+ \(|# (?:Min|Max|Avg) Lat|# Total:|# Histogram Over")
_ROW_BEGIN = re.compile(r"\d{6,19}(?: |$)")
_FIGURES = re.compile(
    r"# (Total|(?:Min|Avg|Max) Latencies|Histogram Overflows|SMIs):((?: +-?\d{1,20})*)\s*"
)
_OVERFLOWED_AT = re.compile(r"# Thread (\d{1,5}):((?: \d{1,19})*)(?: # (\d{1,19}) others)?\s*")
_DMA_LATENCY = re.compile(r"# /dev/cpu_dma_latency set to (\d{1,10})us\s*")
_POLICY = re.compile(r"policy: (other|fifo|rr|batch|idle)(/\w*)?: loadavg: .*")
# As people paste it with its output, after a prompt; up to what the shell reads.
_COMMAND = re.compile(
    r"(?:[^\s].{0,100}?[#$>%] *|[#$>%] *)?(?:sudo +)?"
    r"((?:[\w./~-]{1,200}/)?cyclictest(?: +[^;&|<>#]*?)?)(?: ?\d?[;&|<>#].*)?$"
)
_THREAD_IDS = "# Thread Ids:"
_COARSE_TIMERS = "WARN: High resolution timers not available"
_BREAK = re.compile(r"# Break (thread|value): (\d{1,19})\s*")
_SILENT = re.compile(
    r"\s*|# (Histogram|Histogram Overflow at cycle number:)\s*"
    r"|Max CPUs = \d+|Online CPUs = \d+|Thread \d+ Interval: \d+|Thread \d+ using cpu \d+\."
    r"|Using \d+ cpus\.|INFO: .*|WARN: .*"
)

_ASSUMED = "The text does not have the command line: absolute timers (no -r, -s or -x) are assumed."
_LIVE = (
    "The figures are those of a live display, which is not updated at the end: the last values are "
    "missing."
)
_NOT_PRINTED = (
    "cyclictest -v does not print what comes after it last looked: values of the last 10 ms may be "
    "missing."
)
_NO_TOOL = (
    "The text does not name its tool: cyclictest is assumed. cyclicdeadline prints the same "
    "histogram (--tool cyclicdeadline)."
)
_CUT_MEAN = "The mean is printed without decimals: it may be up to one unit larger."
_REDUCED = "Only the largest of each {step} values was printed (-o {step})."


def _bad(number: int, line: str, problem: str) -> InputError:
    return InputError(f"line {number}: '{printable(line.strip())[:60]}' {problem}", "")


# --- Text ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Summary:
    """A line "T: 0 ...", in the unit of the file."""

    tid: int
    priority: int
    interval_us: int
    count: int
    min: int
    avg: int
    max: int
    is_ns: bool | None


@dataclass
class _Samples:
    """Lines of -v of one thread: two numbers each, and there may be millions."""

    cycles: array[int] = field(default_factory=lambda: array("q"))
    values: array[int] = field(default_factory=lambda: array("q"))


@dataclass
class _Text:
    """The lines of a text, sorted by kind. `rows` are (latency, counts of the threads) of the rows
    that count something, `columns` and `last_row` those of all."""

    summaries: dict[int, _Summary] = field(default_factory=dict)
    samples: dict[int, _Samples] = field(default_factory=dict)
    rows: list[tuple[int, list[int]]] = field(default_factory=list)
    columns: int = 0
    last_row: int = -1
    figures: dict[str, list[int]] = field(default_factory=dict)
    late_cycles: dict[int, tuple[list[int], int]] = field(default_factory=dict)
    breaks: dict[str, int] = field(default_factory=dict)
    thread_ids: list[int] = field(default_factory=list)
    is_live: bool = False
    has_coarse_timers: bool = False
    policy: str | None = None
    dma_latency_us: int | None = None
    commands: list[str] = field(default_factory=list)
    unknown: dict[str, str] = field(default_factory=dict)
    is_cut: bool = False


def _sorted_lines(content: bytes) -> _Text:
    text = _Text()
    before: tuple[int, str] | None = None
    for found in lines_of(content):
        if before is not None:
            _take(text, *before, is_torn=False)
        before = found
    if before is not None:
        _take(text, *before, is_torn=not content.endswith((b"\n", b"\r")))
    return text


def _take(text: _Text, number: int, line: str, *, is_torn: bool) -> None:
    """Sorts one line. The last one of a file may be cut off in its middle."""
    if (found := _SAMPLE.fullmatch(line)) is not None and " " in line:
        if is_torn:
            text.is_cut = True
            return
        thread, cycle, value = map(int, found.groups())
        samples = text.samples.setdefault(thread, _Samples())
        samples.cycles.append(cycle)
        samples.values.append(value)
    elif _ROW_BEGIN.match(line) is not None:
        _take_row(text, number, line, is_torn=is_torn)
    elif (found := _SUMMARY.fullmatch(line)) is not None:
        _take_summary(text, number, line, found)
    elif not _take_note(text, line) and _SILENT.fullmatch(line) is None:
        if _KNOWN_BEGIN.match(line):
            if not is_torn:
                raise _bad(number, line, "is not as cyclictest prints it")
            text.is_cut = True
        elif len(text.unknown) < _MOST_UNKNOWN:
            text.unknown[f"line {number}"] = json.dumps(line[:1000])


def _take_summary(text: _Text, number: int, line: str, found: re.Match[str]) -> None:
    """A live display has many for each thread, of which the last counts most."""
    thread, summary = int(found["thread"]), _summary(found)
    before = text.summaries.get(thread)
    if before is not None and (before.tid != summary.tid or before.count > summary.count):
        raise _bad(number, line, "is of another run: the file has more than one")
    text.summaries[thread] = summary


def _take_row(text: _Text, number: int, line: str, *, is_torn: bool) -> None:
    found = _ROW.fullmatch(line)
    counts = [] if found is None else [int(part) for part in found[2].split()]
    text.columns = text.columns or len(counts)
    if found is None or len(counts) != text.columns or (is_torn and not text.figures):
        if not is_torn:
            raise _bad(number, line, "is not a row of a histogram")
        text.is_cut = True
        return
    latency = int(found[1])
    if latency <= text.last_row:
        raise _bad(number, line, "does not ascend: the file has more than one histogram")
    text.last_row = latency
    if any(counts):
        text.rows.append((latency, counts))


def _take_note(text: _Text, line: str) -> bool:
    if (found := _FIGURES.fullmatch(line)) is not None:
        text.figures[found[1]] = [_signed(int(part)) for part in found[2].split()]
    elif (found := _OVERFLOWED_AT.fullmatch(line)) is not None:
        cycles = [int(part) for part in found[2].split()]
        text.late_cycles[int(found[1])] = cycles, int(found[3] or 0)
    elif (found := _DMA_LATENCY.fullmatch(line)) is not None:
        text.dma_latency_us = int(found[1])
    elif line.startswith(_COARSE_TIMERS):
        text.has_coarse_timers = True
    elif (found := _POLICY.fullmatch(line)) is not None:
        text.is_live = True
        # "fifo/other": some threads have no priority left.
        text.policy = None if found[2] not in (None, "/" + found[1]) else found[1]
    elif (found := _BREAK.fullmatch(line)) is not None:
        text.breaks[found[1]] = int(found[2])
    elif line.startswith(_THREAD_IDS):
        words = line.removeprefix(_THREAD_IDS).split()
        text.thread_ids = [int(one) for one in words if one.isascii() and one.isdigit()]
    elif (found := _COMMAND.match(line)) is not None:
        text.commands.append(found[1].strip())
    else:
        return False
    return True


def _signed(number: int) -> int:
    """A long that was printed as unsigned long."""
    return number - 2**64 if number >= 2**63 else number


def _summary(found: re.Match[str]) -> _Summary:
    return _Summary(
        tid=int(found["tid"]),
        priority=int(found["priority"]),
        interval_us=int(found["interval"]),
        count=int(found["count"]),
        min=int(found["min"]),
        avg=int(found["avg"]),
        max=int(found["max"]),
        is_ns=_unit_by_width(found),
    )


def _unit_by_width(found: re.Match[str]) -> bool | None:
    """Whether the line has ns, by the widths of its fields ("%5ld" and "%8ld"); None: blanks were
    lost, or the values are too large to show it."""
    if len(found["count"]) < 7 or len(found["min"]) < 7 or len(found["max"]) < 8:
        return None
    is_ns = None
    for one in (found["act"], found["avg"]):
        if one.startswith(" "):
            if len(one) not in (5, 8):
                return None
            says_ns = len(one) == 8
        elif 5 <= len(one) < 8:
            says_ns = False
        else:
            continue
        if is_ns not in (None, says_ns):
            return None
        is_ns = says_ns
    return is_ns


# --- Text to series -----------------------------------------------------------------------------


class _Unit(NamedTuple):
    """`scale` ns are one of the file's units. `losses`, `doubt`: if the file does not state it."""

    scale: int
    losses: Sequence[Loss] = ()
    doubt: str | None = None


def _unit_of(text: _Text, options: _Options | None) -> _Unit:
    said = {one.is_ns for one in text.summaries.values()}
    if said in ({True}, {False}):
        return _Unit(1 if said == {True} else _US)
    if options is not None:
        return _Unit(1 if options.has("N") else _US)
    least, fewest = _shortest(text)
    return _unstated(least, fewest, has_coarse_timers=text.has_coarse_timers)


def _unstated(least: int | None, fewest: int, *, has_coarse_timers: bool = False) -> _Unit:
    taken = unit_by_shortest(TOOL, least, fewest, has_coarse_timers=has_coarse_timers)
    return _Unit(taken.unit_ns, taken.losses, taken.doubt)


def _shortest(text: _Text) -> tuple[int | None, int]:
    """The shortest latency, in the unit of the file, and how many values a thread has at least.
    With -o it is not in the lines of -v."""
    found = [one.min for one in text.summaries.values() if one.count]
    counts = [one.count for one in text.summaries.values() if one.count]
    if text.last_row >= 0:
        found += [text.rows[0][0]] if text.rows else []
        found += text.figures.get("Min Latencies", [])
        inside = [sum(column) for column in zip(*(row for _, row in text.rows), strict=True)]
        beyond = text.figures.get("Histogram Overflows", [])
        counts += [sum(both) for both in zip_longest(inside, beyond, fillvalue=0) if any(both)]
    for one in text.samples.values():
        counts.append(len(one.values))
        if one.cycles[-1] - one.cycles[0] + 1 == len(one.cycles):
            found.append(min(one.values))
    return min(found, default=None), min(counts, default=0)


def _read_text(content: bytes, kind: str) -> Reading:
    text = _sorted_lines(content)
    command = text.commands[0] if len(text.commands) == 1 else None
    options = None if command is None else _options(command)
    unit = _unit_of(text, options)
    losses = [] if options is not None else [Loss(what="conditions", text=_ASSUMED)]
    names_tool = options is not None or text.summaries or text.dma_latency_us is not None
    if text.last_row >= 0 and "Total" not in text.figures and not names_tool:
        losses.append(Loss(what="conditions", text=_NO_TOOL))
    losses += unit.losses
    if text.last_row >= 0:
        series = _of_rows(text, unit)
    elif text.samples:
        series = list(_of_samples(text, unit, losses))
        if not text.summaries:
            losses.append(Loss(what="single values", text=_NOT_PRINTED))
    else:
        series = list(_of_summaries(text, unit, losses))
    if not series:
        raise InputError("it has no figures", "was the tool ended before it printed them?")
    if any(one.mean is not None and one.values is None for one in series):
        losses.append(Loss(what="mean", text=_CUT_MEAN))
    if options is not None:
        series = [replace(one, name=_quantity(options)) for one in series]
    intervals_us = [one.interval_us for _, one in sorted(text.summaries.items())]
    if options is not None and not intervals_us:
        intervals_us = _intervals_us(options, len(series))
    return Reading(
        tool=TOOL,
        format=kind,
        series=series,
        command=command,
        params=_intervals(intervals_us),
        conditions=_conditions_of(text, options, len(series)),
        events=list(_events_of(text, unit)),
        losses=losses,
        unknown=text.unknown,
        is_cut=text.is_cut or (text.last_row >= 0 and "Histogram Overflows" not in text.figures),
        unit_doubt=unit.doubt,
    )


def _conditions_of(text: _Text, options: _Options | None, threads: int) -> Conditions:
    """What the lines say goes before what the command asked for."""
    asked = Conditions() if options is None else _asked_conditions(options, threads)
    priorities = {one.priority for one in text.summaries.values()}
    if priorities:
        is_realtime = min(priorities) > 0
        is_as_asked = asked.realtime == is_realtime
        asked = msgspec.structs.replace(
            asked,
            policy=asked.policy if is_as_asked else None,
            priority=max(priorities),
            realtime=is_realtime,
        )
    return msgspec.structs.replace(
        asked, policy=text.policy or asked.policy, dma_latency_us=text.dma_latency_us
    )


def _intervals(intervals_us: Sequence[int]) -> dict[str, int | str]:
    """The interval of the first thread; the others have their own, unless the distance is 0."""
    if not intervals_us:
        return {}
    found: dict[str, int | str] = {"interval_ns": intervals_us[0] * 1000}
    if len(set(intervals_us)) > 1:
        found["intervals_us"] = ",".join(map(str, intervals_us))
    return found


def _events_of(text: _Text, unit: _Unit) -> Iterator[Event]:
    value = text.breaks.get("value")
    if value is not None:
        thread = text.breaks.get("thread", 0)
        yield _break_event(value * unit.scale, thread)
    for thread, (cycles, more) in sorted(text.late_cycles.items()):
        if cycles:
            yield _late_event(thread, cycles, more)


def _break_event(value_ns: int, thread: int) -> Event:
    return Event(
        name=THRESHOLD,
        text=f"cyclictest ended at a latency of {value_ns} ns, of the thread with the ID {thread}",
        data={"value_ns": value_ns, "thread_id": thread},
    )


def _late_event(thread: int, cycles: Sequence[int], more: int) -> Event:
    named = ", ".join(map(str, cycles[:_MOST_NAMED]))
    count = len(cycles) + more
    rest = f" and {count - _MOST_NAMED} more" if count > _MOST_NAMED else ""
    return Event(
        name="histogram_overflows",
        text=f"thread {thread}: values above the histogram in the cycles {named}{rest}",
        data={"thread": thread, "cycles": list(cycles[:4096]), "overflow_count": count},
    )


def _of_summaries(text: _Text, unit: _Unit, losses: list[Loss]) -> Iterator[ReadSeries]:
    """A display is not updated when the run ends: a value that broke the run is not in it."""
    if text.is_live:
        losses.append(Loss(what="values", text=_LIVE))
    thread_id, value = text.breaks.get("thread"), text.breaks.get("value", 0)
    for thread, one in sorted(text.summaries.items()):
        most = max(one.max, value) if one.tid == thread_id else one.max
        yield _of_summary(thread, replace(one, max=most), unit)


def _of_summary(thread: int, one: _Summary, unit: _Unit) -> ReadSeries:
    return _with_extremes(
        ReadSeries(name="wakeup", labels={"thread": thread}, count=one.count, step_ns=unit.scale),
        least=one.min,
        mean=one.avg,
        most=one.max,
        unit=unit,
    )


def _with_extremes(
    series: ReadSeries, *, least: int | None, mean: float | None, most: int | None, unit: _Unit
) -> ReadSeries:
    """The series with figures in the unit of the file; a thread that never ran has none."""
    if series.count == 0:
        return replace(series, min=None, mean=None, max=None)
    if least == _NEVER_RAN and unit.scale == 1 and (most is None or most > _NEVER_RAN):
        least = None  # every value was above what the minimum starts at
    return replace(
        series,
        min=None if least is None else least * unit.scale,
        mean=None if mean is None else mean * unit.scale,
        max=None if most is None else most * unit.scale,
    )


def _of_rows(text: _Text, unit: _Unit) -> list[ReadSeries]:
    columns = _thread_count(text)
    overflows = text.figures.get("Histogram Overflows")
    return [_of_column(text, thread, overflows, unit) for thread in range(columns)]


def _of_column(
    text: _Text, thread: int, overflows: Sequence[int] | None, unit: _Unit
) -> ReadSeries:
    buckets = [
        (latency * unit.scale, counts[thread]) for latency, counts in text.rows if counts[thread]
    ]
    if not buckets or buckets[-1][0] < text.last_row * unit.scale:
        buckets.append((text.last_row * unit.scale, 0))  # the overflow begins above it
    inside = sum(count for _, count in buckets)
    inside = _figure(text, "Total", thread, inside)
    overflow = None if overflows is None else overflows[thread]
    series = ReadSeries(
        name="wakeup",
        labels={"thread": thread},
        count=inside + (overflow or 0),
        step_ns=unit.scale,
        buckets=buckets,
        bucket_width_ns=unit.scale,
        overflow=overflow,
    )
    return _with_extremes(
        series,
        least=_figure(text, "Min Latencies", thread, None),
        mean=_figure(text, "Avg Latencies", thread, None),
        most=_figure(text, "Max Latencies", thread, None),
        unit=unit,
    )


def _figure(text: _Text, name: str, thread: int, otherwise: Any) -> Any:
    found = text.figures.get(name)
    return otherwise if found is None else found[thread]


def _thread_count(text: _Text) -> int:
    """The columns that are threads: with -H the last one is their sum."""
    columns = text.columns
    least = text.figures.get("Min Latencies")
    if least is None:  # cut off before
        is_sum = columns > 2 and all(sum(one[:-1]) == one[-1] for _, one in text.rows)
        threads = columns - 1 if is_sum else columns
    else:
        threads = len(least)
    if not 0 < threads <= columns <= threads + 1:
        raise InputError(f"a histogram of {columns} columns, and minima of {threads} threads", "")
    if threads < columns:
        for latency, counts in text.rows:
            if sum(counts[:-1]) != counts[-1]:
                raise InputError(f"row {latency}: the last column is not the sum of the others", "")
    for name, figures in text.figures.items():
        if len(figures) not in (threads, columns):
            raise InputError(f"'# {name}' has {len(figures)} figures of {threads} threads", "")
    return threads


def _broke_run(text: _Text, thread: int) -> bool:
    """Whether a value of this thread ended the run: their IDs are in the order of the threads."""
    named = text.breaks.get("thread")
    if len(text.samples) == 1 and len(text.thread_ids) < 2:
        return named is not None
    return thread < len(text.thread_ids) and text.thread_ids[thread] == named


def _of_samples(text: _Text, unit: _Unit, losses: list[Loss]) -> Iterator[ReadSeries]:
    for thread, samples in sorted(text.samples.items()):
        series = ReadSeries(name="wakeup", labels={"thread": thread}, step_ns=unit.scale)
        step = _reduction(samples, thread)
        values = array("q", (value * unit.scale for value in samples.values))
        broke = text.breaks.get("value", 0) if _broke_run(text, thread) else 0
        if broke > max(samples.values):
            values.append(broke * unit.scale)  # it came after the last line
        if step == 1:
            _note_missing(text, thread, samples.cycles, losses)
            yield replace(series, values=values, count=len(values))
            continue
        losses.append(Loss(what="single values", text=_REDUCED.format(step=step or "N")))
        yield replace(series, count=len(values) * step or None, max=max(values))


def _reduction(samples: _Samples, thread: int) -> int:
    """How many values each line stands for: 1, or the N of -o N, of which the line has the largest
    and its cycle; 0: several, and the lines are too few to tell. Where no value was above 0, the
    cycle is that of an earlier line."""
    known = [
        (place, cycle)
        for place, (cycle, value) in enumerate(zip(samples.cycles, samples.values, strict=True))
        if value
    ]
    begin = known[0][1] - known[0][0] if known else 0
    if all(cycle - place == begin for place, cycle in known):
        return 1
    least = max(cycle // (place + 1) + 1 for place, cycle in known)
    most = min((cycle // place for place, cycle in known if place), default=least)
    if least > max(most, 1) or least == 1:
        raise InputError(f"the cycles of thread {thread} have gaps or begin again", "")
    return least if least == most else 0


def _note_missing(text: _Text, thread: int, cycles: Sequence[int], losses: list[Loss]) -> None:
    if cycles[0] > 0:
        words = (
            f"The values of thread {thread} begin with cycle {cycles[0]}: earlier ones are missing."
        )
        losses.append(Loss(what="values", text=words))
    summary = text.summaries.get(thread)
    missing = 0 if summary is None else summary.count - cycles[0] - len(cycles)
    if missing > 0:
        words = (
            f"The last {missing} values of thread {thread} are missing; the largest of all is "
            f"{summary.max if summary else 0} in the unit of the file."
        )
        losses.append(Loss(what="values", text=words))


# --- JSON ---------------------------------------------------------------------------------------


class _Options(NamedTuple):
    """What a command line says: values of options by their short names, or their long ones."""

    given: Mapping[str, str]

    def number(self, *names: str) -> int | None:
        """Of the first that was given; as atoi reads it."""
        for name in names:
            if name in self.given:
                found = re.match(r"\s*[+-]?\d{1,9}", self.given[name])
                return int(found[0]) if found else 0
        return None

    def has(self, *names: str) -> bool:
        return any(name in self.given for name in names)


_WITH_VALUE = set("bcdDFhHilopeyT")
_MAY_HAVE_VALUE = set("aAt")
_LONG = {
    "affinity": "a",
    "aligned": "A",
    "breaktrace": "b",
    "clock": "c",
    "distance": "d",
    "duration": "D",
    "fifo": "F",
    "histogram": "h",
    "histofall": "H",
    "interval": "i",
    "loops": "l",
    "mlockall": "m",
    "nsecs": "N",
    "oscope": "o",
    "prio": "p",
    "priority": "p",
    "posix_timers": "x",
    "relative": "r",
    "smp": "S",
    "system": "s",
    "threads": "t",
}
_LONG_WITH_VALUE = {"policy", "latency", "json", "histfile", "mainaffinity", "spike", "spike-nodes"}


def _options(command: str) -> _Options:
    """The options of a command line, which has no quotes: rt-tests joins the words by blanks."""
    words = command.split()[1:]
    given: dict[str, str] = {}
    while words:
        word = words.pop(0)
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            short = _LONG.get(name, name)
            takes = short in _WITH_VALUE or name in _LONG_WITH_VALUE
            given[short] = value if equals or not (takes and words) else words.pop(0)
        elif word.startswith("-"):
            _take_cluster(word[1:], words, given)
    return _Options(given)


def _take_cluster(letters: str, words: list[str], given: dict[str, str]) -> None:
    while letters:
        letter, letters = letters[0], letters[1:]
        if letter in _WITH_VALUE:
            given[letter] = letters or (words.pop(0) if words else "")
            return
        if letter in _MAY_HAVE_VALUE:
            is_next = not letters and bool(words) and words[0][:1].isdigit()
            given[letter] = words.pop(0) if is_next else letters
            return
        given[letter] = ""


_NAN = re.compile(r'("avg"\s*:\s*)-?nan\b')
_KNOWN = {
    "file_version",
    "cmdline",
    "rt_test_version",
    "start_time",
    "end_time",
    "return_code",
    "sysinfo",
    "num_threads",
    "resolution_in_ns",
    "thread",
}
_KNOWN_THREAD = {"histogram", "cycles", "min", "max", "avg", "cpu", "node"}
_FACTS = {
    "sysname": "kernel.name",
    "nodename": "machine.node",
    "release": "kernel.release",
    "version": "kernel.version",
    "machine": "machine.arch",
}


def _read_json(content: bytes) -> Reading:
    document = _document(content)
    command = _text_at(document, "cmdline")
    options = _options(command or "")
    threads = document.get("thread")
    if not isinstance(threads, dict) or not threads or len(threads) > _MOST_THREADS:
        raise InputError("'thread' has no threads", "")
    unit = _json_unit(document, command, options, threads)
    has_histogram = _has_histogram(threads, command, options)
    name = _quantity(options)
    series = [
        _of_thread(key, one, name, unit, options if has_histogram else None)
        for key, one in threads.items()
    ]
    series = _told_apart(series, list(threads))
    started, duration_ns = _times(document)
    return Reading(
        tool=TOOL,
        format="JSON",
        series=series,
        version=_text_at(document, "rt_test_version"),
        command=command,
        params=_intervals(_intervals_us(options, len(series))) if command else {},
        conditions=_asked_conditions(options, len(series)) if command else Conditions(),
        facts=_facts(document),
        events=list(_json_events(document)),
        losses=unit.losses,
        unknown=_unknown_keys(document, threads),
        started_utc=started,
        duration_ns=duration_ns,
        unit_doubt=unit.doubt,
    )


def _document(content: bytes) -> dict[str, Any]:
    """The object in a file, in which lines of the tool may come before it and after it. Keys have
    no colon at their end, which rt-tests writes to some."""
    text = "\n".join(line for _, line in lines_of(content))
    begin = re.search(r"^[ \t]*\{", text, re.MULTILINE)
    try:
        text = _NAN.sub(r"\1null", text[begin.end() - 1 :] if begin else text)
        found, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError) as error:
        reason = "nested too deep, or a number is too long"
        if isinstance(error, json.JSONDecodeError):
            reason = f"line {error.lineno}: {error.msg}"
        raise InputError(f"not JSON: {reason}", "") from None
    if not isinstance(found, dict):
        raise InputError("it is not a JSON object", "")
    if re.search(r"^\s*\{", text[end:], re.MULTILINE):
        raise InputError("it has more than one JSON object", "import each as a file of its own")
    return {key.removesuffix(":"): value for key, value in found.items()}


def _text_at(document: Mapping[str, Any], key: str) -> str | None:
    found = document.get(key)
    return found if isinstance(found, str) and found else None


def _json_unit(
    document: Mapping[str, Any],
    command: str | None,
    options: _Options,
    threads: Mapping[str, Any],
) -> _Unit:
    said = document.get("resolution_in_ns")
    if said in (0, 1):
        return _Unit(1 if said else _US)
    if said is not None:
        raise InputError(f"'resolution_in_ns' is {json.dumps(said)[:40]}, and not 0 or 1", "")
    if command is not None:
        return _Unit(1 if options.has("N") else _US)
    figures = [one for one in threads.values() if isinstance(one, dict) and one.get("cycles")]
    least = [one["min"] for one in figures if isinstance(one.get("min"), int)]
    counts = [one["cycles"] for one in figures if isinstance(one["cycles"], int)]
    return _unstated(min(least, default=None), min(counts, default=0))


def _has_histogram(threads: Mapping[str, Any], command: str | None, options: _Options) -> bool:
    """Whether histograms were asked for: newer versions write an empty one in any case."""
    is_filled = any(isinstance(one, dict) and one.get("histogram") for one in threads.values())
    return is_filled or (command is not None and options.has("h", "H"))


def _quantity(options: _Options) -> str:
    """With -x a periodic timer's signal wakes the thread, whether -r or -s is given or not."""
    if options.has("x"):
        return "wakeup-signal"
    return "wakeup-relative" if options.has("r", "s") else "wakeup"


def _of_thread(
    key: str, one: object, name: str, unit: _Unit, options: _Options | None
) -> ReadSeries:
    """`options`: of a command that asked for histograms."""
    where = f"thread {printable(key)[:20]}"
    if not isinstance(one, dict):
        raise InputError(f"{where} is not an object", "")
    count = _whole(one, "cycles", where)
    if count is None or count < 0:
        raise InputError(f"{where}: 'cycles' is not a count", "")
    cpu = _whole(one, "cpu", where)
    series = ReadSeries(
        name=name,
        labels={"thread": _thread_label(key)} if cpu is None or cpu < 0 else {"cpu": cpu},
        count=count,
        step_ns=unit.scale,
    )
    if options is not None and "histogram" in one:
        buckets = _json_buckets(one.get("histogram"), unit, where)
        last = (options.number("h", "H") or 0) - 1
        if last >= 0 and (not buckets or buckets[-1][0] < last * unit.scale):
            buckets.append((last * unit.scale, 0))  # the overflow begins above it
        overflow = max(0, count - sum(number for _, number in buckets))
        series = replace(series, buckets=buckets, bucket_width_ns=unit.scale, overflow=overflow)
    return _with_extremes(
        series,
        least=_whole(one, "min", where),
        mean=_real(one, "avg", where),
        most=_whole(one, "max", where),
        unit=unit,
    )


def _told_apart(series: Sequence[ReadSeries], keys: Sequence[str]) -> list[ReadSeries]:
    """The series of several threads of one CPU have the thread too."""
    shared = Counter(one.labels.get("cpu") for one in series)
    return [
        replace(one, labels={**one.labels, "thread": _thread_label(key)})
        if shared[one.labels.get("cpu")] > 1
        else one
        for one, key in zip(series, keys, strict=True)
    ]


def _thread_label(key: str) -> int | str:
    return int(key) if key.isascii() and key.isdigit() and len(key) < 6 else key[:60]


def _json_buckets(found: object, unit: _Unit, where: str) -> list[tuple[int, int]]:
    if not isinstance(found, dict):
        raise InputError(f"{where}: 'histogram' is not an object", "")
    buckets = []
    for key, count in found.items():
        if not (key.isascii() and key.isdigit() and len(key) < 16):
            raise InputError(f"{where}: the bucket '{printable(key)[:20]}' is not a latency", "")
        if not isinstance(count, int) or isinstance(count, bool) or count < 0:
            raise InputError(f"{where}: the count of the bucket {key} is not a count", "")
        buckets.append((int(key) * unit.scale, count))
    return sorted(buckets)


def _whole(one: Mapping[str, Any], key: str, where: str) -> int | None:
    found = one.get(key)
    if found is None:
        return None
    if not isinstance(found, int) or isinstance(found, bool):
        raise InputError(f"{where}: '{key}' is not a whole number", "")
    return found


def _real(one: Mapping[str, Any], key: str, where: str) -> float | None:
    found = one.get(key)
    if found is None:
        return None
    if not isinstance(found, (int, float)) or isinstance(found, bool):
        raise InputError(f"{where}: '{key}' is not a number", "")
    return found


def _intervals_us(options: _Options, threads: int) -> list[int]:
    """A thread's interval is longer than that of the one before it by the distance, except with a
    histogram."""
    first = options.number("i")
    first = 1000 if first is None else first
    distance = options.number("d")
    distance = 500 if distance is None else distance
    step = 0 if options.has("h", "H") else distance
    return [first + place * step for place in range(threads)]


def _asked_conditions(options: _Options, threads: int) -> Conditions:
    policy = options.given.get("policy", options.given.get("y", "")).lower()
    priority = options.number("p") or 0
    is_spread = options.has("priospread")
    if priority and policy not in ("fifo", "rr"):
        policy = "fifo"
    if policy in ("fifo", "rr") or is_spread:
        policy, priority = policy or "fifo", priority or threads + 1
    policy = policy or "other"
    return Conditions(
        policy="other" if policy == "normal" else policy,
        priority=priority,
        realtime=policy in ("fifo", "rr"),
        memory_locked=options.has("m"),
        clock="realtime" if options.number("c") == 1 else "monotonic",
    )


def _times(document: Mapping[str, Any]) -> tuple[str | None, int | None]:
    begin, end = (_time(_text_at(document, key)) for key in ("start_time", "end_time"))
    if begin is None:
        return None, None
    duration_ns = None if end is None else max(0, round((end - begin).total_seconds())) * 10**9
    return begin.strftime("%Y-%m-%dT%H:%M:%SZ"), duration_ns


def _time(text: str | None) -> datetime | None:
    try:
        return None if text is None else parsedate_to_datetime(text).astimezone(UTC)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _facts(document: Mapping[str, Any]) -> dict[str, Scalar]:
    system = document.get("sysinfo")
    if not isinstance(system, dict):
        return {}
    found: dict[str, Scalar] = {
        fact: system[key][:1000]
        for key, fact in _FACTS.items()
        if isinstance(system.get(key), str) and system[key]
    }
    if system.get("realtime") in (0, 1):
        found["kernel.realtime"] = bool(system["realtime"])
    return found


def _json_events(document: Mapping[str, Any]) -> Iterator[Event]:
    code = document.get("return_code")
    if isinstance(code, int) and code != 0:
        yield Event(
            name="exit_code", text=f"cyclictest ended with {code}", data={"exit_code": code}
        )


def _unknown_keys(document: Mapping[str, Any], threads: Mapping[str, Any]) -> dict[str, str]:
    found = {key: value for key, value in document.items() if key not in _KNOWN}
    system = document.get("sysinfo")
    if isinstance(system, dict):
        known = {*_FACTS, "realtime"}
        found |= {f"sysinfo.{key}": value for key, value in system.items() if key not in known}
    for thread, one in threads.items():
        rest = {key: value for key, value in one.items() if key not in _KNOWN_THREAD}
        found |= {f"thread.{thread}.{key}": value for key, value in rest.items()}
    return {key: json.dumps(value) for key, value in found.items()}


# --- Formats ------------------------------------------------------------------------------------


def is_json_of(content: bytes, tool: str) -> bool:
    """Whether a file has the JSON of the rt-tests tool `tool`, by the command in its head."""
    found = _JSON_COMMAND.search(content, 0, _HEAD_BYTES)
    if found is None:
        return False
    words = found[1].decode("utf-8", "replace").split()
    return bool(words) and PurePath(words[0]).name == tool


def _is_json(content: bytes) -> bool:
    """Its own, or one from which the command was removed: other tools of rt-tests have no
    histograms, and jitterdebugger does not count its threads."""
    if is_json_of(content, TOOL):
        return True
    head = content[:_HEAD_BYTES]
    has_all = all(b'"%s"' % key in head for key in (b"num_threads", b"resolution_in_ns"))
    return has_all and b'"histogram"' in head and _JSON_COMMAND.search(head) is None


def _is_histogram(content: bytes) -> bool:
    """Also one that may be of cyclicdeadline, unless a line says so."""
    is_one = _is_of(content, _HISTOGRAM_HEAD) or _is_of(content, _HISTOGRAM_END)
    return is_one and not _is_samples(content) and not _is_of(content, _DEADLINE_HEAD)


def _is_samples(content: bytes) -> bool:
    return _is_of(content, _SAMPLES_HEAD) and not is_json_of(content, TOOL)


def _is_summary(content: bytes) -> bool:
    is_other = _is_histogram(content) or _is_samples(content) or _is_json(content)
    return _is_of(content, _SUMMARY_HEAD) and not is_other


def _is_of(content: bytes, begin: re.Pattern[bytes]) -> bool:
    """At either end of the file: what was printed before it, such as a boot, may be long."""
    ends = content[:_HEAD_BYTES], content[_HEAD_BYTES:][-_HEAD_BYTES:]
    return any(begin.search(one.replace(b"\r\n", b"\n")) for one in ends)


_NOTHING = {
    rb"cyclictest V \d": (
        "it is the help text of cyclictest: nothing was measured",
        "import the output of a run",
    ),
    rb"Unable to change scheduling policy!": (
        "the tool was refused real-time scheduling: nothing was measured",
        "run it as root",
    ),
    rb"# /dev/cpu_dma_latency set to \d+us\s*\Z": (
        "it has the first line of the tool only: its figures are in another file, or it failed",
        "import the file of --json or --histfile, or see its standard error",
    ),
    rb"(?:(?:INFO|WARN|FATAL): [^\n]*\s*)+\Z": (
        "it has messages of the tool only: nothing was measured, or the figures are elsewhere",
        "import its standard output, or the file of --json",
    ),
}


def _is_nothing(content: bytes) -> bool:
    return len(content) < _HEAD_BYTES and any(re.match(one, content) for one in _NOTHING)


def _read_nothing(content: bytes) -> Reading:
    """What is left of a tool that measured nothing is refused with the reason."""
    for begin, told in _NOTHING.items():
        if re.match(begin, content):
            raise InputError(*told)
    raise InputError("it has no figures", "")


FORMATS = [
    Format("cyclictest, JSON", _is_json, _read_json),
    Format(
        "cyclictest, single values", _is_samples, lambda content: _read_text(content, "text (-v)")
    ),
    Format(
        "cyclictest, histogram", _is_histogram, lambda content: _read_text(content, "histogram")
    ),
    Format("cyclictest, text", _is_summary, lambda content: _read_text(content, "text")),
    Format("cyclictest, messages", _is_nothing, _read_nothing),
]
