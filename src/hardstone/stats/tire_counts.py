"""The figures of one variant of the tire, from its series and its event `simulation`.

Where two sources of one count contradict each other, the larger count of missed steps holds.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from hardstone.errors import InputError
from hardstone.model import DataValue, Series
from hardstone.stats.quantiles import is_printable, quantile
from hardstone.stats.tire_names import LATENESS, MISSED, NAME_CHARACTERS

_MOST_COUNT = 2**53


class Deadlines(msgspec.Struct, kw_only=True, frozen=True):
    """Steps of SIM-S-RT: `missed_count` of `released_count` were late or not finished.

    `lateness_max_ns` is that of the steps whose end is known. None: not known, or it does not
    exist. `first_missed_count` counts from 1.
    """

    released_count: int | None
    missed_count: int | None
    first_missed_count: int | None
    lateness_max_ns: int | None


class StepTime(msgspec.Struct, kw_only=True, frozen=True):
    """From the begin of a step's first thread to the end of its last one.

    `p99_ns` is given where at least 10 values lie beyond it.
    """

    count: int
    mean_ns: float
    p99_ns: int | None
    max_ns: int


class Total(msgspec.Struct, kw_only=True, frozen=True):
    """The time of a whole simulation of SIM-P-RF, over its repeats."""

    repeats_count: int
    mean_ns: float
    min_ns: int
    max_ns: int


class Work(msgspec.Struct, kw_only=True, frozen=True):
    """What all threads of a variant did together. None: not known."""

    steps_count: int | None = None
    cpu_ns: int | None = None
    voluntary_count: int | None = None
    involuntary_count: int | None = None
    operations_count: int | None = None
    blocked_count: int | None = None
    cpus_count: int | None = None
    code: str | None = None


class Counts:
    """The counts of one variant, from its event and its series."""

    def __init__(self, series: Mapping[str, Series], data: Mapping[str, DataValue]) -> None:
        self._series, self._data = series, data
        self.problems: list[str] = []
        self._released = self._get("released_count")
        self._missed = self._largest_missed()

    def deadlines(self) -> Deadlines:
        """Its released, missed and late steps."""
        late = self._series.get(LATENESS)
        first = self._get("first_missed_count")
        return Deadlines(
            released_count=self._released,
            missed_count=self._missed,
            first_missed_count=first if self._missed and first else None,
            lateness_max_ns=late.max if late and late.max is not None and late.max >= 0 else None,
        )

    def work(self) -> Work:
        """What its threads did, without counts that contradict each other."""
        operations = self._get("semaphore_operations_count")
        blocked = self._get("semaphore_blocked_count")
        if operations is not None and blocked is not None and blocked > operations:
            self._odd(f"{blocked} of {operations} semaphore operations blocked")
            operations = blocked = None
        code = self._data.get("code")
        return Work(
            steps_count=self._get("steps_count"),
            cpu_ns=self._get("cpu_ns"),
            voluntary_count=self._get("voluntary_count"),
            involuntary_count=self._get("involuntary_count"),
            operations_count=operations,
            blocked_count=blocked,
            cpus_count=self._get("cpus_count"),
            code=code[:NAME_CHARACTERS] if isinstance(code, str) else None,
        )

    def _largest_missed(self) -> int | None:
        """The largest of all counts of missed steps, so that a contradiction never flatters."""
        series, late = self._series.get(MISSED), self._series.get(LATENESS)
        said = {
            "its event": self._get("missed_count"),
            "its series": _sum_of(series) if series else None,
        }
        known = {name: one for name, one in said.items() if one is not None}
        if len(set(known.values())) > 1:
            self._odd("missed steps: " + ", ".join(f"{n} by {who}" for who, n in known.items()))
        if late and late.count > max(known.values(), default=0):
            self._odd(f"{late.count} late steps, but fewer were counted as missed")
            known["its lateness"] = late.count
        missed = max(known.values(), default=None)
        if missed is not None and self._released is not None and missed > self._released:
            self._odd(f"{missed} missed steps of {self._released} released")
            self._released = None
        return missed

    def _get(self, name: str) -> int | None:
        if name not in self._data:
            return None
        value = count_of(self._data[name])
        if value is None:
            self._odd(f"{name} is no count")
        return value

    def _odd(self, text: str) -> None:
        if text not in self.problems:
            self.problems.append(text)


def step_time_of(series: Series | None) -> StepTime | None:
    """None without values, and where they cannot be durations."""
    if series is None or not _has_durations(series):
        return None
    return StepTime(
        count=series.count,
        mean_ns=series.mean or 0.0,
        p99_ns=_p99(series),
        max_ns=series.max or 0,
    )


def total_of(series: Series | None) -> Total | None:
    """None without values, and where they cannot be durations."""
    if series is None or not _has_durations(series) or not series.mean:
        return None
    return Total(
        repeats_count=series.count,
        mean_ns=series.mean,
        min_ns=series.min or 0,
        max_ns=series.max or 0,
    )


def _has_durations(series: Series) -> bool:
    low, mean, high = series.min, series.mean, series.max
    if series.count <= 0 or low is None or mean is None or high is None:
        return False
    return 0 <= low <= mean * (1 + 1e-9) and mean <= high * (1 + 1e-9)


def _p99(series: Series) -> int | None:
    if not is_printable(0.99, series.count):
        return None
    try:
        found = quantile(series.histogram, 0.99)
    except InputError:  # the histogram is damaged; the top of a report says so
        return None
    if found is None or found.value is None or series.max is None:
        return None
    return min(found.value, series.max)


def _sum_of(series: Series) -> int | None:
    """The sum of all values; of a measurement that was resumed each part has one."""
    if series.count <= 0 or series.mean is None or series.min is None or series.min < 0:
        return None
    total = series.mean * series.count
    return round(total) if 0 <= total < _MOST_COUNT else None


def count_of(value: DataValue) -> int | None:
    """A count that can be; None for everything else."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MOST_COUNT:
        return value
    return None
