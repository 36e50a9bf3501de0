"""Untrusted data in HTML: JSON in script elements, and the page's security policy."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable

import msgspec
from markupsafe import Markup

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
