"""Points for and against each system, and what several runs of one system say of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from hardstone.comparison.grey import REPEAT, Pair, why_alone_grey, why_grey, why_worst_grey
from hardstone.comparison.rows import judged_claims
from hardstone.comparison.tools import WAKEUP, moments_of
from hardstone.comparison.view import (
    ComparedCell,
    ComparedRow,
    ComparedTest,
    ConditionRow,
    PlainTable,
    SystemColumn,
    SystemPoints,
)
from hardstone.figure_text import amount_text, ratio_words
from hardstone.model import Result, Unit
from hardstone.present.stars_text import category_number, certain_stars
from hardstone.stats.resampling import CONFIDENCE, LEAST_RUNS, interval_of_runs, runs_depend
from hardstone.systems.criteria import OUT_OF_THE_BOX
from hardstone.systems.rating import CategoryRating
from hardstone.systems.subjects import Amount, MeasuredRun, MeasuredSeries, Missing, SubjectSeries
from hardstone.units import format_ns
from hardstone.wording import is_rate, range_text, ratio_text, shorten

Cells = Sequence[tuple[ComparedRow, ComparedCell]]
MOST_POINTS = 8
GOOD_STARS, BAD_STARS = 4.5, 2.5
STEADY, SPREAD = 5.0, 100.0  # worst over mean
_MOST_OF_A_KIND = 2
_MOST_CATEGORIES = 3
_EVIDENCE_CHARACTERS = 120
_ADDRESS_CHARACTERS = 80
# With another of these conditions a median says nothing about the system alone.
_OF_A_MEASUREMENT = (
    *("load", "interval", "idle states", "CPU configuration", "policy", "priority", "clock"),
)
RULES = (
    f"Positive: a calibrated category of {GOOD_STARS:g} stars or more; all claims that were judged "
    f"and count hold; the worst of every decisive duration is at most {STEADY:g} times its mean; "
    "the wake-up latency stays below the lower yardstick; a decisive median is lower than that of "
    "the reference; no configuration was needed. Negative: a claim that counts fails; a calibrated "
    f"category of {BAD_STARS:g} stars or fewer; a worst of {SPREAD:g} times its mean or more; the "
    "wake-up latency reaches the upper yardstick; a decisive median is higher than that of the "
    "reference; the configuration takes attention; a run is not fully trustworthy; the rating "
    "lacks figures. Nothing speaks for a run that is not trustworthy."
)


def points_of(
    columns: Sequence[SystemColumn],
    decisive: Sequence[ComparedRow],
    tests: Sequence[ComparedTest],
    yardsticks: tuple[int, int],
    conditions: Sequence[ConditionRow] = (),
) -> list[SystemPoints]:
    """At most MOST_POINTS of each side for each system, by RULES. `yardsticks` in ns: the lower and
    the upper one. A median compared with the reference says which of `conditions` differ."""
    reference = next((place for place, one in enumerate(columns) if one.is_reference), 0)
    found = []
    for place, one in enumerate(columns):
        other = [
            row.name
            for row in conditions
            if row.name in _OF_A_MEASUREMENT and row.cells[place] != row.cells[reference]
        ]
        facts = _Facts(place, one, decisive, tests, yardsticks, other)
        positive, negative = list(_positive(facts)), list(_negative(facts))
        found.append(SystemPoints(positive[:MOST_POINTS], negative[:MOST_POINTS]))
    return found


@dataclass(frozen=True)
class _Facts:
    """What the points of one system follow from. `other`: conditions that differ from those of
    the reference."""

    place: int
    column: SystemColumn
    decisive: Sequence[ComparedRow]
    tests: Sequence[ComparedTest]
    yardsticks: tuple[int, int]
    other: list[str]

    @property
    def cells(self) -> Cells:
        """Without figures that may be compared with nothing, or that are between other moments
        than those of hardstone's tests: no point follows from them."""
        found = []
        for row in self.decisive:
            series = row.cells[self.place].subject_series
            if series is None or not (why_alone_grey(series) or self._differs(series)):
                found.append((row, row.cells[self.place]))
        return found

    def _differs(self, series: SubjectSeries) -> bool:
        moments = moments_of(series, self.column.subject)
        return moments is not None and bool(moments.differs)


