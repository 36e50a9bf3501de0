"""Filters for templates that show stars and figures of systems."""

from __future__ import annotations

from jinja2 import Environment

from hardstone.present.wording import shorten
from hardstone.report.compare_lines import ShownFigure, shown_figure
from hardstone.report.page_frame import environment
from hardstone.subjects import Amount
from hardstone.units import format_ns

_BRIEF = 32


def with_stars() -> Environment:
    """The environment of pages, with the filters of `stars.html.j2`."""
    found = environment()
    found.filters.update(stars_number=stars_number, shown=_shown, brief=_brief, duration=format_ns)
    return found


def stars_number(stars: float) -> str:
    """Halves: "3.5", "4"."""
    return f"{stars:.1f}".removesuffix(".0")


def _shown(amount: Amount, is_exact: bool) -> ShownFigure:
    return shown_figure(amount, is_exact=is_exact)


def _brief(label: str) -> str:
    return shorten(label, _BRIEF)
