"""Frames between the toolkit and a program that starts the probe elsewhere: the first process of a
guest, and the agent on a target that SSH reaches. probe/src/agent/frame.h says what each type is.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hardstone.errors import TargetError

VERSION = 2
RUN, INPUT, INPUT_END, SIGNAL, CLOCK = b"R", b"I", b"Z", b"S", b"C"
READY, OUTPUT, ERROR, TAKEN, EXIT = b"H", b"O", b"E", b"T", b"X"
# Of an agent only.
FETCH, DROP, LOCK, UNLOCK, JOB = b"F", b"D", b"L", b"U", b"J"
QUERY, WAIT, STOP, BYE, ANSWER, REFUSED = b"Q", b"W", b"P", b"B", b"K", b"N"
MOST_BYTES = 1 << 16
# Types that come from there, each with the least that it holds.
FROM_GUEST = {READY: 1, OUTPUT: 0, ERROR: 0, TAKEN: 0, EXIT: 2, CLOCK: 8}
FROM_AGENT = {**FROM_GUEST, ANSWER: 0, REFUSED: 0}
_HEAD = struct.Struct("<cI")


class PeerLostError(TargetError):
    """The other side is gone, or no longer answers."""


class NoFrameError(ValueError):
    """The other side sent what is no frame."""


@dataclass(frozen=True)
class Frame:
    """A type, one byte, and what came with it."""

    type: bytes
    content: bytes = b""

    def packed(self) -> bytes:
        """The frame as it is sent."""
        return _HEAD.pack(self.type, len(self.content)) + self.content

    def words(self) -> list[str]:
        """The words of a frame that has words, printable or not: their sender is not trusted."""
        return [one.decode("utf-8", "replace") for one in self.content.split(b"\0")[:-1]]


def words_frame(kind: bytes, words: Sequence[str]) -> Frame:
    """A frame of words; ValueError for words that no command can have."""
    content = b"".join(word.encode("utf-8", "surrogateescape") + b"\0" for word in words)
    if any("\0" in word for word in words) or len(content) > MOST_BYTES:
        raise ValueError("the command is too long, or has a 0 byte")
    return Frame(kind, content)


class FrameReader:
    """Frames out of bytes as they come; `types` are those that may come."""

    def __init__(self, types: Mapping[bytes, int] = FROM_GUEST) -> None:
        self._types = types
        self._received = bytearray()

    def feed(self, chunk: bytes) -> None:
        """Takes bytes from the other side."""
        self._received += chunk

    def next(self) -> Frame | None:
        """The next frame, None until the rest has come; NoFrameError."""
        if len(self._received) < _HEAD.size:
            return None
        kind, length = _HEAD.unpack_from(self._received)
        if not self._types.get(kind, MOST_BYTES + 1) <= length <= MOST_BYTES:
            raise NoFrameError(f"frame of type {kind!r} and {length} bytes")
        end = _HEAD.size + length
        if len(self._received) < end:
            return None
        frame = Frame(kind, bytes(self._received[_HEAD.size : end]))
        del self._received[:end]
        return frame
