"""The distributions of a run that a format can hold, and why it leaves out the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field
from typing import NamedTuple

from hardstone.model import Result, RunDocument, Series
from hardstone.stats.conditions import condition_of, listed
from hardstone.stats.consistency import clock_problem, is_contradictory, time_meaning
from hardstone.stats.identity import NO_DISTRIBUTION, has_quantiles
from hardstone.systems.subjects import MeasuredSeries

WRONG = "figures that cannot be true"


class Held(NamedTuple):
    """A series with values, and the result that it is of."""

    result: Result
    series: Series


@dataclass
class LeftOut:
    """Series that a format leaves out, by the reason, or of which it leaves out `what`."""

    what: str = ""
    found: dict[str, list[str]] = field(default_factory=dict)

    def add(self, one: Held, why: str) -> None:
        self.found.setdefault(why, []).append(address_of(one))

    @property
    def has_wrong(self) -> bool:
        """Whether one of them has figures that cannot be true."""
        return WRONG in self.found

    def sentences(self) -> list[str]:
        """ "2 series are left out, not a time: A, B"; "2 series without WHAT, no mean: A, B"."""
        return [
            f"{len(names)} series {self._done(len(names))}, {why}: {listed(names)}"
            for why, names in self.found.items()
        ]

    def _done(self, count: int) -> str:
        if self.what:
            return f"without {self.what}"
        return "is left out" if count == 1 else "are left out"


def address_of(one: Held) -> str:
    """TEST/label values/series, as it is typed."""
    return MeasuredSeries("", one.result, one.series).address


def condition_text(result: Result) -> str:
    """ "heavy (shielded)", "heavy (shared, preemption full)"."""
    one = condition_of(result)
    model = f", preemption {one.preemption}" if one.preemption else ""
    return f"{one.load} ({one.cpu_config}{model})"


def held_series(document: RunDocument, left: LeftOut) -> Iterator[Held]:
    """The series with values, but for those whose figures cannot be true."""
    for result in document.results:
        for series in result.series:
            one = Held(result, series)
            if is_contradictory(series):
                left.add(one, WRONG)
            elif series.count:
                yield one


def why_no_distribution(series: Series) -> str:
    """Why the buckets of a series do not say where all its values are; "" where they do."""
    if has_quantiles(series.histogram):
        return ""
    if series.histogram.layout == NO_DISTRIBUTION:
        return "the file has no distribution"
    return "the file has no count of the largest values"


def of_other_time(document: RunDocument) -> list[str]:
    """A sentence where the times of a run may not be compared with those of hardware."""
    if meaning := time_meaning(document.system):
        return [meaning]
    problem = clock_problem(document)
    return [f"{problem}, so its times are wrong"] if problem else []


def held_distributions(
    document: RunDocument, left: LeftOut, units: Set[str] = frozenset({"ns"})
) -> Sequence[Held]:
    """Those of `held_series` that have one of the units, and a distribution."""
    found = []
    for one in held_series(document, left):
        if one.series.unit not in units:
            left.add(one, "not a time")
        elif why := why_no_distribution(one.series):
            left.add(one, why)
        else:
            found.append(one)
    return found
