"""The folder of the user for what is made once: scripts of charts, compiled templates."""

from __future__ import annotations

import os
from pathlib import Path


def own_cache() -> Path | None:
    """`$XDG_CACHE_HOME/hardstone`, by default `~/.cache/hardstone`; None without a home."""
    configured = os.environ.get("XDG_CACHE_HOME", "")
    try:
        base = Path(configured) if Path(configured).is_absolute() else Path.home() / ".cache"
    except RuntimeError:  # no home directory
        return None
    return base / "hardstone"
