"""The stars of a system, and what they follow from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from hardstone.formula import FORMULA
from hardstone.subjects import Amount


@dataclass(frozen=True)
class RatedFigure:
    """A figure with its score, 0 to 5. `role`: a worst figure, a mean, or a mean of calls that
    nobody contends for. `instead`: what it is where the criterion's own figure is missing
    ("delivery from another CPU, in place of a device's latency"). `block_ns`: what the figure
    holds of undisturbed processing, which is not rated; 0: nothing.

    `why_range`: why the score is a range, from `lowest_score` to `score`: a stand-in, or fewer
    values than its criterion states ("300 of 1,000,000,000 interrupts"); "" for one score."""

    address: str
    role: Literal["worst", "mean", "uncontended"]
    amount: Amount
    score: float
    instead: str = ""
    block_ns: int = 0
    lowest_score: float = 0.0
    why_range: str = ""
    is_stand_in: bool = False


@dataclass(frozen=True)
class CategoryRating:
    """One category. `stars` are halves of `score`; both are None where no worst figure is known.
    Where all worst figures are stand-ins there are no stars, and `score` is what they could be.

    `lowest_stars`: stars from there to `stars` are possible with the values that were taken; None
    where no figure has a range. `why_no_stars`: of a category that is not rated.

    `is_calibrated`: the formula was fitted to published stars of this category. `is_at_most`:
    figures or behaviours are missing (`missing`, with reasons), each of which can only lower it.
    `failed`: counted behaviours that fail and cap it, and the overall rating with it.
    `decisive`: the worst figure that decides. `next_half`: what half a star more would take, "" at
    5; of a range, more than its upper end.
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
    lowest_stars: float | None = None
    lowest_score: float = 0.0
    why_no_stars: str = ""
    has_unknown_claims: bool = False

    @property
    def has_stand_ins(self) -> bool:
        """Whether a figure of another thing is in the place of a rated one."""
        return any(one.is_stand_in for one in self.figures)

    @property
    def has_few_values(self) -> bool:
        """Whether a figure rests on fewer values than its criterion states."""
        return any(one.why_range and not one.is_stand_in for one in self.figures)


@dataclass(frozen=True)
class Rating:
    """`overall` is None where too little is known, with the reason in `why_none`; `score` is what
    it is rounded from. `caps`: what bounds the overall rating, in words. `rated_as`: "shorter than
    standard", "emulated", "without load", ...: a rating with any of these is never the full one.
    `lowest`: overall stars from there to `overall` are possible; None where no figure has a range.
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
    lowest: float | None = None
