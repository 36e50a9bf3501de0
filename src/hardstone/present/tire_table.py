"""SIM-S-RT as rows: what each curve held, and every measured point."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hardstone.model import RunDocument
from hardstone.present.tire_words import (
    CurveNames,
    bound_text,
    first_missed_text,
    held_text,
    missed_text,
    steps_text,
)
from hardstone.present.wording import one_line, shorten
from hardstone.stats.conditions import listed
from hardstone.stats.tire_bound import Bound, Cell, bounds_of
from hardstone.stats.tire_points import Point
from hardstone.units import format_count, format_ns

MOST_ROWS = 64
MOST_POINT_ROWS = 300
HEADINGS = ("policy", "under", "threads", "held", "missed at", "missed", "bound")
HEADINGS_OF_STEPS = ("mean", "p99", "max")
POINTS = (
    "Total: mean of the repeats. CPU time of all threads, switches (voluntary + involuntary) and "
    "blocked semaphore operations: of the last repeat."
)
POINT_HEADINGS = (
    "masses",
    "threads",
    "policy",
    "under",
    "missed",
    "bound",
    "lateness",
    "mean",
    "p99",
    "max",
    "total",
    "CPU time",
    "switches",
    "blocked",
    "status",
)
STEPS = (
    "Missed and bound: steps that missed at the number held (where none held, at the smallest) and "
    "the upper end of their share. Mean, p99, max: time of a step there; p99 from 1000 steps on."
)


@dataclass(frozen=True)
class BoundRow:
    """One curve. `note`: islands above the first miss, and what was not counted."""

    policy: str
    under: str
    threads: str
    held: str
    missed_from: str
    missed: str
    bound: str
    mean: str
    p99: str
    worst: str
    solver: str
    steps: str
    has_held: bool
    note: str

    @property
    def cells(self) -> tuple[str, ...]:
        """In the order of HEADINGS and HEADINGS_OF_STEPS."""
        words = (self.policy, self.under, self.threads, self.held, self.missed_from)
        return (*words, self.missed, self.bound, self.mean, self.p99, self.worst)


def bound_rows(document: RunDocument, points: Sequence[Point]) -> list[BoundRow]:
    """What each curve held, at most MOST_ROWS, by solver, condition, policy and threads."""
    names = CurveNames(document)
    found = [_bound_row(one, names) for one in bounds_of(points)]
    return found[:MOST_ROWS]


def _bound_row(bound: Bound, names: CurveNames) -> BoundRow:
    curve = bound.curve
    shown = bound.held or next((one for one in bound.cells if one.released_count), None)
    step = _step_of(shown)
    return BoundRow(
        policy=shorten(curve.policy, 12),
        under=names.under(curve),
        threads=format_count(curve.threads),
        held=held_text(bound),
        missed_from=first_missed_text(bound),
        missed=missed_text(shown) if shown else "-",
        bound=bound_text(shown) if shown else "-",
        mean=format_ns(step.step_time.mean_ns) if step and step.step_time else "-",
        p99=format_ns(step.step_time.p99_ns) if step and step.step_time else "-",
        worst=format_ns(step.step_time.max_ns) if step and step.step_time else "-",
        solver=shorten(curve.solver, 12),
        steps=steps_text(curve),
        has_held=bound.held is not None,
        note="; ".join(_notes(bound)),
    )


def _step_of(cell: Cell | None) -> Point | None:
    """The point of a cell with the longest step."""
    timed = [one for one in cell.points if one.step_time] if cell else []
    return max(timed, key=lambda one: one.step_time.max_ns if one.step_time else 0, default=None)


def _notes(bound: Bound) -> Iterable[str]:
    if bound.islands:
        masses = listed(format_count(one.masses) for one in bound.islands)
        yield f"none missed again at {masses}"
    for cell in bound.not_counted[:2]:
        yield f"{format_count(cell.masses)} not counted: {_why(cell.points[-1])}"
    if len(bound.not_counted) > 2:
        yield f"{len(bound.not_counted) - 2} more not counted"


def _why(point: Point) -> str:
    if point.status != "measured":
        return shorten(f"{point.status}, {point.reason or 'no reason was given'}", 90)
    if not point.is_whole:
        return "ended before its last step"
    return "its released steps are not known"


def point_rows(document: RunDocument, points: Sequence[Point]) -> list[tuple[str, ...]]:
    """Every point as in POINT_HEADINGS, at most MOST_POINT_ROWS, by its curve and masses."""
    names = CurveNames(document)
    ordered = sorted(points, key=lambda one: (one.test, one.curve, one.masses))
    return [_point_row(one, names) for one in ordered[:MOST_POINT_ROWS]]


def _point_row(point: Point, names: CurveNames) -> tuple[str, ...]:
    cell = next((one.cells[0] for one in bounds_of([point])), None)
    deadlines, step = point.deadlines, point.step_time
    policy = point.policy if point.solver == "semaphore" else f"{point.policy}, {point.solver}"
    return (
        format_count(point.masses),
        format_count(point.threads),
        shorten(policy, 24),
        names.under(point.curve) or "-",
        missed_text(cell) if cell and cell.is_counted else "-",
        bound_text(cell) if cell else "-",
        format_ns(deadlines.lateness_max_ns if deadlines else None),
        format_ns(step.mean_ns if step else None),
        format_ns(step.p99_ns if step else None),
        format_ns(step.max_ns if step else None),
        format_ns(point.total.mean_ns if point.total else None),
        format_ns(point.work.cpu_ns),
        switches_text(point),
        _blocked(point),
        _status(point),
    )


def _status(point: Point) -> str:
    if point.is_delayed:
        return "a step was made late on purpose"
    return "measured" if point.is_whole else _why(point)


def switches_text(point: Point) -> str:
    """Voluntary + involuntary."""
    counts = (point.work.voluntary_count, point.work.involuntary_count)
    if None in counts:
        return "-"
    return " + ".join(format_count(one or 0) for one in counts)


def _blocked(point: Point) -> str:
    """Semaphore operations that blocked, of all."""
    work = point.work
    if not work.operations_count or work.blocked_count is None:
        return "-"
    return f"{format_count(work.blocked_count)} of {format_count(work.operations_count)}"


def paused_lines(points: Sequence[Point]) -> list[str]:
    """Total times that have time in them in which the simulation did not have the CPU."""
    paused = [one for one in points if one.paused_ns is not None]
    if not paused:
        return []
    worst = max(paused, key=lambda one: one.paused_ns or 0)
    total = format_ns(worst.total.mean_ns) if worst.total else "its time"
    return [
        f"Points of SIM-P-RF: at {len(paused)} of them the only thread did not have the CPU all "
        f"the time, which is in the total time: {format_ns(worst.paused_ns)} of {total} with "
        f"{format_count(worst.masses)} masses, {shorten(worst.policy, 12)}; real-time throttling "
        "takes such time"
    ]


def denied_lines(points: Sequence[Point]) -> list[str]:
    """Why points were refused, each reason once, with the remedy."""
    found: dict[str, None] = {}
    for point in points:
        if point.status not in ("measured", "skipped") and point.reason:
            remedy = f"; remedy: {point.remedy}" if point.remedy else ""
            command = f": {point.command}" if point.command else ""
            found[one_line(f"{point.status}: {point.reason}{remedy}{command}")] = None
    return list(found)[:4]