def _positive(facts: _Facts) -> Iterator[str]:
    column, cells = facts.column, facts.cells
    if column.trust == "untrustworthy":
        return
    # Times of an emulated processor, and counted instructions, are compared with nothing.
    if not column.mark:
        good = [
            one
            for one in _calibrated(column)
            if certain_stars(one.stars or 0, one.lowest_stars) >= GOOD_STARS
        ]
        yield from _category_texts(good, column)
        yield from _below(cells, facts.yardsticks[0])
    spread = _largest_spread(cells)
    known_count = sum(cell.predictability is not None for _, cell in cells)
    if spread is not None and spread[2] <= STEADY and known_count > 1:
        yield (
            f"worst at most {ratio_text(spread[2])} times the mean in the decisive tests "
            f"({_short(spread[0])})"
        )
    yield from _medians(facts, "lower")
    yield from _all_hold(facts.place, facts.tests)
    if column.rating.configuration == OUT_OF_THE_BOX and column.is_published:
        yield "needs no configuration"


def _negative(facts: _Facts) -> Iterator[str]:
    column, cells = facts.column, facts.cells
    if column.trust != "full" and column.trust_reasons:
        yield f"{column.trust}: {shorten(column.trust_reasons[0], _EVIDENCE_CHARACTERS)}"
    yield from _failed(facts.place, facts.tests)
    low = [one for one in _calibrated(column) if (one.stars or 0) <= BAD_STARS]
    yield from _category_texts(sorted(low, key=lambda one: one.stars or 0), column)
    if not column.mark:
        yield from _reaches(cells, facts.yardsticks[1])
    spread = _largest_spread(cells)
    if spread is not None and spread[2] >= SPREAD:
        row, cell, times = spread
        yield f"worst {ratio_text(times)} times the mean: {_figures(row, cell)}"
    yield from _medians(facts, "higher")
    configuration = column.rating.configuration
    if configuration not in ("", OUT_OF_THE_BOX, "not published"):
        yield f"configuration: {configuration}"
    if column.rating.why_none:
        yield f"no overall rating: {shorten(column.rating.why_none, _EVIDENCE_CHARACTERS)}"


def _calibrated(column: SystemColumn) -> list[CategoryRating]:
    """The categories whose stars were fitted to published ones, where there are any stars."""
    found = column.rating.categories
    return [one for one in found if one.is_calibrated and one.stars is not None]


def _category_texts(found: Sequence[CategoryRating], column: SystemColumn) -> Iterator[str]:
    """The first with their figures, the others by name."""
    for one in found[:_MOST_CATEGORIES]:
        text = f"{_stars_text(one)} of 5"
        if one.decisive is not None:
            worst = amount_text(one.decisive.amount, is_exact=column.is_published)
            text += f": worst {worst} ({shorten(one.decisive.address, _ADDRESS_CHARACTERS)})"
        yield text
    rest = [_stars_text(one) for one in found[_MOST_CATEGORIES:]]
    if rest:
        yield f"also {', '.join(rest)} of 5"


def _stars_text(one: CategoryRating) -> str:
    return f"{one.category} {category_number(one)}"


def _below(cells: Cells, yardstick_ns: int) -> Iterator[str]:
    for row, cell in cells:
        if _is_latency(row) and isinstance(cell.worst, Amount):
            highest = cell.worst.highest
            if highest is not None and highest < yardstick_ns:
                yield f"wake-up latency below {format_ns(yardstick_ns)}: {_figures(row, cell)}"


def _reaches(cells: Cells, yardstick_ns: int) -> Iterator[str]:
    for row, cell in cells:
        worst = cell.worst if _is_latency(row) else None
        if isinstance(worst, Amount) and worst.lowest >= yardstick_ns:
            yield f"wake-up latency reaches {format_ns(yardstick_ns)}: {_figures(row, cell)}"


def _is_latency(row: ComparedRow) -> bool:
    return row.question in ("", WAKEUP) and row.address.startswith("TMR-P-LAT")


def _largest_spread(cells: Cells) -> tuple[ComparedRow, ComparedCell, float] | None:
    found = [(row, cell, cell.predictability) for row, cell in cells if cell.predictability]
    return max(found, key=lambda one: one[2], default=None)


