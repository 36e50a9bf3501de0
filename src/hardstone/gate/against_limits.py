"""Holds a run against limits or a study, and suggests limits that runs pass."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from itertools import accumulate

from hardstone.errors import InputError, printable
from hardstone.gate.judge import (
    Finding,
    WeighedRun,
    doubted,
    judge_published,
    judge_series,
    published_series,
)
from hardstone.gate.limits import (
    ABOVE,
    CLAIMS,
    LIMITS_SCHEMA,
    Limit,
    Value,
    amount_text,
    parse_value,
    typed_amount,
)
from hardstone.gate.outcome import Check
from hardstone.model import Unit, Verdict
from hardstone.stats.conditions import Condition
from hardstone.stats.consistency import KindOfTime, kind_of_time
from hardstone.stats.identity import highest_of
from hardstone.stats.two_runs import quantile_estimate, supports
from hardstone.systems.published import Address, parse_address
from hardstone.systems.subjects import (
    Amount,
    MeasuredRun,
    MeasuredSeries,
    Missing,
    PublishedSystem,
    published_system,
)

_NONE = "-"


def check_limits(
    limits: Sequence[Limit], systems: Sequence[MeasuredRun | PublishedSystem]
) -> list[Check]:
    """A check for each of `limits` on each of `systems`, which are of one run or one study.

    A limit that names no condition holds under every one in which its test was run; one that fits
    nothing is INCONCLUSIVE. InputError for a limit in another unit than its series has.
    """
    runs = [WeighedRun(one) for one in systems if isinstance(one, MeasuredRun)]
    studies = [one for one in systems if isinstance(one, PublishedSystem)]
    found: list[Check] = []
    for limit in limits:
        found += _on_runs(limit, runs)
        found += [_on_study(limit, one) for one in studies]
    return found


def _on_runs(limit: Limit, runs: Sequence[WeighedRun]) -> list[Check]:
    if not runs:
        return []
    fitting = [one for one in runs if one.fits(limit)]
    if not fitting:
        asked = [
            f"{name} {word}"
            for name, word in (
                ("load", limit.load),
                ("CPU configuration", limit.cpu_config),
                ("policy", limit.policy),
            )
            if word
        ]
        why = f"the run has no {limit.address.test} under {', '.join(asked)}"
        return [_check(limit, runs[0].id, _NONE, Finding("INCONCLUSIVE", _NONE, why))]
    with_test = [one for one in fitting if limit.address.test in one.run.tests()]
    return [
        _claims_of_run(limit, one) if limit.statistic == CLAIMS else _series_of_run(limit, one)
        for one in with_test or fitting[:1]
    ]


def _series_of_run(limit: Limit, run: WeighedRun) -> Check:
    found = run.find(limit)
    if isinstance(found, Missing):
        return _check(limit, run.id, run.condition, _missing(found))
    series = found.measured.series
    finding = _other_unit(limit, series.unit)
    finding = finding or doubted(judge_series(limit, series), found.doubts)
    source = f"{run.id} {found.measured.address} {limit.figure}"
    return _check(limit, run.id, run.condition, finding, series.unit, source)


def _claims_of_run(limit: Limit, run: WeighedRun) -> Check:
    results = run.results_of(limit)
    verdicts = [verdict for one in results for verdict in one.verdicts]
    if verdicts:
        finding = _of_verdicts(verdicts)
        for one in results:
            finding = doubted(finding, run.doubts_for(limit, one))
    elif results:
        why = f"{results[0].status}: {results[0].reason or 'no claims'}"
        finding = _missing(Missing(why))
    else:
        finding = _missing(Missing(f"the run has no {limit.address.test}"))
    source = f"{run.id} {limit.address.test}"
    return _check(limit, run.id, run.condition, finding, source=source)


def _of_verdicts(verdicts: Iterable[Verdict]) -> Finding:
    all_of = list(verdicts)
    failed = [one for one in all_of if not one.passed]
    count = f"{len(all_of) - len(failed)} of {len(all_of)} claims hold"
    if not failed:
        return Finding("PASS", count)
    more = f" and {len(failed) - 1} more" if len(failed) > 1 else ""
    why = f"{failed[0].name}{more}: {failed[0].evidence}"
    return Finding("FAIL", count, why, is_proof=True)


def _on_study(limit: Limit, system: PublishedSystem) -> Check:
    asked = [word for word in (limit.cpu_config, limit.policy) if word]
    chosen = system
    if limit.load and limit.load in system.loads:
        chosen = published_system(system.id, limit.load)
    elif limit.load:
        asked.insert(0, f"load {limit.load}")
    label = f"{system.id}: {system.study.reading.short}"
    if asked:
        why = f"the study does not state {', '.join(asked)}"
        return _check(limit, label, _NONE, Finding("INCONCLUSIVE", _NONE, why))
    if limit.statistic == CLAIMS:
        verdicts = chosen.verdicts(limit.address.test)
        finding = _missing(verdicts) if isinstance(verdicts, Missing) else _of_verdicts(verdicts)
        return _check(limit, label, limit.load or _NONE, finding)
    series = published_series(chosen, limit.address)
    if isinstance(series, Missing):
        return _check(limit, label, limit.load or _NONE, _missing(series))
    amount = series.amount(limit.statistic)
    if limit.statistic == ABOVE:
        amount = Missing("a study publishes no distribution: limit its max")
    where = ", ".join(series.notes) or _NONE
    if isinstance(amount, Missing):
        return _check(limit, label, where, _missing(amount), series.unit)
    judged = _other_unit(limit, series.unit) or judge_published(limit, amount)
    return _check(limit, label, where, judged, series.unit, amount.source)


def _missing(what: Missing) -> Finding:
    remedy = f"; {what.remedy}" if what.remedy else ""
    return Finding("INCONCLUSIVE", "missing", f"{what.reason}{remedy}")


def _other_unit(limit: Limit, unit: Unit) -> Finding | None:
    """Everything or nothing would pass a limit in another unit: InputError where a person wrote
    it, INCONCLUSIVE for a figure of a study; None for a limit in the same unit."""
    asked = "ns" if limit.statistic == ABOVE else limit.bound.kind
    if asked == unit:
        return None
    names = {"ns": "a time", "bytes_per_s": "a rate", "count": "a count"}
    why = f"{limit.address} is {names[unit]}, but the limit is {names.get(asked, asked)}"
    if limit.number:
        raise InputError(f"limit {limit.number}: {why}", "change its unit")
    return Finding("INCONCLUSIVE", _NONE, why)


def _check(
    limit: Limit,
    system: str,
    condition: str,
    finding: Finding,
    unit: Unit | None = None,
    source: str = "",
) -> Check:
    return Check(
        outcome=finding.outcome,
        system=system,
        condition=condition,
        address=str(limit.address),
        statistic=limit.figure,
        wanted=limit.wanted,
        found=finding.found,
        reason=finding.reason,
        unit=unit,
        value=finding.value,
        low=finding.low,
        high=finding.high,
        limit=limit.number or None,
        source=source,
    )


_AT_MOST, _AT_LEAST = ("max", "mean"), ("min", "mean")


def limits_of_study(system: PublishedSystem, pattern: str = "*") -> tuple[list[Limit], list[str]]:
    """Limits that ask for what `system` was published to reach, in tests that match `pattern`;
    and a note on the figures that give no limit. Their numbers are 0: they are in no file."""
    found: list[Limit] = []
    open_ended = 0
    for series in system.held():
        if not fnmatchcase(series.test, pattern):
            continue
        for statistic in series.statistics():
            amount = series.amount(statistic)
            wanted = _AT_LEAST if series.unit == "bytes_per_s" else _AT_MOST
            if statistic not in wanted or series.unit == "count" or not isinstance(amount, Amount):
                continue
            bound = amount.lowest if series.unit == "bytes_per_s" else amount.highest
            if bound is None:
                open_ended += 1
                continue
            # Without the conditions of the study: the run has those that it has.
            address = replace(series.figures[0].address, conditions={})
            value = Value(bound, series.unit)
            found.append(Limit(0, address, statistic, value, wanted is _AT_MOST))
    for test in system.tests():
        verdicts = system.verdicts(test) if fnmatchcase(test, pattern) else Missing("")
        if not isinstance(verdicts, Missing) and all(one.passed for one in verdicts):
            found.append(Limit(0, Address(test), CLAIMS))
    notes = [f"no limit: for {open_ended} figures only a lower bound was published"]
    return found, notes if open_ended else []


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
    text: str
    is_at_most: bool = True


def suggest_limits(runs: Sequence[Sequence[MeasuredRun]], margin: float) -> list[Suggestion]:
    """Limits that all of `runs` pass, each given as its systems, with a `margin` of 0.25 for 25 %.

    Times are limited by their largest value and the quantiles that the runs bound, rates by their
    least value, tests of behaviour by their claims. A limit that one of the runs does not pass is
    left out, with the reason. A limit names no preemption model, so it is made from all of them.
    """
    everything = [one for run in runs for one in run]
    found: list[Suggestion] = []
    for condition in dict.fromkeys(one.condition._replace(preemption="") for one in everything):
        own = [one for one in everything if one.condition[:2] == condition[:2]]
        found += _of_series(own, condition, margin)
        found += _of_claims(own, condition)
    checked = _checked(found, runs)
    # Those that may be used have the numbers that they will have in a file, others 0.
    numbers = accumulate(not one.left_out for one in checked)
    return [
        replace(one, limit=replace(one.limit, number=0 if one.left_out else number))
        for one, number in zip(checked, numbers, strict=True)
    ]


def _of_series(
    runs: Sequence[MeasuredRun], condition: Condition, margin: float
) -> Iterator[Suggestion]:
    by_address: dict[str, list[MeasuredSeries]] = {}
    for run in runs:
        for series in run.held():
            by_address.setdefault(series.address, []).append(series)
    for address, measured in by_address.items():
        first = measured[0]
        if first.unit == "count" or first.series.derived:
            continue
        reached = [one for each in measured for one in _reached(each)]
        for statistic in dict.fromkeys(one.statistic for one in reached):
            same = [one for one in reached if one.statistic == statistic]
            if len(same) == len(measured):
                yield from _suggestion(address, same, first.unit, condition, margin, runs)


def _reached(measured: MeasuredSeries) -> Iterator[_Reached]:
    series, unit = measured.series, measured.unit
    if unit == "bytes_per_s":
        if series.min:
            yield _Reached("min", series.min, amount_text(series.min, unit), is_at_most=False)
        return
    highest = highest_of(series)
    if highest is not None:
        yield _Reached("max", highest, amount_text(highest, unit))
    for q in _QUANTILES:
        estimate = quantile_estimate(series, q) if supports(q, series.count) else None
        if estimate is not None and estimate.high is not None and estimate.value is not None:
            text = f"{amount_text(estimate.value, unit)}, interval to "
            text += amount_text(estimate.high, unit)
            yield _Reached(f"p{100 * q:.8g}", estimate.high, text)


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
    how = f"observed {worst.text}{count}; {'plus' if is_at_most else 'less'} {100 * margin:g} %"
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
        with_claims = [one for one in verdicts if not isinstance(one, Missing)]
        if with_claims:
            limit = Limit(0, parse_address(test), CLAIMS)
            count = f"all claims hold in {len(with_claims)} of {len(runs)} runs"
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


def limits_text(suggestions: Sequence[Suggestion], runs: Sequence[str], margin: float) -> str:
    """The file of `suggestions`, made from `runs` with `margin`; what was left out as comments."""
    head = [
        f'schema = "{LIMITS_SCHEMA}"',
        "",
        f"# Made by hardstone gate --suggest from {len(runs)} run{'s' * (len(runs) != 1)}, with a "
        f"margin of {100 * margin:g} %.",
        *(f"#   {_comment(one)}" for one in runs),
        "# An observed maximum grows with the length of the run: if you know what your",
        "# application needs, write that instead.",
    ]
    used = [line for one in suggestions if not one.left_out for line in _entry(one)]
    left: list[str] = []
    for one in suggestions:
        if one.left_out:
            limit = one.limit
            what = f"{limit.address} {limit.figure} {limit.wanted} (load {limit.load})"
            left += ["", f"# left out: {_comment(what)}", f"#   {_comment(one.left_out)}"]
    return "\n".join([*head, *used, *left, ""])


def _entry(one: Suggestion) -> list[str]:
    limit = one.limit
    lines = ["", f"# {_comment(one.how)}", "[[limit]]", f"address = {_quoted(str(limit.address))}"]
    if limit.statistic == CLAIMS:
        lines.append(f'{CLAIMS} = "hold"')
    else:
        key, bound = "at_most" if limit.is_at_most else "at_least", str(limit.bound)
        lines += [f'statistic = "{limit.statistic}"', f'{key} = "{bound.replace(" ", "")}"']
    for key in ("load", "cpu_config", "policy"):
        word = getattr(limit, key)
        if word is not None:
            lines.append(f"{key} = {_quoted(word)}")
    return [*lines, "emulated = true"] if limit.is_emulated else lines


def _quoted(text: str) -> str:
    """A TOML string: as JSON, but that DEL is escaped and other letters are not."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _comment(text: str) -> str:
    line = printable(text)
    return line if len(line) <= 400 else f"{line[:397]}..."
