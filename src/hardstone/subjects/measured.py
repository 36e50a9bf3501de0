"""A run under one condition as a subject.

Functions import what needs numpy themselves: published systems do without.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import msgspec

from hardstone.errors import InputError
from hardstone.model import Result, RunDocument, Series, Trust, Unit, Verdict
from hardstone.published import Resolved, is_of_kernel_time, length_of, value_of
from hardstone.stats.conditions import Condition, condition_of, conditions_in, names_in
from hardstone.stats.contradictions import (
    Contradiction,
    contradictions,
    is_contradictory,
    trust_of,
)
from hardstone.subjects.amount import Amount, Missing

if TYPE_CHECKING:
    from hardstone.stats.kernel_operations import KernelTime

CONTRADICTORY = "cannot be true: see the top of its run"
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
            found.append("cut off before its end")
        if self.series.derived:
            found.append(f"derived: {self.series.derived}")
        return tuple(found)

    def statistics(self) -> list[str]:
        from hardstone.stats.quantiles import printable_quantiles

        quantiles = [f"p{100 * q:.8g}" for q in printable_quantiles(self.series.count)]
        kernel = [one for one in _KERNEL_TIME if self.test == "KRN-P-PRE" and self._length(one)]
        return ["min", "mean", *quantiles, "max", *kernel]

    def amount(self, statistic: str) -> Amount | Missing:
        """The figure for `statistic`: a value, a bound, or why there is none."""
        source = f"{self.run_id} {self.address} {statistic}"
        if statistic in _OWN_FIGURES:  # first, as 20 runs have 20 000 of them
            own: float | None = getattr(self.series, statistic)
            if own is not None:
                return Amount(self.series.unit, statistic, source, float(own))
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
        return Amount(self.unit, statistic, source, value=value)

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

    def _length(self, statistic: str) -> bool:
        return isinstance(self.amount(statistic), Amount)


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
    def alone(self) -> RunDocument:
        """The run with the results under this condition only."""
        return msgspec.structs.replace(self.document, results=self.results)

    @property
    def conditions(self) -> Mapping[str, str]:
        """Facts of the machine and conditions of the results, those that are known."""
        facts = self.document.system
        found = {
            "machine": facts.get("machine.cpu_model") or facts.get("machine.arch"),
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
        from hardstone.stats.kernel_operations import kernel_time_of

        if id(result) not in self._kernel_times:
            self._kernel_times[id(result)] = kernel_time_of(result, is_whole_only=True)
        return self._kernel_times[id(result)]

    @cached_property
    def _kernel_times(self) -> dict[int, KernelTime | None]:
        """By identity of the result, which the run keeps."""
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
