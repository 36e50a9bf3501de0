"""Ctrl-C outside of a measurement: the first one unwinds, the next one exits at once."""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType

from hardstone.errors import EXIT_INTERRUPTED


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
