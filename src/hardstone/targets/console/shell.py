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
from hardstone.targets.console.console_frames import frames_in, plain, shown
from hardstone.targets.console.line import Line

# A shell is on the other side: it must find nothing that it changes.
_ARGUMENT = re.compile(r"[A-Za-z0-9_.,:=/+@%-]{1,4096}", re.ASCII)
_MOST_BYTES = 1 << 17  # of what is read while looking for a prompt
_TEXT_RATIO = 0.7
_LOGIN = re.compile(r"(?:login|username|password): *$", re.IGNORECASE)
_DIGITS = re.compile(r"[0-9]+", re.ASCII)
_PROBE = b"@hs:"
_AFTER_S = 20.0  # for the prompt, after what a probe had to send
_TELNET = re.compile(rb"^\xff[\xfb-\xfe]")
STOP, AGAIN, QUIT = b"s\n", b"a\n", b"q\n"
_CTRL_C = b"\x03"


@dataclass(frozen=True)
class Patience:
    """Times in s. `quiet_s`: after which a shell has said all; `answer_s`: for its first byte;
    `settle_s`: for what it still says when the port is opened. `start_s`: until the first frame of
    a command. `again_s`: of silence, until frames that are missing are asked for; `end_s`: for the
    prompt after a command. `find_s`: for all that finding the prompt takes; `drain_s`: for a probe
    that is found running, to send what it has."""

    quiet_s: float = 0.3
    answer_s: float = 2.0
    settle_s: float = 3.0
    start_s: float = 20.0
    again_s: float = 2.0
    end_s: float = 5.0
    find_s: float = 45.0
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
    """A shell on `line`. `name` is the target's, `prompt` the end of its prompt, None to find it;
    `path` the port's, where another program could read it too.

    `is_at_prompt`: it waits for a command. `line_typed`: the last one, empty before the first;
    `typed`: with its prompt, as the shell may echo it; `echo`: what came while it was typed.
    """

    def __init__(
        self,
        line: Line,
        name: str,
        program: str,
        prompt: str | None,
        patience: Patience = PATIENCE,
        clock: Callable[[], float] = time.monotonic,
        path: str | None = None,
    ) -> None:
        self.line = line
        self.name = name
        self.patience = patience
        self.clock = clock
        self.is_at_prompt = False
        self.typed = ""
        self.line_typed = b""
        self.echo = b""
        self._path = path
        self._until: float | None = None  # while the prompt is looked for
        self._heard_bytes = 0
        self._quiets = self._floods = 0  # how often it fell silent when it was waited for, and not
        self._program = program
        self._given = prompt
        self._prompt = ""

    def is_prompt(self, tail: str) -> bool:
        """Whether a line that has not ended is the prompt."""
        tail = tail.strip()
        if self._given is not None:
            return tail.endswith(self._given)
        return bool(self._prompt) and _shape(tail) == _shape(self._prompt)

    def find_prompt(self) -> None:
        """Until the shell waits for a command; ends a probe that still runs there. TargetError
        that says what came instead.

        Letters and Ctrl-C are sent only where a probe speaks or nothing answers: a shell would run
        them, and a login take them for a name.
        """
        self.is_at_prompt = False
        self._quiets = self._floods = self._heard_bytes = 0
        self._until = self.clock() + self.patience.find_s
        try:
            self._find()
        finally:
            self._until = None

    def _find(self) -> None:
        begun_at = self.clock()
        heard = self._drained(self.until_quiet(self.patience.quiet_s, self.patience.settle_s))
        answers, may_order = b"", False
        for orders in ((), (), (STOP, QUIT), (_CTRL_C,)):
            if orders and not (may_order or _PROBE in heard + answers):
                continue
            for order in orders:
                self.line.write(order)
                more = self.until_quiet(4 * self.patience.quiet_s, self.patience.settle_s)
                heard += self._drained(more)
            first, second = self._answer(), self._answer()
            answers = (answers + first + second)[-_MOST_BYTES:]
            if self._learn(first, second):
                self.is_at_prompt = True
                return
            if _is_login(second) or not self._left_s(1.0):
                break
            may_order = not plain(first + second).strip()
        raise self._no_prompt(answers or heard, self.clock() - begun_at, is_answer=bool(answers))

    def _drained(self, heard: bytes) -> bytes:
        """`heard`, and all that a probe sends which is found sending."""
        if self._until is None or not any(map(tuple, map(frames_in, heard.split(b"\n")))):
            return heard
        self._until = max(self._until, self.clock() + self.patience.drain_s + _AFTER_S)
        return heard + self.until_quiet(4 * self.patience.quiet_s, self.patience.drain_s)

    def _left_s(self, most_s: float) -> float:
        """Of `most_s`, what is left of the time for finding the prompt."""
        return most_s if self._until is None else max(0.0, min(most_s, self._until - self.clock()))

    def _answer(self) -> bytes:
        """What the shell says to an empty line."""
        self.line.write(b"\r")
        first = self.line.read(self._left_s(self.patience.answer_s))
        if not first:
            return b""
        return first + self.until_quiet(self.patience.quiet_s, self.patience.settle_s)

    def _learn(self, first: bytes, second: bytes) -> bool:
        tails = [shown(one.rpartition(b"\n")[2]).strip() for one in (first, second)]
        if self._given is not None:
            return self.is_prompt(tails[1])
        is_same = _shape(tails[0]) == _shape(tails[1])  # a clock or a counter goes on
        if not tails[1] or not is_same or "@hs" in tails[1] or not is_text(second):
            return False
        if _is_login(second):
            return False
        self._prompt = tails[1]
        return True

    def until_quiet(self, quiet_s: float, most_s: float) -> bytes:
        """What comes until nothing came for `quiet_s`, for at most `most_s`; its last bytes."""
        heard = b""
        until = self.clock() + self._left_s(most_s)
        while (left := until - self.clock()) > 0:
            data = self.line.read(min(quiet_s, left))
            if not data:
                is_quiet = left >= quiet_s
                self._quiets += is_quiet
                self._floods += not is_quiet
                return heard
            self._heard_bytes += len(data)
            heard = (heard + data)[-_MOST_BYTES:]
        self._floods += 1
        return heard

    def _no_prompt(self, heard: bytes, took_s: float, *, is_answer: bool) -> TargetError:
        if not heard:
            reader = self._path and f"; another program may read the port: fuser {self._path}"
            return TargetError(
                f"{self.name}: nothing comes from the port at all",
                "check that the board is on and runs, that the cable is on the right port, with RX "
                f"and TX crossed, and the baud rate: baud={reader or ''}",
            )
        last = shown(heard.rstrip().rpartition(b"\n")[2]).strip()
        if (other := self._no_shell(heard, last, took_s)) is not None:
            return other
        mute = "" if is_answer else ", and nothing answers to an empty line"
        return TargetError(
            f"{self.name}: no prompt was found; the last line was '{last[:80]}'{mute}",
            "name the end of the prompt: prompt=TEXT; check the baud rate; end what runs there",
        )

    def _no_shell(self, heard: bytes, last: str, took_s: float) -> TargetError | None:
        """Where what comes tells what is there instead."""
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
        if self._floods > self._quiets:
            return TargetError(
                f"{self.name}: the port never falls silent: {self._heard_bytes} bytes in "
                f"{took_s:.0f} s; the last line was '{last[:80]}'",
                "silence what writes to the console, such as dmesg -n 1, or end the program there",
            )
        if _is_login(heard):
            return TargetError(
                f"{self.name} asks for a login",
                "log in once with a terminal program (tio, picocom), and leave it without logging "
                "out",
            )
        if not plain(heard).strip():
            return TargetError(
                f"{self.name} only echoes line ends: no shell answers",
                "end the program that runs there, or restart the board",
            )
        return None

    # ---- a command ----

    def send(self, arguments: Sequence[str], pace: Pace) -> str:
        """Types the probe's command line; the token of its frames."""
        token = secrets.token_hex(2)
        text = command_line(self._program, token, arguments)
        self.until_quiet(0.0, self.patience.settle_s)
        self.is_at_prompt = False
        self.typed, self.line_typed = f"{self._prompt} {text.decode('ascii')}", text
        self.echo = b""
        for at in range(0, len(text), pace.bytes_count):
            self.line.write(text[at : at + pace.bytes_count])
            if pace.bytes_count < len(text):
                self.echo += self.line.read(_ECHO_S)  # of the command, no frame
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


def _shape(text: str) -> str:
    """`text` with each number the same: prompts have clocks and counters."""
    return _DIGITS.sub("0", text)


def _is_login(heard: bytes) -> bool:
    return bool(_LOGIN.search(shown(heard.rstrip().rpartition(b"\n")[2]).strip()))


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
