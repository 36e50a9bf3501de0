"""The stars of a system, and what they follow from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from hardstone.formula import FORMULA
from hardstone.subjects import Amount


@dataclass(frozen=True)
class RatedFigure:
    """A figure with its score, 0 to 5. `role`: a worst figure, a mean, or a mean of calls that
    nobody contends for. `instead`: what it is where the criterion's own figure is missing
    ("delivery from another CPU, in place of a device's latency"). `block_ns`: what the figure
    holds of undisturbed processing, which is not rated; 0: nothing."""

    address: str
    role: Literal["worst", "mean", "uncontended"]
    amount: Amount
    score: float
    instead: str = ""
    block_ns: int = 0


@dataclass(frozen=True)
class CategoryRating:
    """One category. `stars` are halves of `score`; both are None where no worst figure is known.

    `is_calibrated`: the formula was fitted to published stars of this category. `is_at_most`:
    figures or behaviours are missing (`missing`, with reasons), each of which can only lower it.
    `failed`: counted behaviours that fail and cap it, and the overall rating with it.
    `failed_here`: failures that cap the category alone. `decisive`: the worst figure that decides.
    `next_half`: what half a star more would take, "" at 5.
    """

    category: str
    stars: float | None
    score: float | None
    is_calibrated: bool
    is_at_most: bool
    figures: list[RatedFigure]
    decisive: RatedFigure | None
    failed: list[str]
    missing: list[str]
    next_half: str = ""
    failed_here: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Rating:
    """`overall` is None where too little is known, with the reason in `why_none`; `score` is what
    it is rounded from. `caps`: what bounds the overall rating, in words. `rated_as`: "shorter than
    standard", "emulated", "without load", ...: a rating with any of these is never the full one.
    `configuration`: what the system took to configure, which caps the rating. `study_stars`: what a
    study gave itself; None for a run. `next_half`: what half a star more overall would take."""

    overall: float | None
    is_at_most: bool
    why_none: str
    categories: list[CategoryRating]
    caps: list[str]
    rated_as: list[str]
    configuration: str
    study_stars: float | None = None
    next_half: str = ""
    formula: str = FORMULA
    score: float | None = None
