"""Ctrl-C outside of a measurement: the first one unwinds, the next one exits at once.

SIGTERM and SIGHUP end the tool at once, unless something that it started must end with it.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from hardstone.errors import EXIT_INTERRUPTED

_TERMINATIONS = (signal.SIGTERM, signal.SIGHUP)


def end_at_once(number: int, frame: FrameType | None) -> None:
    """The handler before a command begins, and while one unwinds."""
    try:
        os.write(2, b"hardstone: interrupted\n")  # the signal may have interrupted a print
    finally:
        os._exit(EXIT_INTERRUPTED)


def unwind(number: int, frame: FrameType | None) -> None:
    """The handler during a command: one KeyboardInterrupt, so that whatever is open is closed."""
    signal.signal(signal.SIGINT, end_at_once)
    raise KeyboardInterrupt


@contextmanager
def unwind_on_termination() -> Iterator[None]:
    """Within, SIGTERM and SIGHUP do what Ctrl-C does, so that whatever was started is ended.

    Only the first: a terminal that closes sends several. One that is ignored (nohup) stays
    ignored, and a campaign within has handlers of its own. Only the main thread can set handlers;
    in another one nothing changes.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    wanted = [one for one in _TERMINATIONS if signal.getsignal(one) is signal.SIG_DFL]
    for number in wanted:
        signal.signal(number, _unwind_once)
    try:
        yield
    finally:
        for number in wanted:
            signal.signal(number, signal.SIG_DFL)


def _unwind_once(number: int, frame: FrameType | None) -> None:
    for one in _TERMINATIONS:
        if signal.getsignal(one) is _unwind_once:
            signal.signal(one, signal.SIG_IGN)
    raise KeyboardInterrupt


def take_over() -> None:
    """Installs the handlers above; a Ctrl-C that is ignored stays ignored."""
    if signal.getsignal(signal.SIGINT) in (signal.default_int_handler, end_at_once):
        sys.unraisablehook = _unraisable
        signal.signal(signal.SIGINT, unwind)


def ignore() -> None:
    """Ignores Ctrl-C while Python shuts down, so that the exit code stands."""
    if signal.getsignal(signal.SIGINT) in (signal.default_int_handler, end_at_once, unwind):
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _unraisable(problem: sys.UnraisableHookArgs) -> None:
    """Exits on a Ctrl-C in a finalizer, where Python would print a traceback and go on."""
    if isinstance(problem.exc_value, KeyboardInterrupt):
        end_at_once(signal.SIGINT, None)
    sys.__unraisablehook__(problem)
