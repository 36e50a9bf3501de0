"""Numbers in files of other tools: ASCII digits only, with bounds, exact, and with the place in the
error. `int` and `float` take too much: digits of other scripts, "1_000", "nan", "1e400"."""

from __future__ import annotations

import re
from decimal import ROUND_HALF_EVEN, Decimal
from typing import NoReturn

from hardstone.errors import InputError, printable

AS_WRITTEN = "import the file as the tool wrote it"
_WHOLE = re.compile(r"-?[0-9]{1,19}")
_DECIMAL = re.compile(r"-?[0-9]{1,19}(?:\.[0-9]{1,18})?")
_SHOWN = 40
NS = {"ns": 1, "us": 1000, "ms": 1_000_000, "s": 1_000_000_000}


def refuse(place: str, problem: str, remedy: str = AS_WRITTEN) -> NoReturn:
    """InputError in one line: "line 12: 'x' is not a count"."""
    raise InputError(f"{place}: {problem}" if place else problem, remedy)


def quoted(text: object) -> str:
    """What a file has, for an error: short, and on one line."""
    shown = printable(str(text))
    return f"'{shown[:_SHOWN]}…'" if len(shown) > _SHOWN else f"'{shown}'"


def whole(text: str, place: str) -> int:
    """A whole number, which may be negative."""
    if _WHOLE.fullmatch(text) is None or abs(int(text)) >= 2**63:
        refuse(place, f"{quoted(text)} is not a whole number")
    return int(text)


def count(text: str, place: str) -> int:
    """A whole number of at least 0."""
    number = whole(text, place)
    if number < 0:
        refuse(place, f"{quoted(text)} is not a count")
    return number


def in_ns(text: str, unit_ns: int, place: str) -> int:
    """A time with or without a decimal point, in ns: exact, rounded only below one ns."""
    if _DECIMAL.fullmatch(text) is None:
        refuse(place, f"{quoted(text)} is not a time")
    value = int((Decimal(text) * unit_ns).to_integral_value(ROUND_HALF_EVEN))
    if abs(value) >= 2**63:
        refuse(place, f"{quoted(text)} does not fit into 64 bits of ns")
    return value


def mean_ns(text: str, unit_ns: int, place: str) -> float:
    """A mean, which may have parts of a ns."""
    in_ns(text, unit_ns, place)
    return float(Decimal(text) * unit_ns)
