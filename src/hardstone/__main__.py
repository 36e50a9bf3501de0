"""`hardstone`, and `python -m hardstone`: takes Ctrl-C over before the rest is loaded."""

from __future__ import annotations

import gc
import os
import signal

from hardstone.cli.ctrl_c import end_at_once

# Python's 700 would look for garbage thirty times while modules load, which leave none.
_ALLOCATIONS = 50_000
# OpenBLAS starts a thread for each CPU when numpy loads, none of which is used here. Where one is
# refused it sends this process SIGINT.
_BLAS_THREADS = "OPENBLAS_NUM_THREADS"


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
    finally:
        gc.freeze()  # the last searches go through nothing: they take a fifth of a short command


if __name__ == "__main__":
    main()
