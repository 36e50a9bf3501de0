"""Both ways to a guest, with one that is made up, and the frames that go there."""

from __future__ import annotations

import mmap
import os
import re
import socket
import struct
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardstone import frames
from hardstone.frames import Frame, FrameReader, NoFrameError, words_frame
from hardstone.lab.qemu import (
    TURNS_BYTES,
    ChannelClosedError,
    PortChannel,
    TurnsChannel,
)
from tests.conftest import ROOT
from tests.waiting import LONGEST_S

DATA, HOST_DATA = 4096, 1 << 19  # as in probe/guest/turns_channel.c


class MadeUpGuest:
    """The guest's side of the turns. It stands still where a write to a bell finds no room."""

    def __init__(self, shared: Path, channel: TurnsChannel) -> None:
        with shared.open("r+b") as file:
            self.memory = mmap.mmap(file.fileno(), TURNS_BYTES)
        *bells, watched = channel.inherited
        self.bells = [os.open(f"/dev/fd/{bell}", os.O_WRONLY) for bell in bells]
        self.watched = os.dup(watched)
        self.turn = 0

    def announce(self, content: bytes, count: int | None = None) -> None:
        self.memory[DATA : DATA + len(content)] = content
        self.turn += 1
        shown = len(content) if count is None else count
        self.memory[4:8] = struct.pack("<I", shown)
        self.memory[0:4] = struct.pack("<I", self.turn)

    def ring(self) -> bytes:
        """Stands still until it is answered: what the host has said by then."""
        assert os.write(self.bells[self.turn % 2], b".") == 1
        (count,) = struct.unpack_from("<I", self.memory, 8)
        return self.memory[HOST_DATA : HOST_DATA + count]

    def end(self) -> None:
        os.close(self.watched)

    def close(self) -> None:
        for bell in self.bells:
            os.close(bell)
        self.memory.close()


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    path = tmp_path / "turns"
    path.write_bytes(bytes(TURNS_BYTES))
    return path


@pytest.fixture
def turns(shared: Path) -> Iterator[TurnsChannel]:
    channel = TurnsChannel(shared)
    yield channel
    channel.close()


@pytest.fixture
def guest(shared: Path, turns: TurnsChannel) -> Iterator[MadeUpGuest]:
    made = MadeUpGuest(shared, turns)
    turns.hand_over()
    yield made
    made.close()


def test_a_guest_that_hands_over_at_once_stands_still_each_time(
    turns: TurnsChannel, guest: MadeUpGuest
) -> None:
    turn_count = 200
    answers: list[bytes] = []

    def hand_over_again_and_again() -> None:
        for number in range(turn_count):
            guest.announce(b"%d" % number)
            answers.append(guest.ring())

    thread = threading.Thread(target=hand_over_again_and_again, daemon=True)
    thread.start()
    for number in range(turn_count):
        assert turns.receive(LONGEST_S) == b"%d" % number
        if number % 2:  # else it is answered by the next look
            turns.send(b"answer %d" % number)
    while thread.is_alive():  # in its last turn, which is answered by the next look
        assert turns.receive(0.01) == b""
    assert answers == [b"answer %d" % number if number % 2 else b"" for number in range(turn_count)]


def test_a_guest_that_was_stopped_before_its_bell_keeps_nobody_waiting(
    turns: TurnsChannel, guest: MadeUpGuest
) -> None:
    guest.announce(b"first")
    assert turns.receive(LONGEST_S) == b"first"
    turns.send(b"answer")
    assert turns.receive(0.0) == b""  # the bell has not rung
    guest.ring()
    guest.announce(b"second")
    assert turns.receive(LONGEST_S) == b"second"


def test_what_is_sent_out_of_turn_is_refused(turns: TurnsChannel, guest: MadeUpGuest) -> None:
    with pytest.raises(ChannelClosedError):
        turns.send(b"nobody waits for this")
    guest.announce(b"")
    turns.receive(0.0)
    with pytest.raises(ValueError, match="more than one turn"):
        turns.send(bytes(TURNS_BYTES - HOST_DATA))
    turns.send(b"in turn")
    with pytest.raises(ChannelClosedError):
        turns.send(b"twice")


def test_a_guest_that_claims_more_than_there_is_gives_what_there_is(
    turns: TurnsChannel, guest: MadeUpGuest
) -> None:
    guest.announce(b"x", count=2**32 - 1)
    assert len(turns.receive(LONGEST_S)) == HOST_DATA - DATA
    assert turns.receive(0.0) == b""  # a turn is taken once
    guest.end()
    with pytest.raises(ChannelClosedError):
        turns.receive(LONGEST_S)


