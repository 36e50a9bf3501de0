"""A figure of a comparison in words: values, bounds, ratios. Terminal and pages say the same."""

from __future__ import annotations

from decimal import Decimal

from hardstone.model import Unit
from hardstone.present.wording import format_value, ratio_text
from hardstone.stats.two_runs import QuantileRatio
from hardstone.systems.subjects import Amount

_STEPS: dict[Unit, tuple[tuple[str, int], ...]] = {
    "ns": (("s", 10**9), ("ms", 10**6), ("us", 10**3), ("ns", 1)),
    "bytes_per_s": (("GB/s", 10**9), ("MB/s", 10**6), ("kB/s", 10**3), ("B/s", 1)),
    "count": (("", 1),),
}
_TIMES = "\N{MULTIPLICATION SIGN}\N{NO-BREAK SPACE}"


def amount_text(amount: Amount, *, is_exact: bool = False) -> str:
    """A value with its unit, "< 0.1 us" or "> 4.2 s". `is_exact` keeps all digits: those of a
    published figure are as the study printed them."""
    sign, value = "", amount.value
    if value is None:
        sign, value = ("< ", amount.below) if amount.below is not None else ("> ", amount.above)
    if value is None:
        return "-"
    return f"{sign}{_exact(value, amount.unit) if is_exact else _rounded(value, amount.unit)}"


def _rounded(value: float, unit: Unit) -> str:
    """As tables show it; a mean of counts with its hundredths, since 1.55 is not 2."""
    if unit == "count" and not value.is_integer():
        return f"{value:.2f}"
    return format_value(value, unit)


def _exact(value: float, unit: Unit) -> str:
    number = Decimal(repr(value))
    steps = _STEPS[unit]
    name, scale = next((one for one in steps if abs(number) >= one[1]), steps[-1])
    return f"{(number / scale).normalize():f} {name}".rstrip()


def number_text(value: float | None) -> str:
    """The exact number, without a unit, for a program: "43940", "6512.25"; "" for None."""
    return "" if value is None else f"{Decimal(repr(value)).normalize():f}"


def ratio_words(ratio: QuantileRatio) -> tuple[str, str]:
    """The ratio with its interval, and what it means between these two runs."""
    if ratio.ratio is None:
        return "-", ratio.reason or ratio.outcome
    said = f"{ratio.outcome}: {ratio.reason}" if ratio.reason else ratio.outcome
    return f"{_TIMES}{_figure(ratio.ratio)}{_interval(ratio)}", said


def _interval(ratio: QuantileRatio) -> str:
    if ratio.low is None and ratio.high is None:
        return ", unbounded"
    if ratio.low is None:
        return f" (at most {_figure(ratio.high)})"
    if ratio.high is None:
        return f" (at least {_figure(ratio.low)})"
    return f" ({_figure(ratio.low)} to {_figure(ratio.high)})"


def _figure(value: float | None) -> str:
    """Hundredths below ten: a change of 5 % has to be seen."""
    if value is None:
        return "-"
    return f"{value:.2f}" if 0.1 <= value < 9.995 else ratio_text(value)
