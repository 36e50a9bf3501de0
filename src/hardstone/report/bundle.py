"""The scripts for interactive charts, built once per version and cached."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

from hardstone.files import read_regular, replace_file
from hardstone.report.own_cache import own_cache
from hardstone.report.safe import can_be_inlined

_LEAST_BYTES = 100_000
_DIGEST_BYTES = 64
_MOST_BYTES = 64 * 2**20
_SNIPPET = "window.vegaEmbed = vegaEmbed;"


def build_bundle() -> str | None:
    """Vega, Vega-Lite and Vega-Embed as one script; None if the build fails."""
    import vl_convert

    try:
        script = str(vl_convert.javascript_bundle(_SNIPPET))
    except (ValueError, RuntimeError, OSError):
        return None
    return script if _is_sound(script) else None


def load_bundle(
    directory: Path | None = None, build: Callable[[], str | None] = build_bundle
) -> str | None:
    """The script of `build`, cached; None if the build fails.

    The cache is one file in `directory`: SHA-256, line end, script. A file that does not match
    its digest is built again. If the directory is not writable, every call builds.
    """
    place = directory or own_cache()
    path = place / _file_name() if place else None
    kept = _read(path) if path else None
    if kept is not None:
        return kept
    built = build()
    if built is not None and path is not None:
        _write(path, built)
    return built


def _file_name() -> str:
    snippet = hashlib.sha256(_SNIPPET.encode()).hexdigest()[:8]
    return f"charts-{metadata.version('vl-convert-python')}-{snippet}.js"


def _is_sound(script: str) -> bool:
    return len(script) >= _LEAST_BYTES and can_be_inlined(script)


def _read(path: Path) -> str | None:
    try:
        data = read_regular(path, _MOST_BYTES)
        if path.stat().st_uid != os.getuid():
            return None
        digest, script = data[:_DIGEST_BYTES], data[_DIGEST_BYTES + 1 :]
        matches = hashlib.sha256(script).hexdigest().encode() == digest
        text = script.decode()
    except (OSError, UnicodeDecodeError):
        return None
    return text if matches and _is_sound(text) else None


def _write(path: Path, script: str) -> None:
    data = script.encode()
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        digest = hashlib.sha256(data).hexdigest().encode()
        replace_file(path, digest + b"\n" + data, 0o600, is_durable=False)
    except OSError:
        return