def open_count() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.parametrize("is_handed_over", [False, True])
def test_nothing_stays_open(shared: Path, is_handed_over: bool) -> None:
    before = open_count()
    for channel in (TurnsChannel(shared), PortChannel()):
        if is_handed_over:
            channel.hand_over()
        channel.close()
        channel.close()
    assert open_count() == before


@pytest.fixture
def port() -> Iterator[tuple[PortChannel, socket.socket]]:
    channel = PortChannel()
    guests = socket.socket(fileno=os.dup(channel.inherited[0]))
    channel.hand_over()
    yield channel, guests
    channel.close()
    guests.close()


def test_a_port_has_bytes_both_ways_until_its_end(port: tuple[PortChannel, socket.socket]) -> None:
    channel, guests = port
    assert channel.receive(0.0) == b""
    guests.sendall(b"from the guest")
    assert channel.receive(LONGEST_S) == b"from the guest"
    channel.send(b"from the host")
    assert guests.recv(100) == b"from the host"
    guests.close()
    with pytest.raises(ChannelClosedError):
        channel.receive(LONGEST_S)
    with pytest.raises(ChannelClosedError):
        channel.send(b"too late")


FROM_GUEST = (frames.READY, frames.OUTPUT, frames.ERROR, frames.TAKEN, frames.EXIT, frames.CLOCK)
MADE = st.builds(Frame, st.sampled_from(FROM_GUEST), st.binary(min_size=8, max_size=50))


@given(st.lists(MADE, max_size=5), st.integers(1, 9))
def test_frames_come_out_however_the_bytes_are_cut(sent: list[Frame], step: int) -> None:
    content = b"".join(frame.packed() for frame in sent)
    reader, came = FrameReader(), []
    for at in range(0, len(content), step):
        reader.feed(content[at : at + step])
        while (frame := reader.next()) is not None:
            came.append(frame)
    assert came == sent


def read_frame(packed: bytes) -> Frame | None:
    reader = FrameReader()
    reader.feed(packed)
    return reader.next()


def test_only_whole_frames_of_a_guest_are_taken() -> None:
    packed = Frame(frames.OUTPUT, b"abc").packed()
    assert [read_frame(packed[:at]) for at in range(len(packed))] == [None] * len(packed)
    assert read_frame(packed) == Frame(frames.OUTPUT, b"abc")
    refused = [Frame(frames.EXIT, b"1"), Frame(frames.CLOCK, bytes(7))]  # lack their figures
    for kind in (bytes([byte]) for byte in range(256)):
        if kind in FROM_GUEST:
            assert read_frame(Frame(kind, bytes(8)).packed()) == Frame(kind, bytes(8))
        else:
            refused.append(Frame(kind, bytes(8)))
    for frame in refused:
        with pytest.raises(NoFrameError):
            read_frame(frame.packed())


def test_a_length_is_refused_before_its_bytes_come() -> None:
    with pytest.raises(NoFrameError, match="65537 bytes"):
        read_frame(frames.OUTPUT + (frames.MOST_BYTES + 1).to_bytes(4, "little"))
    longest = Frame(frames.OUTPUT, bytes(frames.MOST_BYTES))
    assert read_frame(longest.packed()) == longest


@given(st.binary(max_size=40))
def test_no_bytes_crash_the_reader(content: bytes) -> None:
    reader = FrameReader()
    reader.feed(content)
    try:
        while (frame := reader.next()) is not None:
            assert frame.type in FROM_GUEST
    except NoFrameError:
        pass


def test_words_of_a_command_end_each_with_a_0_byte() -> None:
    assert words_frame(frames.RUN, ["a b", "", "\udcff"]) == Frame(frames.RUN, b"a b\0\0\xff\0")
    assert (
        len(words_frame(frames.RUN, ["x" * (frames.MOST_BYTES - 1)]).content) == frames.MOST_BYTES
    )
    for words in (["a\0b"], ["x" * frames.MOST_BYTES]):
        with pytest.raises(ValueError, match="too long, or has a 0 byte"):
            words_frame(frames.RUN, words)


def test_both_sides_have_the_same_types_version_and_limit() -> None:
    header = (ROOT / "probe/src/agent/frame.h").read_text()
    types = dict(re.findall(r"FRAME_(\w+) = '(\w)'", header))
    names = ("RUN", "INPUT", "INPUT_END", "SIGNAL", "CLOCK")
    names += ("READY", "OUTPUT", "ERROR", "TAKEN", "EXIT")
    ours = {name: getattr(frames, name).decode() for name in names}
    assert types == ours
    assert f"FRAME_VERSION = {frames.VERSION}," in header
    found = re.search(r"FRAME_MOST_BYTES = 1 << (\d+),", header)
    assert found is not None and 1 << int(found[1]) == frames.MOST_BYTES
