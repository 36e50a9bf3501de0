"""What the tire's points say: the largest simulation without a missed deadline, the cost model,
and "real-time is not real-fast".

A curve has points of one solver, policy, thread count and condition over the masses. It *held* a
number of masses if all released steps there and at every smaller measured number met their
deadlines. That bounds the share of missed steps, and does not make it 0: none of N missed says
that fewer than about 3/N miss, at 95 % confidence, if steps miss independently.

T_s = N_switch T_switch + 4 e N_ipc T_ipc + (2e + 1) T_spring + e T_mass, with e = floor(n / i)
masses of each of i threads; for one thread 3n/2 T_spring + n T_mass. N_switch are the involuntary
switches of a thread in a step, N_ipc the share of the semaphore operations that blocked. Nothing
is fitted: spring and mass are collinear in n, so T_spring and T_mass are timed by the threads of
the simulation themselves, over masses in the cache; T_switch is the mean of THR-P-SLS with two
threads and T_ipc that of SEM-P-SHF, of the same document.

The model of the paper has no term for operations that do not block, for cache lines that another
thread has written, for threads that meet at one mass, and for memory that is not in the cache. All
of these are in the reads and writes of a step. They are timed as a whole, apart from the steps and
without their arithmetic: the term `access`, which takes the place of the hand-overs. A document of
an earlier version lacks it, and has 4 e uncontended operations as a further term instead. The wait
of a thread for a CPU has no term.

A side is a policy or a kernel. Both sides are compared at the points that both measured: which one
simulates faster (SIM-P-RF), and which one misses fewer deadlines (SIM-S-RT). The point is the
statistical unit, since steps of one point depend on each other: each point gives one difference,
tested by the exact signed-rank test. What the points do not decide stays undecided, with what
would be needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, combinations, groupby, islice
from math import ceil, exp, log, log2
from typing import Literal

import msgspec

from hardstone.model import RunDocument, Series, as_integer
from hardstone.simulation.results import (
    REAL_FAST,
    REAL_TIME,
    Costs,
    Curve,
    Point,
    Total,
    by_curve,
    costs_of,
)
from hardstone.stats.conditions import condition_of
from hardstone.stats.quantiles import share_high

CONFIDENCE = 0.95
_MOST_CELLS = 2048  # of all maps together


class Cell(msgspec.Struct, kw_only=True, frozen=True):
    """All points of one curve at one number of masses.

    `is_counted`: every released step is known, so that it can hold. `bound` is the upper end of
    the share of missed steps at 95 %; None where the steps were not counted.
    """

    curve: Curve
    masses: int
    points: tuple[Point, ...]
    missed_count: int
    released_count: int
    is_counted: bool
    bound: float | None

    @property
    def has_missed(self) -> bool:
        return self.missed_count > 0

    @property
    def has_held(self) -> bool:
        return self.is_counted and self.missed_count == 0

    @property
    def share(self) -> float | None:
        """Missed steps of all released ones; None where these are not known."""
        return self.missed_count / self.released_count if self.released_count else None


class Bound(msgspec.Struct, kw_only=True, frozen=True):
    """What one curve held.

    `held`: the largest number of masses that held, with all smaller ones. `first_missed`: the
    smallest that missed. `islands`: those above it that missed none. `not_counted`: refused, cut
    off, or without a count of released steps.
    """

    curve: Curve
    cells: list[Cell]
    held: Cell | None
    first_missed: Cell | None
    islands: list[Cell]
    not_counted: list[Cell]


def miss_bound(missed: int, released: int) -> float:
    """The upper end of the share of missed steps, at 95 % confidence: exact (Clopper and Pearson
    1934), one-sided. With none of N missed it is 1 - 0.05^(1/N), about 3/N.

    ValueError unless 0 <= missed <= released and a step was released.
    """
    return share_high(missed, released, 1 - CONFIDENCE)


def bounds_of(points: Iterable[Point]) -> list[Bound]:
    """What each curve of SIM-S-RT held, in the order of the points."""
    own = [one for one in points if one.test == REAL_TIME and not one.is_delayed]
    return [_bound(curve, _cells_of(curve, found)) for curve, found in by_curve(own).items()]


def _cells_of(curve: Curve, points: Sequence[Point]) -> list[Cell]:
    """One cell for each number of masses, ascending; points measured again share one."""
    ordered = sorted(points, key=lambda one: one.masses)
    cells = []
    for masses, own in groupby(ordered, key=lambda one: one.masses):
        measured = tuple(own)
        # What was cut off says something only where it missed.
        found = [one for one in measured if _counts(one) or _missed(one)]
        missed = sum(map(_missed, found))
        known = [one.deadlines.released_count for one in found if one.deadlines]
        released = sum(one or 0 for one in known)
        is_known = released > 0 and None not in known and missed <= released
        cell = Cell(
            curve=curve,
            masses=masses,
            points=measured,
            missed_count=missed,
            released_count=released if is_known else 0,
            is_counted=is_known and all(map(_counts, found)),
            bound=miss_bound(missed, released) if is_known else None,
        )
        cells.append(cell)
    return cells


def _missed(point: Point) -> int:
    return point.deadlines.missed_count or 0 if point.deadlines else 0


def _counts(point: Point) -> bool:
    """Whether every missed step of `point` was counted."""
    is_counted = point.deadlines is not None and point.deadlines.missed_count is not None
    return is_counted and point.is_whole


def _bound(curve: Curve, cells: list[Cell]) -> Bound:
    first = next((one for one in cells if one.has_missed), None)
    below = [one for one in cells if first is None or one.masses < first.masses]
    above = cells[len(below) + 1 :]
    held = [one for one in below if one.has_held]
    return Bound(
        curve=curve,
        cells=cells,
        held=held[-1] if held else None,
        first_missed=first,
        islands=[one for one in above if one.has_held],
        not_counted=[one for one in cells if not one.has_missed and not one.has_held],
    )


class Panel(msgspec.Struct, kw_only=True, frozen=True):
    """One map: cells of all thread counts that share everything else."""

    key: Curve
    cells: list[Cell]

    @property
    def threads(self) -> list[int]:
        return sorted({one.curve.threads for one in self.cells})

    @property
    def masses(self) -> list[int]:
        return sorted({one.masses for one in self.cells})


def maps_of(bounds: Iterable[Bound], most: int = _MOST_CELLS) -> list[Panel]:
    """The hard and the soft map: one panel for each solver, policy and condition. `key` has 0
    threads. Beyond `most` cells the last panels have none."""
    panels: dict[Curve, list[Cell]] = {}
    left = most
    for bound in bounds:
        kept = bound.cells[:left]
        left -= len(kept)
        panels.setdefault(bound.curve._replace(threads=0), []).extend(kept)
    return [Panel(key=key, cells=cells) for key, cells in panels.items() if cells]


SWITCH_TEST, HAND_OVER_TEST = "THR-P-SLS", "SEM-P-SHF"
_MODEL_SOLVER = "semaphore"
TermName = Literal["spring", "mass", "hand-over", "switch", "semaphore", "access"]
_MOST_NS = 1e15
_LEAST_CPU_SHARE = 0.9


class Inputs(msgspec.Struct, kw_only=True, frozen=True):
    """Times of single operations, in ns. `notes`: which of them are of other conditions."""

    spring_ns: float
    mass_ns: float
    semaphore_ns: float | None
    access_ns: float | None
    switch_ns: float | None
    hand_over_ns: float | None
    notes: tuple[str, ...] = ()


class Term(msgspec.Struct, kw_only=True, frozen=True):
    """`count` operations of a thread in a step, of `each_ns`."""

    name: TermName
    count: float
    each_ns: float

    @property
    def ns(self) -> float:
        return self.count * self.each_ns


class Model(msgspec.Struct, kw_only=True, frozen=True):
    """The model of one point, and what was measured; residual: measured - model.

    `terms` are those of the paper. Terms that the paper does not have: `access`, the reads and
    writes of a step without its arithmetic, instead of the hand-overs; None: not timed.
    `semaphore`: 4e uncontended operations, where there is no `access`; None for one thread, which
    takes no semaphore, and where its cost is not known.
    """

    point: Point
    terms: tuple[Term, ...]
    semaphore: Term | None
    access: Term | None
    measured_ns: float
    notes: tuple[str, ...]

    @property
    def model_ns(self) -> float:
        return sum(one.ns for one in self.terms)

    @property
    def residual_ns(self) -> float:
        return self.measured_ns - self.model_ns

    @property
    def extended_ns(self) -> float | None:
        """The model with `access`, or with `semaphore`; None: without either."""
        if self.access is not None:
            own = sum(one.ns for one in self.terms if one.name != "hand-over")
            return own + self.access.ns
        return None if self.semaphore is None else self.model_ns + self.semaphore.ns

    @property
    def extended_residual_ns(self) -> float | None:
        """The residual of that."""
        found = self.extended_ns
        return None if found is None else self.measured_ns - found


class NoModel(msgspec.Struct, kw_only=True, frozen=True):
    """Why a point has no model."""

    point: Point
    why: str


def models_of(document: RunDocument, points: Sequence[Point]) -> list[Model | NoModel]:
    """The model of each measured point, in their order."""
    return [model_of(document, one) for one in points if one.is_measured]


def model_of(document: RunDocument, point: Point) -> Model | NoModel:
    """The model of `point`, a point of `document`; or which of its inputs is missing."""
    measured = _measured(document, point)
    if point.solver != _MODEL_SOLVER:
        return NoModel(point=point, why=f"the model is that of the solver {_MODEL_SOLVER}")
    if measured is None:
        return NoModel(point=point, why="no step was timed")
    found = inputs_of(document, point)
    if isinstance(found, str):
        return NoModel(point=point, why=found)
    terms = _terms(point, found)
    if isinstance(terms, str):
        return NoModel(point=point, why=terms)
    semaphore = access = None
    if found.access_ns is not None:
        access = Term(name="access", count=1, each_ns=found.access_ns)
    elif point.threads > 1 and found.semaphore_ns is not None:
        count = 4.0 * (point.masses // point.threads)
        semaphore = Term(name="semaphore", count=count, each_ns=found.semaphore_ns)
    notes, cpus = found.notes, point.work.cpus_count
    if cpus and point.threads > cpus:
        threads = f"{point.threads} threads on {cpus} CPUs"
        notes = (*notes, f"{threads}: the model does not count the wait for a CPU")
    share = _cpu_share(point)
    if share is not None and share < _LEAST_CPU_SHARE:
        has = f"{_threads_text(point)} of SIM-P-RF had a CPU for {100 * share:.0f} % of the time"
        notes = (*notes, f"{has}: the model does not count the wait for one")
    return Model(
        point=point,
        terms=terms,
        semaphore=semaphore,
        access=access,
        measured_ns=measured,
        notes=notes,
    )


def _threads_text(point: Point) -> str:
    return "the thread" if point.threads == 1 else f"{point.threads} threads"


def _cpu_share(point: Point) -> float | None:
    """The share of the time for which each thread had a CPU, where all always compute and have one
    each."""
    cpus, cpu_ns = point.work.cpus_count, point.work.cpu_ns
    if point.total is None or cpu_ns is None or not cpus or point.threads > cpus:
        return None
    is_single = point.total.repeats_count == 1  # the CPU time is that of the last repeat
    return cpu_ns / (point.threads * point.total.mean_ns) if is_single else None


def inputs_of(document: RunDocument, point: Point) -> Inputs | str:
    """The inputs of the model of `point`, or which one is missing."""
    costs = _costs_at(document, point)
    if costs is None:
        return "the probe did not report the cost of a spring and a mass"
    if costs.spring_ns is None or costs.mass_ns is None:
        return "the probe did not report the cost of a spring or a mass"
    switch = _series(document, point, SWITCH_TEST, "switch", {"threads": "2"})
    hand_over = _series(
        document, point, HAND_OVER_TEST, "shuffle", {"kind": "unnamed", "scope": "thread"}
    )
    return Inputs(
        spring_ns=costs.spring_ns,
        mass_ns=costs.mass_ns,
        semaphore_ns=costs.semaphore_ns,
        access_ns=costs.access_ns,
        switch_ns=switch[0] if switch else None,
        hand_over_ns=hand_over[0] if hand_over else None,
        notes=tuple(one[1] for one in (switch, hand_over) if one and one[1] and point.threads > 1),
    )


def _costs_at(document: RunDocument, point: Point) -> Costs | None:
    """The costs that the threads of the point were timed with, or those of all variants."""
    found = costs_of(document.results[point.result])
    wanted = (point.masses, point.threads, point.policy)
    own = [one for one in found if (one.masses, one.threads, one.policy) == wanted]
    return next(iter(own or [one for one in found if one.threads == 0]), None)


def _measured(document: RunDocument, point: Point) -> float | None:
    """The mean time of a step."""
    if point.step_time is not None:
        return point.step_time.mean_ns
    steps = steps_each(document, point)
    return point.total.mean_ns / steps if point.total and steps else None


def steps_each(document: RunDocument, point: Point) -> int | None:
    """Steps of one whole simulation of SIM-P-RF; None: not known."""
    if point.test != REAL_FAST or point.total is None:
        return None
    simulated = as_integer(document.results[point.result].params.get("simulated_s"))
    if simulated is not None and simulated > 0:
        return simulated * 1_000_000_000 // point.step_ns or None
    steps = point.work.steps_count
    return steps // point.total.repeats_count if steps else None


def _terms(point: Point, found: Inputs) -> tuple[Term, ...] | str:
    """The terms of the paper, or which of their counts or times is missing."""
    if point.threads == 1:
        masses = float(point.masses)
        return (
            Term(name="spring", count=1.5 * masses, each_ns=found.spring_ns),
            Term(name="mass", count=masses, each_ns=found.mass_ns),
        )
    if found.switch_ns is None:
        return f"{SWITCH_TEST} was not measured with 2 threads"
    if found.hand_over_ns is None:
        return f"{HAND_OVER_TEST} was not measured with unnamed semaphores"
    work, each = point.work, point.masses // point.threads
    if work.involuntary_count is None or not work.steps_count:
        return "the context switches of its threads are not known"
    if not work.operations_count or work.blocked_count is None:
        return "its semaphore operations were not counted"
    blocked = work.blocked_count / work.operations_count
    switches = work.involuntary_count / (point.threads * work.steps_count)
    return (
        Term(name="spring", count=2.0 * each + 1, each_ns=found.spring_ns),
        Term(name="mass", count=float(each), each_ns=found.mass_ns),
        Term(name="hand-over", count=4 * each * blocked, each_ns=found.hand_over_ns),
        Term(name="switch", count=switches, each_ns=found.switch_ns),
    )


def _series(
    document: RunDocument, point: Point, test: str, name: str, labels: dict[str, str]
) -> tuple[float, str] | None:
    """The mean of a series, and under which other condition it was measured. One that was measured
    under the condition of the point comes first."""
    found = [
        (result, series.mean)
        for result in document.results
        if result.test == test
        for series in result.series
        if series.name == name and _is_labelled(series, labels) and _time(series.mean)
    ]
    if not found:
        return None
    own = [one for one in found if condition_of(one[0]) == _condition(point)]
    result, mean = (own or found)[0]
    where = condition_of(result)
    other = "" if own else f"{test} was measured under load {where.load}, {where.cpu_config}"
    return float(mean or 0), other


def _is_labelled(series: Series, labels: dict[str, str]) -> bool:
    """Whether `series` has these labels, as far as it has labels of these names."""
    own = {key: str(value) for key, value in series.labels.items()}
    return all(own.get(key, value) in (value, "both") for key, value in labels.items())


def _time(value: object) -> float | None:
    """A possible time, above 0."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 < value < _MOST_NS else None


