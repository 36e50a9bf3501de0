"""Lists on a terminal: tests and published systems."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hardstone.calling import as_typed
from hardstone.catalogue import kind_of
from hardstone.model import Descriptor
from hardstone.terminal.light_table import LightLines, print_light_table
from hardstone.wording import clean, one_line

if TYPE_CHECKING:
    from hardstone.present.stars_text import PublishedRow

_HEADS = ("test", "title", "kind", "origin", "needs")
_WRAPPING = (False, True, False, True, True)


def print_tests(tests: Sequence[Descriptor]) -> None:
    """Prints one row for each test."""
    rows = [
        (test.id, test.title, kind_of(test.id), test.source, ", ".join(test.needs) or "-")
        for test in tests
    ]
    print_light_table(_HEADS, rows, _WRAPPING)


_ID, _FIGURES, _STUDY, _OURS = 26, 9, 7, 11
_INDENT = "  "


_LEGEND = """\
study: the stars that the study gave. hardstone: those that the same figures have by the formula
of docs/method/rating.md, <= where figures are missing. Where each star comes from:"""


_WHY = "hardstone show published:qnx --why"


def print_published_systems(rows: Sequence[PublishedRow]) -> None:
    """A line for each system; name, hardware and the rated categories below it."""
    from hardstone.present.stars_text import stars_number  # the rating: not for a list of tests

    screen = LightLines()
    study = ""
    for one in rows:
        if one.study != study:
            study = one.study
            _print_wrapped(screen, f"{one.study}: {one.title}", "", "bold")
            head = f"{'figures':>{_FIGURES}}{'study':>{_STUDY}}{'hardstone':>{_OURS}}"
            screen.line(f"{'system':{_ID}}{head}")
        bound = "<= " if one.is_at_most and one.stars is not None else ""
        figures = f"{one.figure_count:>{_FIGURES}}{stars_number(one.study_stars):>{_STUDY}}"
        ours = f"{bound + stars_number(one.stars):>{_OURS}}"
        screen.line(f"{one.id:{_ID}}{figures}{ours}", "cyan")
        for text in (f"{one.name}; {one.hardware}", ", ".join(one.categories)):
            _print_wrapped(screen, text.removesuffix("; "), _INDENT, "")
        if one is rows[-1] or rows[rows.index(one) + 1].study != study:
            screen.line()
    _print_wrapped(screen, _LEGEND, "", "")
    screen.parts([" " * 4, (clean(as_typed(_WHY)), "cyan")])


def _print_wrapped(screen: LightLines, text: str, indent: str, style: str) -> None:
    for line in textwrap.wrap(one_line(text), screen.width - len(indent), break_on_hyphens=False):
        screen.parts([indent, (line, style)])
