"""What one command of the probe may still do: its time, its bytes, its end."""

from __future__ import annotations

import time
from collections.abc import Callable

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


class Watch:
    """Holds a command to `limits` and to `stop`, from now on."""

    def __init__(self, limits: Limits, stop: Stop) -> None:
        self._limits = limits
        self._stop = stop
        self._stderr = bytearray()
        self._received_bytes = 0
        self._stop_at: float | None = None
        self._end_at: float | None = None
        self._looked_at = time.monotonic()
        self._deadline_at = self._looked_at + limits.deadline_s

    def wait_s(self) -> float:
        """How long to wait for the command before the next `look`."""
        ends = (self._deadline_at, self._stop_at, self._end_at)
        left = min(at for at in ends if at is not None) - time.monotonic()
        return max(0.0, min(_POLL_S, left))

    def take_output(self, chunk: bytes) -> bytes:
        """Counts what came; BrokenStreamError for a flood."""
        self._received_bytes += len(chunk)
        if self._received_bytes > self._limits.most_bytes:
            raise BrokenStreamError(
                f"the probe sent more than {self._limits.most_bytes >> 20} MiB for one test "
                "and was ended"
            )
        return chunk

    def take_error(self, chunk: bytes) -> None:
        """Keeps the beginning of what is said to standard error."""
        self._stderr += chunk[: _MAX_STDERR_BYTES - len(self._stderr)]

    def look(self, ask: Callable[[], None], terminate: Callable[[], None]) -> None:
        """Calls `ask` once when the command is to stop and send what it has, and `terminate` once
        when it is late: it may still send that. ProbeError at an abort, and when it is too late.
        """
        now = time.monotonic()
        self._grant(now - self._looked_at)
        self._looked_at = now
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
        if gap_s < _STOPPED_S:
            return
        self._deadline_at += gap_s
        self._stop_at = None if self._stop_at is None else self._stop_at + gap_s
        self._end_at = None if self._end_at is None else self._end_at + gap_s

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
        span = format_span(round(self._limits.deadline_s * 1e9))
        return ProbeTimeoutError(
            f"the probe did not end within its deadline of {span} and was ended"
        )
