"""The programs of a guest: one static busybox, for the architecture of its kernel."""

from __future__ import annotations

import platform
import shutil
import struct
from pathlib import Path

from hardstone.errors import InputError
from hardstone.files import one_line, read_regular
from hardstone.lab.kernels import all_kernels

MOST_BUSYBOX_BYTES = 32 << 20
_MACHINES = {62: "x86_64", 183: "aarch64"}
_INTERPRETER = 3  # PT_INTERP: the program needs a loader, and so libraries
_PROGRAM_HEADER_BYTES = 56


def read_busybox(path: Path, arch: str) -> bytes:
    """The content of a static busybox for `arch`; InputError for anything else."""
    try:
        data = read_regular(path.resolve(), MOST_BUSYBOX_BYTES)
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(
            f"cannot read {one_line(str(path))}: {reason}", "give the path of a static busybox"
        ) from error
    problem = _problem(data, arch)
    if problem:
        raise InputError(f"{one_line(str(path))} {problem}", _remedy(arch))
    return data


def find_busybox(arch: str) -> bytes:
    """This machine's busybox, or that of a kernel in the lab; InputError if none is usable."""
    installed = shutil.which("busybox")
    kept = [kernel.busybox for kernel in all_kernels() if kernel.arch == arch]
    for path in [Path(installed), *kept] if installed else kept:
        try:
            data = read_regular(path.resolve(), MOST_BUSYBOX_BYTES)
        except OSError:
            continue
        if not _problem(data, arch):
            return data
    raise InputError(f"there is no static busybox for {arch}", _remedy(arch))


def _problem(data: bytes, arch: str) -> str:
    """Why a guest of `arch` could not run the program, "" if it can."""
    if data[:6] != b"\x7fELF\x02\x01" or len(data) < 64:
        return "is not a program for 64 bits"
    (machine,) = struct.unpack_from("<H", data, 18)
    if _MACHINES.get(machine) != arch:
        return f"is not for {arch}"
    (start,) = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    if size != _PROGRAM_HEADER_BYTES or start + size * count > len(data):
        return "is damaged: its program headers are cut off"
    kinds = {struct.unpack_from("<I", data, start + size * place)[0] for place in range(count)}
    return "is not static: a guest has no libraries" if _INTERPRETER in kinds else ""


def _remedy(arch: str) -> str:
    if arch == platform.machine() and shutil.which("apt-get"):
        return "install one: sudo apt-get install busybox-static"
    return f"give one with --busybox, or fetch one: hardstone lab get debian --arch {arch}"
