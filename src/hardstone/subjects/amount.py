"""One figure of one system: a value, a bound or nothing, with where it is from."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from hardstone.model import Unit


class Amount(msgspec.Struct, frozen=True):
    """A figure in the unit of its series. Either `value` is known, or that it is below `below`, or
    above `above`: a study may publish a bound only, and a quantile may lie beyond all buckets.

    `statistic` is "min", "mean", "max", "p99.9", or "time_90" (KRN-P-PRE). `source` names where the
    figure is from, so that it can be found again: run, test, series and statistic, or study, table
    and system. `notes` are what a reader must know of this figure.
    """

    unit: Unit
    statistic: str
    source: str
    value: float | None = None
    below: float | None = None
    above: float | None = None
    notes: tuple[str, ...] = ()

    @property
    def place(self) -> str:
        """Where the figure is from, without its statistic."""
        return self.source.removesuffix(f" {self.statistic}")

    @property
    def highest(self) -> float | None:
        """The largest value that it can have; None: unbounded."""
        return self.value if self.value is not None else self.below

    @property
    def lowest(self) -> float:
        """The smallest value that it can have. Figures of systems are not negative."""
        known = self.value if self.value is not None else self.above
        return known if known is not None else 0.0


@dataclass(frozen=True)
class Missing:
    """Why there is no figure, in words for a table, and what to do about it."""

    reason: str
    remedy: str = ""
