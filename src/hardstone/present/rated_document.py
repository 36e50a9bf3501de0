"""Ratings as a document for --json."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from hardstone.model import FORMULA
from hardstone.systems.rating import Rating
from hardstone.systems.subjects import Subject

RATING_SCHEMA = "hardstone.rating-of/1"


class RatedSystem(msgspec.Struct, kw_only=True, frozen=True):
    """A run under one condition, or a published system. The headline of a run comes first."""

    id: str
    label: str
    conditions: dict[str, str]
    rating: Rating


class RatedDocument(msgspec.Struct, kw_only=True, frozen=True):
    """What `show RUN --why --json` prints."""

    schema: str
    formula: str
    systems: list[RatedSystem]


def rated_document(rated: Iterable[tuple[Subject, Rating]]) -> RatedDocument:
    """`rated`, in its order."""
    systems = [
        RatedSystem(id=one.id, label=one.label, conditions=dict(one.conditions), rating=rating)
        for one, rating in rated
    ]
    return RatedDocument(schema=RATING_SCHEMA, formula=FORMULA, systems=systems)
