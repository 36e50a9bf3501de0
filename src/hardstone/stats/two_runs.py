"""Two runs: the ratio of one quantile of both and whether it can be called a difference, and the
effect of a setting from pairs of runs.

Samples of one run depend on each other: intervals by order statistics, which assume independence,
were 3 to 7 times too narrow on real data, and more where the machine changed between the runs. So
AS_ONE values count as one: the ranks are those of so much smaller a sample, whose interval is
DEPENDENCE times as wide. With 49 for AS_ONE up to 9 % of pairs of real runs of the same system were
called different, with 125 below 1 % (docs/method.md). What changes from run to run is in no single
run: only interleaved pairs (gate/pairs.py) decide about systems.

A shift function (Doksum 1974) shows where two distributions differ: 1 everywhere if they do not, a
constant if one is the other times that, and a rise at the end if only the tail differs. It has no
verdict.

The unit of the statistics is the run: values within a run depend on each other, and both runs
of a pair see the same drift. Each quantile of a run (the median, and 99 % and 99.9 % if a run
has enough values) gives one difference per pair. All quantiles are tested together (Holm). The
worst observed is shown and not judged: it is a single value, and it grows with the length of
the run.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, log, log1p, sqrt
from statistics import median
from typing import Literal, NamedTuple

import msgspec

from hardstone.event_names import LEFT, LEFT_REMEDY, SHIELDED
from hardstone.model import Histogram, PlannedTest, Result, RunDocument, Series, Unit
from hardstone.stats.consistency import time_meaning
from hardstone.stats.histogram import bins_of
from hardstone.stats.identity import highest_of, ranked_counts_of, step_of
from hardstone.stats.quantiles import (
    Quantile,
    RankedValues,
    is_printable,
    lacking,
    quantile_between,
    quantile_of_bins,
    rank_interval,
    share_high,
    share_low,
    values_for,
    why_no_quantile,
)
from hardstone.stats.resampling import Shift, hodges_lehmann, holm, signed_rank_p

AS_ONE = 125
DEPENDENCE = AS_ONE**0.5
CONFIDENCE = 0.98
_MARGIN = 0.10
Difference = Literal["higher", "lower", "no difference seen", "not decided"]


class QuantileRatio(msgspec.Struct, kw_only=True, frozen=True):
    """The quantile `q` of another run divided by that of the first.

    `low` and `high` bound the ratio at `confidence` within these two runs; None: unbounded.
    `outcome`: "higher" or "lower" if the interval is wholly beyond 1 + `margin` or its inverse, "no
    difference seen" if it is wholly within, else "not decided". `reason`: why it is not.
    """

    q: float
    ratio: float | None
    low: float | None
    high: float | None
    margin: float
    confidence: float
    outcome: Difference
    reason: str = ""


class QuantileEnds(msgspec.Struct, frozen=True):
    """A quantile of one run with its widened interval, none beyond minimum and maximum. `value` is
    None where it lies outside of the histogram; `high` None: unbounded."""

    value: float | None
    low: float
    high: float | None


def compare_quantile(
    first: Series,
    other: Series,
    q: float,
    *,
    quantum: float = 0.0,
    ends: tuple[QuantileEnds, QuantileEnds] | None = None,
) -> QuantileRatio:
    """The quantile `q` of `other` over that of `first`.

    Each side gets half of what CONFIDENCE leaves (Bonferroni), so that the ratio of the ends holds
    at CONFIDENCE. `quantum` is the step of the clock in the unit of the series: both ends are open
    by as much. `ends`: what `quantile_ends` gives for both sides with the same arguments, where
    that is known. ValueError unless 0 < q < 1 and quantum >= 0. InputError if a histogram is
    unreadable.
    """
    if not (0 < q < 1 and quantum >= 0):
        raise ValueError("0 < q < 1 and quantum >= 0 are needed")
    ratio = low = high = None
    reason = _why_none(first, other, q)
    if not reason:
        below, above = ends or (
            quantile_ends(first, q, quantum),
            quantile_ends(other, q, quantum),
        )
        ratio = above.value / below.value if above.value and below.value else None
        low = above.low / below.high if below.high else None
        high = above.high / below.low if above.high is not None and below.low > 0 else None
        reason = "" if ratio else "a quantile is 0 or outside of the histogram: no ratio"
    outcome = _outcome(ratio, low, high)
    if outcome == "not decided" and not reason:
        reason = _why_open(min(first.count, other.count), low, high)
    return QuantileRatio(
        q=q,
        ratio=ratio,
        low=low,
        high=high,
        margin=_MARGIN,
        confidence=CONFIDENCE,
        outcome=outcome,
        reason=reason,
    )


def widened_quantile(bins: RankedValues, q: float, confidence: float) -> Quantile | None:
    """The quantile with the interval of a sample of 1 / AS_ONE of its size; None if empty, and
    where the ranks of the values are not known.

    Each rank of that sample stands for AS_ONE values, of which the middle one is taken.
    """
    count = bins.total
    if count == 0 or not bins.has_quantiles:
        return None
    independent = count // AS_ONE
    first, last = rank_interval(independent, q, confidence) if independent else (0, 1)
    low = max((2 * first - 1) * count // (2 * independent), 1) if first else 0
    high = ceil((2 * last - 1) * count / (2 * independent)) if last <= independent else count + 1
    return quantile_between(bins, q, (low, high), confidence)


def quantile_ends(series: Series, q: float, quantum: float = 0.0) -> QuantileEnds:
    """One side of a ratio that holds at CONFIDENCE. InputError if the histogram is unreadable."""
    found = widened_quantile(ranked_counts_of(series.histogram), q, (1 + CONFIDENCE) / 2)
    if found is None:
        return QuantileEnds(None, 0.0, None)
    least = found.low or 0 if series.min is None else series.min
    value, most = _within_maximum(found, series)
    value = None if value is None else max(value, least)
    low = 0 if found.low is None else max(found.low, least)
    high = None if most is None else most + quantum
    return QuantileEnds(value, max(low - quantum, 0.0), high)


def _why_none(first: Series, other: Series, q: float) -> str:
    if first.unit != other.unit:
        return f"{first.unit} against {other.unit}: no ratio"
    count = min(first.count, other.count)
    if count == 0:
        return "no values"
    if why := why_no_quantile(first) or why_no_quantile(other):
        return why
    if not (is_printable(q, count) and is_printable(1 - q, count)):
        return f"fewer than 10 of {count} values lie beyond the quantile"
    return ""


def _why_open(count: int, low: float | None, high: float | None) -> str:
    if low is None or high is None:
        independent = count // AS_ONE
        return (
            f"unbounded: {count} dependent values of one run count as {independent} independent "
            "ones"
        )
    return f"{low:.3g} to {high:.3g} crosses a margin"


def _outcome(ratio: float | None, low: float | None, high: float | None) -> Difference:
    most = 1 + _MARGIN
    if ratio is None:
        return "not decided"
    if low is not None and low > most:
        return "higher"
    if high is not None and high < 1 / most:
        return "lower"
    if low is not None and high is not None and low >= 1 / most and high <= most:
        return "no difference seen"
    return "not decided"


_SHIFT_CONFIDENCE = 0.95
LEVELS = (
    *(0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98),
    *(1 - part * 10.0**-power for power in (2, 3, 4, 5) for part in (1, 0.5, 0.2)),
    1 - 1e-6,
)
ABOUT = (
    "Ratio of the quantiles. 1: the same; a constant: one is a multiple of the other; a rise at "
    "the end: only the tail differs. The band holds at 95 % as a whole and is widened because "
    "values of one run depend on each other. It ends where fewer than 10 values are beyond the "
    "quantile."
)


class ShiftPoint(msgspec.Struct, kw_only=True, frozen=True):
    """The quantile `q` of the other distribution divided by that of the first.

    `low` and `high` are the band there; None: unbounded.
    """

    q: float
    ratio: float
    low: float | None
    high: float | None


def shift_function(first: Histogram, other: Histogram) -> list[ShiftPoint]:
    """The ratios of `other` to `first`, q ascending, where both have at least 10 values beyond q.

    The band holds at 95 % for all points together (Bonferroni), if the values depend on each other
    no more than DEPENDENCE allows. Where a quantile is 0 or outside of the buckets there is no
    point. InputError if unreadable.
    """
    below, above = bins_of(first), bins_of(other)
    count = min(below.total, above.total)
    levels = [q for q in LEVELS if is_printable(q, count) and is_printable(1 - q, count)]
    of_each = 1 - (1 - _SHIFT_CONFIDENCE) / 2 / max(len(levels), 1)
    points = []
    for q in levels:
        one = widened_quantile(below, q, of_each)
        two = widened_quantile(above, q, of_each)
        if one is None or two is None or not one.value or not two.value:
            continue
        points.append(
            ShiftPoint(
                q=q,
                ratio=two.value / one.value,
                low=(two.low or 0) / one.high if one.high else None,
                high=two.high / one.low if one.low and two.high is not None else None,
            )
        )
    return points


_DEPENDENT_CONFIDENCE = 0.95
_NORMAL = 1.959963984540054  # 97.5 % of a standard normal distribution is below


class Estimate(NamedTuple):
    """A figure and its interval at CONFIDENCE; None: outside of the buckets, or unbounded."""

    value: float | None
    low: float | None
    high: float | None


def worth_of(count: int) -> int:
    """How many independent values `count` values of one run are worth."""
    return count // AS_ONE


def supports(q: float, count: int) -> bool:
    """Whether `count` values of one run bound the quantile `q` from both sides."""
    return is_printable(q, worth_of(count)) and is_printable(1 - q, worth_of(count))


def quantile_estimate(series: Series, q: float) -> Estimate | None:
    """The quantile `q` with its interval; None for an empty series, and where the ranks of its
    values are not known. InputError if unreadable."""
    found = widened_quantile(bins_of(series.histogram), q, _DEPENDENT_CONFIDENCE)
    if found is None:
        return None
    value, high = _within_maximum(found, series)
    return Estimate(value, found.low, high)


def _within_maximum(found: Quantile, series: Series) -> tuple[int | None, int | None]:
    """The value of a quantile, at most the maximum, and the end of its interval, at most what the
    maximum may stand for."""
    value, high = (
        one if one is None or limit is None else min(one, limit)
        for one, limit in ((found.value, series.max), (found.high, highest_of(series)))
    )
    return value, high


def mean_estimate(series: Series) -> Estimate | None:
    """The mean with its interval by the normal distribution; None where there is none. Values cut
    off to whole steps are up to a step higher, and a source may cut off their mean too."""
    if series.mean is None:
        return None
    worth = worth_of(series.count)
    if series.stddev is None or worth < 2:
        return Estimate(series.mean, None, None)
    half = _NORMAL * series.stddev / sqrt(worth)
    lost = 2 * (step_of(series) - 1)
    return Estimate(series.mean, series.mean - half, series.mean + half + lost)


def share_estimate(least: int, most: int, total: int) -> Estimate:
    """The share of `least` to `most` of `total` values, which is above 0; two-sided."""
    worth = worth_of(total)
    error = (1 - _DEPENDENT_CONFIDENCE) / 2
    if not worth:
        return Estimate(most / total, 0.0, 1.0)
    fewest, all_most = least // AS_ONE, min(ceil(most / AS_ONE), worth)
    return Estimate(
        most / total, share_low(fewest, worth, error), share_high(all_most, worth, error)
    )


def values_needed(q: float) -> int:
    """How many values of one run bound the quantile `q` from both sides."""
    return ceil(10 / min(q, 1 - q) - 1e-6) * AS_ONE


def values_for_share(share: float) -> int:
    """How many values, none of them above, bound the share above by `share`."""
    error = (1 - _DEPENDENT_CONFIDENCE) / 2
    return ceil(log(error) / log1p(-share)) * AS_ONE if 0 < share < 1 else 0


PROOF_SCHEMA = "hardstone.proof/1"
ALPHA = 0.05
LEAST_PAIRS = 10
FEW_PAIRS = f"a verdict needs at least {LEAST_PAIRS} pairs"
_FIGURES = {0.5: "median", 0.99: "p99", 0.999: "p99.9"}
_REFUSED = ("denied", "unsupported")
_NOT_PUT_BACK = f"settings not restored: {LEFT_REMEDY}"


class PairValues(msgspec.Struct, kw_only=True):
    """One figure of both runs of a pair, in the unit of the series."""

    without: int
    with_setting: int


_Verdict = Literal["lower", "higher", "none seen", "not judged"]


class Effect(msgspec.Struct, kw_only=True):
    """The effect of the setting on one figure. A difference is "with" minus "without".

    `p` is the exact two-sided p of the signed-rank test, `p_adjusted` is corrected for all
    figures. `verdict` is "lower" or "higher" with the setting if p_adjusted is at most 5 %.
    Otherwise it is "none seen": an effect outside `shift.low` to `shift.high` would have been
    detected at `shift.confidence`. "not judged": there are fewer than LEAST_PAIRS pairs.
    """

    figure: str
    unit: Unit
    pairs: list[PairValues]
    shift: Shift
    p: float
    p_adjusted: float
    verdict: _Verdict


class Maxima(msgspec.Struct, kw_only=True):
    """The worst observed of both runs of each pair, their medians over the pairs, and the
    median of the ratios with / without (None where every maximum without is 0). No verdict."""

    unit: Unit
    pairs: list[PairValues]
    without: float
    with_setting: float
    ratio: float | None
    verdict: Literal["not judged: a maximum of a run"] = "not judged: a maximum of a run"


class Proof(msgspec.Struct, kw_only=True):
    """`hardstone.proof/1`: a rule of the doctor, measured. `left_out`: why pairs do not count."""

    schema: str
    rule: str
    settings: list[str]
    run: str
    test: str
    series: str
    pairs_asked: int
    pairs_counted: int
    effects: list[Effect]
    maxima: Maxima | None
    left_out: list[str]
    notes: list[str]


def prove(document: RunDocument, rule: str, settings: Sequence[str]) -> Proof:
    """The effect of `settings` in a run that was planned as pairs.

    Tests 2k and 2k + 1 of the plan form a pair, in either order.
    """
    results = list(zip(document.plan.tests, document.results, strict=False))
    asked = len(document.plan.tests) // 2
    counted: list[tuple[Series, Series]] = []
    left_out: dict[str, list[int]] = {}
    is_left = False
    for number in range(asked):
        pair = results[2 * number : 2 * number + 2]
        # Every later pair has the setting, or part of it, on both sides.
        is_left |= any(_was_left(result) for _, result in pair)
        problem = _NOT_PUT_BACK if is_left and len(pair) == 2 else _problem(pair, settings)
        if problem is None:
            without, with_setting = sorted(pair, key=lambda one: bool(one[0].settings))
            # The main series of a test comes first.
            counted.append((without[1].series[0], with_setting[1].series[0]))
        else:
            left_out.setdefault(problem, []).append(number + 1)
    effects = _effects(counted)
    return Proof(
        schema=PROOF_SCHEMA,
        rule=rule,
        settings=list(settings),
        run=document.id,
        test=document.plan.tests[0].test,
        series=counted[0][0].name if counted else "",
        pairs_asked=asked,
        pairs_counted=len(counted),
        effects=effects,
        maxima=_maxima(counted),
        left_out=[f"{_pairs_text(pairs)}: {problem}" for problem, pairs in left_out.items()],
        notes=_notes(document, counted),
    )


def why_useless(document: RunDocument, settings: Sequence[str]) -> str | None:
    """Why further pairs would fail as the first one did. None if there is no pair yet, or if
    later pairs may succeed."""
    pair = list(zip(document.plan.tests, document.results, strict=False))[:2]
    if len(pair) < 2:
        return None
    for planned, result in pair:
        if _was_left(result):
            return _NOT_PUT_BACK
        if planned.settings and result.status in _REFUSED:
            return f"{', '.join(settings)} could not be switched"
        if result.status == "measured" and result.complete and not result.interrupted:
            problem = _other_settings(planned, result, settings)
            if problem is not None or not _has_values(result):
                return problem or "no values"
    return None


def _problem(pair: Sequence[tuple[PlannedTest, Result]], settings: Sequence[str]) -> str | None:
    if len(pair) < 2:
        return "not measured"
    for planned, result in pair:
        if result.status == "skipped":
            return result.reason or "not run"
        side = "with the setting" if planned.settings else "without the setting"
        if result.status != "measured" or not result.complete or result.interrupted:
            said = f": {result.reason}" if result.reason else ""
            return f"{side}: {'interrupted' if result.interrupted else result.status}{said}"
        problem = _other_settings(planned, result, settings)
        if problem is not None:
            return f"{side}: {problem}"
        if not _has_values(result):
            return f"{side}: no values"
    return None


def _pairs_text(numbers: Sequence[int]) -> str:
    """ "pair 2", "pairs 2 to 8", "pairs 2, 5"; by their numbers, ascending."""
    if len(numbers) == 1:
        return f"pair {numbers[0]}"
    if numbers[-1] - numbers[0] == len(numbers) - 1:
        return f"pairs {numbers[0]} to {numbers[-1]}"
    return f"pairs {', '.join(map(str, numbers))}"


def _other_settings(planned: PlannedTest, result: Result, settings: Sequence[str]) -> str | None:
    """Why this side of a pair did not have the planned settings."""
    in_force = set(result.conditions.settings) & set(settings)
    if not planned.settings:
        return f"{', '.join(sorted(in_force))} was in force" if in_force else None
    if in_force != set(settings):
        return f"{', '.join(sorted(set(settings) - in_force))} was not in force"
    if _changed_nothing(result, settings):
        return f"{', '.join(settings)} changed nothing"
    return None


def _changed_nothing(result: Result, settings: Sequence[str]) -> bool:
    """Whether the probe found every setting already in force, so that both sides are equal."""
    unchanged: set[object] = set()
    for event in result.events:
        found = event.data.get("unchanged") if event.name == SHIELDED else None
        unchanged.update(found if isinstance(found, list) else [])
    return set(settings) <= unchanged


def _was_left(result: Result) -> bool:
    return any(event.name == LEFT for event in result.events)


def _has_values(result: Result) -> bool:
    return bool(result.series) and result.series[0].count > 0


def _effects(pairs: Sequence[tuple[Series, Series]]) -> list[Effect]:
    if not pairs:
        return []
    least = min(series.count for pair in pairs for series in pair)
    levels = [q for q in _FIGURES if q == min(_FIGURES) or is_printable(q, least)]
    values = [
        [PairValues(without=quantile_of(a, q), with_setting=quantile_of(b, q)) for a, b in pairs]
        for q in levels
    ]
    differences = [[one.with_setting - one.without for one in figure] for figure in values]
    p_values = [signed_rank_p(figure) for figure in differences]
    effects = []
    for q, figures, changes, p, p_adjusted in zip(
        levels, values, differences, p_values, holm(p_values), strict=True
    ):
        # The interval is corrected for all figures, like the verdict.
        shift = hodges_lehmann(changes, 1 - ALPHA / len(levels))
        verdict: _Verdict = "none seen"
        if len(pairs) < LEAST_PAIRS:
            verdict = "not judged"
        elif p_adjusted <= ALPHA and shift.estimate != 0:
            verdict = "lower" if shift.estimate < 0 else "higher"
        effects.append(
            Effect(
                figure=_FIGURES[q],
                unit=pairs[0][0].unit,
                pairs=figures,
                shift=shift,
                p=p,
                p_adjusted=p_adjusted,
                verdict=verdict,
            )
        )
    return effects


def _maxima(pairs: Sequence[tuple[Series, Series]]) -> Maxima | None:
    if not pairs:
        return None
    values = [PairValues(without=a.max or 0, with_setting=b.max or 0) for a, b in pairs]
    ratios = [one.with_setting / one.without for one in values if one.without]
    return Maxima(
        unit=pairs[0][0].unit,
        pairs=values,
        without=median(one.without for one in values),
        with_setting=median(one.with_setting for one in values),
        ratio=median(ratios) if ratios else None,
    )


def quantile_of(series: Series, q: float) -> int:
    """The quantile `q`, in the unit of `series`; at most the maximum, also beyond the histogram."""
    worst = series.max or 0
    found = quantile_of_bins(bins_of(series.histogram), q)
    return worst if found is None or found.value is None else min(found.value, worst)


def _notes(document: RunDocument, pairs: Sequence[tuple[Series, Series]]) -> list[str]:
    notes = []
    count = len(pairs)
    if count == 0:
        notes.append("no complete pair: no result")
    elif count < LEAST_PAIRS:
        counts = "only 1 usable pair" if count == 1 else f"only {count} usable pairs"
        notes.append(f"{counts}: {FEW_PAIRS}")
    meaning = time_meaning(document.system)
    if meaning:
        notes.append(meaning)
    if pairs:
        # The shortest run has too few values for these quantiles: they are not judged.
        least = min(series.count for pair in pairs for series in pair)
        needs = {name: lacking(values_for(q), least) for q, name in _FIGURES.items()}
        notes += [f"{name} {text}" for name, text in needs.items() if text and name != "median"]
    return notes