ALPHA = 0.05
LEAST_PAIRS = 1 + ceil(log2(1 / ALPHA))  # fewer differences cannot have p <= ALPHA
_MOST_PLACES = 120  # the exact test takes time with the cube of their number
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


def _thinned(places: list[Place]) -> list[Place]:
    """Every so many of them, so that there are _MOST_PLACES at most."""
    return places[:: max(1, ceil(len(places) / _MOST_PLACES))]


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


def _speed_of(first_points: Sequence[Point], second_points: Sequence[Point]) -> Speed | None:
    """Both sides at the points that they share; None where there is none."""
    first, second = _totals(first_points), _totals(second_points)
    places = _thinned([one for one in first if one in second])
    if not places:
        return None
    from hardstone.stats.resampling import hodges_lehmann, signed_rank_p  # which loads numpy

    logs = [log(second[one].mean_ns / first[one].mean_ns) for one in places]
    shift = hodges_lehmann(logs)
    repeated = [
        one for one in places if min(first[one].repeats_count, second[one].repeats_count) > 1
    ]
    overlaps = [
        first[one].min_ns <= second[one].max_ns and second[one].min_ns <= first[one].max_ns
        for one in repeated
    ]
    p = signed_rank_p(logs)
    return _with_faster(
        Speed(
            places=places,
            ratios=[exp(one) for one in logs],
            ratio=exp(shift.estimate),
            low=None if shift.low is None else exp(shift.low),
            high=None if shift.high is None else exp(shift.high),
            least=exp(min(logs)),
            most=exp(max(logs)),
            overlapping=sum(overlaps),
            repeated=len(repeated),
            paused=(_paused(first_points, places), _paused(second_points, places)),
            p=p,
            p_adjusted=p,
            faster=None,
        )
    )


