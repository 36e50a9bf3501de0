"""jitterdebugger: results.json, samples.raw, the CSV that jittersamples makes of it, and its text.

From the public source, igaw/jitterdebugger at 045a274 (2024), and its tags 0.1 to 0.3.1. What it
does not print and its source says:

- A value is cut to whole microseconds, or is in ns with -N. The JSON says which from version 3 on;
  before, there was no -N. Text and samples never say it.
- The histogram ends at 1 ms in either unit. A larger value is in count, mean and maximum only.
- Its numbers of CPUs in results.json and in the samples count the threads. Only with a thread on
  each CPU that is online are they those of the CPUs. The text has the CPU ("A:").
- It runs with SCHED_FIFO, locked memory, CLOCK_MONOTONIC and /dev/cpu_dma_latency at 0, or ends
  (since 2024 also where that file does not exist).
- Samples are records of 28 bytes: thread (u32), time of the wake-up on CLOCK_MONOTONIC (s and ns,
  i64 each; i32 where time_t is), value (u64). They are written until the tool is told to end, and
  dropped while its buffer is full.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest
from itertools import pairwise
from typing import Any

from hardstone.errors import InputError, printable
from hardstone.importers import fields
from hardstone.importers.reading import Format, Reading, ReadSeries
from hardstone.importers.unstated_unit import unit_by_shortest
from hardstone.model import Conditions, Event, Loss, Scalar, Worst

_TOOL = "jitterdebugger"
_ALWAYS = Conditions(
    policy="fifo", realtime=True, memory_locked=True, clock="monotonic", dma_latency_us=0
)
_US = 1000
_RANGE_NS = 1_000_000
_NEVER = 2**64 - 1  # the minimum of a thread without values
_FACTS = {
    "sysname": "kernel.name",
    "nodename": "machine.node",
    "release": "kernel.release",
    "version": "kernel.version",
    "machine": "machine.arch",
    "cpus_online": "cpu.count",
}
_FIGURES = frozenset(("histogram", "count", "min", "max", "avg"))
_HEAD = 8192
_IS_JSON = re.compile(rb'"cpu"\s*:\s*\{\s*"\d+"\s*:\s*\{\s*"(?:histogram|count|min|max|avg)"')
_THREADS = Loss(
    what="conditions",
    text="Its numbers of CPUs count the measuring threads: the file does not say on which CPU each"
    " one ran.",
)


def _is_json(content: bytes) -> bool:
    head = content[:_HEAD]
    return head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{") and bool(_IS_JSON.search(head))


def _read_json(content: bytes) -> Reading:
    return _read_results(content.decode("utf-8-sig", "replace"))


def _read_results(text: str) -> Reading:
    document = fields.json_object(text)
    version = fields.whole_of(document.get("version", 1), "version")
    system = fields.object_of(document.get("sysinfo", {}), "sysinfo")
    unit_ns = _unit_of(version, system)
    cpus = fields.object_of(document.get("cpu"), "cpu")
    is_each = system.get("cpus_online") == len(cpus)
    unknown = {name: value for name, value in document.items() if name not in _DOCUMENT}
    unknown |= {
        f"sysinfo.{name}": value
        for name, value in system.items()
        if name not in (*_FACTS, "resolution_in_ns")
    }
    series = []
    for name, value in cpus.items():
        place = f"cpu.{fields.label(name)}"
        entry = fields.object_of(value, place)
        labels = {"cpu" if is_each else "thread": fields.count(name, place)}
        series.append(_of_thread(entry, labels, unit_ns, place))
        unknown |= {f"{place}.{key}": entry[key] for key in entry if key not in _FIGURES}
    if not series:
        raise InputError("cpu: it has no thread")
    return Reading(
        tool=_TOOL,
        format="JSON",
        conditions=_ALWAYS,
        series=sorted(series, key=_number_of),
        version=None,
        facts=_facts_of(system),
        losses=[] if is_each else [_THREADS],
        unknown=fields.as_json(unknown),
    )


_DOCUMENT = ("version", "sysinfo", "cpu")


def _number_of(one: ReadSeries) -> int:
    return next(number for number in one.labels.values() if isinstance(number, int))


def _unit_of(version: int, system: Mapping[str, Any]) -> int:
    if "resolution_in_ns" not in system:
        if version > 2:
            raise InputError("sysinfo.resolution_in_ns: it is missing, so the unit is not known")
        return _US
    unit_ns = fields.whole_of(system["resolution_in_ns"], "sysinfo.resolution_in_ns")
    if unit_ns not in (1, _US):
        raise InputError(f"sysinfo.resolution_in_ns: {unit_ns} is neither 1 nor 1000")
    return unit_ns


def _facts_of(system: Mapping[str, Any]) -> dict[str, Scalar]:
    found = {_FACTS[name]: value for name, value in system.items() if name in _FACTS}
    return {name: value for name, value in found.items() if isinstance(value, str | int)}


def _of_thread(
    entry: Mapping[str, Any], labels: Mapping[str, int], unit_ns: int, place: str
) -> ReadSeries:
    counts = _buckets_of(entry, place)
    total = sum(number for _, number in counts)
    count = None if entry.get("count") is None else fields.whole_of(entry["count"], place)
    if count is not None and count < total:
        raise InputError(f"{place}: {total} values in its histogram, but a count of {count}")
    overflow = None if count is None else count - total
    least, most = _extreme(entry, "min", place), _extreme(entry, "max", place)
    mean = None if entry.get("avg") is None else fields.number_of(entry["avg"], f"{place}.avg")
    if count == 0:
        return ReadSeries(name="wakeup", labels=labels, count=0, step_ns=unit_ns)
    _check_extremes(counts, overflow, least, most, unit_ns, place)
    _check_mean(counts, count, mean, most, unit_ns, place)
    return ReadSeries(
        name="wakeup",
        labels=labels,
        count=count,
        min=None if least is None else least * unit_ns,
        mean=None if mean is None else mean * unit_ns,
        max=None if most is None else most * unit_ns,
        step_ns=unit_ns,
        buckets=_with_end(
            [(value * unit_ns, number) for value, number in counts], overflow, unit_ns
        ),
        bucket_width_ns=unit_ns,
        overflow=overflow,
    )


def _with_end(
    buckets: list[tuple[int, int]], overflow: int | None, unit_ns: int
) -> list[tuple[int, int]]:
    """With the last bucket that the tool has, which shows where its overflow begins."""
    last_ns = _RANGE_NS - unit_ns
    if overflow == 0 or (buckets and buckets[-1][0] >= last_ns):
        return buckets
    return [*buckets, (last_ns, 0)]


def _buckets_of(entry: Mapping[str, Any], place: str) -> list[tuple[int, int]]:
    place = f"{place}.histogram"
    found = [
        (fields.count(value, place), fields.whole_of(number, f"{place}.{fields.label(value)}"))
        for value, number in fields.object_of(entry.get("histogram"), place).items()
    ]
    return sorted((value, number) for value, number in found if number)


def _extreme(entry: Mapping[str, Any], name: str, place: str) -> int | None:
    value = entry.get(name)
    if value is None or value == _NEVER:
        return None
    return fields.whole_of(value, f"{place}.{name}")


def _check_extremes(
    counts: Sequence[tuple[int, int]],
    overflow: int | None,
    least: int | None,
    most: int | None,
    unit_ns: int,
    place: str,
) -> None:
    """A minimum or maximum that its histogram cannot have."""
    if least is not None and most is not None and least > most:
        raise InputError(f"{place}: a minimum of {least} above the maximum of {most}")
    if overflow and most is not None and most * unit_ns < _RANGE_NS:
        raise InputError(
            f"{place}: {overflow} of its values are not in its histogram, but its maximum of {most}"
            " would be"
        )
    if not counts:
        return
    first, last = counts[0][0], counts[-1][0]
    if least is not None and least != first:
        raise InputError(f"{place}: a minimum of {least}, but its histogram begins at {first}")
    if most is not None and (last > most or (overflow == 0 and last != most)):
        raise InputError(f"{place}: a maximum of {most}, but its histogram ends at {last}")


def _check_mean(
    counts: Sequence[tuple[int, int]],
    count: int | None,
    mean: float | None,
    most: int | None,
    unit_ns: int,
    place: str,
) -> None:
    """A mean that its histogram, and the values that were dropped from it, cannot have."""
    if mean is None or count is None:
        return
    inside = sum(value * number for value, number in counts)
    dropped = count - sum(number for _, number in counts)
    lowest = (inside + dropped * _RANGE_NS // unit_ns) / count
    highest = (inside + dropped * most) / count if most is not None else float("inf")
    if not lowest - 0.011 <= mean <= highest + 0.011:
        raise InputError(f"{place}: a mean of {mean} does not fit its histogram")


_LINE = re.compile(
    r"T:\s*(?P<thread>\d{1,6})\s*\(\s*(?P<tid>\d{1,10})\)\s*A:\s*(?P<cpu>\d{1,6})\s*C:\s*(?P<count>\d{1,19})"
    r"\s*Min:\s*(?P<min>\d{1,20})\s*Avg:\s*(?P<mean>-?\w[\w.]{0,30})\s*Max:(?P<field>\s*(?P<max>\d{1,20})\s?)"
    r"(?!\d)",
    re.ASCII,
)
_FIELD = 10  # characters of the maximum, blanks before it included
_LIVE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")
_HIT = re.compile(r"Thread (\d{1,10}) on CPU (\d{1,6}) hit (\d{1,19}) (us|ns) latency", re.ASCII)
_IS_TEXT = re.compile(rb"T:\s*\d+ \(\s*\d+\) A:\s*\d+ C:\s*\d+ Min:")
_IN_TEXT = re.compile(r'^\{\s*(?:"version"|"sysinfo"|"cpu")\s*:', re.MULTILINE)


def _is_text(content: bytes) -> bool:
    return bool(_IS_TEXT.search(content[: 1 << 16]))


def _read_text(content: bytes) -> Reading:
    """Its figures at the end; those of results.json where the text has that too.

    Screen codes are left out and not obeyed: where the file was cut in the middle of a line, that
    line would be written over the figures of the one before.
    """
    text = _LIVE.sub("", content.decode("utf-8", "replace"))
    results = _IN_TEXT.search(text)
    if results is not None:
        return _read_results(text[results.start() :])
    lines = text.split("\n")
    found: dict[int, tuple[int, re.Match[str]]] = {}
    is_cut = False
    for number, line in enumerate(lines, start=1):
        match = _LINE.search(line)
        if number == len(lines) and match is not None and len(match["field"]) < _FIELD:
            match = None  # its maximum may have lost digits
        is_cut = match is None and line.lstrip().startswith("T:")
        if is_cut and number < len(lines):
            raise InputError(f"line {number}: {fields.quoted(line)} is not a line of a thread")
        if match is not None:
            thread = int(match["thread"])
            if thread in found and found[thread][1]["tid"] != match["tid"]:
                raise InputError(f"line {number}: a second run begins", "import each by itself")
            found[thread] = number, match
    hits = list(_HIT.finditer(text))
    rows = [match for _, match in found.values() if int(match["count"])]
    guess = unit_by_shortest(
        _TOOL,
        min((int(row["min"]) for row in rows), default=None),
        min((int(row["count"]) for row in rows), default=0),
    )
    unit_ns = guess.unit_ns
    if hits:
        unit_ns = 1 if hits[0][4] == "ns" else _US
    series = [_of_line(match, unit_ns, f"line {at}") for _, (at, match) in sorted(found.items())]
    return Reading(
        tool=_TOOL,
        format="text",
        conditions=_ALWAYS,
        series=series,
        events=[_event_of(hit) for hit in hits],
        losses=[] if hits else guess.losses,
        unit_doubt=None if hits else guess.doubt,
        is_cut=is_cut,
    )


def _of_line(match: re.Match[str], unit_ns: int, place: str) -> ReadSeries:
    labels = {"cpu": int(match["cpu"])}
    count = fields.count(match["count"], place)
    if count == 0:
        return ReadSeries(name="wakeup", labels=labels, count=0, step_ns=unit_ns)
    least, most = fields.count(match["min"], place), fields.count(match["max"], place)
    mean = fields.decimal(match["mean"], place)
    if not least - 0.01 <= float(mean) <= most + 0.01:
        raise InputError(f"{place}: a mean of {mean} is not from {least} to {most}")
    return ReadSeries(
        name="wakeup",
        labels=labels,
        count=count,
        min=least * unit_ns,
        mean=float(mean * unit_ns),
        max=most * unit_ns,
        step_ns=unit_ns,
    )


def _event_of(hit: re.Match[str]) -> Event:
    value_ns = int(hit[3]) * (1 if hit[4] == "ns" else _US)
    return Event(
        name="break_hit",
        text=printable(f"jitterdebugger ended at its threshold: {hit[0]}"),
        data={"thread": int(hit[2]), "value_ns": min(value_ns, fields.MOST)},
    )


@dataclass(frozen=True)
class _Thread:
    """The samples of one thread: times of wake-ups in ns, values as they are in the file."""

    at_ns: list[int]
    values: list[int]


_RECORDS = (struct.Struct("<IqqQ"), struct.Struct("<IiiQ"))
_LOOKED_AT = 64
_MOST_THREADS = 8192
_MOST_VALUE = 10**14


def _is_raw(content: bytes) -> bool:
    return _record_of(content) is not None


def _record_of(content: bytes) -> struct.Struct | None:
    """The form of the records: the first records must look like samples in it."""
    return next((one for one in _RECORDS if _has_samples(content, one)), None)


def _has_samples(content: bytes, record: struct.Struct) -> bool:
    size = min(len(content) // record.size, _LOOKED_AT) * record.size
    last: dict[int, int] = {}
    for thread, seconds, nanos, value in record.iter_unpack(content[:size]):
        at_ns = seconds * 10**9 + nanos
        if not _is_sample(thread, seconds, nanos, value) or at_ns <= last.get(thread, 0):
            return False
        last[thread] = at_ns
    return bool(last)


def _is_sample(thread: int, seconds: int, nanos: int, value: int) -> bool:
    is_time = 0 <= seconds < 2**32 and 0 <= nanos < 10**9
    return is_time and thread < _MOST_THREADS and value <= _MOST_VALUE


def _read_raw(content: bytes) -> Reading:
    record = _record_of(content)
    if record is None:
        raise InputError("record 1: it is no sample")
    whole = len(content) // record.size * record.size
    rows = _records_of(record, content[:whole])
    return _of_samples(rows, "samples", "record", is_cut=whole < len(content))


def _records_of(record: struct.Struct, content: bytes) -> Iterator[tuple[int, int, int]]:
    """Thread, time and value of each record."""
    for number, (thread, seconds, nanos, value) in enumerate(record.iter_unpack(content), 1):
        if not _is_sample(thread, seconds, nanos, value):
            raise InputError(f"record {number}: it is no sample")
        yield thread, seconds * 10**9 + nanos, value


_ROW = re.compile(r"(\d{1,4});(\d{1,9})\.(\d{9});(\d{1,14})", re.ASCII)
_IS_CSV = re.compile(rb"(?:\xef\xbb\xbf)?\d{1,4};\d{1,9}\.\d{9};\d{1,14}\r?\n")


def _is_csv(content: bytes) -> bool:
    return bool(_IS_CSV.match(content[:200]))


def _read_csv(content: bytes) -> Reading:
    lines = content.decode("utf-8-sig", "replace").splitlines(keepends=True)
    is_cut = not lines[-1:] or not lines[-1].endswith("\n")
    whole = lines[:-1] if is_cut else lines
    return _of_samples(_rows_of(whole), "samples as CSV", "line", is_cut)


def _rows_of(lines: Sequence[str]) -> Iterator[tuple[int, int, int]]:
    """Thread, time and value of each line."""
    for number, line in enumerate(lines, start=1):
        match = _ROW.fullmatch(line.rstrip("\r\n"))
        if match is None:
            raise InputError(f"line {number}: {fields.quoted(line.strip())} is no sample")
        yield int(match[1]), int(match[2]) * 10**9 + int(match[3]), int(match[4])


_DROPPED = Loss(
    what="values",
    text="Samples may be missing: jitterdebugger drops them while its buffer is full, and those of"
    " its last milliseconds.",
)
_NO_UNIT = Loss(
    what="unit",
    text="The samples have no unit, and their times do not show it: they were read in microseconds,"
    " jitterdebugger's default (--unit ns where it ran with -N).",
)


def _of_samples(
    rows: Iterator[tuple[int, int, int]], form: str, what: str, is_cut: bool
) -> Reading:
    threads: dict[int, _Thread] = {}
    for number, (thread, at_ns, value) in enumerate(rows, start=1):
        own = threads.setdefault(thread, _Thread([], []))
        if own.at_ns and at_ns <= own.at_ns[-1]:
            raise InputError(f"{what} {number}: its time is not after that of the one before")
        own.at_ns.append(at_ns)
        own.values.append(value)
    if not threads:
        raise InputError("it has no complete sample")
    start_ns = min(one.at_ns[0] for one in threads.values())
    unit_ns, interval_ns = _unit_of_samples(list(threads.values()))
    return Reading(
        tool=_TOOL,
        format=form,
        conditions=_ALWAYS,
        series=[
            _of_values(number, one, start_ns, unit_ns or _US)
            for number, one in sorted(threads.items())
        ],
        params={} if interval_ns is None else {"interval_ns": interval_ns},
        losses=[_DROPPED, _THREADS, *([] if unit_ns else [_NO_UNIT])],
        duration_ns=max(one.at_ns[-1] for one in threads.values()) - start_ns,
        is_cut=is_cut,
    )


_FEWEST_STEPS = 16


def _unit_of_samples(threads: Sequence[_Thread]) -> tuple[int | None, int | None]:
    """The unit of the values and the interval, as far as times show them.

    A value is the time of the wake-up less that of its release, and releases are whole intervals
    apart, an interval whole microseconds. So in the right unit the difference of time and value
    moves by multiples of the interval: exactly with ns, within a microsecond with us. InputError
    where neither unit fits.
    """
    exact = _steps(threads, 1)
    if len(exact) < _FEWEST_STEPS or all(len(set(one.values)) == 1 for one in threads):
        return None, None
    if not any(step % _US for step in exact):
        return 1, _interval(exact, 0)
    interval_ns = _interval(_steps(threads, _US), _US)
    if interval_ns is None:
        raise InputError("its times and values do not fit together in us, nor in ns")
    return _US, interval_ns


def _steps(threads: Sequence[_Thread], unit_ns: int) -> list[int]:
    """By how much the releases move from one sample to the next."""
    return [
        at_ns - last_ns - (value - last) * unit_ns
        for one in threads
        for (last_ns, last), (at_ns, value) in pairwise(zip(one.at_ns, one.values, strict=True))
    ]


def _interval(steps: Sequence[int], tolerance_ns: int) -> int | None:
    """The interval of which all steps are multiples; None: there is none."""
    interval_ns = round(sorted(steps)[len(steps) // 2] / _US) * _US
    if interval_ns <= 0:
        return None
    rests = (step - max(round(step / interval_ns), 1) * interval_ns for step in steps)
    return interval_ns if all(abs(rest) <= tolerance_ns for rest in rests) else None


_WORST = 10
_MOST_SECONDS = 1 << 20


def _of_values(number: int, thread: _Thread, start_ns: int, unit_ns: int) -> ReadSeries:
    values = [value * unit_ns for value in thread.values]
    at_ns = [one - start_ns for one in thread.at_ns]
    worst = nlargest(_WORST, range(len(values)), key=values.__getitem__)
    return ReadSeries(
        name="wakeup",
        labels={"thread": number},
        step_ns=unit_ns,
        values=values,
        worst=[Worst(value_ns=values[at], at_ns=at_ns[at], index=at) for at in worst],
        maxima_per_s=_maxima(at_ns, values),
    )


def _maxima(at_ns: Sequence[int], values: Sequence[int]) -> list[int | None]:
    """The largest value of each second. None at all where the times span years."""
    seconds = at_ns[-1] // 10**9 + 1
    if seconds > _MOST_SECONDS:
        return []
    found: list[int | None] = [None] * seconds
    for at, value in zip(at_ns, values, strict=True):
        most = found[at // 10**9]
        found[at // 10**9] = value if most is None else max(most, value)
    return found


FORMATS = [
    Format("jitterdebugger, JSON", _is_json, _read_json),
    Format("jitterdebugger, text", _is_text, _read_text),
    Format("jitterdebugger, samples", _is_raw, _read_raw),
    Format("jitterdebugger, samples as CSV", _is_csv, _read_csv),
]
