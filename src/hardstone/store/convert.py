"""From the bytes of a run document of any version to the present one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import msgspec

from hardstone.errors import InputError
from hardstone.model import MOST_RESULTS, RUN_SCHEMA, Result, RunDocument
from hardstone.stats.old_loads import each_cpus_degree, each_cpus_load, each_cpus_loads
from hardstone.store.older import fill_in

Document = dict[str, Any]
_FORMAT = "hardstone.run/"
_FIRST = "hardstone.run/1"


class _Counted(msgspec.Struct, gc=False):
    """Takes next to no memory, whatever it stands for holds."""


class _Head(msgspec.Struct):
    """What is known before the rest takes memory: an array is decoded before its length is
    looked at."""

    schema: str
    results: Annotated[list[_Counted], MOST_RESULTS] = []


def _from_first(document: Document) -> Document:
    """Degrees of a load were those of each CPU. ValidationError where a type is another."""
    msgspec.convert(document, RunDocument)
    plan = document["plan"]
    tests = [_with_load(test, each_cpus_load) for test in plan["tests"]]
    loads = [each_cpus_load(load) for load in plan.get("loads", [])]
    plan = {**_with_load(plan, each_cpus_loads), "tests": tests, "loads": loads}
    results = [_result_from_first(result) for result in document["results"]]
    trust = _trust_from_first(document.get("trust"), document["plan"].get("loads", []))
    today = {"schema": "hardstone.run/2", "plan": plan, "results": results}
    return {**document, **today, **trust}


def _trust_from_first(trust: Document | None, loads: list[str]) -> Document:
    """Reasons name a test by its load where a run has several: "TMR-P-LAT [heavy, shared]"."""
    if not trust:
        return {}
    reasons = trust.get("reasons", [])
    for load in loads:
        for end in (",", "]"):
            old, new = f"[{load}{end}", f"[{each_cpus_load(load)}{end}"
            reasons = [reason.replace(old, new) for reason in reasons]
    return {"trust": {**trust, "reasons": reasons}}


def _result_from_first(result: Document) -> Document:
    conditions = _with_load(result.get("conditions", {}), each_cpus_load)
    load = [
        {**one, "degree": each_cpus_degree(one["element"], one["degree"])}
        for one in result.get("load", [])
    ]
    return {**result, "conditions": conditions, "load": load}


def _with_load(fields: Document, change: Callable[[str], str]) -> Document:
    return {**fields, "load": change(fields["load"])} if "load" in fields else fields


# From a schema to the converter that gives the next one, its "schema" field included.
CONVERTERS: dict[str, Callable[[Document], Document]] = {_FIRST: _from_first}


def decode_document(raw: bytes | bytearray, source: str) -> RunDocument:
    """The document in `raw`, JSON; InputError that names `source` if there is none."""
    try:
        schema = msgspec.json.decode(raw, type=_Head).schema
        if schema == RUN_SCHEMA:
            return msgspec.json.decode(raw, type=RunDocument)
        if schema in CONVERTERS:
            # By its type first: a field that is none of ours takes no memory.
            return converted_run(msgspec.json.decode(raw, type=RunDocument))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, KeyError) as error:
        raise InputError(
            f"{source} is not a run document: {str(error)[:200]}", "name another file or run"
        ) from None
    raise _unknown(schema, source)


def converted_run(document: RunDocument) -> RunDocument:
    """A document out of an old journal."""
    if document.schema != _FIRST:
        return document
    return _converted(msgspec.to_builtins(document), document.schema)


def converted_result(result: Result, schema: str) -> Result:
    """A result out of the journal of a run of `schema`."""
    if schema != _FIRST:
        return result
    return fill_in(msgspec.convert(_result_from_first(msgspec.to_builtins(result)), Result))


def _converted(document: Document, schema: str) -> RunDocument:
    while schema != RUN_SCHEMA:
        document = CONVERTERS[schema](document)
        schema = document["schema"]
    converted = msgspec.convert(document, RunDocument)
    for result in converted.results:
        fill_in(result)
    return converted


def _unknown(schema: str, source: str) -> InputError:
    version = schema.removeprefix(_FORMAT)
    if schema.startswith(_FORMAT) and version.isascii() and version.isdigit():
        return InputError(
            f"{source} is of version {version[:10]}, this hardstone reads {RUN_SCHEMA}",
            "upgrade hardstone",
        )
    return InputError(f"{source} is not a run document but {schema[:40]!r}", "name another file")
