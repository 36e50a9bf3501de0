""" "Real-time is not real-fast", in words, from this run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hardstone.model import RunDocument
from hardstone.present.tire_words import steps_text, threads_text
from hardstone.present.wording import shorten
from hardstone.stats.conditions import Condition, names_in
from hardstone.stats.kind_of_time import why_incomparable
from hardstone.stats.tire_bound import Bound
from hardstone.stats.tire_points import Point, points_of
from hardstone.stats.tire_sides import statements_between, statements_within
from hardstone.stats.tire_speed import Speed
from hardstone.stats.tire_statement import HeldRow, Misses, Side, Statement
from hardstone.units import format_count

TITLE = "Real-time is not real-fast"
ABOUT = (
    "Two sides at the points that both measured: total time of SIM-P-RF, and deadlines missed in "
    "SIM-S-RT. A point is one value of the exact signed-rank test; p is adjusted for all "
    "statements of the run (Holm). The sides were measured one after another, so drift of the "
    "machine is part of a difference; real-time throttling takes time from real-time policies only."
)
ONE_SIDE = (
    "One policy under each condition: nothing to compare. Measure two, such as --policy fifo,other."
)
_CONCLUSIONS = {
    "faster misses more": (
        "{faster} is faster and misses more deadlines: real-time is not real-fast."
    ),
    "faster misses fewer": "{faster} is faster and also misses fewer deadlines.",
    "undecided": "Not decided.",
}


@dataclass(frozen=True)
class StatementText:
    """`rows` are (what, first side, second side). `statement` has what charts draw."""

    title: str
    first: str
    second: str
    speed: str
    misses: str
    conclusion: str
    is_decided: bool
    needed: list[str]
    rows: list[tuple[str, str, str]]
    statement: Statement


def statement_texts(document: RunDocument, points: Sequence[Point]) -> list[StatementText]:
    """What the points of one run say."""
    names = names_in(document)
    return [_text(one, names.label(Condition(*one.under))) for one in statements_within(points)]


def texts_between(
    first: RunDocument, second: RunDocument, labels: tuple[str, str]
) -> list[StatementText] | str:
    """What two runs say, such as those of two kernels; why nothing where they do not compare."""
    why = why_incomparable(first, second)
    if why:
        return why
    sides = [
        Side(label=shorten(label, 24), points=points_of(one))
        for label, one in zip(labels, (first, second), strict=True)
    ]
    return [_text(one, ", ".join(one.under[:2])) for one in statements_between(*sides)]


def _text(one: Statement, under: str) -> StatementText:
    first, second = shorten(one.first, 48), shorten(one.second, 48)
    faster = {"first": first, "second": second}.get((one.speed and one.speed.faster) or "", "")
    return StatementText(
        title=f"{first} and {second}" + (f", {under}" if under else ""),
        first=first,
        second=second,
        speed=_speed(one.speed, first, second),
        misses=_misses(one.misses, first, second),
        conclusion=_CONCLUSIONS[one.conclusion].format(faster=faster),
        is_decided=one.conclusion != "undecided",
        needed=one.needed,
        rows=list(_rows(one)),
        statement=one,
    )


def _speed(speed: Speed | None, first: str, second: str) -> str:
    if speed is None:
        return "Total time: not measured on both sides."
    count = len(speed.places)
    interval = (
        f"; 95 %: {speed.low:.3g} to {speed.high:.3g}"
        if speed.low is not None and speed.high is not None
        else ""
    )
    spread = (
        f"; {speed.repeated} points were repeated"
        if speed.repeated
        else "; each time was measured once, so their spread is not known"
    )
    for name, paused in zip((first, second), speed.paused, strict=True):
        if paused:
            spread += f"; {name} did not have the CPU all the time at {_points(paused)}"
    return (
        f"Total time of {second}: {speed.ratio:.3g} times that of {first}{interval} "
        f"({speed.least:.3g} to {speed.most:.3g} over {_points(count)}, p {_p(speed.p_adjusted)}"
        f"{spread}). Faster: {_which(speed.faster, first, second)}."
    )


def _misses(misses: Misses | None, first: str, second: str) -> str:
    if misses is None:
        return "Missed deadlines: not counted on both sides."
    told = [
        f"{name} {format_count(missed)} of {format_count(released)}"
        for name, missed, released in zip(
            (first, second), misses.missed, misses.released, strict=True
        )
    ]
    return (
        f"Missed deadlines: {' and '.join(told)} steps at {_points(len(misses.places))}, "
        f"{misses.differing} of them different (p {_p(misses.p_adjusted)}). "
        f"Fewer: {_which(misses.fewer, first, second)}."
    )


def _which(side: str | None, first: str, second: str) -> str:
    return "not decided" if side is None else first if side == "first" else second


def _points(count: int) -> str:
    return "1 common point" if count == 1 else f"{count} common points"


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"{value:.2g}"


def _rows(one: Statement) -> Iterator[tuple[str, str, str]]:
    steps = {_steps(row) for row in one.held}
    for row in one.held:
        solver = "" if row.solver == "semaphore" else f", {shorten(row.solver, 12)}"
        solver += f", {_steps(row)}" if len(steps) > 1 else ""
        yield (
            f"held with {threads_text(row.threads)}{solver}",
            _held(row.first),
            _held(row.second),
        )


def _steps(row: HeldRow) -> str:
    bound = row.first or row.second
    return steps_text(bound.curve) if bound else ""


def _held(bound: Bound | None) -> str:
    """The largest number of masses without a miss; "at least" where none missed above it."""
    if bound is None or not any(one.is_counted or one.has_missed for one in bound.cells):
        return "not measured"
    if bound.held is None:
        first = bound.first_missed
        return f"none, missed at {format_count(first.masses)}" if first else "not known"
    at_least = "at least " if bound.first_missed is None else ""
    return f"{at_least}{format_count(bound.held.masses)} masses"
