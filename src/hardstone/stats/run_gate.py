"""Whether one run is worse than other runs of the system, with what varies between runs.

The run is the unit. Each baseline is held against the other baselines just as the run is held
against all of them, so that it is known how far apart runs of one system are; the run is out only
beyond the prediction interval for one more of them, mean + t * s * sqrt(1 + 1/k) (Hahn and Meeker
1991). Values are logarithms, and larger ones are worse.

What disturbs a run makes its medians and tails longer, and for one run that cannot be told from a
slower system. Its fastest values it leaves alone, most of all in every series (Chen and Revels
2016): a system that is slower is slower there too. So a run fails by the fastest values only:

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
Satterthwaite (1946); a baseline is held against those of other boots.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from math import asinh, exp, inf, log1p, sinh, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardstone.stats.pair_gate import ALPHA, Outcome
from hardstone.stats.signed_rank import holm

LEAST_RUNS = 10
MOST_RUNS = 60  # more change little: sqrt(1 + 1/k)
LEAST_CHANGE = 0.10  # less is no failure, however little the runs vary
DIFFERENCE = 0.30  # of all series: what a gate that passes would have found
DIFFERENCE_ALONE = 1.0  # of one series
FASTEST, MEDIAN = "fastest", "p50"
ONE_IN = 8  # of the series may be less slow than a slower system
_LEAST_SERIES = 3  # of which one can stand out
POWER = 0.95
_BEYOND_POWER = 1.6448536269514722  # POWER of a standard normal distribution is below
_LEAST_SCALE = 0.001  # of a logarithm: the width of a bucket of the histogram
_LEAST_OTHERS = LEAST_RUNS // 2

FloatArray = NDArray[np.float64]


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
        """What one more value is above with the probability `alpha`."""
        from scipy import special

        return self.centre + float(special.stdtrit(self.freedom, 1 - alpha)) * self.scale

    def p_above(self, value: float) -> float:
        from scipy import special

        return float(special.stdtr(self.freedom, (self.centre - value) / self.scale))


@dataclass(frozen=True)
class Gated:
    """What the baselines say of the run.

    `ratio`: by how much it is above them. It fails from `fails_from` on; a change by `found_from`
    would have been found with the probability POWER. Both are ratios, None where there are too few
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

    together: Gated
    alone: list[Gated]
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
    alpha: float = ALPHA,
    difference: float = DIFFERENCE,
    alone: float = DIFFERENCE_ALONE,
) -> RunGate:
    """Holds the run `own`, of shape (m,), against the baselines `runs`, (k, m), of `boots`.

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
        ratio = exp(_least(fastest.run - np.median(fastest.held, axis=0)))
        return RunGate(Gated("INCONCLUSIVE", ratio), [], [])
    others = _others(boots)
    is_longer = medians.run - np.median(medians.held, axis=0)
    scores = [fastest.together(_least, others, boots)]
    longer = [at for at, column in enumerate(fastest.columns) if not figures[column].is_brief]
    parts = fastest.beyond_the_shared().only(longer)
    if len(parts.run) >= _LEAST_SERIES:
        scores.append(parts.furthest(others, boots))
    is_out = _are_out(scores, alpha)
    level = alpha / len(scores)
    together = _gated_together(
        scores[0],
        is_out[0],
        level,
        difference,
        len(baselines),
    )
    each = []
    if len(scores) > 1:
        bound = scores[1].prediction.bound(level)
        above = np.minimum(is_longer, fastest.run - np.median(fastest.held, axis=0))[longer]
        each = [
            parts.gated(at, bound, alone, is_out=is_out[1] and above[at] > log1p(LEAST_CHANGE))
            for at in range(len(parts.run))
        ]
    return RunGate(together, each, _suspects(baselines, run, figures, others, boots, alpha))


def _suspects(
    baselines: FloatArray,
    run: FloatArray,
    figures: Sequence[Figure],
    others: Sequence[list[int]],
    boots: Sequence[str],
    alpha: float,
) -> list[Suspect]:
    """Medians together, and medians and tails alone, that are out."""
    medians = _Columns(baselines, run, figures, {MEDIAN})
    rest = _Columns(baselines, run, figures, {one.kind for one in figures} - {FASTEST})
    scores = [medians.together(_middle, others, boots), rest.furthest(others, boots)]
    is_out = _are_out(scores, alpha)
    found = []
    if is_out[0] and scores[0].value > log1p(LEAST_CHANGE):
        bound = max(scores[0].prediction.bound(alpha / 2), scores[0].most)
        found.append(Suspect(None, exp(scores[0].value), exp(bound)))
    bound = max(scores[1].prediction.bound(alpha / 2), scores[1].most)
    for at, column in enumerate(rest.columns if is_out[1] else []):
        gated = rest.gated(at, bound, inf, is_out=True)
        if gated.outcome == "FAIL":
            found.append(Suspect(column, gated.ratio, gated.fails_from or inf))
    return found


def _are_out(scores: Sequence[_Scored], alpha: float) -> list[bool]:
    p_values = holm([one.prediction.p_above(one.value) for one in scores])
    return [p <= alpha and one.value > one.most for one, p in zip(scores, p_values, strict=True)]


def _least(shifts: FloatArray) -> float:
    """What all series are above but the least one in ONE_IN."""
    return float(np.sort(shifts)[len(shifts) // ONE_IN])


def _middle(shifts: FloatArray) -> float:
    return float(np.median(shifts))


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
    held = [values[[one == label for one in groups]] for label in labels]
    within = sum(float(((one - one.mean()) ** 2).sum()) for one in held) / (count - number)
    between = (total - within * (count - number)) / (number - 1)
    if between <= within:
        return None
    squares = sum(len(one) ** 2 for one in held)
    size = (count - squares / count) / (number - 1)
    share = (1 + squares / count**2) / size
    rest = max(1 + 1 / count - share, 0.0)
    variance = share * between + rest * within
    freedom = variance**2 / (
        (share * between) ** 2 / (number - 1) + (rest * within) ** 2 / (count - number)
    )
    return variance, freedom


def _others(boots: Sequence[str]) -> list[list[int]]:
    """For each baseline those that it is held against: of other boots, if these are enough."""
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
        self.held, self.run = baselines[:, self.columns], run[self.columns]
        self._steps = np.maximum([figures[at].step for at in self.columns], _LEAST_SCALE)
        self._width = sqrt(1 + 1 / len(baselines))

    def beyond_the_shared(self) -> _Columns:
        """What is left of each without the median shift of all."""
        found = copy(self)
        middle = np.median(self.held, axis=0)
        found.held = self.held - np.median(self.held - middle, axis=1)[:, np.newaxis]
        found.run = self.run - np.median(self.run - middle)
        return found

    def only(self, places: Sequence[int]) -> _Columns:
        """Those at `places`."""
        found = copy(self)
        found.columns = [self.columns[at] for at in places]
        found.held, found.run = self.held[:, places], self.run[list(places)]
        found._steps = self._steps[list(places)]
        return found

    def together(
        self,
        of_shifts: Callable[[FloatArray], float],
        others: Sequence[list[int]],
        boots: Sequence[str],
    ) -> _Scored:
        """`of_shifts` of how far all columns of a run are above the medians of the baselines that
        it is held against: `others` of each baseline, all of the run. Logarithms of ratios."""
        scores = np.array(
            [
                of_shifts(one - np.median(self.held[rest], axis=0))
                for one, rest in zip(self.held, others, strict=True)
            ]
        )
        value = of_shifts(self.run - np.median(self.held, axis=0))
        return _Scored(value, predict(scores, boots, _LEAST_SCALE), scores)

    def furthest(self, others: Sequence[list[int]], boots: Sequence[str]) -> _Scored:
        """How far out the one is that is furthest out, as asinh."""
        scores = np.array(
            [
                asinh(self._out(one, self.held[rest]))
                for one, rest in zip(self.held, others, strict=True)
            ]
        )
        value = asinh(self._out(self.run, self.held))
        return _Scored(value, predict(scores, boots, _LEAST_SCALE), scores)

    def gated(self, at: int, bound: float, alone: float, *, is_out: bool) -> Gated:
        """One of them; `bound` is that of the furthest, `is_out` whether that is beyond it."""
        own = float(self.run[at] - self.held[:, at].mean())
        scatter = max(float(self.held[:, at].std(ddof=1)), float(self._steps[at]))
        scale = scatter * self._width
        limit = max(_grown(bound) * scale, log1p(LEAST_CHANGE))
        found = limit + _BEYOND_POWER * scale
        return Gated(
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
) -> Gated:
    prediction = scored.prediction
    bound = max(prediction.bound(level), scored.most, log1p(LEAST_CHANGE))
    # Scores that reach far down are more than what a normal distribution has there.
    below = prediction.centre - float(scored.baselines.min())
    found = bound - prediction.centre + max(_BEYOND_POWER * prediction.scale, below)
    outcome = _passes(found, difference)
    scatter = prediction.scale / sqrt(1 + 1 / count)
    return Gated(
        "FAIL" if is_failed and scored.value > log1p(LEAST_CHANGE) else outcome,
        exp(scored.value),
        exp(bound),
        exp(found),
        scatter,
        None if outcome == "PASS" else runs_needed(scatter, difference, level),
    )


def _grown(bound: float) -> float:
    return sinh(bound) if bound < 20 else inf


def _ratio(log_ratio: float) -> float:
    return exp(log_ratio) if log_ratio < 700 else inf
