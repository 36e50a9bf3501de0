"""Ctrl-C outside of a measurement: the first unwinds, the next one ends at once."""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType

from hardstone.errors import EXIT_INTERRUPTED


def end_at_once(number: int, frame: FrameType | None) -> None:
    """The handler while nothing has begun, or all that was begun is being closed."""
    try:
        os.write(2, b"hardstone: interrupted\n")  # the signal may have come within a print
    finally:
        os._exit(EXIT_INTERRUPTED)


def unwind(number: int, frame: FrameType | None) -> None:
    """The handler of a command: KeyboardInterrupt once, so that what was begun is closed."""
    signal.signal(signal.SIGINT, end_at_once)
    raise KeyboardInterrupt


def take_over() -> None:
    """From now on Ctrl-C is one of the two above; a Ctrl-C that is ignored stays so."""
    if signal.getsignal(signal.SIGINT) in (signal.default_int_handler, end_at_once):
        sys.unraisablehook = _unraisable
        signal.signal(signal.SIGINT, unwind)


def ignore() -> None:
    """All is done and said: the exit code stands, whatever comes while Python shuts down."""
    if signal.getsignal(signal.SIGINT) in (signal.default_int_handler, end_at_once, unwind):
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _unraisable(problem: sys.UnraisableHookArgs) -> None:
    """Python swallows what is raised in a finalizer, and would print a traceback."""
    if isinstance(problem.exc_value, KeyboardInterrupt):
        end_at_once(signal.SIGINT, None)
    sys.__unraisablehook__(problem)
