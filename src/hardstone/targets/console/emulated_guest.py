"""A system's image in QEMU, started for one target: its console on a socket of this program, or,
where time counts instructions, one boot for each command.

An emulator whose clock counts instructions does not wait: while the guest is idle its clock jumps
to the next timer. Input from here would arrive at another moment in each boot. So there is none:
the command is in the guest's memory before the boot, the image's first program runs it and powers
the machine off (probe/src/port/nuttx/job.c), and the console is a file.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import socket
import struct
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hardstone.errors import InputError, TargetError, printable
from hardstone.lab.lab_folder import make_guest_folder
from hardstone.lab.qemu import emulator, end_guarded, said_last, start_guarded
from hardstone.model import Scalar
from hardstone.targets.console.address import MEMORY_MIB, ConsoleSettings
from hardstone.targets.console.line import DescriptorLine
from hardstone.targets.host_memory import memory_folder, remove_guests

INSTRUCTIONS = "instructions"
_JOB_MAGIC = b"@hs-job "
MOST_JOB_BYTES = 2000  # job.c has room for 2048
_MIB = 1 << 20
_JOB_OFFSET = 64 * _MIB  # from the begin of RAM: CONFIG_HARDSTONE_JOB_ADDRESS
_ROOM_BYTES = 80 * _MIB  # the guard lets a console have 64
_END_S = 2.0
_EPOCH = "base=2026-01-01T00:00:00,clock=vm"


@dataclass(frozen=True)
class EmulatedMachine:
    """A machine of QEMU under the name that systems have for it: the arguments that choose it, by
    the architecture of the image, and where its RAM begins."""

    options: Mapping[str, tuple[str, ...]]
    ram_address: int


_VIRT_RISCV = ("-machine", "virt", "-bios", "none", "-cpu")
MACHINES = {
    "rv-virt": EmulatedMachine(
        {"riscv32": (*_VIRT_RISCV, "rv32"), "riscv64": (*_VIRT_RISCV, "rv64")}, 0x80000000
    ),
    "qemu-armv7a": EmulatedMachine(
        {"arm": ("-machine", "virt,highmem=off", "-cpu", "cortex-a7")}, 0x40000000
    ),
    "qemu-armv8a": EmulatedMachine(
        {"aarch64": ("-machine", "virt,gic-version=3", "-cpu", "cortex-a57")}, 0x40000000
    ),
}
_BY_ARCH = {arch: name for name, machine in MACHINES.items() for arch in machine.options}
# The class (1: 32 bits, 2: 64 bits) and the machine in the head of an ELF file.
_ELF = {(1, 243): "riscv32", (2, 243): "riscv64", (1, 40): "arm", (2, 183): "aarch64"}


@dataclass(frozen=True, kw_only=True)
class QemuSettings:
    """An image and the machine that it boots in. `counts_instructions`: each instruction takes
    2 ns on the guest's clocks, and each command has a boot of its own."""

    image: Path
    machine: str
    arch: str
    memory_mib: int
    counts_instructions: bool = False

    def command(self, serial: Sequence[str], job: Path | None = None) -> list[str]:
        """Arguments of QEMU; `serial` is the chardev of the console without its id."""
        machine = MACHINES[self.machine]
        counting = ["-icount", "shift=1,sleep=off", "-rtc", _EPOCH]
        at = hex(machine.ram_address + _JOB_OFFSET)
        loader = f"loader,file={_escaped(job)},addr={at},force-raw=on" if job else ""
        return [
            emulator(self.arch),
            *machine.options[self.arch],
            *("-accel", "tcg,thread=single", "-smp", "1", "-m", f"{self.memory_mib}M"),
            *("-nodefaults", "-no-user-config", "-display", "none", "-nic", "none", "-no-reboot"),
            *("-kernel", str(self.image)),
            *("-chardev", ",".join([serial[0], "id=console", *serial[1:]])),
            *("-serial", "chardev:console"),
            *(counting if self.counts_instructions else []),
            *(["-device", loader] if job else []),
        ]

    def facts(self) -> dict[str, Scalar]:
        """What the guest cannot know of itself."""
        reason = "hardstone started the image in QEMU's emulator"
        return {
            "virtual.hypervisor": "QEMU",
            "virtual.emulated": True,
            "virtual.emulated_reason": reason,
            "virtual.time": "instructions" if self.counts_instructions else None,
        }


def read_settings(settings: ConsoleSettings) -> QemuSettings:
    """What `console:qemu:IMAGE,KEY=VALUE...` means here; InputError."""
    image = Path(settings.place)
    arch = _arch_of(image)
    name = settings.machine or _BY_ARCH[arch]
    if name not in MACHINES:
        raise InputError(f"machine={name} is not known", f"known: {', '.join(MACHINES)}")
    if arch not in MACHINES[name].options:
        raise InputError(
            f"machine={name} does not fit {image}, which is for {arch}",
            f"leave out machine, or write machine={_BY_ARCH[arch]}",
        )
    if settings.time not in (None, INSTRUCTIONS):
        raise InputError(f"time={settings.time} is not known", f"known: time={INSTRUCTIONS}")
    return QemuSettings(
        image=image,
        machine=name,
        arch=arch,
        memory_mib=settings.memory or MEMORY_MIB[0],
        counts_instructions=settings.time == INSTRUCTIONS,
    )


