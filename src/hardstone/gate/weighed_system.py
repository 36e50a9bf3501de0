"""A system to be gated, and what forbids that its figures pass."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

from hardstone.event_names import SHORT
from hardstone.gate.limit import Limit
from hardstone.model import Result
from hardstone.published import Address, AddressError, resolve
from hardstone.stats.contradictions import is_contradictory, trust_of
from hardstone.stats.kind_of_time import KindOfTime, kind_of_time
from hardstone.stats.trust import lacks_realtime
from hardstone.subjects import MeasuredRun, MeasuredSeries, Missing, PublishedSystem
from hardstone.subjects.published_system import PublishedSeries

_KINDS = {
    KindOfTime.EMULATED: "the processor is emulated: say emulated = true if that may pass",
    KindOfTime.COUNTED: "time counts instructions: say emulated = true if that may pass",
    KindOfTime.UNKNOWN: "the processor may be emulated: say emulated = true if that may pass",
}


@dataclass(frozen=True)
class Doubts:
    """`barring`: why the figure decides nothing. `weakening`: why it cannot pass; one value beyond
    a limit is a proof all the same. "": no such reason."""

    barring: str = ""
    weakening: str = ""


@dataclass(frozen=True)
class FoundSeries:
    """The series of a limit, with what makes it doubtful."""

    held: MeasuredSeries
    doubts: Doubts


@dataclass(frozen=True)
class WeighedRun:
    """A run under one condition."""

    run: MeasuredRun

    @property
    def id(self) -> str:
        return self.run.id

    @property
    def condition(self) -> str:
        """Load, CPU configuration and preemption model, for people."""
        one = self.run.condition
        model = [f"preemption {one.preemption}"] if one.preemption else []
        return ", ".join([f"load {one.load}", one.cpu_config, *model])

    def fits(self, limit: Limit) -> bool:
        """Whether the limit is for this condition."""
        one = self.run.condition
        asked = (limit.load, limit.cpu_config)
        has_policy = limit.policy is None or any(
            result.conditions.policy == limit.policy
            for result in self.run.results
            if result.test == limit.address.test
        )
        return has_policy and all(
            want in (None, is_so) for want, is_so in zip(asked, one[:2], strict=True)
        )

    def find(self, limit: Limit) -> FoundSeries | Missing:
        """The series at the address of `limit`, or why there is none."""
        conditions = {} if limit.policy is None else {"policy": limit.policy}
        try:
            found = resolve(limit.address, self.run.alone, **conditions)
        except AddressError as error:
            return Missing(error.cause.removeprefix(f"{limit.address}: "), error.remedy)
        if found.series is None:
            return Missing(f"{limit.address.test} has no figures, only claims")
        held = MeasuredSeries(self.run.id, found.result, found.series)
        doubts = self.doubts_for(limit, found.result)
        other = [one for one in found.notes if one not in held.notes]
        if is_contradictory(found.series):
            doubts = Doubts(barring="cannot be true: see the top of its run")
        elif other:
            doubts = Doubts(barring=f"not what was asked for: {', '.join(other)}")
        return FoundSeries(held, doubts)

    def doubts_for(self, limit: Limit, result: Result) -> Doubts:
        """What speaks against figures of `result` for `limit`; one that names no load would do
        without any."""
        return self.doubts_of(
            result, is_emulated=limit.is_emulated, needs_load=limit.load is not None
        )

    def doubts_of(
        self, result: Result, *, is_emulated: bool = True, needs_load: bool = True
    ) -> Doubts:
        """What speaks against any figure of `result`; `is_emulated`: not that it is emulated."""
        barring = self._untrustworthy or ("" if is_emulated else self._emulated)
        barring = barring or self._refused_realtime(result)
        weak = (
            _incomplete(result) or self._unfinished or (_short_load(result) if needs_load else "")
        )
        return Doubts(barring, weak)

    @cached_property
    def _untrustworthy(self) -> str:
        trust = trust_of(self.run.document)
        if trust.grade != "untrustworthy":
            return ""
        return f"the run is untrustworthy: {trust.reasons[0] if trust.reasons else 'no reason'}"

    def _refused_realtime(self, result: Result) -> str:
        """Where real-time scheduling was asked for and not given, a figure is of other work; one
        that was asked for under another policy is what it is."""
        if not lacks_realtime(result) or self.run.document.plan.policy == result.conditions.policy:
            return ""
        return "not scheduled as real-time, as was asked for"

    @cached_property
    def _emulated(self) -> str:
        return _KINDS.get(kind_of_time(self.run.document.system), "")

    @property
    def _unfinished(self) -> str:
        status = self.run.document.status
        return "" if status == "complete" else f"the run is {status}"

    def results_of(self, limit: Limit) -> list[Result]:
        """The results of the test of `limit`."""
        return [
            one
            for one in self.run.results
            if one.test == limit.address.test and limit.policy in (None, one.conditions.policy)
        ]


def _incomplete(result: Result) -> str:
    if result.status != "measured":
        return f"{result.status}: {result.reason or 'no reason was given'}"
    if not result.complete or result.interrupted:
        return "cut off before its end"
    return ""


def _short_load(result: Result) -> str:
    is_short = any(event.name in SHORT for event in result.events)
    return "the load fell short of the request: ask for less" if is_short else ""


def published_series(system: PublishedSystem, address: Address) -> PublishedSeries | Missing:
    """The series of a study at `address`: label values in any order, then the series."""
    wanted = sorted([*address.labels.values(), *address.parts])
    of_test = [one for one in system.held() if one.test == address.test]
    alike = [one for one in of_test if _values(one) == wanted or _values(one)[:-1] == wanted]
    exact = [one for one in alike if _values(one) == wanted]
    found = exact or alike
    if len(found) == 1:
        return found[0]
    if found:
        return Missing(f"{len(found)} published series match")
    return Missing("not published", _there(of_test))


def _values(one: PublishedSeries) -> list[str]:
    return sorted([*one.labels.values(), *one.parts, *([one.name] if one.name else [])])


def _there(held: Collection[PublishedSeries]) -> str:
    return f"there are {', '.join(one.address for one in list(held)[:5])}" if held else ""
