"""The two sides of each statement about a document, or about two of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, combinations, islice

from hardstone.stats.tire_points import Point
from hardstone.stats.tire_statement import Side, Statement, judged_together, statement_of

MOST_STATEMENTS = 12
_MOST_CONDITIONS = 64
# A real-time policy stands before one that is not.
_ORDER = ("fifo", "rr", "deadline", "other")
_Condition = tuple[str, str, str]


def statements_within(points: Sequence[Point]) -> list[Statement]:
    """Two policies, or two preemption models, of one document under each condition."""
    found = chain(_by_policy(points), _by_preemption(points))
    return judged_together(list(islice(found, MOST_STATEMENTS)))


def statements_between(first: Side, second: Side) -> list[Statement]:
    """Two documents, such as those of two kernels, for each policy that both have."""
    policies = _in_order(
        {one.policy for one in first.points}, {one.policy for one in second.points}
    )
    found = (
        statement_of(_only(first, policy, where), _only(second, policy, where), where)
        for policy in policies
        for where in _conditions([*first.points, *second.points])
    )
    return judged_together(list(islice(filter(_has_both, found), MOST_STATEMENTS)))


def _by_policy(points: Sequence[Point]) -> Iterator[Statement]:
    for where in _conditions(points):
        own = [one for one in points if _condition(one) == where]
        for policies in combinations(_in_order({one.policy for one in own}), 2):
            sides = [
                Side(label=policy, points=[one for one in own if one.policy == policy])
                for policy in policies
            ]
            yield from _if_any(sides, where)


def _by_preemption(points: Sequence[Point]) -> Iterator[Statement]:
    """Each policy under two models that the kernel was switched to."""

    def without(one: Point) -> tuple[str, str, str]:
        return one.policy, one.load, one.cpu_config

    switched = [one for one in points if one.preemption]
    for policy, load, config in list(dict.fromkeys(map(without, switched)))[:_MOST_CONDITIONS]:
        own = [one for one in points if without(one) == (policy, load, config)]
        models = list(dict.fromkeys(one.preemption for one in own if one.preemption))
        for pair in combinations(models, 2):
            sides = [
                Side(
                    label=f"{policy}, preemption {model}",
                    points=[one for one in own if one.preemption == model],
                )
                for model in pair
            ]
            yield from _if_any(sides, (load, config, ""))


def _if_any(sides: Sequence[Side], where: _Condition) -> Iterator[Statement]:
    found = statement_of(sides[0], sides[1], where)
    if _has_both(found):
        yield found


def _has_both(found: Statement) -> bool:
    is_beside = any(one.first and one.second for one in found.held)
    return found.speed is not None or found.misses is not None or is_beside


def _only(side: Side, policy: str, where: _Condition) -> Side:
    own = [one for one in side.points if one.policy == policy and _condition(one) == where]
    return Side(label=f"{side.label}, {policy}", points=own)


def _condition(point: Point) -> _Condition:
    return point.load, point.cpu_config, point.preemption


def _conditions(points: Sequence[Point]) -> list[_Condition]:
    return list(dict.fromkeys(map(_condition, points)))[:_MOST_CONDITIONS]


def _in_order(*policies: set[str]) -> list[str]:
    """What all sets have, real-time policies first."""
    common = set.intersection(*policies)
    return sorted(common, key=lambda one: (_ORDER.index(one) if one in _ORDER else 9, one))
