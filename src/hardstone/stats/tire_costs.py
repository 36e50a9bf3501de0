"""The cost model of Garre et al. (2014) for one step of the solver `semaphore`.

T_s = N_switch T_switch + 4 e N_ipc T_ipc + (2e + 1) T_spring + e T_mass, with e = floor(n / i)
masses of each of i threads; for one thread 3n/2 T_spring + n T_mass. N_switch are the involuntary
switches of a thread in a step, N_ipc the share of the semaphore operations that blocked. Nothing
is fitted: spring and mass are collinear in n, so T_spring, T_mass and the cost of an uncontended
operation are timed on one thread by the test itself; T_switch is the mean of THR-P-SLS with two
threads and T_ipc that of SEM-P-SHF, of the same document.

The model of the paper has no term for operations that do not block, and none for the wait of a
thread for a CPU. The first is given as a further term, `semaphore`; the second is in the residual.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from hardstone.model import Result, RunDocument, Series
from hardstone.stats.conditions import condition_of
from hardstone.stats.tire_names import COSTS, REAL_FAST
from hardstone.stats.tire_points import Point

SWITCH_TEST, HAND_OVER_TEST = "THR-P-SLS", "SEM-P-SHF"
MODEL_SOLVER = "semaphore"
TermName = Literal["spring", "mass", "hand-over", "switch", "semaphore"]
_MOST_NS = 1e15


class Inputs(msgspec.Struct, kw_only=True, frozen=True):
    """Times of single operations, in ns. `notes`: which of them are of other conditions."""

    spring_ns: float
    mass_ns: float
    semaphore_ns: float | None
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
    """The model of one point beside what was measured; residual: measured - model.

    `terms` are those of the paper. `semaphore`: 4e uncontended operations, a term that the paper
    does not have; None for one thread, which takes no semaphore, and where its cost is not known.
    """

    point: Point
    terms: tuple[Term, ...]
    semaphore: Term | None
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
        """The model with the term `semaphore`."""
        return self.model_ns + self.semaphore.ns if self.semaphore else None

    @property
    def extended_residual_ns(self) -> float | None:
        extended = self.extended_ns
        return None if extended is None else self.measured_ns - extended


class NoModel(msgspec.Struct, kw_only=True, frozen=True):
    """Why a point has no model."""

    point: Point
    why: str


def models_of(document: RunDocument, points: Sequence[Point]) -> list[Model | NoModel]:
    """The model of each measured point, in their order."""
    return [model_of(document, one) for one in points if one.is_measured]


def model_of(document: RunDocument, point: Point) -> Model | NoModel:
    """The model of `point`, a point of `document`; or what of its inputs is missing."""
    measured = _measured(document, point)
    if point.solver != MODEL_SOLVER:
        return NoModel(point=point, why=f"the model is that of the solver {MODEL_SOLVER}")
    if measured is None:
        return NoModel(point=point, why="no step was timed")
    found = inputs_of(document, point)
    if isinstance(found, str):
        return NoModel(point=point, why=found)
    terms = _one_thread(point, found) if point.threads == 1 else _threads(point, found)
    if isinstance(terms, str):
        return NoModel(point=point, why=terms)
    return Model(
        point=point,
        terms=terms,
        semaphore=_semaphore(point, found),
        measured_ns=measured,
        notes=(*found.notes, *_limits(point)),
    )


def inputs_of(document: RunDocument, point: Point) -> Inputs | str:
    """The inputs of the model of `point`, or which one is missing."""
    result = document.results[point.result]
    data = next((one.data for one in result.events if one.name == COSTS), None)
    if data is None:
        return f"the result has no event {COSTS}"
    spring, mass = _time(data.get("spring_ns")), _time(data.get("mass_ns"))
    if spring is None or mass is None:
        return f"the event {COSTS} has no time of a spring or a mass"
    switch = _series(document, point, SWITCH_TEST, "switch", {"threads": "2"})
    hand_over = _series(
        document, point, HAND_OVER_TEST, "shuffle", {"kind": "unnamed", "scope": "thread"}
    )
    return Inputs(
        spring_ns=spring,
        mass_ns=mass,
        semaphore_ns=_time(data.get("semaphore_ns")),
        switch_ns=switch[0] if switch else None,
        hand_over_ns=hand_over[0] if hand_over else None,
        notes=tuple(one[1] for one in (switch, hand_over) if one and one[1] and point.threads > 1),
    )


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
    simulated = document.results[point.result].params.get("simulated_s")
    if isinstance(simulated, int) and not isinstance(simulated, bool) and simulated > 0:
        return simulated * 1_000_000_000 // point.step_ns or None
    steps = point.work.steps_count
    return steps // point.total.repeats_count if steps else None


def _one_thread(point: Point, found: Inputs) -> tuple[Term, ...]:
    masses = float(point.masses)
    return (
        Term(name="spring", count=1.5 * masses, each_ns=found.spring_ns),
        Term(name="mass", count=masses, each_ns=found.mass_ns),
    )


def _threads(point: Point, found: Inputs) -> tuple[Term, ...] | str:
    if found.switch_ns is None:
        return f"the document has no {SWITCH_TEST} with 2 threads"
    if found.hand_over_ns is None:
        return f"the document has no {HAND_OVER_TEST} of unnamed semaphores"
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


def _semaphore(point: Point, found: Inputs) -> Term | None:
    if point.threads == 1 or found.semaphore_ns is None:
        return None
    each = point.masses // point.threads
    return Term(name="semaphore", count=4.0 * each, each_ns=found.semaphore_ns)


def _limits(point: Point) -> Iterator[str]:
    cpus = point.work.cpus_count
    if cpus and point.threads > cpus:
        yield f"{point.threads} threads on {cpus} CPUs: the model has no term for waiting for one"


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
    own = [one for one in found if _is_same(one[0], point)]
    for result, mean in (own or found)[:1]:
        where = condition_of(result)
        other = "" if own else f"{test} was measured under load {where.load}, {where.cpu_config}"
        return float(mean or 0), other
    return None


def _is_same(result: Result, point: Point) -> bool:
    where = condition_of(result)
    own = (point.load, point.cpu_config, point.preemption)
    return (where.load, where.cpu_config, where.preemption) == own


def _is_labelled(series: Series, labels: dict[str, str]) -> bool:
    """Whether it has these labels; one that it does not have at all does not count."""
    own = {key: str(value) for key, value in series.labels.items()}
    return all(own.get(key, value) in (value, "both") for key, value in labels.items())


def _time(value: object) -> float | None:
    """A time that can be: above 0."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 < value < _MOST_NS else None
