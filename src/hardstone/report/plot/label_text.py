"""The texts of an axis: each format and expression that charts use, as a function."""

from __future__ import annotations

from collections.abc import Callable
from math import floor, log10

from hardstone.report.charts import SHARE_LABEL
from hardstone.report.plot.d3_number import exponent, fixed, general, prefixed, share, whole
from hardstone.report.plot.plot_reading import known
from hardstone.report.theme import LABEL_OF_UNIT

Labeller = Callable[[float], str]


def labeller(expression: object) -> Labeller:
    """Of a `labelExpr`."""
    found = _OF_EXPRESSION.get(expression) if type(expression) is str else None
    known(found)
    return found  # type: ignore[return-value]


def formatter(pattern: object, *, is_log: bool) -> Labeller:
    """Of a `format`."""
    found = (_OF_LOG if is_log else _OF_LINEAR).get(pattern) if type(pattern) is str else None
    known(found)
    return found  # type: ignore[return-value]


def plain(step: float) -> Labeller:
    """Of an axis without a format, whose marks are `step` apart."""
    digits = max(0, -floor(log10(step) + 1e-9))
    return lambda value: fixed(value, digits, group=True)


def _time(value: float) -> str:
    if value >= 1e9:
        return fixed(value / 1e9, 4, group=True, trim=True) + " s"
    if value >= 1e6:
        return fixed(value / 1e6, 4, trim=True) + " ms"
    if value >= 1e3:
        return fixed(value / 1e3, 4, trim=True) + " us"
    return fixed(value, 4, trim=True) + " ns"


def _share(value: float) -> str:
    return exponent(value, 0) if value < 0.01 else general(value)


def _level(value: float) -> str:
    return fixed(100 / (1 + 10**-value), 5, trim=True) + " %"


_OF_EXPRESSION: dict[str, Labeller] = {
    LABEL_OF_UNIT["ns"]: _time,
    LABEL_OF_UNIT["count"]: lambda value: general(value, 12, group=True),
    LABEL_OF_UNIT["bytes_per_s"]: lambda value: prefixed(value, 3) + "B/s",
    SHARE_LABEL: _share,
    "format(datum.value, '~s')": prefixed,
    "format(100 / (1 + pow(10, -datum.value)), '.5~f') + ' %'": _level,
}
_OF_LOG: dict[str, Labeller] = {
    ",d": whole,
    "~g": lambda value: general(value, 12),
    "~s": lambda value: prefixed(value, 12),
    ".0s": lambda value: prefixed(value, 1),
}
_OF_LINEAR: dict[str, Labeller] = {
    ".0%": lambda value: share(value, 0),
    ".2~%": lambda value: share(value, 2, trim=True),
}
