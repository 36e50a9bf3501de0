"""Settings of a guest, as typed, and which accelerator QEMU may use.

Keys: cpus, memory (MiB, or with M or G), preempt, accel, deterministic, device, and append, which
comes last and takes the rest of the text: the kernel's command line may contain commas.
"""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hardstone.errors import InputError, printable

PREEMPT_MODELS = ("none", "voluntary", "full", "lazy")
_ACCELERATORS = ("auto", "kvm", "tcg")
DEVICES = ("edu",)
DEFAULT_MEMORY_MIB = 1024
_LEAST_MEMORY_MIB = 128
_MOST_MEMORY_MIB = 1 << 20
_MOST_CPUS = 255
_MOST_APPEND_CHARS = 1000

NAME = re.compile(r"[a-z0-9][a-z0-9._@+-]{0,60}", re.ASCII)
_MEMORY = re.compile(r"([0-9]{1,8})([MmGg]?)", re.ASCII)
# Reads a value; `before` is what a person typed before it, for messages.
_Reader = Callable[[str, str], Any]
_OWN_WORDS = "hardstone."
_KEYS = "cpus, memory, preempt, accel, deterministic, device, append"


@dataclass(frozen=True, kw_only=True)
class LabSettings:
    """A kernel of the lab and the machine that it boots in; None: the lab chooses.

    `is_deterministic`: time counts instructions, on one emulated CPU. `device`: a device in
    addition to those that every guest has.
    """

    kernel: str
    cpus: int | None = None
    memory_mib: int | None = None
    preempt: str | None = None
    accel: str = "auto"
    is_deterministic: bool = False
    device: str | None = None
    append: str = ""

    def __post_init__(self) -> None:
        if self.is_deterministic and self.cpus not in (None, 1):
            raise InputError(
                f"a deterministic guest has one CPU, not {self.cpus}", "leave out cpus"
            )
        if self.is_deterministic and self.accel == "kvm":
            raise InputError(
                "a deterministic guest counts instructions, which KVM cannot do", "leave out accel"
            )

    @property
    def name(self) -> str:
        """The target in the one form that `parse_settings` reads back, after `lab:`."""
        parts = [self.kernel]
        parts += [] if self.cpus is None else [f"cpus={self.cpus}"]
        parts += [] if self.memory_mib is None else [f"memory={self.memory_mib}M"]
        parts += [] if self.preempt is None else [f"preempt={self.preempt}"]
        parts += [] if self.accel == "auto" else [f"accel={self.accel}"]
        parts += ["deterministic"] if self.is_deterministic else []
        parts += [] if self.device is None else [f"device={self.device}"]
        parts += [f"append={self.append}"] if self.append else []
        return ",".join(parts)


def parse_settings(text: str) -> LabSettings:
    """The settings in `text`, what follows `lab:`; InputError with the reason."""
    kernel, comma, rest = text.partition(",")
    if not NAME.fullmatch(kernel):
        raise InputError(
            f"'{_shown(kernel)}' is not a valid name of a lab kernel",
            "write lab:NAME; see the names: hardstone lab list",
        )
    fields: dict[str, Any] = {}
    while comma:
        if rest.startswith("append="):
            pair, comma, rest = rest, "", ""
        else:
            pair, comma, rest = rest.partition(",")
        key, _, value = pair.partition("=")
        if key not in _READERS:
            raise InputError(f"lab:{kernel}: unknown setting '{_shown(key)}'", f"known: {_KEYS}")
        field, read = _READERS[key]
        if field in fields:
            raise InputError(f"lab:{kernel}: {key} is given twice", "give it once")
        fields[field] = read(value, f"{key}=")
    return LabSettings(kernel=kernel, **fields)


def with_settings(settings: LabSettings, **texts: str | None) -> LabSettings:
    """`settings` with those of `texts` that are not None: key to text, as in a target's name.

    InputError where the target's own text says otherwise.
    """
    merged = settings
    for key, text in texts.items():
        if text is None:
            continue
        field, read = _READERS[key]
        value, before = read(text, f"--{key} "), getattr(settings, field)
        if before not in (getattr(_DEFAULTS, field), value):
            raise InputError(
                f"--{key} {_shown(text)} and the target lab:{_shown(settings.name)} differ",
                "give it once",
            )
        merged = replace(merged, **{field: value})
    return merged


