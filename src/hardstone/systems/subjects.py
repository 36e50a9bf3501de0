"""What can be compared, rated and gated: a run under one condition or a published system, by one
interface.

Functions import what needs numpy themselves: published systems do without.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import msgspec

from hardstone.catalogue import shorter_than_standard
from hardstone.errors import InputError
from hardstone.model import Result, RunDocument, Series, Trust, Unit, Verdict
from hardstone.stats.conditions import Condition, condition_of, conditions_in, names_in
from hardstone.stats.consistency import (
    Contradiction,
    KindOfTime,
    clock_problem,
    contradictions,
    is_contradictory,
    kind_of_time,
    trust_of,
    why_other_set,
    why_other_time,
)
from hardstone.stats.sustained import SUSTAINED, bracket_of, steps_of
from hardstone.stats.trust import lacks
from hardstone.systems.published import (
    AddressError,
    Figure,
    Resolved,
    Study,
    all_figures,
    is_of_kernel_time,
    length_of,
    load_studies,
    resolve,
    value_of,
)
from hardstone.units import whole_number

if TYPE_CHECKING:
    from hardstone.kernel.results import KernelTime


class Amount(msgspec.Struct, frozen=True):
    """A figure in the unit of its series. Either `value` is known, or that it is below `below`, or
    above `above`: a study may publish a bound only, and a quantile may lie beyond all buckets.

    `statistic` is "min", "mean", "max", "p99.9", or "time_90" (KRN-P-PRE). `source` names where the
    figure is from, so that it can be found again: run, test, series and statistic, or study, table
    and system. `notes` are what a reader must know of this figure. `quantum_ns`: the step of the
    clock of a value that was read once.
    """

    unit: Unit
    statistic: str
    source: str
    value: float | None = None
    below: float | None = None
    above: float | None = None
    notes: tuple[str, ...] = ()
    quantum_ns: float = 1.0

    @property
    def place(self) -> str:
        """The place that the figure is from, without its statistic."""
        return self.source.removesuffix(f" {self.statistic}")

    @property
    def highest(self) -> float | None:
        """The largest value that it can have; None: unbounded."""
        return self.value if self.value is not None else self.below

    @property
    def lowest(self) -> float:
        """The smallest value that it can have. Figures of systems are not negative."""
        known = self.value if self.value is not None else self.above
        return known if known is not None else 0.0


@dataclass(frozen=True)
class Missing:
    """Why there is no figure, in words for a table, and what to do about it."""

    reason: str
    remedy: str = ""


class SubjectSeries(Protocol):
    """One series of one subject: a measured distribution, or what a study published of it.

    `labels` have the label values as text; `parts` are published label values whose label the study
    does not name. `series` and `result` are None for a published system.
    """

    @property
    def test(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def labels(self) -> Mapping[str, str]: ...
    @property
    def parts(self) -> tuple[str, ...]: ...
    @property
    def unit(self) -> Unit: ...
    @property
    def series(self) -> Series | None: ...
    @property
    def result(self) -> Result | None: ...
    @property
    def notes(self) -> tuple[str, ...]: ...
    @property
    def address(self) -> str:
        """TEST/label-values/series, as it is typed."""
        ...

    def statistics(self) -> list[str]:
        """The statistics that it has a figure of, the mean and the largest value among them."""
        ...

    def amount(self, statistic: str) -> Amount | Missing:
        """The figure for `statistic`. A series without it says why."""
        ...


class Subject(Protocol):
    """A run under one condition, or a published system.

    `id` is the ID of the run or "published:KEY". `label` tells it apart from the other subjects of
    one comparison. `conditions` have what its figures depend on, by name, for a table: only what
    is known. `year` is that of the measurement, "" where the study does not say.
    """

    @property
    def id(self) -> str: ...
    @property
    def label(self) -> str: ...
    @property
    def is_published(self) -> bool: ...
    @property
    def year(self) -> str: ...
    @property
    def conditions(self) -> Mapping[str, str]: ...

    def held(self) -> Sequence[SubjectSeries]:
        """All series that have a figure, in the order of their tests."""
        ...

    def verdicts(self, test: str) -> Sequence[Verdict] | Missing:
        """The claims about `test`; the evidence of a published one is what the study says."""
        ...

    def tests(self) -> list[str]:
        """Tests with a result, also one without figures."""
        ...


CONTRADICTORY = "cannot be true: see the top of its run"
INSTRUCTION_SET = "instruction set"  # of the conditions of a run
_OWN_FIGURES = frozenset({"min", "mean", "max"})
_KERNEL_TIME = ("time_90", "time_99")


@dataclass(frozen=True)
class MeasuredSeries:
    """One series of a run. `is_wrong`: its figures cannot be true; None: not looked yet."""

    run_id: str
    result: Result
    series: Series
    is_wrong: bool | None = None

    @property
    def test(self) -> str:
        return self.result.test

    @property
    def name(self) -> str:
        return self.series.name

    @cached_property
    def labels(self) -> Mapping[str, str]:
        return {name: str(value) for name, value in self.series.labels.items()}

    @property
    def parts(self) -> tuple[str, ...]:
        return ()

    @property
    def unit(self) -> Unit:
        return self.series.unit

    @cached_property
    def address(self) -> str:
        return "/".join([self.test, *self.labels.values(), self.name])

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """Why the figures may not be used, or only with care."""
        found = []
        if is_contradictory(self.series) if self.is_wrong is None else self.is_wrong:
            found.append(CONTRADICTORY)
        if self.result.status != "measured":
            found.append(f"{self.result.status}: {self.result.reason or 'no reason was given'}")
        elif not self.result.complete or self.result.interrupted:
            found.append("cut off before it ended")
        if self.series.derived:
            found.append(f"derived: {self.series.derived}")
        return tuple(found)

    def statistics(self) -> list[str]:
        from hardstone.stats.quantiles import quantiles_of

        quantiles = [f"p{100 * q:.8g}" for q in quantiles_of(self.series)]
        kernel = [
            one
            for one in _KERNEL_TIME
            if self.test == "KRN-P-PRE" and isinstance(self.amount(one), Amount)
        ]
        known = {name for name in _OWN_FIGURES if getattr(self.series, name) is not None}
        named = ["min", "mean", *quantiles, "max"]
        lacking = _OWN_FIGURES - known if self.series.count else set()
        return [*(one for one in named if one not in lacking), *kernel]

    def amount(self, statistic: str) -> Amount | Missing:
        """The figure for `statistic`: a value, a bound, or why there is none."""
        source = f"{self.run_id} {self.address} {statistic}"
        if statistic in _OWN_FIGURES:  # first, as 20 runs have 20 000 of them
            own: float | None = getattr(self.series, statistic)
            if own is not None:
                quantum_ns = 1.0 if statistic == "mean" else self.quantum_ns
                return Amount(
                    self.series.unit, statistic, source, float(own), quantum_ns=quantum_ns
                )
            if self.test == SUSTAINED and (failed_ns := self._longest_failed_ns):
                return Amount(self.unit, statistic, source, above=float(failed_ns))
        try:
            if is_of_kernel_time(statistic):
                return self._kernel_time(statistic, source)
            if statistic.startswith("p"):
                beyond = self._beyond(statistic, source)
                if beyond is not None:
                    return beyond
            value = value_of(self.series, statistic)
        except InputError as error:  # not there, or in a histogram that is unreadable
            return Missing(error.cause, error.remedy)
        return Amount(self.unit, statistic, source, value=value, quantum_ns=self.quantum_ns)

    @property
    def quantum_ns(self) -> float:
        """The step of the clock that timed each value."""
        from hardstone.stats.quantiles import quantum_of

        return quantum_of(self.series, self.result.instrument)

    @property
    def _longest_failed_ns(self) -> int:
        """Of a search that no period passed: the minimal one is above this; 0: it is another."""
        found = bracket_of(steps_of([self.result]), self.labels.get("source", ""))
        return 0 if found.passed_ns else found.failed_ns

    def _beyond(self, statistic: str, source: str) -> Amount | None:
        """A quantile past the last bucket is a bound."""
        from hardstone.stats.quantiles import quantile

        found = quantile(self.series.histogram, float(statistic[1:]) / 100)
        if found is None or found.value is not None or found.above is None:
            return None
        return Amount(self.unit, statistic, source, above=float(found.above))

    def _kernel_time(self, statistic: str, source: str) -> Amount:
        length = length_of(Resolved(self.result, self.series), statistic)
        if length.is_below:
            return Amount(self.unit, statistic, source, below=length.value_ns)
        return Amount(self.unit, statistic, source, value=length.value_ns)


@dataclass(frozen=True)
class MeasuredRun:
    """The results of `document` under `condition`. `label` tells it apart in a comparison."""

    document: RunDocument
    condition: Condition
    label: str
    is_published: bool = field(default=False, init=False)

    @property
    def id(self) -> str:
        return self.document.id

    @property
    def year(self) -> str:
        return self.document.started_utc[:4]

    @cached_property
    def results(self) -> list[Result]:
        """The results under this condition, those with settings of a proof after those without."""
        found = [one for one in self.document.results if condition_of(one) == self.condition]
        return sorted(found, key=lambda one: bool(one.conditions.settings))

    @cached_property
    def contradictions(self) -> list[Contradiction]:
        """Figures of the whole run that cannot be true."""
        return list(contradictions(self.document))

    @cached_property
    def trust(self) -> Trust:
        return trust_of(self.document, self.contradictions)

    @cached_property
    def shorter(self) -> dict[str, bool]:
        """Whether each planned test ends before it would under `standard`, by test."""
        return shorter_than_standard(self.document)

    @cached_property
    def alone(self) -> RunDocument:
        """The run with the results under this condition only."""
        return msgspec.structs.replace(self.document, results=self.results)

    @property
    def conditions(self) -> Mapping[str, str]:
        """Facts of the machine and conditions of the results, those that are known."""
        facts = self.document.system
        found = {
            "machine": facts.get("machine.cpu_model") or facts.get("machine.arch"),
            INSTRUCTION_SET: facts.get("machine.arch"),
            "CPUs": facts.get("cpu.count"),
            "virtual": facts.get("virtual.hypervisor"),
            "kernel": f"{facts.get('kernel.name', '')} {facts.get('kernel.release', '')}".strip(),
            "preemption": self.condition.preemption or facts.get("kernel.preemption"),
            "tick": f"{hz} Hz" if (hz := facts.get("kernel.hz")) else None,
            "governor": facts.get("power.governor"),
            "load": self.condition.load,
            "CPU configuration": self.condition.cpu_config,
            "policy": self.document.plan.policy,
            "profile": self.document.plan.profile,
            "clock": self._clock,
            "hardstone": self.document.tool.version,
        }
        return {name: str(text) for name, text in found.items() if text not in (None, "")}

    @property
    def _clock(self) -> str | None:
        found = dict.fromkeys(one.conditions.clock for one in self.results if one.conditions.clock)
        return ", ".join(found) or None

    def held(self) -> Sequence[MeasuredSeries]:
        return self._held

    @cached_property
    def _held(self) -> list[MeasuredSeries]:
        """The first of each series with values: a proof measures one test many times."""
        found: dict[str, MeasuredSeries] = {}
        wrong = {id(one.series) for one in self.contradictions if one.series is not None}
        for result in self.results:
            for series in result.series:
                if series.count:
                    one = MeasuredSeries(self.id, result, series, id(series) in wrong)
                    found.setdefault(one.address, one)
        return list(found.values())

    def series_at(self, address: str) -> MeasuredSeries | None:
        """The series with this address, also one without values; None if there is none."""
        every = (MeasuredSeries(self.id, one, own) for one in self.results for own in one.series)
        held = (one for one in self._held if one.address == address)
        return next(held, None) or next((one for one in every if one.address == address), None)

    def held_of(self, test: str, name: str) -> Sequence[MeasuredSeries]:
        """Those of `held` that are of one test and have one name, in the same order."""
        return self._held_by_name.get((test, name), [])

    @cached_property
    def _held_by_name(self) -> dict[tuple[str, str], list[MeasuredSeries]]:
        found: dict[tuple[str, str], list[MeasuredSeries]] = {}
        for one in self._held:
            found.setdefault((one.test, one.name), []).append(one)
        return found

    def kernel_time(self, result: Result) -> KernelTime | None:
        """What `kernel_time_of` finds in one of `results`, without the single operations."""
        from hardstone.kernel.results import kernel_time_of

        if id(result) not in self._kernel_times:
            self._kernel_times[id(result)] = kernel_time_of(result, is_whole_only=True)
        return self._kernel_times[id(result)]

    @cached_property
    def _kernel_times(self) -> dict[int, KernelTime | None]:
        """Kernel times by identity of the result, which the run keeps."""
        return {}

    def verdicts(self, test: str) -> Sequence[Verdict] | Missing:
        of_test = [one for one in self.results if one.test == test]
        found = [verdict for one in of_test for verdict in one.verdicts]
        if found:
            return found
        if not of_test:
            return Missing("not run", f"hardstone run {test}")
        first = of_test[0]
        return Missing(f"{first.status}: {first.reason}" if first.reason else first.status)

    def tests(self) -> list[str]:
        return list(dict.fromkeys(one.test for one in self.results))


def subjects_of(document: RunDocument) -> list[MeasuredRun]:
    """A subject for each condition of a run; `label` is the name of the run and the condition."""
    names = names_in(document)
    conditions = conditions_in(document) or [
        Condition(document.plan.load, document.plan.cpu_config)
    ]
    return [
        MeasuredRun(document, one, ", ".join(filter(None, (document.name, names.label(one)))))
        for one in conditions
    ]


def why_apart(one: Subject, reference: Subject | None = None) -> str:
    """Why no time of `one` may be compared with those of `reference`, None being any published
    system; empty if they may.

    Whoever shows such a time shows it all the same, marked, with this reason: tables, pages and
    charts decide by this function alone. A wrong clock and a run that is not trustworthy are
    compared with nothing, nor is a file whose unit is assumed; times of a processor, of an emulated
    one, and counted instructions are of different kinds, as are instructions of different sets;
    published times are those of hardware. The reason of a run is its own text: untrusted.
    """
    wrong = clock_problem(one.document) if isinstance(one, MeasuredRun) else None
    wrong = wrong or why_not_trusted(one) or _why_no_unit(one)
    wrong = wrong or why_other_time(_kind(one), _kind(reference))
    if wrong or not (isinstance(one, MeasuredRun) and isinstance(reference, MeasuredRun)):
        return wrong
    return why_other_set(one.document.system, reference.document.system)


def _why_no_unit(one: Subject) -> str:
    is_assumed = isinstance(one, MeasuredRun) and lacks(one.document, "unit")
    return "the file does not state its unit: import it with --unit" if is_assumed else ""


def why_run_apart(document: RunDocument) -> str:
    """Why no time of a run may be compared with published ones; empty if they may."""
    return why_apart(subjects_of(document)[0])


def why_not_trusted(one: Subject) -> str:
    """Why no figure of a run may be compared with others; empty if it is trusted so far."""
    if not isinstance(one, MeasuredRun) or one.trust.grade != "untrustworthy":
        return ""
    return f"not trustworthy: {next(iter(one.trust.reasons), 'no reason')}"


def _kind(one: Subject | None) -> KindOfTime:
    if isinstance(one, MeasuredRun):
        return kind_of_time(one.document.system)
    return KindOfTime.HARDWARE


PREFIX = "published:"
_SCALE: dict[str, tuple[int, Unit]] = {
    "ns": (1, "ns"),
    "us": (1_000, "ns"),
    "ms": (1_000_000, "ns"),
    "s": (1_000_000_000, "ns"),
    "MB/s": (1_000_000, "bytes_per_s"),
    "masses": (1, "count"),
}
_OF_SWEEPS = "masses"
_NO_FIGURE = Missing("not published")


def published_ids() -> list[str]:
    """The keys of all published systems, in the order of their studies."""
    return [key for study in load_studies().values() for key in study.systems]


@dataclass(frozen=True)
class PublishedSeries:
    """The figures that one study published of one series, under one load."""

    figures: tuple[Figure, ...]
    series: Series | None = None
    result: Result | None = None

    @property
    def test(self) -> str:
        return self.figures[0].address.test

    @property
    def name(self) -> str:
        """The last part of the address, which is the name of the series where the study's table
        names one."""
        parts = self.figures[0].address.parts
        return parts[-1] if parts else ""

    @property
    def labels(self) -> Mapping[str, str]:
        return dict(self.figures[0].address.labels)

    @property
    def parts(self) -> tuple[str, ...]:
        return self.figures[0].address.parts[:-1]

    @property
    def unit(self) -> Unit:
        return _SCALE[self.figures[0].unit or "ns"][1]

    @property
    def address(self) -> str:
        return str(self.figures[0].address)

    @property
    def notes(self) -> tuple[str, ...]:
        load = self.figures[0].address.conditions.get("load")
        notes = dict.fromkeys(one.note for one in self.figures if one.note)
        return (*([f"load {load}"] if load else []), *notes)

    def statistics(self) -> list[str]:
        return [one.statistic for one in self.figures if one.statistic]

    def amount(self, statistic: str) -> Amount | Missing:
        found = next((one for one in self.figures if one.statistic == statistic), None)
        return _NO_FIGURE if found is None else amount_of(found)


def amount_of(figure: Figure) -> Amount:
    """A published figure in the unit of its series. InputError if it is in words."""
    scale, unit = _SCALE.get(figure.unit or "", (0, "ns"))
    load = figure.address.conditions.get("load")
    source = f"{figure.study}/{figure.table} {PREFIX}{figure.system} {figure.address}"
    source += f" under load {load}" if load else ""
    ends = figure.value if isinstance(figure.value, dict) else {"value": figure.value}
    if not scale or not figure.statistic or not set(ends) <= {"value", "below", "above"}:
        raise InputError(f"{source} is not a figure with a unit")
    values = {key: float(Decimal(str(value)) * scale) for key, value in ends.items()}
    return Amount(
        unit,
        figure.statistic,
        f"{source} {figure.statistic}",
        value=values.get("value"),
        below=values.get("below"),
        above=values.get("above"),
    )


@dataclass(frozen=True)
class PublishedSystem:
    """One system of one study. Where the study measured under several loads, `load` chooses;
    figures that it has under one load only are shown with that load in their notes."""

    study: Study
    key: str
    load: str = ""
    is_published: bool = field(default=True, init=False)

    @property
    def id(self) -> str:
        return f"{PREFIX}{self.key}"

    @property
    def label(self) -> str:
        return self.study.systems[self.key].name

    @property
    def year(self) -> str:
        return self.study.key.rpartition("-")[2]

    @property
    def stars(self) -> float | None:
        """The stars that the study itself gave; None if it gave none."""
        return self.study.systems[self.key].stars

    @cached_property
    def loads(self) -> list[str]:
        """The loads under which the study has figures of this system; often none is named."""
        found = (one.address.conditions.get("load") for one in self._figures)
        return [load for load in dict.fromkeys(found) if load]

    @property
    def conditions(self) -> Mapping[str, str]:
        system, study = self.study.systems[self.key], self.study.conditions
        found = {
            "study": self.study.reading.short,
            "machine": system.hardware or study.get("hardware", ""),
            "kernel": system.name,
            "configuration": system.configuration or study.get("configuration", ""),
            "load": ", ".join(self.loads) or study.get("load", ""),
        }
        return {name: text for name, text in found.items() if text}

    @cached_property
    def _figures(self) -> list[Figure]:
        return [
            one for one in all_figures() if one.study == self.study.key and one.system == self.key
        ]

    def held(self) -> Sequence[PublishedSeries]:
        return self._held

    @cached_property
    def _held(self) -> list[PublishedSeries]:
        """Series by address; of several loads that of `load`, else the last one, the heaviest."""
        by_address: dict[str, dict[str, list[Figure]]] = {}
        for one in self._figures:
            if one.statistic and one.unit in _SCALE:
                loads = by_address.setdefault(str(one.address), {})
                loads.setdefault(one.address.conditions.get("load", ""), []).append(one)
        return [
            PublishedSeries(tuple(loads.get(self.load) or list(loads.values())[-1]))
            for loads in by_address.values()
        ]

    def verdicts(self, test: str) -> Sequence[Verdict] | Missing:
        found = [
            Verdict(
                name="published", passed=str(one.value).startswith("pass"), evidence=str(one.value)
            )
            for one in self._figures
            if one.address.test == test and one.statistic is None
        ]
        return found or _NO_FIGURE

    def tests(self) -> list[str]:
        return list(dict.fromkeys(one.address.test for one in self._figures))


def published_system(name: str, load: str = "") -> PublishedSystem:
    """The system `name` ("published:qnx"), its figures under `load` where it has several.

    InputError for one that no study has.
    """
    key = name.removeprefix(PREFIX)
    for study in load_studies().values():
        if key in study.systems:
            return PublishedSystem(study, key, load)
    raise InputError(
        f"no study has a system '{key[:40]}'; there are {', '.join(published_ids())}",
        "see them with hardstone list published",
    )


_CPU = "cpu"
Key = tuple[str, str, tuple[tuple[str, str], ...]]  # test, series, labels


@dataclass(frozen=True)
class FigureRow:
    """One series; `found` has a place for each subject, None where it has no figure.

    `notes` say, subject by subject, how its series differs from the row: "10 threads, the row has
    2".
    """

    key: Key
    found: tuple[SubjectSeries | None, ...]
    notes: tuple[tuple[str, ...], ...]

    @property
    def test(self) -> str:
        return self.key[0]

    @property
    def first(self) -> SubjectSeries:
        """The first subject's series that is there; a measured one if any is."""
        known = [one for one in self.found if one is not None]
        return next((one for one in known if one.series is not None), known[0])

    @property
    def address(self) -> str:
        """TEST/label-values/series; without the CPU where the subjects have one each."""
        first, kept = self.first, dict(self.key[2])
        values = (value for label, value in first.labels.items() if label in kept)
        return "/".join(filter(None, (first.test, *values, *first.parts, first.name)))


