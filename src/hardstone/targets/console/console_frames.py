"""The frames that the probe sends over a console, and what several passes of them make together.

    @hs:TOKEN N T CRC PAYLOAD

A line each. CRC is the CRC-32 of "TOKEN N T PAYLOAD". The last frame has the exit code, the bytes
and the CRC-32 of all output: nothing is given that does not match it. Others write to a console
too, between the lines and in the middle of one; a line that is not right by its CRC is none.
probe/src/command/console.c is the other side.
"""

from __future__ import annotations

import re
import zlib
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from hardstone.errors import printable

VERSION = b"1"
BEGIN, PART, LINE, ERROR, END = "^", "+", ".", "-", "!"
_MARK = b"@hs:"
_FRAME = re.compile(
    rb"@hs:([0-9a-f]{4}) ([0-9]{1,7}) ([\^+.!-]) ([0-9a-f]{8})(?: (.*))?", re.DOTALL
)
_LIKE_A_FRAME = re.compile(rb"@hs|hs:[0-9a-f]{4} |[0-9]{1,7} [+.!^-] [0-9a-f]{8} ")
_END = re.compile(rb"([0-9]{1,3}) ([0-9]{1,10}) ([0-9a-f]{8})")
# Sequences that a terminal obeys; no payload has one.
_ESCAPES = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]*[0-~])")
_CONTROLS = bytes([*range(0x20), 0x7F])
_PAYLOAD_BYTES = 120
_LINE_BYTES = 1 << 12
_MOST_FRAMES = 1 << 20
_MOST_PASSES = 64  # a host asks for fewer
_MOST_FOREIGN = 40
_MOST_NOTED = 16
_FOREIGN_CHARACTERS = 200


@dataclass(frozen=True)
class ConsoleFrame:
    """One frame, right by its CRC."""

    token: str
    number: int
    kind: str
    payload: bytes

    def encode(self) -> bytes:
        """As it is sent, with its line end."""
        head = f"{self.token} {self.number} {self.kind} ".encode("ascii")
        check = zlib.crc32(head + self.payload)
        return _MARK + head + f"{check:08x} ".encode("ascii") + self.payload + b"\n"


def plain(line: bytes) -> bytes:
    """`line` without what a terminal obeys."""
    return _ESCAPES.sub(b"", line).translate(None, _CONTROLS)


def frames_in(line: bytes) -> Iterator[ConsoleFrame]:
    """All frames in a line: one that lost its end holds another."""
    line = plain(line)
    at = line.find(_MARK)
    while at >= 0:
        after = line.find(_MARK, at + 1)
        for end in (after, len(line)):
            found = _decoded(line[at:end]) if end > at else None
            if found is not None:
                yield found
                break
        at = after


def _decoded(text: bytes) -> ConsoleFrame | None:
    match = _FRAME.fullmatch(text)
    if match is None or len(match[5] or b"") > _PAYLOAD_BYTES:
        return None
    payload = match[5] or b""
    head = b"%s %s %s " % (match[1], match[2], match[3])
    if zlib.crc32(head + payload) != int(match[4], 16):
        return None
    return ConsoleFrame(match[1].decode(), int(match[2]), match[3].decode(), payload)


class ConsoleReader:
    """Frames in what comes over a console, and what else came.

    `foreign`: the last lines of others, printable; `noted`: the first ones that match `notable`,
    which a crash would push out of those. `damaged_count`: lines that look like a frame and are
    none.
    """

    def __init__(self, notable: re.Pattern[str] | None = None) -> None:
        self._notable = notable
        self.noted: list[str] = []
        self._held = b""
        self.foreign: deque[str] = deque(maxlen=_MOST_FOREIGN)
        self.foreign_count = 0
        self.damaged_count = 0

    @property
    def tail(self) -> str:
        """The line that has not ended, as a terminal shows it."""
        return shown(self._held)

    def feed(self, data: bytes) -> list[ConsoleFrame]:
        """The frames that `data` ends."""
        *lines, rest = (self._held + data).split(b"\n")
        self._held = rest[-_LINE_BYTES:]
        return [frame for line in lines for frame in self._line(line)]

    def flush(self) -> list[ConsoleFrame]:
        """The frames in the line that has not ended: its end may be lost."""
        found = list(frames_in(self._held))
        if found:
            self._held = b""
        return found

    def _line(self, line: bytes) -> list[ConsoleFrame]:
        found = list(frames_in(line))
        if not found and _LIKE_A_FRAME.search(line):
            self.damaged_count += 1
        elif not found and (text := shown(line).strip()):
            self.foreign_count += 1
            self.foreign.append(text)
            if self._notable and len(self.noted) < _MOST_NOTED and self._notable.search(text):
                self.noted.append(text)
        return found


def shown(line: bytes) -> str:
    """A line of others, as a terminal shows it, shortened."""
    text = plain(line.rpartition(b"\r")[2] if not line.endswith(b"\r") else line)
    return printable(text.decode("utf-8", "replace"))[:_FOREIGN_CHARACTERS]


@dataclass(frozen=True)
class Output:
    """What a command wrote, whole, and its exit code."""

    exit_code: int
    output: bytes
    said: bytes


