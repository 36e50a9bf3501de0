"""Limits made from runs: what they reached, with a margin."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from hardstone.errors import InputError
from hardstone.gate.against_limits import check_limits
from hardstone.gate.limit import CLAIMS, Limit, amount_text, parse_value, typed_amount
from hardstone.model import Unit
from hardstone.published import parse_address
from hardstone.stats.conditions import Condition
from hardstone.stats.dependent_values import quantile_estimate, supports
from hardstone.stats.kind_of_time import KindOfTime, kind_of_time
from hardstone.subjects import MeasuredRun, MeasuredSeries, Missing

_QUANTILES = (0.5, 0.99, 0.999)


@dataclass(frozen=True)
class Suggestion:
    """A limit and how it came about. `left_out`: why it must not be used; "": it may be."""

    limit: Limit
    how: str
    left_out: str = ""


@dataclass(frozen=True)
class _Reached:
    """What one series reached in one run: the figure that the limit is made from."""

    statistic: str
    value: float
    said: str
    is_at_most: bool = True


def suggest_limits(runs: Sequence[Sequence[MeasuredRun]], margin: float) -> list[Suggestion]:
    """Limits that all of `runs` pass, each given as its systems, with a `margin` of 0.25 for 25 %.

    Of times the largest value and the quantiles that the runs bound, of rates the least; claims
    that hold in each. A limit that one of the runs does not pass is left out, with the reason. A
    limit names no preemption model, so that it is made from all of them.
    """
    everything = [one for run in runs for one in run]
    found: list[Suggestion] = []
    for condition in dict.fromkeys(one.condition._replace(preemption="") for one in everything):
        own = [one for one in everything if one.condition[:2] == condition[:2]]
        found += _of_series(own, condition, margin)
        found += _of_claims(own, condition)
    return _numbered(_checked(found, runs))


def _numbered(found: Sequence[Suggestion]) -> list[Suggestion]:
    """Those that may be used have the numbers that they will have in a file, others 0."""
    numbers = accumulate(not one.left_out for one in found)
    return [
        replace(one, limit=replace(one.limit, number=0 if one.left_out else number))
        for one, number in zip(found, numbers, strict=True)
    ]


def _of_series(
    runs: Sequence[MeasuredRun], condition: Condition, margin: float
) -> Iterator[Suggestion]:
    by_address: dict[str, list[MeasuredSeries]] = {}
    for run in runs:
        for held in run.held():
            by_address.setdefault(held.address, []).append(held)
    for address, held_by in by_address.items():
        first = held_by[0]
        if first.unit == "count" or first.series.derived:
            continue
        reached = [one for held in held_by for one in _reached(held)]
        for statistic in dict.fromkeys(one.statistic for one in reached):
            same = [one for one in reached if one.statistic == statistic]
            if len(same) == len(held_by):
                yield from _suggestion(address, same, first.unit, condition, margin, runs)


def _reached(held: MeasuredSeries) -> Iterator[_Reached]:
    series = held.series
    if held.unit == "bytes_per_s":
        if series.min:
            said = amount_text(series.min, held.unit)
            yield _Reached("min", series.min, said, is_at_most=False)
        return
    if series.max is not None:
        yield _Reached("max", series.max, amount_text(series.max, held.unit))
    for q in _QUANTILES:
        estimate = quantile_estimate(series, q) if supports(q, series.count) else None
        if estimate is not None and estimate.high is not None and estimate.value is not None:
            said = f"{amount_text(estimate.value, held.unit)}, interval to "
            said += amount_text(estimate.high, held.unit)
            yield _Reached(f"p{100 * q:.8g}", estimate.high, said)


def _suggestion(
    address: str,
    reached: Sequence[_Reached],
    unit: Unit,
    condition: Condition,
    margin: float,
    runs: Sequence[MeasuredRun],
) -> Iterator[Suggestion]:
    is_at_most = reached[0].is_at_most
    worst = (max if is_at_most else min)(reached, key=lambda one: one.value)
    wanted = worst.value * (1 + margin) if is_at_most else worst.value / (1 + margin)
    bound = parse_value(typed_amount(max(wanted, 1), unit, is_up=is_at_most))
    count = f" (worst of {len(reached)} runs)" if len(reached) > 1 else ""
    how = f"observed {worst.said}{count}; {'plus' if is_at_most else 'less'} {100 * margin:g} %"
    if bound is None:
        return
    try:
        limit = Limit(0, parse_address(address), reached[0].statistic, bound, is_at_most)
    except InputError:
        return
    yield Suggestion(_under(limit, condition, runs), how)


def _of_claims(runs: Sequence[MeasuredRun], condition: Condition) -> Iterator[Suggestion]:
    for test in dict.fromkeys(test for run in runs for test in run.tests()):
        verdicts = [run.verdicts(test) for run in runs]
        told = [one for one in verdicts if not isinstance(one, Missing)]
        if told:
            limit = Limit(0, parse_address(test), CLAIMS)
            count = f"all claims hold in {len(told)} of {len(runs)} runs"
            yield Suggestion(_under(limit, condition, runs), count)


def _under(limit: Limit, condition: Condition, runs: Sequence[MeasuredRun]) -> Limit:
    test = limit.address.test
    policies = {one.conditions.policy for run in runs for one in run.results if one.test == test}
    kinds = {kind_of_time(run.document.system) for run in runs}
    return replace(
        limit,
        load=condition.load,
        cpu_config=condition.cpu_config,
        policy=next(iter(policies)) if len(policies) == 1 else None,
        is_emulated=KindOfTime.HARDWARE not in kinds,
    )


def _checked(
    found: Sequence[Suggestion], runs: Sequence[Sequence[MeasuredRun]]
) -> list[Suggestion]:
    """A limit that a run it was made from does not pass must not come out."""
    limits = [replace(one.limit, number=number) for number, one in enumerate(found, 1)]
    problems: dict[int, str] = {}
    for run in runs:
        for check in check_limits(limits, run):
            if check.outcome != "PASS" and check.limit is not None:
                why = f"{check.system}: {check.outcome}: {check.reason}"
                problems.setdefault(check.limit, why)
    return [replace(one, left_out=problems.get(number, "")) for number, one in enumerate(found, 1)]
