"""`hardstone`, and `python -m hardstone`: takes Ctrl-C over before the rest is loaded."""

from __future__ import annotations

import signal

from hardstone.cli.ctrl_c import end_at_once


def main() -> None:
    """Runs the command line and exits; never returns."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, end_at_once)
    from hardstone.cli.main import main as start

    start()


if __name__ == "__main__":
    main()
