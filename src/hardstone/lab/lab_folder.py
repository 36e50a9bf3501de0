"""The folder where the lab keeps kernels and what it makes of them."""

from __future__ import annotations

import os
from pathlib import Path

from hardstone.errors import InputError


def lab_folder() -> Path:
    """$HARDSTONE_LAB_DIR, $XDG_CACHE_HOME/hardstone/lab, or ~/.cache/hardstone/lab.

    It may be missing. InputError if there is no home folder to look in.
    """
    own = os.environ.get("HARDSTONE_LAB_DIR", "")
    if own.strip():
        return Path(own).absolute()
    base = os.environ.get("XDG_CACHE_HOME", "")
    if Path(base).is_absolute():
        return Path(base) / "hardstone" / "lab"
    try:
        return Path.home() / ".cache" / "hardstone" / "lab"
    except RuntimeError:
        raise InputError(
            "there is no home folder", "name another folder in HARDSTONE_LAB_DIR"
        ) from None
