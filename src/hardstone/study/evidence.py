"""The figures that decide a conclusion: those of one measured system that may be used, how many lie
beyond a limit, and the ratio of two medians.

A figure is used only if its result was measured to its end with real-time scheduling, and its run
is not untrustworthy, as one with a contradictory figure is. Three statistics decide:

- Values beyond a limit. One value beyond it is a fact. None of N bounds the share beyond it (exact,
  95 %), for independent values, and fewer than LEAST_VALUES bound next to nothing.
- The ratio of two medians. Below ten runs its interval is that within each run (98 %, wider as
  values of a run depend on each other), and all runs together span it; from ten runs on the run is
  the unit, and the interval that of Hodges and Lehmann (95 %).
- The shares of two groups, such as 15 of 15 rounds against none of 15: their exact intervals
  are apart, or they are not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import exp, log
from typing import Literal

from hardstone.errors import InputError
from hardstone.event_names import SHORT
from hardstone.figure_text import level_text, share_text
from hardstone.model import Result, RunDocument, Scalar, Series
from hardstone.stats.conditions import NOT_KNOWN, differing_parameters
from hardstone.stats.consistency import (
    KindOfTime,
    counts_instructions,
    kind_of_time,
    why_incomparable,
    why_not_comparable_to_hardware,
)
from hardstone.stats.quantiles import median_of, misses_of, share_high, share_low
from hardstone.stats.trust import lacks_realtime
from hardstone.study.exhibits import Column, Decision
from hardstone.systems.subjects import Amount, MeasuredRun, MeasuredSeries
from hardstone.units import format_count
from hardstone.wording import format_value, ratio_text, shorten

LEAST_VALUES = 20
LEAST_RUNS = 10
RESERVED = "shielded"
STANDARD = "shared"
CONFIGURED = ("single", RESERVED)  # CPU configurations that a command must name
_TWO_SIDED = 0.025  # of each end of an interval at 95 %
_MEDIAN = 0.5


BORNE_OUT: Decision = "borne out"
NOT_BORNE_OUT: Decision = "not borne out"
NOT_DECIDED: Decision = "not decided"


@dataclass(frozen=True)
class Finding:
    """What the figures of one or several systems say of a conclusion: the statement with the
    figures that decide it, each of them with its source, and of an undecided one what to measure.
    `systems`: the titles of those that it is about, where a rule compares them."""

    decision: Decision
    text: str
    evidence: tuple[str, ...] = ()
    needed: str = ""
    systems: str = ""


def undecided(text: str, needed: str, evidence: Iterable[str] = ()) -> Finding:
    return Finding(NOT_DECIDED, text, tuple(evidence), needed)


def decided(is_so: bool, text: str, evidence: Iterable[str]) -> Finding:
    return Finding(BORNE_OUT if is_so else NOT_BORNE_OUT, text, tuple(evidence))


def all_of(parts: Sequence[Finding]) -> Finding:
    """A conclusion with several parts: each must be borne out, and one alone contradicts it."""
    decisions = {one.decision for one in parts}
    decision: Decision = BORNE_OUT if decisions == {BORNE_OUT} else NOT_DECIDED
    if NOT_BORNE_OUT in decisions:
        decision = NOT_BORNE_OUT
    return Finding(
        decision,
        " ".join(dict.fromkeys(one.text for one in parts)),
        tuple(dict.fromkeys(text for one in parts for text in one.evidence)),
        all_needed(parts) if decision == NOT_DECIDED else "",
    )


def all_needed(parts: Iterable[Finding]) -> str:
    """What the first undecided part needs, and how many do: one command, so that screens can show
    it as it must be typed here. One that begins with "hardstone" is a command as it is."""
    needed = list(dict.fromkeys(one.needed for one in parts if one.needed))
    if len(needed) < 2:
        return "".join(needed)
    return f"first of {len(needed)} steps: {needed[0]}"


def missing(system: System, test: str, load: str = "") -> Finding:
    """There is no figure of `test` that may be used."""
    shown = "" if load == "none" else load
    why = system.why_no(test, load)
    return undecided(f"{why[:1].upper()}{why[1:]}.", run_it(test, load=shown))


def not_published(system: System) -> Finding:
    """Its times may not be compared with those of a paper."""
    text = f"Its times cannot be compared with published ones: {system.apart}."
    documents = (one.document for one in system.column.subjects)
    is_other_time = any(map(why_not_comparable_to_hardware, documents))
    return undecided(text, "a run on hardware" if is_other_time else "a run without this problem")


def on_linux(system: System) -> Finding | None:
    """Why a conclusion about Linux says nothing of this system; None where it does."""
    if system.is_linux:
        return None
    return undecided("The conclusion is about Linux; this system is not Linux.", "a run on Linux")


def more_values(*tests: str, load: str = "") -> str:
    return f"more values: {run_it(*tests, load=load)} --profile standard"


def under_full_load(found: Finding, sounds: Iterable[Sound], system: System) -> Finding:
    """A finding that load delays nothing does not count where the load was lower than requested."""
    if any(one.is_short_of_load for one in sounds):
        text = f"{found.text} But the load was lower than requested."
        return undecided(text, "a load that reaches its degree", found.evidence)
    return on_real_caches(found, system)


def on_real_caches(found: Finding, system: System) -> Finding:
    """A finding that rests on caches and memory does not count in an emulated guest: where it
    counts instructions they take no time, else they are the host's."""
    if counts_instructions(system.facts):
        why = "Where instructions are counted, caches and memory take no time."
    elif system.is_emulated:
        why = "Caches and memory of an emulated guest are its host's."
    else:
        return found
    return undecided(f"{found.text} {why}", "a run on hardware", found.evidence)


