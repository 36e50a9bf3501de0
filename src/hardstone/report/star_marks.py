"""What templates show stars and figures of systems with."""

from __future__ import annotations

from collections.abc import Callable

from hardstone.present.stars_text import stars_number
from hardstone.present.wording import shorten
from hardstone.report.compare_lines import ShownFigure, shown_figure
from hardstone.subjects import Amount
from hardstone.units import format_ns

_BRIEF = 32


def _shown(amount: Amount, is_exact: bool) -> ShownFigure:
    return shown_figure(amount, is_exact=is_exact)


def _brief(label: str) -> str:
    return shorten(label, _BRIEF)


FILTERS: dict[str, Callable[..., object]] = {
    "stars_number": stars_number,
    "shown": _shown,
    "brief": _brief,
    "duration": format_ns,
}
