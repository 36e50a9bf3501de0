"""Two sides measured in turn, A B B A in each round, so that drift meets both alike."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

Metrics = dict[str, float]
Side = Callable[[], Metrics]
Joined = Callable[[Iterable[float]], float]


@dataclass(frozen=True)
class Spread:
    """Median, least and largest over the rounds."""

    median: float
    min: float
    max: float

    @classmethod
    def of(cls, values: Iterable[float]) -> Spread:
        ordered = sorted(values)
        return cls(statistics.median(ordered), ordered[0], ordered[-1])


@dataclass(frozen=True)
class Interval:
    """The median over the rounds, and bounds that hold the median of all rounds that could be
    measured with a probability of 0.95 at least, whatever the distribution. They are two of the
    values, by the binomial distribution; of fewer than six there are none."""

    median: float
    low: float | None = None
    high: float | None = None

    @classmethod
    def of(cls, values: Iterable[float], probability: float = 0.95) -> Interval:
        ordered = sorted(values)
        median, place = statistics.median(ordered), _outer(len(ordered), probability)
        return cls(median, ordered[place - 1], ordered[-place]) if place else cls(median)


def _outer(count: int, probability: float) -> int:
    """The largest k so that the k-th of `count` values and the k-th from the end hold the
    median; 0: none."""
    outside, place = 0.0, 0
    while place < count // 2:
        outside += 2 * math.comb(count, place) / 2**count
        if outside > 1 - probability:
            break
        place += 1
    return place


@dataclass
class Rounds:
    """One value of each round, by metric; `peer` is empty where there is nobody to compare."""

    own: dict[str, list[float]] = field(default_factory=dict)
    peer: dict[str, list[float]] = field(default_factory=dict)

    def ratio(self, metric: str) -> Spread | None:
        """Own by peer, formed within each round."""
        pairs = zip(self.own[metric], self.peer.get(metric, []), strict=False)
        ratios = [own / peer for own, peer in pairs if peer]
        return Spread.of(ratios) if ratios else None


def measure(own: Side, peer: Side | None, rounds: int, joined: Joined = statistics.fmean) -> Rounds:
    """`rounds` rounds of A B B A, or of A A without a peer; `joined` makes one value of the two
    that a side has in a round: their mean, or the maximum of what are maxima."""
    result = Rounds()
    for _ in range(rounds):
        first_own = own()
        if peer is None:
            _add(result.own, joined, first_own, own())
            continue
        first_peer, second_peer = peer(), peer()
        _add(result.own, joined, first_own, own())
        _add(result.peer, joined, first_peer, second_peer)
    return result


def _add(into: dict[str, list[float]], joined: Joined, first: Metrics, second: Metrics) -> None:
    for name in first:
        into.setdefault(name, []).append(joined([first[name], second[name]]))
