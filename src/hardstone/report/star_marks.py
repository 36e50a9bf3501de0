"""What templates show stars and figures of systems with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from hardstone.present.stars_text import certain_stars, score_text, stars_number
from hardstone.present.wording import shorten
from hardstone.report.shown_figure import BRIEF_CHARACTERS, ShownFigure, shown_figure
from hardstone.systems.criteria import load_criteria
from hardstone.systems.rating import CategoryRating
from hardstone.systems.subjects import Amount
from hardstone.units import format_ns

if TYPE_CHECKING:
    from markupsafe import Markup

    from hardstone.report.compare_lines import SeriesGroup


def _shown(amount: Amount, is_exact: bool) -> ShownFigure:
    return shown_figure(amount, is_exact=is_exact)


def _brief(label: str) -> str:
    return shorten(label, BRIEF_CHARACTERS)


def _missing_groups(missing: Sequence[str]) -> list[tuple[str, str]]:
    """(reason, what is missing) from "worst of THR-P-SLS/2/switch: not published"."""
    found: dict[str, list[str]] = {}
    for one in missing:
        what, _, reason = one.partition(": ")
        found.setdefault(reason, []).append(what)
    return [(reason, ", ".join(what)) for reason, what in found.items()]


def _weight_text(category: CategoryRating) -> str:
    """How much a category counts in the overall rating."""
    if not category.is_calibrated:
        return "not calibrated, not in the overall mean"
    categories = load_criteria().categories
    if category.category not in categories:
        return ""
    weight = categories[category.category].weight
    return f"counts {weight} of {sum(one.weight for one in categories.values())}"


def _series_rows(group: SeriesGroup, has_names: bool, is_wide: bool) -> Markup:
    from hardstone.report.series_rows import series_rows  # what pages of one run do without

    return series_rows(group, has_names, is_wide)


FILTERS: dict[str, Callable[..., object]] = {
    "stars_number": stars_number,
    "certain_stars": certain_stars,
    "score_text": score_text,
    "shown": _shown,
    "brief": _brief,
    "missing_groups": _missing_groups,
    "weight_text": _weight_text,
    "duration": format_ns,
    "series_rows": _series_rows,
}
