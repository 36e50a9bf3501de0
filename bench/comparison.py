"""What is compared: two sides, and how their ratio is read."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass, field

from bench import table
from bench.rounds import Joined, Side, Spread


@dataclass(frozen=True)
class Comparison:
    """`metrics` maps what the sides give to (title, unit). `goals`: what a metric should not be
    above; the row says whether the median is."""

    name: str
    metrics: dict[str, tuple[str, str]]
    own: Side
    peer: Side | None = None
    peer_name: str = ""
    reading: Callable[[Spread], str] = table.smaller_is_better
    peer_names: dict[str, str] = field(default_factory=dict)  # by metric, where they differ
    joined: Joined = statistics.fmean
    goals: dict[str, float] = field(default_factory=dict)
    most_rounds: int | None = None  # of what takes long

    def goal_text(self, metric: str, median: float) -> str:
        """ "goal 5 s: met"; empty without a goal."""
        goal = self.goals.get(metric)
        if goal is None:
            return ""
        unit = self.metrics[metric][1]
        said = "met" if median <= goal else "missed"
        return f"goal {goal / table.SCALES[unit]:.4g} {unit}: {said}"