def _arch_of(image: Path) -> str:
    """By the head of the ELF file; InputError for what is none, or for another processor."""
    try:
        with image.open("rb") as file:
            head = file.read(20)
    except OSError as error:
        raise InputError(
            f"the image {image} cannot be read: {error.strerror or error}",
            "name the ELF file that the build made",
        ) from error
    is_elf = len(head) == 20 and head[:4] == b"\x7fELF" and head[5] == 1
    arch = _ELF.get((head[4], struct.unpack_from("<H", head, 18)[0])) if is_elf else None
    if arch is None:
        raise InputError(
            f"{image} is not an image for {', '.join(sorted(_BY_ARCH))}",
            "name the ELF file that the build made",
        )
    return arch


def _escaped(path: Path) -> str:
    """QEMU ends a value at a comma, and reads two as one."""
    return str(path).replace(",", ",,")


class EmulatedGuest:
    """One QEMU, which ends with this program, however that ends."""

    def __init__(self, settings: QemuSettings, job: str | None = None) -> None:
        """Starts it. `job`: the command that the image runs; without one the console is the
        descriptor `line`. TargetError."""
        self._settings = settings
        self._guard: subprocess.Popen[bytes] | None = None
        self._lock = -1
        self._watch = -1
        self._read_bytes = 0
        self.line = -1
        remove_guests()
        base = memory_folder(_ROOM_BYTES)
        try:
            self._folder, self._lock = make_guest_folder(base)
            self._start(job)
        except BaseException as error:
            self.close()
            if isinstance(error, OSError):
                raise TargetError(
                    f"{settings.image} cannot be started: {error.strerror or error}",
                    f"a guest needs some space in {base}: free some, or name another folder in "
                    "HARDSTONE_MEMORY_DIR",
                ) from error
            raise

    def _start(self, job: str | None) -> None:
        console = self._folder / "console"
        self._watch, watched = os.pipe()
        inherited = [watched]
        guests: socket.socket | None = None
        try:
            if job is None:
                own, guests = socket.socketpair()
                own.setblocking(False)
                self.line = own.detach()
                inherited.append(guests.fileno())
                command = self._settings.command(("socket", f"fd={guests.fileno()}"))
            else:
                place = self._folder / "job"
                place.write_bytes(job_bytes(job))
                serial = ("file", f"path={_escaped(console)}")
                command = self._settings.command(serial, place)
            on_one_cpu = self._settings.counts_instructions
            self._guard = start_guarded(
                command, self._folder, self._lock, inherited, on_one_cpu=on_one_cpu
            )
        finally:
            os.close(watched)
            if guests is not None:
                guests.close()

    def has_ended(self, timeout_s: float = 0.0) -> bool:
        """Whether QEMU has ended; waits for that at most so long."""
        poller = select.poll()
        poller.register(self._watch, select.POLLIN)
        return bool(poller.poll(timeout_s * 1000))

    def new_output(self) -> bytes:
        """What the job wrote to its console since the last call."""
        with contextlib.suppress(OSError), (self._folder / "console").open("rb") as file:
            file.seek(self._read_bytes)
            found = file.read()
            self._read_bytes += len(found)
            return found
        return b""

    def why_ended(self) -> str:
        """What QEMU or the guest said last."""
        with contextlib.suppress(OSError):
            said = (self._folder / "qemu").read_bytes()[-4096:].decode("utf-8", "replace")
            lines = [line for line in said.splitlines() if line.strip()]
            if lines:
                return f"QEMU said: {printable(lines[-1])[:300]}"
        return said_last(self._folder)

    def end(self) -> None:
        """Ends QEMU."""
        guard, self._guard = self._guard, None
        if guard is not None:
            end_guarded(guard)

    def close(self) -> None:
        """Ends QEMU and removes its files; may be called twice, and never fails."""
        line, self.line = self.line, -1
        lock, self._lock = self._lock, -1
        watch, self._watch = self._watch, -1
        if line >= 0:
            os.close(line)
        self.end()
        if watch >= 0:
            os.close(watch)
        if lock >= 0:
            shutil.rmtree(self._folder, ignore_errors=True)
            os.close(lock)


class EmulatedLine(DescriptorLine):
    """The console of an image that QEMU runs in real time; closing it ends QEMU."""

    def __init__(self, settings: QemuSettings) -> None:
        self._guest = EmulatedGuest(settings)
        super().__init__(self._guest.line, settings.image.name, None, self._guest.close)

    def read(self, timeout_s: float) -> bytes:
        try:
            return super().read(timeout_s)
        except TargetError as error:
            self._guest.has_ended(_END_S)
            raise TargetError(
                f"QEMU ended: {self._guest.why_ended()}",
                "it powered off or crashed, or the image is for another machine: run it again",
            ) from error


def open_emulated(settings: ConsoleSettings) -> EmulatedLine:
    """Boots the image. TargetError where that fails."""
    return EmulatedLine(read_settings(settings))


def job_bytes(command: str) -> bytes:
    """What job.c reads; InputError for a command that it has no room for."""
    words = command.encode("ascii")
    if len(words) > MOST_JOB_BYTES:
        raise InputError(
            f"the request has {len(words)} characters, and an image without input takes "
            f"{MOST_JOB_BYTES}",
            "give fewer parameters",
        )
    return _JOB_MAGIC + words + b"\0"
