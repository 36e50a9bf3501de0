"""The formula of the rating: docs/method/rating.md explains it, criteria.toml has its numbers.

It was worked out from what the study of 2012 published of three systems. It is monotone: no
improvement of a figure, and no behaviour that passes, lowers a score. A missing figure counts as
perfect, so each that becomes known can only lower one; where it is missing, stars are "at most".
"""

from __future__ import annotations

from dataclasses import replace

from hardstone.catalogue import load_catalogue
from hardstone.model import RunDocument
from hardstone.rating.category_score import figure_score, figures_score, weighted_mean
from hardstone.rating.configured import configuration_of, is_loaded, rated_as
from hardstone.rating.criteria import (
    CategoryCriteria,
    FigureCriterion,
    Role,
    load_criteria,
    rated_figures,
)
from hardstone.rating.curve import halves
from hardstone.rating.found_figures import find_figure, rated_value
from hardstone.rating.half_more import category_half_more, overall_half_more
from hardstone.rating.overall_caps import overall_caps
from hardstone.rating.stars import CategoryRating, RatedFigure, Rating
from hardstone.subjects import MeasuredRun, Missing, PublishedSystem, Subject, subjects_of

_MOST_CHARACTERS = 200


def rated_categories() -> list[str]:
    """The rated categories, those that the formula is calibrated for first."""
    return list(load_criteria().categories)


def rate(subject: Subject) -> Rating:
    """The stars of `subject`."""
    categories = [_category(subject, *one) for one in load_criteria().categories.items()]
    scores = {one.category: one.score for one in categories if one.score is not None}
    unknown = [one.category for one in categories if one.is_calibrated and one.score is None]
    configuration = configuration_of(subject)
    mean = weighted_mean(scores)
    caps = overall_caps(categories, configuration)
    score = None if unknown else min(mean, *(cap.score for cap in caps))
    rating = Rating(
        overall=None if score is None else halves(score),
        score=score,
        is_at_most=any(one.is_at_most for one in categories),
        why_none=f"no worst figure is known of {', '.join(unknown)}" if unknown else "",
        categories=categories,
        caps=[] if unknown else [cap.text for cap in caps if cap.score < mean],
        rated_as=rated_as(subject),
        configuration=configuration,
        study_stars=subject.stars if isinstance(subject, PublishedSystem) else None,
    )
    return replace(rating, next_half=overall_half_more(rating))


def _category(subject: Subject, name: str, criteria: CategoryCriteria) -> CategoryRating:
    figures: list[RatedFigure] = []
    missing: list[str] = []
    late: list[str] = []
    for criterion in rated_figures(name):
        for role in criterion.roles:
            found = _rated_figure(subject, criterion, role)
            if isinstance(found, Missing):
                missing.append(f"{role} of {criterion.address}: {_brief(found.reason)}")
                continue
            figures.append(found)
            if criterion.fails_if_any and rated_value(found.amount) > 0:
                late.append(f"{found.address}: {criterion.fails_if_any}")
    failed, unknown = _behaviours(subject, criteria.behaviours)
    worst = [one for one in figures if one.role == "worst"]
    score = figures_score(name, figures) if worst else None
    if score is not None and (failed or late):
        score = min(score, load_criteria().category_cap)
    rating = CategoryRating(
        category=name,
        stars=None if score is None else halves(score),
        score=score,
        is_calibrated=criteria.weight > 0,
        is_at_most=bool(missing or unknown) or _is_open(figures),
        figures=figures,
        decisive=min(worst, key=_place_of_worst, default=None),
        failed=failed,
        failed_here=late,
        missing=missing + unknown,
    )
    return replace(rating, next_half=category_half_more(rating))


def _is_open(figures: list[RatedFigure]) -> bool:
    """Whether a figure of which only a lower bound is known could lower the score. Where another
    worst figure has the lowest score already, a worst one cannot."""
    lowest = min((one.score for one in figures if one.role == "worst"), default=0.0)
    return any(one.amount.above and (one.role != "worst" or lowest > 0) for one in figures)


def _place_of_worst(figure: RatedFigure) -> tuple[float, float]:
    """The lowest score first, and of those the largest figure."""
    return figure.score, figure.block_ns - rated_value(figure.amount)


def _rated_figure(
    subject: Subject, criterion: FigureCriterion, role: Role
) -> RatedFigure | Missing:
    found = find_figure(subject, criterion, criterion.statistic if role == "worst" else "mean")
    if isinstance(found, Missing):
        return found
    score = figure_score(rated_value(found.amount), role, found.block_ns)
    return RatedFigure(found.address, role, found.amount, score, found.instead, found.block_ns)


def _behaviours(subject: Subject, tests: list[str]) -> tuple[list[str], list[str]]:
    """Counted claims that fail, and tests of which none is known."""
    failed: list[str] = []
    unknown: list[str] = []
    for test in tests:
        claims = subject.verdicts(test)
        if isinstance(claims, Missing):
            unknown.append(f"{test}: {_brief(claims.reason)}")
            continue
        entry = load_catalogue().entry(test)
        counted = [one for one in claims if not one.passed and not entry.why_uncounted(one.name)]
        failed += [
            f"{test} {one.evidence if subject.is_published else one.name}" for one in counted
        ]
    return failed, unknown


def _brief(reason: str) -> str:
    """A reason may list every series of a result."""
    is_long = len(reason) > _MOST_CHARACTERS
    return f"{reason[:_MOST_CHARACTERS]}\N{HORIZONTAL ELLIPSIS}" if is_long else reason


def rate_run(document: RunDocument) -> list[tuple[MeasuredRun, Rating]]:
    """A rating for each condition of a run, the headline first: under load, in the CPU
    configuration that the plan names first; of several such, the lowest."""
    rated = [(one, rate(one)) for one in subjects_of(document)]
    return sorted(rated, key=lambda one: _place(*one))


def _place(run: MeasuredRun, rating: Rating) -> tuple[bool, bool, float]:
    configs = run.document.plan.cpu_configs[:1] or [run.document.plan.cpu_config]
    is_other = run.condition.cpu_config not in configs
    score = float("inf") if rating.score is None else rating.score
    return is_other, not is_loaded(run), score
