"""Unpacks compressed kernels and drivers; no more than a limit, whatever the data claim."""

from __future__ import annotations

import lzma
import shutil
import subprocess
import tempfile
import zlib

MOST_UNPACKED_BYTES = 512 << 20


class UnpackError(Exception):
    """The data are damaged, too large, or of a kind that nothing here unpacks."""

    def __init__(self, problem: str, remedy: str = "") -> None:
        super().__init__(problem)
        self.remedy = remedy


def unpack(data: bytes, kind: str, most_bytes: int = MOST_UNPACKED_BYTES) -> bytes:
    """`data` without its compression: gzip, xz or zstd. UnpackError with the reason."""
    reader = {"gzip": _gunzip, "xz": _unxz, "zstd": _unzstd}.get(kind)
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


def _unzstd(data: bytes, most_bytes: int) -> tuple[bytes, bool]:
    """By the program zstd: Python has no module for it before 3.14."""
    program = shutil.which("zstd")
    if program is None:
        raise UnpackError(
            "it is compressed with zstd, and there is no program zstd",
            "install it: sudo apt-get install zstd",
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
    return unpacked, process.returncode == 0
