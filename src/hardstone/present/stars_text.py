"""Stars in words, of a run, of a document and of published systems."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from math import floor

import msgspec

from hardstone.model import FORMULA, RunDocument
from hardstone.stats.conditions import names_in
from hardstone.stats.consistency import counts_instructions
from hardstone.systems.criteria import load_criteria
from hardstone.systems.published import load_studies
from hardstone.systems.rating import CategoryRating, RatedFigure, Rating, rate, rate_run
from hardstone.systems.subjects import (
    Amount,
    MeasuredRun,
    Subject,
    published_ids,
    published_system,
)

_MOST = 5
_FULL, _HALF, _EMPTY = "\N{BLACK STAR}", "\N{VULGAR FRACTION ONE HALF}", "\N{WHITE STAR}"


def stars_glyphs(stars: float) -> str:
    """Five characters; 3.5 is three full stars, a half and an empty one."""
    full, half = divmod(round(2 * stars), 2)
    return _FULL * full + _HALF * half + _EMPTY * (_MOST - full - half)


def stars_number(
    stars: float | None,
    *,
    is_at_most: bool = False,
    lowest: float | None = None,
    at_most: str = "at most ",
    to: str = " to ",
) -> str:
    """ "4.5", "at most 4.5", "1 to 4.5" for a range, "-" for none."""
    if stars is None:
        return "-"
    if lowest is not None and lowest < stars:
        return f"{lowest:g}{to}{stars:g}"
    return f"{at_most if is_at_most else ''}{stars:g}"


def certain_stars(stars: float, lowest: float | None) -> float:
    """The number of stars to draw: the lower end of a range."""
    return stars if lowest is None else lowest


def stars_text(rating: Rating) -> str:
    """The overall rating with what limits it, or why there is none."""
    if rating.overall is None:
        return f"no overall rating: {rating.why_none}"
    number = stars_number(rating.overall, is_at_most=rating.is_at_most, lowest=rating.lowest)
    text = f"{stars_glyphs(certain_stars(rating.overall, rating.lowest))} {number} of {_MOST}"
    return f"{text} ({', '.join(rating.rated_as)})" if rating.rated_as else text


def _category_text(rating: CategoryRating) -> str:
    """ "threads 3.5", "timers <= 4" where figures are missing, "messages 1 to 4" of few values."""
    return f"{rating.category} {category_number(rating, at_most='<= ')}"


def category_number(rating: CategoryRating, at_most: str = "at most ") -> str:
    """The stars of a category without its name; "none (stand-in)" where no star follows."""
    if rating.stars is None and rating.has_stand_ins:
        return "none (stand-in)"
    return stars_number(
        rating.stars, is_at_most=rating.is_at_most, lowest=rating.lowest_stars, at_most=at_most
    )


def score_text(figure: RatedFigure) -> str:
    """ "4.41", "0 to 4.41" for a range."""
    lowest = f"{figure.lowest_score:g} to " if figure.lowest_score < figure.score else ""
    return f"{lowest}{figure.score:.2f}"


def headline_reason(rated: list[tuple[MeasuredRun, Rating]]) -> str:
    """The condition of the headline and why it is that one; "" if there is only one condition."""
    if len(rated) == 1:
        return ""
    run = rated[0][0]
    condition = names_in(run.document).label(run.condition)
    return f"{condition}: the first CPU configuration under load, the lowest rating of those"


@cache
def _meanings() -> dict[float, str]:
    """What whole stars mean, in the words of the study that they are calibrated by: "good, only
    soft real-time is met"."""
    found = next(
        study.tables["rating_criteria"]
        for study in load_studies().values()
        if "rating_criteria" in study.tables
    )
    return {float(stars): words[-1] for stars, words in found.items()}


def meaning_text(rating: Rating) -> str:
    """What the overall stars mean; of a range or a bound, its upper end: "at best good, only soft
    real-time is met". Half a star means what the whole stars below it do."""
    if rating.overall is None:
        return ""
    is_bound = rating.is_at_most or (rating.lowest is not None and rating.lowest < rating.overall)
    return f"{'at best ' if is_bound else ''}{_meanings()[float(floor(rating.overall))]}"


