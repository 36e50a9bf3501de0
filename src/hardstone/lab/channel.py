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

    can_interrupt: bool
    """The guest listens while it runs a command."""
    inherited: tuple[int, ...]
    """Descriptors that QEMU inherits; its command line names the first."""

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

    can_interrupt = True

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
    guest whose time counts instructions sees neither when nor how long.
    """

    can_interrupt = False

    _DATA = 4096
    _HOST_DATA = 1 << 19
    _POLL_S = 0.005
    _PIPE_BYTES = 4096
    _BELL = b"."

    def __init__(self, shared: Path) -> None:
        """`shared`: a file of TURNS_BYTES, zeros."""
        with shared.open("r+b") as file:
            self._memory = mmap.mmap(file.fileno(), TURNS_BYTES)
        self._bell, writing = os.pipe()
        self._watch, watched = os.pipe()
        self.inherited: tuple[int, ...] = (writing, watched)
        self._open = {self._bell, self._watch, writing, watched}
        os.set_blocking(writing, False)
        os.set_blocking(self._bell, False)
        fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, self._PIPE_BYTES)
        self._fill()
        self._turn = 0
        self._is_ours = False

    def send(self, content: bytes) -> None:
        if len(content) > TURNS_BYTES - self._HOST_DATA:
            raise ValueError("more than one turn holds")
        if not self._is_ours:
            raise ChannelClosedError
        self._memory[self._HOST_DATA : self._HOST_DATA + len(content)] = content
        self._answer(len(content))

    def receive(self, timeout_s: float) -> bytes:
        if self._is_ours:
            self._answer(0)
        until = time.monotonic() + timeout_s
        while True:
            turn, count = struct.unpack_from("<II", self._memory)
            if turn != self._turn:
                self._turn, self._is_ours = turn, True
                return self._memory[self._DATA : min(self._DATA + count, self._HOST_DATA)]
            left = until - time.monotonic()
            if left <= 0:
                return b""
            self._wait(min(self._POLL_S, left))

    def hand_over(self) -> None:
        """The bell's writing end stays open here: this side fills the pipe."""
        self._close_one(self.inherited[1])

    def close(self) -> None:
        for descriptor in tuple(self._open):
            self._close_one(descriptor)
        self._memory.close()

    def _close_one(self, descriptor: int) -> None:
        if descriptor in self._open:
            self._open.remove(descriptor)
            os.close(descriptor)

    def _wait(self, timeout_s: float) -> None:
        if _is_readable(self._watch, timeout_s):
            raise ChannelClosedError

    def _answer(self, count: int) -> None:
        struct.pack_into("<I", self._memory, 8, count)
        self._is_ours = False
        while self._BELL not in self._drained():
            self._wait(self._POLL_S)
        self._fill()

    def _drained(self) -> bytes:
        pieces = bytearray()
        with contextlib.suppress(BlockingIOError):
            while piece := os.read(self._bell, self._PIPE_BYTES):
                pieces += piece
        return bytes(pieces)

    def _fill(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(self.inherited[0], b"x" * self._PIPE_BYTES)


def _is_readable(file: int | socket.socket, timeout_s: float) -> bool:
    """By poll: select takes no descriptor above 1023."""
    poller = select.poll()
    poller.register(file, select.POLLIN)
    return bool(poller.poll(timeout_s * 1000))
