"""What one command of the probe may still do: its time, its bytes, its end."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from hardstone.errors import EXIT_USAGE
from hardstone.targets.base import (
    BrokenStreamError,
    ProbeError,
    ProbeExitError,
    ProbeRefusedError,
    ProbeTimeoutError,
    Stop,
)
from hardstone.targets.lines import said_by_probe
from hardstone.targets.transport import Limits
from hardstone.units import format_span

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
        return f"the probe goes on; it was stopped for about {_span(span_s)}"

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
        self._grant(self._now() - self._looked_at)
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

    def _grant(self, gap_s: float) -> None:
        """Time in which this program was stopped (Ctrl-Z, a debugger, the freezer) does not count:
        the probe may have been stopped as well, and its answer not read."""
        if gap_s >= _STOPPED_S:
            self._gaps_s += gap_s

    def check_end(self, code: int) -> None:
        """ProbeError unless the command ended in time and well; `code` is negative for a signal."""
        if self._end_at is not None:
            raise self._too_late()
        said = said_by_probe(self._stderr)
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
