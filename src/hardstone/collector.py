"""What Python does with objects that are not needed any more, where it costs more than it frees."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_KEPT: list[object] = []


@contextmanager
def collector_paused() -> Iterator[None]:
    """No search for cycles while objects are made that have none: with twenty runs in memory that
    search took three times as long as reading them."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def keep(*found: object) -> None:
    """Keeps the most that a command holds until the command after it, or to the end. No search for
    cycles goes through what there is by now: one through twenty runs takes a third of a second."""
    _KEPT[:] = found
    gc.freeze()


def end_with_objects() -> None:
    """What was kept is left to the system when the process ends now: to free it object by object
    takes as long as that search."""
    if _KEPT:
        _KEPT.append([_KEPT])  # nothing but a search for cycles frees it
        gc.freeze()
