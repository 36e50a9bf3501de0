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


def unpack(data: bytes, kind: str) -> bytes:
    """`data` without its compression: gzip, xz or zstd. UnpackError with the reason."""
    if kind == "gzip":
        return _checked(_gunzip(data))
    if kind == "xz":
        return _checked(_unxz(data))
    if kind == "zstd":
        return _checked(_unzstd(data))
    raise UnpackError(f"its compression '{kind}' is not known", "use gzip, xz, zstd or none")


def _gunzip(data: bytes) -> bytes:
    unpacker = zlib.decompressobj(wbits=31)
    try:
        unpacked = unpacker.decompress(data, MOST_UNPACKED_BYTES + 1)
    except zlib.error as error:
        raise UnpackError(f"its gzip data are damaged: {error}") from error
    if not unpacker.eof and len(unpacked) <= MOST_UNPACKED_BYTES:
        raise UnpackError("its gzip data are cut off")
    return unpacked


def _unxz(data: bytes) -> bytes:
    unpacker = lzma.LZMADecompressor(memlimit=MOST_UNPACKED_BYTES)
    try:
        unpacked = unpacker.decompress(data, MOST_UNPACKED_BYTES + 1)
    except lzma.LZMAError as error:
        raise UnpackError(f"its xz data are damaged: {error}") from error
    if not unpacker.eof and len(unpacked) <= MOST_UNPACKED_BYTES:
        raise UnpackError("its xz data are cut off")
    return unpacked


def _unzstd(data: bytes) -> bytes:
    """By the program zstd: Python has no module for it before 3.14."""
    program = shutil.which("zstd")
    if program is None:
        raise UnpackError(
            "it is compressed with zstd, and there is no program zstd",
            "install it, for example: sudo apt-get install zstd",
        )
    with tempfile.TemporaryFile() as packed:
        packed.write(data)
        packed.seek(0)
        command = [program, "-d", "-q", "-c"]
        with subprocess.Popen(
            command, stdin=packed, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as process:
            output = process.stdout
            unpacked = output.read(MOST_UNPACKED_BYTES + 1) if output else b""
            if len(unpacked) > MOST_UNPACKED_BYTES:
                process.kill()
    if process.returncode and len(unpacked) <= MOST_UNPACKED_BYTES:
        raise UnpackError("its zstd data are damaged")
    return unpacked


def _checked(unpacked: bytes) -> bytes:
    if len(unpacked) > MOST_UNPACKED_BYTES:
        raise UnpackError(f"it holds more than {MOST_UNPACKED_BYTES >> 20} MiB")
    return unpacked
