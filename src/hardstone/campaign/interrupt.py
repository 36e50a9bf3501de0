"""Ctrl-C and SIGTERM: the first signal stops and keeps results, the second quits now."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from hardstone.targets.base import Stop

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def stop_on_signals(stop: Stop) -> Iterator[None]:
    """Within, the first signal sets `stop`, the second aborts it, and the third does what
    Ctrl-C did before.

    A signal that is ignored (nohup) stays ignored. Only the main thread can set handlers; in
    another one nothing changes.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    wanted = [number for number in _SIGNALS if before[number] is not signal.SIG_IGN]
    take = _handler(stop, before[signal.SIGINT])
    for number in wanted:
        signal.signal(number, take)
    try:
        yield
    finally:
        for number in wanted:
            if signal.getsignal(number) is take:  # what an interrupt has set stays
                signal.signal(number, before[number])


def _handler(stop: Stop, interrupt: object) -> Callable[[int, FrameType | None], None]:
    def take(number: int, frame: FrameType | None) -> None:
        if stop.is_abort:
            if callable(interrupt):
                interrupt(number, frame)
            raise KeyboardInterrupt
        if stop.is_set():
            stop.abort()
        else:
            stop.set()

    return take
