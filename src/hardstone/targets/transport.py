"""How a probe's command runs on a target: lines in and out, with deadlines, and a watch over a
probe at work.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import IO, Protocol, runtime_checkable

from hardstone.errors import EXIT_USAGE, printable
from hardstone.memory import Memory
from hardstone.model import ClockCheck, Event, Scalar
from hardstone.targets.base import (
    SILENT,
    BrokenStreamError,
    Notices,
    OnIdle,
    ProbeError,
    ProbeExitError,
    ProbeRefusedError,
    ProbeTimeoutError,
    Stop,
    no_sign,
)
from hardstone.units import format_span

_MOST_SAID_CHARS = 600
_MOST_BYTES = (1 << 24) + 1  # just beyond what a line of a stream may have


def split_lines(chunks: Iterable[bytes], most_bytes: int = _MOST_BYTES) -> Iterator[bytes]:
    """Lines without their ends; what follows the last line end comes last, cut as it is.

    A line that does not end is passed on in parts of at least `most_bytes`.
    """
    parts: list[bytes] = []
    held_bytes = 0
    for chunk in chunks:
        *ended, rest = chunk.split(b"\n")
        for line in ended:
            yield b"".join([*parts, line])
            parts, held_bytes = [], 0
        if rest:
            parts.append(rest)
            held_bytes += len(rest)
        if held_bytes >= most_bytes:
            yield b"".join(parts)
            parts, held_bytes = [], 0
    if parts:
        yield b"".join(parts)


def _said_by_probe(stderr: bytes | bytearray) -> str:
    """The first line that a probe wrote to standard error, at most 600 characters, printable: a
    target is not trusted."""
    lines = stderr.decode("utf-8", "replace").strip().splitlines() or [""]
    return printable(lines[0][:_MOST_SAID_CHARS])


class Limits:
    """How long a command may take, in seconds, and how much it may send.

    `stop_s`: from the request to stop to its end. `end_s`: from the hard end to its death.
    `expected_s`: how long it is silent when all is well. `drain_s`: how much later than
    `deadline_s` it may end while its output still comes. `halted_s`: how long a command that
    somebody has stopped is waited for at least, so that a person can continue it.
    """

    def __init__(
        self,
        deadline_s: float,
        *,
        stop_s: float = 30.0,
        end_s: float = 5.0,
        most_bytes: int = 1 << 27,
        expected_s: float | None = None,
        drain_s: float = 0.0,
        halted_s: float = 30.0,
    ) -> None:
        self.deadline_s = deadline_s
        self.stop_s = stop_s
        self.end_s = end_s
        self.most_bytes = most_bytes
        self.expected_s = expected_s
        self.drain_s = drain_s
        self.halted_s = halted_s

    def in_slow_time(self, factor: float) -> Limits:
        """The same for a system whose seconds take up to `factor` of this machine's."""
        return Limits(
            self.deadline_s * factor,
            stop_s=self.stop_s * factor,
            end_s=self.end_s,
            most_bytes=self.most_bytes,
            expected_s=None if self.expected_s is None else self.expected_s * factor,
            drain_s=self.drain_s * factor,
            halted_s=self.halted_s,
        )


class Transport(Protocol):
    """A way to one system under test. It starts the probe there and knows nothing of its commands.

    TargetError, with cause and remedy, where the system cannot be reached.
    """

    name: str
    """The system as `--target` names it."""
    is_noisy: bool
    """Others write between the lines of the probe, as a kernel does on a serial console."""

    def open(self, notices: Notices = SILENT) -> None:
        """Reaches the system and finds the probe there."""

    def close(self) -> None:
        """Lets go of the system; may be called twice, and never fails."""

    def alone(
        self,
        stop: Stop,
        on_wait: Callable[[str], None],
        on_unlocked: Callable[[str], None],
        wait_s: float | None = None,
    ) -> AbstractContextManager[None]:
        """Locks the system for one measurement; as `Target.alone`."""

    def probe_path(self) -> str | None:
        """Path of the probe's executable on the system, None where it is not a file."""

    def probe_sha256(self) -> str | None:
        """Digest of the probe's executable, None where it cannot be read."""

    def memory(self, run_id: str, journal: Path) -> Memory:
        """The crash-safe memory of the system; as `Recorder.memory`."""

    def clock_check(self) -> ClockCheck | None:
        """Both clocks between `open` and now; as `Target.clock_check`."""

    def chunks(
        self,
        arguments: Sequence[str],
        limits: Limits,
        stop: Stop,
        on_idle: OnIdle = no_sign,
    ) -> Generator[bytes]:
        """Runs the probe with `arguments`, which no shell interprets; yields its output.

        When `stop` is set, the probe's standard input is closed: it stops and sends what it has.
        At `limits` and at an abort it is ended, and always when the generator is closed. `on_idle`
        is called now and then while nothing comes. ProbeError for a probe that fails, floods or
        outlives its limits.
        """


