"""Work that a test calibrates. Results are comparable only if they did equal work."""

from __future__ import annotations

from collections.abc import Mapping

from hardstone.model import ParamValue, Result, RunDocument, Series

UNEQUAL = "unequal work, so the times are not comparable"
Key = tuple[str, str]


def is_asked_alike(params: Mapping[str, ParamValue], result: Result) -> bool:
    """Whether `result` answers a request with `params`, apart from calibrated parameters."""
    return _fixed(params, result) == _fixed(result.params, result)


def _fixed(params: Mapping[str, ParamValue], result: Result) -> dict[str, ParamValue]:
    """Parameters that are not calibrated. The probe does not report empty ones."""
    return {
        name: value
        for name, value in params.items()
        if name not in result.calibrated and value != []
    }


def unequal_work(document: RunDocument) -> dict[str, list[str]]:
    """Calibrated parameters that differ between results of equal requests, by test."""
    firsts: dict[Key, list[Result]] = {}
    unequal: dict[str, list[str]] = {}
    for result in document.results:
        for name, value in result.calibrated.items():
            alike = [
                one
                for one in firsts.setdefault((result.test, name), [])
                if is_asked_alike(one.params, result)
            ]
            if not alike:
                firsts[result.test, name].append(result)
            elif alike[0].calibrated[name] != value:
                unequal.setdefault(result.test, []).append(name)
    return {test: list(dict.fromkeys(names)) for test, names in unequal.items()}


def work_of(series: Series, calibrated: Mapping[str, int]) -> dict[str, int]:
    """The part of `calibrated` that belongs to `series`: with the label kind=add,
    `add_operations` gives {"operations": 7}."""
    heads = [f"{value}_" for value in series.labels.values() if isinstance(value, str)]
    return {
        name.removeprefix(head): value
        for name, value in calibrated.items()
        for head in heads
        if name.startswith(head)
    }
