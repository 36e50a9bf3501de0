"""What a driver's file says about itself: the section .modinfo of an ELF file of 64 bits."""

from __future__ import annotations

import struct
from dataclasses import dataclass

_MACHINES = {62: "x86_64", 183: "aarch64"}
_HEADER_BYTES = 64
_SECTION_BYTES = 64
_MOST_SECTIONS = 4096


class ModuleFileError(Exception):
    """The file is not a driver for a kernel of the lab."""


@dataclass(frozen=True)
class ModuleFile:
    """`depends`: names of the drivers that must be loaded before; `release`: uname -r."""

    arch: str
    release: str
    depends: tuple[str, ...]


def read_module(data: bytes) -> ModuleFile:
    """The driver in the content of an uncompressed .ko file; ModuleFileError with the reason."""
    if data[:6] != b"\x7fELF\x02\x01" or len(data) < _HEADER_BYTES:
        raise ModuleFileError("it is not an ELF file of 64 bits")
    (machine,) = struct.unpack_from("<H", data, 18)
    if machine not in _MACHINES:
        raise ModuleFileError(f"it is for another architecture (ELF machine {machine})")
    pairs = (field.partition(b"=")[::2] for field in _modinfo(data).split(b"\0"))
    fields = {key: value.decode("ascii", "replace") for key, value in pairs}
    if b"vermagic" not in fields:
        raise ModuleFileError("it has no field vermagic")
    depends = fields.get(b"depends", "").split(",")
    return ModuleFile(
        _MACHINES[machine],
        fields[b"vermagic"].partition(" ")[0],
        tuple(canonical(name) for name in depends if name),
    )


def canonical(name: str) -> str:
    """A driver's name as the kernel knows it: file names may have "-" for "_"."""
    return name.replace("-", "_")


def _modinfo(data: bytes) -> bytes:
    sections = _sections(data)
    (names_index,) = struct.unpack_from("<H", data, 62)
    if names_index >= len(sections):
        raise ModuleFileError("its section headers are damaged")
    _, names_at, names_size = sections[names_index]
    names = data[names_at : names_at + names_size]
    for name_at, start, size in sections:
        if names[name_at:].startswith(b".modinfo\0"):
            return data[start : start + size]
    raise ModuleFileError("it has no section .modinfo")


def _sections(data: bytes) -> list[tuple[int, int, int]]:
    """Of each section where its name begins, where it begins, and its bytes."""
    (at,) = struct.unpack_from("<Q", data, 40)
    size, count = struct.unpack_from("<HH", data, 58)
    if size != _SECTION_BYTES or count > _MOST_SECTIONS or at + size * count > len(data):
        raise ModuleFileError("its section headers are damaged")
    headers = (struct.unpack_from("<IIQQQQ", data, at + size * i) for i in range(count))
    return [(name, start, length) for name, _, _, _, start, length in headers]
