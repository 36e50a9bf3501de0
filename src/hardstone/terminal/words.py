"""Untrusted text for the terminal."""

from __future__ import annotations

from rich.text import Text

from hardstone.present.wording import one_line


def words(text: str, style: str = "") -> Text:
    """Untrusted text without controls and without markup."""
    return Text(one_line(text), style=style)
