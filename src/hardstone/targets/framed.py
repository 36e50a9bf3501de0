"""Commands of the probe over frames: in a guest, and beside an agent on a target."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import suppress
from typing import IO, Protocol

from hardstone import frames
from hardstone.errors import TargetError
from hardstone.frames import Frame, PeerLostError
from hardstone.targets.base import OnIdle, ProbeError, Stop, no_sign
from hardstone.targets.transport import Limits, Watch

_SIGNALED = 128
_CHUNK_BYTES = 1 << 12
_POLL_S = 0.2


class Peer(Protocol):
    """A program elsewhere that starts commands. Calls raise PeerLostError."""

    @property
    def can_interrupt(self) -> bool:
        """Whether a running command can be sent input and signals."""

    def run(self, words: Sequence[str]) -> None:
        """Starts a command; what it writes and its end come as frames."""

    def send(self, frame: Frame) -> None:
        """Sends a frame."""

    def receive(self, timeout_s: float) -> Frame | None:
        """The next frame, None if none came in time."""

    def close(self) -> None:
        """Lets go of the other side, and of a command that does not end."""


class FramedCommand:
    """Runs `words` beside `peer` and gives the output in chunks."""

    def __init__(self, peer: Peer, words: Sequence[str], limits: Limits, stop: Stop) -> None:
        self._peer = peer
        self._limits = limits
        self._stop = stop
        self._watch = Watch(limits, stop)
        self._exit: Frame | None = None
        peer.run(words)

    def chunks(self, on_idle: OnIdle = no_sign) -> Generator[bytes]:
        """The output until its end. ProbeError for a flood, a failure, a deadline, an abort;
        PeerLostError where the other side ends or hangs.

        The command is gone when this returns or raises.
        """
        try:
            while self._exit is None:
                frame = self._peer.receive(self._watch.wait_s())
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
        if not self._peer.can_interrupt:
            raise ProbeError(
                "ended at once: a guest that counts instructions cannot be asked to stop"
            )
        self._peer.send(Frame(frames.INPUT_END))

    def _end(self) -> None:
        """TERM, a moment, KILL; a side on which that does not help hangs."""
        for number, wait_s in ((signal.SIGTERM, 1.0), (signal.SIGKILL, self._limits.end_s)):
            if self._exit is None and not self._stop.is_abort:
                with suppress(PeerLostError):
                    self._signal(number)
                    self._wait_for_exit(wait_s)
        if self._exit is None:
            self._peer.close()

    def _wait_for_exit(self, timeout_s: float) -> None:
        until = time.monotonic() + timeout_s
        while self._exit is None and (left := until - time.monotonic()) > 0:
            frame = self._peer.receive(left)
            if frame is not None and frame.type == frames.EXIT:
                self._exit = frame

    def _signal(self, number: signal.Signals) -> None:
        if self._peer.can_interrupt:
            self._peer.send(Frame(frames.SIGNAL, bytes([number])))


def exit_code(frame: Frame) -> int:
    """How a command ended: its exit code, or less than 0 for a signal. TargetError if it could not
    be started."""
    code, errno = frame.content[0], frame.content[1]
    if errno:
        raise TargetError(
            f"the probe cannot be started there: {os.strerror(errno)}",
            "rebuild it: hardstone probe build",
        )
    return _SIGNALED - code if code > _SIGNALED else code


def call(
    peer: Peer,
    words: Sequence[str],
    stdin: IO[bytes],
    stdout: IO[bytes],
    stderr: IO[bytes],
    keep_alive: Callable[[], None] = lambda: None,
) -> int:
    """Runs a person's command with these streams; gives its exit code. `keep_alive` is called now
    and then."""
    peer.run(words)
    streams: Mapping[bytes, IO[bytes]] = {frames.OUTPUT: stdout, frames.ERROR: stderr}
    given = _Input(peer, stdin)
    try:
        while True:
            given.pass_on()
            keep_alive()
            frame = peer.receive(_POLL_S)
            if frame is not None and frame.type in streams:
                streams[frame.type].write(frame.content)
                streams[frame.type].flush()
            elif frame is not None and frame.type == frames.EXIT:
                code = exit_code(frame)
                return code if code >= 0 else 128 - code
            elif frame is not None and frame.type == frames.TAKEN:
                given.is_waiting = False
    except (KeyboardInterrupt, BrokenPipeError):
        peer.close()
        raise


class _Input:
    """A person's input for a command elsewhere, a chunk at a time: no more than one may wait."""

    def __init__(self, peer: Peer, stdin: IO[bytes]) -> None:
        self._peer = peer
        self._stdin = stdin
        self._is_over = not peer.can_interrupt
        self.is_waiting = False

    def pass_on(self) -> None:
        """Sends what can be read now, or its end, unless the chunk before it still waits."""
        if self._is_over or self.is_waiting:
            return
        chunk = b""
        with contextlib.suppress(OSError, ValueError):
            if not select.select([self._stdin], [], [], 0)[0]:
                return
            chunk = os.read(self._stdin.fileno(), _CHUNK_BYTES)
        self._is_over = not chunk
        self.is_waiting = bool(chunk)
        self._peer.send(Frame(frames.INPUT, chunk) if chunk else Frame(frames.INPUT_END))