def _short(row: ComparedRow) -> str:
    return shorten(row.address, _ADDRESS_CHARACTERS)


def _medians(facts: _Facts, outcome: str) -> Iterator[str]:
    """The strongest first; with the conditions that differ, so that nothing is ranked silently."""
    other = f", with different {', '.join(facts.other)}" if facts.other else ""
    found = [
        (row, cell.ratio)
        for row, cell in facts.cells
        if cell.ratio is not None and cell.ratio.outcome == outcome and cell.ratio.ratio
    ]
    found.sort(key=lambda one: one[1].ratio or 1.0, reverse=outcome == "higher")
    for row, ratio in found[:_MOST_OF_A_KIND]:
        yield (
            f"median {ratio_words(ratio)[0]} that of the reference in these two runs{other} "
            f"({_short(row)})"
        )


def _figures(row: ComparedRow, cell: ComparedCell) -> str:
    is_exact = cell.series is None
    texts = [
        f"{name} {amount_text(one, is_exact=is_exact)}"
        for name, one in (("mean", cell.mean), ("worst", cell.worst))
        if isinstance(one, Amount)
    ]
    return f"{', '.join(texts)} ({_short(row)})"


def _failed(place: int, tests: Sequence[ComparedTest]) -> Iterator[str]:
    found = [
        f"{test.test}, {row.name} fails: {shorten(cell.evidence, _EVIDENCE_CHARACTERS)}"
        for test in tests
        for row, cell in judged_claims(test, place)
        if cell.look == "failed"
    ]
    yield from found[:_MOST_OF_A_KIND]
    if len(found) > _MOST_OF_A_KIND:
        yield f"and {len(found) - _MOST_OF_A_KIND} more claims fail"


def _all_hold(place: int, tests: Sequence[ComparedTest]) -> Iterator[str]:
    looks = [cell.look for test in tests for _, cell in judged_claims(test, place)]
    if looks and "failed" not in looks:
        if len(looks) == 1:
            yield "the only rated claim holds"
        else:
            yield f"all {len(looks)} rated claims hold"


_P50 = "p50"
_COLUMNS = ["series", "runs", "mean", "p50", "worst of a run", "worst of all runs"]
_UNTRUSTWORTHY = "untrustworthy"
_COUNTS = "values of "  # of a series: no condition
_LABEL_CHARACTERS = 120
_NONE = "-"
_DEPEND = "runs depend"


@dataclass(frozen=True)
class _Group:
    """Places of the runs of one system, in the order in which they ran, and how many more of it
    were not trustworthy."""

    places: list[int]
    left_out_count: int


def repeated_tables(
    columns: Sequence[SystemColumn],
    decisive: Sequence[ComparedRow],
    conditions: Sequence[ConditionRow],
) -> list[PlainTable]:
    """A table for each system of which there are at least LEAST_RUNS runs that may be compared:
    same machine and target, and nothing in `conditions` or in the parameters differs."""
    found: list[PlainTable] = []
    for group in _groups(columns, conditions):
        rows = [row for one in decisive if (row := _row(one, group.places))]
        if rows:
            found.append(_table(len(found) + 1, group, rows, columns))
    return found


def _groups(
    columns: Sequence[SystemColumn], conditions: Sequence[ConditionRow]
) -> Iterator[_Group]:
    same: dict[tuple[str, ...], list[int]] = defaultdict(list)
    started: dict[int, tuple[str, str]] = {}
    rows = [one for one in conditions if one.name != REPEAT and not one.name.startswith(_COUNTS)]
    for place, column in enumerate(columns):
        run = column.subject
        is_poor = column.trust == _UNTRUSTWORTHY  # apart too, and counted as left out
        if not isinstance(run, MeasuredRun) or (column.apart and not is_poor):
            continue
        machine = run.document.plan.target, str(run.document.system.get("machine.node"))
        same[(*machine, *run.condition, *(one.cells[place] for one in rows))].append(place)
        started[place] = run.document.started_utc, column.id
    for places in same.values():
        kept = [one for one in places if columns[one].trust != _UNTRUSTWORTHY]
        if len({columns[one].id for one in kept}) == len(kept) >= LEAST_RUNS:
            kept.sort(key=lambda one: started[one])
            yield _Group(kept, len(places) - len(kept))


