"""Numbers and JSON of other tools' files: ASCII digits only, with bounds, exact; errors name the
place. `int` and `float` take too much: digits of other scripts, "1_000", "nan", "1e400".
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any, NoReturn

from hardstone.errors import InputError, printable
from hardstone.importers.recognise import lines_of

AS_WRITTEN = "import the file as the tool wrote it"
NS = {"ns": 1, "us": 1000, "ms": 1_000_000, "s": 1_000_000_000}
MOST = 2**62  # what any figure in ns may be
_LONGEST_ROW = 1000
_SHOWN = 40
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


def refuse(place: str, problem: str, remedy: str = AS_WRITTEN) -> NoReturn:
    """InputError in one line: "line 12: 'x' is not a count"."""
    raise InputError(f"{place}: {problem}" if place else problem, remedy)


def quoted(value: object) -> str:
    """What a file has, for an error: short, and on one line."""
    shown = printable(str(value))
    return f"'{shown[:_SHOWN]}…'" if len(shown) > _SHOWN else f"'{shown}'"


def whole(text: str, place: str) -> int:
    """A whole number, which may be negative. InputError."""
    if not _WHOLE.fullmatch(text) or not -MOST < int(text) < MOST:
        refuse(place, f"{quoted(text)} is not a whole number")
    return int(text)


def count(text: str, place: str, least: int = 0) -> int:
    """A whole number of at least `least`. InputError."""
    if not _WHOLE.fullmatch(text) or not least <= int(text) < MOST:
        refuse(place, f"{quoted(text)} is not a count" + f" of {least} or more" * bool(least))
    return int(text)


def decimal(text: str, place: str) -> Decimal:
    """A number, exact; not infinite. InputError."""
    if not _NUMBER.fullmatch(text):
        refuse(place, f"{quoted(text)} is not a number")
    return Decimal(text)


def exact_ns(text: str, unit_ns: int, place: str) -> Decimal:
    """A duration that is printed in units of `unit_ns`, exact. InputError."""
    value = decimal(text, place) * unit_ns
    if not -MOST < value < MOST:
        refuse(place, f"{quoted(text)} is out of range")
    return value


def in_ns(text: str, unit_ns: int, place: str) -> int:
    """The same to the nearest nanosecond."""
    return int(exact_ns(text, unit_ns, place).to_integral_value())


def mean_ns(text: str, unit_ns: int, place: str) -> float:
    """A mean, which may have parts of a ns. InputError."""
    return float(exact_ns(text, unit_ns, place))


def whole_of(value: object, place: str) -> int:
    """A count of a JSON document. InputError."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < MOST:
        refuse(place, f"{quoted(value)} is not a count")
    return value


def number_of(value: object, place: str) -> float:
    """A finite number of a JSON document. InputError."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < MOST:
        refuse(place, f"{quoted(value)} is not a number")
    return float(value)


def object_of(value: object, place: str) -> dict[str, Any]:
    """An object of a JSON document. InputError."""
    if not isinstance(value, dict):
        refuse(place, f"{quoted(value)} is no object")
    return value


def json_object(text: str) -> dict[str, Any]:
    """A JSON document that is an object, in which "nan" and "-nan" of C programs are null.

    InputError also for a key that an object has twice.
    """
    try:
        found = json.loads(
            _NOT_A_NUMBER.sub(" null", text),
            object_pairs_hook=without_doubles,
            parse_constant=lambda _: None,
        )
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise InputError(f"{place}: no JSON: {error.msg}", "is the file complete?") from None
    except (ValueError, RecursionError):  # thousands of digits; thousands of brackets
        raise InputError("no JSON: too many digits or brackets") from None
    return object_of(found, "line 1")


def without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """For json.loads(object_pairs_hook=...). InputError for a key that an object has twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        double = next(name for name in names if names.count(name) > 1)
        refuse("", f"{quoted(double)} stands twice in one object")
    return found


def as_json(fields: Mapping[str, object]) -> dict[str, str]:
    """Keys that an importer does not know, for `Reading.unknown`."""
    return {name: json.dumps(value) for name, value in fields.items()}
