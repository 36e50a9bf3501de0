"""What bounds the overall rating, whatever the mean of the categories is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hardstone.rating.category_score import weighted_mean
from hardstone.rating.criteria import load_criteria
from hardstone.rating.stars import CategoryRating


@dataclass(frozen=True)
class OverallCap:
    """`text` says why the overall rating is at most `score`."""

    score: float
    text: str


def overall_caps(categories: Iterable[CategoryRating], configuration: str) -> list[OverallCap]:
    """All bounds, also those above the mean of the categories. Missing ones bound nothing."""
    criteria = load_criteria()
    taken = criteria.configurations.get(configuration, max(criteria.configurations.values()))
    caps = [OverallCap(taken, f"configuration: {configuration}, at most {taken:g}")]
    known = [(one.score, one.category) for one in categories if one.score is not None]
    if known:
        score, category = min(known)
        bound = score + criteria.lowest_margin
        text = f"{category} has {score:.2f}, and overall is at most {criteria.lowest_margin:g} more"
        caps.append(OverallCap(bound, text))
    failing = [one.category for one in categories if one.failed]
    if failing:
        text = f"counted behaviours fail ({', '.join(failing)}): at most {criteria.overall_cap:g}"
        caps.append(OverallCap(criteria.overall_cap, text))
    return caps


def lowest_overall(categories: Sequence[CategoryRating], configuration: str) -> float:
    """The least that the overall score can be, where every range ends at its lower end."""
    criteria = load_criteria()
    lowest = {one.category: one.lowest_score for one in categories if not one.why_no_stars}
    caps = [
        weighted_mean(lowest),
        min(lowest.values()) + criteria.lowest_margin,
        criteria.configurations.get(configuration, max(criteria.configurations.values())),
    ]
    if any(one.failed or one.has_unknown_claims for one in categories):
        caps.append(criteria.overall_cap)
    return min(caps)
