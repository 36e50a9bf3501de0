"""One limit on one figure, and its values as text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from math import ceil
from typing import Literal

from hardstone.model import Unit
from hardstone.published import Address
from hardstone.units import MAX_DURATION_NS, parse_duration_ns

CLAIMS = "claims"
ABOVE = "above"
_QUANTILE = re.compile(r"p[0-9]{1,2}(\.[0-9]{1,8})?", re.ASCII)
_PLAIN = re.compile(r"[0-9]{1,18}", re.ASCII)
_RATE = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,9})?) ?([kMG]?B)/s", re.ASCII)
_PERCENT = re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,15})?) ?%", re.ASCII)
_ONE_IN = re.compile(r"1 in ([0-9]{1,18})", re.ASCII)
_BYTES = {"GB": 10**9, "MB": 10**6, "kB": 10**3, "B": 1}
_NS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_LARGEST = 10**18
Kind = Literal["ns", "bytes_per_s", "count", "share"]


@dataclass(frozen=True)
class Value:
    """A number in the unit of `kind`; a share is between 0 and 1."""

    number: float
    kind: Kind

    def __str__(self) -> str:
        if self.kind == "share":
            return share_text(self.number)
        return amount_text(self.number, self.kind)


NO_BOUND = Value(0.0, "count")  # of claims


@dataclass(frozen=True)
class Limit:
    """A figure may be at most, or at least, `bound`. `number` is its place in the file, from 1.

    `statistic`: "max", "min", "mean", a quantile such as "p99.9", ABOVE (how many values are above
    `deadline_ns`, as a count or as a share) or CLAIMS (all claims of a test hold; NO_BOUND).
    None for `load`, `cpu_config` or `policy`: whatever it is. `is_emulated`: figures of an emulated
    processor may pass too.
    """

    number: int
    address: Address
    statistic: str
    bound: Value = NO_BOUND
    is_at_most: bool = True
    deadline_ns: int | None = None
    load: str | None = None
    cpu_config: str | None = None
    policy: str | None = None
    is_emulated: bool = False

    @property
    def wanted(self) -> str:
        """What it asks for, as words: "at most 100 us"."""
        if self.statistic == CLAIMS:
            return "all claims hold"
        return f"{'at most' if self.is_at_most else 'at least'} {self.bound}"

    @property
    def figure(self) -> str:
        """The statistic as words: "max", "above 100 us"."""
        if self.deadline_ns is None:
            return self.statistic
        return f"above {amount_text(self.deadline_ns, 'ns')}"

    @property
    def quantile(self) -> float | None:
        return quantile_of(self.statistic)


def quantile_of(statistic: str) -> float | None:
    """0.999 of "p99.9"; None for any other statistic, and for "p0"."""
    if not _QUANTILE.fullmatch(statistic):
        return None
    q = float(Decimal(statistic[1:]) / 100)
    return q if 0 < q < 1 else None


def parse_value(raw: object) -> Value | None:
    """The value of a limit as a file has it; None if it has no unit that is known.

    Text with a unit: "100us", "40MB/s", "0.1%", "1 in 10000"; a number is a count.
    """
    if isinstance(raw, int | float) and not isinstance(raw, bool):
        return Value(float(raw), "count") if 0 <= raw <= _LARGEST else None  # no NaN either
    return _parse_text(raw.strip()) if isinstance(raw, str) and len(raw) <= 60 else None


def _parse_text(text: str) -> Value | None:
    if _PLAIN.fullmatch(text):
        return Value(float(text), "count")
    if found := _RATE.fullmatch(text):
        return Value(float(Decimal(found[1]) * _BYTES[found[2]]), "bytes_per_s")
    if found := _PERCENT.fullmatch(text):
        share = float(Decimal(found[1]) / 100)
        return Value(share, "share") if share <= 1 else None
    if found := _ONE_IN.fullmatch(text):
        return Value(1 / int(found[1]), "share") if int(found[1]) else None
    try:
        return Value(float(parse_duration_ns(text)), "ns")
    except ValueError:
        return None


def amount_text(number: float, unit: Unit) -> str:
    """A figure with all its digits, so that one just beyond a limit does not look equal to it."""
    if unit == "count":
        return _digits(number, 1)
    scales = _NS if unit == "ns" else {f"{name}/s": scale for name, scale in _BYTES.items()}
    name, scale = next(
        ((name, scale) for name, scale in scales.items() if abs(number) >= scale),
        list(scales.items())[-1],
    )
    return f"{_digits(number, scale)} {name}"


def _digits(number: float, scale: int) -> str:
    if number == int(number):
        whole = Decimal(int(number)) / scale
        return f"{whole.normalize():f}"
    return f"{number / scale:.6g}"


def share_text(share: float) -> str:
    """A share as people say it: "5 %", "1 in 10000"; its denominator is rounded down."""
    if share <= 0:
        return "0"
    if share >= 0.01:
        return f"{100 * share:.4g} %"
    whole = int(1 / share + 1e-6)
    step = 10 ** max(len(str(whole)) - 4, 0)
    return f"1 in {whole // step * step}"


def typed_amount(number: float, unit: Unit, *, is_up: bool) -> str:
    """A value as a limits file has it: three digits, rounded up or down, and exact in its unit."""
    rounded = _three_digits(number, is_up=is_up)
    if unit == "ns":
        return amount_text(min(rounded, MAX_DURATION_NS), "ns").replace(" ", "")
    return amount_text(rounded, unit).replace(" ", "")


def _three_digits(number: float, *, is_up: bool) -> int:
    whole = ceil(number) if is_up else int(number)
    step = int(10 ** max(len(str(whole)) - 3, 0))
    below = whole // step * step
    return below + step if is_up and below < whole else below
