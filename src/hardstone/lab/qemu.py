"""QEMU's command line for a guest, and the channels to it."""

from __future__ import annotations

import contextlib
import fcntl
import mmap
import os
import select
import shutil
import socket
import struct
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from hardstone.errors import TargetError
from hardstone.lab.initramfs import PCI_IDS
from hardstone.lab.kernels import Kernel
from hardstone.lab.settings import DEFAULT_MEMORY_MIB, LabSettings

_PACKAGES = {"x86_64": "qemu-system-x86", "aarch64": "qemu-system-arm"}


def emulator(arch: str) -> str:
    """Path of the QEMU for guests of `arch`; TargetError with the package to install."""
    name = f"qemu-system-{arch}"
    found = shutil.which(name)
    if found is None:
        raise TargetError(
            f"there is no {name}, which the lab boots guests in",
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


def memory_mib(settings: LabSettings) -> int:
    """Memory of the guest."""
    return settings.memory_mib or DEFAULT_MEMORY_MIB


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
