"""Stars of a system, by a published formula (docs/method/rating.md)."""

from hardstone.rating.stars import FORMULA, CategoryRating, RatedFigure, Rating

__all__ = ["FORMULA", "CategoryRating", "RatedFigure", "Rating"]
