"""Images of kernels: which architecture and release, and whether the lab can boot them."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from typing import Literal

from hardstone.errors import InputError
from hardstone.files import one_line
from hardstone.lab.unpack import MOST_UNPACKED_BYTES, UnpackError, unpack

Architecture = Literal["x86_64", "aarch64"]
MOST_IMAGE_BYTES = MOST_UNPACKED_BYTES
RELEASE = re.compile(r"[0-9A-Za-z][0-9A-Za-z._+~-]{0,63}", re.ASCII)
_WANTED = "want bzImage (x86-64) or Image (arm64)"
_BUILT = "a build has it in arch/x86/boot/bzImage or arch/arm64/boot/Image"
_BANNER = re.compile(rb"Linux version ([^ \0]{1,64}) ")
_X86_64_ENTRY = 1  # XLF_KERNEL_64 of Documentation/arch/x86/boot.rst
_FIRST_PROTOCOL_WITH_XLOADFLAGS = 0x020C


@dataclass(frozen=True)
class Image:
    """A kernel as QEMU boots it: `data` is unpacked where QEMU may not unpack it.

    `release`: what `uname -r` will say, "" if the image hides it.
    """

    arch: Architecture
    release: str
    data: bytes


def read_image(data: bytes, name: str) -> Image:
    """The image in the content of the file `name`; InputError for anything else."""
    if data[0x202:0x206] == b"HdrS":
        return Image("x86_64", _bzimage_release(data, name), data)
    try:
        data = _payload(data)
    except UnpackError as error:
        raise InputError(f"{one_line(name)} cannot be unpacked: {error}", error.remedy) from error
    if data[0x38:0x3C] == b"ARM\x64":
        found = _BANNER.search(data)
        return Image("aarch64", _release(found[1] if found else b""), data)
    raise InputError(f"{one_line(name)} is not a kernel image: {_kind(data)}{_WANTED}", _BUILT)


def _bzimage_release(data: bytes, name: str) -> str:
    """The boot protocol's header: Documentation/arch/x86/boot.rst."""
    if len(data) < 0x264:
        raise InputError(f"{one_line(name)} is a damaged bzImage: it ends in its header", _BUILT)
    (protocol,) = struct.unpack_from("<H", data, 0x206)
    (load_flags,) = struct.unpack_from("<H", data, 0x236)
    if protocol < _FIRST_PROTOCOL_WITH_XLOADFLAGS or not load_flags & _X86_64_ENTRY:
        raise InputError(
            f"{one_line(name)} is a 32-bit kernel: {_WANTED}", "build it with CONFIG_64BIT"
        )
    (offset,) = struct.unpack_from("<H", data, 0x20E)
    text = data[offset + 0x200 :][:64] if offset else b""
    return _release(text.partition(b"\0")[0].partition(b" ")[0])


def _payload(data: bytes) -> bytes:
    """What is in a gzip file, or in a program that EFI starts and that unpacks itself."""
    if data[:2] == b"\x1f\x8b":
        return unpack(data, "gzip")
    if data[:2] == b"MZ" and data[4:8] == b"zimg" and len(data) >= 64:
        start, size = struct.unpack_from("<II", data, 8)
        kind = data[24:56].partition(b"\0")[0].decode("ascii", "replace")
        return unpack(data[start : start + size], one_line(kind))
    return data


def _release(text: bytes) -> str:
    release = text.decode("ascii", "replace")
    return release if RELEASE.fullmatch(release) else ""


def _kind(data: bytes) -> str:
    """What the file is instead, for formats that people mistake for it; "" if unknown."""
    if data[:4] == b"\x7fELF":
        return "it is an ELF file (vmlinux?); "
    if data[0x24:0x28] == b"\x18\x28\x6f\x01":
        return "it is a zImage of 32-bit ARM; "
    if data[0x30:0x35] == b"RISCV":
        return "it is an Image of RISC-V; "
    return "it is empty; " if not data else ""
