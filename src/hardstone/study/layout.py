"""Lays out a paper: its systems and the measured ones, exhibit by exhibit.

A figure that may not be compared with the published one is shown all the same: its cell is "not
comparable" and has the reason.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import msgspec

from hardstone.catalogue import load_catalogue
from hardstone.comparison.grey import ComparableAddress, beside, in_place, why_another
from hardstone.errors import InputError, remedy_text
from hardstone.event_names import NOT_SEEN, STEP_BOUNDED, TIRE_TESTS
from hardstone.figure_text import amount_text
from hardstone.kernel.tables import length_interval
from hardstone.model import Result, RunDocument, Series, Unit
from hardstone.simulation.analysis import Bound, bounds_of
from hardstone.simulation.results import REAL_FAST, Curve, Point, Total, points_of
from hardstone.simulation.tables import (
    comparable,
    is_of_sweep,
    published_masses_text,
    threads_text,
)
from hardstone.stats.conditions import config_text, listed
from hardstone.stats.consistency import (
    UNEQUAL,
    KindOfTime,
    contradiction_of,
    kind_of_time,
    unequal_work,
    work_of,
)
from hardstone.stats.sustained import SUSTAINED
from hardstone.stats.trust import lacks_realtime
from hardstone.study.exhibits import Cell, Column, LaidOut, Row, StudyView
from hardstone.study.papers import Exhibit, Paper, Quantity
from hardstone.systems.published import (
    Address,
    AddressError,
    Figure,
    Resolved,
    all_figures,
    is_of_kernel_time,
    length_of,
    parse_address,
    resolve,
)
from hardstone.systems.subjects import (
    PREFIX,
    Amount,
    MeasuredRun,
    MeasuredSeries,
    Missing,
    amount_of,
    subjects_of,
    why_apart,
)
from hardstone.units import format_count, format_ns, whole_number
from hardstone.wording import format_value, kernel_text, one_line, shorten, target_text

CLOSING = (
    "Hardware, kernel and conditions differ, so compare the distance from mean to worst and the "
    "effect of load."
)
NOT_RUN = "not run"
FAILED, PASSED = "fail: ", "pass"
CUT_OFF = "cut off before it ended"
OF_RUN = "of run "  # begins the note on the run of a figure
IN_THE_TEXT = "In the text"  # stands for the number of an exhibit


def lay_out(
    paper: Paper, documents: Sequence[RunDocument], only_tests: Collection[str] = ()
) -> StudyView:
    """The exhibits of `paper` in its order, each row with a cell for every system of the paper and
    for every system of `documents`.

    Figures of the paper that no exhibit shows come last. `only_tests`: leaves out exhibits and rows
    of other tests.
    """
    columns = (*_published_columns(paper), *_own_columns(documents))
    figures: dict[str, list[Figure]] = {}
    for figure in all_figures():
        if figure.study == paper.key:
            figures.setdefault(str(figure.address), []).append(figure)
    wanted = frozenset(only_tests)
    shown = [
        one
        for exhibit in (*paper.exhibits, *_of_no_exhibit(paper, figures))
        if (one := _kept(exhibit, wanted, paper)) is not None
    ]
    laid_out = tuple(_LaidOut(paper, *one, columns, figures).all() for one in shown)
    notes = (CLOSING,) if documents else ()
    return StudyView(paper, columns, laid_out, notes=notes)


def _of_no_exhibit(paper: Paper, figures: Mapping[str, Sequence[Figure]]) -> Iterator[Exhibit]:
    shown = {quantity.at for exhibit in paper.exhibits for quantity in paper.rows_of(exhibit)}
    left = [address for address in figures if address not in shown]
    if left:
        yield Exhibit(
            number=IN_THE_TEXT,
            title="figures that no table or figure shows",
            form="table",
            tests=list(dict.fromkeys(figures[one][0].address.test for one in left)),
            rows=[Quantity(label=one, at=one) for one in left],
        )


def _kept(
    exhibit: Exhibit, wanted: frozenset[str], paper: Paper
) -> tuple[Exhibit, Sequence[Quantity]] | None:
    """The exhibit and its rows, those of the tests in `wanted`; None if it has none of them."""
    rows = paper.rows_of(exhibit)
    if not wanted:
        return exhibit, rows
    kept = [one for one in rows if wanted & set(_tests_of(one))]
    is_without_rows = not rows and exhibit.has_results and wanted & set(exhibit.tests)
    return (exhibit, kept) if kept or is_without_rows else None


def _tests_of(quantity: Quantity) -> list[str]:
    return [*([quantity.at.partition("/")[0]] if quantity.at else []), *quantity.tests]


def _published_columns(paper: Paper) -> Iterator[Column]:
    for key, system in paper.study.systems.items():
        about = (
            system.hardware or paper.study.conditions.get("hardware", ""),
            system.configuration or paper.study.conditions.get("configuration", ""),
        )
        yield Column(
            id=f"{PREFIX}{key}",
            title=system.name,
            short=key,
            is_published=True,
            about="; ".join(filter(None, about)),
        )


class _Machine(NamedTuple):
    """A machine with its kernel and boot line: runs with the same one are of one system."""

    target: str
    facts: tuple[str, ...]


_OF_A_MACHINE = (
    "machine.node",
    "machine.arch",
    "machine.cpu_model",
    "cpu.count",
    "virtual.hypervisor",
    "virtual.emulated",
    "virtual.time",
    "kernel.name",
    "kernel.release",
    "kernel.version",
    "kernel.cmdline",
    "kernel.hz",
)
_CONFIGS = ("shared", "single", "shielded")
_PART_CHARACTERS, _REASON_CHARACTERS = 40, 220
_MARKS = {
    KindOfTime.EMULATED: "emulated",
    KindOfTime.COUNTED: "counts instructions",
    KindOfTime.UNKNOWN: "may be emulated",
}


class _System(NamedTuple):
    machine: _Machine
    cpu_config: str
    preemption: str


def _own_columns(documents: Sequence[RunDocument]) -> Iterator[Column]:
    """One for each machine, CPU configuration and preemption model, the latest run first in it."""
    found: dict[_System, list[MeasuredRun]] = {}
    for document in {one.id: one for one in documents}.values():
        for subject in subjects_of(document):
            found.setdefault(_system_of(subject), []).append(subject)
    machines = list(dict.fromkeys(one.machine for one in found))
    names = dict(zip(machines, _machine_names(machines), strict=True))
    models: dict[_Machine, set[str]] = {}
    for one in found:
        models.setdefault(one.machine, set()).add(one.preemption)
    order = {name: place for place, name in enumerate(_CONFIGS)}
    for system in sorted(
        found, key=lambda one: (machines.index(one.machine), order.get(one.cpu_config, len(order)))
    ):
        subjects = sorted(found[system], key=lambda one: one.document.started_utc, reverse=True)
        model = f"preemption {shorten(system.preemption, _PART_CHARACTERS) or 'not known'}"
        parts = [
            names[system.machine],
            *([model] if len(models[system.machine]) > 1 else []),
            shorten(_config_of(subjects), _PART_CHARACTERS),
        ]
        yield _own_column(", ".join(parts), subjects, model)


def _own_column(title: str, subjects: Sequence[MeasuredRun], model: str) -> Column:
    document = subjects[0].document
    apart = [shorten(why_apart(one), _REASON_CHARACTERS) for one in subjects]
    return Column(
        id=" ".join(dict.fromkeys(one.id for one in subjects)),
        title=title,
        short=title,
        is_published=False,
        about=f"{target_text(document)}; {kernel_text(document.system)}",
        mark=_MARKS.get(kind_of_time(document.system), ""),
        apart=apart[0] if all(apart) else "",
        subjects=tuple(subjects),
    )


def _system_of(subject: MeasuredRun) -> _System:
    facts = subject.document.system
    machine = _Machine(
        subject.document.plan.target, tuple(str(facts.get(name)) for name in _OF_A_MACHINE)
    )
    model = subject.condition.preemption or str(facts.get("kernel.preemption") or "")
    return _System(machine, subject.condition.cpu_config, model)


def _config_of(subjects: Sequence[MeasuredRun]) -> str:
    found = [result.conditions for one in subjects for result in one.results]
    return config_text(*found) if found else subjects[0].condition.cpu_config


_FACTS_THAT_NAME = ("kernel.release", "kernel.version", "kernel.cmdline", "machine.cpu_model")


def _machine_names(machines: Sequence[_Machine]) -> list[str]:
    """The target of each, and what tells those of one target apart; else a number."""
    names = [
        "this machine"
        if one.target == "local"
        else shorten(", ".join(one.target.split(",")), _PART_CHARACTERS)
        for one in machines
    ]
    for fact in _FACTS_THAT_NAME:
        values = [one.facts[_OF_A_MACHINE.index(fact)] for one in machines]
        differing = {
            name
            for name in names
            if len({value for own, value in zip(names, values, strict=True) if own == name}) > 1
        }
        names = [
            f"{name}, {shorten(value, _PART_CHARACTERS)}" if name in differing else name
            for name, value in zip(names, values, strict=True)
        ]
    return [
        f"{name} #{number}" if names.count(name) > 1 else name
        for number, name in enumerate(names, 1)
    ]


@dataclass(frozen=True)
class _Wanted:
    """What a row asks of each system.

    `figures` are those that the paper has at its address, of any system, load and statistic; where
    it has none there (they are lost), `fixed` is a figure of the same test, for the parameters that
    the paper fixes. `address` has no test in a row of words.
    """

    exhibit: Exhibit
    quantity: Quantity
    figures: Sequence[Figure]
    fixed: Figure | None
    address: Address
    load: str
    statistic: str

    @property
    def lost(self) -> str:
        return self.quantity.lost or self.exhibit.lost

    @property
    def own_statistic(self) -> str:
        """What a run shows: its worst where the paper has words."""
        return self.statistic or "max"

    @property
    def matching(self) -> list[Figure]:
        """Of all systems. A figure without a load is one of any load that the exhibit names."""
        return [
            one
            for one in self.figures
            if one.address.conditions.get("load", self.load) == self.load
            and one.statistic in (None, self.statistic)
        ]


_NOT_COVERED = Cell("not covered", reason="the paper has no figure of this system here")


@dataclass(frozen=True)
class _LaidOut:
    """Lays out one exhibit."""

    paper: Paper
    exhibit: Exhibit
    quantities: Sequence[Quantity]
    columns: Sequence[Column]
    figures: Mapping[str, Sequence[Figure]]

    def all(self) -> LaidOut:
        rows = tuple(
            self._row(wanted) for quantity in self.quantities for wanted in self._wanted(quantity)
        )
        places = tuple(
            place
            for place in range(len(self.columns))
            if any(row.cells[place].kind != "not covered" for row in rows)
        )
        found = (one for quantity in self.quantities for one in self.figures.get(quantity.at, ()))
        notes = tuple(dict.fromkeys(one.note for one in found if one.note))
        return LaidOut(self.exhibit, rows, places, notes)

    def _wanted(self, quantity: Quantity) -> Iterator[_Wanted]:
        """One for each load and statistic of `quantity`."""
        figures = self.figures.get(quantity.at, ())
        if figures:
            address = figures[0].address
        else:
            address = parse_address(quantity.at) if quantity.at else Address("")
        every = (one for group in (figures, *self.figures.values()) for one in group)
        fixed = next((one for one in every if one.address.test == address.test), None)
        loads = quantity.loads or self.exhibit.loads
        loads = loads or _each(one.address.conditions.get("load", "") for one in figures)
        statistics = quantity.statistics or self.exhibit.statistics
        statistics = statistics or _each(one.statistic or "" for one in figures)
        if not statistics and address.parts:
            statistics = ["max"]
        for load in loads or [""]:
            for statistic in statistics or [""]:
                yield _Wanted(self.exhibit, quantity, figures, fixed, address, load, statistic)

    def _row(self, wanted: _Wanted) -> Row:
        cells = tuple(
            self._published_cell(wanted, one) if one.is_published else _own_cell(wanted, one)
            for one in self.columns
        )
        units: Iterable[Unit] = (one.amount.unit for one in cells if one.amount is not None)
        words = [
            str(one.value)
            for one in wanted.matching
            if one.system is None
            and _is_words(one)
            and not (self.exhibit.text or wanted.quantity.cells)
        ]
        return Row(
            label=wanted.quantity.label,
            words=tuple(wanted.quantity.words),
            address=str(wanted.address),
            load=wanted.load,
            statistic=wanted.statistic,
            unit=next(iter(units), None),
            cells=cells,
            note="; ".join(filter(None, (wanted.quantity.note, *dict.fromkeys(words)))),
        )

    def _published_cell(self, wanted: _Wanted, column: Column) -> Cell:
        key = column.id.removeprefix(PREFIX)
        is_covered = key in (wanted.quantity.systems or self.exhibit.systems or [key])
        own = next((one for one in wanted.matching if is_covered and one.system == key), None)
        if is_covered and key in wanted.quantity.cells and (own is None or _is_words(own)):
            source = f"{self.paper.key}/{self.exhibit.number} {column.id}"
            return Cell("published", wanted.quantity.cells[key], source=source)
        if own is not None:
            return _of_figure(own)
        return self._no_cell(wanted) if is_covered else _NOT_COVERED

    @staticmethod
    def _no_cell(wanted: _Wanted) -> Cell:
        """What stands where the paper has neither a figure nor words of a system."""
        if wanted.lost and (wanted.address.test or wanted.quantity.lost):
            return Cell("lost", reason=wanted.lost)
        of_all = next((one for one in wanted.matching if one.system is None), None)
        if of_all is None:
            return _NOT_COVERED
        if _is_words(of_all):
            return Cell("not covered", reason="the paper has words only, of no single system")
        return replace(_of_figure(of_all), notes=("the paper names no system",))


def _each(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))


def _is_words(figure: Figure) -> bool:
    return isinstance(figure.value, str)


def _of_figure(figure: Figure) -> Cell:
    """A published cell, its figure as the paper has it: in its unit, with its digits."""
    if isinstance(figure.value, str):
        source = f"{figure.study}/{figure.table} {PREFIX}{figure.system} {figure.address}"
        return Cell("published", figure.value, source=source)
    ends = figure.value if isinstance(figure.value, dict) else {"": figure.value}
    signs = {"below": "< ", "above": "> "}
    text = ", ".join(f"{signs.get(end, '')}{_number(value)}" for end, value in ends.items())
    amount = amount_of(figure)
    text = f"{text} {figure.unit or ''}".strip()
    return Cell("published", text, amount=amount, source=amount.source)


def _number(value: float) -> str:
    """As the paper prints it; five digits and more are grouped."""
    number = int(value) if float(value).is_integer() else value
    return f"{number:,}".replace(",", "\N{NO-BREAK SPACE}") if number >= 10_000 else str(number)


class _Found(NamedTuple):
    """What one result says: its cell, how many values its series has, the place of its series among
    those that may stand at the address, and whether it was measured with settings of a proof."""

    cell: Cell
    values: int = 0
    stand: int = 0
    is_set: bool = False


def _own_cell(wanted: _Wanted, column: Column) -> Cell:
    """The best of what the runs of a system have: a figure that may be compared, else one that may
    not, else why there is none."""
    if not wanted.address.test:
        return _of_tests(wanted.quantity.tests, column)
    test = wanted.address.test
    loads = _each(
        one.condition.load for one in column.subjects if any(r.test == test for r in one.results)
    )
    load = wanted.load or ("none" if "none" in loads else next(iter(loads), ""))
    subjects = [one for one in column.subjects if one.condition.load == load]
    if test in TIRE_TESTS:
        best = _of_sweep(wanted, [one for one in subjects if _has(one, test)])
    else:
        best = _pooled(wanted, [found for one in subjects for found in _of_subject(wanted, one)])
    if best is None:
        return Cell("not measured", reason=_not_run(test, wanted.load, column))
    if not wanted.load and (len(loads) > 1 or load != "none") and best.text:
        best = replace(best, notes=(*best.notes, f"under load {shorten(load)}"))
    return _with_run(best, column)


def _has(subject: MeasuredRun, test: str) -> bool:
    return any(one.test == test for one in subject.results)


def _rank(cell: Cell) -> int:
    if cell.kind == "measured":
        return 0
    return 1 if cell.text else 2


def _pooled(wanted: _Wanted, found: Sequence[_Found]) -> Cell | None:
    """The cell of several results, the latest first: the largest value of all that may be compared,
    the smallest where the row shows that; of another statistic that of the most values; a claim
    that failed anywhere has failed."""
    if not found:
        return None
    rank = min(_rank(one.cell) for one in found)
    best = [one for one in found if _rank(one.cell) == rank]
    best = [one for one in best if not one.is_set] or best
    best = [one for one in best if one.stand == min(other.stand for other in best)]
    if best[0].cell.amount is None:
        return _pooled_verdicts([one.cell for one in best])
    statistic = wanted.own_statistic
    is_smallest = statistic == "min" and wanted.address.test != SUSTAINED
    if is_smallest:
        chosen = min(best, key=lambda one: one.cell.amount.lowest if one.cell.amount else 0.0)
    elif statistic in ("min", "max"):
        chosen = max(best, key=lambda one: _size(one.cell))
    else:
        chosen = max(best, key=lambda one: one.values)
    count = sum(one.values for one in best)
    runs = _each(_run_of(one.cell) for one in best)
    notes = []
    if len(best) > 1:
        run = _run_of(chosen.cell)
        others = [one for one in runs if one != run]
        added = f", with those of {listed(others)}" if others else ""
        if statistic in ("min", "max"):
            which = f"the {'smallest' if is_smallest else 'largest'} of {format_count(count)} values"
            notes.append(f"{OF_RUN}{run}: {which}{added}")
        else:
            which = f"{format_count(chosen.values)} of {format_count(count)} values"
            notes.append(f"{OF_RUN}{run}: {which}, the most of a run")
    if rank == 0 and statistic == "max":
        apart = [one.cell for one in found if one.cell.kind == "not comparable" and not one.is_set]
        larger = [one for one in apart if _size(one) > _size(chosen.cell)]
        if larger:
            worst = max(larger, key=_size)
            notes.append(f"{worst.text} in run {_run_of(worst)}, not comparable: {worst.reason}")
    return replace(chosen.cell, notes=(*chosen.cell.notes, *notes))


def _run_of(cell: Cell) -> str:
    return cell.source.partition(" ")[0]


def _size(cell: Cell) -> tuple[bool, float]:
    """Orders figures; what has no upper end is above all others."""
    amount = cell.amount
    if amount is None:
        return False, 0.0
    return amount.highest is None, amount.highest if amount.highest is not None else amount.lowest


def _pooled_verdicts(cells: Sequence[Cell]) -> Cell:
    """The latest that failed, else the latest."""
    failed = [one for one in cells if one.text.startswith(FAILED)]
    passed = _each(_run_of(one) for one in cells if one.text == PASSED)
    if not failed or not passed:
        return (failed or cells)[0]
    return replace(failed[0], notes=(*failed[0].notes, f"passed in {' and '.join(passed)}"))


def _with_run(cell: Cell, column: Column) -> Cell:
    """Of a system with several runs each figure says from which it is."""
    runs = column.id.split()
    run = _run_of(cell)
    is_said = any(one.startswith(OF_RUN) for one in cell.notes)
    if len(runs) < 2 or run not in runs or not cell.text or is_said:
        return cell
    return replace(cell, notes=(*cell.notes, f"{OF_RUN}{run}"))


def _not_run(test: str, load: str, column: Column) -> str:
    """What to type to have the figure."""
    config, target = (
        column.subjects[0].condition.cpu_config,
        column.subjects[0].document.plan.target,
    )
    options = [f" --load {shorten(load)}"] if load not in ("", "none") else []
    options += [f" --cpu-config {shorten(config)}"] if config in _CONFIGS[1:] else []
    options += [f" --target {shlex.quote(shorten(target))}"] if target != "local" else []
    return f"{NOT_RUN}; type: hardstone run {test}{''.join(options)}"


def _of_subject(wanted: _Wanted, subject: MeasuredRun) -> Iterator[_Found]:
    """What one run has under one load, for each result of the test."""
    address = wanted.address
    for result in (one for one in subject.results if one.test == address.test):
        found = _of_result(wanted, subject, result)
        yield found._replace(is_set=bool(result.conditions.settings))
    stand_in = in_place(address.test, address.parts[-1] if address.parts else "", subject)
    if stand_in is not None and isinstance(stand_in.series, MeasuredSeries):
        cell = _of_stand_in(wanted, subject, stand_in.series, stand_in.what)
        yield _Found(cell, stand_in.series.series.count)


def _of_result(wanted: _Wanted, subject: MeasuredRun, result: Result) -> _Found:
    """The figure of the series at the address; of the first kind that is comparable where that of
    the address is not."""
    stands = list(beside(wanted.address, subject.document.system))
    found = [_at(wanted, subject, result, one) for one in stands]
    cells = [one.cell for one in found]
    first, *others = cells
    other = next((one for one in others if one.kind == "measured"), None)
    if other is None:
        return found[0]
    kinds = [one.address.labels.get("kind", "") for one in stands]
    shown = [(kind, cell) for kind, cell in zip(kinds, cells, strict=True) if cell.text]
    chosen = next(kind for kind, cell in shown if cell is other)
    rest = [f"{kind} {cell.text}" for kind, cell in shown[1:] if cell is not other]
    figure = f" {first.text}" if first.text else ""
    note = f"of kind {chosen}; {kinds[0]}{figure} is not comparable: {first.reason}"
    place = next(number for number, cell in enumerate(cells) if cell is other)
    cell = replace(other, notes=("; ".join([note, *rest]), *other.notes))
    return found[place]._replace(cell=cell, stand=place)


_INVERSION = "MUT-B-INV"  # a count of inversions, for which the paper has words


def _at(wanted: _Wanted, subject: MeasuredRun, result: Result, stand: ComparableAddress) -> _Found:
    """The cell of one result at one address."""
    if result.status != "measured" and not (result.series or result.verdicts):
        return _Found(Cell("not measured", reason=_state(result)))
    document = subject.document
    alone = msgspec.structs.replace(document, results=[result])
    address = replace(stand.address, conditions={})
    try:
        found = [resolve(address, alone)]
        for name in wanted.fixed.or_series if wanted.fixed else ():
            found.append(resolve(replace(address, parts=(*address.parts[:-1], name)), alone))
    except AddressError as error:
        return _Found(Cell("not measured", reason=error.cause.removeprefix(f"{address}: ")))
    every = [one.series for one in found if one.series is not None]
    if not every:
        return _Found(_of_verdicts(found[0], subject))
    largest = max(every, key=lambda one: one.max or 0)
    held = MeasuredSeries(document.id, result, largest)
    source = f"{document.id} {held.address} {wanted.own_statistic}"
    text, amount = _figure(held, wanted.own_statistic)
    if isinstance(amount, Missing):
        reason = "; ".join(filter(None, (amount.reason, amount.remedy)))
        return _Found(Cell("not measured", reason=reason, source=source))
    reasons = [
        stand.refused.removeprefix("not comparable: "),
        why_another(wanted.fixed, result) if wanted.fixed is not None else "",
        *_reasons(subject, result, every),
    ]
    notes = [stand.note]
    if len(every) > 1:
        named = [f"{one.name} {_rounds(one)}" for one in every]
        notes.append(f"the larger of {' and '.join(named)}")
    if result.test == _INVERSION and amount.value is not None:
        rounds = max(every, key=lambda one: (one.mean or 0) * one.count)
        text = f"{'vulnerable' if amount.value else 'not vulnerable'} ({_rounds(rounds)} rounds)"
    if is_of_kernel_time(wanted.own_statistic):
        length = length_of(Resolved(result, largest), wanted.own_statistic)
        notes.append(f"interval {length_interval(length)}")
    for one in found:
        notes += [*one.notes, *_doubts(one, document)]
    cell = Cell(
        "not comparable" if any(reasons) else "measured",
        text,
        reason="; ".join(dict.fromkeys(filter(None, reasons))),
        notes=tuple(one for one in dict.fromkeys(notes) if one and one not in reasons),
        amount=amount,
        source=source,
    )
    return _Found(cell, largest.count)


def _rounds(series: Series) -> str:
    """ "3 of 5": of a series with 1 or 0 for each round."""
    return f"{format_count(round((series.mean or 0) * series.count))} of {series.count}"


def _figure(held: MeasuredSeries, statistic: str) -> tuple[str, Amount | Missing]:
    """The text of a figure and its amount."""
    amount = held.amount(statistic)
    if isinstance(amount, Missing):
        return "", amount
    if amount.value is not None:
        return format_value(amount.value, held.unit), amount
    return amount_text(amount), amount


def _reasons(subject: MeasuredRun, result: Result, series: Sequence[Series]) -> Iterator[str]:
    """Why no figure of `series` may stand beside a published one."""
    document = subject.document
    yield shorten(why_apart(subject), _REASON_CHARACTERS)
    if result.status != "measured":
        yield _state(result)
    elif not result.complete or result.interrupted:
        yield CUT_OFF
    for one in series:
        problem = contradiction_of(one)
        if problem is not None:
            yield f"it cannot be true: {problem}"
        unequal = unequal_work(document).get(result.test, [])
        if work_of(one, dict.fromkeys(unequal, 0)):
            yield UNEQUAL
    if lacks_realtime(result):
        yield f"not scheduled as real-time: policy {result.conditions.policy}"


_AT_MOST = "upper bound of the step: latency and the time to arm the timer are included"


def _doubts(found: Resolved, document: RunDocument) -> Iterator[str]:
    """What a reader must know of a figure, in addition to the notes of `found`."""
    if found.series is None:
        return
    result = found.result
    asked = [one.params for one in document.plan.tests if one.test == result.test]
    given = {
        name: value
        for name, value in result.calibrated.items()
        if any(params.get(name) == value for params in asked)
    }
    for what, count in work_of(found.series, given).items():
        yield f"{format_count(count)} {what} set by the request, not calibrated"
    if _is_bound(found.series, result):
        yield _AT_MOST


def _is_bound(series: Series, result: Result) -> bool:
    """Whether an event says that the step of this mechanism is an upper bound."""
    if series.name != "expiry_step":
        return False
    mechanism = series.labels.get("mechanism")
    bounded = [one.data.get("mechanisms") for one in result.events if one.name == STEP_BOUNDED]
    return any(isinstance(names, list) and mechanism in names for names in bounded)


def _of_stand_in(wanted: _Wanted, subject: MeasuredRun, held: MeasuredSeries, what: str) -> Cell:
    source = f"{subject.id} {held.address} {wanted.own_statistic}"
    try:
        amount = held.amount(wanted.own_statistic)
    except InputError as error:
        amount = Missing(error.cause, error.remedy)
    if isinstance(amount, Missing):
        return Cell("not measured", reason=amount.reason, source=source)
    reasons = [f"{what}, not from a device", *_reasons(subject, held.result, [held.series])]
    return Cell(
        "not comparable",
        amount_text(amount),
        reason="; ".join(dict.fromkeys(filter(None, reasons))),
        amount=amount,
        source=source,
    )


_POLICIES = {"cfs": "other", "fifo": "fifo"}  # words of a title, and what a run calls them
_SOLVER = "semaphore"
_STEP_NS, _SIMULATED_S = 10_000_000, 60


def policies_named(exhibit: Exhibit) -> set[str]:
    """The scheduling policies that the title of an exhibit names; empty: any."""
    words = set(re.findall(r"[a-z]+", exhibit.title.lower()))
    return {policy for word, policy in _POLICIES.items() if word in words}


def _of_sweep(wanted: _Wanted, subjects: Sequence[MeasuredRun]) -> Cell | None:
    """What all points of all runs under one load say together; no single result does."""
    if not subjects:
        return None
    policies = policies_named(wanted.exhibit)
    points = [
        (subject, point)
        for subject in subjects
        for point in points_of(subject.alone)
        if point.test == wanted.address.test and (not policies or point.policy in policies)
    ]
    if wanted.address.test == REAL_FAST:
        return _of_totals(wanted, points)
    bounds = [one for one in bounds_of(point for _, point in points) if comparable(one)]
    if not bounds:
        return Cell("not measured", reason=_no_curve(wanted, policies))
    figure = next((one for one in wanted.figures if one.statistic == wanted.statistic), None)
    if figure is not None and is_of_sweep(figure):
        text = published_masses_text(bounds, figure)
        if text.startswith("- ("):
            return Cell("not measured", reason=_no_curve(wanted, policies))
    else:
        own = [one for one in bounds if _is_of(one.curve, wanted.address)]
        if not own:
            return Cell("not measured", reason=_no_curve(wanted, policies))
        text = _held_or_missed(own[0])
        if not text:
            return Cell("not measured", reason="no step was counted")
    curves = {one.curve for one in bounds}
    return _swept(wanted, text, [one for one, point in points if point.curve in curves], [])


def _is_of(one: Curve, address: Address) -> bool:
    threads = {whole_number(part) for part in address.parts}
    return one.policy in address.parts and one.threads in threads


def _no_curve(wanted: _Wanted, policies: Collection[str]) -> str:
    """Which curve no run has."""
    threads = next((one for one in map(whole_number, wanted.address.parts) if one), None)
    policy = ", ".join(one for one in _POLICIES.values() if one in policies)
    parts = [f"policy {policy}" if policy else "", threads_text(threads) if threads else ""]
    parts.append(f"a step of {format_ns(_STEP_NS)}")
    return f"no simulation with {', '.join(filter(None, parts))}"


def _held_or_missed(bound: Bound) -> str:
    held, first = bound.held, bound.first_missed
    texts = [f"none missed to {format_count(held.masses)} masses"] if held else []
    texts += [f"missed from {format_count(first.masses)} masses"] if first else []
    return ", ".join(texts)


def why_other_totals(point: Point) -> list[str]:
    """In what a simulation of SIM-P-RF differs from those of the study."""
    solver = "" if point.solver == _SOLVER else f"solver {point.solver}, in the study {_SOLVER}"
    step = (
        ""
        if point.step_ns == _STEP_NS
        else f"step {format_ns(point.step_ns)}, in the study {format_ns(_STEP_NS)}"
    )
    length = (
        ""
        if point.simulated_s in (0, _SIMULATED_S)
        else f"{point.simulated_s} s simulated, in the study {_SIMULATED_S} s"
    )
    cut = "" if point.is_whole else CUT_OFF
    return [one for one in (solver, step, length, cut) if one]


def _of_totals(wanted: _Wanted, points: Sequence[tuple[MeasuredRun, Point]]) -> Cell:
    """The first and the last total time of one curve, of each the run with the most repeats."""
    own = [one for one in points if one[1].total and _is_of(one[1].curve, wanted.address)]
    if not own:
        return Cell("not measured", reason=_no_curve(wanted, policies_named(wanted.exhibit)))
    least = min(len(why_other_totals(point)) for _, point in own)
    reasons = next(found for _, one in own if len(found := why_other_totals(one)) == least)
    totals: dict[int, tuple[MeasuredRun, Total]] = {}
    for subject, point in own:
        if point.total is None or why_other_totals(point) != reasons:
            continue
        known = totals.get(point.masses)
        if known is None or point.total.repeats_count > known[1].repeats_count:
            totals[point.masses] = subject, point.total
    ends = list(dict.fromkeys((min(totals), max(totals))))
    texts = [f"{format_ns(totals[n][1].mean_ns)} with {format_count(n)} masses" for n in ends]
    return _swept(wanted, ", ".join(texts), [totals[n][0] for n in ends], reasons)


def _swept(
    wanted: _Wanted, text: str, subjects: Sequence[MeasuredRun], reasons: Sequence[str]
) -> Cell:
    """A cell of the points of one or several runs."""
    apart = [shorten(why_apart(one), _REASON_CHARACTERS) for one in subjects]
    runs = _each(one.id for one in subjects)
    every = _each(filter(None, (*apart, *reasons)))
    return Cell(
        "not comparable" if every else "measured",
        text,
        reason="; ".join(every),
        notes=(f"{OF_RUN}{' and '.join(runs)}",) if len(runs) > 1 else (),
        source=f"{runs[0]} {wanted.address} {wanted.statistic}",
    )


def _of_verdicts(found: Resolved, subject: MeasuredRun) -> Cell:
    """The verdicts in the paper's terms: behaviours of any system are compared. Claims that do not
    count for a rating cannot fail."""
    entry = load_catalogue().entry(found.result.test)
    failed = [shorten(one.name, _PART_CHARACTERS) for one in found.verdicts if not one.passed]
    counted = [name for name in failed if not entry.why_uncounted(name)]
    uncounted = [name for name in failed if entry.why_uncounted(name)]
    notes = [one_line(one) for one in found.notes]
    if uncounted:
        do = "does" if len(uncounted) == 1 else "do"
        notes.append(f"{listed(uncounted)} failed, but {do} not count for a rating")
    unseen = _each(
        shorten(str(event.data.get("verdict", "")), _PART_CHARACTERS)
        for event in found.result.events
        if event.name == NOT_SEEN
    )
    if unseen:
        notes.append(f"not seen: {listed(unseen)}")
    text = f"{FAILED}{listed(counted)}" if counted else PASSED
    source = f"{subject.id} {found.result.test}"
    return Cell("measured", text, notes=tuple(notes), source=source)


def _of_tests(tests: Sequence[str], column: Column) -> Cell:
    """What the tests of a row of words say, together."""
    if not tests:
        return Cell("not covered", reason="no test measures it")
    said: dict[str, list[str]] = {}
    notes: list[str] = []
    sources, lacking = [], []
    for test in tests:
        found = next(
            (
                (subject, result)
                for subject in column.subjects
                for result in subject.results
                if result.test == test and (result.verdicts or result.series)
            ),
            None,
        )
        if found is None:
            lacking.append(test)
            continue
        subject, result = found
        sources.append(f"{subject.id} {test}")
        if not result.verdicts:
            said.setdefault("measured", []).append(test)
            continue
        cell = _of_verdicts(Resolved(result, verdicts=result.verdicts), subject)
        said.setdefault(cell.text, []).append(test)
        notes += [f"{test}: {one}" for one in cell.notes]
    notes += [f"{test}: {_why_none(test, column)}" for test in lacking]
    if not said:
        return Cell("not measured", reason="; ".join(notes))
    if len(said) == 1 and not lacking:
        text = next(iter(said))
    else:
        text = "; ".join(f"{', '.join(names)} {text}" for text, names in said.items())
    return Cell("measured", text, notes=tuple(notes), source=", ".join(sources))


def _why_none(test: str, column: Column) -> str:
    """Why a test has neither verdicts nor figures."""
    found = (one for subject in column.subjects for one in subject.results if one.test == test)
    result = next(found, None)
    return _not_run(test, "", column) if result is None else _state(result)


def _state(result: Result) -> str:
    """The reason of a result without figures, and what to do about it."""
    remedy = remedy_text(result.remedy, result.command)
    reason = f"{result.status}: {result.reason or 'no reason was given'}"
    return one_line("; ".join(filter(None, (reason, remedy))))