def _table(
    number: int, group: _Group, rows: list[list[str]], columns: Sequence[SystemColumn]
) -> PlainTable:
    numbers = sorted(columns[one].number for one in group.places)
    is_range = numbers == list(range(numbers[0], numbers[-1] + 1))
    named = f"{numbers[0]} to {numbers[-1]}" if is_range else ", ".join(map(str, numbers))
    notes = [
        f"Median over the runs, with its {CONFIDENCE:.0%} interval, low to high, by order "
        "statistics. The run is the unit: the values within a run depend on each other.",
        f"{_DEPEND.capitalize()}: a figure of the series goes with that of the run before (rank "
        "correlation of neighbours, p < 0.05), so that an interval would be too narrow. Few runs "
        "show little of that: leave time between them.",
        "The interval of the worst is that of its median over runs. A later worst may be larger.",
    ]
    if group.left_out_count:
        notes.append(f"{group.left_out_count} more of this system left out: not trustworthy.")
    return PlainTable(
        anchor="runs-of-one-system" if number == 1 else f"runs-of-one-system-{number}",
        title="Runs of one system" if number == 1 else f"Runs of one system ({number})",
        about=f"Systems {named} are runs of one machine under the same conditions.",
        columns=_COLUMNS,
        rows=rows,
        notes=notes,
    )


def _row(row: ComparedRow, places: Sequence[int]) -> list[str] | None:
    """The figures of a row; None where fewer than LEAST_RUNS of the runs have it, or any of them
    may not be compared with the others."""
    cells = [row.cells[place] for place in places if row.cells[place].subject_series is not None]
    series = [one.subject_series for one in cells if one.subject_series is not None]
    if len(series) < LEAST_RUNS or any(map(why_alone_grey, series)) or not _are_same(series):
        return None
    means = _known_values(one.mean for one in cells)
    worsts = _known_values(one.worst for one in cells)
    has_median = _P50 in row.more and row.unit != "count"
    medians = _known_values(one.more[_P50] for one in cells) if has_median else []
    figures = [one if len(one) == len(cells) else [] for one in (means, medians, worsts)]
    is_dependent = any(map(runs_depend, figures))
    texts = [_over_runs(one, row.unit, is_dependent=is_dependent) for one in figures]
    if any(why_worst_grey(one, two) for one in series for two in series):
        texts[-1] = "unlike counts"
    of_all = min if is_rate(row.unit) else max
    worst = _text(row.unit, of_all(worsts)) if len(worsts) == len(cells) else _NONE
    test = row.address.partition("/")[0]
    # What all runs remark, such as that an interrupt is not one of a device.
    shared = [note for note in cells[0].notes if all(note in one.notes for one in cells)]
    label = shorten("; ".join([f"{test} {row.label}", *shared]), _LABEL_CHARACTERS)
    return [label, str(len(cells)), *texts, worst]


def _known_values(amounts: Iterable[Amount | Missing]) -> list[float]:
    return [one.value for one in amounts if isinstance(one, Amount) and one.value is not None]


def _are_same(series: Sequence[SubjectSeries]) -> bool:
    first = series[0]
    return all(not why_grey(Pair(one, first)) and _params(one) == _params(first) for one in series)


def _params(one: SubjectSeries) -> dict[str, object]:
    result: Result | None = one.result if isinstance(one, MeasuredSeries) else None
    if result is None:
        return {}
    return {name: value for name, value in result.params.items() if name not in result.calibrated}


def _over_runs(values: Sequence[float], unit: Unit, *, is_dependent: bool) -> str:
    """ "18.2 us (17.9 to 18.6 us)"; "-" without values. Runs that depend on each other have no
    interval, which would be too narrow."""
    found = interval_of_runs(values)
    if found is None:
        return _NONE
    estimate, low, high = (_text(unit, one) for one in (found.estimate, found.low, found.high))
    return f"{estimate} ({_DEPEND if is_dependent else range_text(low, high)})"


def _text(unit: Unit, value: float) -> str:
    return amount_text(Amount(unit, "over runs", "", value=value))
