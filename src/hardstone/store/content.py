"""The content of a run's file, with limits that are checked before memory is taken."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from hardstone.errors import InputError
from hardstone.files import open_regular
from hardstone.store.store_error import store_errors

DOCUMENT_LIMIT_BYTES = 128 * 2**20
_ANOTHER = "name another file"
_GZIP_MAGIC = b"\x1f\x8b"
# Few of each for a document of a battery: while one is read or decompressed other threads work, and
# have to be waited for after it.
_CHUNK_BYTES = 2**20
_PIECE_BYTES = 2**23
_MOST_MEMBERS = 64
# Characters of JSON that stand for memory, what each is, and how many a document may have. They are
# counted before anything is decoded. The whole battery under one condition has some 110 000,
# 45 000 and 8 000, under the most conditions 48 times as many; CPUs and hours come on top.
_COUNTED = ((b",", "values", 12_000_000), (b":", "fields", 5_000_000), (b"{", "objects", 1_000_000))


def content_of(path: Path, limit_bytes: int = DOCUMENT_LIMIT_BYTES) -> bytearray:
    """The JSON in a file, plain or compressed. InputError as soon as it passes a limit."""
    data = bytearray()
    counts = dict.fromkeys((character for character, _, _ in _COUNTED), 0)
    looked = counts.copy()  # how far each was counted
    with store_errors("read", path), open_regular(path, limit_bytes) as file:
        for chunk in _unpacked(file, path, limit_bytes):
            data += chunk
            if len(data) > limit_bytes:
                raise InputError(f"{path} holds more than {limit_bytes} bytes", _ANOTHER)
            for character, what, most in _COUNTED:
                if len(data) <= most:
                    continue  # it cannot have so many, and most documents are as short
                counts[character] += data.count(character, looked[character])
                looked[character] = len(data)
                if counts[character] > most:
                    raise InputError(f"{path} holds more than {most} {what}", _ANOTHER)
    return data


def _unpacked(file: BinaryIO, path: Path, limit_bytes: int) -> Iterator[bytes]:
    """The content in pieces, decompressed where it is compressed."""
    chunks = _chunks(file, path, limit_bytes)
    first = next(chunks, b"")
    if not first.startswith(_GZIP_MAGIC):
        yield first
        yield from chunks
        return
    try:
        yield from _decompressed(first, chunks, path, limit_bytes)
    except (EOFError, zlib.error) as error:
        raise InputError(f"{path} is damaged: {error}", "restore it from a copy") from None


def _chunks(file: BinaryIO, path: Path, limit_bytes: int) -> Iterator[bytes]:
    read_bytes = 0
    while chunk := file.read(_CHUNK_BYTES):
        read_bytes += len(chunk)
        if read_bytes > limit_bytes:
            raise InputError(f"{path} holds more than {limit_bytes} bytes", _ANOTHER)
        yield chunk


def _decompressed(
    packed: bytes, more: Iterator[bytes], path: Path, limit_bytes: int
) -> Iterator[bytes]:
    """The members of a gzip file one after another; each piece has a limit of its own."""
    most = min(_PIECE_BYTES, limit_bytes + 1)
    for _ in range(_MOST_MEMBERS):
        member = zlib.decompressobj(wbits=31)
        while not member.eof:
            packed = packed or next(more, b"")
            if not packed:
                raise EOFError("it ends within what is compressed")
            yield member.decompress(packed, most)
            packed = member.unconsumed_tail
        packed = member.unused_data.lstrip(b"\0")
        while not packed:  # zeros may follow: tapes and block devices pad with them
            chunk = next(more, b"")
            if not chunk:
                return
            packed = chunk.lstrip(b"\0")
    raise InputError(f"{path} has more than {_MOST_MEMBERS} compressed members", _ANOTHER)
