"""The figures of the studies: their addresses, how each is read, and its value with its unit."""

from __future__ import annotations

import itertools
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import KeyedRef

import msgspec

from hardstone.errors import InputError, remedy_text
from hardstone.model import Result, RunDocument, Series, Verdict
from hardstone.units import whole_number

if TYPE_CHECKING:
    from hardstone.kernel.analysis import SectionLength
    from hardstone.kernel.results import KernelTime, Operation


@dataclass(frozen=True)
class Address:
    """The place of a figure in a run.

    `parts` are label values in any order, then the name of the series, which may be left out if
    the test has only one. `labels` are values with a known label. `conditions` are the values that
    the result's conditions must have: load, policy.
    """

    test: str
    parts: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    conditions: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        *values, series = self.parts or ("",)
        return "/".join(filter(None, (self.test, *self.labels.values(), *values, series)))


_TEST_ID = re.compile("[A-Z0-9]+-[A-Z]-[A-Z0-9]+", re.ASCII | re.IGNORECASE)


def parse_address(text: str) -> Address:
    """Address from its text. InputError if a part is empty. IDs of tests may be typed in any case;
    other tests are named as their tool is."""
    test, *parts = text.split("/")
    if not test or not all(parts):
        raise InputError(
            f"'{text}' is not the address of a figure", "write TEST/label-values/series"
        )
    return Address(test.upper() if _TEST_ID.fullmatch(test) else test, tuple(parts))


_OWN = {"title", "author", "hardware", "systems", "load", "configuration"}
_OWN |= {"exhibits", "conclusions", "conditions", "remarks", "name"}  # of study.papers


class System(msgspec.Struct, kw_only=True, frozen=True):
    """A system that a study measured; further fields of the file are ignored.

    `priorities`: how many there are; `classes`: the first and the last priority of each scheduling
    class, where the study names them.
    """

    name: str
    hardware: str = ""
    configuration: str = ""
    stars: float | None = None
    clock_tick_hz: int | None = None
    priorities: int | None = None
    classes: dict[str, tuple[int, int]] = {}