def medians(sides: Iterable[Sequence[Sound]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one.figure("p50") for own in sides for one in own))


def about(found: Finding, titles: str) -> Finding:
    """The finding, with the titles of the systems that it is about."""
    return Finding(found.decision, found.text, found.evidence, found.needed, titles)


@dataclass(frozen=True)
class Sound:
    """A series that may be used, with its run and load."""

    run: MeasuredRun
    held: MeasuredSeries

    @property
    def load(self) -> str:
        return self.run.condition.load

    @property
    def count(self) -> int:
        return self.held.series.count

    @property
    def median(self) -> float:
        """Also of few values; 0 where it is outside of the histogram."""
        return float(median_of(self.held.series) or 0)

    @property
    def cost_ns(self) -> float:
        """What a pair of time stamps adds to each value."""
        found = self.held.result.instrument or self.run.document.instrument
        return float(found.pair.median) if found else 0.0

    @property
    def is_short_of_load(self) -> bool:
        """Whether the load was lower than requested."""
        return any(one.name in SHORT for one in self.held.result.events)

    def figure(self, statistic: str) -> str:
        """The figure with its count and its source, as evidence."""
        found = self.held.amount(statistic)
        value = found.value if isinstance(found, Amount) else None
        text = "none" if value is None else format_value(value, self.held.unit)
        word = {"max": "worst observed", "p50": "median"}.get(statistic, statistic)
        load = shorten(self.load, 32)
        return (
            f"{shorten(self.held.address, 80)}: {word} {text} of {format_count(self.count)} values "
            f"under load {load} ({self.run.id})"
        )


