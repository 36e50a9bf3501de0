"""The rows of a comparison: each test with the figure of each system, and which of them decide."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from hardstone.catalogue import load_catalogue
from hardstone.comparison.grey import (
    DifferingResults,
    Pair,
    StandIn,
    is_sound,
    why_alone_grey,
    why_grey,
    why_worst_grey,
    with_stand_ins,
)
from hardstone.comparison.sizes import SizeSeries, size_label
from hardstone.comparison.tools import (
    WAKEUP,
    Questions,
    figure_row,
    has_imported,
    imported_of,
    remarks_on,
    tool_name,
    why_no_ratio,
)
from hardstone.comparison.view import (
    ClaimCell,
    ClaimRow,
    ComparedCell,
    ComparedRow,
    ComparedTest,
    SystemColumn,
)
from hardstone.errors import InputError
from hardstone.model import Descriptor, Verdict
from hardstone.stats.consistency import MARK
from hardstone.stats.quantiles import NEAR_LIMIT_RATIO, is_printable, median_limit
from hardstone.stats.sustained import SUSTAINED
from hardstone.stats.trust import MISSING, lacks
from hardstone.stats.two_runs import QuantileEnds, QuantileRatio, compare_quantile, quantile_ends
from hardstone.systems.published import figures_of, load_studies
from hardstone.systems.subjects import (
    Amount,
    FigureRow,
    Key,
    MeasuredRun,
    MeasuredSeries,
    Missing,
    Subject,
    SubjectSeries,
    amount_of,
)
from hardstone.units import whole_number
from hardstone.wording import Claim, claim_of, format_value, is_rate, label_text, shorten, spoken

MEDIAN = "p50"
_HALF = 0.5


@dataclass(frozen=True)
class Medians:
    """Medians by place among `found`. An unreadable histogram has none: its series is marked as
    contradictory."""

    found: Sequence[SubjectSeries | None]
    _known: dict[int, QuantileEnds | None] = field(default_factory=dict)

    def figure(self, place: int) -> Amount | Missing:
        """As `SubjectSeries.amount` gives it."""
        own = self.found[place]
        ends = self._ends(place)
        if own is None:
            return Missing("no values")
        is_shown = own.series is not None and is_printable(_HALF, own.series.count)
        if ends is None or ends.value is None or not is_shown:
            return own.amount(MEDIAN)
        if not isinstance(own, MeasuredSeries):
            return own.amount(MEDIAN)
        source = f"{own.run_id} {own.address} {MEDIAN}"
        return Amount(own.unit, MEDIAN, source, value=float(ends.value), quantum_ns=own.quantum_ns)

    def ratio(self, place: int, reference: int) -> QuantileRatio | None:
        """The median at `place` divided by that of the reference."""
        pair = self.found[reference], self.found[place]
        series = [one.series if one is not None else None for one in pair]
        ends = self._ends(reference), self._ends(place)
        if series[0] is None or series[1] is None or ends[0] is None or ends[1] is None:
            return None
        return compare_quantile(series[0], series[1], _HALF, ends=(ends[0], ends[1]))

    def limit(self, place: int) -> str | None:
        """That a series is close to the cost of reading the clock. The least value of most series
        is far from it, so that they need no median."""
        own = self.found[place]
        if own is None or own.series is None or own.result is None or not is_sound(own):
            return None
        series, instrument = own.series, own.result.instrument
        if instrument is None or series.min is None or series.unit != "ns" or series.derived:
            return None
        if series.min >= NEAR_LIMIT_RATIO * max(instrument.pair.median, instrument.quantum_ns):
            return None
        ends = self._ends(place)
        return median_limit(ends.value if ends else None, instrument)

    def _ends(self, place: int) -> QuantileEnds | None:
        own = self.found[place]
        if own is None or own.series is None:
            return None
        if place not in self._known:
            try:
                ends = quantile_ends(own.series, _HALF, quantum=self._quantum)
            except InputError:
                ends = None
            self._known[place] = ends
        return self._known[place]

    @cached_property
    def _quantum(self) -> float:
        """The coarsest step of the clocks that timed the row, in ns; 0 where nothing was timed."""
        results = [one.result for one in self.found if one is not None and one.unit == "ns"]
        known = [one.instrument for one in results if one is not None and one.instrument]
        return max((max(one.quantum_ns, 0.0) for one in known), default=0.0)


_KIND = "kind"
_TICK = ("CLK-P-DUR", "tick")
EQUALS_TICK = "equals the tick"
_TICK_TOLERANCE = 0.2
CONTRADICTS = f"{MARK} cannot be true"
_LEAST_IS_ALL = "minimal_period"
_LABEL_CHARACTERS = 80


@dataclass(frozen=True)
class Systems:
    """What a row is compared with. `differing` is what was found of their results so far."""

    columns: Sequence[SystemColumn]
    reference: int
    differing: DifferingResults = field(default_factory=DifferingResults)

    @cached_property
    def is_mixed(self) -> bool:
        """Whether another tool than hardstone measured any of them."""
        return has_imported(self.columns)

    @cached_property
    def ticks(self) -> list[float | None]:
        """The longest tick of each system in ns, where it is known."""
        found = []
        for column in self.columns:
            series = column.subject.held()
            tick = next((one for one in series if (one.test, one.name) == _TICK), None)
            longest = tick.amount("max") if tick else None
            found.append(longest.value if isinstance(longest, Amount) else None)
        return found


def compared_rows(
    found: Sequence[FigureRow], systems: Systems, decisive: Collection[str] = ()
) -> list[ComparedRow]:
    """Every series of any system, in the order in which they have them. `decisive`: addresses of
    the rows of the summary."""
    return [_compared_row(one, systems, decisive=one.address in decisive) for one in found]


def _compared_row(
    found: FigureRow,
    systems: Systems,
    label: str = "",
    *,
    decisive: bool = False,
    question: str = "",
) -> ComparedRow:
    """One row. `label` replaces its series and labels; then its address is that of its key."""
    row, stand_ins = with_stand_ins(found, [one.subject for one in systems.columns])
    worst, more = _worst_statistic(found.first), _more(row)
    builder = _Cells(row, systems, stand_ins, worst, more, Medians(row.found))
    return ComparedRow(
        address=_address_of(found.key) if label else found.address,
        label=label or _row_label(found),
        unit=found.first.unit,
        cells=[builder.cell(place) for place in range(len(row.found))],
        more=more,
        decisive=decisive,
        question=question,
    )


def _address_of(key: Key) -> str:
    test, name, labels = key
    return "/".join([test, *(value for _, value in labels), name])


def _row_label(row: FigureRow) -> str:
    """The series and the labels that the systems share: "switch, threads 128"."""
    first, kept = row.first, dict(row.key[2])
    if isinstance(first, SizeSeries):
        return size_label(first)
    labels = [
        label_text(name, value if (number := whole_number(value)) is None else number)
        for name, value in first.labels.items()
        if name in kept
    ]
    return shorten(", ".join([spoken(first.name), *labels, *first.parts]), _LABEL_CHARACTERS)


def _worst_statistic(one: SubjectSeries) -> str:
    if isinstance(one, SizeSeries):
        return one.name
    return "min" if is_rate(one.unit) or one.name == _LEAST_IS_ALL else "max"


def _more(row: FigureRow) -> tuple[str, ...]:
    """The median where two distributions are compared; what studies published beyond mean and
    worst."""
    shown = {"mean", _worst_statistic(row.first)}
    known = [one for one in row.found if one is not None]
    median = [MEDIAN] if sum(one.series is not None for one in known) > 1 else []
    published = [name for one in known if one.series is None for name in one.statistics()]
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
        own, column = self.row.found[place], self.systems.columns[place]
        if own is None:
            return self._without(column)
        mean, worst = own.amount("mean"), own.amount(self.worst)
        why = column.apart or why_alone_grey(own) or self._why(place, own)
        against = self.row.found[self.systems.reference]
        worst_why = ""
        has_worst = isinstance(worst, Amount) and own.name != _LEAST_IS_ALL
        if not why and against is not None and has_worst:
            worst_why = self._why_lacking(place) or why_worst_grey(own, against)
        return ComparedCell(
            mean=mean,
            worst=worst,
            subject_series=own,
            is_grey=bool(why),
            why=why,
            marks=self._marks(place, own, mean, worst),
            notes=self._notes(place, own, is_grey=bool(why)),
            ratio=None if why else self._ratio(place, own),
            predictability=_predictability(own, mean, worst),
            worst_why=worst_why,
            more={
                name: self.medians.figure(place) if name == MEDIAN else own.amount(name)
                for name in self.more
            },
            worst_name=self.worst,
        )

    def _why_lacking(self, place: int) -> str:
        """Why the worst of a system, or of the reference, may be another one."""
        for whose, at in (("", place), ("of the reference ", self.systems.reference)):
            subject = self.systems.columns[at].subject
            if isinstance(subject, MeasuredRun) and lacks(subject.document, "values"):
                return f"{whose}{MISSING}: one of them may be larger"
        return ""

    def _without(self, column: SystemColumn) -> ComparedCell:
        missing = _missing_of(column, self.row, is_mixed=self.systems.is_mixed)
        more = dict.fromkeys(self.more, missing)
        return ComparedCell(missing, missing, more=more, worst_name=self.worst)

    def _why(self, place: int, own: SubjectSeries) -> str:
        """Compared with the reference, or where that has no figure, with the first that has one."""
        reference = self.systems.reference
        if self.row.found[reference] is not None:
            return self._why_against(place, own, reference)
        stand_in = self.stand_ins.get(place)
        if stand_in:
            return f"{stand_in.what}, not from a device"
        first = self._first()
        number = self.systems.columns[first].number
        return self._why_against(place, own, first).replace("the reference", f"system {number}")

    def _first(self) -> int:
        """The first system whose figure may be compared with others."""
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

    def _why_against(self, place: int, own: SubjectSeries, other: int) -> str:
        against = self.row.found[other]
        if against is None or against is own:
            return ""
        ours, theirs = self.stand_ins.get(place), self.stand_ins.get(other)
        pair = Pair(
            own,
            against,
            ours.what if ours else "",
            theirs.what if theirs else "",
            self.systems.columns[place].subject,
            self.systems.columns[other].subject,
        )
        return why_grey(pair, self.systems.differing)

    def _ratio(self, place: int, own: SubjectSeries) -> QuantileRatio | None:
        """The ratio of the medians, where the reference's own figure may be compared too."""
        reference = self.systems.reference
        against = self.row.found[reference]
        if against is None or against is own or against.series is None or own.series is None:
            return None
        is_refused = self.systems.columns[reference].apart or why_alone_grey(against)
        if is_refused or not has_ratio(own) or why_no_ratio(own.series, against.series):
            return None
        return self.medians.ratio(place, reference)

    def _marks(
        self, place: int, own: SubjectSeries, mean: Amount | Missing, worst: Amount | Missing
    ) -> tuple[str, ...]:
        marks = [] if is_sound(own) else [CONTRADICTS]
        is_timed = own.unit == "ns" and not own.test.startswith("CLK-")
        if is_timed and equals_tick(mean, worst, self.systems.ticks[place]):
            marks.append(EQUALS_TICK)
        return tuple(marks)

    def _notes(self, place: int, own: SubjectSeries, *, is_grey: bool) -> tuple[str, ...]:
        stand_in = self.stand_ins.get(place)
        limit = self.medians.limit(place)
        against = self.row.found[self.systems.reference]
        series = own.series, against.series if against is not None else None
        refused = ""
        if series[0] is not None and series[1] is not None and own is not against and not is_grey:
            refused = why_no_ratio(series[0], series[1])
        notes = [
            *remarks_on(own, self.systems.columns[place].subject),
            *([refused] if refused else []),
            *([stand_in.what] if stand_in else []),
            *self.row.notes[place],
            *own.notes,
            *([limit] if limit else []),
        ]
        return tuple(dict.fromkeys(notes))


