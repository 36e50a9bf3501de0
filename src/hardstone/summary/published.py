"""The published figures of a test, for people: what `explain` prints and the pages show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from hardstone.published import Figure, Study, figures_of, load_studies, note_of, tables_of

_SHOWN_ELSEWHERE = {"unit", "test", "columns", "rows", "at", "kind", "source", "load", "sic"}

PRIORITY = (
    'The measuring threads run at the maximum priority less one. The studies\' "maximum possible" '
    "is --priority max. On Linux threads of the stop class (migration, lockup watchdog) preempt "
    "either; other threads at SCHED_FIFO 99 preempt the default and are equal to the maximum, so "
    "they wait until it blocks."
)


@dataclass(frozen=True)
class Row:
    """What one system gave: `figures` are values with unit, or words. `addresses` are within the
    test. `system` and `load` are empty where the study says neither."""

    addresses: tuple[str, ...]
    load: str
    system: str
    figures: str


@dataclass(frozen=True)
class PublishedTable:
    """What one table of a study says of a test. `conditions` are those that the study names."""

    title: str
    reference: str
    rows: list[Row]
    conditions: tuple[str, ...]
    note: str

    @property
    def columns(self) -> list[str]:
        """Titles of the columns in which any row says something."""
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


def published_tables(test: str) -> list[PublishedTable]:
    """The published figures of `test`, by table; none where nobody has published any."""
    figures = figures_of(test)
    return [
        _table(reference, [one for one in figures if f"{one.study}/{one.table}" == reference])
        for reference in tables_of(test)
    ]


def _table(reference: str, figures: list[Figure]) -> PublishedTable:
    study = load_studies()[figures[0].study]
    title = f"{study.reading.short}: {study.title}"
    rows = list(_rows(study, figures))
    return PublishedTable(
        title=title + (f" ({study.author})" if study.author else ""),
        reference=reference,
        rows=_merged(rows) if all(one.statistic is None for one in figures) else rows,
        conditions=(*_conditions(study, figures[0].table), *_systems(study, figures)),
        note=note_of(figures[0]),
    )


def _rows(study: Study, figures: list[Figure]) -> Iterator[Row]:
    """A row for each system and address, with all of its statistics."""

    def place(one: Figure) -> tuple[str, str, str]:
        within = str(one.address).removeprefix(one.address.test).removeprefix("/")
        load = one.address.conditions.get("load", "")
        return within, load, study.systems[one.system].name if one.system else ""

    for (address, load, system), group in groupby(figures, place):
        yield Row((address,), load, system, _figures(list(group)))


def _merged(rows: list[Row]) -> list[Row]:
    """Words that are said of several addresses are one row."""
    said: dict[tuple[str, str, str], list[str]] = {}
    for row in rows:
        said.setdefault((row.load, row.system, row.figures), []).extend(row.addresses)
    return [
        Row(tuple(addresses), load, system, figures)
        for (load, system, figures), addresses in said.items()
    ]


def _figures(group: list[Figure]) -> str:
    unit = group[0].unit or ""
    texts = [f"{one.statistic} {_value(one.value)}" for one in group if one.statistic]
    return f"{', '.join(texts)} {unit}".strip() if texts else _value(group[0].value)


def _value(value: float | str | Mapping[str, float]) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{word} {_value(limit)}" for word, limit in value.items())
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _conditions(study: Study, table: str) -> Iterator[str]:
    """Under what a table was made, as far as the study tells."""
    fields = study.tables[table]
    told: dict[str, Any] = dict(study.conditions)
    if isinstance(fields, dict) and "columns" in fields:
        told |= {name: value for name, value in fields.items() if name not in _SHOWN_ELSEWHERE}
    for name, value in told.items():
        if value is not None:
            shown = ", ".join(value) if isinstance(value, list) else value
            yield f"{name.replace('_', ' ')}: {shown}"
    if isinstance(fields, dict) and "load" in fields and fields["load"] is None:
        yield "load: not published"


def _systems(study: Study, figures: list[Figure]) -> Iterator[str]:
    """The machines of the systems; where words name systems, what they name them."""
    if all(one.system for one in figures):
        for key in dict.fromkeys(one.system for one in figures if one.system):
            system = study.systems[key]
            told = ", ".join(filter(None, (system.hardware, system.configuration)))
            if told:
                yield f"{system.name}: {told}"
        return
    for key, system in study.systems.items():
        yield f"{key}: {', '.join(filter(None, (system.name, system.hardware)))}"
