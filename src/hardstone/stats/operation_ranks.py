"""The order of operations, worst first, and which of them cannot be told apart.

They are ranked by the 99 % quantile of their dispatch latency: a maximum says most about how long
one looked, and a quantile with ten values beyond it hardly more. Where no operation has a thousand
values it is the 90 % quantile or the median. An operation that cannot be told from the reference,
which does nothing in the kernel, has no rank.
"""

from __future__ import annotations

from collections.abc import Mapping

from hardstone.model import Series
from hardstone.stats.quantiles import Quantile, is_printable, quantile

RANKED_BY = (0.99, 0.9, 0.5)


def ranking_quantile(found: Mapping[str, Series]) -> float:
    """The quantile that ranks: the first of RANKED_BY that any operation has values for."""
    most = max((one.count for one in found.values()), default=0)
    return next((q for q in RANKED_BY if is_printable(q, most)), RANKED_BY[-1])


def quantile_at(series: Series, q: float) -> Quantile | None:
    """The `q` quantile of `series`; None where it has too few values for it."""
    return quantile(series.histogram, q) if is_printable(q, series.count) else None


def ranks_of(
    found: Mapping[str, Quantile | None], reference: Quantile | None = None
) -> dict[str, int | None]:
    """The rank of each operation, worst first, from 1; None for those that are not above the
    `reference`, where there is one, and last for those without a quantile.

    An operation shares the rank of the first of a group if its interval overlaps that one's.
    """
    known = [(name, one) for name, one in found.items() if one is not None]
    known.sort(key=lambda pair: (-_height(pair[1]), pair[0]))
    able = [(name, one) for name, one in known if not is_like(one, reference)]
    ranks: dict[str, int | None] = {}
    leader: tuple[int, Quantile] | None = None
    for number, (name, one) in enumerate(able, 1):
        if leader is None or not _overlaps(one, leader[1]):
            leader = (number, one)
        ranks[name] = leader[0]
    alike = [name for name, one in known if is_like(one, reference)]
    few = [name for name, one in found.items() if one is None]
    return ranks | dict.fromkeys([*alike, *few], None)


def is_like(one: Quantile | None, reference: Quantile | None) -> bool:
    """Whether the interval of `one` overlaps that of `reference` or lies below it; not where one
    of them is not known."""
    return one is not None and reference is not None and _overlaps(reference, one)


def _height(one: Quantile) -> float:
    if one.value is not None:
        return one.value
    return float("inf") if one.above is not None else 0.0


def _overlaps(lower: Quantile, upper: Quantile) -> bool:
    """Whether `lower` may be as high as `upper`."""
    return lower.high is None or upper.low is None or lower.high >= upper.low
