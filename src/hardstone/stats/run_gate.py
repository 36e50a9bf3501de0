"""Whether a run, or a change, is worse: against runs of the system, or by interleaved pairs.

Pairs: the run is the unit, and both runs of a pair see the same drift. The pairs give for each
statistic d = ln(B / A), and the exact sign-flip test asks both ways: is d below ln(1 + margin)
(PASS), is it above (FAIL)? All questions together are corrected (Holm 1979). What is neither is
INCONCLUSIVE, which is not a pass.

Counts, such as values above a deadline, may be 0, and a ratio of zeros does not exist. A constant
added to both would draw every ratio of rare events towards 1, and so towards PASS. So the terms of
counts are B - (1 + margin) A instead: the same hypothesis without a logarithm. A pair of zeros then
says nothing, and where all pairs are zeros nothing is decided: what neither side showed is bounded
by its runs, and cannot be compared.

A maximum has no margin: it is gated against a deadline, where one value above it is a proof.

Baselines: the run is the unit again. Each baseline is compared with the other baselines just as the
run is compared with all of them, which shows how far apart runs of one system are; the run
is out only beyond the prediction interval for one more of them, mean + t * s * sqrt(1 + 1/k) (Hahn
and Meeker 1991). Values are logarithms, and larger ones are worse.

What disturbs a run makes its medians and tails longer, and in one run that looks like a slower
system. It leaves the fastest values alone, most of all those of every series (Chen and Revels
2016), and a slower system is slower there too. So a run fails by the fastest values only:

- together: the shift that all series have but the least one in eight.
- alone: beyond the median shift of all series, how far out the series is that is furthest out, in
  standard deviations of the others. Its interval comes from the same maximum of each baseline
  (after the max-T of Westfall and Young 1993), so that the number of series, their dependence and
  their tails are in it; asinh makes it about normal. A series whose values were all taken within a
  moment is left out: what disturbs that moment is in its fastest values too.

Both are corrected together (Holm 1979): ALPHA bounds the false alarms of a gate, not of a figure.
Medians and tails that are out make a run suspicious, and no more. Mean and standard deviation are
those of all baselines, outliers too: a robust scale would leave out what the next run may do.
Nothing is out that is not beyond every baseline.

Where the baselines are of several boots, a boot is a random effect and the run is of one more. The
variance comes from the mean squares between and within boots, with the degrees of freedom of
Satterthwaite (1946); a baseline is compared with those of other boots.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from math import asinh, ceil, exp, inf, log1p, log2, sinh, sqrt
from typing import Literal, NamedTuple

import msgspec
import numpy as np

from hardstone.stats.resampling import MOST_PAIRS, FloatArray, holm, p_above, p_below, ratio_bounds

Outcome = Literal["PASS", "FAIL", "INCONCLUSIVE"]
ALPHA = 0.01
LEAST_PAIRS = 10
DEFAULT_MARGINS = {"q50": 0.10, "q99": 0.25, "q99.9": 0.50, "above": 0.50}
_COUNTS = frozenset({"above"})
_MAXIMA = frozenset({"max", "maximum", "worst"})
OUTCOMES = {
    "PASS": "the pairs show that B is not worse than A by the margin",
    "FAIL": "the pairs show that B is worse than A by more than the margin",
    "INCONCLUSIVE": "the pairs prove neither, so this is not a pass",
}

Pairs = Sequence[tuple[float, float]]


class PairGate(msgspec.Struct, kw_only=True, frozen=True):
    """What the pairs say of one statistic; larger values are worse.

    `ratio` is that of B to A: exp of the mean of d, for counts that of the sums; None where it does
    not exist. It lies from `low` to `high` (None: unbounded) at `confidence` for all statistics
    together. `p_within` is the p of "B is worse by the margin or more" and `p_beyond` that of "B is
    worse by the margin or less", both after Holm's correction: PASS or FAIL if it is at most alpha.
    """

    statistic: str
    outcome: Outcome
    pairs_count: int
    ratio: float | None
    low: float | None
    high: float | None
    margin: float
    p_within: float
    p_beyond: float
    reason: str
    confidence: float


class _Hypothesis(msgspec.Struct, frozen=True):
    """One statistic before the correction; `problem`: why it cannot be tested."""

    statistic: str
    pairs: Pairs
    margin: float
    is_count: bool
    problem: str

    def terms(self, log_ratio: float) -> FloatArray:
        """Below 0 where B is below the ratio times A."""
        a, b = np.array(self.pairs, dtype=np.float64).T
        if self.is_count:
            return np.asarray(b - exp(log_ratio) * a)
        return np.asarray(np.log(b) - np.log(a) - log_ratio)

    @property
    def ratio(self) -> float | None:
        if not self.is_count:
            return exp(float(self.terms(0.0).mean()))
        a, b = (sum(side) for side in zip(*self.pairs, strict=True))
        return b / a if a else None


def gate_pairs(
    values: Mapping[str, Pairs],
    margins: Mapping[str, float],
    *,
    alpha: float = ALPHA,
) -> list[PairGate]:
    """One outcome for each statistic of `values`, which has (A, B) of each pair.

    `margins` has the margin of each, 0.1 for 10 %; statistics of _COUNTS count events, and may
    be 0. One with fewer than LEAST_PAIRS pairs, or with a value that has no ratio, is INCONCLUSIVE
    with the reason. ValueError for a margin that is missing or not above 0, for a maximum, for more
    than MOST_PAIRS pairs, and unless 0 < alpha < 0.5.
    """
    if not 0 < alpha < 0.5:
        raise ValueError(f"alpha must lie between 0 and 0.5, not {alpha}")
    asked = [_question(name, values[name], margins, name in _COUNTS) for name in values]
    tested = [one for one in asked if not one.problem]
    raw = [p(one.terms(log1p(one.margin))) for one in tested for p in (p_below, p_above)]
    adjusted = iter(holm(raw))
    return [
        _refused(one, alpha)
        if one.problem
        else _gate(one, (next(adjusted), next(adjusted)), len(raw), alpha)
        for one in asked
    ]


def _question(name: str, pairs: Pairs, margins: Mapping[str, float], is_count: bool) -> _Hypothesis:
    margin = margins.get(name, 0.0)
    if not 0 < margin < np.inf:
        raise ValueError(f"{name}: a margin above 0 is needed")
    if name.split()[-1:] and name.rsplit(maxsplit=1)[-1].lower() in _MAXIMA:
        raise ValueError(f"{name}: a maximum can be gated against a deadline, not between pairs")
    if len(pairs) > MOST_PAIRS:
        raise ValueError(f"{name}: {len(pairs)} pairs, at most {MOST_PAIRS} can be tested")
    return _Hypothesis(name, pairs, margin, is_count, _problem(pairs, is_count))


def _problem(pairs: Pairs, is_count: bool) -> str:
    if len(pairs) < LEAST_PAIRS:
        return f"{len(pairs)} pairs: at least {LEAST_PAIRS} are needed"
    least = 0.0 if is_count else np.nextafter(0.0, 1.0)
    for number, pair in enumerate(pairs, 1):
        if not all(least <= value < np.inf for value in pair):
            return f"pair {number}: {pair[0]:g} and {pair[1]:g} have no ratio"
    if is_count and not any(map(sum, pairs)):
        return "no event in any run, so there is nothing to compare"
    return ""


def _refused(one: _Hypothesis, alpha: float) -> PairGate:
    return PairGate(
        statistic=one.statistic,
        outcome="INCONCLUSIVE",
        pairs_count=len(one.pairs),
        ratio=None,
        low=None,
        high=None,
        margin=one.margin,
        p_within=1.0,
        p_beyond=1.0,
        reason=one.problem,
        confidence=1 - alpha,
    )


def _gate(one: _Hypothesis, p: tuple[float, float], questions: int, alpha: float) -> PairGate:
    low, high = ratio_bounds(one.terms, alpha / questions)
    outcome: Outcome = "PASS" if p[0] <= alpha else "FAIL" if p[1] <= alpha else "INCONCLUSIVE"
    return PairGate(
        statistic=one.statistic,
        outcome=outcome,
        pairs_count=len(one.pairs),
        ratio=one.ratio,
        low=low,
        high=high,
        margin=one.margin,
        p_within=p[0],
        p_beyond=p[1],
        reason=_reason(one, outcome, questions, alpha),
        confidence=1 - alpha,
    )


def _reason(one: _Hypothesis, outcome: Outcome, questions: int, alpha: float) -> str:
    if outcome != "INCONCLUSIVE":
        return OUTCOMES[outcome]
    used = sum(any(pair) for pair in one.pairs)
    needed = ceil(log2(questions / alpha) - 1e-9)
    if used < needed:
        is_all = used == len(one.pairs)
        shown = f"{used} pairs" if is_all else f"{used} pairs with an event"
        return f"{shown} cannot decide {questions // 2} statistics at {alpha:g}: {needed} could"
    return OUTCOMES[outcome]


LEAST_RUNS = 10
MOST_RUNS = 60  # more change little: sqrt(1 + 1/k)
LEAST_CHANGE = 0.10  # less is no failure, however little the runs vary
DIFFERENCE = 0.30  # of all series: what a gate that passes would have found
DIFFERENCE_ALONE = 1.0  # of one series
FASTEST, MEDIAN = "fastest", "p50"
ONE_IN = 8  # of the series may be less slow than a slower system
_LEAST_SERIES = 3  # of which one can stand out
_BEYOND_POWER = 1.6448536269514722  # 95 % of a standard normal distribution are below
_LEAST_SCALE = 0.001  # of a logarithm: the width of a bucket of the histogram
_LEAST_OTHERS = LEAST_RUNS // 2


class Figure(NamedTuple):
    """A column: one quantile of a series. `series` is the place of its column of the fastest values
    among those, `kind` FASTEST, MEDIAN or a tail. `step`: the resolution of its logarithm.
    `is_brief`: its values were all taken within a moment."""

    series: int
    kind: str
    step: float = 0.0
    is_brief: bool = False


class Prediction(NamedTuple):
    """Of one more value: (value - centre) / scale has a t distribution."""

    centre: float
    scale: float
    freedom: float

    def bound(self, alpha: float) -> float:
        """What one more value exceeds with the probability `alpha`."""
        from scipy import special

        return self.centre + float(special.stdtrit(self.freedom, 1 - alpha)) * self.scale

    def p_above(self, value: float) -> float:
        from scipy import special

        return float(special.stdtr(self.freedom, (self.centre - value) / self.scale))


@dataclass(frozen=True)
class GatedFigure:
    """What the baselines say of the run.

    `ratio`: by how much it is above them. It fails from `fails_from` on; a change by `found_from`
    would have been found with a probability of 95 %. Both are ratios, None where there are too few
    baselines. `scatter`: the standard deviation of the logarithm between runs. `runs_needed`: about
    how many baselines find the difference; None: no number does, or these do.
    """

    outcome: Outcome
    ratio: float
    fails_from: float | None = None
    found_from: float | None = None
    scatter: float | None = None
    runs_needed: int | None = None


class Suspect(NamedTuple):
    """A column of medians or tails, or all medians together (None), beyond the baselines."""

    column: int | None
    ratio: float
    out_from: float


@dataclass(frozen=True)
class RunGate:
    """All series together; each that is not brief alone, in the order of their columns (empty: they
    are too few, or the baselines are); and what is out and decides nothing."""

    together: GatedFigure
    alone: list[GatedFigure]
    suspects: list[Suspect]


class _Scored(NamedTuple):
    """One score of the run, its prediction, and the scores of the baselines."""

    value: float
    prediction: Prediction
    baselines: FloatArray

    @property
    def most(self) -> float:
        return float(self.baselines.max())


def gate_run(
    runs: Sequence[Sequence[float]] | FloatArray,
    own: Sequence[float] | FloatArray,
    figures: Sequence[Figure],
    boots: Sequence[str],
    *,
    difference: float = DIFFERENCE,
    alone: float = DIFFERENCE_ALONE,
) -> RunGate:
    """Compares the run `own`, of shape (m,), with the baselines `runs`, (k, m), of `boots`.

    `figures` has what each of the m columns is; each series has one of its fastest values and one
    of its median. The run passes if a change of all series by `difference`, of one by `alone`,
    would have been found and was not. With fewer than LEAST_RUNS baselines it is INCONCLUSIVE.
    ValueError unless all values are finite and there is a baseline.
    """
    baselines, run = np.asarray(runs, dtype=np.float64), np.asarray(own, dtype=np.float64)
    if not baselines.size or not (np.isfinite(baselines).all() and np.isfinite(run).all()):
        raise ValueError("finite values of at least one baseline are needed")
    fastest = _Columns(baselines, run, figures, {FASTEST})
    medians = _Columns(baselines, run, figures, {MEDIAN})
    if len(baselines) < LEAST_RUNS:
        ratio = exp(_least(fastest.above))
        return RunGate(GatedFigure("INCONCLUSIVE", ratio), [], [])
    others = _others(boots)
    scores = [fastest.together(_least, others, boots)]
    longer = [at for at, column in enumerate(fastest.columns) if not figures[column].is_brief]
    parts = fastest.beyond_the_shared().only(longer)
    if len(parts.run) >= _LEAST_SERIES:
        scores.append(parts.furthest(others, boots))
    is_out = _are_out(scores)
    level = ALPHA / len(scores)
    together = _gated_together(scores[0], is_out[0], level, difference, len(baselines))
    each = []
    if len(scores) > 1:
        bound = scores[1].prediction.bound(level)
        above = np.minimum(medians.above, fastest.above)[longer]
        each = [
            parts.gated(at, bound, alone, is_out=is_out[1] and above[at] > log1p(LEAST_CHANGE))
            for at in range(len(parts.run))
        ]
    return RunGate(together, each, _suspects(baselines, run, figures, others, boots))


def _suspects(
    baselines: FloatArray,
    run: FloatArray,
    figures: Sequence[Figure],
    others: Sequence[list[int]],
    boots: Sequence[str],
) -> list[Suspect]:
    """The medians together, and each median and tail, that are out."""
    medians = _Columns(baselines, run, figures, {MEDIAN})
    rest = _Columns(baselines, run, figures, {one.kind for one in figures} - {FASTEST})
    scores = [
        medians.together(lambda shifts: float(np.median(shifts)), others, boots),
        rest.furthest(others, boots),
    ]
    is_out = _are_out(scores)
    found = []
    if is_out[0] and scores[0].value > log1p(LEAST_CHANGE):
        bound = max(scores[0].prediction.bound(ALPHA / 2), scores[0].most)
        found.append(Suspect(None, exp(scores[0].value), exp(bound)))
    bound = max(scores[1].prediction.bound(ALPHA / 2), scores[1].most)
    for at, column in enumerate(rest.columns if is_out[1] else []):
        gated = rest.gated(at, bound, inf, is_out=True)
        if gated.outcome == "FAIL":
            found.append(Suspect(column, gated.ratio, gated.fails_from or inf))
    return found


def _are_out(scores: Sequence[_Scored]) -> list[bool]:
    p_values = holm([one.prediction.p_above(one.value) for one in scores])
    return [p <= ALPHA and one.value > one.most for one, p in zip(scores, p_values, strict=True)]


def _least(shifts: FloatArray) -> float:
    """The shift that all series exceed but the least one in ONE_IN."""
    return float(np.sort(shifts)[len(shifts) // ONE_IN])


def predict(values: FloatArray, groups: Sequence[str], least_scale: float = 0.0) -> Prediction:
    """One more value, of one more group if there are several; at least two values.

    The mean square between groups counts only where it is above that within them.
    """
    count, labels = len(values), list(dict.fromkeys(groups))
    centre = float(values.mean())
    total = float(((values - centre) ** 2).sum())
    pooled = (1 + 1 / count) * total / (count - 1), count - 1.0
    variance, freedom = _with_groups(values, groups, labels, total) or pooled
    return Prediction(centre, max(sqrt(variance), least_scale), freedom)


def runs_needed(scatter: float, difference: float, alpha: float) -> int | None:
    """How many baselines find `difference` in a score of this `scatter`; None: no number does."""
    from scipy import special

    for count in range(LEAST_RUNS, MOST_RUNS + 1):
        limit = float(special.stdtrit(count - 1, 1 - alpha)) + _BEYOND_POWER
        if limit * scatter * sqrt(1 + 1 / count) <= log1p(difference):
            return count
    return None


def _with_groups(
    values: FloatArray, groups: Sequence[str], labels: Sequence[str], total: float
) -> tuple[float, float] | None:
    """Variance and degrees of freedom of one more value of one more group; None where groups do
    not differ beyond their values, or are one."""
    count, number = len(values), len(labels)
    if number < 2 or number == count:
        return None
    grouped = [values[[one == label for one in groups]] for label in labels]
    within = sum(float(((one - one.mean()) ** 2).sum()) for one in grouped) / (count - number)
    between = (total - within * (count - number)) / (number - 1)
    if between <= within:
        return None
    squares = sum(len(one) ** 2 for one in grouped)
    size = (count - squares / count) / (number - 1)
    share = (1 + squares / count**2) / size
    rest = max(1 + 1 / count - share, 0.0)
    variance = share * between + rest * within
    freedom = variance**2 / (
        (share * between) ** 2 / (number - 1) + (rest * within) ** 2 / (count - number)
    )
    return variance, freedom


def _others(boots: Sequence[str]) -> list[list[int]]:
    """The baselines that each one is compared with: those of other boots, if these are enough."""
    found = []
    for at, boot in enumerate(boots):
        elsewhere = [one for one, other in enumerate(boots) if other != boot]
        rest = [one for one in range(len(boots)) if one != at]
        found.append(elsewhere if len(elsewhere) >= _LEAST_OTHERS else rest)
    return found


class _Columns:
    """The columns of some kinds, in the baselines and in the run."""

    def __init__(
        self,
        baselines: FloatArray,
        run: FloatArray,
        figures: Sequence[Figure],
        kinds: set[str],
    ) -> None:
        self.columns = [at for at, one in enumerate(figures) if one.kind in kinds]
        self.baselines, self.run = baselines[:, self.columns], run[self.columns]
        self._steps = np.maximum([figures[at].step for at in self.columns], _LEAST_SCALE)
        self._width = sqrt(1 + 1 / len(baselines))

    @property
    def above(self) -> FloatArray:
        """How far the run is above the median of the baselines, in each column."""
        return np.asarray(self.run - np.median(self.baselines, axis=0))

    def beyond_the_shared(self) -> _Columns:
        """What is left of each without the median shift of all."""
        found = copy(self)
        middle = np.median(self.baselines, axis=0)
        found.baselines = self.baselines - np.median(self.baselines - middle, axis=1)[:, np.newaxis]
        found.run = self.run - np.median(self.run - middle)
        return found

    def only(self, places: Sequence[int]) -> _Columns:
        """Those at `places`."""
        found = copy(self)
        found.columns = [self.columns[at] for at in places]
        found.baselines, found.run = self.baselines[:, places], self.run[list(places)]
        found._steps = self._steps[list(places)]
        return found

    def together(
        self,
        of_shifts: Callable[[FloatArray], float],
        others: Sequence[list[int]],
        boots: Sequence[str],
    ) -> _Scored:
        """`of_shifts` of how far all columns of a run are above the medians of the baselines that
        it is compared with: `others` of each baseline, all of the run. Logarithms of ratios."""
        scores = np.array(
            [
                of_shifts(one - np.median(self.baselines[rest], axis=0))
                for one, rest in zip(self.baselines, others, strict=True)
            ]
        )
        value = of_shifts(self.above)
        return _Scored(value, predict(scores, boots, _LEAST_SCALE), scores)

    def furthest(self, others: Sequence[list[int]], boots: Sequence[str]) -> _Scored:
        """How far out the column is that is furthest out, as asinh."""
        scores = np.array(
            [
                asinh(self._out(one, self.baselines[rest]))
                for one, rest in zip(self.baselines, others, strict=True)
            ]
        )
        value = asinh(self._out(self.run, self.baselines))
        return _Scored(value, predict(scores, boots, _LEAST_SCALE), scores)

    def gated(self, at: int, bound: float, alone: float, *, is_out: bool) -> GatedFigure:
        """One column. `bound` is that of the furthest one, `is_out` whether that exceeds it."""
        own = float(self.run[at] - self.baselines[:, at].mean())
        scatter = max(float(self.baselines[:, at].std(ddof=1)), float(self._steps[at]))
        scale = scatter * self._width
        limit = max((sinh(bound) if bound < 20 else inf) * scale, log1p(LEAST_CHANGE))
        found = limit + _BEYOND_POWER * scale
        return GatedFigure(
            "FAIL" if is_out and own > limit else _passes(found, alone),
            _ratio(own),
            _ratio(limit),
            _ratio(found),
            scatter,
        )

    def _out(self, run: FloatArray, others: FloatArray) -> float:
        scale = np.maximum(others.std(axis=0, ddof=1), self._steps) * sqrt(1 + 1 / len(others))
        return float(((run - others.mean(axis=0)) / scale).max())


def _passes(found: float, difference: float) -> Outcome:
    return "PASS" if found <= log1p(difference) else "INCONCLUSIVE"


def _gated_together(
    scored: _Scored, is_failed: bool, level: float, difference: float, count: int
) -> GatedFigure:
    prediction = scored.prediction
    bound = max(prediction.bound(level), scored.most, log1p(LEAST_CHANGE))
    # Scores that reach far down are more than what a normal distribution has there.
    below = prediction.centre - float(scored.baselines.min())
    found = bound - prediction.centre + max(_BEYOND_POWER * prediction.scale, below)
    outcome = _passes(found, difference)
    scatter = prediction.scale / sqrt(1 + 1 / count)
    return GatedFigure(
        "FAIL" if is_failed and scored.value > log1p(LEAST_CHANGE) else outcome,
        exp(scored.value),
        exp(bound),
        exp(found),
        scatter,
        None if outcome == "PASS" else runs_needed(scatter, difference, level),
    )


def _ratio(log_ratio: float) -> float:
    return exp(log_ratio) if log_ratio < 700 else inf
