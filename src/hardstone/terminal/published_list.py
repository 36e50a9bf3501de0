"""`hardstone list published`: the systems of the studies, by study."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import IO

from rich.console import Console
from rich.text import Text

from hardstone.present.published_rows import PublishedRow
from hardstone.present.stars_text import stars_number
from hardstone.present.wording import one_line
from hardstone.terminal.console import make_console, print_command

_ID, _FIGURES, _STUDY, _OURS = 26, 9, 7, 11
_INDENT = "  "
_LEGEND = """\
study: the stars that the study gave. hardstone: those that the same figures have by the formula
of docs/method/rating.md, <= where figures are missing. Where each star comes from:"""
_WHY = "hardstone show published:qnx --why"


def print_published_systems(rows: Sequence[PublishedRow], stream: IO[str] | None = None) -> None:
    """A line for each system; name, hardware and the rated categories below it."""
    console = make_console(stream)
    study = ""
    for one in rows:
        if one.study != study:
            study = one.study
            _print_wrapped(console, f"{one.study}: {one.title}", "", "bold")
            head = f"{'figures':>{_FIGURES}}{'study':>{_STUDY}}{'hardstone':>{_OURS}}"
            console.print(Text(f"{'system':{_ID}}{head}"), soft_wrap=True)
        bound = "<= " if one.is_at_most and one.stars is not None else ""
        figures = f"{one.figure_count:>{_FIGURES}}{stars_number(one.study_stars):>{_STUDY}}"
        ours = f"{bound + stars_number(one.stars):>{_OURS}}"
        console.print(Text(f"{one.id:{_ID}}{figures}{ours}", style="cyan"), soft_wrap=True)
        for text in (f"{one.name}; {one.hardware}", ", ".join(one.categories)):
            _print_wrapped(console, text.removesuffix("; "), _INDENT, "")
        if one is rows[-1] or rows[rows.index(one) + 1].study != study:
            console.print()
    _print_wrapped(console, _LEGEND, "", "")
    print_command(console, _WHY)


def _print_wrapped(console: Console, text: str, indent: str, style: str) -> None:
    for line in textwrap.wrap(one_line(text), console.width - len(indent), break_on_hyphens=False):
        console.print(Text(indent) + Text(line, style=style), soft_wrap=True)
