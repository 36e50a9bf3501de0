"""Gaps as points of a picture: how long each is, and when in the period of the tick it begins."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hardstone.model import Result
from hardstone.stats.noise_gaps import gaps_of, merged_gaps

MOST_POINTS = 1_200


@dataclass(frozen=True)
class GapPoint:
    """`at_ns` is after the nearest slot of the tick, up to half a period before or after it, or,
    where no tick was found, since the start. `is_tick`: it begins at a slot."""

    at_ns: float
    length_ns: int
    is_tick: bool


def gap_points(result: Result, most: int = MOST_POINTS) -> list[GapPoint]:
    """The longest gaps, and of the others every so many, so that there are `most` at most."""
    if len(result.noise) != 1:
        return []
    noise = result.noise[0]
    gaps = merged_gaps(gaps_of([one for one in result.windows if one.dropped_count == 0]))
    tick = next((one for one in noise.combs if one.name == "tick"), None)
    at = gaps.begin.astype(np.float64)
    is_tick = np.zeros(at.size, dtype=np.bool_)
    if tick is not None and noise.tick_period_ns:
        period = noise.tick_period_ns
        at = (at - tick.phase_ns + period / 2) % period - period / 2
        is_tick = np.abs(at) <= tick.tolerance_ns
    order = np.argsort(-gaps.length, kind="stable")
    longest, rest = order[: most // 3], order[most // 3 :]
    stride = max(1, -(-rest.size // max(most - longest.size, 1)))
    return [
        GapPoint(float(at[one]), int(gaps.length[one]), bool(is_tick[one]))
        for one in (*longest.tolist(), *np.sort(rest)[::stride].tolist())
    ]
