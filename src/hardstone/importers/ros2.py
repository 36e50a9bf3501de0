"""ROS 2's performance_test (Apex.AI): its CSV log, and its JSON log.

From the public source, ApexAI/performance_test at release-dashing-20191031, ZhenshengLee's mirror
of 1.3.4, and analysis_result.cpp of 2.x (2024). What it does not print and its source says:

- A row is about one second: minimum, maximum and mean of the latencies in it, with four significant
  digits in the CSV. JSON has them in seconds.
- "received" is a rate: the messages since the row before, divided by the time since then and cut to
  a whole number. So the sum over rows is at most how many there were. JSON has "latency_n" too.
- A row without a message has the largest number as its minimum and the lowest as its maximum.
- A latency is the subscriber's reading of the clock less the time stamp that the publisher put into
  the message. Between two machines it contains the difference of their clocks, and may be negative.
- "latency_variance (ms)" has no unit that fits (seconds squared times 1000): it is not read.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from hardstone.errors import InputError, printable
from hardstone.importers import fields
from hardstone.importers.reading import Format, Reading, ReadSeries
from hardstone.importers.recognise import text_of
from hardstone.model import Event, Loss

_TOOL = "ros2"
_START = "---EXPERIMENT-START---"
_UNITS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_LATENCY = re.compile(r"latency_(?P<what>min|max|mean)\s*\((?P<unit>s|ms|us|ns)\)$")
_FIELD = re.compile(r"(?P<key>[A-Za-z][\w ()/.-]{1,60}?)\s*:\s*(?P<value>.*)$")
_NO_NUMBER = re.compile(r"-?(?:inf(?:inity)?|nan)$", re.IGNORECASE)
_NO_VALUE_NS = 10**18  # 30 years: only the limits of a type are beyond
_IS_CSV = re.compile(
    rb"^-+EXPERIMENT-START-+[ \t\r]*$|^[ \t]*T_experiment[ \t]*,[ \t]*T_loop[ \t]*,", re.MULTILINE
)
_IS_JSON = re.compile(rb'"analysis_results"\s*:\s*\[')
_MOST_ROWS = 1 << 20


@dataclass(frozen=True)
class _Row:
    """One second. `count`: how many messages at least; `is_exact`: and no more. Times in ns; None:
    it has no message."""

    count: int
    is_exact: bool
    sent: int
    lost: int
    loop_ns: int
    min: int | None
    mean: float | None
    max: int | None


def _is_csv(content: bytes) -> bool:
    return bool(_IS_CSV.search(content[: 1 << 16]))


def _read_csv(content: bytes) -> Reading:
    lines = text_of(content).split("\n")
    start = next(
        (at for at, line in enumerate(lines) if line.strip("- \t\r") == _START.strip("-")), -1
    )
    head = {
        match["key"].strip(): match["value"].strip()
        for line in lines[: max(start, 0)]
        if (match := _FIELD.match(line.strip()))
    }
    table = next(
        (at for at, line in enumerate(lines) if at > start and "T_experiment" in line), None
    )
    if table is None:
        raise InputError("it has no table: 'T_experiment, T_loop, ...' is missing")
    columns = _columns(_cells(lines[table]), f"line {table + 1}")
    rows, is_cut = _rows(lines, table + 1, columns)
    return _reading("CSV", head, rows, is_cut or _is_early(head, len(rows)))


def _is_early(head: Mapping[str, str], rows: int) -> bool:
    """Whether the log ends before the time that was asked for: two rows may be missing anyway."""
    asked = head.get("Maximum runtime (sec)", "")
    skipped = head.get("Ignore seconds from beginning", "0")
    is_known = all(
        text.isascii() and text.isdecimal() and len(text) < 10 for text in (asked, skipped)
    )
    return is_known and rows + 2 < int(asked) - int(skipped)


def _cells(line: str) -> list[str]:
    cells = [cell.strip() for cell in line.split(",")]
    while cells and not cells[-1]:  # older versions end each line with a comma
        cells.pop()
    return cells


@dataclass(frozen=True)
class _Columns:
    """Where the columns are that are read, by name, and the unit of a latency in ns."""

    width: int
    place: Mapping[str, int]
    unit_ns: Mapping[str, int]


def _columns(names: Sequence[str], line: str) -> _Columns:
    place, unit_ns = dict[str, int](), dict[str, int]()
    for at, name in enumerate(names):
        match = _LATENCY.match(name)
        key = name if match is None else match["what"]
        if key in place:
            raise InputError(f"{line}: two columns {fields.quoted(name)}")
        place[key] = at
        if match is not None:
            unit_ns[key] = _UNITS[match["unit"]]
    missing = [
        name for name in ("T_experiment", "received", "min", "max", "mean") if name not in place
    ]
    if missing:
        is_time = missing[0] in ("min", "max", "mean")
        shown = f"latency_{missing[0]} (ms)" if is_time else missing[0]
        raise InputError(f"{line}: no column '{shown}'", "is it a log of performance_test?")
    return _Columns(len(names), place, unit_ns)


def _rows(lines: Sequence[str], begin: int, columns: _Columns) -> tuple[list[_Row], bool]:
    """The rows, and whether the last one is cut. Text that follows the table is no row."""
    rows = list[_Row]()
    last_s = Decimal(-1)
    for number, line in enumerate(lines[begin:], start=begin + 1):
        if "EXPERIMENT-START" in line:
            raise InputError(f"line {number}: a second experiment begins", "import each by itself")
        if not line.strip() or not re.match(r"\s*[-+.\d]", line):
            continue
        cells = _cells(line)
        is_last = number == len(lines)  # no line feed after it
        if is_last and len(cells) <= columns.width:
            return rows, True
        if len(cells) != columns.width:
            raise InputError(f"line {number}: {len(cells)} cells below {columns.width} columns")
        at_s = fields.decimal(cells[columns.place["T_experiment"]], f"line {number}")
        if at_s < last_s:
            raise InputError(f"line {number}: it is before the row above it")
        last_s = at_s
        rows.append(_row(cells, columns, f"line {number}"))
        if len(rows) > _MOST_ROWS:
            raise InputError(f"line {number}: more than {_MOST_ROWS} rows")
    return rows, False


def _row(cells: Sequence[str], columns: _Columns, place: str) -> _Row:
    def time_of(name: str) -> float | None:
        text = cells[columns.place[name]]
        if _NO_NUMBER.match(text):
            return None
        value = float(fields.decimal(text, place) * columns.unit_ns[name])
        return value if abs(value) < _NO_VALUE_NS else None

    def count_of(name: str) -> int:
        if name not in columns.place:
            return 0
        return int(fields.decimal(cells[columns.place[name]], place))

    received = count_of("received")
    if not 0 <= received < 2**40:
        raise InputError(f"{place}: {received} messages received")
    loop = fields.decimal(cells[columns.place["T_loop"]], place) if "T_loop" in columns.place else 0
    times = time_of("min"), time_of("mean"), time_of("max")
    return _checked(received, False, count_of("sent"), count_of("lost"), float(loop), times, place)


_Times = tuple[float | None, float | None, float | None]


def _checked(
    count: int, is_exact: bool, sent: int, lost: int, loop_s: float, times: _Times, place: str
) -> _Row:
    """InputError where the times of a row contradict each other, or it has none for messages."""
    least, mean, most = times
    if not 0 <= loop_s < 1e9:
        loop_s = 0.0  # the first row of 1.x counts from the epoch
    if least is None or most is None or (count == 0 and mean == 0 and least == 0 and most == 0):
        if count:
            raise InputError(f"{place}: {count} messages without a latency")
        return _Row(0, is_exact, sent, lost, int(loop_s * 1e9), None, None, None)
    slack = 1e-3 * max(abs(least), abs(most)) + 1
    if least > most or (mean is not None and not least - slack <= mean <= most + slack):
        raise InputError(
            f"{place}: minimum {least:.0f}, mean {mean or 0:.0f} and maximum {most:.0f} ns"
        )
    return _Row(count, is_exact, sent, lost, int(loop_s * 1e9), round(least), mean, round(most))


def _is_json(content: bytes) -> bool:
    start = content[:64].lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{")
    return start and bool(_IS_JSON.search(content[: 1 << 16]))


def _read_json(content: bytes) -> Reading:
    document = fields.json_object(content.decode("utf-8-sig", "replace"))
    results = document.get("analysis_results")
    if not isinstance(results, list) or len(results) > _MOST_ROWS:
        raise InputError("analysis_results: it is no list of rows")
    entries = [
        fields.object_of(entry, f"analysis_results[{at}]") for at, entry in enumerate(results)
    ]
    rows = [_json_row(entry, f"analysis_results[{at}]") for at, entry in enumerate(entries)]
    head = {
        name: value if isinstance(value, str) else str(value)
        for name, value in document.items()
        if name != "analysis_results" and isinstance(value, str | int | float | bool)
    }
    return _reading("JSON", head, rows, is_cut=False)


def _json_row(entry: Mapping[str, Any], place: str) -> _Row:
    def time_of(name: str) -> float | None:
        if entry.get(name) is None:
            return None
        value = entry[name]
        if isinstance(value, float) and not math.isfinite(value):
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise InputError(f"{place}.{name}: {fields.quoted(value)} is not a number")
        ns = value * 1e9 if abs(value) < 1e12 else math.inf
        return ns if abs(ns) < _NO_VALUE_NS else None

    def count_of(name: str) -> int:
        value = entry.get(name, 0)
        is_float = isinstance(value, float) and value.is_integer() and abs(value) < 2**53
        return fields.whole_of(int(value) if is_float else value, f"{place}.{name}")

    if "latency_min" not in entry or "latency_max" not in entry:
        raise InputError(f"{place}: no latency_min or latency_max")
    received, exact = count_of("num_samples_received"), count_of("latency_n")
    # 1.x adds up "latency_n" over rows where it does not clear its list.
    is_exact = "latency_n" in entry and received <= exact <= 2 * received + 1
    loop = entry.get("loop_start", 0)
    loop_s = loop / 1e9 if isinstance(loop, int | float) and abs(loop) < 1e18 else 0.0
    return _checked(
        exact if is_exact else received,
        is_exact,
        count_of("num_samples_sent"),
        count_of("num_samples_lost"),
        loop_s,
        (time_of("latency_min"), time_of("latency_mean"), time_of("latency_max")),
        place,
    )


_VERSION_KEYS = ("Performance Test Version", "perf_test_version", "version")
_TOPIC_KEYS = ("Msg name", "Topic name", "msg_name", "topic_name")
_RATE_KEYS = ("Publishing rate", "rate")
_ROUND_TRIP_KEYS = ("Roundtrip Mode", "roundtrip_mode")


def _first(head: Mapping[str, str], keys: Sequence[str]) -> str | None:
    return next((head[key] for key in keys if head.get(key)), None)


def _reading(form: str, head: Mapping[str, str], rows: Sequence[_Row], is_cut: bool) -> Reading:
    if not any(row.min is not None for row in rows):
        raise InputError(
            "no row has a latency",
            "import the log of a subscriber: a publisher in its own process logs none",
        )
    version = _first(head, _VERSION_KEYS)
    return Reading(
        tool=_TOOL,
        format=form,
        series=[_series(head, rows)],
        version=None if version is None else printable(version)[:80],
        params=_params(head),
        events=[_totals(rows)],
        losses=list(_losses(form, rows)),
        unknown=fields.as_json(
            {printable(key): head[key] for key in head if key not in _VERSION_KEYS}
        ),
        duration_ns=sum(row.loop_ns for row in rows) or None,
        is_cut=is_cut,
    )


def _params(head: Mapping[str, str]) -> dict[str, int | str]:
    rate = _first(head, _RATE_KEYS) or ""
    if not rate.isascii() or not rate.isdecimal() or not 0 < len(rate) < 10 or not int(rate):
        return {}
    return {"interval_ns": 10**9 // int(rate)} if 10**9 % int(rate) == 0 else {}


def _series(head: Mapping[str, str], rows: Sequence[_Row]) -> ReadSeries:
    """All rows as one. The mean is weighted by the messages of each row."""
    mode = (_first(head, _ROUND_TRIP_KEYS) or "").upper()
    topic = _first(head, _TOPIC_KEYS)
    count = sum(row.count for row in rows)
    means = [(row.mean, row.count) for row in rows if row.mean is not None and row.count]
    total = sum(weight for _, weight in means)
    return ReadSeries(
        name="round-trip" if mode == "MAIN" else "message",
        labels={} if topic is None else {"topic": fields.label(topic)},
        count=count or None,
        min=min(row.min for row in rows if row.min is not None),
        mean=math.fsum(mean * weight for mean, weight in means) / total if total else None,
        max=max(row.max for row in rows if row.max is not None),
        maxima_per_s=[row.max for row in rows] if _are_seconds(rows) else (),
    )


def _are_seconds(rows: Sequence[_Row]) -> bool:
    """Whether each row is about a second. The first one of 1.x does not know."""
    return all(0.5e9 <= row.loop_ns <= 1.5e9 for row in rows[1:])


def _totals(rows: Sequence[_Row]) -> Event:
    sent, lost = sum(row.sent for row in rows), sum(row.lost for row in rows)
    return Event(
        name="messages",
        text=f"Messages by the log: {sent} sent, {lost} lost, in {len(rows)} rows.",
        data={"sent_count": sent, "lost_count": lost, "rows_count": len(rows)},
    )


def _losses(form: str, rows: Sequence[_Row]) -> Iterator[Loss]:
    if not all(row.is_exact for row in rows):
        yield Loss(
            what="count",
            text="There were at least as many messages as shown: what performance_test logs as"
            " 'received' is a rate, cut to whole messages a second. The mean is weighted by it.",
        )
    if form == "CSV":
        yield Loss(what="resolution", text="Latencies have four significant digits.")
    if not _are_seconds(rows):
        yield Loss(
            what="time", text="Rows are not a second each, so there are no maxima by second."
        )
    yield Loss(
        what="conditions",
        text="The file does not say whether publisher and subscriber ran on one machine: else"
        " latencies contain the difference of two clocks.",
    )


FORMATS = [
    Format("performance_test, CSV", _is_csv, _read_csv),
    Format("performance_test, JSON", _is_json, _read_json),
]
