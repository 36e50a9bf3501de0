"""The series of several systems as rows: average, worst, ratio to the reference, marks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from hardstone.present.compare_grey import (
    Pair,
    StandIn,
    UnlikeResults,
    is_sound,
    why_alone_grey,
    why_grey,
    why_worst_grey,
    with_stand_ins,
)
from hardstone.present.compare_medians import MEDIAN, Medians
from hardstone.present.compare_view import ComparedCell, ComparedRow, SystemColumn
from hardstone.present.wording import is_rate, label_text, shorten, spoken
from hardstone.stats.contradictions import MARK
from hardstone.stats.two_runs import QuantileRatio
from hardstone.systems.subjects import Amount, FigureRow, Held, MeasuredRun, Missing
from hardstone.units import whole_number

TICK = ("CLK-P-DUR", "tick")
EQUALS_TICK = "equals the tick"
TICK_TOLERANCE = 0.2
CONTRADICTS = f"{MARK} cannot be true"
AT_LIMIT = "at the instrument's limit"
_LEAST_IS_ALL = "minimal_period"
_LABEL_CHARACTERS = 80


@dataclass(frozen=True)
class Systems:
    """What a row is set against: the systems, and the longest tick of each in ns where known.
    `unlike` is what was found of their results so far."""

    columns: Sequence[SystemColumn]
    reference: int
    ticks: Sequence[float | None]
    unlike: UnlikeResults = field(default_factory=UnlikeResults)


def systems_of(columns: Sequence[SystemColumn], reference: int) -> Systems:
    return Systems(columns, reference, [_longest_tick(one) for one in columns])


def _longest_tick(column: SystemColumn) -> float | None:
    for one in column.subject.held():
        if (one.test, one.name) == TICK:
            longest = one.amount("max")
            return longest.value if isinstance(longest, Amount) else None
    return None


def compared_rows(found: Sequence[FigureRow], systems: Systems) -> list[ComparedRow]:
    """Every series of any system, in the order in which they have them."""
    return [compared_row(one, systems) for one in found]


def compared_row(found: FigureRow, systems: Systems, label: str = "") -> ComparedRow:
    """One row. `label`: what it is called instead of by its series and labels."""
    row, stand_ins = with_stand_ins(found, [one.subject for one in systems.columns])
    worst, more = _worst_statistic(found.first), _more(row)
    builder = _Cells(row, systems, stand_ins, worst, more, Medians(row.found))
    return ComparedRow(
        address=found.address,
        label=label or row_label(found),
        unit=found.first.unit,
        cells=[builder.cell(place) for place in range(len(row.found))],
        more=more,
    )


def row_label(row: FigureRow) -> str:
    """The series and the labels that the systems share: "switch, threads 128"."""
    first, kept = row.first, dict(row.key[2])
    labels = [
        label_text(name, value if (number := whole_number(value)) is None else number)
        for name, value in first.labels.items()
        if name in kept
    ]
    return shorten(", ".join([spoken(first.name), *labels, *first.parts]), _LABEL_CHARACTERS)


def _worst_statistic(one: Held) -> str:
    return "min" if is_rate(one.unit) or one.name == _LEAST_IS_ALL else "max"


def _more(row: FigureRow) -> tuple[str, ...]:
    """The median where two distributions are compared; what studies published beyond mean and
    worst."""
    shown = {"mean", _worst_statistic(row.first)}
    held = [one for one in row.found if one is not None]
    median = [MEDIAN] if sum(one.series is not None for one in held) > 1 else []
    published = [name for one in held if one.series is None for name in one.statistics()]
    return tuple(one for one in dict.fromkeys([*median, *published]) if one not in shown)


@dataclass(frozen=True)
class _Cells:
    """The cells of one row."""

    row: FigureRow
    systems: Systems
    stand_ins: Mapping[int, StandIn]
    worst: str
    more: tuple[str, ...]
    medians: Medians

    def cell(self, place: int) -> ComparedCell:
        """The figures of the system at `place`, and why they may not be compared."""
        held, column = self.row.found[place], self.systems.columns[place]
        if held is None:
            return self._without(column)
        mean, worst = held.amount("mean"), held.amount(self.worst)
        why = column.apart or why_alone_grey(held) or self._why(place, held)
        against = self.row.found[self.systems.reference]
        return ComparedCell(
            mean=mean,
            worst=worst,
            held=held,
            is_grey=bool(why),
            why=why,
            marks=self._marks(place, held, mean, worst),
            notes=self._notes(place, held),
            ratio=None if why else self._ratio(place, held),
            predictability=_predictability(held, mean, worst),
            worst_why="" if why or against is None else self._why_worst(held, against),
            more=tuple(self._figure(place, held, name) for name in self.more),
        )

    def _without(self, column: SystemColumn) -> ComparedCell:
        missing = missing_of(column, self.row.key[0])
        return ComparedCell(missing, missing, more=(missing,) * len(self.more))

    def _why(self, place: int, held: Held) -> str:
        """Beside the reference, or where that has no figure, beside the first that has one."""
        reference = self.systems.reference
        if self.row.found[reference] is not None:
            return self._why_beside(place, held, reference)
        stand_in = self.stand_ins.get(place)
        if stand_in:  # nothing that the others have
            return f"{stand_in.what}, not from a device"
        first = self._first()
        number = self.systems.columns[first].number
        return self._why_beside(place, held, first).replace("the reference", f"system {number}")

    def _first(self) -> int:
        """The first system whose figure may stand beside others."""
        there = [
            (place, one)
            for place, one in enumerate(self.row.found)
            if one is not None and place not in self.stand_ins
        ]
        sound = [
            (place, one)
            for place, one in there
            if not self.systems.columns[place].apart and not why_alone_grey(one)
        ]
        return (sound or there)[0][0]

    def _why_beside(self, place: int, held: Held, other: int) -> str:
        against = self.row.found[other]
        if against is None or against is held:
            return ""
        ours, theirs = self.stand_ins.get(place), self.stand_ins.get(other)
        pair = Pair(
            held,
            against,
            ours.what if ours else "",
            theirs.what if theirs else "",
            self.systems.columns[place].subject,
            self.systems.columns[other].subject,
        )
        return why_grey(pair, self.systems.unlike)

    def _why_worst(self, held: Held, against: Held) -> str:
        return "" if held.name == _LEAST_IS_ALL else why_worst_grey(held, against)

    def _ratio(self, place: int, held: Held) -> QuantileRatio | None:
        """Of the medians, where the reference's own figure may be compared too."""
        reference = self.systems.reference
        against = self.row.found[reference]
        if against is None or against is held or against.series is None or held.series is None:
            return None
        is_refused = self.systems.columns[reference].apart or why_alone_grey(against)
        if is_refused or not has_ratio(held):
            return None
        return self.medians.ratio(place, reference)

    def _figure(self, place: int, held: Held, statistic: str) -> Amount | Missing:
        return self.medians.figure(place) if statistic == MEDIAN else held.amount(statistic)

    def _marks(
        self, place: int, held: Held, mean: Amount | Missing, worst: Amount | Missing
    ) -> tuple[str, ...]:
        marks = []
        if not is_sound(held):
            marks.append(CONTRADICTS)
        is_timed = held.unit == "ns" and not held.test.startswith("CLK-")
        if is_timed and equals_tick(mean, worst, self.systems.ticks[place]):
            marks.append(EQUALS_TICK)
        return tuple(marks)

    def _notes(self, place: int, held: Held) -> tuple[str, ...]:
        stand_in = self.stand_ins.get(place)
        own = self.row.notes[place]
        limit = self.medians.limit(place)
        first = [stand_in.what] if stand_in else []
        return tuple(dict.fromkeys([*first, *own, *held.notes, *([limit] if limit else [])]))


