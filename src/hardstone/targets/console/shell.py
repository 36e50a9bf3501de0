"""The shell behind a console: its prompt is found, and a command is typed there."""

from __future__ import annotations

import re
import secrets
import time
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hardstone.errors import TargetError, printable
from hardstone.targets.base import ProbeError
from hardstone.targets.console.console_frames import plain, shown
from hardstone.targets.console.line import Line

# A shell is on the other side: it must find nothing that it changes.
_ARGUMENT = re.compile(r"[A-Za-z0-9_.,:=/+@%-]{1,4096}", re.ASCII)
_MOST_BYTES = 1 << 17  # of what is read while looking for a prompt
_TEXT_RATIO = 0.7
_LOGIN = re.compile(r"(?:login|username|password): *$", re.IGNORECASE)
_TELNET = re.compile(rb"^\xff[\xfb-\xfe]")
STOP, AGAIN, QUIT = b"s\n", b"a\n", b"q\n"
_CTRL_C = b"\x03"


@dataclass(frozen=True)
class Patience:
    """Times in s. `quiet_s`: after which a shell has said all; `answer_s`: for its first byte;
    `settle_s`: for what it still says when the port is opened. `start_s`: until the first frame of
    a command. `again_s`: of silence, until frames that are missing are asked for; `end_s`: for the
    prompt after a command. `drain_s`: for a probe that is found running, to send what it has."""

    quiet_s: float = 0.3
    answer_s: float = 2.0
    settle_s: float = 3.0
    start_s: float = 20.0
    again_s: float = 2.0
    end_s: float = 5.0
    drain_s: float = 120.0


PATIENCE = Patience()


@dataclass(frozen=True)
class Pace:
    """How a command is typed: `bytes_count` at once, then its echo is awaited. A port without a
    buffer loses what comes while the shell echoes."""

    bytes_count: int


PACES = (Pace(1 << 16), Pace(16), Pace(1))
_ECHO_S = 0.2


