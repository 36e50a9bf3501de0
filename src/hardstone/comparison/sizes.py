"""Sizes of the tire that a sweep holds, as rows of a comparison: what a study printed of them, and
the same of each run.

A study gives the most masses without a miss, or the fewest with one, for a number of threads or
for any. No series of a run is either: both come from all points of a curve.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from hardstone.model import Result, Series, Unit
from hardstone.simulation.analysis import Bound, bounds_of
from hardstone.simulation.results import REAL_TIME, points_of
from hardstone.simulation.tables import FIRST_MISSED, MOST_HELD, comparable, threads_text
from hardstone.stats.conditions import condition_of
from hardstone.systems.subjects import (
    Amount,
    FigureRow,
    MeasuredRun,
    Missing,
    PublishedSeries,
    Subject,
    SubjectSeries,
)
from hardstone.units import format_count, format_ns

SIZES = (MOST_HELD, FIRST_MISSED)
_ANY = "any"  # number of threads


@dataclass(frozen=True)
class SizeSeries:
    """One size of one system. `policy`: "" where the study names none; `refused`: why it may be
    compared with no published size."""

    address: str
    labels: Mapping[str, str]
    found: Amount | Missing
    policy: str = ""
    refused: str = ""
    notes: tuple[str, ...] = ()
    test: str = REAL_TIME
    name: str = ""
    parts: tuple[str, ...] = ()
    unit: Unit = "count"
    series: Series | None = field(default=None, init=False)
    result: Result | None = field(default=None, init=False)

    def statistics(self) -> list[str]:
        return [self.name]

    def amount(self, statistic: str) -> Amount | Missing:
        return self.found if statistic == self.name else Missing("-")


_LABELS = {
    MOST_HELD: "most masses without a miss",
    FIRST_MISSED: "fewest masses with a miss",
}


def size_label(one: SizeSeries) -> str:
    """ "most masses without a miss, 12 threads"."""
    threads = one.labels["threads"]
    which = "any number of threads" if threads == _ANY else threads_text(int(threads))
    return f"{_LABELS[one.name]}, {which}"


def is_of_sweep(one: SubjectSeries) -> bool:
    """Whether the figures of a series are sizes that a sweep finds."""
    return isinstance(one, PublishedSeries) and bool(set(one.statistics()) & set(SIZES))


def size_rows(subjects: Sequence[Subject]) -> list[FigureRow]:
    """A row for each number of threads and size that a study printed of one of `subjects`."""
    published = [
        [one for one in subject.held() if isinstance(one, PublishedSeries) and is_of_sweep(one)]
        for subject in subjects
    ]
    bounds = [
        list(_bounds_under(subject)) if isinstance(subject, MeasuredRun) else []
        for subject in subjects
    ]
    wanted = dict.fromkeys(
        (_threads_of(one), statistic)
        for own in published
        for one in own
        for statistic in one.statistics()
    )
    ordered = sorted(
        wanted, key=lambda one: (int(one[0]) if one[0] != _ANY else 0, SIZES.index(one[1]))
    )
    return [_row(threads, size, subjects, published, bounds) for threads, size in ordered]


def _row(
    threads: str,
    size: str,
    subjects: Sequence[Subject],
    published: Sequence[Sequence[PublishedSeries]],
    bounds: Sequence[Sequence[Bound]],
) -> FigureRow:
    found: list[SubjectSeries | None] = []
    for subject, printed, measured in zip(subjects, published, bounds, strict=True):
        if isinstance(subject, MeasuredRun):
            found.append(_of_run(subject, threads, size, measured))
        else:
            found.append(next(_of_study(printed, threads, size), None))
    key = (REAL_TIME, size, (("threads", threads),))
    return FigureRow(key, tuple(found), ((),) * len(subjects))


def _of_study(printed: Sequence[PublishedSeries], threads: str, size: str) -> Iterator[SizeSeries]:
    for one in printed:
        amount = one.amount(size)
        if _threads_of(one) == threads and isinstance(amount, Amount):
            policy = one.figures[0].address.conditions.get("policy", "")
            yield _series(threads, size, amount, policy=policy, notes=one.notes)


def _threads_of(one: PublishedSeries) -> str:
    """The number of threads that an address names."""
    texts = (*one.parts, *one.labels.values())
    return next((text for text in texts if text.isdecimal()), _ANY)


def _series(
    threads: str,
    size: str,
    amount: Amount,
    *,
    policy: str = "",
    refused: str = "",
    notes: tuple[str, ...] = (),
) -> SizeSeries:
    return SizeSeries(
        address=f"{REAL_TIME}/{threads}/{size}",
        labels={"threads": threads},
        found=amount,
        policy=policy,
        refused=refused,
        notes=notes,
        name=size,
    )


def _bounds_under(run: MeasuredRun) -> Iterator[Bound]:
    """The curves under the condition of `run` that found anything, those with the study's solver
    and step if there are any."""
    results = run.document.results
    points = points_of(run.document)
    every = bounds_of(one for one in points if condition_of(results[one.result]) == run.condition)
    found = [one for one in every if one.held or one.first_missed]
    yield from [one for one in found if comparable(one)] or found


def _of_run(
    run: MeasuredRun, threads: str, size: str, bounds: Sequence[Bound]
) -> SizeSeries | None:
    """The size of the curve with as many threads, or, marked, of that with the next smaller number;
    of any number of threads, and of several policies, the one that held least."""
    numbers = sorted({one.curve.threads for one in bounds})
    if not numbers:
        return None
    refused, notes = [], []
    if threads == _ANY:
        own = list(bounds)
        notes.append(f"threads measured: {', '.join(map(format_count, numbers))}")
    else:
        number = max((one for one in numbers if one <= int(threads)), default=numbers[0])
        own = [one for one in bounds if one.curve.threads == number]
        if number != int(threads):
            refused.append(f"{threads_text(number)}, in the study {threads}")
    least = min(own, key=_order)
    policies = list(dict.fromkeys(one.curve.policy for one in own))
    notes.append(f"policy {least.curve.policy}")
    if len(policies) > 1:
        notes.append(f"the least of the policies {', '.join(policies)}")
    if not comparable(least):
        curve = least.curve
        refused.append(
            f"solver {curve.solver}, step {format_ns(curve.step_ns)}, period "
            f"{format_ns(curve.period_ns)}: not those of the study"
        )
    amount = _amount(run, least, size)
    if amount is None:
        return None
    return _series(
        threads,
        size,
        amount,
        policy=least.curve.policy,
        refused="; ".join(refused),
        notes=tuple(notes),
    )


def _order(bound: Bound) -> tuple[int, int]:
    """By what was held, then by what was missed first."""
    first = bound.first_missed
    return (bound.held.masses if bound.held else 0, first.masses if first else 1 << 62)


def _amount(run: MeasuredRun, bound: Bound, size: str) -> Amount | None:
    """None where nothing was measured. What was never missed is above the largest that held; what
    never held is below the smallest that missed."""
    held, first, curve = bound.held, bound.first_missed, bound.curve
    source = f"{run.id} {REAL_TIME}/{curve.solver}/{curve.threads}/{curve.policy} {size}"
    if size == MOST_HELD:
        if held is not None and first is not None:
            return Amount("count", size, source, value=float(held.masses))
        if held is not None:
            return Amount(
                "count", size, source, above=float(held.masses), notes=("no size missed",)
            )
        return Amount("count", size, source, below=float(first.masses)) if first else None
    if first is not None:
        return Amount("count", size, source, value=float(first.masses))
    return Amount("count", size, source, above=float(held.masses)) if held else None