def has_ratio(held: Held) -> bool:
    """Whether medians of such series are divided: not of counts, nor of a single least value."""
    return held.unit != "count" and held.name != _LEAST_IS_ALL


def equals_tick(mean: Amount | Missing, worst: Amount | Missing, tick_ns: float | None) -> bool:
    """Whether a worst value exceeds its mean by as much as the longest tick, within 20 % of it: a
    tick within the call may explain it [D]. A mean that is only bounded counts as 0."""
    if tick_ns is None or tick_ns <= 0 or not isinstance(worst, Amount) or worst.value is None:
        return False
    usual = mean.lowest if isinstance(mean, Amount) else 0.0
    return abs(worst.value - usual - tick_ns) <= TICK_TOLERANCE * tick_ns


def _predictability(held: Held, mean: Amount | Missing, worst: Amount | Missing) -> float | None:
    """How many times the mean the worst is [O]; None where either is not known, or no duration."""
    known = [one.value if isinstance(one, Amount) else None for one in (mean, worst)]
    usual, extreme = known
    if held.unit == "count" or held.name == _LEAST_IS_ALL or usual is None or extreme is None:
        return None
    if usual <= 0 or extreme <= 0:
        return None
    return usual / extreme if is_rate(held.unit) else extreme / usual


def missing_of(column: SystemColumn, test: str) -> Missing:
    """Why a system has no figure of a series of `test`."""
    subject = column.subject
    if not isinstance(subject, MeasuredRun):
        return Missing("not published")
    found = [one for one in subject.results if one.test == test]
    if not found:
        return Missing("not run", f"hardstone run {test}")
    state = state_of(found[0].status, found[0].reason)
    return Missing("no values" if state == "measured" else state)


def state_of(status: str, reason: str | None) -> str:
    """ "measured", or why not: "denied: no right to ..."."""
    return f"{status}: {shorten(reason, 120)}" if reason and status != "measured" else status