def figure_rows(subjects: Sequence[Subject]) -> list[FigureRow]:
    """Every series of any of `subjects`, in the order in which they have them.

    A measured series is matched by test, name and labels, the CPU only where a subject has the
    series on several. A published one is matched by its address to a measured series, first to one
    that is just that, then to one with a smaller number; and among published ones by the text of
    the address.
    """
    runs = [one for one in subjects if isinstance(one, MeasuredRun)]
    keep_cpu = {name for run in runs for name in _on_several_cpus(run)}
    found: dict[Key, list[SubjectSeries | None]] = {}
    notes: dict[Key, list[tuple[str, ...]]] = {}
    for place, subject in enumerate(subjects):
        for one in subject.held():
            key, note = _matched(one, runs, keep_cpu)
            cells = found.setdefault(key, [None] * len(subjects))
            if cells[place] is None:
                cells[place] = one
                notes.setdefault(key, [()] * len(subjects))[place] = note
    return [FigureRow(key, tuple(cells), tuple(notes[key])) for key, cells in found.items()]


def _matched(
    one: SubjectSeries, runs: Sequence[MeasuredRun], keep_cpu: set[tuple[str, str]]
) -> tuple[Key, tuple[str, ...]]:
    if not isinstance(one, PublishedSeries):
        return _measured_key(one, keep_cpu), ()
    if one.figures[0].unit == _OF_SWEEPS:  # a result of many points, and of no series
        return _key(one), ()
    nearest: tuple[Key, tuple[str, ...]] | None = None
    for run in runs:
        try:
            there = resolve(replace(one.figures[0].address, conditions={}), run.alone)
        except AddressError:
            continue
        if there.series is not None:
            measured = MeasuredSeries(run.id, there.result, there.series)
            other = other_numbers(one, measured)
            if not other:
                return _measured_key(measured, keep_cpu), ()
            if nearest is None:
                notes = tuple(
                    (f"{ours} {label}, but the row has {used}") for label, ours, used in other
                )
                nearest = _measured_key(measured, keep_cpu), notes
    return nearest or (_key(one), ())


