"""The formula of the rating: docs/method/rating.md explains it, criteria.toml has its numbers.

It was worked out from what the study of 2012 published of three systems. It is monotone: no
improvement of a figure, and no behaviour that passes, lowers a score. A missing figure counts as
perfect, so each that becomes known can only lower one; where it is missing, stars are "at most".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hardstone.catalogue import load_catalogue
from hardstone.model import RunDocument
from hardstone.rating.category_score import (
    figure_score,
    figures_score,
    lowest_category_score,
    weighted_mean,
)
from hardstone.rating.configured import configuration_of, is_loaded, rated_as
from hardstone.rating.criteria import (
    CategoryCriteria,
    FigureCriterion,
    Role,
    load_criteria,
    rated_figures,
)
from hardstone.rating.curve import BEST, halves
from hardstone.rating.found_figures import find_figure, rated_value
from hardstone.rating.half_more import category_half_more, overall_half_more
from hardstone.rating.overall_caps import lowest_overall, overall_caps
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
    is_range = any(one.lowest_stars is not None for one in categories)
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
        rated_as=_rated_as(subject, categories),
        configuration=configuration,
        study_stars=subject.stars if isinstance(subject, PublishedSystem) else None,
        lowest=halves(min(lowest_overall(categories, configuration), score))
        if is_range and score is not None
        else None,
    )
    return replace(rating, next_half=overall_half_more(rating))


def _category(subject: Subject, name: str, criteria: CategoryCriteria) -> CategoryRating:
    if criteria.why_no_stars:
        return _not_rated(name, criteria)
    figures: list[RatedFigure] = []
    missing: list[str] = []
    for criterion in rated_figures(name):
        for role in criterion.roles:
            found = _rated_figure(subject, criterion, role)
            if isinstance(found, Missing):
                missing.append(f"{role} of {criterion.address}: {_brief(found.reason)}")
                continue
            figures.append(found)
    failed, unknown = _behaviours(subject, criteria.behaviours)
    worst = [one for one in figures if one.role == "worst"]
    cap = load_criteria().category_cap
    score = figures_score(name, figures) if worst else None
    if score is not None and failed:
        score = min(score, cap)
    own = [one for one in worst if not one.is_stand_in]
    lowest = min(lowest_category_score(name, figures), cap if failed or unknown else BEST)
    is_range = bool(worst) and any(one.why_range for one in figures)
    rating = CategoryRating(
        category=name,
        stars=halves(score) if score is not None and own else None,
        score=score,
        is_calibrated=criteria.weight > 0,
        is_at_most=bool(missing or unknown) or _is_open(figures),
        figures=figures,
        decisive=min(own, key=_place_of_worst, default=None),
        failed=failed,
        missing=missing + unknown,
        lowest_stars=halves(lowest) if is_range else None,
        lowest_score=lowest,
        has_unknown_claims=bool(unknown),
    )
    return replace(rating, next_half=category_half_more(rating))


def _not_rated(name: str, criteria: CategoryCriteria) -> CategoryRating:
    return CategoryRating(
        category=name,
        stars=None,
        score=None,
        is_calibrated=False,
        is_at_most=False,
        figures=[],
        decisive=None,
        failed=[],
        missing=[],
        why_no_stars=criteria.why_no_stars,
    )


def _rated_as(subject: Subject, categories: Sequence[CategoryRating]) -> list[str]:
    """Where stars are a range, the headline says what of."""
    found = rated_as(subject)
    stand_ins = [one.category for one in categories if one.has_stand_ins]
    if stand_ins:
        found.append(f"stand-ins: {' '.join(stand_ins)}")
    few = [one.category for one in categories if one.has_few_values]
    if few:
        is_all = len(few) == sum(bool(one.figures) for one in categories)
        found.append("too few values" if is_all else f"too few values: {' '.join(few)}")
    return found


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
    why_range = found.instead if found.is_stand_in else found.too_few
    # More values can only raise a worst; a mean and what a device would take may be anything.
    is_bound = role == "worst" and not found.is_stand_in
    return RatedFigure(
        found.address,
        role,
        found.amount,
        BEST if why_range and not is_bound else score,
        found.instead,
        found.block_ns,
        lowest_score=0.0 if why_range or found.amount.above else score,
        why_range=why_range,
        is_stand_in=found.is_stand_in,
    )


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