class System:
    """One measured column: its figures, and what its times may be compared with."""

    def __init__(self, column: Column) -> None:
        self.column = column

    @property
    def title(self) -> str:
        return shorten(self.column.title, 120)

    @property
    def facts(self) -> dict[str, Scalar]:
        return dict(self.column.subjects[0].document.system) if self.column.subjects else {}

    @property
    def documents(self) -> list[RunDocument]:
        """Its runs that are not untrustworthy, each once."""
        return list({one.id: one.document for one in self.runs}.values())

    @cached_property
    def runs(self) -> list[MeasuredRun]:
        """Its runs, one for each load, without the untrustworthy ones: those with a contradictory
        figure are among them."""
        return [one for one in self.column.subjects if one.trust.grade != "untrustworthy"]

    @property
    def cpu_config(self) -> str:
        return self.column.subjects[0].condition.cpu_config if self.column.subjects else NOT_KNOWN

    @property
    def switched(self) -> str:
        """The preemption model that the kernel was switched to; "" if it was not."""
        return self.column.subjects[0].condition.preemption if self.column.subjects else ""

    @property
    def model(self) -> str:
        """The preemption model, "none"; the fact may say more of it: "none (dynamic)"."""
        return (self.switched or str(self.facts.get("kernel.preemption") or "")).partition(" ")[0]

    @property
    def target(self) -> str:
        """What its runs measured: "local", "lab:debian"; "" of another tool's file."""
        if not self.column.subjects or self.column.subjects[0].document.imported is not None:
            return ""
        return self.column.subjects[0].document.plan.target

    @property
    def is_linux(self) -> bool:
        return self.facts.get("kernel.name") == "Linux"

    @property
    def is_emulated(self) -> bool:
        """Whether an emulator, which other work interrupts, is in each of its times."""
        kinds = (KindOfTime.EMULATED, KindOfTime.UNKNOWN)
        return kind_of_time(self.facts) in kinds

    @property
    def apart(self) -> str:
        """Why its times cannot be compared with published ones; "" if they may."""
        found = map(why_not_comparable_to_hardware, self.documents)
        return self.column.apart or next(filter(None, found), "") or ""

    @property
    def machine(self) -> tuple[Scalar, ...]:
        """What the columns of one machine and kernel have in common."""
        return tuple(self.facts.get(one) for one in _MACHINE)

    @property
    def limits(self) -> str:
        """How far its figures carry: "" of a run that is fully trusted. Why is said once, where the
        system is introduced."""
        return " Indicative only." if any(one.trust.reasons for one in self.runs) else ""

    def found(self, test: str, name: str, load: str = "", **labels: int | str) -> list[Sound]:
        """The sound series of `test` with these labels; scope `both` is either.

        `load`: "" is any, "heavy" also one that has that element and others.
        """
        wanted = {key: str(value) for key, value in labels.items()}
        return [
            Sound(run, one)
            for run in self.runs
            if is_under(run.condition.load, load)
            for one in run.held_of(test, name)
            if not _why_unsound(one.result) and _has(one, wanted)
        ]

    def longest(self, test: str, name: str, load: str = "", **labels: int | str) -> Sound | None:
        """Of `found` the one with the most values."""
        found = self.found(test, name, load, **labels)
        return max(found, key=lambda one: one.count, default=None)

    def why_no(self, test: str, load: str = "") -> str:
        """Why there is no figure of `test` that may be used."""
        under = f" under load {load}" if load else ""
        if not self.runs:
            reasons = [one for run in self.column.subjects for one in run.trust.reasons]
            return f"its runs are not trustworthy: {shorten(', '.join(reasons[:1]), 120)}"
        results = [
            one
            for run in self.runs
            if is_under(run.condition.load, load)
            for one in run.results
            if one.test == test
        ]
        if not results:
            return f"{test} was not run{under}"
        why = next(filter(None, map(_why_unsound, results)), "")
        return f"{test}{under}: {why or 'no such values'}"


_MACHINE = (
    *("machine.arch", "machine.cpu_model", "cpu.count", "kernel.name", "kernel.release"),
    *("kernel.version", "virtual.hypervisor", "virtual.time"),
)


def is_under(load: str, wanted: str) -> bool:
    """Whether `load` is `wanted`, or has that element and others: "heavy+timers" is heavy."""
    if not wanted or wanted == load:
        return True
    own = load.partition("stress-ng:")[0].split("+")
    return wanted != "none" and any(one.partition("@")[0] == wanted for one in own)


def is_loaded(run: MeasuredRun) -> bool:
    return run.condition.load not in ("none", NOT_KNOWN)


