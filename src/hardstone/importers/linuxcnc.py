"""LinuxCNC: `latency-histogram --nox`, and the table of `latency-test`.

From the public source, LinuxCNC/linuxcnc at 5c41560e (2026) and before: scripts/latency-histogram,
scripts/latency-test, components latencybins, latencybinstream and timedelta. What they do not print
and their source says:

- `latency-histogram --nox` prints minimum, maximum and standard deviation since its start, once a
  second or so for each thread, rounded to 100 ns. Its histogram is on its screen only.
- A value is the time between two runs of a thread less the period: negative after a late one, and
  its mean over a run is about 0.
- "Max Jitter" of latency-test is the largest deviation of that time from the period, to either
  side; "Max Interval" the longest time. Minimum, mean and count are not shown.
- Before the first run of a thread its minimum is 2147483647 ns.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hardstone.errors import InputError
from hardstone.importers import fields
from hardstone.importers.reading import Format, Reading, ReadSeries
from hardstone.model import Loss

_TOOL = "linuxcnc"
_NUMBER = r"-?\d{1,12}\.\d{1,6}"
_LINE = re.compile(
    rf"^\s*(?P<elapsed>\d{{1,9}}) s(?:ecs)?\s+(?P<thread>base|servo)\s+min:\s*(?P<min>{_NUMBER}) us"
    rf"\s+max:\s*(?P<max>{_NUMBER}) us\s+sdev:\s*(?P<sdev>{_NUMBER}) us\s*$",
    re.IGNORECASE,
)
_IS_LINES = re.compile(
    rb"^[ \t]*\d+ s(?:ecs)? +(?:base|servo) +min: *-?\d+\.\d+ us +max:", re.MULTILINE | re.I
)
_UNITS = {"s": 10**9, "ms": 10**6, "us": 10**3, "µs": 10**3, "μs": 10**3, "ns": 1}
_COLUMN = re.compile(r"(?P<what>max interval|max jitter|last interval) \((?P<unit>ns|us)\)", re.I)
_THREAD = re.compile(
    r"^\W*(?P<thread>servo|base) thread \("
    r"(?P<period>\d{1,9}(?:\.\d{1,6})?)\s*(?P<unit>s|ms|us|µs|μs|ns)\)"
    r"\s*:?(?P<cells>(?:[\s|,;]+-?\d{1,12})+)[\s|]*$",
    re.IGNORECASE,
)


def _is_histogram(content: bytes) -> bool:
    return bool(_IS_LINES.search(content[: 1 << 16]))


def _read_histogram(content: bytes) -> Reading:
    """The last line of each thread: each has all since the start."""
    found, elapsed_s, is_cut = dict[str, ReadSeries](), 0, False
    before = dict[str, ReadSeries]()
    lines = list(fields.rows_of(content))
    for number, line in lines:
        match = _LINE.match(line)
        is_cut = match is None and bool(re.match(r"\s*\d+ s(?:ecs)?\s+(?:b|s|$)", line))
        if is_cut and (number < len(lines) or content.endswith(b"\n")):
            raise InputError(f"line {number}: {fields.quoted(line)} is not a line of a thread")
        if match is None:
            continue
        thread = match["thread"].lower()
        one = _of_line(match, thread, f"line {number}")
        if one is None:
            continue
        if int(match["elapsed"]) < elapsed_s:
            before.update(found)  # reset, or another start
        elapsed_s = int(match["elapsed"])
        found[thread] = one
    if not found:
        raise InputError("it has no line with values of a thread", "let it run for some seconds")
    return Reading(
        tool=_TOOL,
        format="latency-histogram --nox",
        series=list(found.values()),
        losses=list(_losses(bool(before))),
        duration_ns=elapsed_s * 10**9,
        is_cut=is_cut,
    )


def _of_line(match: re.Match[str], thread: str, place: str) -> ReadSeries | None:
    least = fields.in_ns(match["min"], 1000, place)
    most = fields.in_ns(match["max"], 1000, place)
    if least >= 2_147_483_000 or most <= -2_147_483_000:
        return None
    if least > most:
        raise InputError(f"{place}: a minimum of {least} ns above the maximum of {most} ns")
    sdev = float(fields.exact_ns(match["sdev"], 1000, place))
    if not 0 <= sdev <= most - least + 200:
        raise InputError(f"{place}: no values from {least} to {most} ns deviate by {sdev:.0f} ns")
    return ReadSeries(name="deviation", labels={"thread": thread}, min=least, max=most, stddev=sdev)


def _losses(was_reset: bool) -> Iterator[Loss]:
    yield Loss(what="resolution", text="Values are rounded to 100 ns.")
    yield Loss(
        what="conditions",
        text="The file has no periods of the threads: latency-histogram's default is 25 us for base"
        " and 1 ms for servo.",
    )
    if was_reset:
        yield Loss(
            what="extremes",
            text="The elapsed time begins again in the file: the figures are those after it.",
        )


def _is_table(content: bytes) -> bool:
    head = content[: 1 << 16].decode("utf-8", "replace")
    return bool(_COLUMN.search(head)) and any(map(_THREAD.match, head.splitlines()))


def _read_table(content: bytes) -> Reading:
    columns = list[tuple[str, int]]()
    series, params = list[ReadSeries](), dict[str, int | str]()
    for number, line in fields.rows_of(content):
        heads = [
            (one["what"].lower(), _UNITS[one["unit"].lower()]) for one in _COLUMN.finditer(line)
        ]
        columns = heads or columns
        match = _THREAD.match(line)
        if match is None:
            continue
        place, thread = f"line {number}", match["thread"].lower()
        cells = re.findall(r"-?\d+", match["cells"])
        if len(cells) != len(columns):
            raise InputError(f"{place}: {len(cells)} figures below {len(columns)} columns")
        period_ns = fields.in_ns(match["period"], _UNITS[match["unit"].lower()], place)
        params[f"{thread}_period_ns"] = period_ns
        row = {
            name: fields.count(cell, place) * unit
            for (name, unit), cell in zip(columns, cells, strict=True)
        }
        series += _of_row(row, thread, period_ns, place)
    if not series:
        raise InputError("it has no row of a thread below its columns")
    return Reading(
        tool=_TOOL,
        format="latency-test",
        series=series,
        params=params,
        losses=[_NO_PERIOD_SIGN],
        is_cut=not content.endswith(b"\n") and columns[-1][0] != "last interval",
    )


_NO_PERIOD_SIGN = Loss(
    what="extremes",
    text="Max Jitter does not say whether the thread came too late or too early.",
)


def _of_row(row: dict[str, int], thread: str, period_ns: int, place: str) -> Iterator[ReadSeries]:
    jitter, interval = row.get("max jitter"), row.get("max interval")
    if jitter is not None and interval is not None and interval > period_ns + jitter:
        raise InputError(
            f"{place}: an interval of {interval} ns is more than {jitter} ns beyond the period"
        )
    if jitter is not None:
        yield ReadSeries(name="jitter", labels={"thread": thread}, max=jitter)
    if interval is not None:
        yield ReadSeries(name="interval", labels={"thread": thread}, max=interval)


FORMATS = [
    Format("LinuxCNC, latency-histogram", _is_histogram, _read_histogram),
    Format("LinuxCNC, latency-test", _is_table, _read_table),
]
