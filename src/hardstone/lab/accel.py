"""What runs a guest, the processor's own virtualisation or QEMU's emulation, and its patience."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Callable
from pathlib import Path

from hardstone.errors import InputError
from hardstone.lab.settings import LabSettings

BOOT_VARIABLE = "HARDSTONE_BOOT_S"
_BOOT_S = {"kvm": 30.0, "tcg": 180.0, "icount": 180.0}
_LONGEST_BOOT_S = 86400.0
_KVM = Path("/dev/kvm")
_CPUINFO = Path("/proc/cpuinfo")
_VIRTUALISES = re.compile(r"^flags\s*:.*\b(vmx|svm)\b", re.MULTILINE)


def choose_accel(
    settings: LabSettings, arch: str, obstacle_of: Callable[[str], str | None] | None = None
) -> str:
    """ "icount", "kvm" or "tcg" for a guest of `arch`; InputError where KVM is asked for and
    cannot be had."""
    if settings.is_deterministic:
        return "icount"
    if settings.accel == "tcg":
        return "tcg"
    obstacle = (obstacle_of or kvm_obstacle)(arch)
    if obstacle and settings.accel == "kvm":
        raise InputError(f"KVM cannot run this guest: {obstacle}", "leave out accel, or take tcg")
    return "tcg" if obstacle else "kvm"


def boot_limit_s(accel: str) -> float:
    """How long a boot may take: $HARDSTONE_BOOT_S, or what is ample; InputError."""
    text = os.environ.get(BOOT_VARIABLE, "")
    if not text:
        return _BOOT_S[accel]
    try:
        limit_s = float(text)
    except ValueError:
        limit_s = 0.0
    if not 0 < limit_s <= _LONGEST_BOOT_S:
        shown = "".join(char if char.isprintable() else "?" for char in text)[:40]
        raise InputError(
            f"{BOOT_VARIABLE}={shown} is not a time in seconds", "write a number from 1 to 86400"
        )
    return limit_s


def kvm_obstacle(arch: str, device: Path = _KVM, cpuinfo: Path = _CPUINFO) -> str | None:
    """Why KVM cannot run a guest of `arch` here, None where nothing speaks against it."""
    if arch != platform.machine():
        return f"this machine is {platform.machine()} and the kernel {arch}"
    if not device.exists():
        return f"there is no {device}"
    if not os.access(device, os.R_OK | os.W_OK):
        return f"{device} may not be opened by this user (group kvm)"
    if arch == "x86_64" and not _VIRTUALISES.search(cpuinfo.read_text("ascii", "replace")):
        return "the processor shows neither vmx nor svm"
    return None
