"""What the counters of a CPU usually count in the time of some listed seconds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from hardstone.model import Interval

LEAST_OTHERS = 4  # fewer values have no spread worth the name
_NORMAL = 1.4826  # a standard deviation by the median distance, of a normal distribution


@dataclass(frozen=True)
class Count:
    """A counter over some seconds: what it counted there, and what it usually does.

    `spread` is a standard deviation of the latter, null where too few seconds are known. Where
    nothing is left to compare with (`is_compared`), `expected` is 0.
    """

    seen: int
    expected: float
    spread: float | None
    is_compared: bool = True

    @property
    def excess(self) -> float:
        return self.seen - self.expected


def counts_of(
    intervals: Sequence[Interval], seconds: Sequence[Interval], cpu: int | None
) -> dict[str, Count]:
    """The counters of `seconds`, which are among `intervals`, each beside its usual.

    The usual is the rate of the whole measurement less all listed seconds. Where nothing is left
    of it, it is the median rate of the other listed seconds. A counter without either is absent.
    """
    own = [one for one in intervals if one.cpu == cpu]
    wholes = [one for one in own if one.whole]  # one of each part of a recording that was resumed
    listed = list({(one.at_ns, one.span_ns): one for one in own if not one.whole}.values())
    others = [one for one in listed if not any(one is second for second in seconds)]
    span_ns = sum(one.span_ns for one in seconds)
    found = {}
    for name in {name for one in seconds for name in one.counters}:
        if not all(name in one.counters for one in seconds):
            continue
        rates = [
            one.counters[name] / one.span_ns
            for one in others
            if one.span_ns > 0
            and one.counters.get(name, -1) >= 0  # one that went back says nothing
        ]
        rate = _rest_rate(wholes, listed, name, span_ns)
        if rate is None and rates:
            rate = median(rates)
        if rate is not None:
            seen = sum(one.counters[name] for one in seconds)
            spread = _spread(rates, rate)
            found[name] = Count(seen, rate * span_ns, None if spread is None else spread * span_ns)
    return found


def compared_ns(intervals: Sequence[Interval], seconds: Sequence[Interval], cpu: int | None) -> int:
    """How much time the usual of `counts_of` was taken from."""
    own = [one for one in intervals if one.cpu == cpu]
    listed = list({(one.at_ns, one.span_ns): one for one in own if not one.whole}.values())
    left_ns = sum(one.span_ns for one in own if one.whole) - sum(one.span_ns for one in listed)
    if 2 * left_ns >= sum(one.span_ns for one in seconds) > 0:
        return left_ns
    others = (one for one in listed if not any(one is second for second in seconds))
    return sum(one.span_ns for one in others)


def _rest_rate(
    wholes: Sequence[Interval], listed: Sequence[Interval], name: str, span_ns: int
) -> float | None:
    """The rate outside of the listed seconds; None where less than half their length is left."""
    if not wholes or not all(name in one.counters for one in wholes):
        return None
    left_ns = sum(one.span_ns for one in wholes) - sum(one.span_ns for one in listed)
    left = sum(one.counters[name] for one in wholes)
    left -= sum(one.counters.get(name, 0) for one in listed)
    is_left = left_ns > 0 and 2 * left_ns >= span_ns and left >= 0
    return left / left_ns if is_left else None


def _spread(rates: Sequence[float], usual: float) -> float | None:
    """From the rates below the usual only: the listed seconds were chosen for their worst values,
    and what made those raised the others."""
    if len(rates) < LEAST_OTHERS:
        return None
    below = [usual - rate for rate in rates if rate <= usual]
    return _NORMAL * median(below) if len(below) >= LEAST_OTHERS else None
