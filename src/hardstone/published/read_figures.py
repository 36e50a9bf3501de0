"""Reads every figure of published.json, with its address."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from hardstone.errors import InputError
from hardstone.model import Register
from hardstone.published.address import Address, parse_address
from hardstone.published.studies import Case, FigureReading, Study, TableReading, load_studies

# Fields of a table, and roles of its keys, that are not labels of a series.
_NO_LABELS = {"address", "test", "series", "statistic", "unit", "system", "load"}
_LABEL_FIELDS = ("kind", "source", "via")
_CONDITIONS = ("load", "policy", "cpu_config")
_STATISTICS = {"avg": "mean"}
_NO_LOAD = "any"


@dataclass(frozen=True)
class Figure:
    """One published figure. `value` is a number, words, or a bound such as {"below": 0.1};
    `statistic` is None if it is words. `system` is the key of a system of the study. `params`
    are the test parameters that the study fixes; `note` is what a reader must know.
    `or_series`: the figure of a run is the larger of the addressed series and these."""

    study: str
    table: str
    system: str | None
    address: Address
    statistic: str | None
    unit: str | None
    value: float | str | dict[str, float]
    params: Mapping[str, int] = field(default_factory=dict)
    note: str = ""
    or_series: tuple[str, ...] = ()


@cache
def all_figures() -> tuple[Figure, ...]:
    """All figures, in the order of the file."""
    return tuple(itertools.chain(*map(study_figures, load_studies().values())))


def figures_of(test: str) -> list[Figure]:
    """The published figures of `test`; often none."""
    return [figure for figure in all_figures() if figure.address.test == test]


def tables_of(test: str) -> list[str]:
    """The tables of published.json with figures of `test`: STUDY/TABLE, each once."""
    return list(dict.fromkeys(f"{one.study}/{one.table}" for one in figures_of(test)))


def is_measurable(figure: Figure, register: Register) -> bool:
    """Whether the probe has the test of `figure`; some figures belong to tests to come."""
    return any(test.id == figure.address.test for test in register.tests)


def study_figures(study: Study) -> Iterator[Figure]:
    """The figures of one study. InputError if file and reading do not match."""
    for name, reading in study.reading.tables.items():
        table = study.tables[name]
        for words, value in _cells(table, reading):
            yield from _figures(study, name, reading, words, value)
    for single in study.reading.figures:
        yield _single(study, single)


def _cells(table: Mapping[str, Any], reading: TableReading) -> Iterator[tuple[dict[str, str], Any]]:
    """Each cell with the values of its keys by role. A table without `rows` is its rows."""
    common = {name: table[name] for name in ("test", "unit", "load") if table.get(name)}
    common |= {name: table[name] for name in _LABEL_FIELDS if name in table}
    for key, row in table.get("rows", table).items():
        words = common | _said(key, reading.rows)
        if isinstance(row, list):
            yield from ((words | one, cell) for one, cell in _columns(table, reading, row))
        elif isinstance(row, dict):
            words |= {name: row[name] for name in _LABEL_FIELDS if name in row}
            named = {name: cell for name, cell in row.items() if name not in _LABEL_FIELDS}
            yield from ((words | _said(name, reading.columns), named[name]) for name in named)
        else:
            yield words, row


def _columns(
    table: Mapping[str, Any], reading: TableReading, row: list[Any]
) -> Iterator[tuple[dict[str, str], Any]]:
    said = reading.keys or [_said(name, reading.columns) for name in table["columns"]]
    return ((words, cell) for words, cell in zip(said, row, strict=True) if words)


def _said(key: str, roles: list[str]) -> dict[str, str]:
    """The parts of a key by role: "thread/none/max", "qnx avg"."""
    if len(roles) == 1:
        return {roles[0]: key}
    parts = key.split("/") if "/" in key else key.split()
    if len(parts) != len(roles):
        raise InputError(f"published.json: '{key}' does not have the parts {', '.join(roles)}")
    return dict(zip(roles, parts, strict=True))


def _figures(
    study: Study, name: str, reading: TableReading, words: Mapping[str, str], value: Any
) -> Iterator[Figure]:
    if value is None:
        return
    address = _address(reading, words, study.tables[name].get("at", {}))
    case = reading.cases.get(address.test, Case())
    each = case.each or reading.each
    statistic = words.get("statistic", reading.statistic)
    for chosen in itertools.product(*each.values()):
        labels = {**address.labels, **dict(zip(each, chosen, strict=True))}
        yield Figure(
            study=study.key,
            table=name,
            system=_system(study, words.get("system")),
            address=Address(address.test, address.parts, labels, address.conditions),
            statistic=_STATISTICS.get(statistic, statistic) if statistic else None,
            unit=words.get("unit"),
            value=value,
            params={**reading.params, **case.params},
            note=_one_line(reading.note),
        )


def _address(
    reading: TableReading, words: Mapping[str, str], at: Mapping[str, Mapping[str, Any]]
) -> Address:
    stem = parse_address(words.get("address") or words["test"])
    case = reading.cases.get(stem.test, Case())
    series = words.get("series") or case.series or reading.series
    parts = (*stem.parts, series) if series else stem.parts
    implied = {**_at(at, stem.test), **_at(reading.at, stem.test)}
    implied |= {**reading.labels, **case.labels}
    implied |= {name: word for name, word in words.items() if name not in _NO_LABELS}
    if words.get("load", _NO_LOAD) != _NO_LOAD:
        implied["load"] = words["load"]
    labels = {name: word for name, word in implied.items() if name not in _CONDITIONS}
    conditions = {name: word for name, word in implied.items() if name in _CONDITIONS}
    return Address(stem.test, parts, labels, conditions)


def _at(at: Mapping[str, Mapping[str, Any]], test: str) -> dict[str, str]:
    """What `at` implies for `test`; the keys of `at` are first words of test IDs."""
    found: dict[str, str] = {}
    for words, implied in at.items():
        if test == words or test.startswith(f"{words}-"):
            found |= {name: str(value) for name, value in implied.items()}
    return found


def _system(study: Study, key: str | None) -> str | None:
    if key is not None and key not in study.systems:
        raise InputError(f"published.json: {study.key} has no system '{key}'")
    return key


def _single(study: Study, single: FigureReading) -> Figure:
    value: Any = study.tables
    for key in single.path:
        value = value[key]
    return Figure(
        study=study.key,
        table=single.path[0],
        system=_system(study, single.system),
        address=parse_address(single.address),
        statistic=single.statistic,
        unit=single.unit,
        value=value,
        note=_one_line(single.note),
        or_series=tuple(single.or_series),
    )


def _one_line(text: str) -> str:
    return " ".join(text.split())