@runtime_checkable
class Caller(Transport, Protocol):
    """A transport over which a person's command runs, with its input and output."""

    def call(
        self, arguments: Sequence[str], stdin: IO[bytes], stdout: IO[bytes], stderr: IO[bytes]
    ) -> int:
        """Runs the probe with `arguments`, which no shell interprets; gives its exit code.

        What the probe starts has these streams. An interrupt ends the probe before it is raised.
        """


@runtime_checkable
class Informed(Transport, Protocol):
    """A transport that knows of the system what the probe cannot."""

    def own_facts(self) -> dict[str, Scalar]:
        """The facts; they replace those of the same name that the probe sent."""


@runtime_checkable
class Unattended(Informed, Protocol):
    """A transport over which tests run without a connection. `chunks` of `run` sends the test and
    those that were announced, and gives the output of each once it is collected."""

    def announce(self, requests: Sequence[tuple[list[str], Limits]]) -> None:
        """The arguments of the tests after the next one, without --backing, and their limits."""

    def stored(self) -> None:
        """As `Target.stored`."""

    def has_more(self) -> bool:
        """Whether the output of a test that was sent is still there."""

    def take_remarks(self) -> list[Event]:
        """As `Target.take_remarks`."""


def collect(
    transport: Transport,
    arguments: Sequence[str],
    deadline_s: float,
    most_bytes: int = 1 << 24,
    on_idle: OnIdle = no_sign,
) -> bytes:
    """The whole output of a short command; errors as `Transport.chunks`."""
    limits = Limits(deadline_s, stop_s=1.0, end_s=1.0, most_bytes=most_bytes)
    return b"".join(transport.chunks(arguments, limits, Stop(), on_idle))


# Each poll is a wake-up on the machine that is being measured.
_POLL_S = 0.5
_STOPPED_S = 5.0  # between two looks; a busy machine takes less
_MAX_STDERR_BYTES = 1 << 14
_LOOK_S = 1.0  # between two looks at whether the probe is stopped
_CHUNK_S = 10.0  # from one piece of the output to the next
_OVERDUE_S = 5.0


@dataclass(frozen=True)
class Halt:
    """Somebody has stopped the probe: how, in parentheses, and what continues it."""

    cause: str
    remedy: str


def never_halted() -> None:
    """Of a probe whose state cannot be seen from here."""


