"""QEMU: how it is found and started, and a guest from its boot to its end."""

from __future__ import annotations

import contextlib
import fcntl
import mmap
import os
import re
import select
import shutil
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from hardstone.errors import TargetError
from hardstone.files import replace_file
from hardstone.frames import (
    CLOCK,
    READY,
    RUN,
    VERSION,
    Frame,
    FrameReader,
    NoFrameError,
    PeerLostError,
    words_frame,
)
from hardstone.lab.initramfs import PCI_IDS
from hardstone.lab.kernels import Kernel
from hardstone.lab.lab_folder import make_guest_folder
from hardstone.lab.settings import AMPLE_BOOT_S, BOOT_VARIABLE, LabSettings

_PACKAGES = {
    "x86_64": "qemu-system-x86",
    "aarch64": "qemu-system-arm",
    "arm": "qemu-system-arm",
    "riscv32": "qemu-system-misc",
    "riscv64": "qemu-system-misc",
}


def emulator(arch: str) -> str:
    """Path of the QEMU for guests of `arch`; TargetError with the package to install."""
    name = f"qemu-system-{arch}"
    found = shutil.which(name)
    if found is None:
        raise TargetError(
            f"this guest runs in {name}, which is not installed",
            f"install it: sudo apt-get install {_PACKAGES[arch]}",
        )
    return found


RECORDING_BYTES = 1 << 26
TURNS_BYTES = 1 << 20
_DEFAULT_CPUS = 2
# Each where it is for a reason: `no_timer_check` since one kernel panicked in the check on a busy
# host; `panic` so that QEMU ends with the guest.
_BOOT_LINE = "quiet panic=-1"
_BOOT_LINES = {"x86_64": "console=ttyS0 no_timer_check", "aarch64": "console=ttyAMA0"}
# Without it the guest chooses the HPET, whose reading takes 2 us.
_TSC = "tsc=reliable clocksource=tsc"
# Without it a guest on a busy machine calibrated its counter ten times wrong. The kernel refines
# the value by less than 1 %.
_KNOWN_TSC = "tsc_early_khz"
# What else would differ from boot to boot.
_REPEATABLE = "nokaslr norandmaps random.trust_cpu=off random.trust_bootloader=off"
_DEVICE_SLOT = "0x13"  # behind those of the channel
_UNPACKED = "hardstone.boot=vmlinux"
_EPOCH = "base=2026-01-01T00:00:00,clock=vm"


