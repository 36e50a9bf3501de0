"""A sign of life while a test measures in silence."""

from __future__ import annotations

import time
from collections.abc import Callable

_TICK_NS = 1_000_000_000


class Ticker:
    """Calls `on_tick` at most once a second."""

    def __init__(self, on_tick: Callable[[int], None]) -> None:
        self._on_tick = on_tick
        self._start_ns = self._last_ns = time.monotonic_ns()

    def look(self) -> None:
        now_ns = time.monotonic_ns()
        if now_ns - self._last_ns >= _TICK_NS:
            self._last_ns = now_ns
            self._on_tick(now_ns - self._start_ns)
