"""Every published system with its study, and the stars of the study beside those of hardstone."""

from __future__ import annotations

import msgspec

from hardstone.present.stars_text import category_text
from hardstone.systems.rating import rate
from hardstone.systems.subjects import Amount, PublishedSystem, published_ids, published_system


class PublishedRow(msgspec.Struct, kw_only=True, frozen=True):
    """`figure_count`: values and bounds; `stars`: by the formula; None: too little is known.

    `study_stars`: what the study gave; None: it gave none. `categories` in words: "threads <= 4".
    """

    id: str
    name: str
    study: str
    title: str
    year: str
    hardware: str
    figure_count: int
    study_stars: float | None
    stars: float | None
    is_at_most: bool
    categories: list[str]
    formula: str


def published_rows() -> list[PublishedRow]:
    """In the order of the studies."""
    return [_row(published_system(key)) for key in published_ids()]


def _row(system: PublishedSystem) -> PublishedRow:
    rating = rate(system)
    conditions = system.conditions
    return PublishedRow(
        id=system.id,
        name=system.label,
        study=conditions["study"],
        title=system.study.title,
        year=system.year,
        hardware=conditions.get("machine", ""),
        figure_count=_figure_count(system),
        study_stars=system.stars,
        stars=rating.overall,
        is_at_most=rating.is_at_most,
        categories=[category_text(one) for one in rating.categories if one.stars is not None],
        formula=rating.formula,
    )


def _figure_count(system: PublishedSystem) -> int:
    """Values and bounds, of the heaviest load where the study has several."""
    return sum(
        isinstance(one.amount(statistic), Amount)
        for one in system.held()
        for statistic in one.statistics()
    )
