"""The variants of one result of the tire: which there are, with their series and counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice, product
from typing import NamedTuple

from hardstone.model import DataValue, Result, Series
from hardstone.stats.tire_counts import count_of
from hardstone.stats.tire_names import NAME_CHARACTERS, SIMULATION
from hardstone.units import whole_number

MOST_MASSES = 4_000_000
MOST_THREADS = 256
_MOST_VARIANTS = 256


class Variant(NamedTuple):
    masses: int
    threads: int
    solver: str
    policy: str


def counted_of(result: Result) -> dict[Variant, dict[str, DataValue]]:
    """The data of the events `simulation`; counts of one variant that was resumed are added up."""
    found: dict[Variant, dict[str, DataValue]] = {}
    for event in result.events:
        if event.name != SIMULATION:
            continue
        data = event.data
        key = _key(
            data.get("masses_count"),
            data.get("threads_count"),
            data.get("solver"),
            data.get("policy"),
        )
        if key is None:
            continue
        known = found.get(key)
        found[key] = dict(data) if known is None else _added(known, data)
    return found


def _added(one: Mapping[str, DataValue], other: Mapping[str, DataValue]) -> dict[str, DataValue]:
    """Sums of the counts of both; what one of them does not know, the sum does not."""
    summed: dict[str, DataValue] = {}
    for name in one.keys() & other.keys():
        first, second = count_of(one[name]), count_of(other[name])
        if name in ("masses_count", "threads_count", "cpus_count") or first is None:
            summed[name] = one[name]
        elif second is not None and name != "first_missed_count":
            summed[name] = first + second
    return summed


def timed_of(result: Result) -> dict[Variant, dict[str, Series]]:
    """The series of each variant by their names."""
    found: dict[Variant, dict[str, Series]] = {}
    for series in result.series:
        labels = series.labels
        key = _key(
            labels.get("masses"),
            labels.get("threads"),
            labels.get("solver"),
            labels.get("policy"),
        )
        if key is not None:
            found.setdefault(key, {}).setdefault(series.name, series)
    return found


def requested_of(result: Result) -> Iterator[Variant]:
    """The variants that a result without values was asked for."""
    params = result.params
    lists = [params.get(name) for name in ("masses", "threads", "solver", "policy")]
    choices = [one if isinstance(one, list) else [one] for one in lists]
    real_policy = result.conditions.policy or "run"
    for masses, threads, solver, policy in islice(product(*choices), _MOST_VARIANTS):
        key = _key(masses, threads, solver, real_policy if policy == "run" else policy)
        if key is not None:
            yield key


def _key(masses: object, threads: object, solver: object, policy: object) -> Variant | None:
    """None where these are not those of a simulation."""
    mass_count, thread_count = _whole(masses), _whole(threads)
    if mass_count is None or not 0 < mass_count <= MOST_MASSES:
        return None
    if thread_count is None or not 0 < thread_count <= MOST_THREADS:
        return None
    if not isinstance(solver, str) or not isinstance(policy, str) or not solver or not policy:
        return None
    return Variant(mass_count, thread_count, solver[:NAME_CHARACTERS], policy[:NAME_CHARACTERS])


def _whole(value: object) -> int | None:
    """A label may be text: "400"."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        return whole_number(value)
    return value if isinstance(value, int) else None