def _paused(points: Iterable[Point], places: list[Place]) -> int:
    return sum(one.paused_ns is not None and _place(one) in places for one in points)


def _with_faster(speed: Speed) -> Speed:
    """The faster side where the points decide it, and repeats do not differ as much."""
    is_within = speed.repeated and 2 * speed.overlapping >= speed.repeated
    is_decided = speed.p_adjusted <= ALPHA and not is_within and speed.ratio != 1
    faster: Which | None = ("first" if speed.ratio > 1 else "second") if is_decided else None
    return msgspec.structs.replace(speed, faster=faster)


def _needed_of_speed(speed: Speed | None) -> list[str]:
    """What would decide which side is faster; nothing where it is decided."""
    if speed is None:
        return ["no point of SIM-P-RF was measured on both sides"]
    if speed.faster:
        return []
    if speed.repeated and 2 * speed.overlapping >= speed.repeated:
        return [
            f"total times overlap at {speed.overlapping} of {speed.repeated} repeated points: "
            "both sides differ no more than the repeats of one"
        ]
    return [_undecided("total times", len(speed.places), speed.p_adjusted)]


def _undecided(what: str, count: int, p: float) -> str:
    """Why `count` points that differ do not decide."""
    points = "1 common point" if count == 1 else f"{count} common points"
    if count < LEAST_PAIRS:
        return f"{what} differ at {points}; at least {LEAST_PAIRS} are needed to decide"
    return f"{what} differ at {points}, which is not significant (p {p:.2g})"


