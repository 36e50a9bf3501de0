"""The medians of the series of one row, each histogram read once: 20 runs have 8000 series."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from hardstone.errors import InputError
from hardstone.present.compare_grey import is_sound
from hardstone.stats.quantiles import is_printable
from hardstone.stats.summary import NEAR_LIMIT_RATIO, median_limit
from hardstone.stats.two_runs import (
    QuantileEnds,
    QuantileRatio,
    compare_quantile,
    quantile_ends,
)
from hardstone.systems.subjects import Amount, Held, MeasuredSeries, Missing

MEDIAN = "p50"
_HALF = 0.5


@dataclass(frozen=True)
class Medians:
    """Medians by place among `found`. An unreadable histogram has none: its series is marked as
    contradictory."""

    found: Sequence[Held | None]
    _known: dict[int, QuantileEnds | None] = field(default_factory=dict)

    def figure(self, place: int) -> Amount | Missing:
        """As `Held.amount` gives it."""
        held = self.found[place]
        ends = self._ends(place)
        if held is None:
            return Missing("no values")
        is_shown = held.series is not None and is_printable(_HALF, held.series.count)
        if ends is None or ends.value is None or not is_shown:
            return held.amount(MEDIAN)
        if not isinstance(held, MeasuredSeries):
            return held.amount(MEDIAN)
        source = f"{held.run_id} {held.address} {MEDIAN}"
        return Amount(held.unit, MEDIAN, source, value=float(ends.value))

    def ratio(self, place: int, reference: int) -> QuantileRatio | None:
        """The median at `place` divided by that of the reference."""
        pair = self.found[reference], self.found[place]
        series = [one.series if one is not None else None for one in pair]
        ends = self._ends(reference), self._ends(place)
        if series[0] is None or series[1] is None or ends[0] is None or ends[1] is None:
            return None
        return compare_quantile(series[0], series[1], _HALF, ends=(ends[0], ends[1]))

    def limit(self, place: int) -> str | None:
        """That a series is close to the cost of reading the clock. The least value of most is far
        from it, which tells without the median."""
        held = self.found[place]
        if held is None or held.series is None or held.result is None or not is_sound(held):
            return None
        series, instrument = held.series, held.result.instrument
        if instrument is None or series.min is None or series.unit != "ns" or series.derived:
            return None
        if series.min >= NEAR_LIMIT_RATIO * instrument.pair.median:
            return None
        ends = self._ends(place)
        return median_limit(ends.value if ends else None, instrument)

    def _ends(self, place: int) -> QuantileEnds | None:
        if place not in self._known:
            self._known[place] = self._read(place)
        return self._known[place]

    def _read(self, place: int) -> QuantileEnds | None:
        held = self.found[place]
        if held is None or held.series is None:
            return None
        try:
            return quantile_ends(held.series, _HALF, quantum=self._quantum)
        except InputError:
            return None

    @cached_property
    def _quantum(self) -> float:
        """The coarsest step of the clocks that timed the row, in ns; 0 where nothing was timed."""
        results = [one.result for one in self.found if one is not None and one.unit == "ns"]
        known = [one.instrument for one in results if one is not None and one.instrument]
        return max((max(one.quantum_ns, 0.0) for one in known), default=0.0)