def has_ratio(series: SubjectSeries) -> bool:
    """Whether medians of such series are divided: not of counts, nor of a single least value."""
    return series.unit != "count" and series.name != _LEAST_IS_ALL


def equals_tick(mean: Amount | Missing, worst: Amount | Missing, tick_ns: float | None) -> bool:
    """Whether a worst value exceeds its mean by as much as the longest tick, within 20 % of it: a
    tick within the call may explain it [D]. A mean that is only bounded counts as 0."""
    if tick_ns is None or tick_ns <= 0 or not isinstance(worst, Amount) or worst.value is None:
        return False
    usual = mean.lowest if isinstance(mean, Amount) else 0.0
    return abs(worst.value - usual - tick_ns) <= _TICK_TOLERANCE * tick_ns


def _predictability(
    series: SubjectSeries, mean: Amount | Missing, worst: Amount | Missing
) -> float | None:
    """The worst over the mean [O]; None where either is not known, or is no duration."""
    known = [one.value if isinstance(one, Amount) else None for one in (mean, worst)]
    usual, extreme = known
    if series.unit == "count" or series.name == _LEAST_IS_ALL or usual is None or extreme is None:
        return None
    if usual <= 0 or extreme <= 0:
        return None
    return usual / extreme if is_rate(series.unit) else extreme / usual


