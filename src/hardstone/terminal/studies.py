"""Published figures on a terminal: beside a run, of one test, and the list of systems."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import msgspec
from rich import box
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from hardstone.calling import as_typed
from hardstone.comparison.grey import Stand, beside, why_another
from hardstone.errors import InputError
from hardstone.kernel.tables import whole_length
from hardstone.model import Result, RunDocument
from hardstone.present.stars_text import PublishedRow, stars_number
from hardstone.simulation.analysis import bounds_of
from hardstone.simulation.results import points_of
from hardstone.simulation.tables import comparable, is_of_sweep, told_of
from hardstone.stats.conditions import NOT_KNOWN, config_text
from hardstone.stats.kind_of_time import why_not_beside_hardware
from hardstone.systems.published import (
    Address,
    AddressError,
    Figure,
    Resolved,
    Study,
    figures_of,
    is_of_kernel_time,
    is_under,
    length_of,
    load_studies,
    resolve,
    tables_of,
    value_of,
)
from hardstone.terminal.beside import doubts_of, verdicts_text
from hardstone.terminal.console import make_console, print_table, words
from hardstone.terminal.light_table import LightLines
from hardstone.terminal.run_rows import trust_rows
from hardstone.terminal.whole_run import print_head
from hardstone.wording import clean, format_value, one_line, time_mark


def published_parts(table: PublishedTable) -> Iterator[RenderableType]:
    """The rows, then the conditions that the study gives, then the note."""
    yield _table_rows(table)
    yield from (words(condition) for condition in table.conditions)
    if table.note:
        yield words(table.note)


def print_published(console: Console, table: PublishedTable) -> None:
    """Prints all parts of `table`."""
    for part in published_parts(table):
        if isinstance(part, Table):
            print_table(console, part)
        else:
            console.print(part)


def _table_rows(table: PublishedTable) -> Table:
    shown = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    for title in table.columns:
        shown.add_column(title, overflow="fold")
    for row in table.rows:
        cells = {"load": row.load, "system": row.system or "the study", "figures": row.figures}
        addresses = Text("\n".join(address or "verdicts" for address in row.addresses))
        shown.add_row(addresses, *(words(cells[title] or "-") for title in table.columns[1:]))
    return shown


CLOSING = (
    "An address names the same figure in a run and in a study. Hardware, kernel and conditions "
    "differ, so compare the distance from mean to worst and the effect of load."
)


def print_beside_published(document: RunDocument) -> None:
    """Prints the figures of the run and of the studies by address. InputError if there are none."""
    tests = dict.fromkeys(one.test for one in document.results if tables_of(one.test))
    if not tests:
        raise InputError(
            "no test of this run has published figures",
            "to see those of a test: hardstone explain TEST",
        )
    console = make_console()
    _print_head(console, document)
    for test in tests:
        for table in published_tables(test, partial(_figure_rows, document)):
            _print_table(console, test, table)
    console.print(words(CLOSING, "dim"))


def _print_head(console: Console, document: RunDocument) -> None:
    """The conditions of the run and its trust."""
    print_head(console, document)
    for row in trust_rows(document):
        console.print(Text(" ").join(row))
    console.print()


def _print_table(console: Console, test: str, table: PublishedTable) -> None:
    console.print(words(f"{test}, published: {table.title}", "bold"))
    print_published(console, table)
    console.print()


def _figure_rows(document: RunDocument, figures: Sequence[Figure]) -> Iterator[Row]:
    """A row for each result measured under the conditions of the study."""
    address = figures[0].address
    run = " ".join(filter(None, ("this run", time_mark(document.system))))
    where = {name: value for name, value in address.conditions.items() if name != "policy"}
    if is_of_sweep(figures[0]):
        yield from _sweep_rows(document, figures, run)
        return
    for result in document.results:
        if result.test == address.test and is_under(result, where):
            system = f"{run}, {config_text(result.conditions)}"
            for stand in beside(address, document.system):
                refused = stand.refused or why_another(figures[0], result)
                told = f"- ({refused})" if refused else _told(document, result, stand, figures)
                yield Row(
                    (within(stand.address),), result.conditions.load or NOT_KNOWN, system, told
                )


def _sweep_rows(document: RunDocument, figures: Sequence[Figure], run: str) -> Iterator[Row]:
    """Numbers of masses come from all points of a load, and from no single result."""
    bounds = bounds_of(points_of(document))
    for load in dict.fromkeys(one.curve.load for one in bounds):
        own = [one for one in bounds if one.curve.load == load and comparable(one)]
        told = why_not_beside_hardware(document) or ", ".join(
            f"{one.statistic} {told_of(own, one)}" for one in figures
        )
        yield Row((within(figures[0].address),), load, run, told)


def _told(document: RunDocument, result: Result, stand: Stand, figures: Sequence[Figure]) -> str:
    """The figures of `result` at the address, with caveats in brackets.

    Verdicts of an emulated run stand beside those of the studies, its figures do not.
    """
    alone = msgspec.structs.replace(document, results=[result])
    try:
        found = resolve(stand.address, alone)
        others = [resolve(_of_series(stand.address, one), alone) for one in figures[0].or_series]
    except AddressError as error:
        return f"- ({error.cause.removeprefix(f'{stand.address}: ')})"
    if found.series is None:
        told = verdicts_text(found)
    elif why := why_not_beside_hardware(document):
        return f"- ({why})"
    else:
        statistics = [one.statistic for one in figures if one.statistic] or ["max"]
        largest = max([found, *others], key=_largest)
        told = ", ".join([f"{one} {_resolved_value(largest, one)}" for one in statistics])
    notes = [stand.note, _larger_of([found, *others]) if others else ""]
    for one in (found, *others):
        notes += [*one.notes, *doubts_of(one, document)]
    notes = list(dict.fromkeys(filter(None, notes)))
    return f"{told} ({'; '.join(notes)})" if notes else told


def _of_series(address: Address, name: str) -> Address:
    return replace(address, parts=(*address.parts[:-1], name))


def _largest(found: Resolved) -> int:
    return (found.series.max if found.series is not None else None) or 0


def _larger_of(found: Sequence[Resolved]) -> str:
    """ "the larger of inverted 0 and ended_by_watchdog 1"."""
    said = [f"{one.series.name} {_largest(one)}" for one in found if one.series is not None]
    return f"the larger of {' and '.join(said)}"


def _resolved_value(found: Resolved, statistic: str) -> str:
    if found.series is None:
        return "-"
    try:
        if is_of_kernel_time(statistic):
            return whole_length(length_of(found, statistic))
        return format_value(value_of(found.series, statistic), found.series.unit)
    except AddressError as error:
        return f"- ({error.cause})"


_SHOWN_ELSEWHERE = {"unit", "test", "columns", "rows", "at", "kind", "source", "load"}
_OF_THE_COPY = {"lost_in_our_copy", "sic"}  # about what was transcribed
_NOT_CONDITIONS = _SHOWN_ELSEWHERE | _OF_THE_COPY

PRIORITY = (
    'The measuring threads run at the maximum priority less one. The studies\' "maximum possible" '
    "is --priority max. On Linux threads of the stop class (migration, lockup watchdog) preempt "
    "either; other threads at SCHED_FIFO 99 preempt the default and are equal to the maximum, so "
    "they wait until it blocks."
)


@dataclass(frozen=True)
class Row:
    """The figures of one system: values with unit, or words. `addresses` are relative to the
    test. `system` and `load` are empty if the study does not give them."""

    addresses: tuple[str, ...]
    load: str
    system: str
    figures: str


@dataclass(frozen=True)
class PublishedTable:
    """One table of a study for a test. `conditions` are those that the study gives."""

    title: str
    reference: str
    rows: list[Row]
    conditions: tuple[str, ...]
    note: str

    @property
    def columns(self) -> list[str]:
        """Titles of the columns that are not empty."""
        has_load = any(row.load for row in self.rows)
        has_system = any(row.system for row in self.rows)
        return ["address", *["load"] * has_load, *["system"] * has_system, "figures"]


def published_data(test: str) -> list[dict[str, Any]]:
    """Every published figure of `test`, as data."""
    return [
        {
            "table": f"{one.study}/{one.table}",
            "system": one.system,
            "address": str(one.address),
            "conditions": dict(one.address.conditions),
            "statistic": one.statistic,
            "unit": one.unit,
            "value": one.value,
        }
        for one in figures_of(test)
    ]


# Gives further rows for the figures of one address.
Beside = Callable[[Sequence[Figure]], Iterable[Row]]


def _nothing(figures: Sequence[Figure]) -> Iterable[Row]:
    return ()


def published_tables(test: str, beside: Beside = _nothing) -> list[PublishedTable]:
    """The published figures of `test`, by table."""
    by_table: dict[str, list[Figure]] = {}
    for figure in figures_of(test):
        by_table.setdefault(f"{figure.study}/{figure.table}", []).append(figure)
    return [_table(reference, group, beside) for reference, group in by_table.items()]


def within(address: Address) -> str:
    """An address without its test; empty for the test itself."""
    return str(address).removeprefix(address.test).removeprefix("/")


def _table(reference: str, figures: list[Figure], beside: Beside) -> PublishedTable:
    study = load_studies()[figures[0].study]
    title = f"{study.reading.short}: {study.title}"
    rows = list(_study_rows(study, figures, beside))
    return PublishedTable(
        title=title + (f" ({study.author})" if study.author else ""),
        reference=reference,
        rows=_merged(rows) if all(one.statistic is None for one in figures) else rows,
        conditions=(*_conditions(study, figures[0].table), *_systems(study, figures)),
        note=" ".join(dict.fromkeys(filter(None, (one.note for one in figures)))),
    )


def _study_rows(study: Study, figures: list[Figure], beside: Beside) -> Iterator[Row]:
    """For each address a row for each system, with all of its statistics."""
    places: dict[tuple[str, str], dict[str, list[Figure]]] = {}
    for one in figures:
        load = one.address.conditions.get("load", "")
        system = study.systems[one.system].name if one.system else ""
        systems = places.setdefault((within(one.address), load), {})
        systems.setdefault(system, []).append(one)
    for (address, load), systems in places.items():
        group = next(iter(systems.values()))
        yield from beside(group)
        for system, group in systems.items():
            yield Row((address,), load, system, _figures(group))


def _merged(rows: list[Row]) -> list[Row]:
    """Joins rows of several addresses that have the same text."""
    said: dict[tuple[str, str, str], list[str]] = {}
    for row in rows:
        said.setdefault((row.load, row.system, row.figures), []).extend(row.addresses)
    return [
        Row(tuple(addresses), load, system, figures)
        for (load, system, figures), addresses in said.items()
    ]


def _figures(group: list[Figure]) -> str:
    unit = group[0].unit or ""
    texts = [f"{one.statistic} {_listed_value(one.value)}" for one in group if one.statistic]
    return f"{', '.join(texts)} {unit}".strip() if texts else _listed_value(group[0].value)


def _listed_value(value: Any) -> str:
    if isinstance(value, Mapping):
        is_long = any(isinstance(one, list) for one in value.values())
        return ("; " if is_long else ", ").join(
            f"{key} {_listed_value(one)}" for key, one in value.items()
        )
    if isinstance(value, list):
        return ", ".join(map(_listed_value, value))
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _conditions(study: Study, table: str) -> Iterator[str]:
    """The conditions of a table, as far as the study gives them."""
    fields = study.tables[table]
    told: dict[str, Any] = dict(study.conditions)
    if isinstance(fields, dict) and "columns" in fields:
        told |= {
            name: value
            for name, value in fields.items()
            if name not in _SHOWN_ELSEWHERE | _OF_THE_COPY
        }
    for name, value in told.items():
        if value is not None:
            unit = f" {fields['unit']}" if name in _in_unit(study, table) else ""
            yield f"{name.replace('_', ' ')}: {_listed_value(value)}{unit}"
    if isinstance(fields, dict) and "load" in fields and fields["load"] is None:
        yield "load: not published"


def _in_unit(study: Study, table: str) -> list[str]:
    reading = study.reading.tables.get(table)
    return reading.in_unit if reading else []


def _systems(study: Study, figures: list[Figure]) -> Iterator[str]:
    """The machines of the systems. If figures name systems in words, what each name means."""
    if all(one.system for one in figures):
        for key in dict.fromkeys(one.system for one in figures if one.system):
            system = study.systems[key]
            told = ", ".join(filter(None, (system.hardware, system.configuration)))
            if told:
                yield f"{system.name}: {told}"
        return
    for key, system in study.systems.items():
        yield f"{key}: {', '.join(filter(None, (system.name, system.hardware)))}"


_ID, _FIGURES, _STUDY, _OURS = 26, 9, 7, 11
_INDENT = "  "
_LEGEND = """\
study: the stars that the study gave. hardstone: those that the same figures have by the formula
of docs/method/rating.md, <= where figures are missing. Where each star comes from:"""
_WHY = "hardstone show published:qnx --why"


def print_published_systems(rows: Sequence[PublishedRow]) -> None:
    """A line for each system; name, hardware and the rated categories below it."""
    screen = LightLines()
    study = ""
    for one in rows:
        if one.study != study:
            study = one.study
            _print_wrapped(screen, f"{one.study}: {one.title}", "", "bold")
            head = f"{'figures':>{_FIGURES}}{'study':>{_STUDY}}{'hardstone':>{_OURS}}"
            screen.line(f"{'system':{_ID}}{head}")
        bound = "<= " if one.is_at_most and one.stars is not None else ""
        figures = f"{one.figure_count:>{_FIGURES}}{stars_number(one.study_stars):>{_STUDY}}"
        ours = f"{bound + stars_number(one.stars):>{_OURS}}"
        screen.line(f"{one.id:{_ID}}{figures}{ours}", "cyan")
        for text in (f"{one.name}; {one.hardware}", ", ".join(one.categories)):
            _print_wrapped(screen, text.removesuffix("; "), _INDENT, "")
        if one is rows[-1] or rows[rows.index(one) + 1].study != study:
            screen.line()
    _print_wrapped(screen, _LEGEND, "", "")
    screen.parts([" " * 4, (clean(as_typed(_WHY)), "cyan")])


def _print_wrapped(screen: LightLines, text: str, indent: str, style: str) -> None:
    for line in textwrap.wrap(one_line(text), screen.width - len(indent), break_on_hyphens=False):
        screen.parts([indent, (line, style)])
