"""Scores: of a figure, of a category from its figures, of all from the categories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from hardstone.rating.criteria import Role, load_criteria, rated_figures
from hardstone.rating.curve import BEST, ns_of_score, rounded_down, score_of_ns
from hardstone.rating.stars import RatedFigure

_PER_THOUSANDTH_NS = 1e6  # a thousandth of a block counts as 1 us


def figure_score(value_ns: float, role: Role, block_ns: int = 0) -> float:
    """The score of a figure in its role. Of a block of processing only what it took beyond."""
    criteria = load_criteria()
    rated_ns = (value_ns - block_ns) / block_ns * _PER_THOUSANDTH_NS if block_ns else value_ns
    return score_of_ns(rated_ns * criteria.factor(role), criteria.anchors)


def limit_ns(score: float, figure: RatedFigure) -> float:
    """The largest value of `figure` that has `score`, rounded down; the inverse of the above."""
    criteria = load_criteria()
    rated_ns = ns_of_score(score, criteria.anchors) / criteria.factor(figure.role)
    if not figure.block_ns:
        return rounded_down(rated_ns)
    return figure.block_ns + rounded_down(rated_ns * figure.block_ns / _PER_THOUSANDTH_NS)


def figures_score(category: str, figures: Sequence[RatedFigure]) -> float:
    """(3 x the score of the largest worst figure + the average of the scores of means) / 4.

    Without means in the criteria it is the score of the worst figure alone. What is missing counts
    as perfect.
    """
    criteria = load_criteria()
    worst = min((one.score for one in figures if one.role == "worst"), default=BEST)
    scores = mean_scores(category, figures)
    if not scores:
        return worst
    average = sum(scores) / len(scores)
    weights = criteria.worst_weight + criteria.mean_weight
    return (criteria.worst_weight * worst + criteria.mean_weight * average) / weights


def mean_scores(category: str, figures: Sequence[RatedFigure]) -> list[float]:
    """The scores of all means that the category is rated by; BEST for a missing one."""
    known = [one.score for one in figures if one.role != "worst"]
    return known + [BEST] * (_means_count(category) - len(known))


def lowest_category_score(category: str, figures: Sequence[RatedFigure]) -> float:
    """The same of the lowest scores. What is missing counts as worst."""
    criteria = load_criteria()
    known = rated_figures(category)
    worst = [one.lowest_score for one in figures if one.role == "worst"]
    is_lacking = len(worst) < sum("worst" in one.roles for one in known)
    lowest = 0.0 if is_lacking else min(worst, default=BEST)
    count = _means_count(category)
    if not count:
        return lowest
    average = sum(one.lowest_score for one in figures if one.role != "worst") / count
    weights = criteria.worst_weight + criteria.mean_weight
    return (criteria.worst_weight * lowest + criteria.mean_weight * average) / weights


def weighted_mean(scores: Mapping[str, float]) -> float:
    """The mean of the calibrated categories by their weights; a missing one counts as perfect."""
    weights = {name: one.weight for name, one in load_criteria().categories.items() if one.weight}
    total = sum(scores.get(name, BEST) * weight for name, weight in weights.items())
    return total / sum(weights.values())


@cache
def _means_count(category: str) -> int:
    return sum(role != "worst" for one in rated_figures(category) for role in one.roles)