def _cpus(text: str, before: str) -> int:
    if not (text.isascii() and text.isdigit() and 1 <= int(text[:8]) <= _MOST_CPUS):
        raise InputError(f"{before}{_shown(text)} is not a count from 1 to {_MOST_CPUS}", "")
    return int(text)


def _memory_mib(text: str, before: str) -> int:
    found = _MEMORY.fullmatch(text)
    mib = 0 if found is None else int(found[1]) << (10 if found[2] in ("G", "g") else 0)
    if not _LEAST_MEMORY_MIB <= mib <= _MOST_MEMORY_MIB:
        raise InputError(
            f"{before}{_shown(text)} is not a size from {_LEAST_MEMORY_MIB}M to 1024G",
            f"write {before}512M or {before}2G",
        )
    return mib


def _one_of(*known: str) -> _Reader:
    def read(text: str, before: str) -> str:
        if text not in known:
            raise InputError(f"{before}{_shown(text)} is not known", f"known: {', '.join(known)}")
        return text

    return read


def _flag(text: str, before: str) -> bool:
    if text:
        raise InputError(f"{before}{_shown(text)}: the key takes no value", "leave it out")
    return True


def read_append(text: str, before: str = "--append ") -> str:
    """A kernel's command line: printable ASCII, since no kernel reads more.

    `before` stands before `text` in the InputError, as a person typed it.
    """
    if len(text) > _MOST_APPEND_CHARS or not (text.isascii() and text.isprintable()):
        raise InputError(
            f"{before}{_shown(text)}: the kernel's command line takes printable ASCII, "
            f"at most {_MOST_APPEND_CHARS} characters",
            "",
        )
    if any(word.startswith(_OWN_WORDS) for word in text.split()):
        raise InputError(
            f"{before}{_shown(text)}: words that start with {_OWN_WORDS} are reserved for the lab",
            "leave them out: the probe uses them to know whether it is emulated",
        )
    return text.strip()


def _shown(text: str) -> str:
    return printable(text)[:60]


_READERS: dict[str, tuple[str, _Reader]] = {
    "cpus": ("cpus", _cpus),
    "memory": ("memory_mib", _memory_mib),
    "preempt": ("preempt", _one_of(*PREEMPT_MODELS)),
    "accel": ("accel", _one_of(*_ACCELERATORS)),
    "deterministic": ("is_deterministic", _flag),
    "device": ("device", _one_of(*DEVICES)),
    "append": ("append", read_append),
}
_DEFAULTS = LabSettings(kernel="none")
BOOT_VARIABLE = "HARDSTONE_BOOT_S"
AMPLE_BOOT_S = {"kvm": 30.0, "tcg": 180.0, "icount": 180.0}
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
        raise InputError(f"KVM cannot run this guest: {obstacle}", "leave out accel, or use tcg")
    return "tcg" if obstacle else "kvm"


def boot_limit_s(accel: str) -> float:
    """How long a boot may take: $HARDSTONE_BOOT_S, or what is ample; InputError."""
    text = os.environ.get(BOOT_VARIABLE, "")
    if not text:
        return AMPLE_BOOT_S[accel]
    try:
        limit_s = float(text)
    except ValueError:
        limit_s = 0.0
    if not 0 < limit_s <= _LONGEST_BOOT_S:
        raise InputError(
            f"{BOOT_VARIABLE}={_shown(text)[:40]} is not a time in seconds",
            "write a number from 1 to 86400",
        )
    return limit_s


def kvm_obstacle(arch: str, device: Path = _KVM, cpuinfo: Path = _CPUINFO) -> str | None:
    """Why KVM cannot run a guest of `arch` here, None where nothing speaks against it."""
    if arch != platform.machine():
        return f"this machine is {platform.machine()}, but the kernel is for {arch}"
    if not device.exists():
        return f"there is no {device}"
    if not os.access(device, os.R_OK | os.W_OK):
        return f"{device} may not be opened by this user (group kvm)"
    if arch == "x86_64" and not _VIRTUALISES.search(cpuinfo.read_text("ascii", "replace")):
        return "the processor has neither vmx nor svm"
    return None
