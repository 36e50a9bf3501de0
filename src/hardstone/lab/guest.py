"""A guest that boots, obeys and ends: QEMU behind its guard, and the channel to it."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hardstone.errors import TargetError
from hardstone.lab import guest_frames as frames
from hardstone.lab.accel import BOOT_VARIABLE
from hardstone.lab.channel import Channel, ChannelClosedError, PortChannel, TurnsChannel
from hardstone.lab.guest_console import (
    MOST_CONSOLE_BYTES,
    console_lines,
    keep_console,
    said_last,
    why_it_ended,
)
from hardstone.lab.guest_folder import make_guest_folder
from hardstone.lab.guest_frames import Frame, FrameReader, NoFrameError, run_frame
from hardstone.lab.qemu import RECORDING_BYTES, TURNS_BYTES, Machine

_GUARD = Path(__file__).with_name("guard.py")
_REBUILD = "rebuild it: hardstone probe build"
_ANSWER_S = 20.0


class GuestLostError(TargetError):
    """The guest ended, or no longer answers."""


class SilentGuestError(GuestLostError):
    """The guest ended, and its console is empty."""


@dataclass(frozen=True)
class ClockReading:
    """The guest's clock between two readings of this machine's, all in ns."""

    before_ns: int
    guest_ns: int
    after_ns: int


class Guest:
    """One boot. `folder` is in memory and goes with the guest; `recording` in it is the memory that
    the guest's probe records into.

    Calls raise GuestLostError with what the console said last.
    """

    def __init__(self, machine: Machine, base: Path, name: str, log: Path) -> None:
        """Starts the guest; `base` is a folder in memory, `name` stands in messages, `log` gets
        the console when the guest has ended."""
        self.machine = machine
        self._name = name
        self._log = log
        self._reader = FrameReader()
        self._clocks: list[ClockReading] = []
        self._guard: subprocess.Popen[bytes] | None = None
        self._channel: Channel | None = None
        self._lock = -1
        try:
            self.folder, self._lock = make_guest_folder(base)
            self.recording = self.folder / "recording"
            _allocate(self.recording, RECORDING_BYTES)
            self._channel = _channel(machine, self.folder)
            self._guard = _start(machine, self.folder, self._channel, self._lock)
            self._channel.hand_over()
        except BaseException as error:
            self.close()
            if isinstance(error, OSError):
                raise _no_start(name, base, error) from error
            raise

    def wait_until_ready(self, most_s: float) -> None:
        """Until the guest's process 1 has said that it is there, and what its clock shows."""
        frame = self.receive(most_s)
        if frame is None:
            raise GuestLostError(
                f"{self._name} did not boot within {most_s:g} s ({self.machine.accel}); "
                f"{said_last(self.folder)}",
                f"{self._remedy()}; {BOOT_VARIABLE} gives it more time",
            )
        if frame != Frame(frames.READY, bytes([frames.VERSION])):
            raise GuestLostError(
                f"the program in {self._name} is of another version than this toolkit", _REBUILD
            )
        self.read_clock()

    @property
    def can_interrupt(self) -> bool:
        """Whether a running command can be sent input and signals."""
        return self.machine.accel != "icount"

    def check(self) -> None:
        """GuestLostError if it was ended."""
        self._opened()

    def run(self, words: Sequence[str]) -> None:
        """Starts a command; what it writes and its end come as frames."""
        self.send(run_frame(words))

    def send(self, frame: Frame) -> None:
        """Sends a frame."""
        try:
            self._opened().send(frame.packed())
        except ChannelClosedError:
            raise self._lost() from None

    def receive(self, timeout_s: float) -> Frame | None:
        """The next frame, None if none came in time."""
        until = time.monotonic() + timeout_s
        try:
            while (frame := self._reader.next()) is None:
                chunk = self._opened().receive(max(0.0, until - time.monotonic()))
                if not chunk and time.monotonic() >= until:
                    return None
                self._reader.feed(chunk)
        except ChannelClosedError:
            raise self._lost() from None
        except NoFrameError as error:
            lost = GuestLostError(f"{self._name} sent what is no frame: {error}", self._remedy())
            self.close()
            raise lost from error
        return frame

    def read_clock(self) -> None:
        """Notes both clocks, unless the guest's counts instructions. No command may run."""
        if not self.can_interrupt:
            return
        before_ns = time.monotonic_ns()
        self.send(Frame(frames.CLOCK))
        frame = self.receive(_ANSWER_S)
        after_ns = time.monotonic_ns()
        if frame is None or frame.type != frames.CLOCK:
            raise self.hangs()
        guest_ns = int.from_bytes(frame.content[:8], "little")
        self._clocks.append(ClockReading(before_ns, guest_ns, after_ns))

    def clocks(self) -> tuple[ClockReading, ClockReading] | None:
        """The first and the last reading, None where there are no two."""
        return (self._clocks[0], self._clocks[-1]) if len(self._clocks) > 1 else None

    def hangs(self) -> GuestLostError:
        """Ends a guest that does not answer; the error to raise."""
        text = f"{self._name} does not answer and was ended; {said_last(self.folder)}"
        error = GuestLostError(text, self._remedy())
        self.close()
        return error

    def close(self) -> None:
        """Ends the guest and removes its folder; may be called twice, and never raises an error:
        what a guest leaves is removed by its guard, or by the next guest."""
        channel, self._channel = self._channel, None
        guard, self._guard = self._guard, None
        lock, self._lock = self._lock, -1
        if channel is not None:
            with contextlib.suppress(OSError, BufferError):
                channel.close()
            keep_console(self.folder, self._log)
        if guard is not None:
            _end(guard)
        if lock >= 0:
            shutil.rmtree(self.folder, ignore_errors=True)
            os.close(lock)

    def _opened(self) -> Channel:
        if self._channel is None:
            raise GuestLostError(f"{self._name} was ended", "")
        return self._channel

    def _lost(self) -> GuestLostError:
        why, remedy = why_it_ended(self.folder)
        kind = GuestLostError if console_lines(self.folder) else SilentGuestError
        error = kind(f"{self._name} ended: {why}", remedy or self._remedy())
        self.close()
        return error

    def _remedy(self) -> str:
        return f"look at its console, {self._log}"


