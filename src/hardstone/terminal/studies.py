"""Published figures on a terminal: of one test, and of a study."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich import box
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from hardstone.systems.published import (
    Address,
    Figure,
    Study,
    figures_of,
    load_studies,
)
from hardstone.terminal.console import print_table, words


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
