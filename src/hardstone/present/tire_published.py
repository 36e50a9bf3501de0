"""What Garre et al. (2014) published about the simulation, beside what this run measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hardstone.model import RunDocument
from hardstone.present.headline import target_text
from hardstone.present.tire_words import CurveNames, first_missed_text, held_text, threads_text
from hardstone.present.wording import clean, shorten
from hardstone.stats.kind_of_time import why_not_beside_hardware
from hardstone.stats.tire_bound import Bound, bounds_of
from hardstone.stats.tire_names import REAL_TIME
from hardstone.stats.tire_points import Point
from hardstone.systems.published import Figure, figures_of, load_studies
from hardstone.units import format_count, format_ns

STUDY = "garre-2014"
MOST_ROWS = 24
MOST_HELD, FIRST_MISSED = "most without a miss", "fewest with a miss"
HEADINGS = ("system", "threads", "held", "missed at")
_STEP_NS = 10_000_000
_MOST_TOLD = 8
ANY = "any"


@dataclass(frozen=True)
class PublishedPoint:
    """`threads` is None for any number of them. One of the two numbers of masses is known."""

    system: str
    threads: int | None
    held: int | None
    missed_from: int | None


@dataclass(frozen=True)
class PublishedTire:
    """`rows` as in HEADINGS, those of the study first; `refused`: why none of this run."""

    short: str
    hardware: str
    rows: list[tuple[str, ...]]
    pretest: str
    own_hardware: str
    refused: str


def published_points() -> list[PublishedPoint]:
    """The published numbers of masses, by system and number of threads."""
    study = load_studies()[STUDY]
    return [
        PublishedPoint(
            system=study.systems[one.system].name if one.system else study.reading.short,
            threads=threads_of(one),
            held=int(one.value) if one.statistic == MOST_HELD else None,
            missed_from=int(one.value) if one.statistic == FIRST_MISSED else None,
        )
        for one in figures_of(REAL_TIME)
        if isinstance(one.value, int | float) and is_of_sweep(one)
    ]


def is_of_sweep(figure: Figure) -> bool:
    """Whether `figure` is a number of masses that a sweep finds, and no statistic of a series."""
    return figure.statistic in (MOST_HELD, FIRST_MISSED)


def threads_of(figure: Figure) -> int | None:
    """The number of threads that an address names; None: any."""
    return next((int(one) for one in figure.address.parts if one.isdecimal()), None)


def published_tire(document: RunDocument, points: Sequence[Point]) -> PublishedTire:
    """The study's points, then the curves of this run with its step and the solver of the study."""
    study = load_studies()[STUDY]
    refused = why_not_beside_hardware(document) or ""
    own = [] if refused else _own_rows(document, points)
    return PublishedTire(
        short=study.reading.short,
        hardware=study.conditions.get("hardware", ""),
        rows=[_row(one) for one in published_points()] + own,
        pretest=pretest(),
        own_hardware=target_text(document),
        refused=refused,
    )


def pretest() -> str:
    """What the study says of its trial with a shorter step."""
    found = load_studies()[STUDY].tables["simulation"]["pretest"]
    step = format_ns(float(found["time_step_ms"]) * 1e6)
    return f"step {step}, Linux: first miss at {found['linux first miss']}"


def published_costs() -> tuple[float, float]:
    """The time of a spring and of a mass on the machine of the study, in ns."""
    found = load_studies()[STUDY].tables["simulation"]["cost_ns"]
    return float(found["one spring force"]), float(found["integrate one mass"])


def _row(one: PublishedPoint) -> tuple[str, ...]:
    return (
        one.system,
        ANY if one.threads is None else format_count(one.threads),
        "-" if one.held is None else format_count(one.held),
        "-" if one.missed_from is None else format_count(one.missed_from),
    )


def comparable(bound: Bound) -> bool:
    """Whether a curve has the solver, step and rate of the study."""
    curve = bound.curve
    is_same_rate = curve.step_ns == curve.period_ns == _STEP_NS
    return curve.solver == "semaphore" and is_same_rate


def _own_rows(document: RunDocument, points: Sequence[Point]) -> list[tuple[str, ...]]:
    names = CurveNames(document)
    found = [one for one in bounds_of(points) if comparable(one)]
    return [
        (
            f"this run, {names.panel(one.curve)}",
            format_count(one.curve.threads),
            held_text(one),
            format_count(one.first_missed.masses) if one.first_missed else "-",
        )
        for one in found[:MOST_ROWS]
    ]


def told_of(bounds: Sequence[Bound], figure: Figure) -> str:
    """What the curves of this run say of a published number of masses, or why nothing."""
    wanted = threads_of(figure)
    own = [one for one in bounds if wanted in (None, one.curve.threads)]
    if not own:
        return "- (not measured" + (f" with {wanted} threads)" if wanted else ")")
    is_held = figure.statistic == MOST_HELD
    told = []
    for one in own[:_MOST_TOLD]:
        masses = held_text(one) if is_held else first_missed_text(one)
        told.append(
            f"{masses} ({shorten(one.curve.policy, 12)}, {threads_text(one.curve.threads)})"
        )
    more = f" and {len(own) - _MOST_TOLD} more" if len(own) > _MOST_TOLD else ""
    return clean(", ".join(told)) + more
