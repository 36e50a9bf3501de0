"""Predicates over facts with three values: true, false and unknown (None).

A comparison is unknown when its fact is missing or of a type that cannot be compared. `all` and
`any` follow Kleene's logic: "false and unknown" is false, "true or unknown" is true, any other
combination with an unknown part is unknown. So a missing fact never leads to a conclusion.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import inf, isnan

import msgspec

from hardstone.model import Scalar

Facts = Mapping[str, Scalar]
Truth = bool | None


class Predicate(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Either one comparison of a fact, or one combination of predicates.

    `above`, `below` and `at_least` take a number or the name of another fact; "unlimited"
    is above every number. `one_of`: the fact's text is one of these. `has`: the fact's list,
    separated by commas or spaces, holds this word. `null`: the fact is known to be null.
    `known`: the fact is there, null or not; this comparison is never unknown.
    """

    fact: str | None = None
    equals: bool | int | str | None = None
    one_of: list[str] | None = None
    has: str | None = None
    above: int | str | None = None
    below: int | str | None = None
    at_least: int | str | None = None
    null: bool | None = None
    known: bool | None = None
    all: list[Predicate] | None = None
    any: list[Predicate] | None = None
    negate: Predicate | None = msgspec.field(name="not", default=None)

    def __post_init__(self) -> None:
        tests = (self.equals, self.one_of, self.has, self.above, self.below)
        more = (self.at_least, self.null, self.known)
        compared = sum(one is not None for one in (*tests, *more))
        joined = sum(one is not None for one in (self.all, self.any, self.negate))
        if (self.fact is None) != (compared == 0) or compared + joined != 1:
            raise ValueError("a predicate compares one fact once, or combines predicates once")


def evaluate(predicate: Predicate, facts: Facts) -> Truth:
    """Whether `predicate` holds; None when it is unknown."""
    if predicate.all is not None:
        return _all([evaluate(one, facts) for one in predicate.all])
    if predicate.any is not None:
        return _inverse(_all([_inverse(evaluate(one, facts)) for one in predicate.any]))
    if predicate.negate is not None:
        return _inverse(evaluate(predicate.negate, facts))
    return _compare(predicate, facts)


def facts_used(predicate: Predicate | None) -> Iterator[str]:
    """Names of the facts that `predicate` compares, each once."""
    yield from dict.fromkeys(_names(predicate))


def _names(predicate: Predicate | None) -> Iterator[str]:
    if predicate is None:
        return
    if predicate.fact is not None:
        yield predicate.fact
    for limit in (predicate.above, predicate.below, predicate.at_least):
        if isinstance(limit, str):
            yield limit
    for part in (*(predicate.all or ()), *(predicate.any or ()), predicate.negate):
        yield from _names(part)


def _all(parts: Sequence[Truth]) -> Truth:
    if any(part is False for part in parts):
        return False
    return None if any(part is None for part in parts) else True


def _inverse(truth: Truth) -> Truth:
    return None if truth is None else not truth


def _compare(predicate: Predicate, facts: Facts) -> Truth:
    name = predicate.fact or ""
    if predicate.known is not None:
        return (name in facts) == predicate.known
    if name not in facts:
        return None
    value = facts[name]
    if predicate.null is not None:
        return (value is None) == predicate.null
    if predicate.equals is not None:
        return _same(value, predicate.equals)
    if predicate.one_of is not None or predicate.has is not None:
        return _among(predicate, value)
    return _beyond(predicate, value, facts)


def _among(predicate: Predicate, value: Scalar) -> Truth:
    """False for a null fact; unknown for a type that is not text."""
    if not isinstance(value, str):
        return False if value is None else None
    if predicate.one_of is not None:
        return value in predicate.one_of
    return predicate.has in value.replace(",", " ").split()


def _same(value: Scalar, wanted: bool | int | str) -> Truth:
    if value is None:
        return False
    return value == wanted if type(value) is type(wanted) else None


def _beyond(predicate: Predicate, value: Scalar, facts: Facts) -> Truth:
    number = _number(value)
    limit = _limit(predicate.above, facts)
    if number is not None and limit is not None:
        return number > limit
    limit = _limit(predicate.below, facts)
    if number is not None and limit is not None:
        return number < limit
    limit = _limit(predicate.at_least, facts)
    return None if number is None or limit is None else number >= limit


def _limit(limit: int | str | None, facts: Facts) -> float | None:
    return _number(facts.get(limit)) if isinstance(limit, str) else _number(limit)


def _number(value: Scalar) -> float | None:
    if value == "unlimited":
        return inf
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return None if isnan(value) else value
