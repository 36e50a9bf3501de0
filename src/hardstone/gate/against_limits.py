"""Holds systems against limits: a check for each limit and each condition that it is for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hardstone.errors import InputError
from hardstone.gate.judge import Finding, doubted, judge_published, judge_series
from hardstone.gate.limit import ABOVE, CLAIMS, Limit
from hardstone.gate.outcome_document import Check
from hardstone.gate.weighed_system import WeighedRun, published_series
from hardstone.model import Result, Unit, Verdict
from hardstone.subjects import MeasuredRun, Missing, PublishedSystem, published_system

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
    series = found.held.series
    finding = _other_unit(limit, series.unit)
    finding = finding or doubted(judge_series(limit, series), found.doubts)
    source = f"{run.id} {found.held.address} {limit.figure}"
    return _check(limit, run.id, run.condition, finding, series.unit, source)


def _claims_of_run(limit: Limit, run: WeighedRun) -> Check:
    results = run.results_of(limit)
    verdicts = [verdict for one in results for verdict in one.verdicts]
    if not verdicts:
        why = results[0] if results else None
        finding = _missing(Missing(_without(limit, why)))
    else:
        finding = _of_verdicts(verdicts)
        for one in results:
            finding = doubted(finding, run.doubts_for(limit, one))
    source = f"{run.id} {limit.address.test}"
    return _check(limit, run.id, run.condition, finding, source=source)


def _without(limit: Limit, result: Result | None) -> str:
    if result is None:
        return f"the run has no {limit.address.test}"
    return f"{result.status}: {result.reason or 'no claims'}"


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
        why = f"the study says nothing of {', '.join(asked)}"
        return _check(limit, label, _NONE, Finding("INCONCLUSIVE", _NONE, why))
    if limit.statistic == CLAIMS:
        verdicts = chosen.verdicts(limit.address.test)
        finding = _missing(verdicts) if isinstance(verdicts, Missing) else _of_verdicts(verdicts)
        return _check(limit, label, limit.load or _NONE, finding)
    held = published_series(chosen, limit.address)
    if isinstance(held, Missing):
        return _check(limit, label, limit.load or _NONE, _missing(held))
    amount = held.amount(limit.statistic)
    if limit.statistic == ABOVE:
        amount = Missing("a study has no distribution: limit its max")
    where = ", ".join(held.notes) or _NONE
    if isinstance(amount, Missing):
        return _check(limit, label, where, _missing(amount), held.unit)
    judged = _other_unit(limit, held.unit) or judge_published(limit, amount)
    return _check(limit, label, where, judged, held.unit, amount.source)


def _missing(what: Missing) -> Finding:
    remedy = f"; {what.remedy}" if what.remedy else ""
    return Finding("INCONCLUSIVE", "missing", f"{what.reason}{remedy}")


def _other_unit(limit: Limit, unit: Unit) -> Finding | None:
    """A limit in another unit would hold of everything or of nothing: InputError where a person
    wrote it, INCONCLUSIVE for a figure of a study."""
    asked = "ns" if limit.statistic == ABOVE else limit.bound.kind
    if asked == unit:
        return None
    names = {"ns": "a time", "bytes_per_s": "a rate", "count": "a count"}
    why = f"{limit.address} is {names[unit]}, and the limit {names.get(asked, asked)}"
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
