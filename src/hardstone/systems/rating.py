"""Stars from worst cases, averages and behaviours: scores by category, their caps, and half a
star more.

It was worked out from what the study of 2012 published of three systems. It is monotone: no
improvement of a figure, and no behaviour that passes, lowers a score. A missing figure counts as
perfect, so each that becomes known can only lower one; where it is missing, stars are "at most".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import pairwise
from math import exp, floor, log, log10
from typing import Literal

from hardstone.catalogue import load_catalogue
from hardstone.model import FORMULA, RunDocument
from hardstone.stats.conditions import listed
from hardstone.stats.consistency import counts_instructions
from hardstone.systems.criteria import (
    CategoryCriteria,
    FigureCriterion,
    Role,
    configuration_of,
    find_figure,
    is_loaded,
    load_criteria,
    rated_as,
    rated_figures,
    rated_value,
)
from hardstone.systems.subjects import (
    Amount,
    MeasuredRun,
    Missing,
    PublishedSystem,
    Subject,
    subjects_of,
)
from hardstone.units import format_ns


@dataclass(frozen=True)
class RatedFigure:
    """A figure with its score, 0 to 5. `role`: a worst figure, a mean, or a mean of calls that
    nobody contends for. `instead`: what it is where the criterion's own figure is missing
    ("delivery from another CPU, in place of a device's latency"). `block_ns`: what the figure
    holds of undisturbed processing, which is not rated; 0: nothing.

    `why_range`: why the score is a range, from `lowest_score` to `score`: a stand-in, or fewer
    values than its criterion states ("300 of 1,000,000,000 interrupts"); "" for one score."""

    address: str
    role: Literal["worst", "mean", "uncontended"]
    amount: Amount
    score: float
    instead: str = ""
    block_ns: int = 0
    lowest_score: float = 0.0
    why_range: str = ""
    is_stand_in: bool = False


@dataclass(frozen=True)
class CategoryRating:
    """One category. `stars` are halves of `score`; both are None where no worst figure is known.
    Where all worst figures are stand-ins there are no stars, and `score` is what they could be.

    `lowest_stars`: stars from there to `stars` are possible with the values that were taken; None
    where no figure has a range. `why_no_stars`: of a category that is not rated.

    `is_calibrated`: the formula was fitted to published stars of this category. `is_at_most`:
    figures or behaviours are missing (`missing`, with reasons), each of which can only lower it.
    `failed`: counted behaviours that fail and cap it, and the overall rating with it.
    `decisive`: the worst figure that decides. `next_half`: what half a star more would take, "" at
    5; of a range, more than its upper end.
    """

    category: str
    stars: float | None
    score: float | None
    is_calibrated: bool
    is_at_most: bool
    figures: list[RatedFigure]
    decisive: RatedFigure | None
    failed: list[str]
    missing: list[str]
    next_half: str = ""
    lowest_stars: float | None = None
    lowest_score: float = 0.0
    why_no_stars: str = ""
    has_unknown_claims: bool = False

    @property
    def has_stand_ins(self) -> bool:
        """Whether a figure of another thing is in the place of a rated one."""
        return any(one.is_stand_in for one in self.figures)

    @property
    def has_few_values(self) -> bool:
        """Whether a figure rests on fewer values than its criterion states."""
        return any(one.why_range and not one.is_stand_in for one in self.figures)


@dataclass(frozen=True)
class Rating:
    """`overall` is None where too little is known, with the reason in `why_none`; `score` is what
    it is rounded from. `caps`: what bounds the overall rating, in words. `rated_as`: "shorter than
    standard", "emulated", "without load", ...: a rating with any of these is never the full one.
    `lowest`: overall stars from there to `overall` are possible; None where no figure has a range.
    `configuration`: what the system took to configure, which caps the rating. `study_stars`: what a
    study gave itself; None for a run. `next_half`: what half a star more overall would take."""

    overall: float | None
    is_at_most: bool
    why_none: str
    categories: list[CategoryRating]
    caps: list[str]
    rated_as: list[str]
    configuration: str
    study_stars: float | None = None
    next_half: str = ""
    formula: str = FORMULA
    score: float | None = None
    lowest: float | None = None


BEST = 5.0
_US = 1000  # in ns
Anchors = Sequence[tuple[int, float]]


def score_of_ns(duration_ns: float, anchors: Anchors) -> float:
    """0 to BEST: linear in the logarithm of the duration between the anchors (us, score).

    A duration of 0 or less has the best score.
    """
    for (low, better), (high, worse) in pairwise(anchors):
        if duration_ns <= low * _US:
            return better
        if duration_ns < high * _US:
            share = log(duration_ns / (low * _US)) / log(high / low)
            return better + share * (worse - better)
    return anchors[-1][1]


def ns_of_score(score: float, anchors: Anchors) -> float:
    """The longest duration that has at least `score`; infinite for the lowest score."""
    for (low, better), (high, worse) in pairwise(anchors):
        if score >= better:
            return float(low * _US)
        if score > worse:
            return low * _US * exp((score - better) / (worse - better) * log(high / low))
    return float("inf")


def halves(score: float) -> float:
    """`score` to the nearest half star; a quarter goes up."""
    return floor(2 * score + 0.5) / 2


def rounded_down(duration_ns: float) -> float:
    """Three significant digits, never more than the value: a limit that is said must hold."""
    if duration_ns <= 0:
        return 0.0
    digit = 10.0 ** (floor(log10(duration_ns)) - 2)
    return floor(duration_ns / digit + 1e-9) * digit


_PER_THOUSANDTH_NS = 1e6  # a thousandth of a block counts as 1 us


def _figure_score(value_ns: float, role: Role, block_ns: int = 0) -> float:
    """The score of a figure in its role. Of a block of processing only what it took beyond."""
    criteria = load_criteria()
    rated_ns = (value_ns - block_ns) / block_ns * _PER_THOUSANDTH_NS if block_ns else value_ns
    return score_of_ns(rated_ns * criteria.factor(role), criteria.anchors)


def _limit_ns(score: float, figure: RatedFigure) -> float:
    """The largest value of `figure` that has `score`, rounded down; the inverse of the above."""
    criteria = load_criteria()
    rated_ns = ns_of_score(score, criteria.anchors) / criteria.factor(figure.role)
    if not figure.block_ns:
        return rounded_down(rated_ns)
    return figure.block_ns + rounded_down(rated_ns * figure.block_ns / _PER_THOUSANDTH_NS)


def _figures_score(category: str, figures: Sequence[RatedFigure]) -> float:
    """(3 x the score of the largest worst figure + the average of the scores of means) / 4.

    Without means in the criteria it is the score of the worst figure alone. What is missing counts
    as perfect.
    """
    worst = min((one.score for one in figures if one.role == "worst"), default=BEST)
    scores = mean_scores(category, figures)
    return _weighted(worst, sum(scores) / len(scores)) if scores else worst


def _weighted(worst: float, average: float) -> float:
    criteria = load_criteria()
    weights = criteria.worst_weight + criteria.mean_weight
    return (criteria.worst_weight * worst + criteria.mean_weight * average) / weights


def mean_scores(category: str, figures: Sequence[RatedFigure]) -> list[float]:
    """The scores of all means that the category is rated by; BEST for a missing one."""
    known = [one.score for one in figures if one.role != "worst"]
    return known + [BEST] * (_means_count(category) - len(known))


def _lowest_category_score(category: str, figures: Sequence[RatedFigure]) -> float:
    """As `_figures_score`, with the lowest scores; what is missing counts as worst."""
    known = rated_figures(category)
    worst = [one.lowest_score for one in figures if one.role == "worst"]
    is_lacking = len(worst) < sum("worst" in one.roles for one in known)
    lowest = 0.0 if is_lacking else min(worst, default=BEST)
    count = _means_count(category)
    means = sum(one.lowest_score for one in figures if one.role != "worst")
    return _weighted(lowest, means / count) if count else lowest


def weighted_mean(scores: Mapping[str, float]) -> float:
    """The mean of the calibrated categories by their weights; a missing one counts as perfect."""
    weights = {name: one.weight for name, one in load_criteria().categories.items() if one.weight}
    total = sum(scores.get(name, BEST) * weight for name, weight in weights.items())
    return total / sum(weights.values())


@cache
def _means_count(category: str) -> int:
    return sum(role != "worst" for one in rated_figures(category) for role in one.roles)


@dataclass(frozen=True)
class OverallCap:
    """`text` says why the overall rating is at most `score`."""

    score: float
    text: str


def overall_caps(categories: Iterable[CategoryRating], configuration: str) -> list[OverallCap]:
    """All bounds, also those above the mean of the categories. Missing ones bound nothing."""
    criteria = load_criteria()
    taken = criteria.configurations.get(configuration, max(criteria.configurations.values()))
    caps = [OverallCap(taken, f"configuration: {configuration}, at most {taken:g}")]
    known = [(one.score, one.category) for one in categories if one.score is not None]
    if known:
        score, category = min(known)
        bound = score + criteria.lowest_margin
        text = f"{category}: {score:.2f} + {criteria.lowest_margin:g}"
        caps.append(OverallCap(bound, text))
    failing = [one.category for one in categories if one.failed]
    if failing:
        text = f"failed behaviours ({', '.join(failing)}): at most {criteria.overall_cap:g}"
        caps.append(OverallCap(criteria.overall_cap, text))
    return caps


def _lowest_overall(categories: Sequence[CategoryRating], configuration: str) -> float:
    """The least that the overall score can be, where every range ends at its lower end."""
    criteria = load_criteria()
    lowest = {one.category: one.lowest_score for one in categories if not one.why_no_stars}
    caps = [
        weighted_mean(lowest),
        min(lowest.values()) + criteria.lowest_margin,
        criteria.configurations.get(configuration, max(criteria.configurations.values())),
    ]
    if any(one.failed or one.has_unknown_claims for one in categories):
        caps.append(criteria.overall_cap)
    return min(caps)


_HALF = 0.5
_ROUNDED_UP_FROM = 0.25  # below a half star
_ROUNDING = 1e-9


@dataclass(frozen=True)
class NeededChanges:
    """Changes that bring a category to a score: each figure at most its limit in ns, each of the
    behaviours passes. `configuration`: what the system may take to configure, for an overall
    rating."""

    limits: list[tuple[RatedFigure, float]] = field(default_factory=list)
    behaviours: list[str] = field(default_factory=list)
    configuration: str = ""

    def text(self) -> str:
        return "; ".join(self._parts())

    def _parts(self) -> Iterable[str]:
        grouped: dict[tuple[str, float], list[str]] = {}
        for figure, limit in self.limits:
            word = "worst observed" if figure.role == "worst" else "mean"
            grouped.setdefault((word, limit), []).append(figure.address)
        for (word, limit), addresses in grouped.items():
            yield f"the {word} {', '.join(dict.fromkeys(addresses))} at most {format_ns(limit)}"
        if self.behaviours:
            yield f"{listed(self.behaviours)} must hold"
        if self.configuration:
            yield f"configuration: {self.configuration}"


def category_needed(rating: CategoryRating) -> NeededChanges | None:
    """What half a star more of a category takes; None at the best or without stars."""
    if rating.stars is None or rating.stars >= BEST:
        return None
    return _to_reach(rating, rating.stars + _HALF - _ROUNDED_UP_FROM)


def _to_reach(rating: CategoryRating, score: float) -> NeededChanges:
    """What brings the category to `score`: worst figures first, then the means, lowest first."""
    criteria = load_criteria()
    is_capped = score > criteria.category_cap
    behaviours = rating.failed if is_capped else []
    if _figures_score(rating.category, rating.figures) >= score:
        return NeededChanges(behaviours=behaviours)
    score = min(score + _ROUNDING, BEST)
    means = mean_scores(rating.category, rating.figures)
    weight = criteria.mean_weight if means else 0
    average = sum(means) / len(means) if means else BEST
    wanted_sum = (criteria.worst_weight + weight) * score
    worst = min((wanted_sum - weight * average) / criteria.worst_weight, BEST)
    wanted_average = wanted_sum - criteria.worst_weight * BEST
    limits = _below(rating, ("worst",), worst)
    if weight and wanted_average > average:
        limits += _below(rating, ("mean", "uncontended"), _level(means, wanted_average))
    return NeededChanges(limits, behaviours)


def _below(
    rating: CategoryRating, roles: Sequence[str], score: float
) -> list[tuple[RatedFigure, float]]:
    """The figures that have less than `score`, with the limit that gives it."""
    found = [one for one in rating.figures if one.role in roles and one.score < score]
    return [(one, _limit_ns(score, one)) for one in found]


def _level(scores: Sequence[float], average: float) -> float:
    """The score to which the lowest ones must rise so that all have this average."""
    ordered = sorted(scores)
    for count in range(1, len(ordered) + 1):
        level = (average * len(ordered) - sum(ordered[count:])) / count
        if count == len(ordered) or level <= ordered[count]:
            return min(level, BEST)
    return BEST


def overall_needed(rating: Rating) -> dict[str, NeededChanges]:
    """What half a star more overall takes, by category, the configuration under ""; empty at the
    best or without a rating."""
    if rating.overall is None or rating.overall >= BEST:
        return {}
    criteria = load_criteria()
    score = rating.overall + _HALF - _ROUNDED_UP_FROM
    wanted = _wanted_scores(rating, score)
    found = {}
    is_capped = score > criteria.overall_cap
    for one in rating.categories:
        needed = _to_reach(one, wanted[one.category]) if one.category in wanted else NeededChanges()
        behaviours = dict.fromkeys([*needed.behaviours, *(one.failed if is_capped else ())])
        needed = replace(needed, behaviours=list(behaviours))
        if needed.text():
            found[one.category] = needed
    if criteria.configurations.get(rating.configuration, BEST) < score:
        enough = [name for name, cap in criteria.configurations.items() if cap >= score]
        found[""] = NeededChanges(configuration=enough[-1])
    return found


def _wanted_scores(rating: Rating, score: float) -> dict[str, float]:
    """The scores of categories that must rise: those that cap, then those that weigh most."""
    criteria = load_criteria()
    now = {one.category: one.score for one in rating.categories if one.score is not None}
    floor = score - criteria.lowest_margin + _ROUNDING
    risen = {name: max(has, floor) for name, has in now.items()}
    weights = {name: criteria.categories[name].weight for name in now}
    total = sum(one.weight for one in criteria.categories.values())
    for name in sorted(now, key=lambda name: weights[name] * (risen[name] - BEST)):
        lacking = score - weighted_mean(risen)
        if lacking > 0 and weights[name]:
            gain = lacking * total / weights[name] + _ROUNDING
            risen[name] = min(risen[name] + gain, BEST)
    return {name: has for name, has in risen.items() if has > now[name]}


_MOST_CHARACTERS = 200


def rate(subject: Subject) -> Rating:
    """The stars of `subject`. None follow from instructions: they are no time of hardware; and none
    from the file of another tool, which has a figure or two, and not how they came about."""
    if isinstance(subject, MeasuredRun) and (why := why_no_stars(subject.document)):
        return _without_stars(subject, why)
    categories = [_category(subject, *one) for one in load_criteria().categories.items()]
    scores = {one.category: one.score for one in categories if one.score is not None}
    is_range = any(one.lowest_stars is not None for one in categories)
    unknown = [one.category for one in categories if one.is_calibrated and one.score is None]
    configuration = configuration_of(subject)
    mean = weighted_mean(scores)
    caps = overall_caps(categories, configuration)
    score = None if unknown else min(mean, *(cap.score for cap in caps))
    rating = Rating(
        overall=None if score is None else halves(score),
        score=score,
        is_at_most=any(one.is_at_most for one in categories),
        why_none=f"no worst figure is known of {', '.join(unknown)}" if unknown else "",
        categories=categories,
        caps=[] if unknown else [cap.text for cap in caps if cap.score < mean],
        rated_as=_rated_as(subject, categories),
        configuration=configuration,
        study_stars=subject.stars if isinstance(subject, PublishedSystem) else None,
        lowest=halves(min(_lowest_overall(categories, configuration), score))
        if is_range and score is not None
        else None,
    )
    needed = overall_needed(rating)
    texts = [f"{name}: {one.text()}" if name else one.text() for name, one in needed.items()]
    return replace(rating, next_half="; ".join(texts))


_NO_TIME = "time counts instructions, and stars are of time of hardware"
_IMPORTED = "read from a file of another tool, and stars are of what hardstone measured"


def why_no_stars(document: RunDocument) -> str:
    """Why no star follows from any figure of a run; "" where stars may."""
    if counts_instructions(document.system):
        return _NO_TIME
    return _IMPORTED if document.imported is not None else ""


def _without_stars(run: MeasuredRun, why: str) -> Rating:
    return Rating(
        overall=None,
        is_at_most=False,
        why_none=why,
        categories=[_not_rated(name, why) for name in load_criteria().categories],
        caps=[],
        rated_as=[] if run.document.imported is not None else rated_as(run),
        configuration=configuration_of(run),
    )


def _category(subject: Subject, name: str, criteria: CategoryCriteria) -> CategoryRating:
    if criteria.why_no_stars:
        return _not_rated(name, criteria.why_no_stars)
    figures: list[RatedFigure] = []
    missing: list[str] = []
    for criterion in rated_figures(name):
        for role in criterion.roles:
            found = _rated_figure(subject, criterion, role)
            if isinstance(found, Missing):
                missing.append(f"{role} of {criterion.address}: {_brief(found.reason)}")
                continue
            figures.append(found)
    failed, unknown = _behaviours(subject, criteria.behaviours)
    worst = [one for one in figures if one.role == "worst"]
    cap = load_criteria().category_cap
    score = _figures_score(name, figures) if worst else None
    if score is not None and failed:
        score = min(score, cap)
    own = [one for one in worst if not one.is_stand_in]
    lowest = min(_lowest_category_score(name, figures), cap if failed or unknown else BEST)
    is_range = bool(worst) and any(one.why_range for one in figures)
    rating = CategoryRating(
        category=name,
        stars=halves(score) if score is not None and own else None,
        score=score,
        is_calibrated=criteria.weight > 0,
        is_at_most=bool(missing or unknown) or _is_open(figures),
        figures=figures,
        # The lowest score, and of those the largest figure.
        decisive=min(
            own, key=lambda one: (one.score, one.block_ns - rated_value(one.amount)), default=None
        ),
        failed=failed,
        missing=missing + unknown,
        lowest_stars=halves(lowest) if is_range else None,
        lowest_score=lowest,
        has_unknown_claims=bool(unknown),
    )
    needed = category_needed(rating)
    return replace(rating, next_half=needed.text() if needed else "")


def _not_rated(name: str, why_no_stars: str) -> CategoryRating:
    return CategoryRating(
        category=name,
        stars=None,
        score=None,
        is_calibrated=False,
        is_at_most=False,
        figures=[],
        decisive=None,
        failed=[],
        missing=[],
        why_no_stars=why_no_stars,
    )


def _rated_as(subject: Subject, categories: Sequence[CategoryRating]) -> list[str]:
    """Why the rating is not the full one, and why its stars are a range."""
    found = rated_as(subject)
    stand_ins = [one.category for one in categories if one.has_stand_ins]
    if stand_ins:
        found.append(f"stand-ins: {' '.join(stand_ins)}")
    few = [one.category for one in categories if one.has_few_values]
    if few:
        is_all = len(few) == sum(bool(one.figures) for one in categories)
        found.append("too few values" if is_all else f"too few values: {' '.join(few)}")
    return found


def _is_open(figures: list[RatedFigure]) -> bool:
    """Whether a figure of which only a lower bound is known could lower the score. Where another
    worst figure has the lowest score already, a worst one cannot."""
    lowest = min((one.score for one in figures if one.role == "worst"), default=0.0)
    return any(one.amount.above and (one.role != "worst" or lowest > 0) for one in figures)


def _rated_figure(
    subject: Subject, criterion: FigureCriterion, role: Role
) -> RatedFigure | Missing:
    found = find_figure(subject, criterion, criterion.statistic if role == "worst" else "mean")
    if isinstance(found, Missing):
        return found
    score = _figure_score(rated_value(found.amount), role, found.block_ns)
    why_range = found.instead if found.is_stand_in else found.too_few
    # More values can only raise a worst; a mean and what a device would take may be anything.
    is_bound = role == "worst" and not found.is_stand_in
    return RatedFigure(
        found.address,
        role,
        found.amount,
        BEST if why_range and not is_bound else score,
        found.instead,
        found.block_ns,
        lowest_score=0.0 if why_range or found.amount.above else score,
        why_range=why_range,
        is_stand_in=found.is_stand_in,
    )


def _behaviours(subject: Subject, tests: list[str]) -> tuple[list[str], list[str]]:
    """Counted claims that fail, and tests of which none is known."""
    failed: list[str] = []
    unknown: list[str] = []
    for test in tests:
        claims = subject.verdicts(test)
        if isinstance(claims, Missing):
            unknown.append(f"{test}: {_brief(claims.reason)}")
            continue
        entry = load_catalogue().entry(test)
        counted = [one for one in claims if not one.passed and not entry.why_uncounted(one.name)]
        failed += [
            f"{test} {one.evidence if subject.is_published else one.name}" for one in counted
        ]
    return failed, unknown


def _brief(reason: str) -> str:
    """A reason may list every series of a result."""
    is_long = len(reason) > _MOST_CHARACTERS
    return f"{reason[:_MOST_CHARACTERS]}\N{HORIZONTAL ELLIPSIS}" if is_long else reason


def rate_run(document: RunDocument) -> list[tuple[MeasuredRun, Rating]]:
    """A rating for each condition of a run, the headline first: under load, in the CPU
    configuration that the plan names first; of several such, the lowest."""
    rated = [(one, rate(one)) for one in subjects_of(document)]
    return sorted(rated, key=lambda one: _place(*one))


def _place(run: MeasuredRun, rating: Rating) -> tuple[bool, bool, float]:
    configs = run.document.plan.cpu_configs[:1] or [run.document.plan.cpu_config]
    is_other = run.condition.cpu_config not in configs
    score = float("inf") if rating.score is None else rating.score
    return is_other, not is_loaded(run), score
