"""What the whole probe sends over a console, read by a decoder that shares nothing with the
toolkit's; probe/tests/test_console.c has the frames one by one."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest

from hardstone.model import StreamSeries
from tests.running import GIVE_UP_S, Stream

TOKEN = "0f3e"
FRAME = re.compile(rb"@hs:([0-9a-f]{4}) (\d+) (.) ([0-9a-f]{8}) (.{0,120})", re.DOTALL)
QUICK = ("--policy", "other", "--clock", "monotonic", "--json")
LAT = ("run", "TMR-P-LAT", *QUICK)


@dataclass(frozen=True)
class Frame:
    number: int
    type: str
    payload: bytes


def frames(lines: Iterable[bytes]) -> list[Frame]:
    """Those that are whole, by their own sum."""
    found = []
    for line in lines:
        match = FRAME.fullmatch(line)
        if not match:
            continue
        token, number, type_, crc, payload = match.groups()
        if zlib.crc32(b"%s %s %s %s" % (token, number, type_, payload)) == int(crc, 16):
            found.append(Frame(int(number), type_.decode(), payload))
    return found


@dataclass(frozen=True)
class Answer:
    """Of one pass, or of several that are merged: all of its frames, and their sums."""

    code: int
    output: bytes
    messages: list[str]

    @classmethod
    def of(cls, found: list[Frame]) -> Answer:
        by_number = {frame.number: frame for frame in found}
        assert sorted(by_number) == list(range(len(by_number))), "frames are missing"
        ordered = [by_number[number] for number in range(len(by_number))]
        assert (ordered[0].type, ordered[0].payload) == ("^", b"1")
        pieces = [f.payload + b"\n" * (f.type == ".") for f in ordered if f.type in "+."]
        code, size, crc = ordered[-1].payload.split()
        output = b"".join(pieces)
        assert ordered[-1].type == "!"
        assert (len(output), zlib.crc32(output)) == (int(size), int(crc, 16))
        return cls(int(code), output, [f.payload.decode() for f in ordered if f.type == "-"])


def command(probe: Path, *words: str, token: str = TOKEN) -> list[str]:
    crc = zlib.crc32(" ".join((token, *words)).encode())
    return [str(probe), "console", token, f"{crc:08x}", *words]


class Console:
    """A probe whose standard streams are pipes, or a terminal as a shell leaves it."""

    def __init__(self, process: subprocess.Popen[bytes], host: int, output: int) -> None:
        self.process, self._host = process, host
        self._output = open(output, "rb", buffering=0)  # noqa: SIM115 - closed by close()
        self._rest = b""

    def write(self, data: bytes) -> None:
        os.write(self._host, data)

    def send(self, letter: str) -> None:
        self.write(letter.encode() + b"\n")

    def lines(self) -> list[bytes]:
        """Of a pass, up to the frame that ends it."""
        found: list[bytes] = []
        while not found or b" ! " not in found[-1]:
            while b"\n" not in self._rest:
                more = self._output.read(65536)
                assert more, (found, "the output ended without its last frame")
                self._rest += more
            line, _, self._rest = self._rest.partition(b"\n")
            found.append(line.rstrip(b"\r"))
        return found

    def pass_(self) -> Answer:
        return Answer.of(frames(self.lines()))

    def code(self) -> int:
        return self.process.wait(GIVE_UP_S)

    def close_input(self) -> None:
        os.close(self._host)
        self._host = -1

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        self._output.close()
        if self._host >= 0:
            os.close(self._host)


@contextmanager
def console(words: list[str]) -> Iterator[Console]:
    ours, theirs = os.pipe()
    ours_in, theirs_in = os.pipe()
    process = subprocess.Popen(words, stdin=ours_in, stdout=theirs, close_fds=True)
    os.close(theirs)
    os.close(ours_in)
    opened = Console(process, theirs_in, ours)
    try:
        yield opened
    finally:
        opened.close()


@contextmanager
def terminal(words: list[str]) -> Iterator[Console]:
    """With echo and in line mode; it makes "\\r\\n" of each line end."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(words, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    opened = Console(process, os.dup(ours), ours)
    try:
        yield opened
    finally:
        opened.close()


def asked(words: list[str]) -> tuple[Answer, int]:
    """One pass, from a host whose line is gone after it: the probe does not wait."""
    with console(words) as opened:
        answer = opened.pass_()
        opened.close_input()
        return answer, opened.code()


def test_the_output_is_that_of_the_command_itself(probe: Path) -> None:
    answer, code = asked(command(probe, "list", "--json"))
    plain = subprocess.run([probe, "list", "--json"], capture_output=True, check=True)
    assert (answer.code, code, answer.messages) == (0, 0, [])
    assert answer.output == plain.stdout


