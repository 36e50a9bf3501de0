"""A test of a stored run and its series: arrays, quantiles, intervals."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import floor, isfinite
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardstone.errors import InputError, UntrustworthyError
from hardstone.model import ParamValue, Result, Series, Unit
from hardstone.notebook.plot import Chart, chart_of
from hardstone.stats.consistency import contradiction_of, is_contradictory
from hardstone.stats.histogram import Above, above, bins_of
from hardstone.stats.identity import MAX_VALUE
from hardstone.stats.quantiles import (
    CONFIDENCE,
    Quantile,
    ShareInterval,
    exceedance,
    is_count_known,
    is_printable,
    lacking,
    misses_of,
    quantile_of_series,
    values_for,
    why_no_quantile,
)
from hardstone.systems.subjects import Amount, Missing, Subject, SubjectSeries
from hardstone.wording import format_value, one_line, shorten

_WORDS = {"min": "minimum", "max": "maximum"}
IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Exceedance:
    """`count` of the values, a share of `probability`, lie above `value`; arrays of one shape (n,).

    Exact at each value: these are the upper edges of the buckets in use.
    """

    value: IntArray
    count: IntArray
    probability: FloatArray


@dataclass(frozen=True, repr=False)
class RunSeries:
    """One series of a run, or what a study published of one. All figures are in `unit`.

    A figure that there is not is an InputError that says why: an empty series has no maximum, a
    published one no distribution. UntrustworthyError where the figures cannot be true.
    """

    _held: SubjectSeries

    @property
    def test(self) -> str:
        return self._held.test

    @property
    def name(self) -> str:
        return self._held.name

    @property
    def labels(self) -> dict[str, str]:
        """Label values as text, by label; a copy."""
        return dict(self._held.labels)

    @property
    def unit(self) -> Unit:
        """ "ns", "count" or "bytes_per_s"."""
        return self._held.unit

    @property
    def address(self) -> str:
        """TEST/label-values/series."""
        return self._held.address

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader must know of its figures: cut off, derived, contradictory."""
        return self._held.notes

    @property
    def is_published(self) -> bool:
        return self._held.series is None

    @property
    def count(self) -> int:
        """The number of values; at least that many where the file of another tool lost some."""
        if not is_count_known(self._sound):
            raise self._lacking("the file does not say how many values there were")
        return self._sound.count

    @property
    def min(self) -> float:
        return self._figure("min")

    @property
    def mean(self) -> float:
        return self._figure("mean")

    @property
    def max(self) -> float:
        """The largest value observed."""
        return self._figure("max")

    def statistics(self) -> list[str]:
        """The statistics that `amount` has a figure of."""
        return self._held.statistics()

    def amount(self, statistic: str) -> Amount | Missing:
        """A figure with its source: a value, a bound ("below 100 ns"), or why there is none."""
        return self._held.amount(statistic)

    def quantile(self, q: float, *, confidence: float = CONFIDENCE) -> Quantile:
        """The quantile `q` with its interval, as tables show it.

        `value` is None if it is beyond all buckets: then it is above `above`. `low` and `high`
        assume independent values, which those of one run are not: it is the least uncertainty.
        InputError unless ten values at least are expected beyond it, and where the file of another
        tool has no distribution.
        """
        series = self._sound
        if not (0 < q < 1 and 0 < confidence < 1):
            raise InputError(f"{q} and {confidence} do not lie between 0 and 1")
        if why := why_no_quantile(series):
            raise self._lacking(why)
        if not is_printable(q, series.count):
            raise self._too_few(q, series.count)
        found = quantile_of_series(series, q, confidence)
        if found is None:
            raise self._without("values")
        return found

    @property
    def edges(self) -> IntArray:
        """The edges of the buckets from the first to the last in use, shape (n + 1,).

        Bucket i has the values from edges[i] up to and without edges[i + 1], as in
        numpy.histogram; a stretch without values is one bucket. Empty without values.
        """
        return self._buckets[0]

    @property
    def counts(self) -> IntArray:
        """The number of values in each bucket, shape (n,). What is in none is in `underflow` and
        `overflow`."""
        return self._buckets[1]

    @property
    def underflow(self) -> int:
        """Values below 0, which are in no bucket."""
        return self._sound.histogram.underflow

    @property
    def overflow(self) -> int:
        """Values past the last bucket."""
        return self._sound.histogram.overflow

    def above(self, limit: float) -> Above:
        """How many values are above `limit`: at least `low`, at most `high`. They differ where the
        limit lies within a bucket; `high` is None where the file of another tool lost values."""
        if not isfinite(limit):
            raise InputError(f"{limit} is no limit", "name a number in the unit of the series")
        return above(self._sound, floor(limit))

    def misses(self, deadline_ns: float, *, confidence: float = CONFIDENCE) -> ShareInterval:
        """The values above a deadline and their share, with its exact interval.

        `count` is the most of them and `least_count` the least where the deadline lies within a
        bucket, and None where it does not; `low` and `high` hold for both. They assume independent
        values, which those of one run are not: it is the least uncertainty. InputError for a
        deadline that is none, a series that is no duration, and an empty one.
        """
        series = self._sound
        if series.unit != "ns":
            raise InputError(
                f"{one_line(self.address)} is not a duration and has no deadline",
                "above(limit) counts its values",
            )
        if not (isfinite(deadline_ns) and deadline_ns > 0):
            raise InputError(f"{deadline_ns} is no deadline", "name nanoseconds, above zero")
        if not 0 < confidence < 1:
            raise InputError(f"{confidence} does not lie between 0 and 1")
        if not series.count:
            raise self._without("values")
        return misses_of(series, floor(deadline_ns), confidence)

    def exceedance(self) -> Exceedance:
        """The complementary distribution function. InputError where the file of another tool has no
        distribution."""
        if why := why_no_quantile(self._sound):
            raise self._lacking(why)
        points = exceedance(self._sound.histogram)
        return Exceedance(
            _fixed(np.array([one.value for one in points], dtype=np.int64)),
            _fixed(np.array([one.count for one in points], dtype=np.int64)),
            _fixed_floats(np.array([one.probability for one in points], dtype=np.float64)),
        )

    @property
    def worst(self) -> NDArray[np.void]:
        """The largest values that were kept, descending: fields `value`, `at_ns` since the start of
        the measurement, and `index`, the number of the sample."""
        kept = [(one.value_ns, one.at_ns, one.index) for one in self._sound.worst]
        found = np.array(
            kept, dtype=[("value", np.int64), ("at_ns", np.int64), ("index", np.int64)]
        )
        found.flags.writeable = False
        return found

    @property
    def maxima_per_s(self) -> FloatArray:
        """The largest value of each interval of `maxima_interval_ns`, NaN where it had none."""
        kept = [np.nan if one is None else one for one in self._sound.maxima_per_s]
        return _fixed_floats(np.array(kept, dtype=np.float64))

    @property
    def maxima_interval_ns(self) -> int:
        """One second, or longer if that many maxima could not be kept."""
        return self._sound.maxima_interval_ns

    def plot(self, kind: str = "") -> Chart:
        """The chart of the report: "exceedance", "histogram" (the default), "time" (the largest
        value of each second) or "range". Fewer than 20 values are no distribution: their chart is
        "range", with a dot for each."""
        return chart_of([self._sound], self.address, kind)

    def __repr__(self) -> str:
        said = f"<{one_line(self.address)}"
        if self.is_published:
            return f"{said}, published: {', '.join(self.statistics())}>"
        series = self._held.series
        if series is None or is_contradictory(series):
            return f"{said}: its figures cannot be true>"
        worst = format_value(series.max, self.unit)
        values = "count not known" if not is_count_known(series) else f"{series.count} values"
        return f"{said}: {values}, max {worst}>" if series.count else f"{said}: empty>"

    @cached_property
    def _sound(self) -> Series:
        """The distribution, once its figures were found to agree."""
        if self._held.series is None:
            raise self._without("a distribution")
        problem = contradiction_of(self._held.series)
        if problem is not None:
            raise UntrustworthyError(
                f"{one_line(self.address)} cannot be true: {problem}", "measure it again"
            )
        return self._held.series

    def _figure(self, statistic: str) -> float:
        """The figure of a measured series as it was stored; of a published one unless it is a
        bound."""
        if self._held.series is not None:
            found: float | None = getattr(self._sound, statistic)
            if found is None and self._sound.count:
                raise self._lacking(f"the file has no {_WORDS.get(statistic, statistic)}")
            if found is None:
                raise self._without("values")
            return found
        amount = self._held.amount(statistic)
        if isinstance(amount, Missing):
            raise self._without(f"a {statistic}")
        if amount.value is None:
            raise InputError(
                f"{one_line(self.address)}: the {statistic} is published as a bound",
                f"amount({statistic!r}) has it",
            )
        return amount.value

    @cached_property
    def _buckets(self) -> tuple[IntArray, IntArray]:
        bins = bins_of(self._sound.histogram)
        if not bins.count.size:
            nothing = _fixed(np.array([], dtype=np.int64))
            return nothing, nothing
        edges, counts = [int(bins.lower[0])], []
        for low, high, count in zip(bins.lower, bins.upper, bins.count, strict=True):
            if low > edges[-1]:  # nothing was counted in between: one wide bucket
                edges.append(int(low))
                counts.append(0)
            edges.append(min(int(high) + 1, MAX_VALUE))
            counts.append(int(count))
        return _fixed(np.array(edges, dtype=np.int64)), _fixed(np.array(counts, dtype=np.int64))

    def _without(self, what: str) -> InputError:
        address = one_line(self.address)
        if self.is_published:
            has = ", ".join(self.statistics()) or "words"
            return InputError(f"{address} is published without {what}; it has {has}")
        return InputError(f"{address} has no {what}", "measure longer")

    def _lacking(self, why: str) -> InputError:
        remedy = "run.imported.losses has all that the file does not say"
        return InputError(f"{one_line(self.address)}: {why}", remedy)

    def _too_few(self, q: float, count: int) -> InputError:
        deepest = f"; the deepest is {1 - 10 / count:.6g}" if count > 10 else ""
        return InputError(
            f"{one_line(self.address)}: the quantile {q} {lacking(values_for(q), count)}{deepest}",
            "measure longer",
        )


