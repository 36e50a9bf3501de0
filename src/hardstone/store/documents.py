"""Run documents as files: gzip-compressed JSON, written once, read with limits."""

from __future__ import annotations

import gzip
import io
import os
import zlib
from pathlib import Path
from typing import BinaryIO

import msgspec

from hardstone.errors import InputError
from hardstone.model import RunDocument
from hardstone.stats.identity import histogram_problem
from hardstone.store.convert import decode_document
from hardstone.store.files import StoreError, open_regular, replace_file, store_errors
from hardstone.store.place import Place, is_run_id

DOCUMENT_LIMIT_BYTES = 512 * 2**20
_GZIP_MAGIC = b"\x1f\x8b"
_MODE = 0o444
_CHUNK_BYTES = 2**20


def write_document(place: Place, document: RunDocument) -> Path:
    """Store a document for good; StoreError if one of that id exists or the disk is full."""
    path = place.document(document.id)
    if os.path.lexists(path):
        raise StoreError(f"run {document.id} is stored already", "documents are never rewritten")
    with store_errors("write the run", path):
        path.parent.mkdir(exist_ok=True)
        replace_file(path, encode_document(document), _MODE)
    return path


def encode_document(document: RunDocument) -> bytes:
    """What the file of a run holds."""
    return gzip.compress(msgspec.json.encode(document), mtime=0)


def read_document(path: Path, *, limit_bytes: int = DOCUMENT_LIMIT_BYTES) -> RunDocument:
    """The run document in a file, JSON or compressed, of any version that is known.

    InputError when there is none, it is damaged, of a newer version, above `limit_bytes`
    before or after it is decompressed, or holds a histogram that cannot be read.
    """
    return parse_document(_content(path, limit_bytes), str(path))


def parse_document(raw: bytes, source: str) -> RunDocument:
    """The run document in `raw`, JSON; InputError as `read_document`, which names `source`."""
    document = decode_document(raw, source)
    if not is_run_id(document.id):
        raise InputError(f"{source} has no valid run id: {document.id[:40]!r}", "name another file")
    for result in document.results:
        for series in result.series:
            problem = histogram_problem(series.histogram)
            if problem is not None:
                raise InputError(
                    f"{source}: {result.test[:40]} {series.name[:40]}: {problem}",
                    "import or measure it again",
                )
    return document


def read_stored(place: Place, run_id: str) -> RunDocument:
    """The document of a run of the store; InputError also if the file holds another run."""
    path = place.document(run_id)
    document = read_document(path)
    if document.id != run_id:
        raise InputError(f"{path} holds run {document.id}", "give the file the name of its run")
    return document


def _content(path: Path, limit_bytes: int) -> bytes:
    with store_errors("read", path):
        data = _read_regular(path, limit_bytes)
    if data.startswith(_GZIP_MAGIC):
        try:
            with gzip.GzipFile(fileobj=io.BytesIO(data)) as packed:
                data = _read_limited(packed, limit_bytes + 1)
        except (OSError, EOFError, zlib.error) as error:
            raise InputError(f"{path} is damaged: {error}", "take it from a copy") from None
    if len(data) > limit_bytes:
        raise InputError(f"{path} holds more than {limit_bytes} bytes", "name another file")
    return data


def _read_regular(path: Path, limit_bytes: int) -> bytes:
    with open_regular(path, limit_bytes) as file:
        return _read_limited(file, limit_bytes + 1)


def _read_limited(file: BinaryIO | gzip.GzipFile, most_bytes: int) -> bytes:
    """At most `most_bytes`, piece by piece: asked at once, all of it would be allocated."""
    data = bytearray()
    while len(data) < most_bytes:
        chunk = file.read(min(_CHUNK_BYTES, most_bytes - len(data)))
        if not chunk:
            break
        data += chunk
    return bytes(data)