def run_stars_lines(document: RunDocument) -> list[str]:
    """The headline of a run with its meaning, what limits it, then its categories; none where
    nothing of it is rated.

    Points of a sweep measure how large a simulation may be, which is not rated.
    """
    rated = [] if document.plan.sweep is not None else rate_run(document)
    rating = rated[0][1] if rated else None
    if rating is None:
        return []
    if document.imported is not None:  # nobody asked it for stars
        return []
    if counts_instructions(document.system):
        return [f"none: {rating.why_none}"]
    if all(one.stars is None for one in rating.categories):
        return []
    known = [one for one in rating.categories if one.stars is not None or one.has_stand_ins]
    groups = ([one for one in known if one.is_calibrated == has] for has in (True, False))
    parts = "; ".join(", ".join(map(_category_text, one)) for one in groups if one)
    if rating.overall is None:
        return [f"{parts}; no overall rating (why: --why)"]
    number = stars_number(rating.overall, is_at_most=rating.is_at_most, lowest=rating.lowest)
    drawn = stars_glyphs(certain_stars(rating.overall, rating.lowest))
    lines = [f"{drawn} {number} of {_MOST}: {meaning_text(rating)} (--why)"]
    limits = filter(None, (", ".join(rating.rated_as), headline_reason(rated)))
    return [
        *lines,
        *(f"partial rating: {'; '.join(found)}" for found in [list(limits)] if found),
        parts,
    ]


RATING_SCHEMA = "hardstone.rating-of/1"


class RatedSystem(msgspec.Struct, kw_only=True, frozen=True):
    """A run under one condition, or a published system. The headline of a run comes first."""

    id: str
    label: str
    conditions: dict[str, str]
    rating: Rating


class RatedDocument(msgspec.Struct, kw_only=True, frozen=True):
    """What `show RUN --why --json` prints."""

    schema: str
    formula: str
    systems: list[RatedSystem]


def rated_document(rated: Iterable[tuple[Subject, Rating]]) -> RatedDocument:
    """`rated`, in its order."""
    systems = [
        RatedSystem(id=one.id, label=one.label, conditions=dict(one.conditions), rating=rating)
        for one, rating in rated
    ]
    return RatedDocument(schema=RATING_SCHEMA, formula=FORMULA, systems=systems)


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
    """Rows of published systems, in the order of the studies."""
    rows = []
    for system in map(published_system, published_ids()):
        rating = rate(system)
        amounts = (one.amount(statistic) for one in system.held() for statistic in one.statistics())
        rated = [one for one in rating.categories if one.stars is not None]
        row = PublishedRow(
            id=system.id,
            name=system.label,
            study=system.conditions["study"],
            title=system.study.title,
            year=system.year,
            hardware=system.conditions.get("machine", ""),
            figure_count=sum(isinstance(amount, Amount) for amount in amounts),
            study_stars=system.stars,
            stars=rating.overall,
            is_at_most=rating.is_at_most,
            categories=[_category_text(one) for one in rated],
            formula=rating.formula,
        )
        rows.append(row)
    return rows


def missing_groups(missing: Sequence[str]) -> list[tuple[str, str]]:
    """(reason, what is missing) from "worst of THR-P-SLS/2/switch: not published"."""
    found: dict[str, list[str]] = {}
    for one in missing:
        what, _, reason = one.partition(": ")
        found.setdefault(reason, []).append(what)
    return [(reason, ", ".join(what)) for reason, what in found.items()]


def weight_text(category: CategoryRating) -> str:
    """How much a category counts in the overall rating."""
    if not category.is_calibrated:
        return "not calibrated, not in the overall mean"
    categories = load_criteria().categories
    if category.category not in categories:
        return ""
    weight = categories[category.category].weight
    return f"counts {weight} of {sum(one.weight for one in categories.values())}"
