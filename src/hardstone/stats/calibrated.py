"""The work that a test calibrates: the same in all results of a run, or they compare nothing."""

from __future__ import annotations

from collections.abc import Mapping

from hardstone.model import ParamValue, Result, RunDocument, Series

UNEQUAL = "unequal work, so that the times of its results do not compare"
Key = tuple[str, str]


def is_asked_alike(params: Mapping[str, ParamValue], result: Result) -> bool:
    """Whether `result` is of a request with `params`, whatever was found by calibration."""
    return _fixed(params, result) == _fixed(result.params, result)


def _fixed(params: Mapping[str, ParamValue], result: Result) -> dict[str, ParamValue]:
    """Parameters that are not calibrated; the probe does not tell those that are left empty."""
    return {
        name: value
        for name, value in params.items()
        if name not in result.calibrated and value != []
    }


def unequal_work(document: RunDocument) -> dict[str, list[str]]:
    """By test the calibrated parameters that differ between results asked for alike."""
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
    """What of `calibrated` is of this series: of the label kind=add {"operations": 7} from
    add_operations."""
    heads = [f"{value}_" for value in series.labels.values() if isinstance(value, str)]
    return {
        name.removeprefix(head): value
        for name, value in calibrated.items()
        for head in heads
        if name.startswith(head)
    }
