"""A table of a few rows for a notebook: escaped HTML without style, script or link."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from hardstone.present.wording import shorten

_MOST_ROWS = 40
_MOST_CHARACTERS = 200


def small_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """The first rows of a table; `rows` and titles are untrusted."""
    head = "".join(f"<th scope=col>{_shown(one)}</th>" for one in columns)
    body = "".join(_row(one) for one in rows[:_MOST_ROWS])
    more = len(rows) - _MOST_ROWS
    rest = f"<p>and {more} more rows</p>" if more > 0 else ""
    return (
        f"<table><caption>{_shown(title)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table>{rest}"
    )


def _row(cells: Sequence[str]) -> str:
    first, *others = cells
    said = "".join(f"<td>{_shown(one)}</td>" for one in others)
    return f"<tr><th scope=row>{_shown(first)}</th>{said}</tr>"


def _shown(text: str) -> str:
    return escape(shorten(text, _MOST_CHARACTERS), quote=True)
