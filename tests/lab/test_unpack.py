"""Compressed files are unpacked up to a limit, whatever they claim."""

from __future__ import annotations

import gzip
import lzma
import shutil
import subprocess
from collections.abc import Callable

import pytest

from hardstone.lab.unpack import UnpackError, unpack

LIMIT = 1 << 20


def zstd(data: bytes) -> bytes:
    if shutil.which("zstd") is None:
        pytest.skip("there is no zstd")
    return subprocess.run(["zstd", "-q", "-c"], input=data, capture_output=True, check=True).stdout


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "xz": lzma.compress,
    "zstd": zstd,
}


@pytest.mark.parametrize("kind", PACKERS)
def test_what_was_packed_comes_out(kind: str) -> None:
    data = bytes(range(256)) * 4096
    assert len(data) == LIMIT
    assert unpack(PACKERS[kind](data), kind, LIMIT) == data
    assert unpack(PACKERS[kind](b""), kind, LIMIT) == b""


@pytest.mark.parametrize("kind", PACKERS)
def test_too_much_is_refused(kind: str) -> None:
    for size in (LIMIT + 1, 100 * LIMIT):
        with pytest.raises(UnpackError, match="holds more than 1 MiB"):
            unpack(PACKERS[kind](bytes(size)), kind, LIMIT)


@pytest.mark.parametrize("kind", PACKERS)
def test_damaged_data_are_refused(kind: str) -> None:
    packed = PACKERS[kind](b"some text, " * 999)
    for damaged in (packed[:-1], packed[:10], b"", b"x" * 99, packed[:20] + b"\0" * 9):
        with pytest.raises(UnpackError, match=f"its {kind} data are damaged or cut off"):
            unpack(damaged, kind, LIMIT)
