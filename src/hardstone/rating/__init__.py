"""Stars of a system, by a published formula (docs/method/rating.md)."""

from hardstone.formula import FORMULA
from hardstone.rating.configured import special_attention
from hardstone.rating.criteria import load_criteria
from hardstone.rating.rate import rate, rate_run, rated_categories
from hardstone.rating.stars import CategoryRating, RatedFigure, Rating

__all__ = [
    "FORMULA",
    "CategoryRating",
    "RatedFigure",
    "Rating",
    "load_criteria",
    "rate",
    "rate_run",
    "rated_categories",
    "special_attention",
]
