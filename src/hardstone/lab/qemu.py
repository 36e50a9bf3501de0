"""The command line of QEMU for a guest."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hardstone.lab.emulator import emulator
from hardstone.lab.extra_device import PCI_IDS
from hardstone.lab.kernels import Kernel
from hardstone.lab.settings import DEFAULT_MEMORY_MIB, LabSettings

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
