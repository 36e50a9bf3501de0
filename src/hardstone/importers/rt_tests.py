"""More tools of rt-tests: signaltest, cyclicdeadline, rt-migrate-test.

From the source of rt-tests 0.84 to 2.10. What their output does not say by itself:

- signaltest -v prints a value 0 that was never measured first, and leaves the last one out.
- signaltest's JSON has the CPU of its first thread for all of them.
- cyclicdeadline takes a minimum of 0 for "none yet", so it may print one that is too large.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from hardstone.importers.fields import count, mean_ns, quoted, refuse, whole
from hardstone.importers.reading import Format, Reading, ReadSeries
from hardstone.importers.recognise import lines_of
from hardstone.importers.rt_json import (
    US,
    amount,
    checked,
    ends_of,
    interval,
    is_json_of,
    json_tool,
    mapping,
    mean_of,
    number,
    of_priority,
    option_of,
    read_json,
    unknown_of,
)
from hardstone.model import Conditions, Loss, Verdict

# ---- lines that begin with "T:" (signaltest, cyclicdeadline) ----

_THREAD_LINE = re.compile(
    r"T: *(?P<index>\S+) \( *\S+\) (?:P: *(?P<priority>\S+) )?(?:I: *(?P<interval>\S+) )?"
    r"C: *(?P<count>\S+) Min: *(?P<min>\S+) Act: *(?P<last>\S+) Avg: *(?P<mean>\S+) "
    r"Max: *(?P<max>\S+)\s*"
)
_NO_MIN = 1_000_000  # what signaltest's minimum begins with
_CUT_MEAN = Loss(what="mean", text="Means are cut to whole microseconds.")


def _thread_lines(content: bytes) -> Iterator[tuple[int, str, re.Match[str] | None]]:
    """Every line with its number; the match of those that begin with T:."""
    for line, text in lines_of(content):
        found = _THREAD_LINE.fullmatch(text.strip())
        if found is None and re.match(r"\s*T: *\d", text):
            refuse(f"line {line}", f"{quoted(text.strip())} is no line of a thread")
        yield line, text, found


def _of_thread_line(name: str, found: re.Match[str], place: str) -> ReadSeries:
    values = count(found["count"], place)
    labels = {"thread": count(found["index"], place)}
    if values == 0:
        return ReadSeries(name=name, labels=labels, count=0, step_ns=US)
    one = ReadSeries(
        name=name,
        labels=labels,
        count=values,
        min=whole(found["min"], place) * US,
        mean=mean_ns(str(whole(found["mean"], place)), US, place),
        max=whole(found["max"], place) * US,
        step_ns=US,
    )
    return checked(_without_false_minimum(one), place)


def _without_false_minimum(one: ReadSeries) -> ReadSeries:
    """cyclicdeadline forgets a minimum of 0, so the one that it prints may be above its mean, or
    above the lowest bucket; then it is not the minimum."""
    lowest = one.buckets[0][0] if one.buckets else one.mean
    is_false = one.min is not None and lowest is not None and lowest < one.min
    return replace(one, min=None) if is_false and one.name == "wakeup" else one


# ---- signaltest ----

_IS_SIGNALTEST = re.compile(rb"T: ?\d+ \( *\d+\) P: ?\d+ C: *\d+ Min:")
_SAMPLE = re.compile(r" *(?P<index>\S+): *(?P<cycle>\S+): *(?P<value>-?\S+)\s*")
_LOAD_AVERAGE = re.compile(r"\d+\.\d\d \d+\.\d\d \d+\.\d\d \d+/\d+ \d+\s*\Z", re.ASCII)
_BROKE = re.compile(r"Thread (\d+) exceeded trace limit\.")


def _is_signaltest(content: bytes) -> bool:
    return _IS_SIGNALTEST.search(ends_of(content)) is not None and json_tool(content) is None


def _read_signaltest_text(content: bytes) -> Reading:
    threads: dict[int, tuple[str, re.Match[str]]] = {}
    samples: list[int] = []
    unknown: dict[str, str] = {}
    verdicts = []
    for line, text, found in _thread_lines(content):
        place = f"line {line}"
        if found is not None:
            threads[count(found["index"], place)] = (place, found)
        elif text.count(":") == 2 and (sample := _SAMPLE.fullmatch(text)):
            _check_sample(sample, len(samples), place)
            samples.append(whole(sample["value"], place))
        elif broke := _BROKE.match(text.strip()):
            verdicts.append(
                Verdict(name="trace_limit", passed=False, evidence=f"{broke[0]} (option -b)")
            )
        elif text.strip() and not _LOAD_AVERAGE.match(text):
            unknown[place] = json.dumps(text.strip())
    series = [
        _of_thread_line("round-trip", found, place) for _, (place, found) in sorted(threads.items())
    ]
    losses = [_CUT_MEAN]
    if samples and series:
        series[0] = _with_samples(series[0], samples, threads[0], losses)
    priorities = [count(found["priority"], place) for place, found in threads.values()]
    return Reading(
        tool="signaltest",
        format="text with single values" if samples else "text",
        series=series,
        conditions=of_priority(priorities),
        verdicts=verdicts,
        losses=losses,
        unknown=unknown,
    )


def _check_sample(sample: re.Match[str], expected: int, place: str) -> None:
    """Only the first thread's values are printed, each once and in their order."""
    if count(sample["index"], place) != 0:
        refuse(place, f"a value of thread {quoted(sample['index'])}: only thread 0 prints them")
    if count(sample["cycle"], place) != expected:
        refuse(place, f"value {quoted(sample['cycle'])} where number {expected} comes next")


