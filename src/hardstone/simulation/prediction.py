"""The largest simulation that a curve will hold, predicted before its first point, and checked.

The costs of a step are timed at a few sizes before a sweep (SIM-S-RT with costs_only, event
tire_costs): the arithmetic of a mass, and the reads and writes of a step. With e = n / i masses of
each of i threads a step takes e loop + access(n). The reads and writes are interpolated between the
sizes, and go on in proportion beyond them. The largest n is that whose step fits the period less
the time from a release to the first thread.

Each size is timed several times, with new threads, since threads that meet at a mass in one start
may not in another. The interval is what the same sum gives with the first and the ninth decile
(their means over the repeats, and no less wide than the means of the repeats lie apart). It does
not cover what none of them saw: a CPU that changes its speed later, a load, or single long delays,
of which one is enough for a miss.

A prediction is stored as an event of the result that it rests on, before the first point is
measured: it is read from there and not computed again.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log
from statistics import median
from typing import Literal

import msgspec

from hardstone.event_names import TIRE_PREDICTED
from hardstone.model import DataValue, Event, Result, RunDocument, Series, as_integer
from hardstone.simulation.analysis import Bound, bounds_of
from hardstone.simulation.results import REAL_TIME, Costs, Curve, Point, costs_of, has_costs_only
from hardstone.simulation.sweep import Curve as Planned
from hardstone.stats.conditions import condition_of

_SOLVER = "semaphore"
_STEP = 4
_MOST_MASSES = 4_000_000
_DEFAULT_NS = 10_000_000
_WIDE = 2.0
_GAP = 0.1  # a limit that is known no better than this decides little
_Which = Literal["low", "mean", "high"]
Check = Literal["inside", "below", "above", "not decided"]


class Prediction(msgspec.Struct, kw_only=True, frozen=True):
    """What one curve will hold: `masses`, from `low` to `high`. All None: `why` there is none."""

    solver: str
    policy: str
    threads: int
    load: str
    cpu_config: str
    masses: int | None = None
    low: int | None = None
    high: int | None = None
    why: str = ""


class Checked(msgspec.Struct, kw_only=True, frozen=True):
    """A prediction and what the curve held; `check` where both are known."""

    prediction: Prediction
    bound: Bound
    check: Check

    @property
    def is_wide(self) -> bool:
        """Whether the interval is so wide that lying inside it says little."""
        low, high = self.prediction.low, self.prediction.high
        return low is not None and high is not None and high > _WIDE * low


def predict(
    costs: Sequence[Costs], threads: int, period_ns: int, cpus: int | None
) -> tuple[int, int, int] | str:
    """Masses, and the interval of them, whose step fits `period_ns`; or why this is not known."""
    if cpus is not None and threads > cpus:
        return (
            f"{threads} threads on {'1 CPU' if cpus == 1 else f'{cpus} CPUs'} wait for each other"
        )
    own = [one for one in costs if one.threads == threads and one.masses > 0]
    own = [one for one in own if one.access_ns is not None and one.loop_ns is not None]
    if not own:
        return "the costs of a step were not timed with this number of threads"
    dispatch = [one.dispatch_ns for one in own if one.dispatch_ns is not None]
    slowest = [one.dispatch_high_ns for one in own if one.dispatch_high_ns is not None]
    if not dispatch or not slowest:
        return "the time from a release to the first thread is not known"
    found = (
        _largest(own, "mean", period_ns - median(dispatch)),
        _largest(own, "high", period_ns - median(slowest)),
        _largest(own, "low", period_ns - min(dispatch)),
    )
    return found[0], min(found), max(found)


class _Size(msgspec.Struct, kw_only=True, frozen=True):
    """All repeats at one number of masses."""

    masses: int
    threads: int
    repeats: list[Costs]

    def loop_of(self, which: _Which) -> float:
        return _joined(which, [(one.loop_of(which), one.loop_of("mean")) for one in self.repeats])

    def access_of(self, which: _Which) -> float:
        found = [(one.access_of(which), one.access_of("mean")) for one in self.repeats]
        return _joined(which, found)


def _joined(which: _Which, repeats: Sequence[tuple[float, float]]) -> float:
    """Of repeats, each with its value and its mean."""
    found, means = _mean([one for one, _ in repeats]), [mean for _, mean in repeats]
    return {"low": min(found, *means), "mean": found, "high": max(found, *means)}[which]


def _sizes(costs: Sequence[Costs]) -> list[_Size]:
    """Ascending."""
    found: dict[int, list[Costs]] = {}
    for one in costs:
        found.setdefault(one.masses, []).append(one)
    return [
        _Size(masses=masses, threads=found[masses][0].threads, repeats=found[masses])
        for masses in sorted(found)
    ]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def step_ns(costs: Sequence[Costs], which: _Which, masses: int) -> float:
    """A step of `masses` by costs of one number of threads, at any sizes."""
    sizes = _sizes(costs)
    loop_ns = _joined(which, [(one.loop_of(which), one.loop_of("mean")) for one in sizes])
    return masses / sizes[0].threads * loop_ns + _access_ns(sizes, which, masses)


def _access_ns(sizes: Sequence[_Size], which: _Which, masses: int) -> float:
    """Between two sizes a power of the masses; beyond them in proportion."""
    below = [one for one in sizes if one.masses <= masses]
    above = [one for one in sizes if one.masses > masses]
    if not below or not above:
        nearest = below[-1] if below else above[0]
        return nearest.access_of(which) * masses / nearest.masses
    first, second = below[-1], above[0]
    low_ns, high_ns = max(first.access_of(which), 1.0), max(second.access_of(which), 1.0)
    share = log(masses / first.masses) / log(second.masses / first.masses)
    return exp(log(low_ns) + share * (log(high_ns) - log(low_ns)))


def _largest(costs: Sequence[Costs], which: _Which, room_ns: float) -> int:
    """The largest multiple of 4 whose step fits; 0 where none does."""
    low, high = 0, _MOST_MASSES // _STEP
    while low < high:
        middle = (low + high + 1) // 2
        if step_ns(costs, which, middle * _STEP) <= room_ns:
            low = middle
        else:
            high = middle - 1
    return low * _STEP


def prediction_events(result: Result, curves: Sequence[Planned]) -> list[Event]:
    """One event for each curve of the sweep that `result`, with its costs, has the condition of;
    none for another result."""
    if not has_costs_only(result):
        return []
    where = condition_of(result)
    own = [one for one in curves if (one.load, one.cpu_config) == (where.load, where.cpu_config)]
    return [_event(result, one) for one in own if one.test == REAL_TIME]


def _event(result: Result, curve: Planned) -> Event:
    step = as_integer(result.params.get("step_ns")) or _DEFAULT_NS
    period_ns = as_integer(result.params.get("period_ns")) or step
    data: dict[str, DataValue] = {
        "solver": curve.solver,
        "policy": curve.policy,
        "threads_count": curve.threads,
        "period_ns": period_ns,
    }
    threads = "1 thread" if curve.threads == 1 else f"{curve.threads} threads"
    who = f"{curve.solver}, {curve.policy}, {threads}"
    found = _found(result, curve, period_ns)
    if isinstance(found, str):
        return Event(name=TIRE_PREDICTED, text=f"{who}: {found}", data=data | {"reason": found})
    masses, low, high = found
    data |= {"masses_count": masses, "masses_low_count": low, "masses_high_count": high}
    text = f"{who}: {masses} masses ({low} to {high}) are predicted to fit the period"
    return Event(name=TIRE_PREDICTED, text=text, data=data)


def _found(result: Result, curve: Planned, period_ns: int) -> tuple[int, int, int] | str:
    if curve.solver != _SOLVER:
        return f"the model is that of the solver {_SOLVER}"
    costs = costs_of(result)
    own = [one for one in costs if one.policy == curve.policy]
    cpus = next((one.cpus for one in costs if one.cpus is not None), None)
    if result.status != "measured":
        return f"the costs of a step were not timed: {result.reason or result.status}"[:200]
    return predict(own, curve.threads, period_ns, cpus)


def predictions_of(document: RunDocument) -> list[Prediction]:
    """The predictions that a run stored before its first point, in their order."""
    return [
        one
        for result in document.results
        if has_costs_only(result)
        for event in result.events
        if event.name == TIRE_PREDICTED and (one := _prediction(result, event)) is not None
    ]


def _prediction(result: Result, event: Event) -> Prediction | None:
    data, where = event.data, condition_of(result)
    threads, why = as_integer(data.get("threads_count")), data.get("reason")
    solver, policy = data.get("solver"), data.get("policy")
    if not threads or not isinstance(solver, str) or not isinstance(policy, str):
        return None
    names = ("masses_count", "masses_low_count", "masses_high_count")
    masses, low, high = (as_integer(data.get(name)) for name in names)
    is_sound = masses is not None and low is not None and high is not None
    if not is_sound or not 0 <= (low or 0) <= (masses or 0) <= (high or 0) <= _MOST_MASSES:
        masses = low = high = None
        why = why if isinstance(why, str) else "its figures contradict each other"
    return Prediction(
        solver=solver,
        policy=policy,
        threads=threads,
        load=where.load,
        cpu_config=where.cpu_config,
        masses=masses,
        low=low,
        high=high,
        why=why if isinstance(why, str) else "",
    )


def checked(document: RunDocument, points: Sequence[Point]) -> list[Checked]:
    """Each curve that has a prediction, and whether what it held is inside the interval."""
    known = {
        (one.solver, one.policy, one.threads, one.load, one.cpu_config): one
        for one in predictions_of(document)
    }
    found = []
    for bound in bounds_of(points):
        prediction = known.get(_key(bound.curve))
        if prediction is not None:
            check = check_of(prediction, bound)
            found.append(Checked(prediction=prediction, bound=bound, check=check))
    return found


def _key(curve: Curve) -> tuple[str, str, int, str, str]:
    return curve.solver, curve.policy, curve.threads, curve.load, curve.cpu_config


def check_of(prediction: Prediction, bound: Bound) -> Check:
    """Where the largest size without a miss lies. The limit is between that and the first miss:
    where these are far apart and both sides of an end of the interval, nothing is decided."""
    low, high = prediction.low, prediction.high
    if low is None or high is None or not any(one.is_counted for one in bound.cells):
        return "not decided"
    held = bound.held.masses if bound.held else 0
    missed = bound.first_missed.masses if bound.first_missed else None
    if held > high:
        return "above"
    if missed is None:
        return "not decided"
    if missed <= low:
        return "below"
    is_fine = missed - held <= _GAP * missed or missed - held <= _STEP
    if is_fine or (held >= low and missed <= high):
        return "inside" if held >= low or is_fine else "below"
    return "not decided"


def parts_of_period(document: RunDocument, point: Point) -> tuple[float, float, float] | None:
    """Means of dispatch, step and idle of a point of SIM-S-RT: T_i, T_s and T_w. A step that missed
    its deadline counts with an idle time of 0. None: not all of them were measured."""
    means = [_mean_of(document, point, name) for name in ("dispatch", "step_time", "idle")]
    known = [one for one in means if one is not None]
    return (known[0], known[1], known[2]) if len(known) == 3 else None


def series_at(document: RunDocument, point: Point, name: str) -> Series | None:
    """A series of the point."""
    wanted = (point.masses, point.threads, point.solver, point.policy)
    for series in document.results[point.result].series:
        labels = series.labels
        own = (
            as_integer(labels.get("masses")),
            as_integer(labels.get("threads")),
            labels.get("solver"),
            labels.get("policy"),
        )
        if series.name == name and own == wanted:
            return series
    return None


def _mean_of(document: RunDocument, point: Point, name: str) -> float | None:
    series = series_at(document, point, name)
    if series is None or series.count <= 0 or series.mean is None or series.mean < 0:
        return None
    return series.mean
