"""What a measuring command prints to standard output: its reader may leave, or the disk be full."""

from __future__ import annotations

import sys
from collections.abc import Callable

from hardstone.cli.messages import abandon, tell
from hardstone.errors import EXIT_OK, EXIT_USAGE


def printed(show: Callable[[], None]) -> int | None:
    """Calls `show`: None if all of it went to standard output, else the exit code."""
    try:
        show()
        sys.stdout.flush()
    except BrokenPipeError:
        abandon(sys.stdout)
        tell("the reader of the output left")
        return EXIT_OK
    except OSError as error:
        abandon(sys.stdout)
        reason = error.strerror or str(error)
        tell(f"standard output cannot be written: {reason}")
        return EXIT_USAGE
    return None
