"""A board behind a serial line, in virtual time: a shell, the probe's console protocol with answers
that are given, and a line that fails as a seed says."""

from __future__ import annotations

import heapq
import random
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from hardstone.targets.console.console_frames import ConsoleFrame

_PIECE = 120
_WAIT_S = 30.0
LOG = b"[   12.345678] usb 1-1: new high-speed USB device number 4 using xhci_hcd"
ESCAPES = (b"\x1b[6n", b"\x1b[1;31m", b"\x1b[K", b"\x1b]0;title\x07")
BANNER = b"\r\nNuttShell (NSH) NuttX-12.4.0\r\n"


@dataclass(frozen=True)
class Answer:
    """What a command of the probe writes. `measuring_s`: how long it is silent after its first
    frame; with `None` it is none that measures."""

    output: bytes
    code: int = 0
    said: bytes = b""
    measuring_s: float | None = None


@dataclass(frozen=True)
class Faults:
    """How the line to the host fails: probabilities for each byte, `log` and `escape` for each
    line. `back`: for each byte to the board."""

    lose: float = 0.0
    double: float = 0.0
    flip: float = 0.0
    insert: float = 0.0
    log: float = 0.0
    escape: float = 0.0
    back: float = 0.0
    begins_s: float = 0.0


@dataclass
class Board:
    """`answers` gives what the probe answers to its arguments. Times in s."""

    answers: Callable[[list[str]], Answer]
    faults: Faults = field(default_factory=Faults)
    seed: int = 0
    bytes_per_s: float | None = 11520.0
    prompt: bytes = b"nsh> "
    program: str = "hardstone"
    echo: bool = True
    version: bytes = b"1"
    line_bytes: int = 1024
    is_changing: bool = False
    """Whether a second pass of what measures nothing answers otherwise."""

    def __post_init__(self) -> None:
        self.now = 0.0
        self.random = random.Random(self.seed)
        self.events: list[tuple[float, int, Callable[[], None]]] = []
        self.counted = 0
        self.free_at = 0.0  # when the line to the host has sent what it has
        self.state = "shell"
        self.typed = b""
        self.letters = b""
        self.commands: list[str] = []
        self.written: list[tuple[float, bytes]] = []
        self.generation = 0  # of the program that runs
        self.finish: Callable[[], None] | None = None
        self.repeat: Callable[[], None] | None = None
        self.is_silent = False
        self.is_closed = False
        self.received = b""

    # ---- as a Line ----

    def read(self, timeout_s: float) -> bytes:
        until = self.now + max(0.0, timeout_s)
        while not self.received and self.events and self.events[0][0] <= until:
            at, _, do = heapq.heappop(self.events)
            self.now = max(self.now, at)
            do()
        if not self.received:
            self.now = until + 1e-6
            return b""
        data, self.received = self.received, b""
        return data

    def write(self, data: bytes) -> None:
        self.written.append((self.now, data))
        kept = (byte for byte in data if self.random.random() >= self.faults.back)
        self.after(0.001, lambda text=bytes(kept): self.take(text))  # type: ignore[misc]

    def close(self) -> None:
        self.is_closed = True

    def clock(self) -> float:
        return self.now

    # ---- time ----

    def after(self, seconds: float, do: Callable[[], None]) -> None:
        self.counted += 1
        heapq.heappush(self.events, (self.now + seconds, self.counted, do))

    def after_sent(self, seconds: float, do: Callable[[], None]) -> None:
        """Once all is on the line, of the program that runs now."""
        generation = self.generation

        def call() -> None:
            if self.generation == generation:
                do()

        self.after(max(0.0, self.free_at - self.now) + seconds, call)

    # ---- to the host ----

    def send(self, data: bytes) -> None:
        """A terminal makes CR LF of each line end."""
        for line in data.splitlines(keepends=True):
            self.send_raw(line.replace(b"\n", b"\r\n"))

    def send_raw(self, data: bytes) -> None:
        data = self.damaged(data) if self.now >= self.faults.begins_s else data
        takes_s = len(data) / (self.bytes_per_s or 1e6)
        self.free_at = max(self.now, self.free_at) + takes_s

        def arrive() -> None:
            if not self.is_silent:
                self.received += data

        self.after(self.free_at - self.now, arrive)

    def damaged(self, data: bytes) -> bytes:
        chance, faults = self.random.random, self.faults
        if chance() < faults.log:
            at = self.random.choice([0, self.random.randrange(len(data) + 1)])
            data = data[:at] + LOG + self.random.choice([b"\r\n", b""]) + data[at:]
        if chance() < faults.escape:
            at = self.random.randrange(len(data) + 1)
            data = data[:at] + self.random.choice(ESCAPES) + data[at:]
        for probability, change in (
            (faults.lose, lambda byte: b""),
            (faults.double, lambda byte: byte * 2),
            (faults.flip, lambda byte: bytes([byte[0] ^ 1 << self.random.randrange(8)])),
            (faults.insert, lambda byte: byte + bytes([self.random.randrange(256)])),
        ):
            if probability and data and chance() < probability * len(data):
                at = self.random.randrange(len(data))
                data = data[:at] + change(data[at : at + 1]) + data[at + 1 :]
        return data

    # ---- from the host ----

    def take(self, data: bytes) -> None:
        if self.is_silent:
            return
        if self.state != "shell":
            if b"\x03" in data and self.state == "hung":
                self.back_at_prompt()
                return
            self.letters += data
            self.hear()
            return
        for byte in data.replace(b"\r", b"\n"):
            one = bytes([byte])
            if self.echo:
                self.send(one)
            if one != b"\n":
                self.typed += one
                continue
            text, self.typed = self.typed, b""
            self.run(text[: self.line_bytes].decode("utf-8", "replace"))
            if self.state != "shell":
                return

    def back_at_prompt(self) -> None:
        self.state, self.letters, self.typed = "shell", b"", b""
        self.generation += 1
        self.send_raw(self.prompt)

    def run(self, text: str) -> None:
        self.commands.append(text)
        words = text.split()
        if words[:2] == [self.program, "console"] and len(words) > 4:
            self.probe(words[2], words[3], words[4:])
            return
        if words:
            self.send(f"nsh: {words[0]}: command not found\n".encode())
        self.send_raw(self.prompt)

    def probe(self, token: str, check: str, words: list[str]) -> None:
        if not re.fullmatch("[0-9a-f]{4}", token) or not re.fullmatch("[0-9a-f]{8}", check):
            self.send(b"hardstone-probe: console wants TOKEN CRC COMMAND\n")
            self.send_raw(self.prompt)
            return
        self.generation += 1
        if f"{zlib.crc32(' '.join([token, *words]).encode()):08x}" != check:
            why = b"hardstone-probe: the command line was damaged on its way; send it again\n"
            self.begin(token, Answer(b"", 2, why), wait_s=5.0)
            return
        self.begin(token, self.answers(words), wait_s=_WAIT_S)

    def begin(self, token: str, answer: Answer, wait_s: float) -> None:
        self.wait_s = wait_s
        frames = list(frames_of(token, answer, self.version))
        self.repeat = lambda: self.send_pass(token, answer, frames)
        if answer.measuring_s is None:
            self.send_pass(token, answer, frames)
            return
        self.state = "measuring"
        self.send(b"\n" + frames[0].encode())

        def finish() -> None:
            if self.state == "measuring":
                self.state = "sending"
                self.send_frames(frames[1:])

        self.finish = finish
        self.after_sent(answer.measuring_s, finish)

    def send_pass(self, token: str, answer: Answer, frames: list[ConsoleFrame]) -> None:
        if self.is_changing and answer.measuring_s is None:
            changed = answer.output.replace(b"0", str(self.random.randrange(10)).encode())
            frames = list(frames_of(token, Answer(changed, answer.code), self.version))
        self.state = "sending"
        self.send(b"\n")
        self.send_frames(frames)

    def send_frames(self, frames: Sequence[ConsoleFrame]) -> None:
        for one in frames:
            self.send(one.encode())
        self.after_sent(0.0, self.wait)

    def wait(self) -> None:
        self.state = "waiting"
        self.waits = getattr(self, "waits", 0) + 1
        number = self.waits

        def give_up() -> None:
            if self.state == "waiting" and self.waits == number:
                self.back_at_prompt()

        self.after_sent(self.wait_s, give_up)
        self.hear()

    def hear(self) -> None:
        """The letters of whole lines, as far as they mean something now."""
        while self.state in ("measuring", "waiting") and b"\n" in self.letters:
            line, _, self.letters = self.letters.partition(b"\n")
            letter = line.strip()
            if self.state == "measuring" and letter == b"s" and self.finish is not None:
                self.after_sent(0.05, self.finish)
            if self.state == "waiting" and letter == b"a" and self.repeat is not None:
                self.repeat()
            if self.state == "waiting" and letter == b"q":
                self.back_at_prompt()

    # ---- what happens to it ----

    def reboot(self) -> None:
        self.generation += 1
        self.state = "booting"
        self.events = [one for one in self.events if False]
        self.free_at = self.now
        self.after(1.0, lambda: self.send(BANNER))
        self.after(1.2, self.back_at_prompt)

    def fall_silent(self) -> None:
        self.is_silent = True

    def babble(self) -> None:
        """Garbage for ever, and nothing else."""
        self.generation += 1
        self.state = "mad"
        self.send_raw(self.random.randbytes(200))
        self.after(0.1, self.babble)


def frames_of(token: str, answer: Answer, version: bytes = b"1") -> Iterator[ConsoleFrame]:
    """All frames of one pass."""
    pieces: list[tuple[str, bytes]] = [("^", version)]
    for line in answer.output.splitlines(keepends=True):
        text, is_ended = line.removesuffix(b"\n"), line.endswith(b"\n")
        parts = [text[at : at + _PIECE] for at in range(0, len(text), _PIECE)] or [b""]
        pieces += [("+", part) for part in parts[:-1]]
        pieces.append(("." if is_ended else "+", parts[-1]))
    pieces += [("-", line[:_PIECE]) for line in answer.said.splitlines()]
    sums = f"{answer.code} {len(answer.output)} {zlib.crc32(answer.output):08x}".encode()
    pieces.append(("!", sums))
    for number, (kind, payload) in enumerate(pieces):
        yield ConsoleFrame(token, number, kind, payload)