Conclusion = Literal["faster misses more", "faster misses fewer", "undecided"]


class Side(msgspec.Struct, kw_only=True, frozen=True):
    """What is compared: a policy, or a kernel."""

    label: str
    points: list[Point]


class Misses(msgspec.Struct, kw_only=True, frozen=True):
    """Missed steps of both sides at `places` of SIM-S-RT; `differing` of them differ.

    `more_on_first`: points at which the first side missed more.
    """

    places: list[Place]
    missed: tuple[int, int]
    released: tuple[int, int]
    differing: int
    more_on_first: int
    p: float
    p_adjusted: float
    fewer: Which | None


class HeldRow(msgspec.Struct, kw_only=True, frozen=True):
    """What both sides held with one number of threads; None: not measured."""

    solver: str
    threads: int
    first: Bound | None
    second: Bound | None


class Statement(msgspec.Struct, kw_only=True, frozen=True):
    """Two sides under one condition. `needed`: why it is undecided, and what would decide it."""

    under: tuple[str, str, str]
    first: str
    second: str
    speed: Speed | None
    misses: Misses | None
    held: list[HeldRow]
    conclusion: Conclusion
    needed: list[str]


def _statement_of(first: Side, second: Side, under: tuple[str, str, str]) -> Statement:
    """Both sides compared; `under` are load, CPU configuration and preemption model."""
    speed = _speed_of(first.points, second.points)
    bounds = bounds_of(first.points), bounds_of(second.points)
    return _concluded(
        Statement(
            under=under,
            first=first.label,
            second=second.label,
            speed=speed,
            misses=_misses(_cells(bounds[0]), _cells(bounds[1])),
            held=_held(*bounds),
            conclusion="undecided",
            needed=[],
        )
    )


