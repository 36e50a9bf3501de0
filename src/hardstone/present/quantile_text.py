"""Quantiles and bounds as text."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor

from hardstone.model import Unit
from hardstone.present.wording import format_value, range_text
from hardstone.stats.exceedance import values_to_bound
from hardstone.stats.quantiles import Quantile, lacking, values_for
from hardstone.stats.summary import SeriesSummary
from hardstone.units import format_count

_LARGEST_BOUND = 0.1


@dataclass(frozen=True)
class Cell:
    """A figure with its interval."""

    value: str
    interval: str = ""


def level_text(q: float) -> str:
    """A quantile as a heading: "median", "p99.9"."""
    return "median" if q == 0.5 else f"p{100 * q:.10g}"


def quantile_value(quantile: Quantile | None, unit: Unit, quantum_ns: float = 1.0) -> str:
    """The value of a quantile; outside the buckets it is "above" or "below" their range."""
    if quantile is None:
        return "-"
    if quantile.value is not None:
        return format_value(quantile.value, unit, quantum_ns)
    if quantile.above is None:
        return "below 0"
    return f"above {format_value(quantile.above, unit, quantum_ns)}"


def lacking_quantile(q: float, count: int) -> str:
    """What the quantile `q` of `count` values lacks: "needs 1000 values, has 100"."""
    return lacking(values_for(q), count)


def quantile_cell(quantile: Quantile | None, unit: Unit, lacks: str = "") -> Cell:
    """A quantile with its 95 % interval; in place of one that there is not what it `lacks`."""
    if quantile is None:
        return Cell("-", lacks)
    if quantile.value is None:
        return Cell(quantile_value(quantile, unit))
    low = "unbounded" if quantile.low is None else format_value(quantile.low, unit)
    high = "unbounded" if quantile.high is None else format_value(quantile.high, unit)
    return Cell(quantile_value(quantile, unit), range_text(low, high))


def bound_text(summary: SeriesSummary) -> str:
    """Upper bound, at 95 % confidence, of the share of values above the worst observed."""
    if summary.derived:
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
