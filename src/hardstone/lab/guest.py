"""A guest that boots, obeys and ends: QEMU behind its guard, and the channel to it."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from hardstone.errors import TargetError
from hardstone.lab import guest_frames as frames
from hardstone.lab.channel import Channel, ChannelClosedError, PortChannel, TurnsChannel
from hardstone.lab.guest_console import console_text, keep_console, why_it_ended
from hardstone.lab.guest_frames import Frame, FrameReader, NoFrameError, run_frame
from hardstone.lab.qemu import RECORDING_BYTES, TURNS_BYTES, Machine

GUARD = Path(__file__).with_name("guard.py")
_BOOT_S = {"kvm": 30.0, "tcg": 180.0, "icount": 180.0}
_ANSWER_S = 20.0
_POLL_S = 0.5


class GuestLostError(TargetError):
    """The guest ended, or no longer answers."""


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
        self.folder = Path(tempfile.mkdtemp(prefix="hardstone-lab-", dir=base))
        try:
            self.recording = self.folder / "recording"
            _allocate(self.recording, RECORDING_BYTES)
            self._channel = _channel(machine, self.folder)
            self._guard = _start(machine, self.folder, self._channel)
        except OSError as error:
            self.close()
            raise TargetError(
                f"{name} cannot be started: {error.strerror or error}",
                f"a guest needs {RECORDING_BYTES >> 20} MiB in {base}: free some, or name another "
                "folder in HARDSTONE_MEMORY_DIR",
            ) from error
        self._channel.hand_over()

    def wait_until_ready(self, is_stopped: Callable[[], bool] = lambda: False) -> None:
        """Until the guest's process 1 has said that it is there, and what its clock shows."""
        most_s = _BOOT_S[self.machine.accel]
        until = time.monotonic() + most_s
        while (frame := self.receive(_POLL_S)) is None:
            if is_stopped():
                raise GuestLostError(f"{self._name}: its boot was interrupted", "")
            if time.monotonic() >= until:
                raise GuestLostError(
                    f"{self._name} did not boot within {most_s:g} s", self._remedy()
                )
        if frame != Frame(frames.READY, bytes([frames.VERSION])):
            raise GuestLostError(f"{self._name} speaks another version", "remove the lab's cache")
        self.read_clock()

    @property
    def can_interrupt(self) -> bool:
        """Whether a running command can be sent input and signals."""
        return self._channel is not None and self._channel.can_interrupt

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
            raise GuestLostError(f"{self._name} sent what is no frame: {error}", "") from error
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
        text = f"{self._name} does not answer and was ended"
        error = GuestLostError(text, self._remedy())
        self.close()
        return error

    def close(self) -> None:
        """Ends the guest and removes its folder; may be called twice."""
        channel, self._channel = self._channel, None
        guard, self._guard = self._guard, None
        if channel is not None:
            channel.close()
            keep_console(self.folder, self._log)
        if guard is not None:
            if guard.stdin is not None:
                guard.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                guard.wait(_ANSWER_S)
            if guard.poll() is None:
                guard.kill()
                guard.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _opened(self) -> Channel:
        if self._channel is None:
            raise GuestLostError(f"{self._name} was ended", "")
        return self._channel

    def _lost(self) -> GuestLostError:
        why, remedy = why_it_ended(self.folder)
        error = GuestLostError(f"{self._name} ended: {why}", remedy or self._remedy())
        self.close()
        return error

    def _remedy(self) -> str:
        said = console_text(self.folder)
        last = f"its console said last: {said}" if said else "its console said nothing"
        return f"{last} ({self._log})"


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


def _start(machine: Machine, folder: Path, channel: Channel) -> subprocess.Popen[bytes]:
    command = machine.command(folder, channel.inherited)
    return subprocess.Popen(
        [sys.executable, "-I", "-S", str(GUARD), str(folder), *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=channel.inherited,
        start_new_session=True,
    )
