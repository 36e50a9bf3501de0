"""Both ways to a guest, with one that is made up."""

from __future__ import annotations

import mmap
import os
import socket
import struct
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from hardstone.lab.channel import ChannelClosedError, PortChannel, TurnsChannel
from hardstone.lab.qemu import TURNS_BYTES

LONGEST_S = 60.0  # a hang fails; nothing is measured
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
        turns.send(b"answer %d" % number)
    assert turns.receive(0.0) == b""  # lets it out of its last turn
    while thread.is_alive():
        assert turns.receive(0.01) == b""
    assert answers == [b"answer %d" % number for number in range(turn_count)]


def test_a_turn_that_is_not_answered_with_data_is_answered_by_the_next_receive(
    turns: TurnsChannel, guest: MadeUpGuest
) -> None:
    answers: list[bytes] = []
    thread = threading.Thread(target=lambda: answers.append(guest.ring()), daemon=True)
    guest.announce(b"output")
    thread.start()
    assert turns.receive(LONGEST_S) == b"output"
    assert answers == []
    while thread.is_alive():
        assert turns.receive(0.01) == b""
    assert answers == [b""]


def test_a_guest_that_was_stopped_before_its_bell_keeps_nobody_waiting(
    turns: TurnsChannel, guest: MadeUpGuest
) -> None:
    guest.announce(b"first")
    assert turns.receive(LONGEST_S) == b"first"
    turns.send(b"answer")
    assert turns.receive(0.02) == b""  # the bell has not rung
    guest.ring()
    guest.announce(b"second")
    assert turns.receive(LONGEST_S) == b"second"


def test_a_turn_is_taken_once(turns: TurnsChannel, guest: MadeUpGuest) -> None:
    guest.announce(b"once")
    assert turns.receive(LONGEST_S) == b"once"
    assert turns.receive(0.02) == b""


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


def test_the_end_of_the_guest_is_seen(turns: TurnsChannel, guest: MadeUpGuest) -> None:
    assert turns.receive(0.0) == b""
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


def test_a_port_has_bytes_both_ways(port: tuple[PortChannel, socket.socket]) -> None:
    channel, guests = port
    assert channel.receive(0.0) == b""
    guests.sendall(b"from the guest")
    assert channel.receive(LONGEST_S) == b"from the guest"
    channel.send(b"from the host")
    assert guests.recv(100) == b"from the host"


def test_the_end_of_a_port_is_seen(port: tuple[PortChannel, socket.socket]) -> None:
    channel, guests = port
    guests.close()
    with pytest.raises(ChannelClosedError):
        channel.receive(LONGEST_S)
    with pytest.raises(ChannelClosedError):
        channel.send(b"too late")
