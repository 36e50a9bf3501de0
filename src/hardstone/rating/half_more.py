"""What half a star more would take: the formula, inverted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from hardstone.rating.category_score import (
    figures_score,
    limit_ns,
    mean_scores,
    weighted_mean,
)
from hardstone.rating.criteria import load_criteria
from hardstone.rating.curve import BEST
from hardstone.rating.stars import CategoryRating, RatedFigure, Rating
from hardstone.stats.conditions import listed
from hardstone.units import format_ns

_HALF = 0.5
_ROUNDED_UP_FROM = 0.25  # below a half star
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Needed:
    """Changes that bring a category to a score: each figure at most its limit in ns, each of the
    behaviours passes. `configuration`: what the system may take to configure, for an overall
    rating."""

    limits: list[tuple[RatedFigure, float]] = field(default_factory=list)
    behaviours: list[str] = field(default_factory=list)
    configuration: str = ""

    def text(self) -> str:
        return "; ".join(self._parts())

    def _parts(self) -> Iterable[str]:
        grouped: dict[tuple[str, float], list[str]] = {}
        for figure, limit in self.limits:
            word = "worst observed" if figure.role == "worst" else "mean"
            grouped.setdefault((word, limit), []).append(figure.address)
        for (word, limit), addresses in grouped.items():
            yield f"the {word} {', '.join(dict.fromkeys(addresses))} at most {format_ns(limit)}"
        if self.behaviours:
            yield f"{listed(self.behaviours)} must hold"
        if self.configuration:
            yield f"configuration: {self.configuration}"


def category_half_more(rating: CategoryRating) -> str:
    """What half a star more of a category would take; "" at the best or without stars."""
    needed = category_needed(rating)
    return needed.text() if needed else ""


def category_needed(rating: CategoryRating) -> Needed | None:
    """The changes behind `category_half_more`."""
    if rating.stars is None or rating.stars >= BEST:
        return None
    return to_reach(rating, rating.stars + _HALF - _ROUNDED_UP_FROM)


def to_reach(rating: CategoryRating, score: float) -> Needed:
    """What brings the category to `score`: worst figures first, then the means, lowest first."""
    criteria = load_criteria()
    is_capped = score > criteria.category_cap
    behaviours = rating.failed if is_capped else []
    if figures_score(rating.category, rating.figures) >= score:
        return Needed(behaviours=behaviours)
    score = min(score + _ROUNDING, BEST)
    means = mean_scores(rating.category, rating.figures)
    weight = criteria.mean_weight if means else 0
    average = sum(means) / len(means) if means else BEST
    wanted_sum = (criteria.worst_weight + weight) * score
    worst = min((wanted_sum - weight * average) / criteria.worst_weight, BEST)
    wanted_average = wanted_sum - criteria.worst_weight * BEST
    limits = _below(rating, ("worst",), worst)
    if weight and wanted_average > average:
        limits += _below(rating, ("mean", "uncontended"), _level(means, wanted_average))
    return Needed(limits, behaviours)


def _below(
    rating: CategoryRating, roles: Sequence[str], score: float
) -> list[tuple[RatedFigure, float]]:
    """The figures that have less than `score`, with the limit that gives it."""
    found = [one for one in rating.figures if one.role in roles and one.score < score]
    return [(one, limit_ns(score, one)) for one in found]


def _level(scores: Sequence[float], average: float) -> float:
    """The score to which the lowest ones must rise so that all have this average."""
    ordered = sorted(scores)
    for count in range(1, len(ordered) + 1):
        level = (average * len(ordered) - sum(ordered[count:])) / count
        if count == len(ordered) or level <= ordered[count]:
            return min(level, BEST)
    return BEST


def overall_half_more(rating: Rating) -> str:
    """What half a star more overall would take; "" at the best or without a rating."""
    return "; ".join(
        f"{name}: {one.text()}" if name else one.text()
        for name, one in overall_needed(rating).items()
    )


def overall_needed(rating: Rating) -> dict[str, Needed]:
    """The changes behind it by category; the configuration under ""."""
    if rating.overall is None or rating.overall >= BEST:
        return {}
    criteria = load_criteria()
    score = rating.overall + _HALF - _ROUNDED_UP_FROM
    wanted = _wanted_scores(rating, score)
    found = {}
    is_capped = score > criteria.overall_cap
    for one in rating.categories:
        needed = to_reach(one, wanted[one.category]) if one.category in wanted else Needed()
        behaviours = dict.fromkeys([*needed.behaviours, *(one.failed if is_capped else ())])
        needed = replace(needed, behaviours=list(behaviours))
        if needed.text():
            found[one.category] = needed
    if criteria.configurations.get(rating.configuration, BEST) < score:
        enough = [name for name, cap in criteria.configurations.items() if cap >= score]
        found[""] = Needed(configuration=enough[-1])
    return found


def _wanted_scores(rating: Rating, score: float) -> dict[str, float]:
    """The scores of categories that must rise: those that cap, then those that weigh most."""
    criteria = load_criteria()
    now = {one.category: one.score for one in rating.categories if one.score is not None}
    floor = score - criteria.lowest_margin + _ROUNDING
    risen = {name: max(has, floor) for name, has in now.items()}
    weights = {name: criteria.categories[name].weight for name in now}
    total = sum(one.weight for one in criteria.categories.values())
    for name in sorted(now, key=lambda name: weights[name] * (risen[name] - BEST)):
        lacking = score - weighted_mean(risen)
        if lacking > 0 and weights[name]:
            gain = lacking * total / weights[name] + _ROUNDING
            risen[name] = min(risen[name] + gain, BEST)
    return {name: has for name, has in risen.items() if has > now[name]}