@dataclass
class _Pass:
    frames: dict[int, ConsoleFrame] = field(default_factory=dict)
    last: ConsoleFrame | None = None
    end: ConsoleFrame | None = None


class Passes:
    """The frames of one command, of all passes in which they were sent.

    A pass is merged only with those whose last frame says the same: a command that is run again
    may give another answer. `is_begun`: a frame of the command came, ever. `has_end`: a last frame
    came, of any pass. `has_output`: more came than the first frame, so that what measures has
    ended. `count`: the passes of which anything came; `wrong_count`: how often all of an output
    came and did not match its last frame.
    """

    def __init__(self, token: str) -> None:
        self._token = token
        self._passes = [_Pass()]
        self.version: bytes | None = None
        self.is_begun = False
        self.has_end = False
        self.has_output = False
        self.count = 0
        self.wrong_count = 0
        self.strangers_count = 0

    @property
    def ends(self) -> bool:
        """Whether the last frame of this pass came."""
        return self._passes[-1].end is not None

    def add(self, frame: ConsoleFrame) -> bool:
        """Takes a frame; whether it is new. ValueError for more than a command may send."""
        if frame.token != self._token:
            self.strangers_count += 1
            return False
        if frame.number >= _MOST_FRAMES:
            raise ValueError(f"more than {_MOST_FRAMES} frames")
        here = self._passes[-1]
        if frame == here.last:
            return False  # a doubled line
        if here.last is not None and frame.number <= here.last.number:
            here = self.next_pass()
        self._count(here)
        is_new = all(frame != one.frames.get(frame.number) for one in self._passes)
        here.frames[frame.number] = here.last = frame
        if frame.kind == BEGIN:
            self.version = frame.payload
        if frame.kind == END:
            here.end, self.has_end = frame, True
        self.has_output |= frame.kind != BEGIN
        return is_new

    def _count(self, here: _Pass) -> None:
        self.is_begun = True
        self.count += not here.frames
        if self.count > _MOST_PASSES:
            raise ValueError(f"the same output in more than {_MOST_PASSES} pieces")

    def next_pass(self) -> _Pass:
        """What comes from here on is sent again."""
        if self._passes[-1].frames:
            self._passes.append(_Pass())
        return self._passes[-1]

    def missing(self) -> tuple[int, int] | None:
        """How many frames are missing, and of how many; None before a last frame came."""
        merged = [self._merged(end) for end in self._ends()]
        counts = [(end.number + 1 - len(found), end.number + 1) for end, found in merged]
        return min(counts, default=None)

    def whole(self) -> Output | None:
        """The output, once all of it came and matches its last frame."""
        for end in self._ends():
            _, frames = self._merged(end)
            if len(frames) != end.number + 1:
                continue
            found = _checked(end, frames)
            if found is not None:
                return found
            self._drop(end)
        return None

    def beginning(self) -> bytes:
        """The lines of the output up to the first frame that is missing, of one pass or of those
        that belong together: a part, which no last frame confirms."""
        sets = [self._merged(end)[1] for end in self._ends()] or [
            one.frames for one in self._passes
        ]
        return max((_lines_of(one) for one in sets), key=len, default=b"")

    def _ends(self) -> list[ConsoleFrame]:
        ends = (one.end for one in self._passes)
        return list(dict.fromkeys(end for end in ends if end is not None))

    def _merged(self, end: ConsoleFrame) -> tuple[ConsoleFrame, dict[int, ConsoleFrame]]:
        """The frames of the passes that end so, and of those that lost their end and agree."""
        merged: dict[int, ConsoleFrame] = {}
        for one in self._passes:
            if one.end == end:
                merged |= one.frames
        for one in self._passes:
            agrees = all(merged.get(number, frame) == frame for number, frame in one.frames.items())
            if one.end is None and agrees and max(one.frames, default=0) < end.number:
                merged |= one.frames
        return end, {number: frame for number, frame in merged.items() if number <= end.number}

    def _drop(self, end: ConsoleFrame) -> None:
        """All is there and does not match: nothing of it can be believed."""
        self.wrong_count += 1
        self._passes = [one for one in self._passes if one.end not in (end, None)]
        self._passes.append(_Pass())


def _checked(end: ConsoleFrame, frames: dict[int, ConsoleFrame]) -> Output | None:
    match = _END.fullmatch(end.payload)
    if match is None:
        return None
    pieces, said = [], []
    for number in range(end.number):
        frame = frames[number]
        if frame.kind in (PART, LINE):
            pieces.append(frame.payload + (b"\n" if frame.kind == LINE else b""))
        elif frame.kind == ERROR:
            said.append(frame.payload + b"\n")
    output = b"".join(pieces)
    if len(output) != int(match[2]) or zlib.crc32(output) != int(match[3], 16):
        return None
    return Output(int(match[1]), output, b"".join(said))


def _lines_of(frames: dict[int, ConsoleFrame]) -> bytes:
    if frames.get(0) is None:
        return b""
    output = bytearray()
    for number in range(len(frames)):
        frame = frames.get(number)
        if frame is None or frame.kind == END:
            break
        if frame.kind in (PART, LINE):
            output += frame.payload + (b"\n" if frame.kind == LINE else b"")
    return bytes(output[: output.rfind(b"\n") + 1])
