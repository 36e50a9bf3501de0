"""Quantiles and amounts of compared systems, as people read them."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from math import ceil, floor
from typing import TYPE_CHECKING

import msgspec

from hardstone.model import (
    Unit,
)
from hardstone.stats.identity import is_end_of_step
from hardstone.stats.quantiles import Quantile, SeriesSummary, lacking, values_to_bound
from hardstone.systems.subjects import Amount, Missing
from hardstone.units import COARSE_NS, format_count
from hardstone.wording import format_value, range_text, ratio_text, read_value

if TYPE_CHECKING:
    from hardstone.stats.two_runs import QuantileRatio

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
    if is_exact:
        return sign + _exact(value, amount.unit)
    if amount.unit == "count" and not value.is_integer():  # a mean of counts: 1.55 is not 2
        return f"{sign}{value:.2f}"
    return sign + read_value(value, amount.unit, amount.quantum_ns)


def _exact(value: float, unit: Unit) -> str:
    if unit == "count" and value.is_integer():
        return format_count(int(value))
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
    meaning = f"{ratio.outcome}: {ratio.reason}" if ratio.reason else ratio.outcome
    return f"{_TIMES}{_figure(ratio.ratio)}{_interval(ratio)}", meaning


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


_LARGEST_BOUND = 0.1


@dataclass(frozen=True)
class Cell:
    """A figure with its interval."""

    value: str
    interval: str = ""


def level_text(q: float) -> str:
    """A quantile as a heading: "median", "p99.9"."""
    return "median" if q == 0.5 else f"p{100 * q:.10g}"


def quantile_value(
    quantile: Quantile | None, unit: Unit, quantum_ns: float = 1.0, step: int = 1
) -> str:
    """The value of a quantile; outside the buckets it is "above" or "below" their range. Of values
    that were cut off to whole steps it is less than the next one: "<13 us"; where it is the
    maximum it is shown as that."""
    if quantile is None:
        return "-"
    if quantile.value is not None:
        is_bound = is_end_of_step(quantile.value, step)
        text = read_value(quantile.value + is_bound, unit, quantum_ns)
        return f"<{text}" if is_bound else text
    if quantile.above is None:
        return f"below {format_value(quantile.below or 0, unit) if quantile.below else 0}"
    # The first value that it cannot be.
    return f"above {format_value(quantile.above + (step > 1), unit, quantum_ns)}"


def quantile_cell(
    quantile: Quantile | None,
    unit: Unit,
    lacks: str = "",
    step: int = 1,
    quantum_ns: float = 1.0,
) -> Cell:
    """A quantile with its 95 % interval; if there is none, what it `lacks`. `step` is that of the
    values, `quantum_ns` that of the clock."""
    if quantile is None:
        return Cell("-", lacks)
    value = quantile_value(quantile, unit, quantum_ns, step)
    if quantile.value is None:
        return Cell(value)
    off_ns = quantum_ns if quantum_ns >= COARSE_NS else 0.0
    least = None if quantile.low is None else max(quantile.low - off_ns, min(quantile.low, 0))
    low = "unbounded" if least is None else format_value(least, unit, quantum_ns)
    high: float | None = quantile.high
    if high is not None:
        high += (step > 1) + off_ns
    return Cell(
        value,
        range_text(low, "unbounded" if high is None else format_value(high, unit, quantum_ns)),
    )


def bound_text(summary: SeriesSummary) -> str:
    """Upper bound, at 95 % confidence, of the share of values above the worst observed."""
    if summary.derived or summary.max is None or summary.count_text == "-":
        return "-"
    if summary.p_exceed_bound > _LARGEST_BOUND:
        return lacking(values_to_bound(_LARGEST_BOUND), summary.count)
    return f"< {share_text(summary.p_exceed_bound)}"


def share_text(share: float) -> str:
    """A share, never rounded in favour of the system: "1 in 10 000", "63 %"."""
    if share > 0.1:
        return f"{min(ceil(100 * share), 100)} %"
    whole = floor(1 / share)
    digits = 10 ** max(len(str(whole)) - 3, 0)
    return f"1 in\N{NO-BREAK SPACE}{format_count(whole // digits * digits)}"


class ShownFigure(msgspec.Struct, frozen=True):
    """A figure as it is shown. `value`: the exact number, "" of one that is missing; `bound` is
    "below" or "above" for a bound; `source` says where it is from, or why it is missing."""

    text: str
    value: str = ""
    bound: str = ""
    source: str = ""

    @property
    def is_missing(self) -> bool:
        return not self.value


def shown_figure(amount: Amount | Missing, *, is_exact: bool) -> ShownFigure:
    """`is_exact`: with all digits, as a study printed it."""
    return sourced_figure(amount, is_exact, None)


def sourced_figure(amount: Amount | Missing, is_exact: bool, source: str | None) -> ShownFigure:
    """A figure as it is shown; its source is left out where it is `source` and its statistic."""
    if isinstance(amount, Missing):
        return ShownFigure(amount.reason, source=amount.remedy)
    number = next((n for n in (amount.value, amount.below, amount.above) if n is not None), None)
    bound = "" if amount.value is not None else "below" if amount.below is not None else "above"
    text = amount_text(amount, is_exact=is_exact)
    notes = f" ({'; '.join(amount.notes)})" if amount.notes else ""
    own_source = f"{amount.source}{notes}"
    is_known = source is not None and own_source == f"{source} {amount.statistic}"
    return ShownFigure(text, number_text(number), bound, "" if is_known else own_source)