def test_a_register_in_parts(probe: Path) -> None:
    whole = json.loads(asked(command(probe, "list", "--json"))[0].output)
    assert "of" not in whole
    count, tests = len(whole["tests"]), []
    for first in range(0, count, 20):
        words = ("list", "--json", "--from", str(first), "--count", "20")
        part = json.loads(asked(command(probe, *words))[0].output)
        assert part["of"] == count
        tests += part["tests"]
    assert tests == whole["tests"]
    assert json.loads(asked(command(probe, "list", "--json", "--from", "999"))[0].output) == {
        **whole,
        "tests": [],
        "of": count,
    }


def test_a_damaged_command_is_not_carried_out(probe: Path) -> None:
    """Each kind of damage: probe/tests/test_console.c."""
    whole = command(probe, *LAT, "--samples", "20")
    joined = [*whole[:-2], "".join(whole[-2:])]
    for words in (joined, [*command(probe, "list")[:3], "00000000", "list"]):
        answer, code = asked(words)
        assert (answer.code, code, answer.output) == (2, 2, b"")
        assert "damaged on its way" in " ".join(answer.messages)


def test_without_a_token_nobody_is_answered(probe: Path) -> None:
    done = subprocess.run([probe, "console", TOKEN], capture_output=True, check=False, input=b"")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"console wants TOKEN CRC COMMAND" in done.stderr


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("load", "heavy"), "console has no load"),
        (("run", "NO-SUCH-TEST"), "there is no test 'NO-SUCH-TEST'"),
    ],
)
def test_refused_commands_say_why(probe: Path, words: tuple[str, ...], reason: str) -> None:
    answer, code = asked(command(probe, *words))
    assert (answer.code, code, answer.output) == (2, 2, b"")
    assert reason in " ".join(answer.messages)


def test_a_second_pass_has_the_same_bytes(probe: Path) -> None:
    """Of a run that has measured, over a terminal that echoes and makes two of each line end."""
    with terminal(command(probe, *LAT, "--samples", "50")) as opened:
        first = opened.lines()
        opened.send("a")
        second = opened.lines()
        opened.send("q")
        assert opened.code() == 0
    without_echo = [line for line in second if line.startswith(b"@hs:")]
    assert without_echo == [line for line in first if line.startswith(b"@hs:")]
    answer = Answer.of(frames(second))
    result, problem = Stream("TMR-P-LAT", 0, answer.output).read_by_the_toolkit()
    assert (problem, result.complete, result.series[0].count) == (None, True, 50)
    assert b"\x1b" not in b"".join(first)
    assert max(map(len, without_echo)) <= 154


def test_the_exit_code_is_that_of_the_result(probe: Path) -> None:
    answer, code = asked(command(probe, *LAT, "--cpu", "5000"))
    stream = Stream("TMR-P-LAT", code, answer.output).checked()
    assert (answer.code, stream.result.status) == (5, "denied")


def test_the_end_of_the_input_ends_no_run(probe: Path) -> None:
    """With --until-eof neither, which the toolkit sends: a byte of noise would end it."""
    with console(command(probe, *LAT, "--samples", "50", "--until-eof")) as opened:
        opened.close_input()
        answer = opened.pass_()
        assert (opened.code(), answer.code) == (0, 0)
    stream = Stream("TMR-P-LAT", 0, answer.output)
    assert (stream.result.interrupted, stream.of(StreamSeries)[0].count) == (False, 50)


@pytest.mark.parametrize(
    "words",
    [
        ("facts", "--json", "--clock", "monotonic"),
        ("selftest", "--json"),
        ("help",),
        ("--version",),
    ],
)
def test_other_commands_are_carried_out_again(probe: Path, words: tuple[str, ...]) -> None:
    with console(command(probe, *words)) as opened:
        answers = [opened.pass_()]
        opened.send("a")
        answers.append(opened.pass_())
        opened.send("q")
        assert opened.code() == 0
    assert all(answer.code == 0 and answer.output for answer in answers)
    if words[0] in ("help", "--version"):  # facts have times, a selftest tells late threads
        assert all(one == other for one, other in pairwise(answers))


def test_keys_of_a_terminal_may_be_noise(probe: Path) -> None:
    """Ctrl-C, Ctrl-\\ and Ctrl-Z while the probe waits; Ctrl-D ends no wait."""
    with terminal(command(probe, "--version")) as opened:
        first = opened.pass_()
        opened.write(b"\x03\x1c\x1a\x04\n")
        opened.send("a")
        assert opened.pass_() == first
        opened.send("q")
        assert opened.code() == 0
