"""Documents of a probe, which is not trusted: typed, limited, of a known version."""

from __future__ import annotations

import re
from typing import TypeVar

import msgspec

from hardstone.errors import InputError
from hardstone.model import (
    FACTS_SCHEMA,
    LOADS_SCHEMA,
    REGISTER_SCHEMA,
    SHIELD_SCHEMA,
    Facts,
    Loads,
    Register,
    ShieldLook,
)

_MAX_TESTS = 1000
_MAX_LOADS = 100
_LOAD_NAME = re.compile(r"[a-z][a-z0-9-]{0,30}", re.ASCII)
_TEST_ID = re.compile(r"[A-Z0-9]{2,8}(-[A-Z0-9]{1,12}){1,3}", re.ASCII)
_REMEDY = "use the probe that belongs to this hardstone: hardstone probe build"

Document = TypeVar("Document", Register, Facts, Loads, ShieldLook)


def decode_register(raw: bytes) -> Register:
    """The register in `raw`; InputError for anything else."""
    register = _decode(raw, Register, REGISTER_SCHEMA, "list of tests")
    ids = [test.id for test in register.tests]
    faulty = [test for test in ids if not _TEST_ID.fullmatch(test)]
    if faulty or len(ids) > _MAX_TESTS or len(set(ids)) != len(ids):
        raise InputError("the probe's list of tests contains invalid test IDs", _REMEDY)
    return register


def decode_loads(raw: bytes) -> Loads:
    """The elements and mixes of load in `raw`; InputError for anything else."""
    loads = _decode(raw, Loads, LOADS_SCHEMA, "list of loads")
    for names in ([one.name for one in loads.elements], [one.name for one in loads.mixes]):
        faulty = [name for name in names if not _LOAD_NAME.fullmatch(name)]
        if faulty or len(names) > _MAX_LOADS or len(set(names)) != len(names):
            raise InputError("the probe's list of loads contains invalid names", _REMEDY)
    return loads


def decode_shield(raw: bytes) -> ShieldLook:
    """The settings that a shield could switch, in `raw`; InputError for anything else."""
    return _decode(raw, ShieldLook, SHIELD_SCHEMA, "list of shield settings")


def decode_facts(raw: bytes) -> Facts:
    """The facts in `raw`; InputError for anything else."""
    return _decode(raw, Facts, FACTS_SCHEMA, "facts")


def _decode(raw: bytes, kind: type[Document], schema: str, what: str) -> Document:
    try:
        document = msgspec.json.decode(raw, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        text = str(error)[:160]
        raise InputError(f"the probe's {what} cannot be read: {text}", _REMEDY) from error
    if document.schema != schema:
        found = document.schema[:40]
        raise InputError(f"the probe's {what} is '{found}' and not '{schema}'", _REMEDY)
    return document
