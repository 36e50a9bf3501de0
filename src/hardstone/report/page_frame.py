"""What all pages share: templates, style, scripts with the policy that names them, and the file
that they become.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import msgspec
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from hardstone.errors import PrivilegeError
from hardstone.figure_text import shown_figure
from hardstone.files import read_regular, regular_target, replace_file
from hardstone.present.stars_text import (
    certain_stars,
    missing_groups,
    score_text,
    stars_number,
    weight_text,
)
from hardstone.units import format_ns
from hardstone.wording import clean


def own_cache() -> Path | None:
    """`$XDG_CACHE_HOME/hardstone`, by default `~/.cache/hardstone`; None without a home."""
    configured = os.environ.get("XDG_CACHE_HOME", "")
    try:
        base = Path(configured) if Path(configured).is_absolute() else Path.home() / ".cache"
    except RuntimeError:  # no home directory
        return None
    return base / "hardstone"


_IN_SCRIPT = {
    "<": "\\u003c",
    ">": "\\u003e",
    "&": "\\u0026",
    "\u2028": "\\u2028",
    "\u2029": "\\u2029",
}


def json_for_script(value: object) -> Markup:
    """`value` as JSON that cannot open or close an element of the page, or break a line."""
    text = msgspec.json.encode(value).decode()
    for character, escape in _IN_SCRIPT.items():
        text = text.replace(character, escape)
    return Markup(text)  # noqa: S704  every character that HTML knows is escaped above


def can_be_inlined(script: str) -> bool:
    """Whether `script` cannot end its element or open a comment in it."""
    lower = script.lower()
    return "</script" not in lower and "<!--" not in lower and "<script" not in lower


def content_security_policy(scripts: Iterable[str], styles: Iterable[str]) -> str:
    """Policy that loads nothing and runs only the given inline scripts and styles."""
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src {_hashes(scripts)}",
            f"style-src {_hashes(styles)}",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )


def _hashes(texts: Iterable[str]) -> str:
    digests = [hashlib.sha256(text.encode()).digest() for text in texts]
    return " ".join(f"'sha256-{base64.b64encode(one).decode()}'" for one in digests) or "'none'"


_LEAST_BYTES = 100_000
_DIGEST_BYTES = 64
_MOST_BYTES = 64 * 2**20
_SNIPPET = "window.vegaEmbed = vegaEmbed;"


# Debian has no package of it, so hardstone's does without.
_NO_RENDERER = (
    "reports need vl-convert-python, which draws their charts and is not installed",
    "install hardstone with all that it needs: pipx install hardstone",
)


def renderer() -> Any:
    """vl_convert, which draws the charts. PrivilegeError where it is not installed."""
    try:
        import vl_convert  # type: ignore[import-untyped,unused-ignore]
    except ImportError as error:
        raise PrivilegeError(*_NO_RENDERER) from error
    return vl_convert


def _build_bundle() -> str | None:
    """Vega, Vega-Lite and Vega-Embed as one script; None if the build fails."""
    try:
        script = str(renderer().javascript_bundle(_SNIPPET))
    except (ValueError, RuntimeError, OSError):
        return None
    return script if _is_sound(script) else None


def load_bundle(
    directory: Path | None = None, build: Callable[[], str | None] = _build_bundle
) -> str | None:
    """The script of `build`, cached; None if the build fails. PrivilegeError without a renderer.

    The cache is one file in `directory`: SHA-256, line end, script. A file that does not match
    its digest is built again. If the directory is not writable, every call builds.
    """
    try:
        version = metadata.version("vl-convert-python")
    except metadata.PackageNotFoundError as error:
        raise PrivilegeError(*_NO_RENDERER) from error
    place = directory or own_cache()
    path = None
    if place:
        snippet = hashlib.sha256(_SNIPPET.encode()).hexdigest()[:8]
        path = place / f"charts-{version}-{snippet}.js"
    kept = _read(path) if path else None
    if kept is not None:
        return kept
    built = build()
    if built is not None and path is not None:
        _write(path, built)
    return built


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


_TEMPLATES = Path(__file__).parent / "templates"


# A line never ends between a number and its unit.
_AMOUNT = re.compile(r"(?<=\d) (?=(?:[num]?s|[kMG]?B|[kMG]?Hz|%)(?!\w))")
_FILTERS: dict[str, Callable[..., object]] = {
    "stars_number": stars_number,
    "certain_stars": certain_stars,
    "score_text": score_text,
    "shown": lambda amount, is_exact: shown_figure(amount, is_exact=is_exact),
    "missing_groups": missing_groups,
    "weight_text": weight_text,
    "duration": format_ns,
    "whole": lambda text: _AMOUNT.sub("\N{NO-BREAK SPACE}", text),
}


@cache
def environment(**filters: Callable[..., object]) -> Environment:
    """Templates in which every text is escaped and cleaned of control characters."""
    found = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_finalize,
    )
    found.filters.update(_FILTERS | filters)
    return found


def _finalize(value: object) -> object:
    return value if isinstance(value, Markup) or not isinstance(value, str) else clean(value)


def head_parts(
    bundle: str | None, *, styles: Sequence[str] = (), scripts: Sequence[str] = ()
) -> dict[str, Any]:
    """Style and scripts with the policy that names them by their digests.

    `bundle` makes charts interactive, with `report.js`; None: they are static. `styles` and
    `scripts` are files of this package that the page has besides those of all pages.
    """
    style = "".join(_own(name) for name in ("report.css", *styles))
    texts = [] if bundle is None else [bundle, _own("report.js")]
    texts += [_own(name) for name in scripts]
    return {
        "policy": content_security_policy(texts, [style]),
        "style": Markup(style),  # noqa: S704  files of this package
        "scripts": [Markup(one) for one in texts],  # noqa: S704
    }


@cache
def _own(name: str) -> str:
    return (_TEMPLATES / name).read_text("utf-8")


def write_page(path: Path, render: Callable[[], str]) -> None:
    """Writes what `render` returns to `path` atomically, following symbolic links.

    InputError if `path` exists and is not a regular file; raises OSError.
    """
    target = regular_target(path)
    text = render()
    # Rendering takes a while, so check the path again.
    data = text.encode("utf-8", "xmlcharrefreplace")
    replace_file(regular_target(target), data, None, is_durable=False)