class Shell:
    """A shell on `line`. `name` is the target's, `prompt` the end of its prompt, None to find it.

    `is_at_prompt`: it waits for a command. `typed`: the last one, as the shell may echo it.
    """

    def __init__(
        self,
        line: Line,
        name: str,
        program: str,
        prompt: str | None,
        patience: Patience = PATIENCE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.line = line
        self.name = name
        self.patience = patience
        self.clock = clock
        self.is_at_prompt = False
        self.typed = ""
        self._program = program
        self._given = prompt
        self._prompt = ""

    def is_prompt(self, tail: str) -> bool:
        """Whether a line that has not ended is the prompt."""
        tail = tail.strip()
        if self._given is not None:
            return tail.endswith(self._given)
        return bool(self._prompt) and tail == self._prompt

    def find_prompt(self) -> None:
        """Until the shell waits for a command; ends a probe that still runs there. TargetError
        that says what came instead."""
        self.is_at_prompt = False
        heard = self.until_quiet(self.patience.quiet_s, self.patience.settle_s)
        answers = b""
        for orders in ((), (), (STOP, QUIT), (_CTRL_C,)):
            for order in orders:
                self.line.write(order)
                most_s = self.patience.drain_s if b"@hs" in heard else self.patience.settle_s
                heard += self.until_quiet(4 * self.patience.quiet_s, most_s)
            first, second = self._answer(), self._answer()
            answers += first + second
            if self._learn(first, second):
                self.is_at_prompt = True
                return
        raise self._no_prompt(answers or heard, is_answer=bool(answers))

    def _answer(self) -> bytes:
        """What the shell says to an empty line."""
        self.line.write(b"\r")
        first = self.line.read(self.patience.answer_s)
        if not first:
            return b""
        return first + self.until_quiet(self.patience.quiet_s, self.patience.settle_s)

    def _learn(self, first: bytes, second: bytes) -> bool:
        tails = [shown(one.rpartition(b"\n")[2]).strip() for one in (first, second)]
        if _LOGIN.search(tails[1]) and self._given is None:
            return False
        if self._given is not None:
            return self.is_prompt(tails[1])
        if not tails[1] or tails[0] != tails[1] or "@hs" in tails[1] or not is_text(second):
            return False
        self._prompt = tails[1]
        return True

    def until_quiet(self, quiet_s: float, most_s: float) -> bytes:
        """What comes until nothing came for `quiet_s`, for at most `most_s`; its last bytes."""
        heard = b""
        until = self.clock() + most_s
        while (left := until - self.clock()) > 0:
            data = self.line.read(min(quiet_s, left))
            if not data:
                break
            heard = (heard + data)[-_MOST_BYTES:]
        return heard

    def _no_prompt(self, heard: bytes, *, is_answer: bool) -> TargetError:
        text = plain(heard).strip()
        if not heard:
            return TargetError(
                f"{self.name}: nothing comes from the port at all",
                "check that the board is on and runs, that the cable is on the right port, with RX "
                "and TX crossed, and the baud rate: baud=",
            )
        if _TELNET.match(heard):
            return TargetError(
                f"{self.name}: the server speaks telnet", "set the port there to raw bytes"
            )
        if not is_text(heard):
            return TargetError(
                f"{self.name}: what comes is not text: the baud rate is wrong, or the line is bad",
                "give the board's rate, such as baud=9600 or baud=1500000, and check the ground "
                "wire",
            )
        last = shown(heard.rstrip().rpartition(b"\n")[2]).strip()
        if _LOGIN.search(last):
            return TargetError(
                f"{self.name} asks for a login",
                "log in once with a terminal program (tio, picocom), and leave it without logging "
                "out",
            )
        if not text:
            return TargetError(
                f"{self.name} only echoes line ends: no shell answers",
                "end the program that runs there, or restart the board",
            )
        mute = "" if is_answer else ", and nothing answers to an empty line"
        return TargetError(
            f"{self.name}: no prompt was found; the last line was '{last[:80]}'{mute}",
            "name the end of the prompt: prompt=TEXT; check the baud rate; end what runs there",
        )

    # ---- a command ----

    def send(self, arguments: Sequence[str], pace: Pace) -> str:
        """Types the probe's command line; the token of its frames."""
        token = secrets.token_hex(2)
        text = command_line(self._program, token, arguments)
        self.until_quiet(0.0, self.patience.settle_s)
        self.is_at_prompt = False
        self.typed = f"{self._prompt} {text.decode('ascii')}"
        for at in range(0, len(text), pace.bytes_count):
            self.line.write(text[at : at + pace.bytes_count])
            if pace.bytes_count < len(text):
                self.line.read(_ECHO_S)  # the echo: of the command, no frame
        self.line.write(b"\r")
        return token

    def leave(self) -> None:
        """Ends a probe that waits; the prompt follows."""
        self.line.write(QUIT)
        held = b""
        until = self.clock() + self.patience.end_s
        while self.clock() < until:
            data = self.line.read(self.patience.quiet_s)
            held = (held + data)[-_MOST_BYTES:]
            if not data and self.is_prompt(shown(held.rpartition(b"\n")[2])):
                self.is_at_prompt = True
                return


def command_line(program: str, token: str, arguments: Sequence[str]) -> bytes:
    """What is typed, without its end. ProbeError for an argument that a shell may change."""
    for one in arguments:
        if not _ARGUMENT.fullmatch(one):
            raise ProbeError(
                f"'{printable(one)[:80]}' cannot be sent over a console, where a shell reads it",
                "use names without spaces and quotes: letters, digits and _ . , : = / + @ % -",
            )
    words = " ".join([token, *arguments]).encode("ascii")
    rest = words.partition(b" ")[2]
    return b"%s console %s %08x %s" % (
        program.encode("ascii"),
        token.encode("ascii"),
        zlib.crc32(words),
        rest,
    )


def is_text(data: bytes) -> bool:
    """Whether most of it prints, or is obeyed by a terminal."""
    kept = [byte for byte in data if 0x20 <= byte < 0x7F or byte in b"\r\n\t\x1b\x08\x07\x0f\x0e"]
    try:
        data.decode("utf-8")
        is_utf8 = b"\0" not in data and bool(plain(data))
    except UnicodeDecodeError:
        is_utf8 = False
    return is_utf8 or len(kept) >= _TEXT_RATIO * len(data)
