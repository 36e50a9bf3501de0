"""At least ten runs of one system in one comparison: the run is the unit, so that what a figure is
over runs has an interval, which no single run gives."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from hardstone.model import Result, Unit
from hardstone.present.amount_text import amount_text
from hardstone.present.compare_conditions import REPEAT
from hardstone.present.compare_grey import Pair, why_alone_grey, why_grey, why_worst_grey
from hardstone.present.compare_view import (
    ComparedCell,
    ComparedRow,
    ConditionRow,
    PlainTable,
    SystemColumn,
)
from hardstone.present.wording import is_rate, range_text, shorten
from hardstone.stats.block_bootstrap import CONFIDENCE, LEAST_RUNS, interval_of_runs, runs_depend
from hardstone.systems.subjects import Amount, Held, MeasuredRun, MeasuredSeries, Missing

_P50 = "p50"
_COLUMNS = ["series", "runs", "mean", "p50", "worst of a run", "worst of all runs"]
_UNTRUSTWORTHY = "untrustworthy"
_COUNTS = "values of "  # of a series: no condition, and looked at where it matters
_LABEL_CHARACTERS = 120
_NONE = "-"
_DEPEND = "runs depend"


@dataclass(frozen=True)
class _Group:
    """Places of runs that are of one system, in the order in which they ran, and how many more of
    it were not trustworthy."""

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
    rows = [one for one in conditions if one.name != REPEAT and not one.name.startswith(_COUNTS)]
    for place, column in enumerate(columns):
        run = column.subject
        is_poor = column.trust == _UNTRUSTWORTHY  # apart too, and counted as left out
        if not isinstance(run, MeasuredRun) or (column.apart and not is_poor):
            continue
        told = run.document.plan.target, str(run.document.system.get("machine.node"))
        same[(*told, *run.condition, *(one.cells[place] for one in rows))].append(place)
    for places in same.values():
        kept = [one for one in places if columns[one].trust != _UNTRUSTWORTHY]
        if len({columns[one].id for one in kept}) == len(kept) >= LEAST_RUNS:
            kept.sort(key=lambda one: _started(columns[one]))
            yield _Group(kept, len(places) - len(kept))


def _started(column: SystemColumn) -> tuple[str, str]:
    run = column.subject
    return (run.document.started_utc if isinstance(run, MeasuredRun) else "", column.id)


def _table(
    number: int, group: _Group, rows: list[list[str]], columns: Sequence[SystemColumn]
) -> PlainTable:
    numbers = _numbers(sorted(columns[one].number for one in group.places))
    notes = [
        f"Median over the runs, with its {CONFIDENCE:.0%} interval, low to high, by order "
        "statistics. The run is the unit: the values within a run depend on each other.",
        f"{_DEPEND.capitalize()}: a figure of the series goes with that of the run before (rank "
        "correlation of neighbours, p < 0.05), so that an interval would be too narrow. Few runs "
        "show little of that: leave time between them.",
        "The interval of the worst of a run is of its median over runs. It bounds no later worst.",
    ]
    if group.left_out_count:
        notes.append(f"{group.left_out_count} more of this system: left out, not trustworthy.")
    return PlainTable(
        anchor="runs-of-one-system" if number == 1 else f"runs-of-one-system-{number}",
        title="Runs of one system" if number == 1 else f"Runs of one system ({number})",
        about=f"Systems {numbers} are runs of one machine under the same conditions.",
        columns=_COLUMNS,
        rows=rows,
        notes=notes,
    )


def _numbers(found: list[int]) -> str:
    """ "1 to 10", or "1, 2, 4"."""
    is_range = found == list(range(found[0], found[-1] + 1))
    return f"{found[0]} to {found[-1]}" if is_range else ", ".join(map(str, found))


def _row(row: ComparedRow, places: Sequence[int]) -> list[str] | None:
    """The figures of a row; None where fewer than LEAST_RUNS of the runs have it, or any of them
    may not be set beside the others."""
    cells = [row.cells[place] for place in places if row.cells[place].held is not None]
    held = [one.held for one in cells if one.held is not None]
    if len(held) < LEAST_RUNS or any(map(why_alone_grey, held)) or not _are_alike(held):
        return None
    place = row.more.index(_P50) if _P50 in row.more and row.unit != "count" else None
    means, worsts = _known(one.mean for one in cells), _known(one.worst for one in cells)
    medians = [] if place is None else _known(one.more[place] for one in cells)
    figures = [one if len(one) == len(cells) else [] for one in (means, medians, worsts)]
    is_dependent = any(map(runs_depend, figures))
    said = [_over_runs(one, row.unit, is_dependent=is_dependent) for one in figures]
    if any(why_worst_grey(one, two) for one in held for two in held):
        said[-1] = "unlike counts"
    of_all = min if is_rate(row.unit) else max
    worst = _text(row.unit, of_all(worsts)) if len(worsts) == len(cells) else _NONE
    return [_label(row, cells), str(len(cells)), *said, worst]


def _known(amounts: Iterable[Amount | Missing]) -> list[float]:
    return [one.value for one in amounts if isinstance(one, Amount) and one.value is not None]


def _label(row: ComparedRow, cells: Sequence[ComparedCell]) -> str:
    """With what all runs remark: that an interrupt is not one of a device."""
    shared = [note for note in cells[0].notes if all(note in one.notes for one in cells)]
    test = row.address.partition("/")[0]
    return shorten("; ".join([f"{test} {row.label}", *shared]), _LABEL_CHARACTERS)


def _are_alike(held: Sequence[Held]) -> bool:
    first = held[0]
    return all(not why_grey(Pair(one, first)) and _params(one) == _params(first) for one in held)


def _params(one: Held) -> dict[str, object]:
    result: Result | None = one.result if isinstance(one, MeasuredSeries) else None
    if result is None:
        return {}
    return {name: value for name, value in result.params.items() if name not in result.calibrated}


def _over_runs(values: Sequence[float], unit: Unit, *, is_dependent: bool) -> str:
    """ "18.2 us (17.9 to 18.6 us)"; "-" without values. Of runs that depend on each other no
    interval: it would be too narrow."""
    found = interval_of_runs(values)
    if found is None:
        return _NONE
    said = [_text(unit, one) for one in (found.estimate, found.low, found.high)]
    return f"{said[0]} ({_DEPEND if is_dependent else range_text(said[1], said[2])})"


def _text(unit: Unit, value: float) -> str:
    return amount_text(Amount(unit, "over runs", "", value=value))
