"""How many values of a series are above a limit: exact, or between two counts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from hardstone.model import Series
from hardstone.stats.histogram import bins_of


@dataclass(frozen=True)
class Above:
    """At least `low` and at most `high` of the values are above `limit`."""

    limit: int
    low: int
    high: int

    @property
    def is_exact(self) -> bool:
        return self.low == self.high


def above(series: Series, limit: int) -> Above:
    """The values above `limit`. A limit within a bucket leaves its values open, unless the list
    of the worst values, the minimum or the maximum decides. InputError if unreadable."""
    if series.min is None or series.max is None or limit >= series.max:
        return Above(limit, 0, 0)
    if limit < series.min:
        return Above(limit, series.count, series.count)
    worst = [one.value_ns for one in series.worst]
    listed = sum(value > limit for value in worst)
    bins = bins_of(series.histogram)
    over = int(bins.count[bins.lower > limit].sum())
    within = int(bins.count[(bins.lower <= limit) & (bins.upper > limit)].sum())
    # What overflowed is above every bucket in use.
    is_past = not bins.upper.size or limit >= int(bins.upper[-1])
    certain = over + (0 if is_past else bins.overflow)
    open_count = within + (bins.overflow if is_past else 0)
    most = certain + open_count
    # All above are in the list, unless it lacks some: a run of another tool may list fewer.
    if worst and min(worst) <= limit and certain <= listed <= most:
        return Above(limit, listed, listed)
    return Above(limit, max(certain, min(listed, most), 1), most)


def above_all(found: Iterable[Series], limit: int) -> Above:
    """As `above`, for the values of several series together: what each decides is kept."""
    counts = [above(series, limit) for series in found]
    return Above(limit, sum(one.low for one in counts), sum(one.high for one in counts))
