"""What the probe says about its simulations."""

from __future__ import annotations

from hardstone.model import StreamEvent, StreamSeries
from tests.running import Stream

RT, RF = "SIM-S-RT", "SIM-P-RF"
PERIOD_NS = 10_000_000
BOTH = ("-p", "solver=semaphore,barrier")


def simulations(stream: Stream) -> list[dict[str, object]]:
    return [one.data for one in stream.of(StreamEvent) if one.name == "simulation"]


def counts(stream: Stream, name: str) -> list[int]:
    return [one.count for one in stream.of(StreamSeries) if one.name == name]


def values(stream: Stream, name: str) -> list[int | None]:
    return [one.max for one in stream.of(StreamSeries) if one.name == name]
