"""From the bytes of a run document of any version to the present one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from hardstone.errors import InputError
from hardstone.model import RUN_SCHEMA, RunDocument
from hardstone.store.older import fill_in

Document = dict[str, Any]
# From a schema to the converter that gives the next one, its "schema" field included.
CONVERTERS: dict[str, Callable[[Document], Document]] = {}
_FORMAT = "hardstone.run/"


class _Head(msgspec.Struct):
    schema: str


def decode_document(raw: bytes, source: str) -> RunDocument:
    """The document in `raw`, JSON; InputError that names `source` if there is none."""
    try:
        schema = msgspec.json.decode(raw, type=_Head).schema
        if schema == RUN_SCHEMA:
            return fill_in(msgspec.json.decode(raw, type=RunDocument))
        if schema in CONVERTERS:
            return _converted(msgspec.json.decode(raw), schema)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, KeyError) as error:
        raise InputError(
            f"{source} is not a run document: {str(error)[:200]}", "name another file or run"
        ) from None
    raise _unknown(schema, source)


def _converted(document: Document, schema: str) -> RunDocument:
    while schema != RUN_SCHEMA:
        document = CONVERTERS[schema](document)
        schema = document["schema"]
    return msgspec.convert(document, RunDocument)


def _unknown(schema: str, source: str) -> InputError:
    version = schema.removeprefix(_FORMAT)
    if schema.startswith(_FORMAT) and version.isascii() and version.isdigit():
        return InputError(
            f"{source} is of version {version[:10]}, this hardstone reads {RUN_SCHEMA}",
            "upgrade hardstone",
        )
    return InputError(f"{source} is not a run document but {schema[:40]!r}", "name another file")