def _with_samples(
    one: ReadSeries,
    samples: Sequence[int],
    thread: tuple[str, re.Match[str]],
    losses: list[Loss],
) -> ReadSeries:
    """The single values of the first thread: without the first, which was never measured, and with
    the last, which stands in the thread's own line only ("Act:")."""
    place, found = thread
    values = [value * US for value in samples[1:]]
    if len(samples) == one.count:
        values.append(whole(found["last"], place) * US)
        mean = sum(values) / len(values)
        fits = (min(values), max(values)) == (one.min, one.max)
        if not fits or one.mean is None or not 0 <= mean - one.mean < US:
            refuse(place, "the single values do not make the figures of thread 0")
        losses.append(
            Loss(
                what="single values",
                text="signaltest -v prints a value 0 first, which is none and is left out; the "
                "last value is taken from Act.",
            )
        )
        return replace(one, values=values, mean=None)
    losses.append(
        Loss(
            what="single values",
            text=f"{len(values)} of {one.count} single values are in the file: they are left out.",
        )
    )
    return one


def _read_signaltest_json(content: bytes) -> Reading:
    found = _threads_of_json("signaltest", "round-trip", content)
    priority = option_of(found.command, "p", "prio")
    return replace(found, conditions=of_priority([priority or 0]))


def _threads_of_json(tool: str, name: str, content: bytes) -> Reading:
    """A tool with cycles, min, avg and max of each thread in us, some with a histogram."""
    found = read_json(tool, content)
    known = {"num_threads", "thread", "resolution_in_ns"}
    unknown = {**found.base.unknown, **unknown_of(found.body, known)}
    step = 1 if found.body.get("resolution_in_ns") == 1 else US
    series = []
    for index, thread in found.threads():
        place = f"thread.{index}"
        series.append(_thread_of_json(name, index, thread, step))
        unknown |= unknown_of(thread, _THREAD_KEYS, f"{place}.")
    return replace(found.base, series=series, unknown=unknown)


_THREAD_KEYS = {"cycles", "min", "max", "avg", "cpu", "histogram"}


def _thread_of_json(name: str, index: int, thread: Mapping[str, Any], step: int) -> ReadSeries:
    place = f"thread.{index}"
    values = amount(thread, "cycles", place)
    one = ReadSeries(name=name, labels={"thread": index}, count=values, step_ns=step)
    if values == 0:
        return one
    one = replace(
        one,
        min=number(thread, "min", place) * step,
        mean=mean_of(thread, "avg", place, step),
        max=number(thread, "max", place) * step,
    )
    if "histogram" in thread:
        buckets = _buckets_of(mapping(thread["histogram"], f"{place}.histogram"), place, step)
        one = _with_buckets(one, buckets, step, place)
    return checked(_without_false_minimum(one), place)


def _buckets_of(found: Mapping[str, Any], place: str, unit_ns: int) -> list[tuple[int, int]]:
    """{"12": 3}: three values of 12 units."""
    place = f"{place}.histogram"
    return sorted((count(key, place) * unit_ns, amount(found, key, place)) for key in found)


def _with_buckets(
    one: ReadSeries, buckets: list[tuple[int, int]], width: int, place: str
) -> ReadSeries:
    """`one` with a histogram whose overflow is what it lacks to the count."""
    over = (one.count or 0) - sum(number for _, number in buckets)
    if over < 0:
        refuse(place, f"{-over} more values in its histogram than the count {one.count}")
    return replace(one, buckets=buckets, bucket_width_ns=width, overflow=over)


# ---- cyclicdeadline ----

