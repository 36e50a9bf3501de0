"""One command of the probe in a guest: read with a deadline, stopped or killed."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Generator
from contextlib import suppress

from hardstone.errors import TargetError
from hardstone.lab import guest_frames as frames
from hardstone.lab.guest import Guest, GuestLostError
from hardstone.lab.guest_frames import Frame
from hardstone.targets.base import OnIdle, ProbeError, Stop, no_sign
from hardstone.targets.transport import Limits
from hardstone.targets.watch import Watch

_SIGNALED = 128


class GuestCommand:
    """Runs `words` in `guest` and gives the output in chunks."""

    def __init__(self, guest: Guest, words: list[str], limits: Limits, stop: Stop) -> None:
        self._guest = guest
        self._limits = limits
        self._stop = stop
        self._watch = Watch(limits, stop)
        self._exit: Frame | None = None
        guest.run(words)

    def chunks(self, on_idle: OnIdle = no_sign) -> Generator[bytes]:
        """The output until its end. ProbeError for a flood, a failure, a deadline, an abort;
        GuestLostError for a guest that ends or hangs.

        The command is gone when this returns or raises.
        """
        try:
            while self._exit is None:
                frame = self._guest.receive(self._watch.wait_s())
                if frame is None:
                    on_idle(self._watch.said())
                else:
                    yield from self._take(frame)
                if self._exit is None:
                    self._watch.look(self._ask, lambda: self._signal(signal.SIGTERM))
        finally:
            self._end()
        if self._exit is not None:
            self._watch.check_end(exit_code(self._exit))

    def _take(self, frame: Frame) -> Generator[bytes]:
        if frame.type == frames.EXIT:
            self._exit = frame
        elif frame.type == frames.ERROR:
            self._watch.take_error(frame.content)
        elif frame.type == frames.OUTPUT:
            yield self._watch.take_output(frame.content)

    def _ask(self) -> None:
        if not self._guest.can_interrupt:
            raise ProbeError("ended at once: a guest that counts instructions hears no request")
        self._guest.send(Frame(frames.INPUT_END))

    def _end(self) -> None:
        """TERM, a moment, KILL; a guest in which that does not help hangs."""
        for number, wait_s in ((signal.SIGTERM, 1.0), (signal.SIGKILL, self._limits.end_s)):
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


def exit_code(frame: Frame) -> int:
    """How a command in a guest ended: its exit code, or less than 0 for a signal. TargetError if it
    could not be started."""
    code, errno = frame.content[0], frame.content[1]
    if errno:
        raise TargetError(
            f"the guest cannot start the probe: {os.strerror(errno)}",
            "rebuild it: hardstone probe build",
        )
    return _SIGNALED - code if code > _SIGNALED else code
