"""What is rated: criteria and their figures as criteria.toml says, and what of them a subject
has.
"""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from math import isfinite
from typing import Literal

import msgspec

from hardstone.catalogue import has_short_profile
from hardstone.errors import InputError
from hardstone.event_names import SHORT
from hardstone.model import Result, Series
from hardstone.stats.conditions import NOT_KNOWN, condition_of
from hardstone.stats.consistency import KindOfTime, kind_of_time, series_contradictions
from hardstone.stats.identity import has_observed
from hardstone.stats.quantiles import median_of
from hardstone.stats.sustained import SUSTAINED, bracket_of, steps_of
from hardstone.stats.trust import lacks_realtime
from hardstone.systems.published import Address, AddressError, resolve
from hardstone.systems.subjects import (
    CONTRADICTORY,
    Amount,
    MeasuredRun,
    MeasuredSeries,
    Missing,
    PublishedSeries,
    Subject,
    SubjectSeries,
)
from hardstone.units import format_ns

Role = Literal["worst", "mean", "uncontended"]
Reading = Literal["", "beyond block"]


class Substitute(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """A series of the same test that stands in for a missing one; `about` says what it is.

    `is_stricter`: it holds all that the figure would hold, so it is rated in its place. Of any
    other stand-in no star follows.
    """

    series: str
    about: str
    is_stricter: bool = False
    labels: dict[str, str] = {}
    none_means: str = ""


class FigureCriterion(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """A rated figure; the fields are explained in criteria.toml."""

    test: str
    series: str
    roles: list[Role]
    labels: dict[str, str] = {}
    each: dict[str, list[str]] = {}
    statistic: Literal["max", "min"] = "max"
    reading: Reading = ""
    none_means: str = ""
    instead: list[Substitute] = []
    interrupts: int = 0

    @property
    def address(self) -> str:
        return "/".join([self.test, *self.labels.values(), self.series])


class CategoryCriteria(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """What a category is rated by. `weight` 0: not calibrated. `why_no_stars`: it has none, and
    no figures."""

    weight: int
    figures: list[FigureCriterion] = []
    why_no_stars: str = ""
    behaviours: list[str] = []


class SpecialAttention(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Options of the kernel's command line that only a person who looked for them sets."""

    boot_options: list[str]


class FullConditions(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """How a run is measured whose rating is the full one."""

    load: str
    free_parameters: list[str]


class Criteria(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """All of criteria.toml."""

    anchors: list[tuple[int, float]]
    mean_factor: int
    uncontended_factor: int
    worst_weight: int
    mean_weight: int
    category_cap: float
    overall_cap: float
    lowest_margin: float
    configurations: dict[str, float]
    special_attention: SpecialAttention
    usual: FullConditions
    categories: dict[str, CategoryCriteria]

    def factor(self, role: Role) -> int:
        """What a figure of `role` is multiplied by before it is scored."""
        return {"worst": 1, "mean": self.mean_factor, "uncontended": self.uncontended_factor}[role]


@cache
def rated_figures(category: str) -> tuple[FigureCriterion, ...]:
    """Every figure that `category` is rated by: one for each combination of the values in
    `each`."""
    return tuple(
        msgspec.structs.replace(
            one, each={}, labels={**one.labels, **dict(zip(one.each, values, strict=True))}
        )
        for one in load_criteria().categories[category].figures
        for values in itertools.product(*one.each.values())
    )


@cache
def load_criteria() -> Criteria:
    """The criteria that are part of hardstone."""
    text = resources.files("hardstone.systems").joinpath("criteria.toml").read_text("utf-8")
    return msgspec.convert(tomllib.loads(text), Criteria)


OUT_OF_THE_BOX = "out of the box"
_NO_LOADS = ("none", NOT_KNOWN)
_KINDS = {
    KindOfTime.EMULATED: "emulated",
    KindOfTime.COUNTED: "virtual time",
    KindOfTime.UNKNOWN: "may be emulated",
}


def is_loaded(run: MeasuredRun) -> bool:
    """Whether there was load during the tests."""
    return run.condition.load not in _NO_LOADS


def configuration_of(subject: Subject) -> str:
    """A key of `configurations` in criteria.toml; a study's own words where it has other ones."""
    if not isinstance(subject, MeasuredRun):
        return subject.conditions.get("configuration", "not published")
    return "special attention" if special_attention(subject) else OUT_OF_THE_BOX


def special_attention(run: MeasuredRun) -> list[str]:
    """What was configured for the figures of this run: boot options, a reserved CPU, ..."""
    found = []
    facts = run.document.system
    if run.condition.cpu_config not in ("shared", NOT_KNOWN):
        found.append(f"CPU configuration {run.condition.cpu_config}")
    if run.condition.preemption:
        found.append(f"preemption switched to {run.condition.preemption}")
    latencies = {one.conditions.dma_latency_us for one in run.results}
    if run.document.plan.dma_latency_us is not None or latencies - {None}:
        found.append("exit latency of idle states limited")
    if facts.get("kernel.rt_runtime_us") == -1:
        found.append("kernel.sched_rt_runtime_us is -1")
    options = [word.partition("=")[0] for word in str(facts.get("kernel.cmdline") or "").split()]
    known = load_criteria().special_attention.boot_options
    return found + [f"boot option {one}" for one in known if one in options]


def rated_as(subject: Subject) -> list[str]:
    """Why the rating is not the full one; empty if it is."""
    if not isinstance(subject, MeasuredRun):
        return [] if subject.conditions.get("load") else ["load not published"]
    return list(_reasons(subject))


def _reasons(run: MeasuredRun) -> Iterator[str]:
    document = run.document
    if run.trust.grade == "untrustworthy":
        yield "untrustworthy"
    kind = kind_of_time(document.system)
    if kind in _KINDS:
        yield _KINDS[kind]
    elif document.system.get("virtual.hypervisor"):
        yield "virtual machine"
    if not is_loaded(run):
        yield "without load" if run.condition.load == "none" else "load not known"
    elif not _holds_usual_load(run.condition.load):
        yield f"a load other than {load_criteria().usual.load}"
    if any(event.name in SHORT for one in run.results for event in one.events):
        yield "the load was lower than requested"
    if any(map(lacks_realtime, run.results)):
        yield "not scheduled as real-time"
    tests = _rated_tests()
    short = [test for test, is_short in run.shorter.items() if is_short]
    if has_short_profile(document) or tests.intersection(short):
        yield "shorter than standard"
    changed = sorted(tests.intersection(_changed_tests(run)))
    if changed:
        yield f"parameters changed: {' '.join(changed)}"
    if document.status != "complete" or any(map(_is_cut_off, run.results)):
        yield "incomplete"


def _holds_usual_load(load: str) -> bool:
    usual = load_criteria().usual.load
    elements = load.partition("stress-ng:")[0].split("+")
    return any(one.partition("@")[0] == usual for one in elements)


def _changed_tests(run: MeasuredRun) -> Iterator[str]:
    """Tests that were asked for with other parameters than those that the probe takes by itself:
    a longer interval, a shorter step or fewer sources would flatter. A list may hold more."""
    descriptors = {one.id: one for one in run.document.descriptors}
    free = load_criteria().usual.free_parameters
    for one in run.document.plan.tests:
        descriptor = descriptors.get(one.test)
        if descriptor is None or condition_of(one) != run.condition:
            continue
        for spec in descriptor.params:
            asked = one.params.get(spec.name)
            values = asked if isinstance(asked, list) else [asked]
            is_usual = asked is None or set(spec.default) <= set(values)
            if spec.name not in free and not is_usual:
                yield one.test


def _is_cut_off(result: Result) -> bool:
    """Whether the figures of a result are of less than was asked for."""
    return not result.complete or result.interrupted or result.status in ("failed", "timeout")


def _rated_tests() -> set[str]:
    categories = load_criteria().categories.values()
    figures = {figure.test for one in categories for figure in one.figures}
    return figures | {test for one in categories for test in one.behaviours}


_DEFAULT_BLOCK_NS = 10_000_000
_CONTRADICTORY = Missing(CONTRADICTORY)


@dataclass(frozen=True)
class FoundFigure:
    """`amount` as it is measured or published; `block_ns` is what it contains of undisturbed
    processing; `instead`: what it stands for, "" for the figure of the criterion itself.
    `too_few`: why it rests on fewer values than the criterion states; "" if it does not."""

    address: str
    amount: Amount
    block_ns: int = 0
    instead: str = ""
    is_stand_in: bool = False
    too_few: str = ""


def find_figure(
    subject: Subject, criterion: FigureCriterion, statistic: str
) -> FoundFigure | Missing:
    """The worst of the series that fit; else the worst of those that stand in for it."""
    own = _worst_of(_fitting(subject, criterion, statistic))
    if own is not None:
        return own
    substitutes = []
    for one in criterion.instead:
        stand_in = msgspec.structs.replace(
            criterion,
            series=one.series,
            labels=one.labels,
            none_means=one.none_means,
            instead=[],
        )
        found = _worst_of(_fitting(subject, stand_in, statistic, one.about))
        if found is not None:
            substitutes.append(replace(found, is_stand_in=not one.is_stricter))
    return _worst_of(substitutes) or _why_missing(subject, criterion)


def _worst_of(found: Iterable[FoundFigure]) -> FoundFigure | None:
    return max(found, key=lambda one: rated_value(one.amount), default=None)


def rated_value(amount: Amount) -> float:
    """The value that is scored: the end of a bound that is known."""
    highest = amount.highest
    return amount.lowest if highest is None else highest


def _fitting(
    subject: Subject, criterion: FigureCriterion, statistic: str, about: str = ""
) -> Iterator[FoundFigure]:
    if not isinstance(subject, MeasuredRun):
        for series in subject.held():
            if _fits(series, criterion):
                figures = series.figures if isinstance(series, PublishedSeries) else ()
                block_ns = _positive(figures[0].params.get("block_ns") if figures else None)
                yield from _amounts(series, criterion, statistic, about, block_ns)
        return
    fitting = list(_measured(subject, criterion))
    for measured in fitting:
        block_ns = _positive(measured.result.params.get("block_ns"))
        if measured.series.count:
            if criterion.reading and _block_apart(measured, block_ns):
                continue
            too_few = _why_too_few(subject, measured, criterion)
            for one in _amounts(measured, criterion, statistic, about, block_ns):
                yield replace(one, too_few=too_few)
    if any(one.series.count for one in fitting):
        return
    if criterion.test == SUSTAINED:
        yield from _none_sustained(subject, criterion, statistic, about)
    results = [one.result for one in fitting if one.result.status == "measured"]
    if criterion.none_means and any(has_observed(result) for result in results):
        source = f"{subject.id} {fitting[0].address} {statistic}"
        none_seen = Amount("ns", statistic, source, value=0.0, notes=(criterion.none_means,))
        too_few = _why_too_few(subject, fitting[0], criterion)
        yield FoundFigure(fitting[0].address, none_seen, instead=about, too_few=too_few)


_SHORTER, _LONGER = 0.01, 0.1  # of the block


def _block_apart(measured: MeasuredSeries, block_ns: int) -> str:
    """Why nothing follows from a block of processing: what it took in the median is far from what
    it was calibrated to, so the length that is taken off is not its own; "" if it is close. A
    shorter one hides lateness: 1 % of it is worth a star. Under load a longer median is what the
    load takes, and counts."""
    try:
        value = median_of(measured.series)
    except InputError:  # an unreadable histogram is reported as a contradiction
        value = None
    is_loaded_block = (measured.result.conditions.load or NOT_KNOWN) not in _NO_LOADS
    if value is None or (is_loaded_block and value > block_ns):
        return ""
    if -_SHORTER * block_ns <= value - block_ns <= _LONGER * block_ns:
        return ""
    return (
        f"a block calibrated to {format_ns(block_ns)} took {format_ns(value)} in the median: the "
        "time beyond it is not known"
    )


def _why_too_few(run: MeasuredRun, measured: MeasuredSeries, criterion: FigureCriterion) -> str:
    """The worst of more values is worse, and nothing bounds by how much."""
    if criterion.interrupts:
        steps = steps_of([measured.result])
        passed = [one for one in steps if one.passed and one.source == criterion.labels["source"]]
        shortest = min(passed, key=lambda one: one.period_ns, default=None)
        count = shortest.interrupts if shortest else 0
        wanted = criterion.interrupts
        return f"{count:,} of {wanted:,} interrupts at this period" if count < wanted else ""
    count = measured.series.count
    if _is_cut_off(measured.result):
        return f"cut off after {count:,} values"
    document = run.document
    is_short = run.shorter.get(criterion.test, has_short_profile(document))
    return f"{count:,} values, fewer than a standard run takes" if is_short else ""


def _none_sustained(
    subject: MeasuredRun, criterion: FigureCriterion, statistic: str, about: str
) -> Iterator[FoundFigure]:
    """A search that no period passed: the minimal one is above the longest that failed."""
    source = criterion.labels["source"]
    results = [one for one in subject.results if one.test == criterion.test]
    found = bracket_of(steps_of(results), source)
    if found.failed_ns and not found.passed_ns:
        address = "/".join((criterion.test, source, criterion.series))
        note = "interrupts were lost at every period tried"
        where = f"{subject.id} {address} {statistic}"
        amount = Amount("ns", statistic, where, above=float(found.failed_ns), notes=(note,))
        yield FoundFigure(address, amount, instead=about)


def _amounts(
    one: SubjectSeries, criterion: FigureCriterion, statistic: str, about: str, block_ns: int
) -> Iterator[FoundFigure]:
    amount = one.amount(statistic)
    if isinstance(amount, Missing) or not isfinite(rated_value(amount)):
        return
    notes = tuple(dict.fromkeys((*amount.notes, *one.notes)))
    block = block_ns if criterion.reading else 0
    yield FoundFigure(one.address, msgspec.structs.replace(amount, notes=notes), block, about)


def _measured(subject: MeasuredRun, criterion: FigureCriterion) -> list[MeasuredSeries]:
    """The series that fit; else those without values; else one with a smaller number than that
    of the criterion, as where a system has fewer priorities. None where figures of the test
    cannot be true: the others alone could flatter."""
    named = subject.held_of(criterion.test, criterion.series)
    found = [one for one in named if _fits(one, criterion)]
    results = [one for one in subject.results if one.test == criterion.test]
    if not all(map(_has_sound_figures, results)):
        return []
    empty = (
        MeasuredSeries(subject.id, result, series)
        for result in results
        for series in result.series
        if not series.count
    )
    found = found or [one for one in empty if _fits(one, criterion)]
    if found:
        return found
    shortened = (_resolved(subject, result, criterion) for result in results)
    return [
        MeasuredSeries(subject.id, result, one)
        for result, one in zip(results, shortened, strict=True)
        if isinstance(one, Series)
    ]


def _resolved(subject: MeasuredRun, result: Result, criterion: FigureCriterion) -> Series | Missing:
    address = Address(criterion.test, (criterion.series,), criterion.labels)
    try:
        found = resolve(address, msgspec.structs.replace(subject.document, results=[result]))
    except AddressError as error:
        return Missing(error.cause, error.remedy)
    if found.series is None:
        return Missing("it has no series")
    return found.series if _has_sound_figures(found.result) else _CONTRADICTORY


def _has_sound_figures(result: Result) -> bool:
    """Whether no series is contradictory: a clock that was wrong for one was wrong for the
    others."""
    return next(series_contradictions(result), None) is None


def _fits(one: SubjectSeries, criterion: FigureCriterion) -> bool:
    """Whether the labels are those of the criterion. A study may give values without labels."""
    if (one.test, one.name) != (criterion.test, criterion.series):
        return False
    unnamed = list(one.parts)
    for label, wanted in criterion.labels.items():
        has = one.labels.get(label)
        if has is None and wanted in unnamed:
            unnamed.remove(wanted)
        elif has != wanted and not (label == "scope" and has == "both"):
            return False
    return True


def _why_missing(subject: Subject, criterion: FigureCriterion) -> Missing:
    """Why `subject` has no figure of `criterion`."""
    if not isinstance(subject, MeasuredRun):
        return Missing("not published")
    results = [one for one in subject.results if one.test == criterion.test]
    if not results:
        return Missing("not run", f"hardstone run {criterion.test}")
    if not all(map(_has_sound_figures, results)):
        return _CONTRADICTORY
    found = _resolved(subject, results[0], criterion)
    if isinstance(found, Missing):
        return found
    if criterion.reading:
        block_ns = _positive(results[0].params.get("block_ns"))
        apart = _block_apart(MeasuredSeries(subject.id, results[0], found), block_ns)
        if apart:
            return Missing(apart)
    return Missing("it has no values")


def _positive(value: object) -> int:
    return value if isinstance(value, int) and value > 0 else _DEFAULT_BLOCK_NS
