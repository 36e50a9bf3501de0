"""Unpacks compressed kernels and drivers; no more than a limit, whatever the data claim."""

from __future__ import annotations

import bz2
import lzma
import shutil
import subprocess
import tempfile
import zlib
from collections.abc import Callable
from functools import partial

MOST_UNPACKED_BYTES = 512 << 20


class UnpackError(Exception):
    """The data are damaged, too large, or of a kind that nothing here unpacks."""

    def __init__(self, problem: str, remedy: str = "") -> None:
        super().__init__(problem)
        self.remedy = remedy


def unpack(data: bytes, kind: str, most_bytes: int = MOST_UNPACKED_BYTES) -> bytes:
    """`data` without its compression: gzip, xz, zstd, lz4, lzma or bzip2. UnpackError with the
    reason. Of lz4 as kernels have it, nothing shows that whole blocks are missing at the end."""
    reader = _READERS.get(kind)
    if reader is None:
        raise UnpackError(f"its compression '{kind}' is not known", "use gzip, xz, zstd or none")
    unpacked, is_whole = reader(data, most_bytes + 1)
    if len(unpacked) > most_bytes:
        raise UnpackError(f"it holds more than {most_bytes >> 20} MiB")
    if not is_whole:
        raise UnpackError(f"its {kind} data are damaged or cut off")
    return unpacked


def _gunzip(data: bytes, most_bytes: int) -> tuple[bytes, bool]:
    unpacker = zlib.decompressobj(wbits=31)
    try:
        return unpacker.decompress(data, most_bytes), unpacker.eof
    except zlib.error:
        return b"", False


def _unxz(data: bytes, most_bytes: int) -> tuple[bytes, bool]:
    unpacker = lzma.LZMADecompressor(memlimit=MOST_UNPACKED_BYTES)
    try:
        return unpacker.decompress(data, most_bytes), unpacker.eof
    except lzma.LZMAError:
        return b"", False


def _unbzip2(data: bytes, most_bytes: int) -> tuple[bytes, bool]:
    unpacker = bz2.BZ2Decompressor()
    try:
        return unpacker.decompress(data, most_bytes), unpacker.eof
    except OSError:
        return b"", False


def _by_program(name: str, data: bytes, most_bytes: int) -> tuple[bytes, bool]:
    """For what Python has no module: zstd before 3.14, and lz4."""
    program = shutil.which(name)
    if program is None:
        raise UnpackError(
            f"it is compressed with {name}, and there is no program {name}",
            f"install it: sudo apt-get install {name}",
        )
    with tempfile.TemporaryFile() as packed:
        packed.write(data)
        packed.seek(0)
        command = [program, "-d", "-q", "-c"]
        with subprocess.Popen(
            command, stdin=packed, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as process:
            output = process.stdout
            unpacked = output.read(most_bytes) if output else b""
            if len(unpacked) == most_bytes:
                process.kill()
    return unpacked, process.returncode == 0 and bool(data)


_READERS: dict[str, Callable[[bytes, int], tuple[bytes, bool]]] = {
    "gzip": _gunzip,
    "xz": _unxz,
    "lzma": _unxz,  # the older format of the same library
    "bzip2": _unbzip2,
    "zstd": partial(_by_program, "zstd"),
    "lz4": partial(_by_program, "lz4"),
}