class Case(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """What a study means for one test; the names are explained in reading.toml."""

    series: str | None = None
    labels: dict[str, str] = {}
    each: dict[str, list[str]] = {}
    params: dict[str, int] = {}


class TableReading(Case, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """What the keys of a table mean; the names are explained in reading.toml."""

    rows: list[str]
    columns: list[str] = []
    keys: list[dict[str, str]] = []
    statistic: str | None = None
    at: dict[str, dict[str, str]] = {}
    of_system: dict[str, dict[str, dict[str, str]]] = {}
    cases: dict[str, Case] = {}
    in_unit: list[str] = []
    note: str = ""


class FigureReading(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """A single figure, by its path in the study."""

    path: list[str]
    address: str
    system: str | None = None
    statistic: str | None = None
    unit: str | None = None
    or_series: list[str] = []
    note: str = ""


class StudyReading(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """How one study is read. `unread`: paths that hold no figure, with the reason."""

    short: str
    tables: dict[str, TableReading] = {}
    figures: list[FigureReading] = []
    unread: dict[str, str] = {}


@dataclass(frozen=True)
class Study:
    """A study: its systems, its tables as they are in the file, and how to read them."""

    key: str
    title: str
    author: str
    conditions: Mapping[str, str]
    systems: Mapping[str, System]
    tables: Mapping[str, Any]
    reading: StudyReading


@cache
def load_studies() -> Mapping[str, Study]:
    """The studies that are part of hardstone, by key."""
    folder = resources.files("hardstone.systems")
    found = msgspec.json.decode(folder.joinpath("published.json").read_bytes())
    readings = tomllib.loads(folder.joinpath("reading.toml").read_text("utf-8"))
    return read_studies(found["studies"], readings)


def read_studies(found: Mapping[str, Any], readings: Mapping[str, Any]) -> Mapping[str, Study]:
    """Studies from both files. KeyError or msgspec.ValidationError if they do not match."""
    return {
        key: Study(
            key=key,
            title=table["title"],
            author=table.get("author", ""),
            conditions={
                name: table[name] for name in ("hardware", "load", "configuration") if name in table
            },
            systems=msgspec.convert(table["systems"], dict[str, System]),
            tables={name: value for name, value in table.items() if name not in _OWN},
            reading=msgspec.convert(readings[key], StudyReading),
        )
        for key, table in found.items()
    }


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
            columns = reading.keys or [_said(name, reading.columns) for name in table["columns"]]
            for column, cell in zip(columns, row, strict=True):
                if column:
                    yield words | column, cell
        elif isinstance(row, dict):
            words |= {name: row[name] for name in _LABEL_FIELDS if name in row}
            for name, cell in row.items():
                if name not in _LABEL_FIELDS:
                    yield words | _said(name, reading.columns), cell
        else:
            yield words, row


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
    of_system = reading.of_system.get(words.get("system", ""), {})
    implied = {**_at(at, stem.test), **_at(reading.at, stem.test), **_at(of_system, stem.test)}
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


_BOTH = "both"  # measured once: threads and processes take the same way
_SCOPES = {"thread", "process"}
_MOST_NAMED = 20  # in the words of an error


class AddressError(InputError):
    """An address that names no series of the run, or several."""


@dataclass(frozen=True)
class Resolved:
    """What an address names in a run: a series, or the verdicts of a test of behaviour.

    `notes` say how the series differs from what was asked for.
    """

    result: Result
    series: Series | None = None
    verdicts: list[Verdict] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def resolve(address: Address, document: RunDocument, **conditions: str) -> Resolved:
    """The one series at `address`. AddressError, with the reason, if there is none or several.

    `conditions` (load, cpu_config, policy) choose between results where the study does not say
    under which it measured; conditions of the study take precedence.
    """
    result = _result(address, document, {**conditions, **address.conditions})
    if not address.parts and (result.verdicts or "-B-" in address.test):
        return _behaviour(address, result)
    named = _of_series(address, result)
    wanted = Address(address.test, named.values, address.labels)
    found = [one for one in _candidates(wanted, named, result) if _has_labels(one, wanted)]
    if found:
        return _only(address, result, found, [])
    shortened = list(_shortened(wanted, result, named.series))
    if shortened:
        notes = [one.note for one in shortened]
        return _only(address, result, [one.series for one in shortened], notes)
    asked = [f"{name} {value}" for name, value in wanted.labels.items()] + list(wanted.parts)
    seen = _some(filter(None, map(_labels, named.series)), "; ") or "no labels"
    raise AddressError(
        f"{address}: no series with {', '.join(asked)}; there are {seen}",
        f"run it: {_command(address)}",
    )


def _behaviour(address: Address, result: Result) -> Resolved:
    if not result.verdicts:
        why = f": {result.reason}" if result.reason else ""
        raise AddressError(
            f"{address}: no verdict ({result.status}{why})",
            remedy_text(result.remedy, result.command),
        )
    return Resolved(result, verdicts=result.verdicts, notes=_incomplete(result))


def _incomplete(result: Result) -> list[str]:
    """How a result that has figures is incomplete."""
    if result.status != "measured":
        return [f"{result.status}: {result.reason or 'no reason was given'}"]
    return [] if result.complete and not result.interrupted else ["cut off before it ended"]


def _result(address: Address, document: RunDocument, conditions: Mapping[str, str]) -> Result:
    of_test = [one for one in document.results if one.test == address.test]
    if not of_test:
        raise AddressError(f"{address}: the run has no {address.test}", _command(address))
    found = [one for one in of_test if is_under(one, conditions)]
    under = ", ".join(f"{name} {value}" for name, value in conditions.items())
    if not found:
        raise AddressError(
            f"{address}: the run has no {address.test} under {under}", _command(address)
        )
    if len(found) > 1:
        raise AddressError(
            f"{address}: the run has {len(found)} results of {address.test}"
            + (f" under {under}" if under else ""),
            "name the load, CPU configuration or policy",
        )
    if found[0].status != "measured" and not found[0].series:
        reason = found[0].reason or "no reason was given"
        raise AddressError(
            f"{address}: {found[0].status}, {reason}",
            remedy_text(found[0].remedy, found[0].command),
        )
    return found[0]


def is_under(result: Result, conditions: Mapping[str, str]) -> bool:
    """Whether `result` was measured under `conditions`."""
    return all(getattr(result.conditions, name) == value for name, value in conditions.items())


@dataclass(frozen=True)
class _Named:
    """The series that an address matches by name, and its label values."""

    name: str
    series: list[Series]
    values: tuple[str, ...]


def _of_series(address: Address, result: Result) -> _Named:
    by_name = _read_series(result).by_name
    last = address.parts[-1] if address.parts else ""
    if last in by_name:
        return _Named(last, by_name[last], address.parts[:-1])
    if len(by_name) != 1:
        seen = f"has the series {_some(by_name, ', ')}" if by_name else "has no series"
        raise AddressError(f"{address}: {address.test} {seen}", "end the address with one of them")
    return _Named(next(iter(by_name)), result.series, address.parts)


class _Cached(NamedTuple):
    """The series of a result by name, and those by label values, while it holds the same."""

    result: KeyedRef[int, Result]
    series: list[Series]
    length: int
    by_name: dict[str, list[Series]]
    by_values: dict[tuple[str, ...], list[Series]]
    most_labels: dict[str, int]


# By id, while the result lives: a gate asks for each of 1000 series, a comparison for more.
_CACHED: dict[int, _Cached] = {}


def _read_series(result: Result) -> _Cached:
    key, series = id(result), result.series
    known = _CACHED.get(key)
    if known is not None and known.series is series and known.length == len(series):
        return known
    found = _Cached(KeyedRef(result, _forget, key), series, len(series), {}, {}, {})
    for one in series:
        found.by_name.setdefault(one.name, []).append(one)
        values = _key(one.name, map(str, one.labels.values()))
        found.by_values.setdefault(values, []).append(one)
        most = found.most_labels.get(one.name, 0)
        found.most_labels[one.name] = max(most, len(one.labels))
    _CACHED[key] = found
    return found


def _forget(gone: KeyedRef[int, Result]) -> None:
    _CACHED.pop(gone.key, None)


def _key(name: str, values: Iterable[str]) -> tuple[str, ...]:
    return name, *sorted(_BOTH if value in _SCOPES else value for value in values)


def _candidates(wanted: Address, named: _Named, result: Result) -> list[Series]:
    """Series that `wanted` may be. An address that gives a value for every label has few."""
    values = (*wanted.labels.values(), *wanted.parts)
    looked = _read_series(result)
    if len(values) < looked.most_labels.get(named.name, 0):
        return named.series
    return looked.by_values.get(_key(named.name, values), [])


@dataclass(frozen=True)
class _Shortened:
    series: Series
    note: str


def _has_labels(series: Series, wanted: Address) -> bool:
    """Whether `series` has the named labels and, under other labels, the remaining values."""
    labels = {name: str(value) for name, value in series.labels.items()}
    same = _SCOPES if labels.get("scope") == _BOTH else set()
    named = {name: _BOTH if value in same else value for name, value in wanted.labels.items()}
    values = Counter(_BOTH if value in same else value for value in wanted.parts)
    rest = Counter(value for name, value in labels.items() if name not in named)
    return named.items() <= labels.items() and values <= rest


def _shortened(wanted: Address, result: Result, among: list[Series]) -> Iterator[_Shortened]:
    """Series with a smaller number than `wanted`, since the system has no more."""
    lists = [value for value in result.params.values() if isinstance(value, list)]
    for text in (*wanted.labels.values(), *wanted.parts):
        asked = next((one for one in lists if whole_number(text) in one), [])
        for one in among if asked else ():
            for label, used in one.labels.items():
                is_fewer = isinstance(used, int) and used < int(text)
                if is_fewer and used not in asked and _has_labels(one, _with(wanted, text, used)):
                    yield _Shortened(one, f"{used} {label} instead of {text}")


def _with(wanted: Address, text: str, used: int | str) -> Address:
    """`wanted` with the number `used` in place of `text`."""
    labels = {name: str(used) if word == text else word for name, word in wanted.labels.items()}
    parts = tuple(str(used) if word == text else word for word in wanted.parts)
    return Address(wanted.test, parts, labels)


def _only(address: Address, result: Result, found: list[Series], notes: list[str]) -> Resolved:
    if len(found) > 1:
        seen = _some(map(_labels, found), "; ")
        raise AddressError(
            f"{address}: {len(found)} series of {found[0].name} match: {seen}",
            "name label values that distinguish them",
        )
    if found[0].count == 0:
        raise AddressError(f"{address}: the series has no values", "measure longer")
    return Resolved(result, series=found[0], notes=[*notes, *_incomplete(result)])


def _some(names: Iterable[str], between: str) -> str:
    first = list(islice(names, _MOST_NAMED + 1))
    return between.join([*first[:_MOST_NAMED], "..."] if len(first) > _MOST_NAMED else first)


def _labels(series: Series) -> str:
    return ", ".join(f"{name} {value}" for name, value in series.labels.items())


def _command(address: Address) -> str:
    load = address.conditions.get("load", "")
    return f"hardstone run {address.test}" + (f" --load {load}" if load else "")


_OF_A_SERIES = {"min": "minimum", "mean": "mean", "max": "maximum"}
_OF_KERNEL_TIME = {"time_90": 0.9, "time_99": 0.99}


def is_of_kernel_time(statistic: str) -> bool:
    """Whether `statistic` is a length of sections, which `length_of` gives."""
    return statistic in _OF_KERNEL_TIME


def length_of(found: Resolved, statistic: str) -> SectionLength:
    """The length below which sections made up a share of kernel time, by the operation that the
    series is labelled with. AddressError, with the reason, if it cannot be told."""
    time, operation = _operation(found)
    if time.is_reference_of_others:
        raise AddressError(
            "other processes had the CPU during most of the reference (operation none)",
            "measure without other work on the CPU",
        )
    if operation.blocking is None:
        raise AddressError("the reference (operation none) is missing or short", "measure longer")
    if operation.kernel_share is None:
        raise AddressError("the time in the kernel was not counted", "measure again")
    length = operation.blocking.lengths[_OF_KERNEL_TIME[statistic]]
    if length is None:
        lacks = (
            operation.lacks(_OF_KERNEL_TIME[statistic]) or "is unknown: its residuals do not fall"
        )
        raise AddressError(f"{statistic} {lacks}", "measure longer")
    return length


def _operation(found: Resolved) -> tuple[KernelTime, Operation]:
    from hardstone.kernel.results import ALL, kernel_time_of

    time = kernel_time_of(found.result)
    labels = found.series.labels if found.series else {}
    name = str(labels.get("operation", ALL))
    if time is None:
        raise AddressError(f"{found.result.test} has no time in kernel sections")
    known = (time.whole, time.reference, *time.operations)
    operation = next((one for one in known if one and one.name == name), None)
    if operation is None:
        raise AddressError(f"no releases of the operation {name}")
    return time, operation


def value_of(series: Series, statistic: str) -> float:
    """The `statistic` of `series` in its unit. AddressError if the series has none."""
    from hardstone.stats.quantiles import (
        is_printable,
        lacking,
        quantile_of_series,
        values_for,
        why_no_quantile,
    )

    if statistic in _OF_A_SERIES:
        value = getattr(series, statistic)
        if value is None and series.count:
            raise AddressError(f"the file has no {_OF_A_SERIES[statistic]}")
        if value is None:
            raise AddressError(f"the series {series.name} has no values", "measure longer")
        return float(value)
    if not statistic.startswith("p"):
        raise AddressError(f"a series has no '{statistic}'")
    q = float(statistic[1:]) / 100
    if why := why_no_quantile(series):
        raise AddressError(why)
    found = quantile_of_series(series, q) if is_printable(q, series.count) else None
    if found is None or found.value is None:
        lacks = lacking(values_for(q), series.count) or "has no value"
        raise AddressError(f"{statistic} {lacks}", "measure longer")
    return float(found.value)
