"""What is compared: two sides, and how their ratio is read."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass, field

from bench import table
from bench.rounds import Joined, Side, Spread


@dataclass(frozen=True)
class Comparison:
    """`metrics` maps what the sides give to (title, unit)."""

    name: str
    metrics: dict[str, tuple[str, str]]
    own: Side
    peer: Side | None = None
    peer_name: str = ""
    reading: Callable[[Spread], str] = table.smaller_is_better
    peer_names: dict[str, str] = field(default_factory=dict)  # by metric, where they differ
    joined: Joined = statistics.fmean