class Watch:
    """Holds a command to `limits` and to `stop`, from now on.

    `why_halted` says whether somebody has stopped the command, and is called once a second while
    it is silent. Times are those of this program: without those in which it was stopped itself.
    """

    def __init__(
        self,
        limits: Limits,
        stop: Stop,
        why_halted: Callable[[], Halt | None] = never_halted,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._limits = limits
        self._stop = stop
        self._why_halted = why_halted
        self._clock = clock
        self._stderr = bytearray()
        self._received_bytes = 0
        self._stop_at: float | None = None
        self._end_at: float | None = None
        self._gaps_s = 0.0
        self._looked_at = self._heard_at = self._asked_at = clock()
        self._deadline_at = self._looked_at + limits.deadline_s
        self._drained_at = self._deadline_at + limits.drain_s
        self._halt: Halt | None = None
        self._halted_at = 0.0
        self._extra_s = 0.0
        self._is_overdue = False

    def _now(self) -> float:
        return self._clock() - self._gaps_s

    def wait_s(self) -> float:
        """How long to wait for the command before the next `look`."""
        ends = (self._deadline_at, self._stop_at, self._end_at)
        left = min(at for at in ends if at is not None) - self._now()
        return max(0.0, min(_POLL_S, left))

    def take_output(self, chunk: bytes) -> bytes:
        """Counts what came; BrokenStreamError for a flood."""
        self._received_bytes += len(chunk)
        if self._received_bytes > self._limits.most_bytes:
            raise BrokenStreamError(
                f"the probe sent more than {self._limits.most_bytes >> 20} MiB for one test "
                "and was ended"
            )
        self._heard_at = self._now()
        latest_at = min(self._heard_at + _CHUNK_S, self._drained_at)
        self._deadline_at = max(self._deadline_at, latest_at)
        return chunk

    def discount(self, seconds: float) -> None:
        """That much of the time that has passed does not count: output came, over a slow line."""
        self._deadline_at += seconds
        self._drained_at += seconds
        self._stop_at = None if self._stop_at is None else self._stop_at + seconds
        self._end_at = None if self._end_at is None else self._end_at + seconds

    def take_error(self, chunk: bytes) -> None:
        """Keeps the beginning of what is said to standard error."""
        self._stderr += chunk[: _MAX_STDERR_BYTES - len(self._stderr)]

    def said(self) -> str:
        """What a person should know of the silence: that the command is stopped, goes on, or takes
        longer than expected; each once. Empty: nothing new."""
        now = self._now()
        if self._end_at is not None or now < self._asked_at + _LOOK_S:
            return ""
        ran_at, self._asked_at = max(self._asked_at, self._heard_at), now
        halt = self._why_halted()
        if halt is not None and self._halt is None:
            return self._begin_halt(halt, ran_at, now)
        if halt is None and self._halt is not None:
            return self._end_halt(now)
        return self._overdue(now) if halt is None else ""

    def _begin_halt(self, halt: Halt, ran_at: float, now: float) -> str:
        self._halt, self._halted_at = halt, ran_at
        self._extra_s = max(0.0, now + self._limits.halted_s - self._deadline_at)
        self._deadline_at += self._extra_s
        return f"the probe is stopped {halt.cause}; {halt.remedy}; {self._until()}"

    def _end_halt(self, now: float) -> str:
        """The time of a stop does not count for the deadline, as it does not in the probe."""
        span_s = now - self._halted_at
        self._halt = None
        self._deadline_at += span_s - self._extra_s
        self._drained_at += span_s
        self._heard_at += span_s
        return f"the probe continues; it was stopped for about {_span(span_s)}"

    def _overdue(self, now: float) -> str:
        expected_s, silent_s = self._limits.expected_s, now - self._heard_at
        if expected_s is None or self._is_overdue or silent_s < 1.25 * expected_s + _OVERDUE_S:
            return ""
        self._is_overdue = True
        about = f"and was expected to take about {_span(expected_s)}"
        return f"the probe has been silent for {_span(silent_s)}, {about}; {self._until()}"

    def _until(self) -> str:
        left = timedelta(seconds=max(0.0, self._deadline_at - self._now()))
        return f"the run waits for it until {datetime.now() + left:%H:%M:%S}, then ends it"

    def look(self, ask: Callable[[], None], terminate: Callable[[], None]) -> None:
        """Calls `ask` once when the command is to stop and send what it has, and `terminate` once
        when it is late: it may still send that. ProbeError at an abort, and when it is too late.
        """
        # Time in which this program was stopped (Ctrl-Z, a debugger, the freezer) does not count:
        # the probe may have been stopped as well, and its answer not read.
        gap_s = self._now() - self._looked_at
        if gap_s >= _STOPPED_S:
            self._gaps_s += gap_s
        now = self._looked_at = self._now()
        if self._stop.is_abort:
            raise ProbeError("ended at once, on request")
        if self._stop.is_set() and self._stop_at is None:
            self._stop_at = now + self._limits.stop_s
            ask()
        is_late = now >= self._deadline_at or (self._stop_at is not None and now >= self._stop_at)
        if is_late and self._end_at is None:
            terminate()
            self._end_at = now + self._limits.end_s
        if self._end_at is not None and now >= self._end_at:
            raise self._too_late()

    def check_end(self, code: int) -> None:
        """ProbeError unless the command ended in time and well; `code` is negative for a signal."""
        if self._end_at is not None:
            raise self._too_late()
        said = _said_by_probe(self._stderr)
        if code < 0:
            raise ProbeError(f"the probe was killed by signal {-code}{said and f': {said}'}")
        if code > 0:
            kind = ProbeRefusedError if code == EXIT_USAGE else ProbeExitError
            raise kind(code, said)

    def _too_late(self) -> ProbeTimeoutError:
        if self._stop_at is not None:
            return ProbeTimeoutError(
                f"the probe did not stop within {self._limits.stop_s:g} s and was ended"
            )
        if self._halt is not None:
            span = _span(self._looked_at - self._halted_at)
            return ProbeTimeoutError(
                f"the probe was stopped {self._halt.cause} for {span} and was ended"
            )
        span = _span(self._limits.deadline_s)
        return ProbeTimeoutError(
            f"the probe did not end within its deadline of {span} and was ended"
        )


def _span(seconds: float) -> str:
    return format_span(round(seconds * 1e9))
