"""The version of the rating's formula, without the rating: caches of stars compare it."""

FORMULA = "hardstone.rating/2"
