"""The programs of a guest: one static busybox, for the architecture of its kernel."""

from __future__ import annotations

import platform
import shutil
from pathlib import Path

from hardstone.errors import InputError
from hardstone.files import followed, one_line, read_regular
from hardstone.lab.elf import read_elf
from hardstone.lab.kernels import all_kernels

_MOST_BYTES = 32 << 20


def read_busybox(path: Path, arch: str) -> bytes:
    """The content of a static busybox for `arch`; InputError for anything else."""
    try:
        problem = _problem(path, arch)
        data = b"" if problem else read_regular(followed(path), _MOST_BYTES)
    except OSError as error:
        problem = f"cannot be read: {error.strerror or error}"
    if problem:
        raise InputError(f"{one_line(str(path))} {problem}", _remedy(arch))
    return data


def find_busybox(arch: str) -> bytes:
    """This machine's busybox, or that of a kernel in the lab; InputError if none is usable."""
    installed = shutil.which("busybox")
    kept = [kernel.busybox for kernel in all_kernels() if kernel.arch == arch]
    for path in [Path(installed), *kept] if installed else kept:
        try:
            if not _problem(path, arch):
                return read_regular(followed(path), _MOST_BYTES)
        except OSError:
            continue
    raise InputError(f"there is no static busybox for {arch}", _remedy(arch))


def _problem(path: Path, arch: str) -> str:
    """Why a guest of `arch` could not run the program, "" if it can. OSError: it is unreadable."""
    elf = read_elf(followed(path))
    if elf is None:
        return "is not a program for 64 bits"
    if elf.arch != arch:
        return f"is not a program for {arch}"
    return "" if elf.is_static else "is not static, and a guest has no libraries"


def _remedy(arch: str) -> str:
    if arch == platform.machine() and shutil.which("apt-get"):
        return "install one: sudo apt-get install busybox-static"
    return f"give one with --busybox, or fetch one: hardstone lab get debian --arch {arch}"
