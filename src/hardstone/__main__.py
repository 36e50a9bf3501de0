"""`hardstone`, and `python -m hardstone`: takes Ctrl-C over before the rest is loaded."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading

from hardstone.cli.ctrl_c import end_at_once

# Python's 700 would look for garbage thirty times while modules load, which leave none.
_ALLOCATIONS = 50_000
# OpenBLAS starts a thread for each CPU when numpy loads, none of which is used here. Where one is
# refused it sends this process SIGINT.
_BLAS_THREADS = "OPENBLAS_NUM_THREADS"
# What leaves something to do for the end of Python: files, databases, processes, records.
_WITH_AN_END = ("tempfile", "sqlite3", "multiprocessing", "logging")


def main() -> None:
    """Runs the command line and exits; never returns."""
    gc.set_threshold(_ALLOCATIONS)
    if _BLAS_THREADS not in os.environ:  # not there either: what this starts does not inherit it
        os.putenv(_BLAS_THREADS, "1")
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, end_at_once)
    from hardstone.cli.main import main as start

    try:
        start()
    except SystemExit as done:
        _end_at_once(done.code)
        raise


def _end_at_once(code: object) -> None:
    """Ends a process that only told something: to take Python apart takes a seventh of its time."""
    has_an_end = any(name in sys.modules for name in _WITH_AN_END)
    if has_an_end or threading.active_count() > 1 or not isinstance(code, int):
        return
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        return  # Python says it
    os._exit(code)


if __name__ == "__main__":
    main()
