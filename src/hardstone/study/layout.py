"""Lays out a paper: its systems and the measured ones, exhibit by exhibit.

A figure that may not be compared with the published one is shown all the same: its cell is "not
comparable" and has the reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from hardstone.errors import InputError
from hardstone.kernel.results import ALL
from hardstone.kernel.results import TEST as KERNEL_TEST
from hardstone.kernel.tables import STATISTICS, WORST
from hardstone.model import Result, RunDocument, Unit
from hardstone.preemption.tables import (
    TITLE_OF,
    facts_under,
    preemption_table,
    why_not_divided,
)
from hardstone.present.stars_text import stars_number
from hardstone.stats.conditions import config_text, differing_parameters
from hardstone.stats.consistency import (
    KindOfTime,
    kind_of_time,
)
from hardstone.study.exhibits import Cell, Column, LaidOut, Row, StudyView
from hardstone.study.measured import OF_RUN, each, is_words, own_cell
from hardstone.study.papers import Exhibit, Paper, Quantity, Wanted
from hardstone.systems.published import (
    Address,
    Figure,
    all_figures,
    parse_address,
)
from hardstone.systems.rating import rate
from hardstone.systems.subjects import (
    PREFIX,
    Amount,
    MeasuredRun,
    amount_of,
    subjects_of,
    why_apart,
)
from hardstone.wording import kernel_text, shorten, target_text

CLOSING = (
    "Hardware, kernel and conditions differ, so compare the distance from mean to worst and the "
    "effect of load."
)
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
    is_of_them = exhibit.has_results and bool(exhibit.tests) and set(exhibit.tests) <= wanted
    kept = [
        one for one in rows if wanted & set(_tests_of(one)) or (is_of_them and not _tests_of(one))
    ]
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
    # Several systems that all share their CPUs are not told apart by it.
    has_configs = len(found) == 1 or {one.cpu_config for one in found} != {_CONFIGS[0]}
    for system in sorted(
        found, key=lambda one: (machines.index(one.machine), order.get(one.cpu_config, len(order)))
    ):
        subjects = sorted(
            found[system], key=lambda one: (one.document.started_utc, one.document.id), reverse=True
        )
        model = f"preemption {shorten(system.preemption, _PART_CHARACTERS) or 'not known'}"
        parts = [
            names[system.machine],
            *([model] if len(models[system.machine]) > 1 else []),
            *([shorten(_config_of(subjects), _PART_CHARACTERS)] if has_configs else []),
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
    whole, short = (
        [
            "this machine"
            if one.target == "local"
            else shorten(", ".join(part for part in one.target.split(",") if part not in left_out))
            for one in machines
        ]
        for left_out in ((), ("deterministic",))  # which the mark of the column says too
    )
    names = short if len(set(short)) == len(set(whole)) else whole
    names = [shorten(one.removeprefix("lab:"), _PART_CHARACTERS) for one in names]
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
        """The exhibit with a row for each quantity, load and statistic."""
        rows = tuple(
            self._row(wanted) for quantity in self.quantities for wanted in self._wanted(quantity)
        )
        if all(one.is_published for one in self.columns):
            # What only a run has a cell of, as a period that the paper may have measured or not.
            rows = tuple(one for one in rows if one.words or one.note or _has_cell(one))
        if not self.exhibit.plots:
            rows += improvements(rows, self.columns)
        places = tuple(
            place
            for place in range(len(self.columns))
            if any(row.cells[place].kind != "not covered" for row in rows)
        )
        found = (one for quantity in self.quantities for one in self.figures.get(quantity.at, ()))
        notes = tuple(dict.fromkeys(one.note for one in found if one.note))
        return LaidOut(self.exhibit, rows, places, notes)

    def _wanted(self, quantity: Quantity) -> Iterator[Wanted]:
        """One for each load and statistic of `quantity`."""
        figures = self.figures.get(quantity.at, ())
        if figures:
            address = figures[0].address
        else:
            address = parse_address(quantity.at) if quantity.at else Address("")
        every = (one for group in (figures, *self.figures.values()) for one in group)
        fixed = next((one for one in every if one.address.test == address.test), None)
        loads = quantity.loads or self.exhibit.loads
        loads = loads or each(one.address.conditions.get("load", "") for one in figures)
        statistics = quantity.statistics or self.exhibit.statistics
        statistics = statistics or each(one.statistic or "" for one in figures)
        if not statistics and address.parts:
            statistics = ["max"]
        for load in loads or [""]:
            for statistic in statistics or [""]:
                yield Wanted(self.exhibit, quantity, figures, fixed, address, load, statistic)

    def _row(self, wanted: Wanted) -> Row:
        cells = in_one_unit(
            [
                self._published_cell(wanted, one)
                if one.is_published
                else _stars(one)
                if wanted.quantity.is_rating
                else own_cell(wanted, one)
                for one in self.columns
            ]
        )
        units: Iterable[Unit] = (one.amount.unit for one in cells if one.amount is not None)
        words = [
            str(one.value)
            for one in wanted.matching
            if one.system is None
            and is_words(one)
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

    def _published_cell(self, wanted: Wanted, column: Column) -> Cell:
        key = column.id.removeprefix(PREFIX)
        is_covered = key in (wanted.quantity.systems or self.exhibit.systems or [key])
        own = next((one for one in wanted.matching if is_covered and one.system == key), None)
        if is_covered and key in wanted.quantity.cells and (own is None or is_words(own)):
            source = f"{self.paper.key}/{self.exhibit.number} {column.id}"
            return Cell("published", wanted.quantity.cells[key], source=source)
        if own is not None:
            return _of_figure(own)
        return self._no_cell(wanted) if is_covered else _NOT_COVERED

    @staticmethod
    def _no_cell(wanted: Wanted) -> Cell:
        """What stands where the paper has neither a figure nor words of a system."""
        if wanted.lost and (wanted.address.test or wanted.quantity.lost):
            return Cell("lost", reason=wanted.lost)
        of_all = next((one for one in wanted.matching if one.system is None), None)
        if of_all is None:
            return _NOT_COVERED
        if is_words(of_all):
            return Cell("not covered", reason="the paper has words only, of no single system")
        return replace(_of_figure(of_all), notes=("the paper names no system",))


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


def _has_cell(row: Row) -> bool:
    return any(one.kind != "not covered" for one in row.cells)


_SCALES: dict[Unit, dict[str, float]] = {
    "ns": {"s": 1e9, "ms": 1e6, "us": 1e3, "ns": 1.0},
    "bytes_per_s": {"GB/s": 1e9, "MB/s": 1e6, "kB/s": 1e3, "B/s": 1.0},
}
_LEAST_SHOWN = 0.001  # of a unit; below it a figure keeps its own


def in_one_unit(cells: Sequence[Cell]) -> tuple[Cell, ...]:
    """The cells of one row: measured figures in the unit of most published ones, else in that of
    the largest."""
    shown = [one for one in cells if one.amount is not None and one.amount.unit in _SCALES]
    own = [one for one in shown if one.kind != "published" and one.amount is not None]
    if not own:
        return tuple(cells)
    named = Counter(one.text.rpartition(" ")[2] for one in shown if one.kind == "published")
    largest = max(own, key=lambda one: abs(_known(one.amount)))
    unit = next((name for name, _ in named.most_common()), largest.text.rpartition(" ")[2])
    return tuple(_in_unit(one, unit) if one in own else one for one in cells)


def _known(amount: Amount | None) -> float:
    found = (amount.value, amount.below, amount.above) if amount is not None else ()
    return next((one for one in found if one is not None), 0.0)


def _in_unit(cell: Cell, unit: str) -> Cell:
    amount = cell.amount
    scale = _SCALES.get(amount.unit, {}).get(unit) if amount is not None else None
    if amount is None or scale is None or cell.text.endswith(f" {unit}"):
        return cell
    value = _known(amount) / scale
    if 0 < abs(value) < _LEAST_SHOWN or cell.text.endswith(")"):
        return cell
    sign = "" if amount.value is not None else "< " if amount.below is not None else "> "
    size = abs(value)
    digits = 1 if size >= 10 else 2
    text = f"{value:.{digits}f}" if size >= 1 else f"{value:.3g}"
    number = _number(float(round(value))) if size >= 100 or value == int(value) else text
    return replace(cell, text=f"{sign}{number} {unit}")


def _stars(column: Column) -> Cell:
    """The stars of a system: those of its runs and loads that have any, the fewest of them."""
    rated = [(rate(one), one) for one in column.subjects]
    found = [(one, of) for one, of in rated if one.overall is not None]
    if not found:
        why = next((one.why_none for one, _ in rated if one.why_none), "")
        reason = f"no run has an overall rating{f': {why}' if why else ''}; type: {_RATED_BY}"
        return Cell("not measured", reason=reason)
    fewest, subject = min(found, key=lambda one: one[0].lowest or one[0].overall or 0.0)
    text = stars_number(fewest.overall, is_at_most=fewest.is_at_most, lowest=fewest.lowest)
    notes = [", ".join(fewest.rated_as), f"under load {shorten(subject.condition.load)}"]
    return Cell(
        "measured",
        text,
        notes=(*filter(None, notes), f"{OF_RUN}{subject.id}"),
        source=f"{subject.id} stars",
    )


_RATED_BY = "hardstone evaluate"


# ---- what kernel preemption improves ----

_OFF, _ON = ("none", "voluntary"), ("full", "rt")
_HARDWARE = ("machine.arch", "machine.cpu_model", "cpu.count", "virtual.hypervisor", "virtual.time")


def improvements(rows: Sequence[Row], columns: Sequence[Column]) -> tuple[Row, ...]:
    """For each length of kernel sections in `rows` that over the same with kernel preemption, in
    the column with preemption, where two systems differ in the model. Empty without such two."""
    statistics = [row.statistic for row in rows if row.address.startswith(f"{KERNEL_TEST}/{ALL}/")]
    cells: dict[str, dict[int, Cell]] = {}
    for off, on in _model_pairs(columns) if statistics else ():
        for statistic, cell in _ratios(columns[off], columns[on]):
            cells.setdefault(statistic, {})[on] = cell
    return tuple(
        replace(
            row,
            label=f"improvement: {row.label}",
            unit=None,
            cells=tuple(
                cells[row.statistic].get(place, _NO_RATIO) for place in range(len(columns))
            ),
            note="",
        )
        for row in rows
        if row.statistic in statistics and row.statistic in cells
    )


_NO_RATIO = Cell("not covered", reason="stands in the column of preemption on")


def _model_pairs(columns: Sequence[Column]) -> Iterator[tuple[int, int]]:
    """The places of systems without and with kernel preemption: the same hardware under the same
    CPU configuration."""
    off: dict[tuple[str, ...], int] = {}
    on: dict[tuple[str, ...], int] = {}
    for place, one in enumerate(columns):
        if one.subjects:
            facts, condition = one.subjects[0].document.system, one.subjects[0].condition
            model = _model_of(one).partition(" ")[0]
            key = (*(str(facts.get(name)) for name in _HARDWARE), condition.cpu_config)
            side = off if model in _OFF else on if model in _ON else {}
            side.setdefault(key, place)
    yield from ((off[key], on[key]) for key in off if key in on)


def _model_of(column: Column) -> str:
    subject = column.subjects[0]
    return subject.condition.preemption or str(
        subject.document.system.get("kernel.preemption") or ""
    )


def _ratios(off: Column, on: Column) -> Iterator[tuple[str, Cell]]:
    """A cell for each statistic; under the first load that both were measured under."""
    sides = [_kernel_results(one) for one in (off, on)]
    load = next((one for one in sides[0] if one in sides[1]), None)
    if load is None:
        return
    results = sides[0][load], sides[1][load]
    systems = (
        facts_under(dict(off.subjects[0].document.system), _model_of(off)),
        facts_under(dict(on.subjects[0].document.system), _model_of(on)),
    )
    why = why_not_divided(*systems)
    if differing := differing_parameters(results[0][0], results[1][0]):
        why = [*why, f"the parameter {shorten(differing[0].name)} differs"]
    try:
        table = preemption_table(*results, systems)
    except InputError as error:
        why, table = [error.cause], None
    for statistic in STATISTICS:
        row = next(
            (
                one
                for one in (table.rows if table else ())
                if one.operation == ALL and one.figure == TITLE_OF[statistic]
            ),
            None,
        )
        if why or row is None or row.improvement == "-":
            lacks = (row.off_interval, row.on_interval) if row else ()
            reason = "; ".join(dict.fromkeys(filter(None, (*why, *lacks))))
            yield statistic, Cell("not measured", reason=reason or "not known of both models")
            continue
        said = (row.off, row.on)
        apart = on.apart or off.apart
        of_what = "worst dispatch latency: " if statistic == WORST else ""
        ratio = f"{of_what}{said[0]} off over {said[1]} on"
        notes = (ratio, *row.limits, f"under load {shorten(load)}")
        yield (
            statistic,
            Cell(
                "not comparable" if apart else "measured",
                f"{row.improvement} times",
                reason=apart,
                notes=notes,
                source=f"{off.id} {on.id} {KERNEL_TEST}/{ALL}",
            ),
        )


def _kernel_results(column: Column) -> dict[str, list[Result]]:
    """Its whole results of KRN-P-PRE by load, none first."""
    found: dict[str, list[Result]] = {}
    for subject in column.subjects:
        for result in subject.results:
            is_whole = result.status == "measured" and result.complete and not result.interrupted
            if result.test == KERNEL_TEST and is_whole and subject.trust.grade != "untrustworthy":
                found.setdefault(subject.condition.load, []).append(result)
    return dict(sorted(found.items(), key=lambda one: one[0] != "none"))
