"""Turns the raw lines of a probe into a result, whatever the lines contain.

A target is not trusted: its lines can be cut, mixed with console noise or made up.
The reader never raises on bad input. It keeps everything before the first problem, reports the
problem with its line number, and marks the result as incomplete.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from hardstone.errors import InputError, printable
from hardstone.model import (
    MOST_GAPS,
    MOST_SERIES,
    STREAM_SCHEMA,
    Conditions,
    Event,
    Instrument,
    Interval,
    LoadReached,
    ParamValue,
    Result,
    Series,
    StreamEvent,
    StreamFooter,
    StreamHeader,
    StreamInstrument,
    StreamInterval,
    StreamLine,
    StreamLoad,
    StreamResult,
    StreamSeries,
    StreamTable,
    StreamTrace,
    StreamVerdict,
    StreamWindow,
    Table,
    Trace,
    Verdict,
    Window,
)
from hardstone.stats.identity import (
    duration_problem,
    load_problem,
    pair_problem,
    series_problem,
    table_problem,
    window_problem,
)

_LINE_LIMIT_BYTES = 16 * 2**20
_STREAM_LIMIT_BYTES = 64 * 2**20
# Per test; the largest real one has 32 000 values, 80 series and 6 events.
_MOST_VALUES = 6_000_000
_MOST_LINES = 1 << 12  # of each other kind; a result may get a few more before it is stored
_MOST_EMPTY_LINES = 1 << 16
_LINE_START = b'{"type":'
_MOST_FOREIGN_LINES = 20
NO_FOOTER = "the stream ended before its footer"
_WORDS_LIMIT = 200
_REASON_LIMIT = 60_000  # leaves room for the reader's own remark
_YEAR_2200_NS = 7_258_118_400_000_000_000


class StreamError(InputError):
    """A line that breaks the contract."""


class StreamReader:
    """Takes the lines of one test, in order, and returns its Result.

    `feed` each line as received, with or without its line end, then `finish`. Empty
    lines are skipped and not counted (consoles add some). Everything after the first
    problem is ignored.

    `is_noisy`: other programs write to the same console. Their lines are counted, and the first
    ones kept. If one of them breaks a line of the probe, the counts of the footer differ, which
    is a problem.
    """

    def __init__(
        self,
        test: str,
        *,
        is_noisy: bool = False,
        params: Mapping[str, ParamValue] | None = None,
        policy: str | None = None,
        line_limit_bytes: int = _LINE_LIMIT_BYTES,
        stream_limit_bytes: int = _STREAM_LIMIT_BYTES,
    ) -> None:
        self._asked_params = params or {}
        self._asked_policy = policy
        self._result = Result(test=test, status="failed")
        self._is_noisy = is_noisy
        self._line_limit_bytes = line_limit_bytes
        self._stream_limit_bytes = stream_limit_bytes
        self._header: StreamHeader | None = None
        self._ending: StreamResult | None = None
        self._footer: StreamFooter | None = None
        self._series_seen: set[tuple[str, tuple[tuple[str, int | str], ...]]] = set()
        self._line_count = 0
        self._crc32 = 0
        self._empty_count = 0
        self._value_count = 0
        self._byte_count = 0
        self._gap_count = 0
        self._counts: Counter[type] = Counter()
        self._problem: str | None = None
        self._takers: dict[type, Callable[[Any], None]] = {
            StreamHeader: self._take_header,
            StreamInstrument: self._take_instrument,
            StreamEvent: self._take_event,
            StreamLoad: self._take_load,
            StreamInterval: self._take_interval,
            StreamTrace: self._take_trace,
            StreamWindow: self._take_window,
            StreamTable: self._take_table,
            StreamSeries: self._take_series,
            StreamVerdict: self._take_verdict,
            StreamResult: self._take_result,
            StreamFooter: self._take_footer,
        }

    @property
    def problem(self) -> str | None:
        """The first problem with its line number, or None so far."""
        return self._problem

    @property
    def is_complete(self) -> bool:
        """Whether the footer arrived and there was no problem."""
        return self._footer is not None and self._problem is None

    @property
    def header(self) -> StreamHeader | None:
        """The header, once it has arrived."""
        return self._header

    def feed(self, line: bytes) -> None:
        """Take one raw line. Never raises."""
        if self._problem is not None:
            return
        try:
            self._take(line)
        except StreamError as error:
            self._problem = f"line {self._line_count}: {printable(error.cause[:_WORDS_LIMIT])}"

    def finish(self) -> Result:
        """The result of all lines so far; may be called again. Never raises.

        After a problem its status is "failed". Without footer its status is that of the
        result line, else "measured" if a series holds samples, else "failed".
        """
        result, ending = self._result, self._ending
        if ending is not None:
            self._apply(ending)
        if self._problem is not None:
            result.status, result.reason, result.complete = "failed", self._problem, False
        elif self._footer is None:
            result.complete = False
            reason = (ending.reason or "")[:_REASON_LIMIT] if ending is not None else ""
            result.reason = f"{reason}; {NO_FOOTER}" if reason else NO_FOOTER
            if ending is None and any(series.count for series in result.series):
                result.status = "measured"
        return result

    def _take(self, line: bytes) -> None:
        if not line.strip():
            self._empty_count += 1
            if self._empty_count > _MOST_EMPTY_LINES:
                raise StreamError(f"more than {_MOST_EMPTY_LINES} empty lines")
            return
        own = _own_part(line) if self._is_noisy else line
        taken = self._decoded(own) if own else None
        if taken is None:
            self._keep_foreign(line)
            return
        if rest := line.replace(own, b"", 1).strip():
            self._keep_foreign(rest)
        self._check_order(taken)
        if not isinstance(taken, StreamFooter):
            self._crc32 = zlib.crc32(own.rstrip(b"\r\n"), self._crc32)
        self._counts[type(taken)] += 1
        most = MOST_SERIES if isinstance(taken, StreamSeries) else _MOST_LINES
        if self._counts[type(taken)] > most:
            kind = type(taken).__name__.removeprefix("Stream").lower()
            raise StreamError(f"more than {most} lines of the kind {kind}")
        self._takers[type(taken)](taken)

    def _decoded(self, line: bytes) -> object | None:
        """The line of the probe; None for one that others broke on a noisy console."""
        self._line_count += 1
        self._byte_count += len(line)
        self._value_count += line.count(b",")
        if len(line) > self._line_limit_bytes:
            raise StreamError(f"longer than {self._line_limit_bytes} bytes")
        if self._byte_count > self._stream_limit_bytes:
            raise StreamError(f"the stream is longer than {self._stream_limit_bytes} bytes")
        if self._value_count > _MOST_VALUES:
            raise StreamError(f"the stream holds more than {_MOST_VALUES} values")
        try:
            return _decode(line)
        except StreamError:
            if not self._is_noisy:
                raise
            self._line_count -= 1  # the footer counts whole lines of the probe
            return None

    def _keep_foreign(self, line: bytes) -> None:
        self._result.foreign_count += 1
        if len(self._result.foreign_lines) < _MOST_FOREIGN_LINES:
            text = line.decode("utf-8", "replace").rstrip("\r\n")
            self._result.foreign_lines.append(printable(text[:_WORDS_LIMIT]))

    def _check_order(self, line: object) -> None:
        if self._footer is not None:
            raise StreamError("a line after the footer")
        if self._header is None and not isinstance(line, StreamHeader):
            raise StreamError("the header must come first")
        if self._ending is not None and not isinstance(line, StreamFooter):
            raise StreamError("only the footer may follow the result")

    def _take_header(self, line: StreamHeader) -> None:
        if self._header is not None:
            raise StreamError("a second header")
        if line.schema != STREAM_SCHEMA:
            raise StreamError(f"its schema is {line.schema!r}; {STREAM_SCHEMA} was expected")
        if line.test != self._result.test:
            raise StreamError(f"it is of test {line.test!r}; {self._result.test} was requested")
        self._check_params(line.params)
        self._result.started_utc = _utc(line.started_utc_ns)
        self._result.params = line.params
        self._header = line

    def _check_params(self, stated: Mapping[str, ParamValue]) -> None:
        """Of a request only what is stated can be compared; the probe states no empty list."""
        for name, value in stated.items():
            asked = self._asked_params.get(name, value)
            if value != asked:
                raise StreamError(
                    f"it was measured with {name}={_short(value)}; {name}={_short(asked)} was "
                    "requested"
                )

    def _check_policy(self, conditions: Conditions) -> None:
        """Without the right to real-time priorities the probe measures at SCHED_OTHER, and says
        that it is not real-time."""
        asked, said = self._asked_policy, conditions.policy
        is_refused = said == "other" and not conditions.realtime
        if asked is not None and said not in (None, asked) and not is_refused:
            raise StreamError(f"it was measured with the policy {said!r}; {asked!r} was requested")

    def _take_instrument(self, line: StreamInstrument) -> None:
        if self._result.instrument is not None:
            raise StreamError("a second instrument")
        problem = pair_problem(line.pair)
        if problem is not None:
            raise StreamError(problem)
        self._result.instrument = Instrument(**msgspec.structs.asdict(line))

    def _take_event(self, line: StreamEvent) -> None:
        self._result.events.append(Event(**msgspec.structs.asdict(line)))

    def _take_load(self, line: StreamLoad) -> None:
        if any(one.element == line.element for one in self._result.load):
            raise StreamError(f"a second load line of {line.element!r}")
        problem = load_problem(line)
        if problem is not None:
            raise StreamError(f"load of {line.element!r} {problem}")
        self._result.load.append(LoadReached(**msgspec.structs.asdict(line)))

    def _take_interval(self, line: StreamInterval) -> None:
        problem = duration_problem(line.span_ns)
        if problem is not None:
            raise StreamError(problem)
        self._result.intervals.append(Interval(**msgspec.structs.asdict(line)))

    def _take_trace(self, line: StreamTrace) -> None:
        self._result.traces.append(Trace(**msgspec.structs.asdict(line)))

    def _take_window(self, line: StreamWindow) -> None:
        before = self._result.windows[-1].end_ns if self._result.windows else 0
        problem = window_problem(line)
        if problem is None and line.begin_ns < before:
            problem = f"the window at {line.begin_ns} ns starts before the previous one ended"
        self._gap_count += len(line.distance_ns)
        if problem is None and self._gap_count > MOST_GAPS:
            problem = f"more than {MOST_GAPS} gaps"
        if problem is not None:
            raise StreamError(problem)
        self._result.windows.append(Window(**msgspec.structs.asdict(line)))

    def _take_table(self, line: StreamTable) -> None:
        problem = table_problem(line)
        if problem is not None:
            raise StreamError(f"table {line.name!r}: {problem}")
        self._result.tables.append(Table(**msgspec.structs.asdict(line)))

    def _take_series(self, line: StreamSeries) -> None:
        key = (line.name, tuple(sorted(line.labels.items())))
        if key in self._series_seen:
            raise StreamError(f"a second series {line.name!r} {line.labels}")
        problem = series_problem(line)
        if problem is not None:
            raise StreamError(f"series {line.name!r} {line.labels}: {problem}")
        self._series_seen.add(key)
        self._result.series.append(Series(**msgspec.structs.asdict(line)))

    def _take_verdict(self, line: StreamVerdict) -> None:
        self._result.verdicts.append(Verdict(**msgspec.structs.asdict(line)))

    def _take_result(self, line: StreamResult) -> None:
        problem = duration_problem(line.duration_ns)
        if problem is not None:
            raise StreamError(problem)
        self._check_policy(line.conditions)
        self._ending = line

    def _take_footer(self, line: StreamFooter) -> None:
        if self._ending is None:
            raise StreamError("a footer without a result")
        received = StreamFooter(
            lines=self._line_count - 1,
            events=len(self._result.events),
            series=len(self._result.series),
            verdicts=len(self._result.verdicts),
        )
        if msgspec.structs.replace(line, crc32=None) != received:
            raise StreamError(
                f"the footer counts {_counts(line)}, but {_counts(received)} were received"
            )
        if line.crc32 not in (None, self._crc32):
            raise StreamError("the checksum in the footer does not match the lines received")
        self._footer = line

    def _apply(self, ending: StreamResult) -> None:
        result = self._result
        result.status, result.reason = ending.status, ending.reason
        result.remedy, result.command = ending.remedy, ending.command
        result.interrupted, result.duration_ns = ending.interrupted, ending.duration_ns
        result.conditions, result.environment = ending.conditions, ending.environment
        result.calibrated = ending.calibrated
        result.started_uptime_ns = ending.started_uptime_ns


def _own_part(line: bytes) -> bytes:
    """The part of a line of a noisy console that is the probe's; empty if none is.

    Others may have written before it without a line end, and a console ends lines in its way.
    """
    start, end = line.find(_LINE_START), line.rfind(b"}")
    return line[start : end + 1] if 0 <= start < end else b""


def _decode(line: bytes) -> object:
    try:
        return _DECODER.decode(line)
    except UnicodeDecodeError:
        raise StreamError("not UTF-8") from None
    except msgspec.ValidationError as error:
        raise StreamError(f"not a line of {STREAM_SCHEMA}: {error}") from None
    except msgspec.DecodeError as error:
        raise StreamError(f"not JSON: {error}") from None
    except RecursionError:
        raise StreamError("nested too deeply") from None


_DECODER: msgspec.json.Decoder[StreamLine] = msgspec.json.Decoder(StreamLine)


def _utc(at_ns: int) -> str:
    """Date and time. A target whose clock is not set counts from 1970."""
    if not 0 <= at_ns < _YEAR_2200_NS:
        raise StreamError(f"the start time {at_ns} ns is impossible")
    at = datetime.fromtimestamp(at_ns // 1_000_000_000, UTC)
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


def _short(value: ParamValue) -> str:
    text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
    return text[:40]


def _counts(footer: StreamFooter) -> str:
    return (
        f"{footer.lines} lines, {footer.events} events, {footer.series} series, "
        f"{footer.verdicts} verdicts"
    )