@dataclass(frozen=True, kw_only=True)
class Machine:
    """A guest before it boots. `accel` is "kvm", "tcg" or "icount"; `host_tsc_khz` None where it
    is not known; `device`: one of settings.DEVICES; `unpacked` is booted in place of the kernel's
    image, and the boot line says so."""

    kernel: Kernel
    initramfs: Path
    accel: str
    cpus: int
    memory_mib: int
    append: str
    host_tsc_khz: int | None = None
    device: str | None = None
    unpacked: Path | None = None

    @property
    def has_host_tsc(self) -> bool:
        """Whether the guest's counter is this machine's, and nothing tells it the frequency."""
        return self.accel == "tcg" and self.kernel.arch == "x86_64"

    @property
    def boot_line(self) -> str:
        """The kernel's command line."""
        parts = [_BOOT_LINES[self.kernel.arch], _BOOT_LINE, f"hardstone.lab={self.accel}"]
        if self.kernel.arch == "x86_64" and self.accel != "kvm":
            parts.append(_TSC)
            if self.has_host_tsc and self.host_tsc_khz is not None:
                parts.append(f"{_KNOWN_TSC}={self.host_tsc_khz}")
        # Without KASLR: the facts of a run have to tell it from a run of the image.
        parts += [] if self.unpacked is None else [_UNPACKED]
        parts += [_REPEATABLE] if self.accel == "icount" else []
        parts += [] if self.device is None else [f"hardstone.uio={PCI_IDS[self.device]}"]
        return " ".join([*parts, *filter(None, (self.kernel.append, self.append))])

    def command(self, folder: Path, channel: Sequence[int]) -> list[str]:
        """Arguments of QEMU. `folder` has the files of this guest; `channel` are the descriptors
        of its port, or of the pipes that its two bells write to."""
        recording = folder / "recording"
        return [
            emulator(self.kernel.arch),
            *_board(self.kernel.arch, self.accel),
            *("-smp", str(self.cpus), "-m", f"{self.memory_mib}M"),
            *("-nodefaults", "-no-user-config", "-display", "none", "-nic", "none", "-no-reboot"),
            *("-kernel", str(self.unpacked or self.kernel.image), "-initrd", str(self.initramfs)),
            *("-append", self.boot_line),
            *("-chardev", f"file,id=console,path={_escaped(folder / 'console')}"),
            *("-serial", "chardev:console"),
            *_shared("recording", recording, RECORDING_BYTES, "0x10"),
            *(self._turns(folder, channel) if self.accel == "icount" else _port(channel[0])),
            *([] if self.device is None else ["-device", f"{self.device},addr={_DEVICE_SLOT}"]),
        ]

    def _turns(self, folder: Path, bells: Sequence[int]) -> list[str]:
        return [
            *("-icount", "shift=1,sleep=off", "-rtc", _EPOCH),
            *_shared("turns", folder / "turns", TURNS_BYTES, "0x11"),
            *("-chardev", f"file,id=bell0,path=/dev/fd/{bells[0]}"),
            *("-chardev", f"file,id=bell1,path=/dev/fd/{bells[1]}"),
            *("-device", "tpci200,id=carrier,addr=0x12"),
            *("-device", "ipoctal232,bus=carrier.0,chardev0=bell0,chardev1=bell1"),
        ]


def boot_line_of(settings: LabSettings) -> str:
    """What `settings` add to the kernel's command line."""
    model = [] if settings.preempt is None else [f"preempt={settings.preempt}"]
    return " ".join([*model, *filter(None, [settings.append])])


def cpu_count(settings: LabSettings) -> int:
    """CPUs of the guest: those asked for, or two where this machine has them."""
    if settings.is_deterministic:
        return 1
    return settings.cpus or min(_DEFAULT_CPUS, len(os.sched_getaffinity(0)))


def _board(arch: str, accel: str) -> list[str]:
    board = [] if arch == "x86_64" else ["-machine", "virt"]
    if accel == "kvm":
        return [*board, "-accel", "kvm", "-cpu", "host"]
    if accel == "tcg":
        cpu = "max" if arch == "x86_64" else "cortex-a57"
        return [*board, "-accel", "tcg,thread=multi", "-cpu", cpu]
    cpu = "qemu64" if arch == "x86_64" else "cortex-a57"
    return [*board, "-accel", "tcg,thread=single", "-cpu", cpu]


def _shared(name: str, path: Path, size_bytes: int, slot: str) -> list[str]:
    """Memory of a PCI device without a driver, which is the file `path` here."""
    backend = f"memory-backend-file,id={name},size={size_bytes},share=on"
    return [
        *("-object", f"{backend},mem-path={_escaped(path)}"),
        *("-device", f"ivshmem-plain,memdev={name},addr={slot}"),
    ]


def _port(descriptor: int) -> list[str]:
    return [
        *("-chardev", f"socket,id=port,fd={descriptor}"),
        *("-device", "virtio-serial-pci,addr=0x11"),
        *("-device", "virtserialport,chardev=port,name=hardstone"),
    ]


def _escaped(path: Path) -> str:
    """QEMU ends a value at a comma, and reads two as one."""
    return str(path).replace(",", ",,")


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
        """As `Channel.receive`; the guest gets its turn first."""
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
        """Leaves no room. Empties it first: next to a character a whole page has no room, and the
        kernel writes none of it."""
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
    """Whether there is something to read. By poll: select takes no descriptor above 1023."""
    poller = select.poll()
    poller.register(file, select.POLLIN)
    return bool(poller.poll(timeout_s * 1000))