def other_numbers(one: PublishedSeries, measured: MeasuredSeries) -> list[tuple[str, str, str]]:
    """The labels of which a run had a smaller number than the study: 97 waiters, not 128. Each with
    the number of the study and that of the run."""
    texts = (*one.labels.values(), *one.parts)
    asked = {text: number for text in texts if (number := whole_number(text)) is not None}
    return [
        (label, text, value)
        for text, most in asked.items()
        if text not in measured.labels.values()
        for label, value in measured.labels.items()
        if label != _CPU and value not in asked
        if (number := whole_number(value)) is not None and number < most
    ]


def _key(one: SubjectSeries) -> Key:
    parts = tuple((f"#{place}", value) for place, value in enumerate(one.parts))
    return one.test, one.name, (*sorted(one.labels.items()), *parts)


def _measured_key(one: SubjectSeries, keep_cpu: set[tuple[str, str]]) -> Key:
    test, name, labels = _key(one)
    if (test, name) not in keep_cpu:
        labels = tuple(label for label in labels if label[0] != _CPU)
    return test, name, labels


def _on_several_cpus(run: MeasuredRun) -> set[tuple[str, str]]:
    """Test and name of the series that `run` has on several CPUs."""
    without = Counter(_measured_key(one, set()) for one in run.held())
    return {key[:2] for key, count in without.items() if count > 1}
