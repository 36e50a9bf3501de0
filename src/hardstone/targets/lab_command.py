"""One command of the probe in a guest: read with a deadline, stopped or killed."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Generator
from contextlib import suppress

from hardstone.errors import EXIT_USAGE, HardstoneError, TargetError
from hardstone.lab import guest_frames as frames
from hardstone.lab.guest import Guest, GuestLostError
from hardstone.lab.guest_frames import Frame
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

_POLL_S = 0.5
_LAST_S = 5.0
_MAX_STDERR_BYTES = 1 << 14
_SIGNALED = 128


class GuestCommand:
    """Runs `words` in `guest` and gives the output in chunks."""

    def __init__(self, guest: Guest, words: list[str], limits: Limits, stop: Stop) -> None:
        self._guest = guest
        self._limits = limits
        self._stop = stop
        self._stderr = bytearray()
        self._received_bytes = 0
        self._stop_at: float | None = None
        self._end_at: float | None = None
        self._deadline_at = time.monotonic() + limits.deadline_s
        self._exit: Frame | None = None
        guest.run(words)

    def chunks(self, on_idle: Callable[[], None] = lambda: None) -> Generator[bytes]:
        """The output until its end. ProbeError for a flood, a failure, a deadline, an abort;
        GuestLostError for a guest that ends or hangs.

        The command is gone when this returns or raises.
        """
        try:
            while self._exit is None:
                frame = self._guest.receive(self._wait_s())
                if frame is None:
                    on_idle()
                else:
                    yield from self._take(frame)
                self._look_after()
        finally:
            self._end()
        self._check_exit()

    def _take(self, frame: Frame) -> Generator[bytes]:
        if frame.type == frames.EXIT:
            self._exit = frame
        elif frame.type == frames.ERROR:
            self._stderr += frame.content[: _MAX_STDERR_BYTES - len(self._stderr)]
        elif frame.type == frames.OUTPUT:
            self._received_bytes += len(frame.content)
            if self._received_bytes > self._limits.most_bytes:
                most = self._limits.most_bytes >> 20
                raise BrokenStreamError(
                    f"the probe sent more than {most} MiB for one test and was ended"
                )
            yield frame.content

    def _wait_s(self) -> float:
        ends = (self._deadline_at, self._stop_at, self._end_at)
        left = min(at for at in ends if at is not None) - time.monotonic()
        return max(0.0, min(_POLL_S, left))

    def _look_after(self) -> None:
        if self._exit is not None:
            return
        now = time.monotonic()
        if self._stop.is_abort:
            raise ProbeError("ended at once, on request")
        if self._stop.is_set() and self._stop_at is None:
            self._stop_at = now + self._limits.stop_s
            if not self._guest.can_interrupt:
                raise ProbeError("ended at once: a guest that counts instructions hears no request")
            self._guest.send(Frame(frames.INPUT_END))
        is_late = now >= self._deadline_at or (self._stop_at is not None and now >= self._stop_at)
        if is_late and self._end_at is None:
            self._signal(signal.SIGTERM)
            self._end_at = now + self._limits.end_s
        if self._end_at is not None and now >= self._end_at:
            raise ProbeTimeoutError(self._late_text())

    def _late_text(self) -> str:
        if self._stop_at is not None:
            return f"the probe did not stop within {self._limits.stop_s:g} s and was ended"
        span = format_span(round(self._limits.deadline_s * 1e9))
        return f"the probe did not end within its deadline of {span} and was ended"

    def _end(self) -> None:
        """TERM, a moment, KILL; a guest in which that does not help hangs."""
        for number, wait_s in ((signal.SIGTERM, 1.0), (signal.SIGKILL, _LAST_S)):
            if self._exit is None and not self._stop.is_abort:
                with suppress(GuestLostError):
                    self._signal(number)
                    self._wait_for_exit(wait_s)
        if self._exit is None:
            self._guest.close()

    def _wait_for_exit(self, timeout_s: float) -> None:
        until = time.monotonic() + timeout_s
        while self._exit is None and (left := until - time.monotonic()) > 0:
            frame = self._guest.receive(left)
            if frame is not None and frame.type == frames.EXIT:
                self._exit = frame

    def _signal(self, number: signal.Signals) -> None:
        if self._guest.can_interrupt:
            self._guest.send(Frame(frames.SIGNAL, bytes([number])))

    def _check_exit(self) -> None:
        if self._end_at is not None:
            raise ProbeTimeoutError(self._late_text())
        if self._exit is not None:
            error = exit_error(self._exit, said_by_probe(self._stderr))
            if error is not None:
                raise error


def exit_error(frame: Frame, said: str) -> HardstoneError | None:
    """What the end of a command in a guest means, None where it is fine."""
    code, errno = frame.content[0], frame.content[1]
    if errno:
        return TargetError(f"the guest cannot start the probe: error {errno}", "hardstone lab list")
    if code > _SIGNALED:
        return ProbeError(
            f"the probe was killed by signal {code - _SIGNALED}{said and f': {said}'}"
        )
    if code > 0:
        kind = ProbeRefusedError if code == EXIT_USAGE else ProbeExitError
        return kind(code, said)
    return None
