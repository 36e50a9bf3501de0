"""Where tests of files make them: the folder of --dir, or that of the store on this machine."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hardstone.errors import InputError
from hardstone.store import default_root

_LOCAL = "local"
_LONGEST = 180  # of the probe


def typed_folder(options: Mapping[str, Any], target: str) -> str | None:
    """The folder of --dir; a relative one is of this machine."""
    typed: str | None = options.get("folder")
    return typed if typed is None or target != _LOCAL else str(Path(typed).absolute())


def own_folder(options: Mapping[str, Any], target: str) -> str | None:
    """The folder for the probe of `target` without --dir; None leaves it to the probe."""
    if target != _LOCAL:
        return None
    try:
        path = str((options["store"] or default_root()).absolute())
    except InputError:  # no home folder: opening the store tells it
        return None
    return path if len(os.fsencode(path)) <= _LONGEST and path.isprintable() else None


def folder_problems(options: Mapping[str, Any], target: str) -> list[str]:
    """What is wrong with the folder that was typed. On another machine its probe finds that out."""
    typed: str | None = options.get("folder")
    if typed is None:
        return []
    cause = _cause(typed, is_local=target == _LOCAL)
    return [] if cause is None else [f"--dir: {cause}; name a folder for files"]


def _cause(typed: str, *, is_local: bool) -> str | None:
    if not typed.strip() or not typed.isprintable():
        return "the name is empty or not printable"
    if not is_local and not typed.startswith("/"):
        return f"{typed} is no absolute path, which one on another machine must be"
    path = Path(typed).absolute()
    if len(os.fsencode(path)) > _LONGEST:
        return f"the name is longer than {_LONGEST} bytes"
    return _cause_here(path) if is_local else None


def _cause_here(path: Path) -> str | None:
    try:
        if not stat.S_ISDIR(path.stat().st_mode):
            return f"{path} is not a folder"
    except OSError as error:
        return f"{path}: {error.strerror or error}"
    return None if os.access(path, os.W_OK | os.X_OK) else f"{path} cannot be written"