def _why_unsound(one: Result) -> str:
    """Why no figure of a result may be used; "" if they may."""
    if one.status != "measured":
        return f"{one.status}{f': {shorten(one.reason, 100)}' if one.reason else ''}"
    if not one.complete or one.interrupted:
        return "cut off before it ended"
    return "without real-time scheduling" if lacks_realtime(one) else ""


def _has(one: MeasuredSeries, wanted: dict[str, str]) -> bool:
    return all(
        one.labels.get(key) == value or (key == "scope" and one.labels.get(key) == "both")
        for key, value in wanted.items()
    )


def run_it(*tests: str, load: str = "", cpu_config: str = "") -> str:
    """The command that measures what lacks."""
    options = f" --load {load}" * bool(load) + f" --cpu-config {cpu_config}" * bool(cpu_config)
    return f"hardstone run {' '.join(dict.fromkeys(tests))}{options}"


@dataclass(frozen=True)
class Beyond:
    """Values above `limit`, from `least` to `most` where a bucket holds it, of `total`."""

    limit: int
    least: int
    most: int
    total: int
    worst: int
    least_total: int = LEAST_VALUES

    @property
    def is_exceeded(self) -> bool:
        return self.least > 0

    @property
    def is_within(self) -> bool:
        """As measured: none of enough values."""
        return self.most == 0 and self.total >= self.least_total

    @property
    def high(self) -> float:
        """What the share is at most, at 95 %; for independent values."""
        return share_high(self.most, self.total, 0.05)

    @property
    def text(self) -> str:
        """ "2 of 60 values above 11 ms (worst observed 14.3 ms)"."""
        count = "none" if not self.most else format_count(self.most)
        if self.least != self.most:
            count = f"{format_count(self.least)} to {format_count(self.most)}"
        bound = ""
        if not self.most and self.total >= LEAST_VALUES:
            bound = f", the share above is at most {share_text(self.high)}"
        elif not self.most and self.total < self.least_total:
            bound = f"; at least {format_count(self.least_total)} values are needed"
        return (
            f"{count} of {format_count(self.total)} values above {format_value(self.limit, 'ns')} "
            f"(worst observed {format_value(self.worst, 'ns')}{bound})"
        )


def beyond(found: Sequence[Sound], limit: int, least_total: int = LEAST_VALUES) -> Beyond | None:
    """The values of all `found` above `limit`; None without values or if one is unreadable."""
    return beyond_of([one.held.series for one in found], limit, least_total)


def beyond_of(
    series: Iterable[Series], limit: int, least_total: int = LEAST_VALUES
) -> Beyond | None:
    """`beyond` of series, such as those that were pooled from others."""
    least = most = total = worst = 0
    try:
        for one in series:
            misses = misses_of(one, limit)
            least += misses.count if misses.least_count is None else misses.least_count
            most += misses.count
            total += misses.total
            worst = max(worst, one.max or 0)
    except (InputError, ValueError):
        return None
    return Beyond(limit, least, most, total, worst, least_total) if total else None


def are_apart(few: Beyond, many: Beyond) -> bool:
    """Whether `many` has a higher share than `few`: their exact intervals do not overlap."""
    highest = share_high(few.most, few.total, _TWO_SIDED)
    return highest < share_low(many.least, many.total, _TWO_SIDED)


@dataclass(frozen=True)
class Ratio:
    """A quantile of one series over that of another. `low` and `high`: what all runs allow; None:
    unbounded. `why`: why there is no ratio, or no bound."""

    value: float | None
    low: float | None
    high: float | None
    runs: int
    counts: tuple[int, int] = (0, 0)
    why: str = ""
    unit: Literal["98 %", "95 %"] = "98 %"

    def is_above(self, limit: float) -> bool:
        return self.low is not None and self.low > limit

    def is_below(self, limit: float) -> bool:
        return self.high is not None and self.high < limit

    def is_within(self, factor: float) -> bool:
        """Whether both are the same, up to `factor`."""
        is_high_enough = self.low is not None and self.low >= 1 / factor
        return is_high_enough and self.high is not None and self.high <= factor

    @property
    def text(self) -> str:
        """ "1.6 times (1.5 to 1.7)"."""
        if self.value is None:
            return f"no ratio: {self.why}"
        low = "0" if self.low is None else _digits(self.low)
        high = "unbounded" if self.high is None else _digits(self.high)
        runs = f" in {self.runs} runs" if self.runs > 1 else ""
        counts = f", {' and '.join(map(format_count, self.counts))} values"
        return f"{_digits(self.value)} times ({self.unit}: {low} to {high}{runs}{counts})"


