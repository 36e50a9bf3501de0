"""Whether a change made a system worse, from interleaved pairs of runs: three outcomes.

The run is the unit, and both runs of a pair see the same drift. Of each statistic the pairs give
d = ln(B / A), and the exact sign-flip test asks both ways: is d below ln(1 + margin) (PASS), is it
above (FAIL)? All questions together are corrected (Holm 1979). What is neither is INCONCLUSIVE,
which is not a pass.

Counts, such as values above a deadline, may be 0, and a ratio of zeros does not exist. A constant
added to both would draw every ratio of rare events towards 1, and so towards PASS. So the terms of
counts are B - (1 + margin) A instead: the same hypothesis without a logarithm. A pair of zeros then
says nothing, and where all pairs are zeros nothing is decided: what neither side showed is bounded
by its runs (stats.miss_interval), and cannot be compared.

A maximum has no margin: it is gated against a deadline, where one value above it is a proof.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from math import ceil, exp, log1p, log2
from typing import Literal

import msgspec
import numpy as np

from hardstone.stats.sign_flip import MOST_PAIRS, FloatArray, p_above, p_below, ratio_bounds
from hardstone.stats.signed_rank import holm

Outcome = Literal["PASS", "FAIL", "INCONCLUSIVE"]
ALPHA = 0.01
LEAST_PAIRS = 10
DEFAULT_PAIRS = 12
DEFAULT_MARGINS = {"q50": 0.10, "q99": 0.25, "q99.9": 0.50, "above": 0.50}
COUNTS = frozenset({"above"})
_MAXIMA = frozenset({"max", "maximum", "worst"})
OUTCOMES = {
    "PASS": "the pairs show that B is not worse than A by the margin",
    "FAIL": "the pairs show that B is worse than A by more than the margin",
    "INCONCLUSIVE": "the pairs show neither: not a pass",
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


class _Question(msgspec.Struct, frozen=True):
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
    counts: Collection[str] = COUNTS,
) -> list[PairGate]:
    """One outcome for each statistic of `values`, which has (A, B) of each pair.

    `counts` names those that count events. `margins` has the margin of each, 0.1 for 10 %. A
    statistic with fewer than LEAST_PAIRS pairs, or with a value that has no ratio, is INCONCLUSIVE
    with the reason. ValueError for a margin that is missing or not above 0, for a maximum, for more
    than MOST_PAIRS pairs, and unless 0 < alpha < 0.5.
    """
    if not 0 < alpha < 0.5:
        raise ValueError(f"alpha must lie between 0 and 0.5, not {alpha}")
    asked = [_question(name, values[name], margins, name in counts) for name in values]
    tested = [one for one in asked if not one.problem]
    raw = [p(one.terms(log1p(one.margin))) for one in tested for p in (p_below, p_above)]
    adjusted = iter(holm(raw))
    return [
        _refused(one, alpha)
        if one.problem
        else _gate(one, (next(adjusted), next(adjusted)), len(raw), alpha)
        for one in asked
    ]


def _question(name: str, pairs: Pairs, margins: Mapping[str, float], is_count: bool) -> _Question:
    margin = margins.get(name, 0.0)
    if not 0 < margin < np.inf:
        raise ValueError(f"{name}: a margin above 0 is needed")
    if name.split()[-1:] and name.rsplit(maxsplit=1)[-1].lower() in _MAXIMA:
        raise ValueError(f"{name}: a maximum is gated against a deadline, not between pairs")
    if len(pairs) > MOST_PAIRS:
        raise ValueError(f"{name}: {len(pairs)} pairs, at most {MOST_PAIRS} can be tested")
    return _Question(name, pairs, margin, is_count, _problem(pairs, is_count))


def _problem(pairs: Pairs, is_count: bool) -> str:
    if len(pairs) < LEAST_PAIRS:
        return f"{len(pairs)} pairs: at least {LEAST_PAIRS} are needed"
    least = 0.0 if is_count else np.nextafter(0.0, 1.0)
    for number, pair in enumerate(pairs, 1):
        if not all(least <= value < np.inf for value in pair):
            return f"pair {number}: {pair[0]:g} and {pair[1]:g} have no ratio"
    if is_count and not any(map(sum, pairs)):
        return "no event in any run: what was not seen cannot be compared"
    return ""


def _refused(one: _Question, alpha: float) -> PairGate:
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


def _gate(one: _Question, p: tuple[float, float], questions: int, alpha: float) -> PairGate:
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


def _reason(one: _Question, outcome: Outcome, questions: int, alpha: float) -> str:
    if outcome != "INCONCLUSIVE":
        return OUTCOMES[outcome]
    said = sum(any(pair) for pair in one.pairs)
    needed = ceil(log2(questions / alpha) - 1e-9)
    if said < needed:
        shown = f"{said} pairs" if said == len(one.pairs) else f"{said} pairs with an event"
        return f"{shown} cannot decide {questions // 2} statistics at {alpha:g}: {needed} could"
    return OUTCOMES[outcome]


def least_pairs(statistics_count: int, alpha: float = ALPHA) -> int:
    """How many pairs can decide as many statistics at all, if every pair says the same."""
    return max(LEAST_PAIRS, ceil(log2(2 * statistics_count / alpha) - 1e-9))
