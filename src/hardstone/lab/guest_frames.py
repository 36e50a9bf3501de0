"""What host and guest say to each other; the guest's side is probe/guest/frame.h."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

VERSION = 2
RUN, INPUT, INPUT_END, SIGNAL, CLOCK = b"R", b"I", b"Z", b"S", b"C"
READY, OUTPUT, ERROR, TAKEN, EXIT = b"H", b"O", b"E", b"T", b"X"
MOST_BYTES = 1 << 16
# Types that a guest sends, each with the least that it holds.
_FROM_GUEST = {READY: 1, OUTPUT: 0, ERROR: 0, TAKEN: 0, EXIT: 2, CLOCK: 8}
_HEAD = struct.Struct("<cI")


class NoFrameError(ValueError):
    """The guest sent what is no frame."""


@dataclass(frozen=True)
class Frame:
    """A type, one byte, and what came with it."""

    type: bytes
    content: bytes = b""

    def packed(self) -> bytes:
        """The frame as it is sent."""
        return _HEAD.pack(self.type, len(self.content)) + self.content


def run_frame(words: Sequence[str]) -> Frame:
    """Asks for a command; ValueError for words that no command can have."""
    content = b"".join(word.encode("utf-8", "surrogateescape") + b"\0" for word in words)
    if any("\0" in word for word in words) or len(content) > MOST_BYTES:
        raise ValueError("the command is too long, or has a 0 byte")
    return Frame(RUN, content)


class FrameReader:
    """Frames out of bytes as they come."""

    def __init__(self) -> None:
        self._held = bytearray()

    def feed(self, chunk: bytes) -> None:
        """Takes bytes from the guest."""
        self._held += chunk

    def next(self) -> Frame | None:
        """The next frame, None until the rest has come; NoFrameError."""
        if len(self._held) < _HEAD.size:
            return None
        kind, length = _HEAD.unpack_from(self._held)
        if not _FROM_GUEST.get(kind, MOST_BYTES + 1) <= length <= MOST_BYTES:
            raise NoFrameError(f"frame of type {kind!r} and {length} bytes")
        end = _HEAD.size + length
        if len(self._held) < end:
            return None
        frame = Frame(kind, bytes(self._held[_HEAD.size : end]))
        del self._held[:end]
        return frame
