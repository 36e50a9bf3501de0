"""What an executable is for, from its ELF header."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

from hardstone.errors import TargetError
from hardstone.files import open_regular

_MOST_BYTES = 1 << 28
_HEAD = struct.Struct("<16sHHIQQQIHHHHHH")
_SEGMENT = struct.Struct("<I28x24x")
_INTERPRETER = 3  # PT_INTERP: the loader of shared libraries
_REMEDY = "unset HARDSTONE_PROBE, or name another compiler"
_STATIC_REMEDY = "link it with -static, which needs the libraries for that (libc6-dev has them)"
_ARCHES = {62: "x86_64", 183: "aarch64"}


@dataclass(frozen=True)
class Elf:
    """`arch`: x86_64, aarch64, or "" for any other. Static: needs no shared library."""

    arch: str
    is_static: bool


def read_elf(path: Path) -> Elf | None:
    """None for what is no ELF executable of 64 bits. OSError if it cannot be read."""
    with open_regular(path, _MOST_BYTES) as file:
        head = file.read(_HEAD.size)
        if len(head) < _HEAD.size or head[:6] != b"\x7fELF\x02\x01":
            return None
        (_, _, machine, _, _, at, *_, size, count, _, _, _) = _HEAD.unpack(head)
        file.seek(at)
        table = file.read(size * count)
    if size < _SEGMENT.size or len(table) < size * count:
        return None
    kinds = [_SEGMENT.unpack_from(table, i * size)[0] for i in range(count)]
    return Elf(_ARCHES.get(machine, ""), _INTERPRETER not in kinds)


def check_static(path: Path, arch: str) -> None:
    """TargetError unless `path` is a program for `arch` that needs no shared library."""
    try:
        elf = read_elf(path)
    except OSError as error:
        raise TargetError(f"{path} cannot be read: {error.strerror}", "build it again") from error
    if elf is None or elf.arch != arch:
        kind = f"one for {elf.arch}" if elf and elf.arch else "something else"
        raise TargetError(f"{path} should be a program for {arch} but is {kind}", _REMEDY)
    if not elf.is_static:
        raise TargetError(f"{path} needs shared libraries, which a guest lacks", _STATIC_REMEDY)
