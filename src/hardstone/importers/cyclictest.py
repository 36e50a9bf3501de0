"""cyclictest of rt-tests, its text: histogram, single values (-v), summary and live display.

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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Any, NamedTuple

import msgspec

from hardstone.errors import InputError, printable
from hardstone.event_names import THRESHOLD
from hardstone.importers.cyclictest_command import (
    Options,
    asked_conditions,
    interval_params,
    intervals_us_of,
    options_of,
    quantity_of,
)
from hardstone.importers.reading import Format, Reading, ReadSeries
from hardstone.importers.recognise import lines_of
from hardstone.importers.rt_json import json_tool
from hardstone.importers.unstated_unit import unit_by_shortest
from hardstone.model import Conditions, Event, Loss

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


class Unit(NamedTuple):
    """`scale` ns are one of the file's units. `losses`, `doubt`: if the file does not state it."""

    scale: int
    losses: Sequence[Loss] = ()
    doubt: str | None = None


def _unit_of(text: _Text, options: Options | None) -> Unit:
    said = {one.is_ns for one in text.summaries.values()}
    if said in ({True}, {False}):
        return Unit(1 if said == {True} else _US)
    if options is not None:
        return Unit(1 if options.has("N") else _US)
    least, fewest = _shortest(text)
    return unstated_unit(least, fewest, has_coarse_timers=text.has_coarse_timers)


def unstated_unit(least: int | None, fewest: int, *, has_coarse_timers: bool = False) -> Unit:
    taken = unit_by_shortest(TOOL, least, fewest, has_coarse_timers=has_coarse_timers)
    return Unit(taken.unit_ns, taken.losses, taken.doubt)


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
    options = None if command is None else options_of(command)
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
        series = [replace(one, name=quantity_of(options)) for one in series]
    intervals_us = [one.interval_us for _, one in sorted(text.summaries.items())]
    if options is not None and not intervals_us:
        intervals_us = intervals_us_of(options, len(series))
    return Reading(
        tool=TOOL,
        format=kind,
        series=series,
        command=command,
        params=interval_params(intervals_us),
        conditions=_conditions_of(text, options, len(series)),
        events=list(_events_of(text, unit)),
        losses=losses,
        unknown=text.unknown,
        is_cut=text.is_cut or (text.last_row >= 0 and "Histogram Overflows" not in text.figures),
        unit_doubt=unit.doubt,
    )


def _conditions_of(text: _Text, options: Options | None, threads: int) -> Conditions:
    """What the lines say goes before what the command asked for."""
    asked = Conditions() if options is None else asked_conditions(options, threads)
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


def _events_of(text: _Text, unit: Unit) -> Iterator[Event]:
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


def _of_summaries(text: _Text, unit: Unit, losses: list[Loss]) -> Iterator[ReadSeries]:
    """A display is not updated when the run ends: a value that broke the run is not in it."""
    if text.is_live:
        losses.append(Loss(what="values", text=_LIVE))
    thread_id, value = text.breaks.get("thread"), text.breaks.get("value", 0)
    for thread, one in sorted(text.summaries.items()):
        most = max(one.max, value) if one.tid == thread_id else one.max
        yield _of_summary(thread, replace(one, max=most), unit)


def _of_summary(thread: int, one: _Summary, unit: Unit) -> ReadSeries:
    return with_extremes(
        ReadSeries(name="wakeup", labels={"thread": thread}, count=one.count, step_ns=unit.scale),
        least=one.min,
        mean=one.avg,
        most=one.max,
        unit=unit,
    )


def with_extremes(
    series: ReadSeries, *, least: int | None, mean: float | None, most: int | None, unit: Unit
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


def _of_rows(text: _Text, unit: Unit) -> list[ReadSeries]:
    columns = _thread_count(text)
    overflows = text.figures.get("Histogram Overflows")
    return [_of_column(text, thread, overflows, unit) for thread in range(columns)]


def _of_column(text: _Text, thread: int, overflows: Sequence[int] | None, unit: Unit) -> ReadSeries:
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
    return with_extremes(
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


def _of_samples(text: _Text, unit: Unit, losses: list[Loss]) -> Iterator[ReadSeries]:
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


# --- Formats ------------------------------------------------------------------------------------


def is_json(content: bytes) -> bool:
    """Its own, or one from which the command was removed: other tools of rt-tests have no
    histograms, and jitterdebugger does not count its threads."""
    if json_tool(content) == TOOL:
        return True
    head = content[:_HEAD_BYTES]
    has_all = all(b'"%s"' % key in head for key in (b"num_threads", b"resolution_in_ns"))
    return has_all and b'"histogram"' in head and _JSON_COMMAND.search(head) is None


def _is_histogram(content: bytes) -> bool:
    """Also one that may be of cyclicdeadline, unless a line says so."""
    is_one = _is_of(content, _HISTOGRAM_HEAD) or _is_of(content, _HISTOGRAM_END)
    return is_one and not _is_samples(content) and not _is_of(content, _DEADLINE_HEAD)


def _is_samples(content: bytes) -> bool:
    return _is_of(content, _SAMPLES_HEAD) and json_tool(content) != TOOL


def _is_summary(content: bytes) -> bool:
    is_other = _is_histogram(content) or _is_samples(content) or is_json(content)
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
    Format(
        "cyclictest, single values", _is_samples, lambda content: _read_text(content, "text (-v)")
    ),
    Format(
        "cyclictest, histogram", _is_histogram, lambda content: _read_text(content, "histogram")
    ),
    Format("cyclictest, text", _is_summary, lambda content: _read_text(content, "text")),
    Format("cyclictest, messages", _is_nothing, _read_nothing),
]
