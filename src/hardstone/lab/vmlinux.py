"""The uncompressed kernel of an image, kept beside it.

Its file is named after the image and after its own content, so that neither another image nor a
damaged file is ever booted in its place. An empty one: QEMU cannot boot what the image holds.
"""

from __future__ import annotations

import contextlib
import hashlib
import struct
from collections.abc import Callable
from pathlib import Path

from hardstone.files import OddFileError, read_regular
from hardstone.lab.kernels import MOST_IMAGE_BYTES, MOST_UNPACKED_BYTES, Kernel, UnpackError, unpack
from hardstone.lab.lab_folder import work_folder

# Of Documentation/arch/x86/boot.rst.
_SETUP_SECTORS, _MAGIC, _PROTOCOL, _PAYLOAD = 0x1F1, 0x202, 0x206, 0x248
_HEADER_BYTES = 0x250
_FIRST_PROTOCOL_WITH_PAYLOAD = 0x0208
_KINDS = {
    b"\x1f\x8b\x08": "gzip",
    b"\xfd7zXZ\0": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\x02\x21\x4c\x18": "lz4",  # what `lz4 -l` writes
    b"\x5d\0\0": "lzma",
    b"BZh": "bzip2",
}
_HEAD = struct.Struct("<16xHHIQQQIHHHHHH")
_SEGMENT = struct.Struct("<IIQQQQQQ")
_NOTE = struct.Struct("<III")
_X86_64 = 62
_PT_NOTE = 4
_SIZE_BYTES = 4
# Kernels have five segments, and notes of less than 4 KiB.
_MOST_SEGMENTS = 64
_MOST_NOTES_BYTES = 1 << 16
# Where QEMU enters a kernel that was built with CONFIG_PVH; the kernel's header
# include/xen/interface/elfnote.h has it.
_PHYS32_ENTRY = 18


def vmlinux(image: bytes) -> bytes:
    """The kernel in the bzImage `image`; b"" where there is none that QEMU can boot.

    UnpackError where it is damaged or cut off, or what unpacks it is missing.
    """
    payload = _payload(image)
    kind = next((kind for magic, kind in _KINDS.items() if payload.startswith(magic)), "")
    if not kind or len(payload) < _SIZE_BYTES:
        return b""
    (size_bytes,) = struct.unpack("<I", payload[-_SIZE_BYTES:])  # of what it holds
    packed = payload if kind == "gzip" else payload[:-_SIZE_BYTES]
    kernel = unpack(packed, kind, min(size_bytes, MOST_UNPACKED_BYTES))
    if len(kernel) != size_bytes:
        raise UnpackError(f"it holds {len(kernel)} bytes instead of {size_bytes}")
    return kernel if _has_entry(kernel) else b""


def _payload(image: bytes) -> bytes:
    if len(image) < _HEADER_BYTES or image[_MAGIC : _MAGIC + 4] != b"HdrS":
        return b""
    (protocol,) = struct.unpack_from("<H", image, _PROTOCOL)
    if protocol < _FIRST_PROTOCOL_WITH_PAYLOAD:
        return b""
    start = ((image[_SETUP_SECTORS] or 4) + 1) * 512
    offset, size_bytes = struct.unpack_from("<II", image, _PAYLOAD)
    payload = image[start + offset :][:size_bytes]
    if len(payload) < size_bytes:
        raise UnpackError("it is cut off")
    return payload


def _has_entry(kernel: bytes) -> bool:
    """Whether it is an ELF file with the note that says where QEMU enters it."""
    if len(kernel) < _HEAD.size or kernel[:6] != b"\x7fELF\x02\x01":
        return False
    _, machine, _, _, at, *_, size, count, _, _, _ = _HEAD.unpack_from(kernel)
    table = kernel[at : at + size * count]
    if machine != _X86_64 or size != _SEGMENT.size or len(table) < size * count:
        return False
    if count > _MOST_SEGMENTS:
        return False
    segments = (_SEGMENT.unpack_from(table, one * size) for one in range(count))
    return any(
        _is_in_notes(kernel[offset : offset + min(size_bytes, _MOST_NOTES_BYTES)])
        for kind, _, offset, _, _, size_bytes, *_ in segments
        if kind == _PT_NOTE
    )


def _is_in_notes(notes: bytes) -> bool:
    at = 0
    while at + _NOTE.size <= len(notes):
        name_bytes, content_bytes, kind = _NOTE.unpack_from(notes, at)
        at += _NOTE.size
        if kind == _PHYS32_ENTRY and notes[at : at + name_bytes] == b"Xen\0":
            return True
        at += -(-name_bytes // 4) * 4 + -(-content_bytes // 4) * 4
    return False


_PREFIX = "vmlinux-"
_DIGITS = 32


def unpacked_kernel(kernel: Kernel, unpack: Callable[[bytes], bytes] = vmlinux) -> Path | None:
    """The kernel in `kernel.image` as a file that QEMU boots; None where it has to boot the image:
    that holds nothing else, cannot be unpacked here, or there is no room to keep the file."""
    if kernel.arch != "x86_64":  # others are stored unpacked
        return None
    try:
        path = _kept(kernel) or _made(kernel, unpack(_image(kernel)))
        return path if path.stat().st_size else None
    except (OSError, UnpackError):
        return None


def _kept(kernel: Kernel) -> Path | None:
    for path in kernel.image.parent.glob(f"{_of(kernel)}*"):
        with contextlib.suppress(OddFileError):
            content = read_regular(path, MOST_UNPACKED_BYTES)
            if path.name == _name(kernel, content):
                return path
    return None


def _image(kernel: Kernel) -> bytes:
    image = read_regular(kernel.image, MOST_IMAGE_BYTES)
    if hashlib.sha256(image).hexdigest() != kernel.sha256:
        raise UnpackError("another image was stored just now")
    return image


def _made(kernel: Kernel, content: bytes) -> Path:
    path = kernel.image.with_name(_name(kernel, content))
    with work_folder() as work:
        (work / path.name).write_bytes(content)
        (work / path.name).rename(path)
    return path


def _name(kernel: Kernel, content: bytes) -> str:
    return _of(kernel) + hashlib.sha256(content).hexdigest()[:_DIGITS]


def _of(kernel: Kernel) -> str:
    return f"{_PREFIX}{kernel.sha256[:_DIGITS]}-"
