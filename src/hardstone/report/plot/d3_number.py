"""Numbers as d3-format writes them, for the formats that charts use."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from math import floor

_MINUS = "\u2212"
_PREFIXES = (
    "y",
    "z",
    "a",
    "f",
    "p",
    "n",
    "\u00b5",
    "m",
    "",
    "k",
    "M",
    "G",
    "T",
    "P",
    "E",
    "Z",
    "Y",
)


def fixed(value: float, digits: int, *, group: bool = False, trim: bool = False) -> str:
    """`.3f`, `,.3f`, `.3~f`, `,.3~f`"""
    text = f"{_rounded(abs(value), digits):{',' if group else ''}.{digits}f}"
    return _signed(value, _trimmed(text) if trim else text)


def general(value: float, digits: int = 6, *, group: bool = False) -> str:
    """`~g`, `.3~g`; with 12 digits and in groups of three also `,`"""
    if value == 0:
        return "0"
    mantissa, power = _scientific(abs(value), digits)
    if not -7 < power < digits:
        return _signed(value, f"{_trimmed(mantissa)}e{power:+d}")
    text = f"{Decimal(mantissa).scaleb(power):{',' if group else ''}f}"
    return _signed(value, _trimmed(text))


def exponent(value: float, digits: int) -> str:
    """`.0e`"""
    mantissa, power = _scientific(abs(value), digits + 1) if value else (f"{0:.{digits}f}", 0)
    return _signed(value, f"{mantissa}e{power:+d}")


def share(value: float, digits: int, *, trim: bool = False) -> str:
    """`.0%`, `.2~%`"""
    return fixed(value * 100, digits, trim=trim) + "%"


def whole(value: float) -> str:
    """`,d`"""
    found = floor(value + 0.5)
    return _signed(found, f"{abs(found):,}")


def prefixed(value: float, digits: int = 6) -> str:
    """`~s`, `.3~s`: with the prefix of the unit."""
    if value == 0:
        return "0"
    mantissa, power = _scientific(abs(value), digits)
    step = max(-8, min(8, power // 3))
    shown = Decimal(mantissa).scaleb(power - 3 * step)
    return _signed(value, _trimmed(f"{shown:f}") + _PREFIXES[8 + step])


def _rounded(value: float, digits: int) -> Decimal:
    """Halves go up, as in JavaScript."""
    return Decimal(value).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)


def _scientific(value: float, digits: int) -> tuple[str, int]:
    """The mantissa of `digits` digits, and its power of ten."""
    exact = Decimal(value)
    power = exact.adjusted()
    mantissa = exact.scaleb(-power).quantize(Decimal(1).scaleb(1 - digits), ROUND_HALF_UP)
    if mantissa >= 10:
        mantissa, power = (mantissa / 10).quantize(Decimal(1).scaleb(1 - digits)), power + 1
    return f"{mantissa:f}", power


def _trimmed(text: str) -> str:
    return text.rstrip("0").removesuffix(".") if "." in text else text


def _signed(value: float, text: str) -> str:
    """No minus where nothing but zeros is left."""
    return _MINUS + text if value < 0 and text.strip("0.,%") else text
