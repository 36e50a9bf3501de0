"""Ways for bytes between this machine and a guest."""

from __future__ import annotations

import contextlib
import fcntl
import mmap
import os
import select
import socket
import struct
import time
from pathlib import Path
from typing import Protocol

from hardstone.lab.qemu import TURNS_BYTES

_CHUNK_BYTES = 1 << 16


class ChannelClosedError(Exception):
    """The guest's side is gone."""


class Channel(Protocol):
    """One guest's channel. ChannelClosedError where the guest is gone."""

    inherited: tuple[int, ...]
    """Descriptors that QEMU inherits; `Machine.command` takes them."""

    def send(self, content: bytes) -> None:
        """Sends bytes to the guest."""

    def receive(self, timeout_s: float) -> bytes:
        """What the guest has sent; empty if nothing came in time."""

    def hand_over(self) -> None:
        """Closes here what only QEMU holds, so that its end is seen."""

    def close(self) -> None:
        """Lets go; may be called twice."""


class PortChannel:
    """A port of virtio-serial, which is a socket here."""

    def __init__(self) -> None:
        self._own, self._guests = socket.socketpair()
        self.inherited: tuple[int, ...] = (self._guests.fileno(),)

    def send(self, content: bytes) -> None:
        try:
            self._own.sendall(content)
        except OSError as error:
            raise ChannelClosedError from error

    def receive(self, timeout_s: float) -> bytes:
        if not _is_readable(self._own, timeout_s):
            return b""
        try:
            chunk = self._own.recv(_CHUNK_BYTES)
        except OSError as error:
            raise ChannelClosedError from error
        if not chunk:
            raise ChannelClosedError
        return chunk

    def hand_over(self) -> None:
        self._guests.close()

    def close(self) -> None:
        self._own.close()
        self._guests.close()


class TurnsChannel:
    """Memory that both share, in turns; the guest's side is probe/guest/turns_channel.c.

    The guest rings a bell when it hands over: a character into a pipe that is full, so that its
    processor stands still within one instruction until this side has answered and makes room. A
    guest whose time counts instructions sees neither when nor how long. There are two bells, rung
    in turn: before one gets room the other is full again, however soon the guest rings it.
    """

    _DATA = 4096
    _HOST_DATA = 1 << 19
    _MOST_BYTES = _HOST_DATA - _DATA
    _POLL_S = 0.005

    def __init__(self, shared: Path) -> None:
        """`shared`: a file of TURNS_BYTES, zeros."""
        with shared.open("r+b") as file:
            self._memory = mmap.mmap(file.fileno(), TURNS_BYTES)
        self._bells = (_Bell(), _Bell())
        self._watch, self._watched = os.pipe()
        self.inherited: tuple[int, ...] = (*(one.writing for one in self._bells), self._watched)
        self._turn = 0
        self._is_ours = False

    def send(self, content: bytes) -> None:
        if len(content) > self._MOST_BYTES:
            raise ValueError("more than one turn holds")
        if not self._is_ours:
            raise ChannelClosedError
        self._memory[self._HOST_DATA : self._HOST_DATA + len(content)] = content
        self._answer(len(content))

    def receive(self, timeout_s: float) -> bytes:
        if self._is_ours:
            self._answer(0)
        until = time.monotonic() + timeout_s
        while not self._takes_turn():
            self._bells[self._turn % len(self._bells)].make_room()
            left = until - time.monotonic()
            if left <= 0:
                return b""
            if _is_readable(self._watch, min(self._POLL_S, left)):
                raise ChannelClosedError
        (count,) = struct.unpack_from("<I", self._memory, 4)
        return self._memory[self._DATA : self._DATA + min(count, self._MOST_BYTES)]

    def hand_over(self) -> None:
        """The bells' writing ends stay open here: this side fills the pipes."""
        _close(self._watched)
        self._watched = -1

    def close(self) -> None:
        for bell in self._bells:
            bell.close()
        _close(self._watch)
        _close(self._watched)
        self._watch = self._watched = -1
        self._memory.close()

    def _answer(self, count: int) -> None:
        struct.pack_into("<I", self._memory, 8, count)
        self._bells[(self._turn + 1) % len(self._bells)].fill()
        self._is_ours = False

    def _takes_turn(self) -> bool:
        (turn,) = struct.unpack_from("<I", self._memory)
        if turn == self._turn:
            return False
        self._turn, self._is_ours = turn, True
        return True


class _Bell:
    """A pipe that is full until the guest may go on."""

    _PIPE_BYTES = 4096

    def __init__(self) -> None:
        self._reading, self.writing = os.pipe()
        os.set_blocking(self.writing, False)
        os.set_blocking(self._reading, False)
        fcntl.fcntl(self.writing, fcntl.F_SETPIPE_SZ, self._PIPE_BYTES)
        self.fill()

    def fill(self) -> None:
        """Leaves no room. Empties it first, for beside a character no whole page has room, and
        the kernel writes none of it."""
        self.make_room()
        os.write(self.writing, b"x" * self._PIPE_BYTES)

    def make_room(self) -> None:
        """Lets out a guest that stands in it."""
        with contextlib.suppress(BlockingIOError):
            while os.read(self._reading, self._PIPE_BYTES):
                pass

    def close(self) -> None:
        _close(self._reading)
        _close(self.writing)
        self._reading = self.writing = -1


def _close(descriptor: int) -> None:
    if descriptor >= 0:
        os.close(descriptor)


def _is_readable(file: int | socket.socket, timeout_s: float) -> bool:
    """By poll: select takes no descriptor above 1023."""
    poller = select.poll()
    poller.register(file, select.POLLIN)
    return bool(poller.poll(timeout_s * 1000))