_MOST_CONSOLE_BYTES = 1 << 26  # the guard ends a QEMU that writes more
_MOST_BYTES = 1 << 16
_KEPT_BYTES = 1 << 20
_SHOWN_CHARS = 300
_PANIC = re.compile(r"Kernel panic - not syncing: [^\n]*")
_NO_PORT = "hardstone-lab: no port of virtio-serial"
_NO_DRIVER = "hardstone-lab: no driver for the device"
_ESCAPES = re.compile(r"\x1b(\[[0-9;?]*[A-Za-z]|[@-_])?")


def console_lines(folder: Path) -> list[str]:
    """The last lines of the console, printable."""
    lines = _printable(_tail(folder / "console")).splitlines()
    return [line.strip() for line in lines if line.strip()]


def said_last(folder: Path) -> str:
    """The last line of the console in a message. It belongs to the cause of an error: from a
    remedy, commands to type are taken."""
    lines = console_lines(folder)
    if not lines:
        return "its console was silent"
    return f"the last line on its console: {lines[-1][:_SHOWN_CHARS]}"


def keep_console(folder: Path, log: Path) -> None:
    """Keeps the end of the console as the file `log`, where it can be written: it only helps a
    person."""
    with contextlib.suppress(OSError):
        with (folder / "console").open("rb") as file:
            file.seek(max(0, _size_bytes(folder / "console") - _KEPT_BYTES))
            content = file.read(_KEPT_BYTES)
        log.parent.mkdir(parents=True, exist_ok=True)
        replace_file(log, content, 0o644, is_durable=False)


def why_it_ended(folder: Path) -> tuple[str, str]:
    """Why a guest ended, and what to do about it ("" where nothing is known)."""
    console = "\n".join(console_lines(folder))
    if _NO_PORT in console:
        return (
            "the kernel has no driver for the channel to the lab",
            "switch on CONFIG_VIRTIO_PCI and CONFIG_VIRTIO_CONSOLE, or give the kernel's modules: "
            "hardstone lab add NAME --kernel PATH --modules DIR",
        )
    if _NO_DRIVER in console:
        return (
            "the kernel has no driver for the device",
            "switch on CONFIG_UIO_PCI_GENERIC=m and give the kernel's modules: "
            "hardstone lab add NAME --kernel PATH --modules DIR",
        )
    if found := _PANIC.search(console):
        return found[0][:_SHOWN_CHARS], ""
    if _size_bytes(folder / "console") >= _MOST_CONSOLE_BYTES:
        return (
            (
                f"it wrote more than {_MOST_CONSOLE_BYTES >> 20} MiB to its console; "
                f"{said_last(folder)}"
            ),
            "",
        )
    said = _printable(_tail(folder / "qemu")).strip().splitlines()
    if said:
        return f"QEMU said: {said[-1][:_SHOWN_CHARS]}", ""
    return f"QEMU was ended, or the guest powered off; {said_last(folder)}", ""


