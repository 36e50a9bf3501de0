"""An archive of files for a kernel to unpack at boot: cpio, format "newc".

The same entries give the same bytes: times are 0 and inode numbers count, since the bytes of an
initramfs move what a deterministic guest measures.
"""

from __future__ import annotations

import stat
from collections.abc import Iterable
from dataclasses import dataclass

_MAGIC = "070701"
_END = "TRAILER!!!"


@dataclass(frozen=True)
class Entry:
    """A file or folder: `mode` with its type, `device` the numbers of a device file."""

    path: str
    mode: int
    content: bytes = b""
    device: tuple[int, int] = (0, 0)


def folder(path: str) -> Entry:
    """A folder that its owner writes."""
    return Entry(path, stat.S_IFDIR | 0o755)


def program(path: str, content: bytes) -> Entry:
    """A file that can be executed."""
    return Entry(path, stat.S_IFREG | 0o755, content)


def plain(path: str, content: bytes) -> Entry:
    """A file that is only read."""
    return Entry(path, stat.S_IFREG | 0o644, content)


def make_archive(entries: Iterable[Entry]) -> bytes:
    """The archive. Folders come before what they hold, as the kernel wants them."""
    archive = bytearray()
    for number, entry in enumerate([*entries, Entry(_END, 0)], 1):
        name = entry.path.encode() + b"\0"
        fields = (number, entry.mode, 0, 0, 1, 0, len(entry.content), 0, 0)
        head = [*fields, *entry.device, len(name), 0]
        archive += _MAGIC.encode() + b"".join(b"%08x" % field for field in head)
        for part in (name, entry.content):
            archive += part + bytes(-(len(archive) + len(part)) % 4)
    return bytes(archive)
