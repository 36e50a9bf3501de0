"""The layers of a specification: their marks, their channels and the rows that they draw."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

from hardstone.report.plot.plot_reading import NotKnownError, known, part, text
from hardstone.report.theme import Spec

Row = dict[str, Any]
_LAYER = {"transform", "mark", "encoding", "data"}
_CHANNELS = {
    *("x", "x2", "y", "y2", "yOffset", "color", "detail", "strokeDash", "size", "shape", "text"),
    "tooltip",
}
_TIP = {"field", "type", "title", "format"}
_VALID = re.compile(r"(!?)isValid\(datum\.(\w+)\)")
_EQUAL = re.compile(r"datum\.(\w+) (===|!==) (?:'(\w+)'|(\d+))")
_LOOKS = {
    "line": {"interpolate", "strokeDash", "strokeWidth", "invalid", "opacity", "color"},
    "area": {"interpolate", "line", "fillOpacity"},
    "point": {"shape", "filled", "size", "strokeWidth", "opacity", "yOffset", "color"},
    "rule": {"strokeDash", "strokeWidth", "opacity", "color"},
    "text": {
        *("align", "baseline", "dx", "dy", "fontSize", "fontWeight", "fontStyle", "color", "clip"),
    },
    "bar": {"height", "width", "opacity", "filled", "strokeDash", "strokeWidth"},
    "tick": {"thickness", "bandSize", "width", "color"},
}


@dataclass(frozen=True)
class Layer:
    """One mark, its channels and the rows that its filters let pass."""

    kind: str
    look: Spec
    channels: Spec
    rows: Sequence[Row]
    has_own_rows: bool = False


def layers_of(found: object, rows: Sequence[Row]) -> list[Layer]:
    known(type(found) is list and found)
    return [_layer(one, rows) for one in found]  # type: ignore[attr-defined]


def rows_of(data: object) -> list[Row]:
    rows = part(data, {"values"})["values"]
    known(type(rows) is list and all(type(row) is dict for row in rows))
    return rows  # type: ignore[no-any-return]


def _layer(spec: object, rows: Sequence[Row]) -> Layer:
    found = part(spec, _LAYER)
    kind = text(found["mark"]["type"])
    look = part(found["mark"], {"type", *_LOOKS[kind]})
    channels = part(found["encoding"], _CHANNELS)
    for tip in channels.get("tooltip", []):
        part(tip, _TIP)
    has_own_rows = "data" in found
    passed: Sequence[Row] = rows_of(found["data"]) if has_own_rows else rows
    for one in found.get("transform", []):
        test = predicate(part(one, {"filter"})["filter"])
        passed = [row for row in passed if test(row)]
    return Layer(kind, look, channels, passed, has_own_rows)


def predicate(expression: str) -> Callable[[Row], bool]:
    """Of a filter or the test of a condition."""
    if " && " in expression:
        tests = [predicate(one) for one in expression.split(" && ")]
        return lambda row: all(test(row) for test in tests)
    if " || " in expression:
        tests = [predicate(one) for one in expression.split(" || ")]
        return lambda row: any(test(row) for test in tests)
    valid = _VALID.fullmatch(expression)
    if valid:
        field = valid[2]
        if valid[1]:
            return lambda row: not is_valid(row.get(field))
        return lambda row: is_valid(row.get(field))
    equal = _EQUAL.fullmatch(expression)
    if equal is None:
        raise NotKnownError
    field, value = equal[1], equal[3] if equal[3] is not None else float(equal[4])
    if equal[2] == "===":
        return lambda row: row.get(field) == value
    return lambda row: row.get(field) != value


def is_valid(value: object) -> bool:
    """Neither missing nor what JSON has no number for."""
    return value is not None and (type(value) is not float or isfinite(value))


def groups(layer: Layer, fields: Sequence[str]) -> dict[Hashable, list[Row]]:
    """The rows of each line, in the order in which the lines begin."""
    if not fields:
        return {(): list(layer.rows)} if layer.rows else {}
    found: dict[Hashable, list[Row]] = {}
    for row in layer.rows:
        found.setdefault(tuple(map(row.get, fields)), []).append(row)
    return found