def _not_published(subject: Subject, row: FigureRow) -> str:
    """Where the study has the series of another kind only, such as the hand-over by a mutex that
    stands in no row of semaphores, that is the reason."""
    kind = dict(row.key[2]).get(_KIND)
    others = [
        one.labels[_KIND]
        for one in subject.held()
        if (one.test, one.name) == (row.test, row.first.name) and _KIND in one.labels
    ]
    if kind is None or not others or kind in others:
        return "not published"
    return f"published of {', '.join(dict.fromkeys(others))} only"


def _missing_of(column: SystemColumn, row: FigureRow, *, is_mixed: bool) -> Missing:
    """Why a system has no figure in `row`. `is_mixed`: several tools are compared."""
    subject = column.subject
    if not isinstance(subject, MeasuredRun):
        return Missing(_not_published(subject, row))
    if is_mixed and _is_of_other_cpus(subject, row):
        return Missing("of other CPUs only")
    if imported_of(subject) is not None:
        return Missing(f"not measured by {tool_name(subject)}")
    return _not_run(subject, row.test)


def _is_of_other_cpus(subject: MeasuredRun, row: FigureRow) -> bool:
    """Whether a run has the series of a row with another CPU, or without one."""
    _, _, labels = row.key
    kept = [(name, value) for name, value in labels if name != "cpu"]
    found = subject.held_of(row.test, row.first.name)
    return any(all(one.labels.get(name) == value for name, value in kept) for one in found)