def guard_command(folder: Path, lock: int, most_bytes: int, *, on_one_cpu: bool) -> list[str]:
    """How the guard is started, without the command of QEMU that follows.

    `on_one_cpu` for a guest that counts instructions: QEMU's main loop moves the guest's time
    forward when its processor halts, and does not wait for the last instructions to be counted. On
    a CPU of its own it was now and then too early: a run differed by a few instructions.
    """
    python = [sys.executable, "-I", "-S", str(_GUARD)]
    return [*python, str(folder), str(lock), str(most_bytes), "one" if on_one_cpu else "all"]


def _channel(machine: Machine, folder: Path) -> Channel:
    if machine.accel != "icount":
        return PortChannel()
    _allocate(folder / "turns", TURNS_BYTES)
    return TurnsChannel(folder / "turns")


def _allocate(path: Path, size_bytes: int) -> None:
    """A file whose memory is there, so that a guest finds none missing later."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        os.posix_fallocate(descriptor, 0, size_bytes)
    finally:
        os.close(descriptor)


def _start(machine: Machine, folder: Path, channel: Channel, lock: int) -> subprocess.Popen[bytes]:
    command = machine.command(folder, channel.inherited)
    return subprocess.Popen(
        [
            *guard_command(folder, lock, MOST_CONSOLE_BYTES, on_one_cpu=machine.accel == "icount"),
            *command,
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=(*channel.inherited, lock),
        start_new_session=True,
    )


def _end(guard: subprocess.Popen[bytes]) -> None:
    """The end of its input ends the guard, and this its guest."""
    if guard.stdin is not None:
        with contextlib.suppress(OSError):
            guard.stdin.close()
    with contextlib.suppress(subprocess.TimeoutExpired):
        guard.wait(_ANSWER_S)
    if guard.poll() is None:
        guard.kill()
        guard.wait()


def _no_start(name: str, base: Path, error: OSError) -> TargetError:
    return TargetError(
        f"{name} cannot be started: {error.strerror or error}",
        f"a guest needs {RECORDING_BYTES >> 20} MiB in {base}: free some, or name another folder "
        "in HARDSTONE_MEMORY_DIR",
    )
