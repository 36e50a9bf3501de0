"""Numbers and JSON of other tools' files, with bounds; errors name the place."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from hardstone.errors import InputError, printable
from hardstone.importers.recognise import lines_of

MOST = 2**62  # what any figure in ns may be
_LONGEST_ROW = 1000
_NUMBER = re.compile(r"[-+]?[0-9]{1,25}(?:\.[0-9]{0,18})?(?:[eE][-+]?[0-9]{1,2})?", re.ASCII)
_WHOLE = re.compile(r"[-+]?[0-9]{1,19}", re.ASCII)
_NOT_A_NUMBER = re.compile(r"(?<=:)\s*-?nan\b", re.IGNORECASE)  # what printf makes of 0/0


def rows_of(content: bytes, most: int = 1 << 19) -> Iterator[tuple[int, str]]:
    """The lines of `lines_of`; one that is far too long for a row of a tool is empty.

    InputError beyond `most` lines: no console has that many.
    """
    for number, line in lines_of(content):
        if number > most:
            raise InputError(f"line {number}: more than {most} lines", "import a part of it")
        yield number, line if len(line) <= _LONGEST_ROW else ""


def label(text: str) -> str:
    """Foreign text as the value of a label, which is part of an address: without a slash."""
    return printable(" ".join(text.split()).strip("/").replace("/", "-"))[:200] or "unnamed"


def shown(value: object) -> str:
    """Foreign text or a foreign value for a message: short, one line."""
    return printable(str(value))[:40]


def whole(text: str, place: str, least: int = 0) -> int:
    """A whole number of at least `least`. InputError."""
    if not _WHOLE.fullmatch(text) or not least <= int(text) < MOST:
        raise InputError(f"{place}: '{shown(text)}' is not a whole number of {least} or more")
    return int(text)


def decimal(text: str, place: str) -> Decimal:
    """A number, exact; not infinite. InputError."""
    if not _NUMBER.fullmatch(text):
        raise InputError(f"{place}: '{shown(text)}' is not a number")
    return Decimal(text)


def in_ns(text: str, unit_ns: int, place: str) -> Decimal:
    """A duration that is printed in units of `unit_ns`, exact. InputError."""
    value = decimal(text, place) * unit_ns
    if not -MOST < value < MOST:
        raise InputError(f"{place}: '{shown(text)}' is out of range")
    return value


def whole_ns(text: str, unit_ns: int, place: str) -> int:
    """The same to the nearest nanosecond."""
    return int(in_ns(text, unit_ns, place).to_integral_value())


def whole_of(value: object, place: str) -> int:
    """A count of a JSON document. InputError."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < MOST:
        raise InputError(f"{place}: '{shown(value)}' is not a whole number of 0 or more")
    return value


def number_of(value: object, place: str) -> float:
    """A finite number of a JSON document. InputError."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < MOST:
        raise InputError(f"{place}: '{shown(value)}' is not a number")
    return float(value)


def object_of(value: object, place: str) -> dict[str, Any]:
    """An object of a JSON document. InputError."""
    if not isinstance(value, dict):
        raise InputError(f"{place}: '{shown(value)}' is no object")
    return value


def json_object(text: str) -> dict[str, Any]:
    """A JSON document that is an object, in which "nan" and "-nan" of C programs are null.

    InputError also for a key that an object has twice.
    """
    try:
        found = json.loads(
            _NOT_A_NUMBER.sub(" null", text),
            object_pairs_hook=_without_doubles,
            parse_constant=lambda _: None,
        )
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise InputError(f"{place}: no JSON: {error.msg}", "is the file complete?") from None
    except (ValueError, RecursionError):  # thousands of digits; thousands of brackets
        raise InputError("no JSON: too many digits or brackets") from None
    return object_of(found, "line 1")


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        double = next(name for name in names if names.count(name) > 1)
        raise InputError(f"'{shown(double)}' stands twice in one object")
    return found


def as_json(fields: Mapping[str, object]) -> dict[str, str]:
    """Keys that an importer does not know, for `Reading.unknown`."""
    return {name: json.dumps(value) for name, value in fields.items()}
