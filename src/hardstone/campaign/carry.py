"""Parameters that a test takes from earlier results of the same run.

Pure. The stored plan has the parameters as requested, a result those that its probe was given.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from hardstone.model import ParamValue, PlannedTest, Result
from hardstone.stats.calibrated import is_asked_alike
from hardstone.stats.conditions import condition_of

_EITHER_SCOPE = "both"


class _Means(NamedTuple):
    """A list of means, in ns, of `series` of another test: for each kind, for each scope."""

    param: str
    test: str
    series: str


_MEANS = {"SEM-P-RTP": _Means("signal_wait_ns", "SEM-P-SIG", "signal_wait")}


def carried(planned: PlannedTest, results: Sequence[Result]) -> PlannedTest:
    """`planned` with the parameters that `results`, the earlier ones of its run, determine.

    A parameter with a value of its own is left as it is.
    """
    given = _calibrated(planned, results) | _means(planned, results)
    return msgspec.structs.replace(planned, params=planned.params | given) if given else planned


def _calibrated(planned: PlannedTest, results: Sequence[Result]) -> dict[str, ParamValue]:
    """What the test calibrated under the condition that was measured first."""
    found: dict[str, ParamValue] = {}
    for result in results:
        if result.test != planned.test or not is_asked_alike(planned.params, result):
            continue
        for name, value in result.calibrated.items():
            if planned.params.get(name) == 0 and value > 0:
                found.setdefault(name, value)
    return found


def _means(planned: PlannedTest, results: Sequence[Result]) -> dict[str, ParamValue]:
    """The means of another test under the same condition; 0 where it has none."""
    wanted = _MEANS.get(planned.test)
    asked = planned.params.get(wanted.param) if wanted is not None else None
    kinds, scopes = planned.params.get("kinds"), planned.params.get("scopes")
    if wanted is None or not isinstance(asked, list) or any(asked):
        return {}
    if not isinstance(kinds, list) or not isinstance(scopes, list):
        return {}
    means = _means_under(planned, wanted, results)
    values: list[int | str] = [
        means.get((kind, scope)) or means.get((kind, _EITHER_SCOPE), 0)
        for kind in kinds
        for scope in scopes
    ]
    return {wanted.param: values} if any(values) else {}


def _means_under(
    planned: PlannedTest, wanted: _Means, results: Sequence[Result]
) -> dict[tuple[int | str | None, int | str | None], int]:
    """Means in whole ns by kind and scope."""
    return {
        (series.labels.get("kind"), series.labels.get("scope")): max(round(series.mean), 1)
        for result in results
        if result.test == wanted.test and condition_of(result) == condition_of(planned)
        if result.status == "measured" and result.complete
        for series in result.series
        if series.name == wanted.series and series.mean is not None
    }
