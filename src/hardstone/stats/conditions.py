"""Names for the results of one test under several conditions, their comparison series by series,
and what must be the same for two of them to be compared.

A condition is a load, a CPU configuration and, where it is switched, a preemption model. A run may
contain one test under several conditions, so the test ID alone does not identify a result. `Names`
adds what differs within the run, and nothing else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from os.path import commonprefix
from typing import NamedTuple

from hardstone.event_names import DIFFER, TIRE_TESTS
from hardstone.hosts import with_addresses
from hardstone.model import (
    ChangedFact,
    Conditions,
    DataValue,
    Event,
    ParamValue,
    Plan,
    PlannedTest,
    Result,
    RunDocument,
    Scalar,
    Series,
    Verdict,
)

NOT_KNOWN = "not known"
_SINGLE = "single"
_MOST_LISTED = 3
_LABEL_CHARACTERS = 32
_HEAD_CHARACTERS = 10
_CUT = "\N{HORIZONTAL ELLIPSIS}"


class Condition(NamedTuple):
    """Load and CPU configuration as requested; NOT_KNOWN if the document does not say.

    `preemption` is the model that the kernel is switched to; empty: it is not switched.
    """

    load: str
    cpu_config: str
    preemption: str = ""


def condition_of(one: Result | PlannedTest) -> Condition:
    where = one.conditions if isinstance(one, Result) else one
    return Condition(where.load or NOT_KNOWN, where.cpu_config or NOT_KNOWN, where.preemption or "")


def config_text(*conditions: Conditions) -> str:
    """The CPU configuration of all these; for `single` also whether the other CPUs were offline."""
    config = conditions[0].cpu_config or NOT_KNOWN
    if config != _SINGLE:
        return config
    offline = sum("offline" in one.settings for one in conditions)
    if 0 < offline < len(conditions):
        return f"{config} (others offline in {offline} of {len(conditions)})"
    return f"{config} (others {'offline' if offline else 'online'})"


def conditions_in(document: RunDocument) -> list[Condition]:
    """The conditions of the results, without duplicates, in the order of the plan.

    Plans before `hardstone.run/1` had loads do not give tests that did not run a condition.
    """
    plan = document.plan
    results = [one for one in document.results if plan.loads or one.series or one.verdicts]
    found = dict.fromkeys(condition_of(one) for one in results)
    ordered = [one for one in _planned(document) if one in found]
    return list(dict.fromkeys([*ordered, *found]))


def _planned(document: RunDocument) -> list[Condition]:
    return planned_conditions(document.plan) if document.plan.loads else []


def planned_conditions(plan: Plan) -> list[Condition]:
    """The conditions of a plan; for a sweep also those that its results may still lead to."""
    later = []
    if plan.sweep is not None:
        later = [Condition(load, config) for load in plan.loads for config in plan.cpu_configs]
    return list(dict.fromkeys([*map(condition_of, plan.tests), *later]))


def result_under(
    planned: PlannedTest, result: Result, addresses: Mapping[str, str] | None = None
) -> Result:
    """`result` under the conditions of `planned`; the probe got `addresses` for names of hosts.

    If the probe reports other conditions, the event `conditions_differ` records them.
    """
    if result.conditions.load == with_addresses(planned.load, addresses or {}):
        result.conditions.load = planned.load
    asked, said = condition_of(planned), condition_of(result)
    differs = any(b not in (a, NOT_KNOWN) for a, b in zip(asked, said, strict=True))
    if differs and result.complete and result.status == "measured":
        text = f"requested: {_condition_text(asked)}; the probe reports {_condition_text(said)}"
        data: dict[str, DataValue] = {
            "asked_load": asked.load,
            "asked_cpu_config": asked.cpu_config,
            "load": said.load,
            "cpu_config": said.cpu_config,
        }
        if asked.preemption or said.preemption:
            data |= {"asked_preemption": asked.preemption, "preemption": said.preemption}
        result.events.append(Event(name=DIFFER, text=text, data=data))
    result.conditions.load, result.conditions.cpu_config = asked[:2]
    result.conditions.preemption = asked.preemption or None
    return result


def _condition_text(one: Condition) -> str:
    model = f", preemption {one.preemption}" if one.preemption else ""
    return f"load {one.load}, CPUs {one.cpu_config}{model}"


class Names:
    """Names of results and conditions within one run."""

    def __init__(self, conditions: list[Condition]) -> None:
        self._loads = _shortened(list(dict.fromkeys(one.load for one in conditions)))
        self._configs = dict.fromkeys(one.cpu_config for one in conditions)
        self._models = dict.fromkeys(one.preemption for one in conditions)

    def load(self, load: str) -> str:
        """A short name for a load, unique within the run."""
        return self._loads.get(load, load)

    def legend(self) -> dict[str, str]:
        """The full text of each load whose name is shortened, by its short name."""
        return {text: load for load, text in self._loads.items() if text != load}

    def label(self, condition: Condition) -> str:
        """What distinguishes a condition in its run: "heavy, shielded"; empty if it is alone."""
        parts = [self.load(condition.load)] if len(self._loads) > 1 else []
        parts += [condition.cpu_config] if len(self._configs) > 1 else []
        if len(self._models) > 1:
            parts.append(f"preemption {condition.preemption or 'not switched'}")
        return ", ".join(parts)

    def name(self, one: Result | PlannedTest) -> str:
        """The test and what distinguishes this result: "TMR-P-LAT [heavy, shielded]"."""
        parts = [self.label(condition_of(one))]
        where = one.conditions if isinstance(one, Result) else one
        # The name of a shield implies its settings; those that were switched without one are named.
        if where.settings and where.cpu_config == "shared":
            parts.append(f"with {', '.join(where.settings)}")
        label = ", ".join(part for part in parts if part)
        return f"{one.test} [{label}]" if label else one.test


def names_in(document: RunDocument) -> Names:
    """The names of a run."""
    return Names(list(dict.fromkeys([*_planned(document), *conditions_in(document)])))


def listed(names: Iterable[str]) -> str:
    """The first three names and how many more there are, each name once: "A, B, C and 2 more"."""
    once = list(dict.fromkeys(names))
    more = f" and {len(once) - _MOST_LISTED} more" if len(once) > _MOST_LISTED else ""
    return ", ".join(once[:_MOST_LISTED]) + more


def _shortened(loads: list[str]) -> dict[str, str]:
    """A short name for each load. Long loads are cut to the part that differs; names that are
    still equal get a number."""
    heads: dict[str, list[str]] = {}
    for load in loads:
        heads.setdefault(_cut(load), []).append(load)
    cut = {load: _differing(load, heads[_cut(load)]) for load in loads}
    same = {text for text, count in Counter(cut.values()).items() if count > 1}
    return {
        load: f"{text} #{number}" if text in same else text
        for number, (load, text) in enumerate(cut.items(), 1)
    }


def _differing(load: str, same_start: list[str]) -> str:
    """The start of `load`, and what follows the prefix that all of `same_start` share."""
    if len(same_start) == 1:
        return _cut(load)
    common = commonprefix(same_start)  # noqa: RUF071 - compares characters, not paths
    # start at an option or element: "--cpu 12", not "2"
    start = max(common.rfind(" -"), common.rfind(",")) + 1
    return _cut(load[:_HEAD_CHARACTERS] + _CUT + load[max(start, _HEAD_CHARACTERS) :])


def _cut(load: str) -> str:
    is_long = len(load) > _LABEL_CHARACTERS
    return load[: _LABEL_CHARACTERS - 1] + _CUT if is_long else load


STEADY_FACTS = (
    "machine.arch",
    "machine.cpu_model",
    "cpu.online",
    "cpu.allowed",
    "cpu.count",
    "cpu.smt",
    "memory.total_bytes",
    "kernel.name",
    "kernel.release",
    "kernel.version",
    "kernel.preemption",
    "kernel.realtime",
    "kernel.hz",
    "kernel.cmdline",
    "kernel.clocksource",
    "kernel.rt_runtime_us",
    "kernel.rt_period_us",
    "power.governor",
    "power.idle_states",
    "virtual.hypervisor",
    "virtual.container",
    "limits.can_realtime",
    "limits.can_lock",
)


def environment_moved(
    before: Mapping[str, Scalar], after: Mapping[str, Scalar]
) -> list[ChangedFact]:
    """Each steady fact that differs, with both values; null where it was not known."""
    return [
        ChangedFact(fact=fact, before=before.get(fact), after=after.get(fact))
        for fact in STEADY_FACTS
        if before.get(fact) != after.get(fact)
    ]


# They say where, how long, or what is recorded besides: values mean the same with any of them.
_FREE = frozenset(
    {
        *("uio", "raise_bytes", "raise_value", "acknowledge_bytes", "acknowledge_value"),
        *("gaps_count", "threshold_ns", "frames", "block_steps", "simulated_s", "file_bytes"),
        *("interrupts", "period_min_ns", "period_max_ns"),
    }
)


class DifferingParameter(NamedTuple):
    """A parameter `name` with its two values."""

    name: str
    first: ParamValue
    other: ParamValue


def differing_parameters(first: Result, other: Result) -> list[DifferingParameter]:
    """Single values that differ, without calibrated ones. Values of a list are labels of series.

    What a document does not have is not known, and does not differ.
    """
    calibrated = set(first.calibrated) | set(other.calibrated)
    names = [one for one in first.params if one not in calibrated and one not in _FREE]
    pairs = (DifferingParameter(one, first.params[one], other.params.get(one, "")) for one in names)
    return [
        one
        for one in pairs
        if one.name in other.params
        and not isinstance(one.first, list)
        and not isinstance(one.other, list)
        and one.first != one.other
    ]


_LEAST_RESULTS = 4  # of one test; a battery has one for each condition


def sweep_points(document: RunDocument) -> Set[int]:
    """The places, in `document.results`, of the points of a sweep; none where it was none.

    It was one if its plan says so, or if it has several results of one test and condition.
    """
    found = [number for number, one in enumerate(document.results) if one.test in TIRE_TESTS]
    if document.plan.sweep is not None:
        return frozenset(found)
    asked = [
        (one.test, one.conditions.load, one.conditions.cpu_config, one.conditions.preemption)
        for one in (document.results[number] for number in found)
    ]
    is_sweep = len(found) >= _LEAST_RESULTS and len(set(asked)) < len(asked)
    return frozenset(found) if is_sweep else frozenset()


def listed_results(document: RunDocument) -> list[Result]:
    """The results that a page lists one by one: no points of a sweep but those that failed."""
    points = sweep_points(document)
    return [
        one
        for number, one in enumerate(document.results)
        if number not in points or any(not verdict.passed for verdict in one.verdicts)
    ]


_CPU = "cpu"
Key = tuple[str, tuple[tuple[str, int | str], ...]]


@dataclass(frozen=True)
class SeriesRow:
    """One series under each condition; None where it has no values."""

    key: Key
    found: list[Series | None]

    @property
    def first(self) -> Series:
        """The first series with values. It names the row."""
        return next(series for series in self.found if series is not None)

    @property
    def highest(self) -> int:
        return max(series.max or 0 for series in self.found if series is not None)


@dataclass(frozen=True)
class Worst:
    """The series of a row with the highest value under one condition, and the CPUs of all its
    series there; {None} where the series are of no one CPU."""

    series: Series
    cpus: frozenset[int | str | None]

    def ratio_to(self, first: Worst | None) -> float | None:
        """Worst observed relative to that of `first`; None unless both are durations."""
        return None if first is None else _ratio(self.series, first.series)


@dataclass(frozen=True)
class VerdictRow:
    """One verdict under each condition; None where there is none."""

    name: str
    found: list[Verdict | None]


@dataclass(frozen=True)
class Comparison:
    """The results of `test`, one for each of `conditions`; None where there is none."""

    test: str
    conditions: list[Condition]
    results: list[Result | None]
    series: list[SeriesRow]
    verdicts: list[VerdictRow]


def comparisons_in(document: RunDocument) -> list[Comparison]:
    """Every test of a run with several conditions, in the order of the results; else empty.

    Points of a sweep are not compared one by one.
    """
    conditions = conditions_in(document)
    if len(conditions) < 2:
        return []
    found: dict[str, dict[Condition, Result]] = {}
    points = sweep_points(document)
    for number, result in enumerate(document.results):
        if number in points:
            continue
        found.setdefault(result.test, {})[condition_of(result)] = result
    comparisons = []
    for test, by_condition in found.items():
        results = [by_condition.get(condition) for condition in conditions]
        series, verdicts = series_rows(results), _verdict_rows(results)
        comparisons.append(Comparison(test, conditions, results, series, verdicts))
    return comparisons


def decisive_row(one: Comparison) -> SeriesRow | None:
    """The timed series with the highest value under any condition; a derived one only if all
    are."""
    timed = [row for row in one.series if row.first.unit == "ns"]
    timed = [row for row in timed if row.first.derived is None] or timed
    return max(timed, key=lambda row: row.highest, default=None)


def worst_on_any_cpu(row: SeriesRow, result: Result | None) -> Worst | None:
    """The highest series of `result` that differs from `row` in nothing but its CPU.

    Under `single` a test may run on another CPU, and its series then have other labels.
    """
    own = _without_cpu(row.key)
    same = [one for key, one in _by_key(result).items() if _without_cpu(key) == own]
    if not same:
        return None
    cpus = frozenset(one.labels.get(_CPU) for one in same)
    return Worst(max(same, key=lambda one: one.max or 0), cpus)


def _without_cpu(key: Key) -> Key:
    """The key that a series has on any CPU."""
    name, labels = key
    return name, tuple(label for label in labels if label[0] != _CPU)


def ratio_to_first(row: SeriesRow, place: int) -> float | None:
    """Worst observed relative to the first condition; None unless both are durations."""
    first, this = row.found[0], row.found[place]
    return None if place == 0 or first is None or this is None else _ratio(this, first)


def _ratio(this: Series, first: Series) -> float | None:
    if this.unit != "ns" or this.max is None or not first.max:
        return None
    return this.max / first.max


def series_rows(results: Sequence[Result | None]) -> list[SeriesRow]:
    """Each series of any of `results`, in their order."""
    found = [_by_key(result) for result in results]
    keys = dict.fromkeys(key for one in found for key in one)
    return [SeriesRow(key, [one.get(key) for one in found]) for key in keys]


def _verdict_rows(results: Sequence[Result | None]) -> list[VerdictRow]:
    """Each verdict of any of `results`, in their order."""
    found = [{one.name: one for one in result.verdicts} if result else {} for result in results]
    names = dict.fromkeys(name for one in found for name in one)
    return [VerdictRow(name, [one.get(name) for one in found]) for name in names]


def _by_key(result: Result | None) -> dict[Key, Series]:
    found = result.series if result else []
    return {(one.name, tuple(sorted(one.labels.items()))): one for one in found if one.count > 0}


@dataclass(frozen=True)
class AcrossRuns:
    """The results of `test` under `condition`, one for each run; None where there is none.

    A series that each target has on one CPU only is one row, whichever CPU that is; its key then
    has no CPU if they differ.
    """

    test: str
    condition: Condition
    results: list[Result | None]
    series: list[SeriesRow]
    verdicts: list[VerdictRow]


def across_runs(documents: Sequence[RunDocument]) -> list[AcrossRuns]:
    """Every test and condition of any of `documents`, in the order of their results."""
    found = [
        {(result.test, condition_of(result)): result for result in one.results} for one in documents
    ]
    across = []
    for test, condition in dict.fromkeys(key for one in found for key in one):
        results = [one.get((test, condition)) for one in found]
        series, verdicts = _rows_on_any_cpu(results), _verdict_rows(results)
        across.append(AcrossRuns(test, condition, results, series, verdicts))
    return across


def conditions_of(documents: Sequence[RunDocument]) -> list[Condition]:
    """The conditions of all `documents`, without duplicates."""
    return list(dict.fromkeys(one for document in documents for one in conditions_in(document)))


def most_interesting_first(rows: Sequence[SeriesRow]) -> list[SeriesRow]:
    """Timed series before derived ones and counts, each with the highest values first."""
    return sorted(
        rows,
        key=lambda row: (row.first.unit != "ns", row.first.derived is not None, -row.highest),
    )


def _rows_on_any_cpu(results: list[Result | None]) -> list[SeriesRow]:
    same: dict[Key, list[SeriesRow]] = {}
    for row in series_rows(results):
        same.setdefault(_without_cpu(row.key), []).append(row)
    return [row for key, rows in same.items() for row in _merged(key, rows)]


def _merged(key: Key, rows: list[SeriesRow]) -> list[SeriesRow]:
    """`rows` as one, unless a target has the series on several CPUs."""
    columns = [
        [series for series in column if series is not None]
        for column in zip(*(row.found for row in rows), strict=True)
    ]
    if len(rows) == 1 or any(len(column) > 1 for column in columns):
        return rows
    return [SeriesRow(key, [column[0] if column else None for column in columns])]
