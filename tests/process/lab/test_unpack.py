"""Compressed files are unpacked up to a limit, whatever they claim."""

from __future__ import annotations

import bz2
import gzip
import lzma
import shutil
import subprocess
from collections.abc import Callable
from functools import partial

import pytest

from hardstone.lab.unpack import UnpackError, unpack

LIMIT = 1 << 20


def by_program(name: str, *options: str, data: bytes) -> bytes:
    if shutil.which(name) is None:
        pytest.skip(f"there is no {name}")
    command = [name, *options, "-q", "-c"]
    return subprocess.run(command, input=data, capture_output=True, check=True).stdout


def zstd(data: bytes) -> bytes:
    return by_program("zstd", data=data)


def lz4(data: bytes) -> bytes:
    """As the kernel's build packs it."""
    return by_program("lz4", "-l", data=data)


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "xz": lzma.compress,
    "zstd": zstd,
    "lz4": lz4,
    "lzma": partial(lzma.compress, format=lzma.FORMAT_ALONE),
    "bzip2": bz2.compress,
}


@pytest.mark.parametrize("kind", PACKERS)
def test_what_was_packed_comes_out(kind: str) -> None:
    data = bytes(range(256)) * 4096
    assert len(data) == LIMIT
    assert unpack(PACKERS[kind](data), kind, LIMIT) == data
    assert unpack(PACKERS[kind](b""), kind, LIMIT) == b""


@pytest.mark.parametrize("kind", PACKERS)
def test_too_much_is_refused(kind: str) -> None:
    for size in (LIMIT + 1, 4 * LIMIT):
        with pytest.raises(UnpackError, match="holds more than 1 MiB"):
            unpack(PACKERS[kind](bytes(size)), kind, LIMIT)


@pytest.mark.parametrize("kind", PACKERS)
def test_damaged_data_are_refused(kind: str) -> None:
    packed = PACKERS[kind](b"some text, " * 999)
    for damaged in (packed[:-1], packed[:10], b"", b"x" * 99, packed[:20] + b"\0" * 9):
        with pytest.raises(UnpackError, match=f"its {kind} data are damaged or cut off"):
            unpack(damaged, kind, LIMIT)