def _fixed(array: IntArray) -> IntArray:
    array.flags.writeable = False
    return array


def _fixed_floats(array: FloatArray) -> FloatArray:
    array.flags.writeable = False
    return array


_MOST_NAMED = 6
_TOTAL = ("part", "total")


class Claim(NamedTuple):
    """A claim about behaviour, whether it holds, and what was observed."""

    name: str
    holds: bool
    evidence: str


@dataclass(frozen=True, repr=False)
class RunTest:
    """One test of a run under one condition, or what a study published of one."""

    id: str
    _subject: Subject
    _held: tuple[SubjectSeries, ...]
    _result: Result | None = None

    @property
    def status(self) -> str:
        """How it ended: "measured", "failed", "denied", ...; "published"."""
        return "published" if self._result is None else self._result.status

    @property
    def reason(self) -> str:
        """Why it was not measured, in words; "" if it was."""
        return "" if self._result is None else self._result.reason or ""

    @property
    def conditions(self) -> dict[str, str]:
        """What its figures depend on, as far as it is known."""
        return dict(self._subject.conditions)

    @property
    def params(self) -> dict[str, ParamValue]:
        """The parameters that were asked for; a copy."""
        return {} if self._result is None else copy.deepcopy(self._result.params)

    @property
    def claims(self) -> list[Claim]:
        """Its verdicts; often none."""
        found = self._subject.verdicts(self.id) if self._result is None else self._result.verdicts
        if isinstance(found, Missing):
            return []
        return [Claim(one.name, one.passed, one.evidence) for one in found]

    @property
    def all_series(self) -> list[RunSeries]:
        """All its series, in the order in which it recorded them."""
        return [RunSeries(one) for one in self._held]

    def series(self, name: str | None = None, /, *values: object, **labels: object) -> RunSeries:
        """The one series of that name whose labels have these values.

        `series("switch", threads=128)` and, without the name of the label, `series("switch", 128)`.
        Of a latency in parts the total is meant unless a part is named. The name may be left out
        where there is one only. InputError, with those there are, for none and for several.
        """
        if not self._held:
            why = f"{self.status}: {one_line(self.reason)}" if self.reason else self.status
            raise InputError(f"{self.id} has no series ({why})")
        found = [one for one in self._held if name is None or one.name == name]
        if not found:
            raise InputError(f"{self.id} has no series '{shorten(str(name))}'", self._names())
        wanted = [str(one) for one in values]
        chosen = [one for one in found if _is_labelled(one, wanted, labels)]
        if len(chosen) > 1 and "part" not in labels:
            chosen = [one for one in chosen if _TOTAL in one.labels.items()] or chosen
        if not chosen:
            said = [*wanted, *(f"{key}={value}" for key, value in labels.items())]
            raise InputError(
                f"{self.id} has no series '{name or ''}' with {shorten(', '.join(said))}",
                f"there are {_addresses(found)}",
            )
        if len(chosen) > 1:
            raise InputError(
                f"{len(chosen)} series of {self.id} match: {_addresses(chosen)}",
                "name the labels that tell them apart: series(NAME, LABEL=VALUE)",
            )
        return RunSeries(chosen[0])

    def plot(self, kind: str = "", /, name: str | None = None) -> Chart:
        """The chart of several series in one: those of `name`, or of the first that has values,
        such as one for each CPU. `kind` as for a series."""
        found = [one.series for one in self._held if one.series is not None and one.series.count]
        found = [one for one in found if name is None or one.name == name]
        if not found:
            raise InputError(f"{self.id} has no values to draw", self._names())
        first = [one for one in found if (one.name, one.unit) == (found[0].name, found[0].unit)]
        for one in first:
            problem = contradiction_of(one)
            if problem is not None:
                raise UntrustworthyError(f"{self.id} cannot be true: {problem}", "measure it again")
        return chart_of(first, self.id, kind)

    def __repr__(self) -> str:
        names = dict.fromkeys(one_line(one.name) for one in self._held)
        return f"<{one_line(self.id)}: {self.status}; series {', '.join(names) or 'none'}>"

    def _names(self) -> str:
        names = dict.fromkeys(shorten(one.name) for one in self._held)
        return f"it has {', '.join(list(names)[:_MOST_NAMED])}"


def _is_labelled(one: SubjectSeries, values: Sequence[str], labels: dict[str, object]) -> bool:
    unnamed = {f"#{place}": value for place, value in enumerate(one.parts)}
    has = {**one.labels, **unnamed}
    if any(has.pop(key, None) != str(value) for key, value in labels.items()):
        return False
    rest = list(has.values())
    for value in values:
        if value not in rest:
            return False
        rest.remove(value)
    return True


def _addresses(found: Sequence[SubjectSeries]) -> str:
    """The first few, with their labels by name."""
    named = []
    for one in found[:_MOST_NAMED]:
        labels = [f"{key}={value}" for key, value in one.labels.items()]
        named.append(shorten(", ".join([one.name, *labels, *one.parts]), 100))
    more = f" and {len(found) - _MOST_NAMED} more" if len(found) > _MOST_NAMED else ""
    return "; ".join(named) + more
