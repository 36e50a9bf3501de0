"""One side of the comparison of kernel preemption off and on: the figures of its results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from hardstone.model import Result, Scalar
from hardstone.present.kernel_history import TIME_90, TIME_99, WORST
from hardstone.present.section_text import length_interval, length_text
from hardstone.present.wording import range_text, short
from hardstone.stats.kernel_operations import ALL, KernelTime, Operation, kernel_time_of
from hardstone.stats.quantiles import lacking
from hardstone.stats.residuals import LEAST_IDLE
from hardstone.stats.section_time import SectionLength
from hardstone.units import format_ns

NOT_KNOWN = "not known"
_NO_LENGTHS = "no sections: other processes had the CPU for most of the reference"
_SHARE_OF = {TIME_90: 0.9, TIME_99: 0.99}


@dataclass(frozen=True)
class Figure:
    """A figure of one side. `low_ns` and `high_ns` are its interval, or the range of repeated
    results; equal to the value where there is neither. `high_ns` None: unbounded."""

    value_ns: float
    text: str
    interval: str
    low_ns: float
    high_ns: float | None
    is_below: bool = False
    has_interval: bool = True

    def overlaps(self, other: Figure) -> bool:
        """Whether the intervals of both allow the same value."""
        if not (self.has_interval and other.has_interval):
            return False
        is_above = other.high_ns is not None and self.low_ns > other.high_ns
        is_under = self.high_ns is not None and self.high_ns < other.low_ns
        return not (is_above or is_under)


@dataclass(frozen=True)
class Side:
    """`model` is the preemption model; `operations` are worst first; `missing` says which results
    have no figures, or no lengths, and why."""

    model: str
    found: list[KernelTime]
    missing: list[str]

    @property
    def operations(self) -> list[str]:
        return [one.name for one in self.found[0].operations] if self.found else []

    @property
    def releases(self) -> int:
        return sum(one.whole.series.count for one in self.found)

    def lacking(self, operation: str, statistic: str) -> str:
        """How many releases a length takes that no result has: "needs 2000 values, has 100"."""
        if statistic == WORST or self.figure(operation, statistic) is not None:
            return ""
        own = [(one, time) for time in self.found if (one := _named(time, operation))]
        told = [_lacking(one, time, _SHARE_OF[statistic]) for one, time in own]
        return next(filter(None, told), "")

    def figure(self, operation: str, statistic: str) -> Figure | None:
        """The figure: of several results the median of a length, the largest of maxima."""
        own = [one for one in (_named(time, operation) for time in self.found) if one]
        if statistic == WORST:
            return _worst([one.series.max for one in own if one.series.max is not None])
        return _length([_length_of(one, _SHARE_OF[statistic]) for one in own])


def side_of(
    results: Sequence[Result],
    system: Mapping[str, Scalar],
    time_of: Callable[[Result], KernelTime | None] = kernel_time_of,
) -> Side:
    """The side of `results`, all of KRN-P-PRE. `time_of` gives what each found."""
    found = [(one, time_of(one)) for one in results]
    missing = [
        f"{one.status}{f': {short(one.reason, 120)}' if one.reason else ''}"
        for one, time in found
        if time is None
    ]
    missing += [
        _NO_LENGTHS for _, time in found if time is not None and time.is_reference_of_others
    ]
    model = short(system.get("kernel.preemption")) or NOT_KNOWN
    times = [time for _, time in found if time is not None]
    return Side(model, times, missing if results else ["no result"])


def _named(time: KernelTime, operation: str) -> Operation | None:
    if operation == ALL:
        return time.whole
    return next((one for one in time.operations if one.name == operation), None)


def _length_of(one: Operation, q: float) -> SectionLength | None:
    return one.blocking.lengths[q] if one.blocking else None


def _lacking(one: Operation, time: KernelTime, q: float) -> str:
    if one.blocking is not None or time.is_reference_of_others:
        return one.lacks(q)
    reference = time.reference.series.count if time.reference else 0
    told = lacking(LEAST_IDLE, reference)
    return f"reference {told}" if told else ""


def _worst(found: list[int]) -> Figure | None:
    if not found:
        return None
    top, low = max(found), min(found)
    interval = _range(found)
    return Figure(top, format_ns(top), interval, low, top, has_interval=len(found) > 1)


def _length(found: Sequence[SectionLength | None]) -> Figure | None:
    known = sorted((one for one in found if one is not None), key=lambda one: one.value_ns)
    if not known:
        return None
    middle = known[len(known) // 2]
    if len(known) == 1:
        low, high, interval = middle.low_ns, middle.high_ns, length_interval(middle)
    else:
        low, high = known[0].value_ns, known[-1].value_ns
        interval = _range([one.value_ns for one in known])
    return Figure(middle.value_ns, length_text(middle), interval, low, high, middle.is_below)


def _range(values: Sequence[float]) -> str:
    """The range of repeated results; empty for one."""
    if len(values) == 1:
        return ""
    return range_text(format_ns(min(values)), format_ns(max(values)))
