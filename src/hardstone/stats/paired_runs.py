"""The effect of a setting from pairs of runs, without and with it, one after the other.

The unit of the statistics is the run: values within a run depend on each other, and both runs
of a pair see the same drift. Each quantile of a run (the median, and 99 % and 99.9 % if a run
has enough values) gives one difference per pair. All quantiles are tested together (Holm). The
worst observed is shown and not judged: it is a single value, and it grows with the length of
the run.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Literal

import msgspec

from hardstone.event_names import LEFT, LEFT_REMEDY, SHIELDED
from hardstone.model import PlannedTest, Result, RunDocument, Series, Unit
from hardstone.stats.histogram import bins_of
from hardstone.stats.kind_of_time import time_meaning
from hardstone.stats.quantiles import is_printable, lacking, quantile_of_bins, values_for
from hardstone.stats.rank_tests import Shift, hodges_lehmann, holm, signed_rank_p

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
    verdict: Literal["lower", "higher", "none seen", "not judged"]


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
            counted.append((_first(without[1]), _first(with_setting[1])))
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
        notes=[*_notes(document, len(counted)), *_lacking(counted)],
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
        return f"{', '.join(settings)} found nothing to change"
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


def _first(result: Result) -> Series:
    """The main series of a test comes first."""
    return result.series[0]


def _effects(pairs: Sequence[tuple[Series, Series]]) -> list[Effect]:
    if not pairs:
        return []
    least = min(series.count for pair in pairs for series in pair)
    levels = [q for q in _FIGURES if q == min(_FIGURES) or is_printable(q, least)]
    values = [
        [PairValues(without=_quantile(a, q), with_setting=_quantile(b, q)) for a, b in pairs]
        for q in levels
    ]
    p_values = [signed_rank_p(_differences(figure)) for figure in values]
    unit = pairs[0][0].unit
    return [
        _effect(_FIGURES[q], unit, found, p, adjusted, 1 - ALPHA / len(levels))
        for q, found, p, adjusted in zip(levels, values, p_values, holm(p_values), strict=True)
    ]


def _effect(
    figure: str,
    unit: Unit,
    values: list[PairValues],
    p: float,
    p_adjusted: float,
    confidence: float,
) -> Effect:
    """`confidence` of the interval is corrected for all figures, like the verdict."""
    shift = hodges_lehmann(_differences(values), confidence)
    is_seen = p_adjusted <= ALPHA and shift.estimate != 0
    verdict: Literal["lower", "higher", "none seen", "not judged"] = "none seen"
    if len(values) < LEAST_PAIRS:
        verdict = "not judged"
    elif is_seen:
        verdict = "lower" if shift.estimate < 0 else "higher"
    return Effect(
        figure=figure,
        unit=unit,
        pairs=values,
        shift=shift,
        p=p,
        p_adjusted=p_adjusted,
        verdict=verdict,
    )


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


def _differences(values: Sequence[PairValues]) -> list[int]:
    return [one.with_setting - one.without for one in values]


def _quantile(series: Series, q: float) -> int:
    """A quantile beyond the histogram is at most the maximum."""
    worst = series.max or 0
    found = quantile_of_bins(bins_of(series.histogram), q)
    return worst if found is None or found.value is None else min(found.value, worst)


def _lacking(pairs: Sequence[tuple[Series, Series]]) -> list[str]:
    """The quantiles that are not judged, as the shortest run has too few values."""
    least = min((series.count for pair in pairs for series in pair), default=0)
    told = [(name, lacking(values_for(q), least)) for q, name in _FIGURES.items()]
    return [f"{name} {what}" for name, what in told if pairs and what and name != "median"]


def _notes(document: RunDocument, pairs: int) -> list[str]:
    meaning = time_meaning(document.system)
    return [*_few(pairs), *([meaning] if meaning else [])]


def _few(pairs: int) -> list[str]:
    if pairs == 0:
        return ["no complete pair: no result"]
    if pairs < LEAST_PAIRS:
        return [f"{'1 pair counts' if pairs == 1 else f'{pairs} pairs count'}: {FEW_PAIRS}"]
    return []
