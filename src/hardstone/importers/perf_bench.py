"""perf bench: sched pipe, messaging and seccomp-notify; futex hash, wake, wake-parallel, requeue
and lock-pi; syscall; epoll; also "perf bench all".

From the public source, torvalds/linux, tools/perf/builtin-bench.c and tools/perf/bench, 4.x to 6.x.
What it does not print and its source says:

- "-f simple" of one benchmark prints seconds and nothing else: neither which one, nor its rounds.
- A round of sched pipe is a message there and one back, with the reads, writes and two switches of
  the CPU that they need. sched messaging has no rounds: it is one time for all messages.
- futex wake times how long the waker needs until all threads are woken, not when they run; times
  are read with gettimeofday, and a run of more than a second loses whole seconds.
- Rates of futex and epoll are whole operations of a second, each thread over its whole seconds.
  lock-pi sleeps for 1 us in each, with the lock.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

from hardstone.errors import InputError, printable
from hardstone.importers import fields
from hardstone.importers.reading import Format, Reading, ReadSeries
from hardstone.model import Event, Loss

_TOOL = "perf-bench"
_S, _MS, _US = 10**9, 10**6, 10**3
_BEGIN = re.compile(r"# Running '?(?P<name>[a-z]+/[a-z0-9-]+)'? benchmark(?::|\.\.\.)\s*$")
_EXECUTED = re.compile(
    r"# Executed (?P<count>[\d,.' ]+?) (?P<what>[a-z_ ()]+?)(?: between two (?P<mode>\w+))?\s*$"
)
_PARTIES = re.compile(r"# (?P<count>\d+) sender and receiver (?P<mode>processes|threads) per group")
_GROUPS = re.compile(
    r"# (?P<groups>\d+) groups == (?P<parties>\d+) (?P<mode>processes|threads) run"
)
_TOTAL = re.compile(r"\s*Total time: (?P<seconds>\d+\.\d+) \[sec\]\s*$")
_MEAN = re.compile(r"\s*(?P<mean>[\d.]+) usecs/op\s*$")
_RATE = re.compile(r"\s*(?P<rate>[\d,.' ]+?) ops/sec\s*$")
_SIMPLE = re.compile(r"^\s*(?P<seconds>\d+\.\d{3})\s*$")
_THREAD = re.compile(r"\[thread\s+(?P<thread>\d+)\] .*\[ (?P<rate>\d+) ops/sec\s*\]\s*$")
_AVERAGE = re.compile(
    r"Averaged (?P<rate>\d+) operations/sec \(\+- (?:[\d.]+|-?nan)%\), total secs = (?P<secs>\d+)"
)
_RUN = re.compile(
    r"\[Run (?P<run>\d+)\]: (?P<verb>Wokeup|Requeued) (?P<done>\d+) of (?P<all>\d+) threads"
    r"(?: in (?P<ms>\d+\.\d+) ms)"
)
_PARALLEL = re.compile(
    r"\[Run (?P<run>\d+)\]: Avg per-thread latency \(waking (?P<done>\d+)/(?P<all>\d+) threads\)"
    r" in (?P<ms>\d+\.\d+) ms"
)
_SUMMARY = re.compile(
    r"^(?:Wokeup|Requeued|Avg per-thread latency) .* in (?P<ms>[\d.]+|-?nan) ms \(\+-"
)
_SETTINGS = re.compile(r"Run summary \[PID \d+\]: (?P<text>.*)$")
_IS_TEXT = re.compile(
    rb"# Running '?[a-z]+/[a-z0-9-]+'? benchmark|# Executed [\d,]+ pipe operations|"
    rb"sender and receiver (?:processes|threads) per group|"
    rb"\[thread\s+\d+\] [a-z]+: 0x[0-9a-f]+.{0,200}ops/sec \]"
)


def _is_text(content: bytes) -> bool:
    return bool(_IS_TEXT.search(content[: 1 << 16]))


def _is_simple(_: bytes) -> bool:
    """Never: a lone number can be anything. It is read where the person names the tool."""
    return False


def _read_simple(content: bytes) -> Reading:
    text = content.decode("ascii", "replace").strip()
    match = _SIMPLE.fullmatch(text)
    if match is None:
        raise InputError(f"line 1: {fields.quoted(text)} is not a number of seconds")
    return Reading(
        tool=_TOOL,
        format="simple",
        series=[_time_of_all(_Part("", []), fields.in_ns(match["seconds"], _S, "line 1"))],
        losses=[
            Loss(
                what="conditions",
                text="The file is one number: 'perf bench -f simple' prints neither which benchmark"
                " took that long, nor how many operations it had.",
            )
        ],
    )


@dataclass(frozen=True)
class _Part:
    """The lines of one benchmark, with their numbers. `name`: "sched/pipe"; "": it is cut off."""

    name: str
    lines: Sequence[tuple[int, str]]


def _parts_of(content: bytes) -> Iterator[_Part]:
    name, lines = "", list[tuple[int, str]]()
    for number, line in fields.rows_of(content):
        begin = _BEGIN.search(line)
        if begin is None:
            lines.append((number, line))
            continue
        if name or any(text.strip() for _, text in lines):
            yield _Part(name, lines)
        name, lines = begin["name"], []
    yield _Part(name, lines)


def _read_text(content: bytes) -> Reading:
    found = [_read_part(part) for part in _parts_of(content)]
    series = [one for part in found for one in part.series]
    if not series:
        names = ", ".join(part.name for part in found if part.name)
        raise InputError(
            f"it has no figures of a benchmark that is read here ({names or 'no name'})",
            "is it complete? 'perf bench sched', 'futex', 'syscall' and 'epoll wait' are read",
        )
    return Reading(
        tool=_TOOL,
        format="text",
        series=series,
        events=[event for part in found for event in part.events],
        losses=[loss for part in found for loss in part.losses],
        unknown=fields.as_json(
            {part.name or "benchmark": part.settings for part in found if part.settings}
        ),
        duration_ns=sum(part.total_ns for part in found) or None,
        is_cut=any(part.is_cut for part in found),
    )


@dataclass(frozen=True, kw_only=True)
class _Found:
    name: str
    series: Sequence[ReadSeries]
    events: Sequence[Event]
    losses: Sequence[Loss]
    settings: str
    total_ns: int
    is_cut: bool


def _read_part(part: _Part) -> _Found:
    total = _first(part, _TOTAL)
    is_cut = total is not None and part.name not in ("", "sched/messaging")
    total = total or _first(part, _SIMPLE)
    total_ns = 0 if total is None else fields.in_ns(total[1]["seconds"], _S, total[0])
    mean = _first(part, _MEAN)
    series = [*_rates(part), *_runs(part)]
    losses = []
    if mean is not None:
        series.append(_operation(part, mean, total_ns))
    elif total is not None:
        series.append(_time_of_all(part, total_ns))
        if part.name != "sched/messaging":
            losses.append(_no_rounds(part))
    average, summary = _first(part, _AVERAGE), _first(part, _SUMMARY)
    if not series:
        series += _silent(part, average, summary)
    settings = _first(part, _SETTINGS)
    return _Found(
        name=part.name,
        series=series,
        events=[_event(part, found[1]) for found in (average, summary) if found is not None],
        losses=losses,
        settings="" if settings is None else settings[1]["text"],
        total_ns=total_ns or (int(average[1]["secs"][:9]) * _S if average else 0),
        is_cut=(is_cut and mean is None) or (bool(series) and not (total or average or summary)),
    )


def _first(part: _Part, form: re.Pattern[str]) -> tuple[str, re.Match[str]] | None:
    """The first line of this form, and its place."""
    for number, line in part.lines:
        if match := form.search(line):
            return f"line {number}", match
    return None


def _benchmark(part: _Part) -> str:
    """Its name; where the first line is missing, what its lines show."""
    if part.name:
        return part.name
    if _first(part, _PARTIES):
        return "sched/messaging"
    executed = _first(part, _EXECUTED)
    if executed is not None and executed[1]["what"] == "pipe operations":
        return "sched/pipe"
    return "unknown"


def _labels(part: _Part) -> dict[str, int | str]:
    labels: dict[str, int | str] = {"benchmark": fields.label(_benchmark(part))}
    for form in (_EXECUTED, _PARTIES):
        found = _first(part, form)
        if found is not None and found[1]["mode"]:
            labels["between"] = found[1]["mode"]
    groups = _first(part, _GROUPS)
    if groups is not None:
        labels["groups"] = fields.count(groups[1]["groups"], groups[0])
    return labels


def _operation(part: _Part, mean: tuple[str, re.Match[str]], total_ns: int) -> ReadSeries:
    """The mean of all rounds. InputError where count, mean and total time contradict each other."""
    place, match = mean
    mean_ns = fields.exact_ns(match["mean"], _US, place)
    executed = _first(part, _EXECUTED)
    count = None
    if executed is not None:
        count = fields.count(re.sub(r"[,.' ]", "", executed[1]["count"]), executed[0])
        _check_total(mean_ns, count, total_ns, place)
    rate = _first(part, _RATE)
    if rate is not None:
        _check_rate(mean_ns, fields.count(re.sub(r"[,.' ]", "", rate[1]["rate"]), rate[0]), rate[0])
    return ReadSeries(
        name="pipe" if _benchmark(part) == "sched/pipe" else "operation",
        labels=_labels(part),
        count=count,
        mean=float(mean_ns),
        derived="total time / operations",
    )


_TOTAL_STEP_NS = 1_000_000


def _check_total(mean_ns: Decimal, count: int, total_ns: int, place: str) -> None:
    """The total is cut to milliseconds, the mean rounded to 1e-6 us."""
    if not total_ns:
        return
    slack_ns = Decimal("0.0006") * count + _MS // 1000
    low_ns, high_ns = total_ns - slack_ns, total_ns + _TOTAL_STEP_NS + slack_ns
    if not low_ns <= mean_ns * count <= high_ns:
        raise InputError(
            f"{place}: {count} operations of {float(mean_ns):.6g} ns do not take the total time of"
            f" {total_ns / _S:.3f} s"
        )


def _check_rate(mean_ns: Decimal, rate: int, place: str) -> None:
    """The rate is cut to whole operations."""
    if (
        mean_ns > 0
        and not rate * Decimal("0.999") - 1 <= _S / mean_ns <= rate * Decimal("1.001") + 1
    ):
        raise InputError(
            f"{place}: {rate} operations a second are not one in {float(mean_ns):.6g} ns"
        )


def _time_of_all(part: _Part, total_ns: int) -> ReadSeries:
    return ReadSeries(
        name="messaging" if _benchmark(part) == "sched/messaging" else "total",
        labels=_labels(part),
        step_ns=_MS,
        values=[total_ns],
    )


def _no_rounds(part: _Part) -> Loss:
    return Loss(
        what="count",
        text=f"Only the total time of {printable(part.name) or 'a benchmark'} is known, and not how"
        " many operations it had.",
    )


def _rates(part: _Part) -> Iterator[ReadSeries]:
    """Operations of a second, of each thread."""
    labels, name = _labels(part), _rate_name(part)
    for number, line in part.lines:
        if match := _THREAD.search(line):
            yield ReadSeries(
                name=name,
                labels={**labels, "thread": int(match["thread"][:9])},
                unit="count",
                values=[fields.count(match["rate"], f"line {number}")],
            )


def _runs(part: _Part) -> Iterator[ReadSeries]:
    """The time of each run, which is one value."""
    values, last, threads = list[int](), 0, 0
    for number, line in part.lines:
        match = _RUN.search(line) or _PARALLEL.search(line)
        if match is None:
            continue
        run = fields.count(match["run"], f"line {number}")
        if run != last + 1:
            raise InputError(f"line {number}: run {run} follows run {last}")
        last, threads = run, int(match["all"][:9])
        values.append(fields.in_ns(match["ms"], _MS, f"line {number}"))
    if values:
        yield ReadSeries(
            name="wake-all",
            labels={**_labels(part), "threads": threads},
            step_ns=1 if _benchmark(part) == "futex/wake-parallel" else _US,
            values=values,
            derived="mean over the waking threads"
            if _benchmark(part) == "futex/wake-parallel"
            else None,
        )


def _silent(
    part: _Part,
    average: tuple[str, re.Match[str]] | None,
    summary: tuple[str, re.Match[str]] | None,
) -> Iterator[ReadSeries]:
    """The mean alone, of which "--silent" prints neither the runs nor the threads."""
    if average is not None:
        rate = float(fields.decimal(average[1]["rate"], average[0]))
        yield ReadSeries(name=_rate_name(part), labels=_labels(part), unit="count", mean=rate)
    if summary is not None:
        mean_ns = float(fields.exact_ns(summary[1]["ms"], _MS, summary[0]))
        yield ReadSeries(name="wake-all", labels=_labels(part), mean=mean_ns)


def _rate_name(part: _Part) -> str:
    return "mutex-rate" if part.name == "futex/lock-pi" else "rate"


def _event(part: _Part, match: re.Match[str]) -> Event:
    return Event(
        name="summary", text=printable(f"perf bench, {_benchmark(part)}: {match.string.strip()}")
    )


FORMATS = [
    Format("perf bench, text", _is_text, _read_text),
    Format("perf bench, simple", _is_simple, _read_simple),
]
