"""What the writer of plots reads of a specification, and that it refuses the rest."""

from __future__ import annotations

import re
from collections.abc import Set
from math import isfinite
from typing import Any

from hardstone.report.theme import Spec

_COLOUR = re.compile(r"var\(--[a-z0-9-]+\)|#[0-9a-fA-F]{3,8}|[a-z]+")


class NotKnownError(Exception):
    """The specification holds something that only Vega draws."""


def part(value: object, known: Set[str]) -> Spec:
    """An object of which every key is known."""
    if type(value) is not dict or not value.keys() <= known:
        raise NotKnownError
    return value


def known(is_known: object) -> None:
    if not is_known:
        raise NotKnownError


def number(value: object) -> float:
    known(type(value) in (float, int) and isfinite(value))  # type: ignore[arg-type]
    return value  # type: ignore[return-value]


def text(value: object) -> str:
    known(type(value) is str)
    return value  # type: ignore[return-value]


def colour(value: object) -> str:
    """A colour that cannot end the attribute that it stands in."""
    known(type(value) is str and _COLOUR.fullmatch(value))
    return value  # type: ignore[return-value]


def numbers(value: object) -> list[float]:
    known(type(value) is list)
    return [number(one) for one in value]  # type: ignore[attr-defined]


def texts(value: object) -> list[str]:
    known(type(value) is list)
    return [text(one) for one in value]  # type: ignore[attr-defined]


def value_in(row: dict[str, Any], field: str) -> float | None:
    """A number of the data; None where there is none, which NaN and infinity become in JSON."""
    value = row.get(field)
    if type(value) is float or type(value) is int:
        return value if isfinite(value) else None
    known(value is None)
    return None
