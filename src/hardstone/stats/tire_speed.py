"""Which of two sides simulates faster: total times of SIM-P-RF at the points of both."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil, exp, log, log2
from typing import Literal

import msgspec

from hardstone.stats.signed_rank import hodges_lehmann, signed_rank_p
from hardstone.stats.tire_counts import Total
from hardstone.stats.tire_points import Point

ALPHA = 0.05
LEAST_PAIRS = 1 + ceil(log2(1 / ALPHA))  # fewer differences cannot have p <= ALPHA
MOST_PLACES = 120  # the exact test takes time with the cube of their number
Which = Literal["first", "second"]


class Place(msgspec.Struct, kw_only=True, frozen=True):
    """Where both sides were measured."""

    solver: str
    threads: int
    masses: int
    step_ns: int
    period_ns: int
    simulated_s: int


class Speed(msgspec.Struct, kw_only=True, frozen=True):
    """Total times of the second side over those of the first, at `places` of SIM-P-RF.

    `ratios` has one for each place.
    `ratio` is the Hodges-Lehmann estimate, `low` and `high` are its interval at 95 % (None: too few
    points), `least` and `most` the range over the points. `overlapping`: points at which the
    repeats of both sides overlap, of `repeated` at which both were repeated. `paused`: points of
    each side whose only thread did not have the CPU all the time.
    """

    places: list[Place]
    ratios: list[float]
    ratio: float
    low: float | None
    high: float | None
    least: float
    most: float
    overlapping: int
    repeated: int
    paused: tuple[int, int]
    p: float
    p_adjusted: float
    faster: Which | None


def thinned(places: list[Place]) -> list[Place]:
    """Every so many of them, so that there are MOST_PLACES at most."""
    return places[:: max(1, ceil(len(places) / MOST_PLACES))]


def _place(point: Point) -> Place:
    return Place(
        solver=point.solver,
        threads=point.threads,
        masses=point.masses,
        step_ns=point.step_ns,
        period_ns=point.period_ns,
        simulated_s=point.simulated_s,
    )


def _totals(points: Iterable[Point]) -> dict[Place, Total]:
    """The total times at each place; those of several results there are repeats."""
    found: dict[Place, Total] = {}
    for point in points:
        if point.total is not None and point.is_whole and point.total.min_ns > 0:
            place = _place(point)
            known = found.get(place)
            found[place] = point.total if known is None else _joined(known, point.total)
    return found


def _joined(one: Total, other: Total) -> Total:
    count = one.repeats_count + other.repeats_count
    total = one.mean_ns * one.repeats_count + other.mean_ns * other.repeats_count
    return Total(
        repeats_count=count,
        mean_ns=total / count,
        min_ns=min(one.min_ns, other.min_ns),
        max_ns=max(one.max_ns, other.max_ns),
    )


def speed_of(first_points: Sequence[Point], second_points: Sequence[Point]) -> Speed | None:
    """Both sides at the points that they share; None where there is none."""
    first, second = _totals(first_points), _totals(second_points)
    places = thinned([one for one in first if one in second])
    if not places:
        return None
    logs = [log(second[one].mean_ns / first[one].mean_ns) for one in places]
    shift = hodges_lehmann(logs)
    repeated = [
        one for one in places if min(first[one].repeats_count, second[one].repeats_count) > 1
    ]
    p = signed_rank_p(logs)
    return with_faster(
        Speed(
            places=places,
            ratios=[exp(one) for one in logs],
            ratio=exp(shift.estimate),
            low=None if shift.low is None else exp(shift.low),
            high=None if shift.high is None else exp(shift.high),
            least=exp(min(logs)),
            most=exp(max(logs)),
            overlapping=sum(_overlap(first[one], second[one]) for one in repeated),
            repeated=len(repeated),
            paused=(_paused(first_points, places), _paused(second_points, places)),
            p=p,
            p_adjusted=p,
            faster=None,
        )
    )


def _paused(points: Iterable[Point], places: list[Place]) -> int:
    return sum(one.paused_ns is not None and _place(one) in places for one in points)


def _overlap(one: Total, other: Total) -> bool:
    return one.min_ns <= other.max_ns and other.min_ns <= one.max_ns


def with_faster(speed: Speed) -> Speed:
    """The faster side where the points decide it, and repeats do not differ as much."""
    is_within = speed.repeated and 2 * speed.overlapping >= speed.repeated
    is_decided = speed.p_adjusted <= ALPHA and not is_within and speed.ratio != 1
    faster: Which | None = ("first" if speed.ratio > 1 else "second") if is_decided else None
    return msgspec.structs.replace(speed, faster=faster)


def needed_of_speed(speed: Speed | None) -> list[str]:
    """What would decide which side is faster; nothing where it is decided."""
    if speed is None:
        return ["no point of SIM-P-RF was measured on both sides"]
    if speed.faster:
        return []
    if speed.repeated and 2 * speed.overlapping >= speed.repeated:
        return [
            f"total times overlap at {speed.overlapping} of {speed.repeated} repeated points: "
            "they differ no more than repeats do"
        ]
    return [undecided("total times", len(speed.places), speed.p_adjusted)]


def undecided(what: str, count: int, p: float) -> str:
    """Why `count` points that differ do not decide."""
    points = "1 common point" if count == 1 else f"{count} common points"
    if count < LEAST_PAIRS:
        return f"{what} differ at {points}; a decision needs {LEAST_PAIRS} at least"
    return f"{what} differ at {points}, which does not decide (p {p:.2g})"
