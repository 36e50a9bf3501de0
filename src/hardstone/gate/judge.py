"""Judges one figure by its interval: PASS, FAIL or INCONCLUSIVE; and which figures of a run may
be judged.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from hardstone.event_names import SHORT
from hardstone.gate.limits import ABOVE, Limit, amount_text, share_text
from hardstone.model import Result, Series
from hardstone.stats.consistency import KindOfTime, is_contradictory, kind_of_time, trust_of
from hardstone.stats.histogram import Above, above
from hardstone.stats.identity import parse_layout, step_of
from hardstone.stats.quantiles import (
    is_printable,
    upper_bound,
    values_for,
    why_no_quantile,
    why_no_share,
)
from hardstone.stats.run_gate import Outcome
from hardstone.stats.trust import MISSING, lacks, lacks_realtime
from hardstone.stats.two_runs import (
    Estimate,
    mean_estimate,
    quantile_estimate,
    share_estimate,
    values_for_share,
    values_needed,
)
from hardstone.systems.published import Address, AddressError, resolve
from hardstone.systems.subjects import (
    Amount,
    MeasuredRun,
    MeasuredSeries,
    Missing,
    PublishedSeries,
    PublishedSystem,
)
from hardstone.units import format_count

_KINDS = {
    KindOfTime.EMULATED: "the processor is emulated; to allow this, write emulated = true",
    KindOfTime.COUNTED: "time is an instruction count; to allow this, write emulated = true",
    KindOfTime.UNKNOWN: "the processor may be emulated; to allow this, write emulated = true",
}


@dataclass(frozen=True)
class Doubts:
    """`barring`: why the figure decides nothing. `weakening`: why it cannot pass; one value beyond
    a limit is a proof all the same. "": no such reason."""

    barring: str = ""
    weakening: str = ""


@dataclass(frozen=True)
class FoundSeries:
    """The series of a limit, with what makes it doubtful."""

    measured: MeasuredSeries
    doubts: Doubts


@dataclass(frozen=True)
class WeighedRun:
    """A run under one condition."""

    run: MeasuredRun

    @property
    def id(self) -> str:
        return self.run.id

    @property
    def condition(self) -> str:
        """Load, CPU configuration and preemption model, for people."""
        one = self.run.condition
        model = [f"preemption {one.preemption}"] if one.preemption else []
        return ", ".join([f"load {one.load}", one.cpu_config, *model])

    def fits(self, limit: Limit) -> bool:
        """Whether the limit is for this condition."""
        one = self.run.condition
        asked = (limit.load, limit.cpu_config)
        has_policy = limit.policy is None or any(
            result.conditions.policy == limit.policy
            for result in self.run.results
            if result.test == limit.address.test
        )
        return has_policy and all(
            want in (None, is_so) for want, is_so in zip(asked, one[:2], strict=True)
        )

    def find(self, limit: Limit) -> FoundSeries | Missing:
        """The series at the address of `limit`, or why there is none."""
        conditions = {} if limit.policy is None else {"policy": limit.policy}
        try:
            found = resolve(limit.address, self.run.alone, **conditions)
        except AddressError as error:
            return Missing(error.cause.removeprefix(f"{limit.address}: "), error.remedy)
        if found.series is None:
            return Missing(f"{limit.address.test} has no figures, only claims")
        measured = MeasuredSeries(self.run.id, found.result, found.series)
        doubts = self.doubts_for(limit, found.result)
        other = [one for one in found.notes if one not in measured.notes]
        if is_contradictory(found.series):
            doubts = Doubts(barring="cannot be true: see the top of its run")
        elif other:
            doubts = Doubts(barring=f"differs from the request: {', '.join(other)}")
        return FoundSeries(measured, doubts)

    def doubts_for(self, limit: Limit, result: Result) -> Doubts:
        """The doubts about figures of `result` for `limit`; one that names no load needs none."""
        found = self.doubts_of(
            result, is_emulated=limit.is_emulated, needs_load=limit.load is not None
        )
        is_uncounted = limit.statistic == ABOVE and lacks(self.run.document, "count")
        if is_uncounted and not found.weakening:
            return replace(found, weakening="the file does not say how many values there were")
        return found

    def doubts_of(
        self, result: Result, *, is_emulated: bool = True, needs_load: bool = True
    ) -> Doubts:
        """The doubts about any figure of `result`. `is_emulated`: emulation is no doubt;
        `needs_load`: a load that fell short is one."""
        barring = self._untrustworthy or ("" if is_emulated else self._emulated)
        barring = barring or self._refused_realtime(result)
        if not barring and lacks(self.run.document, "unit"):
            barring = "the file does not state its unit: import it with --unit"
        weakening = _incomplete(result) or self._unfinished
        if not weakening and lacks(self.run.document, "values"):
            weakening = f"{MISSING}: one of them may be larger"
        if not weakening and needs_load and any(event.name in SHORT for event in result.events):
            weakening = "the load was lower than requested: request less"
        return Doubts(barring, weakening)

    @cached_property
    def _untrustworthy(self) -> str:
        trust = trust_of(self.run.document)
        if trust.grade != "untrustworthy":
            return ""
        return f"the run is untrustworthy: {trust.reasons[0] if trust.reasons else 'no reason'}"

    def _refused_realtime(self, result: Result) -> str:
        """Figures of work that was to be scheduled as real-time, and was not, decide nothing; those
        of work that was to run under another policy do."""
        if not lacks_realtime(result) or self.run.document.plan.policy == result.conditions.policy:
            return ""
        return "not scheduled as real-time, although requested"

    @cached_property
    def _emulated(self) -> str:
        return _KINDS.get(kind_of_time(self.run.document.system), "")

    @property
    def _unfinished(self) -> str:
        status = self.run.document.status
        return "" if status == "complete" else f"the run is {status}"

    def results_of(self, limit: Limit) -> list[Result]:
        """The results of the test of `limit`."""
        return [
            one
            for one in self.run.results
            if one.test == limit.address.test and limit.policy in (None, one.conditions.policy)
        ]


def _incomplete(result: Result) -> str:
    if result.status != "measured":
        return f"{result.status}: {result.reason or 'no reason was given'}"
    if not result.complete or result.interrupted:
        return "cut off before it ended"
    return ""


def published_series(system: PublishedSystem, address: Address) -> PublishedSeries | Missing:
    """The series of a study at `address`: label values in any order, then the series."""
    wanted = sorted([*address.labels.values(), *address.parts])
    of_test = [one for one in system.held() if one.test == address.test]
    fitting = [one for one in of_test if wanted in (_values(one), _values(one)[:-1])]
    exact = [one for one in fitting if _values(one) == wanted]
    found = exact or fitting
    if len(found) == 1:
        return found[0]
    if found:
        return Missing(f"{len(found)} published series match")
    return Missing(
        "not published",
        f"there are {', '.join(one.address for one in list(of_test)[:5])}" if of_test else "",
    )


def _values(one: PublishedSeries) -> list[str]:
    return sorted([*one.labels.values(), *one.parts, *([one.name] if one.name else [])])


@dataclass(frozen=True)
class Finding:
    """What a check found; as in Check. `is_proof`: single values decided it, so that nothing
    unknown can change it."""

    outcome: Outcome
    found: str
    reason: str = ""
    value: float | None = None
    low: float | None = None
    high: float | None = None
    is_proof: bool = False


def doubted(finding: Finding, doubts: Doubts) -> Finding:
    """`finding` where it may stand, else INCONCLUSIVE with the reason."""
    is_proven = finding.outcome == "FAIL" and finding.is_proof
    is_open = finding.outcome == "INCONCLUSIVE"
    reason = doubts.barring or ("" if is_proven or is_open else doubts.weakening)
    if not reason:
        return finding
    return Finding("INCONCLUSIVE", finding.found, reason, finding.value, finding.low, finding.high)


def judge_series(limit: Limit, series: Series) -> Finding:
    """The outcome for measured values, of a statistic of the unit of `series`."""
    if limit.statistic == ABOVE:
        return _judge_above(limit, series)
    if limit.statistic in ("max", "min"):
        return _judge_extreme(limit, series)
    if limit.statistic == "mean":
        return _judge_mean(limit, series)
    return _judge_quantile(limit, series)


def _judge_quantile(limit: Limit, series: Series) -> Finding:
    if why := why_no_quantile(series):
        return Finding("INCONCLUSIVE", "-", f"not measured: {why}")
    q = limit.quantile
    if q is None or not (is_printable(q, series.count) and is_printable(1 - q, series.count)):
        few = f"{_count(series.count)} values are too few for {limit.statistic}"
        few += f", which needs {_count(values_for(max(q, 1 - q)))}" if q is not None else ""
        return Finding("INCONCLUSIVE", "-", f"{few}: measure longer")
    return _judge_estimate(limit, series, quantile_estimate(series, q), limit.statistic)


def judge_published(limit: Limit, amount: Amount) -> Finding:
    """The outcome for a published figure: a value, or a bound that stays one."""
    bound = limit.bound.number
    low, high = amount.lowest, amount.highest
    if limit.is_at_most:
        is_within = high is not None and high <= bound
        is_beyond = low > bound or (amount.above is not None and amount.above >= bound)
    else:
        is_within = low >= bound
        is_beyond = high is not None and (high < bound or high == bound == amount.below)
    outcome: Outcome = "PASS" if is_within else "FAIL" if is_beyond else "INCONCLUSIVE"
    reason = (
        ""
        if outcome != "INCONCLUSIVE"
        else ("the study gives only a bound, which does not decide it")
    )
    return Finding(outcome, _published_text(amount), reason, amount.value, low, high)


def _published_text(amount: Amount) -> str:
    """A published figure: "2.2 us", "< 100 ns"."""
    if amount.value is not None:
        return amount_text(amount.value, amount.unit)
    if amount.below is not None:
        return f"< {amount_text(amount.below, amount.unit)}"
    return f"> {amount_text(amount.above or 0.0, amount.unit)}"


def _judge_extreme(limit: Limit, series: Series) -> Finding:
    """Of whole steps a value stands for all of its step: it passes with the worse end, and fails
    with the better one."""
    is_max = limit.statistic == "max"
    value = series.max if is_max else series.min
    if value is None:
        return _not_measured(series, "maximum" if is_max else "minimum")
    text = amount_text(value, series.unit)
    high = value + step_of(series) - 1
    best, worst = (value, high) if is_max else (high, value)
    if best > limit.bound.number if is_max else best < limit.bound.number:
        return Finding("FAIL", text, "one value beyond a limit is a proof", value, is_proof=True)
    if worst > limit.bound.number if is_max else worst < limit.bound.number:
        stands = f"{text} stands for up to {amount_text(high, series.unit)}"
        why = f"the limit is within the step of the values: {stands}"
        return Finding("INCONCLUSIVE", text, why, value, value, high)
    side = "above" if is_max else "below"
    return Finding("PASS", text, _as_observed(series.count, side), value)


def _not_measured(series: Series, what: str) -> Finding:
    why = f"not measured: the file has no {what}" if series.count else "the series has no values"
    return Finding("INCONCLUSIVE", "-", why)


def _judge_mean(limit: Limit, series: Series) -> Finding:
    if series.stddev is not None or not parse_layout(series.histogram.layout).is_imported:
        return _judge_estimate(limit, series, mean_estimate(series), "mean")
    if series.mean is None:
        return _not_measured(series, "mean")
    found = amount_text(series.mean, series.unit)
    why = "the file has no standard deviation, so the mean has no interval"
    return Finding("INCONCLUSIVE", found, why, series.mean)


def _as_observed(count: int, side: str) -> str:
    """What a run without a value beyond its limit does not exclude."""
    if count < 2:
        return f"as observed: what share may be {side} is not known"
    share = share_text(upper_bound(0, max(count, 0)))
    return (
        f"as observed: up to {share} may be {side} (95 %, if all {_count(count)} are independent)"
    )


def _judge_estimate(limit: Limit, series: Series, estimate: Estimate | None, name: str) -> Finding:
    if estimate is None:
        return Finding("INCONCLUSIVE", "-", "the series has no values")
    value, low, high = estimate
    shown, lowest, highest = (
        "unbounded" if one is None else amount_text(one, series.unit) for one in estimate
    )
    found = f"{shown} ({lowest} to {highest})"
    bound = limit.bound.number
    outcome = _within(low, high, bound, is_at_most=limit.is_at_most)
    reason = ""
    if outcome == "INCONCLUSIVE":
        reason = "the limit is inside the interval: measure longer"
        if low is None and high is None:
            reason = "too few values for an interval: measure longer"
        is_open = (high if limit.is_at_most else low) is None
        if is_open and name != "mean" and (q := limit.quantile) is not None:
            reason = (
                f"{_count(series.count)} dependent values are not enough for an interval of "
                f"{name}: it takes "
            )
            reason += f"about {_count(values_needed(q))}"
    return Finding(outcome, found, reason, value, low, high)


def _within(low: float | None, high: float | None, bound: float, *, is_at_most: bool) -> Outcome:
    if is_at_most:
        if high is not None and high <= bound:
            return "PASS"
        return "FAIL" if low is not None and low > bound else "INCONCLUSIVE"
    if low is not None and low >= bound:
        return "PASS"
    return "FAIL" if high is not None and high < bound else "INCONCLUSIVE"


def _judge_above(limit: Limit, series: Series) -> Finding:
    seen = above(series, limit.deadline_ns or 0)
    if not series.count:
        return Finding("INCONCLUSIVE", "-", "the series has no values")
    found = f"{_counted(seen)} of {_count(series.count)}"
    if why := why_no_share(series, seen):
        return _judge_uncounted(limit, seen, why)
    if limit.bound.kind == "count":
        outcome = _within(seen.low, seen.high, limit.bound.number, is_at_most=True)
        reason = {
            "PASS": _as_observed(series.count, "above") if not seen.high else "as observed",
            "FAIL": "single values beyond a limit are a proof",
            "INCONCLUSIVE": _open_text(series, seen),
        }[outcome]
        return Finding(
            outcome, found, reason, seen.high, seen.low, seen.high, is_proof=outcome == "FAIL"
        )
    share = share_estimate(seen.low, seen.high or 0, series.count)
    outcome = _within(share.low, share.high, limit.bound.number, is_at_most=True)
    found += f", {share_text(share.low or 0.0)} to {share_text(share.high or 0.0)}"
    reason = ""
    if outcome == "INCONCLUSIVE":
        needed = values_for_share(limit.bound.number)
        reason = "the limit is inside the interval (95 %, dependent values)"
        if not seen.high and needed:
            reason += f": with none above, {_count(needed)} values are needed"
    return Finding(outcome, found, reason, share.value, share.low, share.high)


def _open_text(series: Series, seen: Above) -> str:
    """Why the count above a deadline is open."""
    past = series.histogram.overflow
    if past and seen.high is not None and seen.high - seen.low >= past - 1:
        return f"{_count(past)} values are above the last bucket, on either side of the deadline"
    return "the deadline is inside a histogram bucket, whose values may be on either side"


def _judge_uncounted(limit: Limit, seen: Above, why: str) -> Finding:
    """Where the source does not say how many values are above: those that certainly are may be too
    many, and nothing passes."""
    is_proof = limit.bound.kind == "count" and seen.low > limit.bound.number
    if is_proof:
        reason = "single values beyond a limit are a proof"
        return Finding("FAIL", _counted(seen), reason, low=seen.low, is_proof=True)
    return Finding("INCONCLUSIVE", _counted(seen), f"not measured: {why}", low=seen.low)


def _counted(seen: Above) -> str:
    """ "12", "3 to 17", "12 or more"."""
    if seen.high is None:
        return f"{_count(seen.low)} or more"
    return _count(seen.low) if seen.is_exact else f"{_count(seen.low)} to {_count(seen.high)}"


def _count(number: int) -> str:
    """The count with plain spaces: reports of CI systems have no room for others."""
    return format_count(number).replace("\N{NO-BREAK SPACE}", " ")