def _not_run(subject: MeasuredRun, test: str) -> Missing:
    """Why a run has no figure of a series of `test`."""
    found = [one for one in subject.results if one.test == test]
    if not found:
        return Missing("not run", f"hardstone run {test}")
    state = _state_of(found[0].status, found[0].reason)
    return Missing("no values" if state == "measured" else state)


def _state_of(status: str, reason: str | None) -> str:
    """ "measured", or why not: "denied: no right to ..."."""
    return f"{status}: {shorten(reason, 120)}" if reason and status != "measured" else status


_MOST_CLAIMS = 60  # of one test
AS_A_WHOLE = "as a whole"
_WHOLE_CLAIM = "all claims that count for a rating hold; of a study, what it says"
_HOLDS, _FAILS = "holds", "fails"


def compared_tests(
    columns: Sequence[SystemColumn], rows: Sequence[ComparedRow]
) -> list[ComparedTest]:
    """Each test that any system has, in the order of the battery."""
    by_test: dict[str, list[ComparedRow]] = {}
    for row in rows:
        by_test.setdefault(row.address.partition("/")[0], []).append(row)
    specs: dict[str, Descriptor] = {}  # as the probe of the first run declared them
    for column in columns:
        if isinstance(column.subject, MeasuredRun):
            for spec in column.subject.document.descriptors:
                specs.setdefault(spec.id, spec)
    names = {test: None for column in columns for test in column.subject.tests()}
    catalogue = load_catalogue()
    ordered = sorted(
        {**names, **dict.fromkeys(by_test)}, key=lambda one: catalogue.entry(one).order
    )
    return [_compared_test(one, columns, by_test.get(one, []), specs.get(one)) for one in ordered]


