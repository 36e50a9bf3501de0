"""The outcome of one limit on one series: measured values, or what a study published."""

from __future__ import annotations

from dataclasses import dataclass

from hardstone.gate.limit import ABOVE, Limit, amount_text, share_text
from hardstone.gate.weighed_system import Doubts
from hardstone.model import Series, Unit
from hardstone.stats.above import above
from hardstone.stats.dependent_values import (
    Estimate,
    mean_estimate,
    quantile_estimate,
    share_estimate,
    values_for_share,
    values_needed,
)
from hardstone.stats.exceedance import upper_bound
from hardstone.stats.pair_gate import Outcome
from hardstone.stats.quantiles import is_printable, values_for
from hardstone.subjects import Amount
from hardstone.units import format_count


@dataclass(frozen=True)
class Finding:
    """What a check found; as in Check. `is_proof`: single values decided it, which nothing that is
    not known can change."""

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
        return _judge_estimate(limit, series, mean_estimate(series), "mean")
    q = limit.quantile
    if q is None or not _is_told(q, series.count):
        few = f"{_count(series.count)} values are too few for {limit.statistic}"
        few += f", which needs {_count(values_for(max(q, 1 - q)))}" if q is not None else ""
        return Finding("INCONCLUSIVE", "-", f"{few}: measure for longer")
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
    reason = "" if outcome != "INCONCLUSIVE" else "the study gives a bound, which leaves it open"
    return Finding(outcome, published_text(amount), reason, amount.value, low, high)


def published_text(amount: Amount) -> str:
    """A published figure: "2.2 us", "< 100 ns"."""
    if amount.value is not None:
        return amount_text(amount.value, amount.unit)
    if amount.below is not None:
        return f"< {amount_text(amount.below, amount.unit)}"
    return f"> {amount_text(amount.above or 0.0, amount.unit)}"


def _is_told(q: float, count: int) -> bool:
    return is_printable(q, count) and is_printable(1 - q, count)


def _judge_extreme(limit: Limit, series: Series) -> Finding:
    is_max = limit.statistic == "max"
    value = series.max if is_max else series.min
    if value is None:
        return Finding("INCONCLUSIVE", "-", "the series has no values")
    text = amount_text(value, series.unit)
    is_beyond = value > limit.bound.number if is_max else value < limit.bound.number
    if is_beyond:
        return Finding("FAIL", text, "one value beyond a limit is a proof", value, is_proof=True)
    side = "above" if is_max else "below"
    return Finding("PASS", text, _as_observed(series.count, side), value)


def _as_observed(count: int, side: str) -> str:
    """What a run without a value beyond its limit does not exclude."""
    share = share_text(upper_bound(0, max(count, 0)))
    return f"as observed: up to {share} may be {side} (95 %, were all {_count(count)} independent)"


def _judge_estimate(limit: Limit, series: Series, estimate: Estimate | None, name: str) -> Finding:
    if estimate is None:
        return Finding("INCONCLUSIVE", "-", "the series has no values")
    value, low, high = estimate
    found = f"{_end(value, series.unit)} ({_range(low, high, series.unit)})"
    bound = limit.bound.number
    outcome = _within(low, high, bound, is_at_most=limit.is_at_most)
    reason = ""
    if outcome == "INCONCLUSIVE":
        reason = _straddles(low, high, limit)
        is_open = (high if limit.is_at_most else low) is None
        if is_open and name != "mean" and (q := limit.quantile) is not None:
            reason = f"{_count(series.count)} dependent values do not bound {name}: it takes "
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


def _straddles(low: float | None, high: float | None, limit: Limit) -> str:
    if low is None and high is None:
        return "too few values for an interval: measure for longer"
    return "the limit lies within the interval: measure for longer"


def _judge_above(limit: Limit, series: Series) -> Finding:
    seen = above(series, limit.deadline_ns or 0)
    if not series.count:
        return Finding("INCONCLUSIVE", "-", "the series has no values")
    counted = _count(seen.low) if seen.is_exact else f"{_count(seen.low)} to {_count(seen.high)}"
    found = f"{counted} of {_count(series.count)}"
    if limit.bound.kind == "count":
        outcome = _within(seen.low, seen.high, limit.bound.number, is_at_most=True)
        reason = {
            "PASS": _as_observed(series.count, "above") if not seen.high else "as observed",
            "FAIL": "single values beyond a limit are a proof",
            "INCONCLUSIVE": "the deadline lies within a bucket: its values may be on either side",
        }[outcome]
        return Finding(
            outcome, found, reason, seen.high, seen.low, seen.high, is_proof=outcome == "FAIL"
        )
    share = share_estimate(seen.low, seen.high, series.count)
    outcome = _within(share.low, share.high, limit.bound.number, is_at_most=True)
    found += f", {share_text(share.low or 0.0)} to {share_text(share.high or 0.0)}"
    reason = ""
    if outcome == "INCONCLUSIVE":
        needed = values_for_share(limit.bound.number)
        reason = "the limit lies within the interval (95 %, dependent values)"
        if not seen.high and needed:
            reason += f": with none above it takes {_count(needed)} values"
    return Finding(outcome, found, reason, share.value, share.low, share.high)


def _end(value: float | None, unit: Unit) -> str:
    return "unbounded" if value is None else amount_text(value, unit)


def _range(low: float | None, high: float | None, unit: Unit) -> str:
    return f"{_end(low, unit)} to {_end(high, unit)}"


def _count(number: int) -> str:
    """With plain spaces: reports of CI systems have no room for others."""
    return format_count(number).replace("\N{NO-BREAK SPACE}", " ")