def _digits(value: float) -> str:
    return f"{value:.2f}" if 0.1 <= value < 9.995 else ratio_text(value)


def ratio_of(first: Sequence[Sound], other: Sequence[Sound], q: float = _MEDIAN) -> Ratio:
    """The quantile `q` of `other` over that of `first`, run by run.

    Series of one run and load are paired; else those of one run; else the longest of each side.
    """
    from hardstone.stats.resampling import hodges_lehmann  # which loads numpy
    from hardstone.stats.two_runs import compare_quantile

    pairs = list(_pairs(first, other))
    if not pairs:
        return Ratio(None, None, None, 0, why="one side has no values")
    why = next(filter(None, (_why_unlike(one, two) for one, two in pairs)), "")
    if why:
        return Ratio(None, None, None, 0, why=why)
    try:
        found = [
            compare_quantile(one.held.series, two.held.series, q, quantum=_quantum(one, two))
            for one, two in pairs
        ]
    except InputError as error:
        return Ratio(None, None, None, 0, why=error.cause)
    known = [one.ratio for one in found if one.ratio]
    if len(known) < len(found):
        why = next((one.reason for one in found if not one.ratio), "") or "no ratio"
        return Ratio(None, None, None, len(pairs), why=f"{level_text(q)}: {why}")
    counts = sum(one.count for one, _ in pairs), sum(two.count for _, two in pairs)
    independent = len({one.run.id for one, _ in pairs})
    if independent == len(pairs) >= LEAST_RUNS:
        shift = hodges_lehmann([log(one) for one in known])
        low, high = (None if one is None else exp(one) for one in (shift.low, shift.high))
        return Ratio(exp(shift.estimate), low, high, len(pairs), counts, unit="95 %")
    lows, highs = [one.low for one in found], [one.high for one in found]
    return Ratio(
        value=sorted(known)[len(known) // 2],
        low=None if None in lows else min(one for one in lows if one is not None),
        high=None if None in highs else max(one for one in highs if one is not None),
        runs=independent,
        counts=counts,
        why=next((one.reason for one in found if one.reason), ""),
    )


def _pairs(first: Sequence[Sound], other: Sequence[Sound]) -> Iterator[tuple[Sound, Sound]]:
    keys: tuple[Callable[[Sound], object], ...] = (lambda one: id(one.run), lambda one: one.run.id)
    for key in keys:
        known = {key(one): one for one in reversed(first)}
        pairs = [(known[key(one)], one) for one in other if key(one) in known]
        if pairs:
            yield from pairs
            return
    if first and other:
        yield _longest(first), _longest(other)


def _longest(found: Iterable[Sound]) -> Sound:
    return max(found, key=lambda one: one.count)


def _why_unlike(one: Sound, other: Sound) -> str:
    """Why two series may not be divided: kinds of time, or other parameters of one test."""
    why = why_incomparable(one.run.document, other.run.document)
    if why or one.held.test != other.held.test:
        return why or ""
    differing = differing_parameters(one.held.result, other.held.result)
    return f"the parameter {shorten(differing[0].name)} differs" if differing else ""


def _quantum(one: Sound, other: Sound) -> float:
    """The coarser step of both clocks, where both series are of times."""
    if one.held.unit != "ns" or other.held.unit != "ns":
        return 0.0
    instruments = (
        each.held.result.instrument or each.run.document.instrument for each in (one, other)
    )
    return max((each.quantum_ns for each in instruments if each), default=0.0)