_IS_CYCLICDEADLINE = re.compile(rb"T: ?\d+ \( *\d+\) I: ?\d+ C: *\d+ Min:")
_HISTOGRAM_HEAD = re.compile(rb"# Histogram\r?\n")
_FORGETS_ZERO = Loss(
    what="extremes",
    text="cyclicdeadline forgets a minimum of 0 at the next value, so the least value may be 0.",
)
_HISTOGRAM_ROW = re.compile(r"(\d{1,9}) +([\d\t ]+)", re.ASCII)
_HISTOGRAM_NOTE = re.compile(r"# (?P<what>Min|Avg|Max) Latencies: *(?P<figures>.*)")


# Its histogram is as cyclictest's of the same version; these lines are not.
_SAYS_DEADLINE = re.compile(
    rb"^(?:Using all CPUS|interval: \d+:\d+|deadline thread \d+|main thread \d+)\s*$", re.MULTILINE
)


def _is_cyclicdeadline(content: bytes) -> bool:
    if json_tool(content) is not None:
        return False
    ends = ends_of(content)
    if _IS_CYCLICDEADLINE.search(ends) is not None:
        return True
    return _is_deadline_histogram(content) and _SAYS_DEADLINE.search(ends) is not None


def _is_deadline_histogram(content: bytes) -> bool:
    is_one = _HISTOGRAM_HEAD.search(ends_of(content)) is not None
    return is_one and b"# Histogram Overflows:" in content


def _read_cyclicdeadline_json(content: bytes) -> Reading:
    found = _threads_of_json("cyclicdeadline", "wakeup", content)
    return replace(found, losses=_forgotten(found.series), conditions=_deadline())


def _deadline() -> Conditions:
    return Conditions(policy="deadline", memory_locked=True)


def _forgotten(series: Sequence[ReadSeries]) -> list[Loss]:
    return [_FORGETS_ZERO] if any(one.count for one in series) else []


def _read_cyclicdeadline_text(content: bytes) -> Reading:
    threads: dict[int, ReadSeries] = {}
    intervals: dict[int, int] = {}
    verdicts: list[Verdict] = []
    for line, text, found in _thread_lines(content):
        place = f"line {line}"
        if found is not None:
            one = _of_thread_line("wakeup", found, place)
            threads[int(one.labels["thread"])] = one
            intervals[int(one.labels["thread"])] = count(found["interval"] or "0", place)
        elif text.startswith("# Break value:"):
            evidence = f"A latency of {count(text.split(':')[1].strip(), place)} us (option -b)."
            verdicts.append(Verdict(name="trace_limit", passed=False, evidence=evidence))
    is_histogram = _is_deadline_histogram(content)
    series = [one for _, one in sorted(threads.items())]
    if is_histogram:
        series = _deadline_histogram(content)
    if not series:
        refuse("", "it has no figures of a thread")
    return Reading(
        tool="cyclicdeadline",
        format="histogram" if is_histogram else "text",
        series=series,
        conditions=_deadline(),
        params=interval(list(intervals.values())) if intervals else {},
        verdicts=verdicts,
        losses=[*_forgotten(series), _CUT_MEAN],
    )


def _deadline_histogram(content: bytes) -> list[ReadSeries]:
    """Rows of a value in us and a count for each thread; rows without any value are left out."""
    rows: list[tuple[int, list[int]]] = []
    notes: dict[str, list[int]] = {}
    for line, text in lines_of(content):
        place = f"line {line}"
        if found := _HISTOGRAM_NOTE.fullmatch(text.strip()):
            notes[found["what"]] = [whole(each, place) for each in found["figures"].split()]
        elif text.startswith("# Histogram Overflows:"):
            notes["over"] = [count(each, place) for each in text.partition(":")[2].split()]
        elif found := _HISTOGRAM_ROW.fullmatch(text.strip()):
            rows.append((int(found[1]), [count(each, place) for each in found[2].split()]))
            if len(rows[-1][1]) != len(rows[0][1]):
                refuse(place, f"{len(rows[-1][1])} columns, and {len(rows[0][1])} above")
            if len(rows) > 1 and rows[-1][0] <= rows[-2][0]:
                refuse(place, f"row {rows[-1][0]} does not ascend")
        elif text.strip() and text.strip()[0].isdigit():
            refuse(place, f"{quoted(text.strip())} is no row of a histogram")
    columns = {len(figures) for figures in notes.values()} | {len(row) for _, row in rows[:1]}
    if set(notes) != {"Min", "Avg", "Max", "over"} or len(columns) != 1:
        refuse("", "it ends before the end of its histogram, or its columns differ")
    return [_deadline_column(thread, rows, notes) for thread in range(columns.pop())]


def _deadline_column(
    thread: int, rows: list[tuple[int, list[int]]], notes: Mapping[str, list[int]]
) -> ReadSeries:
    over = notes["over"][thread]
    buckets = [(value * US, row[thread]) for value, row in rows if row[thread]]
    values = sum(number for _, number in buckets) + over
    one = ReadSeries(name="wakeup", labels={"thread": thread}, count=values, step_ns=US)
    if values == 0:
        return one
    one = replace(
        one,
        min=notes["Min"][thread] * US,
        mean=float(notes["Avg"][thread] * US),
        max=notes["Max"][thread] * US,
        buckets=buckets,
        bucket_width_ns=US,
        overflow=over,
    )
    return checked(_without_false_minimum(one), f"thread {thread}")


