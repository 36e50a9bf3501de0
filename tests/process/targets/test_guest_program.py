"""Process 1 of a guest, as built, with a pseudo-terminal for its port."""

from __future__ import annotations

import contextlib
import errno
import os
import select
import signal
import subprocess
import tty
from collections.abc import Iterator
from pathlib import Path

import pytest

from hardstone import frames
from hardstone.frames import Frame, FrameReader, words_frame
from tests.conftest import ROOT
from tests.running import state_of
from tests.waiting import LONGEST_S, wait_until

PROGRAM = ROOT / "build" / "probe" / "hardstone-guest"
pytestmark = pytest.mark.skipif(not PROGRAM.exists(), reason=f"there is no {PROGRAM}: make setup")


class Port:
    """The host's side."""

    def __init__(self, most_files: int = 1000) -> None:
        self.own, guests = os.openpty()
        tty.setraw(guests)
        self._guests = guests
        self._reader = FrameReader()
        self.process = subprocess.Popen(
            ["prlimit", f"--nofile={most_files}", PROGRAM, "port", os.ttyname(guests)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )

    def send(self, frame: Frame) -> None:
        left = frame.packed()
        while left:
            left = left[os.write(self.own, left) :]

    def run(self, *words: str) -> None:
        self.send(words_frame(frames.RUN, words))

    def shell(self, text: str) -> None:
        self.run("/bin/sh", "-c", text)

    def receive(self) -> Frame:
        while (frame := self._reader.next()) is None:
            assert select.select([self.own], [], [], LONGEST_S)[0], "nothing came"
            self._reader.feed(os.read(self.own, 1 << 16))
        return frame

    def until(self, kind: bytes) -> dict[bytes, bytes]:
        """What came by type, up to the first frame of type `kind`."""
        came: dict[bytes, bytes] = {}
        while kind not in came:
            frame = self.receive()
            came[frame.type] = came.get(frame.type, b"") + frame.content
        return came

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()
        os.close(self.own)
        os.close(self._guests)


@pytest.fixture
def port() -> Iterator[Port]:
    made = Port()
    try:
        assert made.receive() == Frame(frames.READY, bytes([frames.VERSION]))
        yield made
    finally:
        made.close()


OUT, ERR, EXIT = frames.OUTPUT, frames.ERROR, frames.EXIT
LONG = "x" * 60_000


@pytest.mark.parametrize(
    ("words", "came"),
    [
        (
            ["/bin/sh", "-c", "echo out; echo err >&2; exit 7"],
            {OUT: b"out\n", ERR: b"err\n", EXIT: b"\7\0"},
        ),
        (
            ["/usr/bin/printf", "%s|", "a b", "", "$HOME;`id`", "\udcff"],
            {OUT: b"a b||$HOME;`id`|\xff|", EXIT: b"\0\0"},
        ),
        (["/usr/bin/head", "-c", "300000", "/dev/zero"], {OUT: bytes(300_000), EXIT: b"\0\0"}),
        (["/bin/sh", "-c", "echo ${#1}", "sh", LONG], {OUT: b"60000\n", EXIT: b"\0\0"}),
        (["/bin/sh", "-c", "exit 127"], {EXIT: bytes([127, 0])}),
        (["/nowhere/at/all"], {EXIT: bytes([127, errno.ENOENT])}),
        (["/etc/passwd"], {EXIT: bytes([127, errno.EACCES])}),
        (["/bin/echo", *["x"] * 600], {EXIT: bytes([127, errno.E2BIG])}),
    ],
    ids=["all", "odd words", "much", "longest", "127", "nothing", "no program", "many words"],
)
def test_what_a_command_says_comes_in_frames(
    port: Port, words: list[str], came: dict[bytes, bytes]
) -> None:
    """Output, errors and the exit code, or errno of a start that failed; then the next may run."""
    port.run(*words)
    assert port.until(EXIT) == came
    port.run("/bin/echo", "second")
    assert port.until(EXIT) == {OUT: b"second\n", EXIT: b"\0\0"}


def test_a_command_reads_its_input_to_the_end(port: Port) -> None:
    port.run("/bin/cat")
    output = b""
    for part in (b"some ", b"\x00\x04\x1a input"):
        port.send(Frame(frames.INPUT, part))
        output += port.until(frames.TAKEN).get(frames.OUTPUT, b"")
    port.send(Frame(frames.INPUT_END))
    came = port.until(frames.EXIT)
    assert output + came.get(frames.OUTPUT, b"") == b"some \x00\x04\x1a input"
    assert came[frames.EXIT] == b"\x00\x00"


def test_a_command_that_does_not_read_keeps_nobody_from_being_heard(port: Port) -> None:
    port.shell("echo $$; kill -STOP $$; cat")
    child = int(port.until(frames.OUTPUT)[frames.OUTPUT])
    wait_until(lambda: state_of(child) == "T")
    for _ in range(3):  # more than its pipe holds
        port.send(Frame(frames.INPUT, bytes(25_000)))
    assert clock(port) > 0
    port.send(Frame(frames.SIGNAL, bytes([signal.SIGCONT])))
    came = port.until(frames.TAKEN)
    port.send(Frame(frames.INPUT_END))
    output = came.get(frames.OUTPUT, b"") + port.until(frames.EXIT).get(frames.OUTPUT, b"")
    assert output == bytes(75_000)


def test_input_that_the_host_does_not_wait_with_ends_it(port: Port) -> None:
    port.shell("echo $$; kill -STOP $$")
    child = int(port.until(frames.OUTPUT)[frames.OUTPUT])
    os.set_blocking(port.own, False)
    left = Frame(frames.INPUT, bytes(60_000)).packed() * 4
    try:
        while left and port.process.poll() is None:
            with contextlib.suppress(BlockingIOError):
                left = left[os.write(port.own, left) :]
        said, _ = port.process.communicate(timeout=LONGEST_S)
    finally:
        os.kill(child, signal.SIGKILL)  # in a guest it ends with the machine
    assert port.process.returncode == 1 and b"the host is gone" in said


def test_input_for_a_command_that_reads_none_is_dropped(port: Port) -> None:
    port.shell("exec <&-; echo closed; read line; kill -STOP $$")
    assert port.until(frames.OUTPUT)[frames.OUTPUT] == b"closed\n"
    port.send(Frame(frames.INPUT, b"unread"))
    port.send(Frame(frames.SIGNAL, bytes([signal.SIGKILL])))
    assert port.until(frames.EXIT)[frames.EXIT] == bytes([128 + signal.SIGKILL, 0])


def clock(port: Port) -> int:
    port.send(Frame(frames.CLOCK))
    return int.from_bytes(port.until(frames.CLOCK)[frames.CLOCK], "little")


def test_without_files_for_a_command_the_host_is_told() -> None:
    port = Port(most_files=8)
    try:
        port.until(frames.READY)
        before = files_of(port)
        port.run("/bin/true")
        assert port.until(frames.EXIT) == {frames.EXIT: bytes([127, errno.EMFILE])}
        wait_until(lambda: files_of(port) == before)  # it is told before they are closed
    finally:
        port.close()


def files_of(port: Port) -> set[str]:
    return {path.name for path in Path(f"/proc/{port.process.pid}/fd").iterdir()}


def test_a_child_that_holds_the_pipes_open_does_not_keep_the_command(port: Port) -> None:
    port.shell("sleep 1000 & echo $!")
    came = port.until(frames.EXIT)
    os.kill(int(came[frames.OUTPUT]), signal.SIGKILL)
    assert came[frames.EXIT] == b"\x00\x00"


@pytest.mark.parametrize("words", [[], ["port"], ["port", "/nowhere"], ["turns", "/a", "/b"]])
def test_without_a_channel_it_ends_with_the_reason(words: list[str]) -> None:
    done = subprocess.run([PROGRAM, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "no channel to the host: " in done.stdout
