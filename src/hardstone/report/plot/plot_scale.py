"""Where a value stands: logarithmic, linear, or in a band of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log

from hardstone.report.plot.plot_reading import known


@dataclass(frozen=True)
class Scale:
    """From the ends of a domain to those of a range."""

    low: float
    high: float
    start: float
    end: float
    is_log: bool = False
    is_clamped: bool = False

    def __post_init__(self) -> None:
        known(self.low < self.high and (self.low > 0 or not self.is_log))

    def places(self, values: Sequence[float]) -> list[float]:
        low, high, start, end = self.low, self.high, self.start, self.end
        if self.is_clamped:
            values = [low if one < low else high if one > high else one for one in values]
        if self.is_log:
            known(not values or min(values) > 0)
            low, high, values = log(low), log(high), list(map(log, values))
        span = high - low
        shares = [(one - low) / span for one in values]
        return [start * (1 - share) + end * share for share in shares]

    def place(self, value: float) -> float:
        return self.places([value])[0]


@dataclass(frozen=True)
class Bands:
    """A band for each name, one beside the other; all are `step` apart and `width` wide."""

    names: Sequence[str]
    first: float
    step: float
    width: float

    def start(self, name: str) -> float:
        known(name in self.names)
        return self.first + self.names.index(name) * self.step