# ---- rt-migrate-test ----

_TASK = re.compile(r"\s*Task (\d+) \(prio (\d+)\) \(pid \d+\):\s*", re.ASCII)
_TASK_FIGURE = re.compile(r"\s*(Max|Min|Tot|Avg): (\S+) us\s*")
_ITERATION = re.compile(r"\s*(\d+): +([\d ]+?)\s*", re.ASCII)


def _is_migrate(content: bytes) -> bool:
    return b"\nIter: " in content and b"\n loops:" in content and json_tool(content) is None


def _read_migrate_text(content: bytes) -> Reading:
    rounds: list[list[int]] = []
    tasks: dict[int, dict[str, int]] = {}
    task: dict[str, int] | None = None
    verdicts: list[Verdict] = []
    for line, text in lines_of(content):
        place = f"line {line}"
        if found := _TASK.fullmatch(text):
            task = tasks.setdefault(count(found[1], place), {"prio": count(found[2], place)})
        elif (found := _TASK_FIGURE.fullmatch(text)) and task is not None:
            task[found[1]] = count(found[2], place)
        elif found := _ITERATION.fullmatch(text):
            rounds.append(_round(found, len(rounds), place))
        elif text.strip() in ("Passed!", "Failed!"):
            verdicts.append(_migrated(text.strip() == "Passed!"))
    if not tasks:
        refuse("", "it ends before the figures of its tasks")
    series = [_task_series(number, task, rounds) for number, task in sorted(tasks.items())]
    return Reading(
        tool="rt-migrate-test",
        format="text",
        series=series,
        conditions=of_priority([task["prio"] for _, task in sorted(tasks.items())]),
        verdicts=verdicts,
    )


def _migrated(passed: bool) -> Verdict:
    evidence = "The tool says so itself, by its option -c."
    return Verdict(name="highest_priorities_run", passed=passed, evidence=evidence)


def _round(found: re.Match[str], expected: int, place: str) -> list[int]:
    if count(found[1], place) != expected:
        refuse(place, f"round {found[1]} where round {expected} comes next")
    return [count(each, place) * US for each in found[2].split()]


def _task_series(index: int, task: Mapping[str, int], rounds: list[list[int]]) -> ReadSeries:
    place = f"task {index}"
    if any(len(one) <= index for one in rounds) or not {"Min", "Max", "Avg"} <= set(task):
        refuse(place, "it has no value in a round, or no figures")
    values = [one[index] for one in rounds]
    low, high, mean = (task[name] * US for name in ("Min", "Max", "Avg"))
    if (min(values, default=low), max(values, default=high)) != (low, high):
        refuse(place, "its values do not make its minimum and maximum")
    one = ReadSeries(
        name="start",
        labels={"thread": index, "priority": task["prio"]},
        count=len(values) if values else None,
        min=low,
        mean=None if values else float(mean),
        max=high,
        step_ns=US,
        values=values or None,
    )
    return checked(one, place)


def _read_migrate_json(content: bytes) -> Reading:
    found = read_json("rt-migrate-test", content)
    unknown = {**found.base.unknown, **unknown_of(found.body, {"num_threads", "thread"})}
    series, priorities = [], []
    for index, thread in found.threads():
        place = f"thread.{index}"
        priorities.append(amount(thread, "prio", place))
        one = ReadSeries(
            name="start",
            labels={"thread": index, "priority": priorities[-1]},
            min=amount(thread, "min", place) * US,
            mean=mean_of(thread, "avg", place),
            max=amount(thread, "max", place) * US,
            step_ns=US,
        )
        series.append(checked(one, place))
        unknown |= unknown_of(thread, {"prio", "min", "avg", "max", "total"}, f"{place}.")
    return replace(found.base, series=series, conditions=of_priority(priorities), unknown=unknown)


FORMATS = [
    Format("signaltest, JSON", is_json_of("signaltest"), _read_signaltest_json),
    Format("cyclicdeadline, JSON", is_json_of("cyclicdeadline"), _read_cyclicdeadline_json),
    Format("rt-migrate-test, JSON", is_json_of("rt-migrate-test"), _read_migrate_json),
    Format("signaltest, text", _is_signaltest, _read_signaltest_text),
    Format("cyclicdeadline, text", _is_cyclicdeadline, _read_cyclicdeadline_text),
    Format("rt-migrate-test, text", _is_migrate, _read_migrate_text),
]
