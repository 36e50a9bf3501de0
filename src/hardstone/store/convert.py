"""From the bytes of a run document of any version to the present one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import msgspec

from hardstone.errors import InputError
from hardstone.model import MOST_RESULTS, RUN_SCHEMA, Result, RunDocument
from hardstone.older.old_loads import each_cpus_load, each_cpus_loads
from hardstone.older.old_results import result_from_first, result_from_second
from hardstone.older.old_storm import storm_as_measured

Document = dict[str, Any]
_FORMAT = "hardstone.run/"
_PRESENT = b'{"schema":"%s",' % RUN_SCHEMA.encode()
_MOST_RESULTS = MOST_RESULTS.max_length or 0
_FIRST, _SECOND = "hardstone.run/1", "hardstone.run/2"


class _Counted(msgspec.Struct, gc=False):
    """Takes next to no memory, whatever it stands for holds."""


class _Head(msgspec.Struct):
    """What is known before the rest takes memory: an array is decoded before its length is
    looked at."""

    schema: str
    results: Annotated[list[_Counted], MOST_RESULTS] = []


def _from_first(document: Document) -> Document:
    """Degrees of a load were those of each CPU. ValidationError where a type is another."""
    plan = document["plan"]
    tests = [_with_load(test, each_cpus_load) for test in plan["tests"]]
    loads = [each_cpus_load(load) for load in plan.get("loads", [])]
    plan = {**_with_load(plan, each_cpus_loads), "tests": tests, "loads": loads}
    trust = _trust_from_first(document.get("trust"), document["plan"].get("loads", []))
    results = _results(document, result_from_first)
    return {**document, "schema": _SECOND, "plan": plan, "results": results, **trust}


def _from_second(document: Document) -> Document:
    """Events had no data, and conditions that nobody knew had values."""
    return {**document, "schema": RUN_SCHEMA, "results": _results(document, result_from_second)}


def _results(document: Document, convert: Callable[[Result], Result]) -> list[Document]:
    results = msgspec.convert(document["results"], list[Result])
    return [msgspec.to_builtins(convert(result)) for result in results]


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


def _with_load(fields: Document, change: Callable[[str], str]) -> Document:
    return {**fields, "load": change(fields["load"])} if "load" in fields else fields


# From a schema to the converter that gives the next one, its "schema" field included.
CONVERTERS: dict[str, Callable[[Document], Document]] = {
    _FIRST: _from_first,
    _SECOND: _from_second,
}


def decode_document(raw: bytes | bytearray, source: str) -> RunDocument:
    """The document in `raw`, JSON; InputError that names `source` if there is none."""
    try:
        if raw.startswith(_PRESENT) and _has_few_results(raw):
            document = msgspec.json.decode(raw, type=RunDocument)
            if document.schema == RUN_SCHEMA:
                return storm_as_measured(document)
        schema = msgspec.json.decode(raw, type=_Head).schema
        if schema == RUN_SCHEMA:
            return storm_as_measured(msgspec.json.decode(raw, type=RunDocument))
        if schema in CONVERTERS:
            # By its type first: a field that is none of ours takes no memory.
            return converted_run(msgspec.json.decode(raw, type=RunDocument))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, KeyError) as error:
        raise InputError(
            f"{source} is not a run document: {str(error)[:200]}", "name another file or run"
        ) from None
    raise _unknown(schema, source)


def _has_few_results(raw: bytes | bytearray) -> bool:
    """Whether there cannot be too many: each has a key "test", plain or with an escape. Counting
    takes a third of the time that decoding the head does."""
    return raw.count(b'"test"') + raw.count(b"\\") <= _MOST_RESULTS


def converted_run(document: RunDocument) -> RunDocument:
    """A document of any version, by its `schema`, as one of today."""
    if document.schema not in CONVERTERS:
        return storm_as_measured(document)
    converted = msgspec.to_builtins(document)
    while converted["schema"] in CONVERTERS:
        converted = CONVERTERS[converted["schema"]](converted)
    return storm_as_measured(msgspec.convert(converted, RunDocument))


def converted_result(result: Result, schema: str) -> Result:
    """A result out of the journal of a run of `schema`, as one of today."""
    if schema == _FIRST:
        result = result_from_first(result)
    return result_from_second(result) if schema in CONVERTERS else result


def _unknown(schema: str, source: str) -> InputError:
    version = schema.removeprefix(_FORMAT)
    if schema.startswith(_FORMAT) and version.isascii() and version.isdigit():
        return InputError(
            f"{source} is of version {version[:10]}, this hardstone reads {RUN_SCHEMA}",
            "upgrade hardstone",
        )
    return InputError(f"{source} is not a run document but {schema[:40]!r}", "name another file")