def _judged_together(found: Sequence[Statement]) -> list[Statement]:
    """The same statements with their p values adjusted for their number (Holm)."""
    from hardstone.stats.resampling import holm

    speeds = holm([one.speed.p for one in found if one.speed])
    misses = holm([one.misses.p for one in found if one.misses])
    judged = []
    for one in found:
        speed, missed = one.speed, one.misses
        if speed:
            speed = _with_faster(msgspec.structs.replace(speed, p_adjusted=speeds.pop(0)))
        if missed:
            missed = _with_fewer(msgspec.structs.replace(missed, p_adjusted=misses.pop(0)))
        judged.append(_concluded(msgspec.structs.replace(one, speed=speed, misses=missed)))
    return judged


def _cells(bounds: Iterable[Bound]) -> dict[Place, Cell]:
    """Cells of which every step was counted."""
    return {
        Place(
            solver=bound.curve.solver,
            threads=bound.curve.threads,
            masses=cell.masses,
            step_ns=bound.curve.step_ns,
            period_ns=bound.curve.period_ns,
            simulated_s=0,
        ): cell
        for bound in bounds
        for cell in bound.cells
        if cell.is_counted
    }


def _misses(first: dict[Place, Cell], second: dict[Place, Cell]) -> Misses | None:
    places = _thinned([one for one in first if one in second])
    if not places:
        return None
    pairs = [(first[one], second[one]) for one in places]
    differences = [(b.share or 0.0) - (a.share or 0.0) for a, b in pairs]
    from hardstone.stats.resampling import signed_rank_p

    p = signed_rank_p(differences)
    return _with_fewer(
        Misses(
            places=places,
            missed=(sum(a.missed_count for a, _ in pairs), sum(b.missed_count for _, b in pairs)),
            released=(
                sum(a.released_count for a, _ in pairs),
                sum(b.released_count for _, b in pairs),
            ),
            differing=sum(map(bool, differences)),
            more_on_first=sum(one < 0 for one in differences),
            p=p,
            p_adjusted=p,
            fewer=None,
        )
    )


