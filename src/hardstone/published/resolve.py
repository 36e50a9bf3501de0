"""Finds the one series of a run that the address of a figure names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple
from weakref import KeyedRef

from hardstone.errors import InputError, remedy_text
from hardstone.model import Result, RunDocument, Series, Verdict
from hardstone.published.address import Address
from hardstone.units import whole_number

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
    raise AddressError(
        f"{address}: {_absence(wanted, named.series)}", f"run it: {_command(address)}"
    )


def _behaviour(address: Address, result: Result) -> Resolved:
    if not result.verdicts:
        why = f": {result.reason}" if result.reason else ""
        raise AddressError(
            f"{address}: no verdict ({result.status}{why})",
            remedy_text(result.remedy, result.command),
        )
    return Resolved(result, verdicts=result.verdicts, notes=_unlike(result))


def _unlike(result: Result) -> list[str]:
    """How a result that has figures is incomplete."""
    if result.status != "measured":
        return [f"{result.status}: {result.reason or 'no reason was given'}"]
    return [] if result.complete and not result.interrupted else ["cut off before its end"]


def _result(address: Address, document: RunDocument, conditions: Mapping[str, str]) -> Result:
    of_test = [one for one in document.results if one.test == address.test]
    if not of_test:
        raise AddressError(f"{address}: the run has no {address.test}", _command(address))
    found = [one for one in of_test if is_under(one, conditions)]
    said = ", ".join(f"{name} {value}" for name, value in conditions.items())
    if not found:
        raise AddressError(
            f"{address}: the run has no {address.test} under {said}", _command(address)
        )
    if len(found) > 1:
        raise AddressError(
            f"{address}: the run has {len(found)} results of {address.test}"
            + (f" under {said}" if said else ""),
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
    by_name = _look(result).by_name
    last = address.parts[-1] if address.parts else ""
    if last in by_name:
        return _Named(last, by_name[last], address.parts[:-1])
    if len(by_name) != 1:
        told = f"has the series {_some(by_name, ', ')}" if by_name else "has no series"
        raise AddressError(f"{address}: {address.test} {told}", "end the address with one of them")
    return _Named(next(iter(by_name)), result.series, address.parts)


class _Looked(NamedTuple):
    """The series of a result by name, and those by label values, while it holds the same."""

    result: KeyedRef[int, Result]
    series: list[Series]
    length: int
    by_name: dict[str, list[Series]]
    by_values: dict[tuple[str, ...], list[Series]]
    most_labels: dict[str, int]


# By id, while the result lives: a gate asks for each of 1000 series, a comparison for more.
_LOOKED: dict[int, _Looked] = {}


def _look(result: Result) -> _Looked:
    key, series = id(result), result.series
    known = _LOOKED.get(key)
    if known is not None and known.series is series and known.length == len(series):
        return known
    found = _Looked(KeyedRef(result, _forget, key), series, len(series), {}, {}, {})
    for one in series:
        found.by_name.setdefault(one.name, []).append(one)
        values = _key(one.name, map(str, one.labels.values()))
        found.by_values.setdefault(values, []).append(one)
        most = found.most_labels.get(one.name, 0)
        found.most_labels[one.name] = max(most, len(one.labels))
    _LOOKED[key] = found
    return found


def _forget(gone: KeyedRef[int, Result]) -> None:
    _LOOKED.pop(gone.key, None)


def _key(name: str, values: Iterable[str]) -> tuple[str, ...]:
    return name, *sorted(_BOTH if value in _SCOPES else value for value in values)


def _candidates(wanted: Address, named: _Named, result: Result) -> list[Series]:
    """Series that `wanted` may be. An address that gives a value for every label has few."""
    values = (*wanted.labels.values(), *wanted.parts)
    looked = _look(result)
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
    for text in (*wanted.labels.values(), *wanted.parts):
        asked = _asked(text, result)
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


def _asked(text: str, result: Result) -> list[int | str]:
    """The list of a parameter that holds the number `text`; empty if none does."""
    lists = (value for value in result.params.values() if isinstance(value, list))
    return next((one for one in lists if whole_number(text) in one), [])


def _only(address: Address, result: Result, found: list[Series], notes: list[str]) -> Resolved:
    if len(found) > 1:
        seen = _some(map(_labels, found), "; ")
        raise AddressError(
            f"{address}: {len(found)} series of {found[0].name} match: {seen}",
            "name the label values that tell them apart",
        )
    if found[0].count == 0:
        raise AddressError(f"{address}: the series has no values", "measure for longer")
    return Resolved(result, series=found[0], notes=[*notes, *_unlike(result)])


def _absence(wanted: Address, among: list[Series]) -> str:
    asked = [f"{name} {value}" for name, value in wanted.labels.items()] + list(wanted.parts)
    seen = _some(filter(None, map(_labels, among)), "; ") or "no labels"
    return f"no series with {', '.join(asked)}; there are {seen}"


def _some(names: Iterable[str], between: str) -> str:
    first = list(islice(names, _MOST_NAMED + 1))
    return between.join([*first[:_MOST_NAMED], "..."] if len(first) > _MOST_NAMED else first)


def _labels(series: Series) -> str:
    return ", ".join(f"{name} {value}" for name, value in series.labels.items())


def _command(address: Address) -> str:
    load = address.conditions.get("load", "")
    return f"hardstone run {address.test}" + (f" --load {load}" if load else "")
