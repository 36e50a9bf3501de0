"""The file of a report: a regular file, or a name that does not exist yet."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from hardstone.errors import InputError


def regular_target(path: Path) -> Path:
    """The file that a report at `path` replaces, which may not exist yet.

    A rename replaces anything with that name, as root even a device. So links are resolved
    first, and InputError is raised unless the end is a regular file. Raises OSError.
    """
    target = Path(os.path.realpath(path))
    # Both: a link such as /dev/stdout names a pipe that has no path of its own.
    is_there, is_target_there = _is_regular(path), _is_regular(target)
    if False in (is_there, is_target_there) or is_there != is_target_there:
        raise InputError(f"{path} is not a regular file", "name another file with -o")
    return target


def _is_regular(path: Path) -> bool | None:
    """None where nothing is."""
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except FileNotFoundError:
        return None
