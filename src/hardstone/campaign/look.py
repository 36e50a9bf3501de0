"""A look at a running test: a copy of its crash-safe memory, as the probe's own dump tells it."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from pathlib import Path

from hardstone.campaign.events import Look
from hardstone.errors import HardstoneError
from hardstone.stream import StreamReader
from hardstone.targets.base import Target

_NOT_YET = "nothing is recorded yet"
_NO_COPY = "a copy would disturb what is measured"


def look_at(
    test: str, target: Target, snapshot: Callable[[], Path | None], *, is_recording: bool
) -> Look:
    """What `test`, which runs on `target`, has recorded by now. Never raises."""
    if not is_recording:
        return Look(None, 0, _NOT_YET)
    begin_ns = _cpu_ns()
    reader = StreamReader(test)
    try:
        copy = snapshot()
        if copy is None:
            return Look(None, _cpu_ns() - begin_ns, _NO_COPY, can_come=False)
        for line in target.dump(str(copy)):
            reader.feed(line)
    except (HardstoneError, OSError) as error:
        return Look(None, _cpu_ns() - begin_ns, str(error), can_come=True)
    found = reader.finish()
    cost_ns = _cpu_ns() - begin_ns
    has_values = any(series.count for series in found.series)
    return Look(found, cost_ns) if has_values else Look(None, cost_ns, reader.problem or _NOT_YET)


def _cpu_ns() -> int:
    """Of this thread, and of the children that were waited for, as the probe that dumps."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.thread_time_ns() + round((children.ru_utime + children.ru_stime) * 1e9)
