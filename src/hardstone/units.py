"""Reads and writes durations for people; elsewhere every duration is an integer of ns."""

from __future__ import annotations

import re
from math import floor, log10

_NS_PER = {
    "ns": 1,
    "us": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "min": 60_000_000_000,
    "h": 3_600_000_000_000,
    "d": 86_400_000_000_000,
}
_DURATION = re.compile(r"\s*([0-9]+)(\.[0-9]+)?\s*([a-z]*)\s*", re.ASCII | re.IGNORECASE)
_MU = "\N{GREEK SMALL LETTER MU}"  # what some keyboards give for the micro sign
_INT64_DIGITS = 19  # no more are needed, and Python refuses to read thousands of them
MAX_DURATION_NS = 366 * _NS_PER["d"]


def parse_duration_ns(text: str, *, bare: str = "s") -> int:
    """Duration such as "30s", "1.5ms", "24h" or a bare number of `bare` units, in ns.

    Raises ValueError, with the accepted forms, for anything else, and for a duration that is
    not above zero, not a whole number of ns, or longer than a year.
    """
    match = _DURATION.fullmatch(text.replace("\N{MICRO SIGN}", "u").replace(_MU, "u"))
    unit = (match[3].lower() or bare) if match else ""
    if match is None or unit not in _NS_PER:
        raise ValueError(
            f"'{text[:40]}' is not a duration: write 300, 30s, 5m, 24h, 250us or 1.5ms"
        )
    if len(text) > 40:
        raise ValueError(f"'{text[:24]}...' has too many digits for a duration")
    scale = _NS_PER[unit]
    fraction = (match[2] or ".0")[1:]
    value, rest = divmod(int(fraction) * scale, int(10 ** len(fraction)))
    if rest:
        raise ValueError(f"'{text}' is not a whole number of nanoseconds")
    value += int(match[1]) * scale
    if value <= 0:
        raise ValueError(f"'{text}' is not a duration above zero")
    if value > MAX_DURATION_NS:
        raise ValueError(f"'{text}' is too long: a duration is at most 366d")
    return value


def write_ns(value_ns: int) -> str:
    """A duration as people type it, exact and in one form: "10ms", "1500us", "2s"."""
    for unit in ("s", "ms", "us"):
        if value_ns % _NS_PER[unit] == 0:
            return f"{value_ns // _NS_PER[unit]}{unit}"
    return f"{value_ns}ns"


def format_ns(value_ns: float | None) -> str:
    """A duration for people, three or four significant digits: "812 ns", "3.01 ms"."""
    if value_ns is None:
        return "-"
    size = abs(value_ns)
    for unit, scale in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if size >= scale * 0.9995:
            return f"{_digits(value_ns / scale)} {unit}"
    return f"{_digits(value_ns)} ns"


COARSE_NS = 50.0  # a clock with steps as long as this is named before its figures
MARKED_STEPS = 10  # a value of fewer steps is marked: one is more than a tenth of it


def format_read(value_ns: float, quantum_ns: float) -> str:
    """A duration between two readings of a clock with coarse steps of `quantum_ns`: it may be a
    step less or more. "<200 ns" of at most one step, "~400 ns" of a few."""
    steps = round(abs(value_ns) / quantum_ns)
    if steps <= 1 and value_ns >= 0:
        return f"<{format_ns((steps + 1) * quantum_ns)}"
    digit = 10.0 ** floor(log10(quantum_ns))
    return ("~" if steps < MARKED_STEPS else "") + format_ns(round(value_ns / digit) * digit)


def format_cost(cost_ns: float, quantum_ns: float) -> str:
    """The median cost of a pair of time stamps: "20 ns", "less than a step of 100 ns"."""
    if quantum_ns < COARSE_NS:
        return format_ns(cost_ns)
    steps = round(cost_ns / quantum_ns)
    if steps <= 1:
        return f"less than {('a step', '2 steps')[steps]} of {format_ns(quantum_ns)}"
    return format_read(cost_ns, quantum_ns)


def _digits(value: float) -> str:
    size = abs(value)
    if size == 0 or size >= 1000 or (value == int(value) and size < 1000):
        return f"{value:.0f}"
    return f"{value:.{2 if size < 10 else 1 if size < 100 else 0}f}"


def format_count(value: int) -> str:
    """A count with thin groups: "300 000 000"."""
    return f"{value:,}".replace(",", "\N{NO-BREAK SPACE}")


def whole_number(text: str) -> int | None:
    """The number of a label, "400" of whoever wrote the document; None: it is not an int64."""
    is_number = text.isascii() and text.isdecimal() and len(text) < _INT64_DIGITS
    return int(text) if is_number else None


def format_span(value_ns: int) -> str:
    """A long time for people: "1 min 30 s", "24 h"."""
    seconds = round(value_ns / 1e9)
    if seconds < 1:
        return format_ns(value_ns)
    parts = []
    for unit, scale in (("d", 86400), ("h", 3600), ("min", 60), ("s", 1)):
        count, seconds = divmod(seconds, scale)
        if count:
            parts.append(f"{count} {unit}")
    return " ".join(parts[:2])
