"""The value that a series has for a published statistic."""

from __future__ import annotations

from hardstone.model import Series
from hardstone.published.resolve import AddressError
from hardstone.stats.quantiles import is_printable, quantile

_OF_A_SERIES = ("min", "mean", "max")


def value_of(series: Series, statistic: str) -> float:
    """The `statistic` of `series` in its unit. AddressError if the series has none."""
    if statistic in _OF_A_SERIES:
        value = getattr(series, statistic)
        if value is None:
            raise AddressError(f"the series {series.name} has no values", "measure for longer")
        return float(value)
    if not statistic.startswith("p"):
        raise AddressError(f"a series has no '{statistic}'")
    q = float(statistic[1:]) / 100
    found = quantile(series.histogram, q) if is_printable(q, series.count) else None
    if found is None or found.value is None:
        raise AddressError(
            f"{series.count} values are too few for {statistic}", "measure for longer"
        )
    return float(found.value)
