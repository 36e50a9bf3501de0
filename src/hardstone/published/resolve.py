"""Finds the one series of a run that the address of a figure names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from hardstone.errors import InputError, remedy_text
from hardstone.model import Result, RunDocument, Series, Verdict
from hardstone.published.address import Address

_BOTH = "both"  # measured once: threads and processes take the same way
_SCOPES = {"thread", "process"}


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
    found = [one for one in named.series if _has_labels(one, wanted)]
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

    series: list[Series]
    values: tuple[str, ...]


def _of_series(address: Address, result: Result) -> _Named:
    names = list(dict.fromkeys(one.name for one in result.series))
    last = address.parts[-1] if address.parts else ""
    if last in names:
        return _Named([one for one in result.series if one.name == last], address.parts[:-1])
    if len(names) != 1:
        told = f"has the series {', '.join(names)}" if names else "has no series"
        raise AddressError(f"{address}: {address.test} {told}", "end the address with one of them")
    return _Named(result.series, address.parts)


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
        for one in among:
            for label, used in one.labels.items():
                is_fewer = isinstance(used, int) and asked and used < int(text)
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
    return next((one for one in lists if text.isdecimal() and int(text) in one), [])


def _only(address: Address, result: Result, found: list[Series], notes: list[str]) -> Resolved:
    if len(found) > 1:
        seen = "; ".join(_labels(one) for one in found)
        raise AddressError(
            f"{address}: {len(found)} series of {found[0].name} match: {seen}",
            "name the label values that tell them apart",
        )
    if found[0].count == 0:
        raise AddressError(f"{address}: the series has no values", "measure for longer")
    return Resolved(result, series=found[0], notes=[*notes, *_unlike(result)])


def _absence(wanted: Address, among: list[Series]) -> str:
    asked = [f"{name} {value}" for name, value in wanted.labels.items()] + list(wanted.parts)
    seen = "; ".join(filter(None, map(_labels, among))) or "no labels"
    return f"no series with {', '.join(asked)}; there are {seen}"


def _labels(series: Series) -> str:
    return ", ".join(f"{name} {value}" for name, value in series.labels.items())


def _command(address: Address) -> str:
    load = address.conditions.get("load", "")
    return f"hardstone run {address.test}" + (f" --load {load}" if load else "")
