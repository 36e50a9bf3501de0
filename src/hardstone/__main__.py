"""`hardstone`, and `python -m hardstone`: takes Ctrl-C over before the rest is loaded."""

from __future__ import annotations

import gc
import signal

from hardstone.cli.ctrl_c import end_at_once

# Python's 700 would look for garbage thirty times while modules load, which leave none.
_ALLOCATIONS = 50_000


def main() -> None:
    """Runs the command line and exits; never returns."""
    gc.set_threshold(_ALLOCATIONS)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, end_at_once)
    from hardstone.cli.main import main as start

    start()


if __name__ == "__main__":
    main()