def _compared_test(
    test: str,
    columns: Sequence[SystemColumn],
    rows: list[ComparedRow],
    spec: Descriptor | None,
) -> ComparedTest:
    entry = load_catalogue().entry(test)
    claims, left_out = _claim_rows(test, columns, spec)
    return ComparedTest(
        test=test,
        title=spec.title if spec else "",
        about=entry.about,
        category=entry.category,
        moments=[(one.title, one.meaning) for one in spec.series] if spec else [],
        rows=rows,
        claims=claims,
        states=[_state(column, test) for column in columns],
        published=_statements(test),
        notes=[
            *([f"Distorted by: {entry.distorts}"] if entry.distorts else []),
            *([f"{left_out} more claims: see the reports of the runs."] if left_out else []),
        ],
    )


def _state(column: SystemColumn, test: str) -> str:
    subject = column.subject
    if not isinstance(subject, MeasuredRun):
        return "published" if test in subject.tests() else "not published"
    found = next((one for one in subject.results if one.test == test), None)
    if found is None and imported_of(subject) is not None:
        return f"not measured by {tool_name(subject)}"
    if found is None:
        return "not run"
    if found.status == "measured" and (not found.complete or found.interrupted):
        return "ended before its last value"
    return _state_of(found.status, found.reason)


def _claim_rows(
    test: str, columns: Sequence[SystemColumn], spec: Descriptor | None
) -> tuple[list[ClaimRow], int]:
    """The row of the whole where a study judged, then the claims that fail somewhere, then the
    others; and how many were left out."""
    found = [_verdicts(column, test) for column in columns]
    claims = [[claim_of(one, test, spec) for one in verdicts] for verdicts in found]
    by_name: dict[str, list[Claim | None]] = {}
    for place, own in enumerate(claims):
        if not columns[place].is_published:
            for one in own:
                by_name.setdefault(one.name, [None] * len(columns))[place] = one
    ordered = sorted(
        by_name.items(), key=lambda named: all(one is None or one.passed for one in named[1])
    )
    rows = [
        ClaimRow(
            name,
            next((one.claim for one in cells if one and one.claim), ""),
            [
                _cell(one) if one else _without(column, test)
                for one, column in zip(cells, columns, strict=True)
            ],
        )
        for name, cells in ordered[:_MOST_CLAIMS]
    ]
    if any(column.is_published and own for column, own in zip(columns, found, strict=True)):
        whole = [
            _whole_cell(own) if own else _without(column, test)
            for own, column in zip(claims, columns, strict=True)
        ]
        rows.insert(0, ClaimRow(AS_A_WHOLE, _WHOLE_CLAIM, whole))
    return rows, max(len(ordered) - _MOST_CLAIMS, 0)


def _verdicts(column: SystemColumn, test: str) -> Sequence[Verdict]:
    found = column.subject.verdicts(test)
    return [] if isinstance(found, Missing) else found


