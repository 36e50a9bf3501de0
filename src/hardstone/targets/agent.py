"""A channel to the agent on a target; probe/src/agent/ is the other side."""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass

from hardstone import frames
from hardstone.errors import printable
from hardstone.frames import Frame, FrameReader, NoFrameError, PeerLostError, words_frame
from hardstone.targets.base import ProbeError

VERSION = 3
ANSWER_S = 20.0
_ALIVE_S = 60.0  # an agent that hears nothing for 10 minutes ends
_MOST_BANNER_BYTES = 1 << 18
_MOST_ERROR_BYTES = 1 << 16
_MOST_SHOWN = 200
# The least words of an answer; any other may have none.
_LEAST_WORDS = {frames.LOCK: 2, frames.JOB: 1, frames.QUERY: 1, frames.WAIT: 1}


@dataclass(frozen=True)
class Reading:
    """The target's clock between two readings of this machine's, in ns."""

    before_ns: int
    target_ns: int
    after_ns: int


def now_ns() -> int:
    """This machine's clock, which also counts the time in which it sleeps: a target goes on."""
    return time.clock_gettime_ns(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


class Agent:
    """One channel to the agent. Calls raise PeerLostError where it is gone, and ProbeError where
    what comes is not as agreed: asking again would not help."""

    can_interrupt = True

    def __init__(self, process: subprocess.Popen[bytes], word: str, name: str) -> None:
        self._process = process
        self._name = name
        self._reader = FrameReader(frames.FROM_AGENT)
        self._alive_at = time.monotonic()
        self._signs = 0  # of life, whose answers are still to come
        self.has_unread = False  # frames of a file that nobody read to its end
        try:
            self._find_begin(f"hardstone-agent {word}\n".encode())
            frame = self.receive(ANSWER_S)
            if frame != Frame(frames.READY, bytes([VERSION])):
                raise PeerLostError(f"{name}: the agent there is of another version", "")
        except BaseException:
            self.close()
            raise

    def _find_begin(self, line: bytes) -> None:
        """Leaves out what a login writes before the agent."""
        said = b""
        until = time.monotonic() + ANSWER_S
        while line not in said:
            chunk = self._read(until - time.monotonic())
            if not chunk or len(said) > _MOST_BANNER_BYTES:
                raise self._lost(said)
            said += chunk
        self._reader.feed(said.partition(line)[2])

    def run(self, words: Sequence[str]) -> None:
        self.send(words_frame(frames.RUN, words))

    def send(self, frame: Frame) -> None:
        if self._process.stdin is None:
            raise PeerLostError(f"{self._name}: the connection is closed", "")
        try:
            self._process.stdin.write(frame.packed())
            self._process.stdin.flush()
        except (OSError, ValueError):
            raise self._lost() from None

    def receive(self, timeout_s: float) -> Frame | None:
        until = time.monotonic() + timeout_s
        while True:
            frame = self._next(until)
            if frame is None or frame.type != frames.CLOCK or not self._signs:
                return frame
            self._signs -= 1

    def _next(self, until: float) -> Frame | None:
        try:
            while (frame := self._reader.next()) is None:
                chunk = self._read(until - time.monotonic())
                if chunk is None:
                    return None
                if not chunk:
                    raise self._lost()
                self._reader.feed(chunk)
        except NoFrameError as error:
            self.close()
            raise PeerLostError(
                f"{self._name}: something else writes into the channel: {error}",
                "keep login scripts there from writing once a command runs",
            ) from error
        return frame

    def ask(self, kind: bytes, words: Sequence[str], timeout_s: float = ANSWER_S) -> list[str]:
        """Sends words and gives those of the answer; ProbeError where it was refused."""
        self.send(words_frame(kind, words))
        answer = self._answer(frames.ANSWER, timeout_s).words()
        if len(answer) < _LEAST_WORDS.get(kind, 0):
            raise self._not_agreed("an answer without its words")
        return answer

    def fetch(self, path: str, offset: int, most_bytes: int) -> Generator[bytes]:
        """The bytes of a file there from `offset` on; OSError where it cannot be read."""
        self.send(words_frame(frames.FETCH, [path, str(offset), str(most_bytes)]))
        self.has_unread = True
        left = most_bytes
        while (frame := self._answer(frames.OUTPUT, ANSWER_S, frames.EXIT)).type == frames.OUTPUT:
            left -= len(frame.content)
            if left < 0 or not frame.content:
                raise self._not_agreed("other than the bytes of a file that were asked for")
            yield frame.content
        self.has_unread = False
        number = frame.content[1]
        if number:
            raise OSError(number, os.strerror(number), path)

    def clock(self) -> Reading:
        """Reads the clock there."""
        before_ns = now_ns()
        self.send(Frame(frames.CLOCK))
        frame = self._answer(frames.CLOCK, ANSWER_S)
        after_ns = now_ns()
        target_ns = int.from_bytes(frame.content[:8], "little")
        if target_ns >= 1 << 63:
            raise self._not_agreed("a time that no clock has")
        return Reading(before_ns, target_ns, after_ns)

    def keep_alive(self, alive_s: float = _ALIVE_S) -> None:
        """Sends a sign of life every `alive_s`; its answer is left out."""
        now = time.monotonic()
        if now - self._alive_at >= alive_s:
            self._alive_at = now
            self._signs += 1
            self.send(Frame(frames.CLOCK))

    def close(self) -> None:
        if self._process.poll() is None:
            with contextlib.suppress(OSError, ValueError):
                if self._process.stdin is not None:
                    self._process.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(1.0)
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                with contextlib.suppress(OSError, ValueError):
                    stream.close()

    def _answer(self, kind: bytes, timeout_s: float, last: bytes = b"") -> Frame:
        """The next frame, which is of type `kind` or `last`."""
        frame = self.receive(timeout_s)
        if frame is None:
            self.close()
            raise PeerLostError(f"{self._name} stopped answering", "")
        if frame.type == frames.REFUSED:
            self.close()  # it has ended
            said = printable(frame.content.decode("utf-8", "replace"))[:_MOST_SHOWN]
            raise ProbeError(f"{self._name}: the agent refused: {said}")
        if frame.type not in (kind, last):
            raise self._not_agreed(f"a frame of type {frame.type!r}")
        return frame

    def _not_agreed(self, what: str) -> ProbeError:
        """What comes next would be taken for another answer: the channel is of no more use."""
        self.close()
        return ProbeError(
            f"{self._name}: the agent there sends {what}",
            "see what runs there in the place of the probe, and try again",
        )

    def _read(self, timeout_s: float) -> bytes | None:
        """None: nothing came in time; empty: the channel is closed."""
        stream = self._process.stdout
        if stream is None or stream.closed:
            return b""
        poller = select.poll()
        poller.register(stream, select.POLLIN)
        if not poller.poll(max(0.0, timeout_s) * 1000):
            return None
        return os.read(stream.fileno(), 1 << 16)

    def _lost(self, output: bytes = b"") -> PeerLostError:
        said = output
        with contextlib.suppress(OSError, ValueError, subprocess.TimeoutExpired):
            self._process.wait(1.0)
            said = self._error() or output
        self.close()
        lines = [one for one in said.decode("utf-8", "replace").splitlines() if one.strip()]
        words = printable("; ".join(lines[-2:]))[:_MOST_SHOWN]
        return PeerLostError(f"{self._name}: the connection was lost{words and f': {words}'}", "")

    def _error(self) -> bytes:
        """What is there of standard error: the connection's process may hold its other end."""
        stream, said = self._process.stderr, b""
        if stream is not None:
            os.set_blocking(stream.fileno(), False)
            with contextlib.suppress(BlockingIOError):
                while len(said) < _MOST_ERROR_BYTES and (
                    chunk := os.read(stream.fileno(), 1 << 14)
                ):
                    said += chunk
        return said
