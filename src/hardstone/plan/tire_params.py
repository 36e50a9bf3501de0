"""Parameters of a simulation that do not fit together: refused before anything is measured."""

from __future__ import annotations

from collections.abc import Mapping
from math import isqrt

from hardstone.model import ParamValue
from hardstone.plan.problems import Problems
from hardstone.units import format_ns

_SECOND_NS = 1_000_000_000


def longest_stable_ns(stiffness_per_s2: int) -> int:
    """The longest step at which the integration is stable with springs of this stiffness."""
    return isqrt(_SECOND_NS**2 // (6 * stiffness_per_s2))


def check_tire(test: str, params: Mapping[str, ParamValue], problems: Problems) -> None:
    """Notes masses that make no tire, more threads than masses, and an unstable step. Nothing for
    a test without masses."""
    masses, threads = _numbers(params, "masses"), _numbers(params, "threads")
    if not masses or not threads:
        return
    for count in masses:
        if count % 4:
            cause = f"{test} masses: {count} is no multiple of 4"
            near = sorted({max(count // 4 * 4, 4), count // 4 * 4 + 4})
            problems.add(cause, f"give {' or '.join(map(str, near))}")
    if max(threads) > min(masses):
        cause = f"{test} threads: {max(threads)} for {min(masses)} masses"
        problems.add(cause, "give at most as many threads as masses")
    _check_step(test, params, problems)


def _check_step(test: str, params: Mapping[str, ParamValue], problems: Problems) -> None:
    step_ns, stiffness = params.get("step_ns"), params.get("stiffness_per_s2")
    if not isinstance(step_ns, int) or not isinstance(stiffness, int) or stiffness == 0:
        return
    limit_ns = longest_stable_ns(stiffness)
    if step_ns > limit_ns:
        cause = f"{test} step_ns: {format_ns(step_ns)} is unstable at {stiffness} per s^2"
        problems.add(cause, f"give {limit_ns}ns or less, or leave stiffness_per_s2 out")


def _numbers(params: Mapping[str, ParamValue], name: str) -> list[int]:
    values = params.get(name)
    return [one for one in values if isinstance(one, int)] if isinstance(values, list) else []