def _cell(one: Claim) -> ClaimCell:
    word = _HOLDS if one.passed else _FAILS
    if one.uncounted and not one.passed:
        return ClaimCell(word, "uncounted", f"{one.evidence} (not rated: {one.uncounted})")
    return ClaimCell(word, "passed" if one.passed else "failed", one.evidence)


def _without(column: SystemColumn, test: str) -> ClaimCell:
    if not isinstance(column.subject, MeasuredRun):
        judged = _verdicts(column, test)
        return ClaimCell(AS_A_WHOLE if judged else "not published", "quiet")
    if imported_of(column.subject) is not None:
        return ClaimCell("not judged", "quiet")
    reason = _not_run(column.subject, test).reason
    return ClaimCell("not judged" if reason == "no values" else reason, "quiet")


def _whole_cell(own: Sequence[Claim]) -> ClaimCell:
    failed = [one for one in own if not one.passed and not one.uncounted]
    if failed:
        return ClaimCell(_FAILS, "failed", "; ".join(one.evidence for one in failed[:3]))
    aside = [one for one in own if not one.passed]
    evidence = own[0].evidence if len(own) == 1 else f"{len(own) - len(aside)} of {len(own)} hold"
    more = f"; not counted: {', '.join(one.name for one in aside)}" if aside else ""
    return ClaimCell(_HOLDS, "passed", evidence + more)


def _statements(test: str) -> list[str]:
    """What studies say about no single system, in words and figures, with their source."""
    found = []
    for one in figures_of(test):
        is_in_words = one.statistic is None
        if one.system is not None or (one.unit is None and not is_in_words):
            continue
        study = load_studies()[one.study].reading.short
        load = one.address.conditions.get("load")
        where = f"{study}, load {load}" if load else study
        if is_in_words:
            found.append(f"{where}: {one.value}")
        else:
            amount = amount_of(one)
            value = format_value(amount.value, amount.unit)
            found.append(f"{where}: {one.address} {one.statistic} {value}")
    return list(dict.fromkeys(found))


def judged_claims(test: ComparedTest, place: int) -> list[tuple[ClaimRow, ClaimCell]]:
    """What was judged about one system and counts: claim by claim, or of a study the whole."""
    found = [(row, row.cells[place]) for row in test.claims]
    judged = [one for one in found if one[1].look in ("passed", "failed")]
    return [one for one in judged if one[0].name != AS_A_WHOLE] or judged


_SOURCE = "external"
_BOTH = "both"  # threads and processes take the same way


@dataclass(frozen=True)
class Decisive:
    """A place of the summary: `short` names it in a table of figures, `most` a label of which the
    row with the largest number is taken."""

    short: str
    test: str
    series: tuple[str, ...]
    labels: tuple[tuple[str, str], ...] = ()
    most: str = ""


_SEMAPHORE = (("kind", "unnamed"), ("scope", "thread"))
_MUTEX = (("protocol", "inherit"),)
_DECISIVE = (
    Decisive("tick", "CLK-P-DUR", ("tick",)),
    Decisive("switch", "THR-P-SLS", ("switch",), most="threads"),
    Decisive("irq", SUSTAINED, ("minimal_period",)),
    Decisive("sem", "SEM-P-ARN", ("acquire", "release"), _SEMAPHORE),
    Decisive("sem cont", "SEM-P-ARC", ("acquire", "release"), _SEMAPHORE, most="waiters"),
    Decisive("mutex", "MUT-P-ARN", ("acquire", "release"), _MUTEX),
    Decisive("mut cont", "MUT-P-ARC", ("acquire", "release"), _MUTEX),
)


_QUESTION_LABELS = {
    "wakeup": "wake-up latency, worst CPU",
    "interrupt": "interrupt latency, worst CPU",
    "cpu loss": "lost CPU time, worst CPU",
    "switch": "switch between threads",
    "message": "message latency",
    "semaphore": "semaphore hand-over",
    "mutex": "mutex hand-over",
    "signal": "signal latency",
}