def _with_fewer(misses: Misses) -> Misses:
    """The side with fewer misses where the points decide it: most of them, and all together."""
    shares = [m / n for m, n in zip(misses.missed, misses.released, strict=True)]
    is_decided = misses.p_adjusted <= ALPHA and not _is_contrary(misses) and shares[0] != shares[1]
    fewer: Which | None = ("first" if shares[0] < shares[1] else "second") if is_decided else None
    return msgspec.structs.replace(misses, fewer=fewer)


def _is_contrary(misses: Misses) -> bool:
    """Whether most points say the opposite of all steps together."""
    (missed, other_missed), (released, other_released) = misses.missed, misses.released
    more_by_points = 2 * misses.more_on_first - misses.differing
    return more_by_points * (missed * other_released - other_missed * released) <= 0


def _held(first: Iterable[Bound], second: Iterable[Bound]) -> list[HeldRow]:
    """The curves of both sides by solver, threads, step and period."""
    found: dict[tuple[str, int, int, int], list[Bound | None]] = {}
    for side, bounds in enumerate((first, second)):
        for one in bounds:
            key = (one.curve.solver, one.curve.threads, one.curve.step_ns, one.curve.period_ns)
            found.setdefault(key, [None, None])[side] = one
    return [
        HeldRow(solver=key[0], threads=key[1], first=found[key][0], second=found[key][1])
        for key in sorted(found)
    ]


def _concluded(one: Statement) -> Statement:
    needed = [*_needed_of_speed(one.speed), *_needed_of_misses(one.misses)]
    conclusion: Conclusion = "undecided"
    if one.speed and one.misses and one.speed.faster and one.misses.fewer:
        is_same = one.speed.faster == one.misses.fewer
        conclusion = "faster misses fewer" if is_same else "faster misses more"
    return msgspec.structs.replace(one, conclusion=conclusion, needed=needed)


def _needed_of_misses(misses: Misses | None) -> list[str]:
    if misses is None:
        return ["no point of SIM-S-RT was counted on both sides"]
    if misses.fewer:
        return []
    if misses.missed == (0, 0):
        return ["neither side missed a deadline at the common points; measure larger simulations"]
    if misses.p_adjusted <= ALPHA and _is_contrary(misses):
        return ["one side missed more at most points, the other missed more steps in total"]
    return [_undecided("missed deadlines", misses.differing, misses.p_adjusted)]


MOST_STATEMENTS = 12
_MOST_CONDITIONS = 64
# A real-time policy stands before one that is not.
_ORDER = ("fifo", "rr", "deadline", "other")
_Condition = tuple[str, str, str]


def statements_within(points: Sequence[Point]) -> list[Statement]:
    """Two policies, or two preemption models, of one document under each condition."""
    found = chain(_by_policy(points), _by_preemption(points))
    return _judged_together(list(islice(found, MOST_STATEMENTS)))


def statements_between(first: Side, second: Side) -> list[Statement]:
    """Two documents, such as those of two kernels, for each policy that both have."""
    policies = _in_order(
        {one.policy for one in first.points}, {one.policy for one in second.points}
    )
    found = (
        _statement_of(_only(first, policy, where), _only(second, policy, where), where)
        for policy in policies
        for where in _conditions([*first.points, *second.points])
    )
    return _judged_together(list(islice(filter(_has_both, found), MOST_STATEMENTS)))


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
    found = _statement_of(sides[0], sides[1], where)
    if _has_both(found):
        yield found


def _has_both(found: Statement) -> bool:
    have_curve = any(one.first and one.second for one in found.held)
    return found.speed is not None or found.misses is not None or have_curve


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
