"""Finds in a subject the figure of a criterion, or why it is missing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import isfinite

import msgspec

from hardstone.model import Result, Series
from hardstone.published import Address, AddressError, resolve
from hardstone.rating.configured import is_cut_off
from hardstone.rating.criteria import FigureCriterion
from hardstone.stats.contradictions import series_contradictions
from hardstone.stats.identity import has_observed
from hardstone.stats.run_length import has_short_profile, shorter_than_standard
from hardstone.stats.sustained import SUSTAINED, bracket_of, steps_of
from hardstone.subjects import (
    CONTRADICTORY,
    Amount,
    Held,
    MeasuredRun,
    MeasuredSeries,
    Missing,
    PublishedSeries,
    Subject,
)

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
    return _worst_of(substitutes) or why_missing(subject, criterion)


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
        for held in subject.held():
            if _fits(held, criterion):
                yield from _amounts(held, criterion, statistic, about, _published_block_ns(held))
        return
    fitting = list(_measured(subject, criterion))
    for measured in fitting:
        block_ns = _block_ns(measured.result)
        if measured.series.count:
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
    if is_cut_off(measured.result):
        return f"cut off after {count:,} values"
    document = run.document
    is_short = shorter_than_standard(document).get(criterion.test, has_short_profile(document))
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
        note = "interrupts were lost at every period that was tried"
        where = f"{subject.id} {address} {statistic}"
        amount = Amount("ns", statistic, where, above=float(found.failed_ns), notes=(note,))
        yield FoundFigure(address, amount, instead=about)


def _amounts(
    held: Held, criterion: FigureCriterion, statistic: str, about: str, block_ns: int
) -> Iterator[FoundFigure]:
    amount = held.amount(statistic)
    if isinstance(amount, Missing) or not isfinite(rated_value(amount)):
        return
    notes = tuple(dict.fromkeys((*amount.notes, *held.notes)))
    block = block_ns if criterion.reading else 0
    yield FoundFigure(held.address, msgspec.structs.replace(amount, notes=notes), block, about)


def _measured(subject: MeasuredRun, criterion: FigureCriterion) -> list[MeasuredSeries]:
    """The series that fit; else those without values; else one with a smaller number than that
    of the criterion, as where a system has fewer priorities. None where figures of the test
    cannot be true: the others alone could flatter."""
    found = _named(subject, criterion)
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


def _named(subject: MeasuredRun, criterion: FigureCriterion) -> list[MeasuredSeries]:
    named = subject.held_of(criterion.test, criterion.series)
    return [one for one in named if _fits(one, criterion)]


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
    """Where a clock or timer was wrong for one series, it was there for the others, too."""
    return next(series_contradictions(result), None) is None


def _fits(held: Held, criterion: FigureCriterion) -> bool:
    """Whether the labels are those of the criterion. A study may give values without labels."""
    if (held.test, held.name) != (criterion.test, criterion.series):
        return False
    unnamed = list(held.parts)
    for label, wanted in criterion.labels.items():
        has = held.labels.get(label)
        if has is None and wanted in unnamed:
            unnamed.remove(wanted)
        elif has != wanted and not (label == "scope" and has == "both"):
            return False
    return True


def why_missing(subject: Subject, criterion: FigureCriterion) -> Missing:
    """Why `subject` has no figure of `criterion`."""
    if not isinstance(subject, MeasuredRun):
        return Missing("not published")
    results = [one for one in subject.results if one.test == criterion.test]
    if not results:
        return Missing("not run", f"hardstone run {criterion.test}")
    if not all(map(_has_sound_figures, results)):
        return _CONTRADICTORY
    found = _resolved(subject, results[0], criterion)
    return found if isinstance(found, Missing) else Missing("it has no values")


def _block_ns(result: Result) -> int:
    return _positive(result.params.get("block_ns"))


def _published_block_ns(held: Held) -> int:
    params: Mapping[str, int] = {}
    if isinstance(held, PublishedSeries):
        params = held.figures[0].params
    return _positive(params.get("block_ns"))


def _positive(value: object) -> int:
    return value if isinstance(value, int) and value > 0 else _DEFAULT_BLOCK_NS