def decisive_rows(
    found: Sequence[FigureRow], systems: Systems, questions: Questions
) -> list[ComparedRow]:
    """Those of _DECISIVE that any system has, then the wake-up latency of the worst CPU of each,
    and other figures that different tools measured."""
    rows = [
        _compared_row(row, systems, decisive=True)
        for one in _DECISIVE
        for name in one.series
        for row in (
            _sustained(found, systems) if one.test == SUSTAINED else _chosen(found, one, name)
        )
    ]
    for question, measured in questions.items():
        if question == WAKEUP or sum(one is not None for one in measured) > 1:
            row = figure_row(question, measured)
            tests = {one.series.test for one in measured if one is not None}
            label = _QUESTION_LABELS.get(question, question)
            if question == WAKEUP and len(tests) == 1:
                label = "wakeup, total, worst CPU"
            rows.append(_compared_row(row, systems, label, decisive=True, question=question))
    return rows


_LEAST_DECISIVE = 4
_MOST_SHARED = 12


def shared_rows(
    found: Sequence[FigureRow], systems: Systems, decisive: Sequence[ComparedRow]
) -> list[ComparedRow] | None:
    """The figures that two or more systems share, where hardly any decisive one is: beside
    published systems that measured other things these are rows of gaps. Else None."""
    is_published = any(one.is_published for one in systems.columns)
    shared = [row for row in decisive if row.known_count > 1]
    if not is_published or len(shared) >= _LEAST_DECISIVE:
        return None
    known = {row.address for row in shared}
    more = [row for row in found if _known_count(row) > 1 and row.address not in known]
    return [*shared, *compared_rows(more[: _MOST_SHARED - len(shared)], systems)]


def group_of(row: ComparedRow) -> str:
    """A short name of what a decisive row is about: "tick", "wakeup"."""
    test = row.address.partition("/")[0]
    return row.question or next((one.short for one in _DECISIVE if one.test == test), WAKEUP)


def _chosen(found: Sequence[FigureRow], one: Decisive, name: str) -> Iterator[FigureRow]:
    """The row with the labels; of several the one that most systems have, or the largest number
    that two or more have."""
    rows = [row for row in found if row.test == one.test and row.key[1] == name]
    fitting = [row for row in rows if _fits(row, one)] or rows
    shared = [row for row in fitting if _known_count(row) > 1] or fitting

    def order(row: FigureRow) -> tuple[int, int]:
        if one.most:
            texts = [row.first.labels.get(one.most, ""), *row.first.parts]
            return max((whole_number(text) or 0 for text in texts), default=0), _known_count(row)
        published_count = sum(own is not None and own.series is None for own in row.found)
        return published_count, _known_count(row)

    if shared:
        yield max(shared, key=order)


def _sustained(found: Sequence[FigureRow], systems: Systems) -> Iterator[FigureRow]:
    """The row of a device's interrupts; where no system has one, for each run what its rating shows
    in its place."""
    rows = [one for one in found if one.test == SUSTAINED]
    of_device = [one for one in rows if _SOURCE in (*one.first.labels.values(), *one.first.parts)]
    if of_device or not rows:
        yield from of_device[:1]
        return
    empty = FigureRow((*rows[0].key[:2], ()), (None,) * len(systems.columns), rows[0].notes)
    filled, stand_ins = with_stand_ins(empty, [one.subject for one in systems.columns])
    if stand_ins:
        notes = [
            (stand_ins[place].what,) if place in stand_ins else ()
            for place in range(len(filled.found))
        ]
        yield replace(filled, notes=tuple(notes))


def _fits(row: FigureRow, one: Decisive) -> bool:
    labels = row.first.labels
    return all(labels.get(name, value) in (value, _BOTH) for name, value in one.labels)


def _known_count(row: FigureRow) -> int:
    return sum(one is not None for one in row.found)