def _tail(path: Path) -> str:
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - _MOST_BYTES))
            return file.read(_MOST_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""


def _size_bytes(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _printable(text: str) -> str:
    text = _ESCAPES.sub("", text).replace("\r", "\n")
    return "".join(char if char.isprintable() or char == "\n" else "?" for char in text)


_GUARD = Path(__file__).with_name("guard.py")
_REBUILD = "rebuild it: hardstone probe build"
_ANSWER_S = 20.0


class GuestLostError(PeerLostError):
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
        self.slowness = 1.0  # of its answers, where its boot may take that much longer than usual
        self._reader = FrameReader()
        self._clocks: list[ClockReading] = []
        self._guard: subprocess.Popen[bytes] | None = None
        self._channel: Channel | None = None
        self._lock = -1
        try:
            self.folder, self._lock = make_guest_folder(base)
            self.recording = self.folder / "recording"
            _allocate(self.recording, RECORDING_BYTES)
            if machine.accel == "icount":
                _allocate(self.folder / "turns", TURNS_BYTES)
                self._channel = TurnsChannel(self.folder / "turns")
            else:
                self._channel = PortChannel()
            self._guard = _start(machine, self.folder, self._channel, self._lock)
            self._channel.hand_over()
        except BaseException as error:
            self.close()
            if isinstance(error, OSError):
                raise TargetError(
                    f"{name} cannot be started: {error.strerror or error}",
                    f"a guest needs {RECORDING_BYTES >> 20} MiB in {base}: free some space, or "
                    "name another folder in HARDSTONE_MEMORY_DIR",
                ) from error
            raise

    def wait_until_ready(self, most_s: float) -> None:
        """Until the guest's process 1 has said that it is there, and what its clock shows. A
        guest that may take longer than usual to boot may take longer for all answers."""
        self.slowness = max(1.0, most_s / AMPLE_BOOT_S[self.machine.accel])
        frame = self.receive(most_s)
        if frame is None:
            raise GuestLostError(
                f"{self._name} did not boot within {most_s:g} s ({self.machine.accel}); "
                f"{said_last(self.folder)}",
                f"{self._remedy()}; {BOOT_VARIABLE} allows more time",
            )
        if frame != Frame(READY, bytes([VERSION])):
            raise GuestLostError(
                f"the program in {self._name} has another version than hardstone", _REBUILD
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
        self.send(words_frame(RUN, words))

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
            lost = GuestLostError(f"{self._name} sent an invalid frame: {error}", self._remedy())
            self.close()
            raise lost from error
        return frame

    def read_clock(self) -> None:
        """Notes both clocks, unless the guest's counts instructions. No command may run."""
        if not self.can_interrupt:
            return
        before_ns = time.monotonic_ns()
        self.send(Frame(CLOCK))
        frame = self.receive(_ANSWER_S * self.slowness)
        after_ns = time.monotonic_ns()
        if frame is None or frame.type != CLOCK:
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
            end_guarded(guard)
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
        return f"see its console output: {self._log}"


def guard_command(folder: Path, lock: int, most_bytes: int, *, on_one_cpu: bool) -> list[str]:
    """How the guard is started, without the command of QEMU that follows.

    `on_one_cpu` for a guest that counts instructions: QEMU's main loop moves the guest's time
    forward when its processor halts, and does not wait for the last instructions to be counted. On
    a CPU of its own it was now and then too early: a run differed by a few instructions.
    """
    python = [sys.executable, "-I", "-S", str(_GUARD)]
    return [*python, str(folder), str(lock), str(most_bytes), "one" if on_one_cpu else "all"]


def _allocate(path: Path, size_bytes: int) -> None:
    """A file whose memory is there, so that a guest finds none missing later."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        os.posix_fallocate(descriptor, 0, size_bytes)
    finally:
        os.close(descriptor)


def _start(machine: Machine, folder: Path, channel: Channel, lock: int) -> subprocess.Popen[bytes]:
    command = machine.command(folder, channel.inherited)
    on_one_cpu = machine.accel == "icount"
    return start_guarded(command, folder, lock, channel.inherited, on_one_cpu=on_one_cpu)


def start_guarded(
    command: Sequence[str], folder: Path, lock: int, inherited: Sequence[int], *, on_one_cpu: bool
) -> subprocess.Popen[bytes]:
    """The guard that runs `command`, QEMU's, with the descriptors `inherited`; it ends QEMU and
    removes `folder` when this program ends, or calls `end_guarded`."""
    return subprocess.Popen(
        [*guard_command(folder, lock, _MOST_CONSOLE_BYTES, on_one_cpu=on_one_cpu), *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=(*inherited, lock),
        start_new_session=True,
    )


def end_guarded(guard: subprocess.Popen[bytes]) -> None:
    """The end of its input ends the guard, and this its guest."""
    if guard.stdin is not None:
        with contextlib.suppress(OSError):
            guard.stdin.close()
    with contextlib.suppress(subprocess.TimeoutExpired):
        guard.wait(_ANSWER_S)
    if guard.poll() is None:
        guard.kill()
        guard.wait()
