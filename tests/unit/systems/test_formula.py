"""The formula gives what the study of 2012 published, and docs/method/rating.md says what the code
does: its tables follow from the code and from published.json."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import inf
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardstone.catalogue import load_catalogue
from hardstone.model import Verdict
from hardstone.systems.criteria import (
    CategoryCriteria,
    FigureCriterion,
    load_criteria,
    rated_figures,
)
from hardstone.systems.published import load_studies
from hardstone.systems.rating import (
    CategoryRating,
    Rating,
    halves,
    mean_scores,
    ns_of_score,
    rate,
    rounded_down,
    score_of_ns,
    weighted_mean,
)
from hardstone.systems.subjects import Amount, published_system
from hardstone.units import format_ns
from tests.changed_copy import replace
from tests.unit.systems.made_subject import Key, MadeSubject, all_rated, copy_of

ANCHORS = load_criteria().anchors
PAGE = (Path(__file__).parents[3] / "docs/method/rating.md").read_text("utf-8")
STUDY = "dedicated-systems-2012"
CALIBRATED = ["clock", "threads", "semaphores", "mutexes", "interrupts"]


def stars(rating: Rating) -> dict[str, float | None]:
    return {one.category: one.stars for one in rating.categories}


def of(rating: Rating, category: str) -> CategoryRating:
    return next(one for one in rating.categories if one.category == category)


@pytest.mark.parametrize(
    ("key", "of_categories", "mean", "overall"),
    [
        ("qnx", [5, 5, 5, 5, 5], 5.0, 5.0),
        ("ce7", [5, 5, 4.5, 5, 4], 4.47, 4.5),
        ("linux-rt", [3.5, 3.5, 2.5, 4, 3], 3.10, 3.0),
    ],
)
def test_published_figures_give_the_published_stars(
    key: str, of_categories: list[float], mean: float, overall: float
) -> None:
    """Also moved by a fifth, all at once in one direction: the formula is monotone, so all mixtures
    lie between."""
    rating = rate(published_system(key))
    assert rating.overall == rating.study_stars == overall
    assert [stars(rating)[name] for name in CALIBRATED] == of_categories
    scores = {one.category: one.score for one in rating.categories if one.score is not None}
    assert weighted_mean(scores) == pytest.approx(mean, abs=0.005)
    assert [moved(key, factor).overall for factor in (0.8, 1.2)] == [overall, overall]


def moved(key: str, factor: float) -> Rating:
    def change(_: str, __: str, amount: Amount) -> Amount:
        return replace(amount, value=None if amount.value is None else amount.value * factor)

    return rate(copy_of(published_system(key)).changed(change))


@pytest.mark.parametrize(("factor", "said"), [(1.2, "4.25"), (0.8, "4.68")])
def test_what_a_fifth_more_gives_is_as_said_and_a_third_moves_the_stars(
    factor: float, said: str
) -> None:
    assert f"{moved('ce7', factor).score:.2f}" == said and said in PAGE
    assert moved("ce7", 1.35).overall == 4.0


@pytest.mark.parametrize(
    ("us", "score"), [(0, 5), (15, 5), (40, 3), (200, 1.5), (1000, 0), (5000, 0), (-3, 5)]
)
def test_the_curve_at_its_anchors(us: float, score: float) -> None:
    """200 us is the geometric mean of 40 and 1000, where the score is half of 3."""
    assert score_of_ns(us * 1000, ANCHORS) == pytest.approx(score)


@pytest.mark.slow
@given(st.floats(0.01, 5), st.floats(1, 1e12))
def test_the_curve_has_an_inverse_and_a_limit_is_rounded_down_to_three_digits(
    score: float, value: float
) -> None:
    assert score_of_ns(ns_of_score(score, ANCHORS), ANCHORS) == pytest.approx(score)
    assert ns_of_score(0, ANCHORS) == inf
    limit = rounded_down(value)
    assert value * 0.99 <= limit <= value * (1 + 1e-9)
    assert float(f"{limit:.3g}") == pytest.approx(limit, rel=1e-9)


@pytest.mark.parametrize(
    ("score", "nearest"), [(0, 0), (0.24, 0), (0.25, 0.5), (4.74, 4.5), (4.75, 5), (5, 5)]
)
def test_halves(score: float, nearest: float) -> None:
    assert halves(score) == nearest


FAST = all_rated(lambda _, __: 1000.0)
RATED = [name for name, one in load_criteria().categories.items() if not one.why_no_stars]
TICK = ("CLK-P-DUR/tick", "max")


def with_failed(test: str, name: str) -> MadeSubject:
    failing = (Verdict(name=name, passed=False, evidence="-"),)
    return replace(FAST, claims={**FAST.claims, test: failing})


def without(system: MadeSubject, is_out: Callable[[Key], bool]) -> MadeSubject:
    return system.changed(
        lambda address, statistic, amount: None if is_out((address, statistic)) else amount
    )


def test_the_best_of_everything_is_the_full_rating_and_has_no_gaps() -> None:
    rating = rate(FAST)
    assert (rating.overall, rating.is_at_most, rating.caps) == (5.0, False, [])
    assert stars(rating) == {**dict.fromkeys(RATED, 5.0), "application": None}
    assert rating.next_half == ""
    assert all(not one.missing and not one.failed for one in rating.categories)


@pytest.mark.parametrize("category", RATED)
def test_each_category_bounds_the_whole(category: str) -> None:
    """Where its figures are worst, where a behaviour fails, and where no worst case is known."""
    criteria = load_criteria().categories[category]
    keys = [
        (one.address, name) for one in rated_figures(category) for name in ("min", "max", "mean")
    ]
    rating = rate(FAST.with_values(dict.fromkeys(keys, 1e9)))
    assert stars(rating) == {**dict.fromkeys(RATED, 5.0), "application": None, category: 0.0}
    assert rating.overall == 1.5 and any(category in text for text in rating.caps)
    for test in criteria.behaviours:
        rating = rate(with_failed(test, "claim/case"))
        found = of(rating, category)
        assert found.stars == 2.0 and found.failed == [f"{test} claim/case"]
        assert rating.overall == 3.0 and any("failed behaviours" in text for text in rating.caps)
    tests = {one.test for one in criteria.figures}
    rating = rate(without(FAST, lambda key: key[0].partition("/")[0] in tests))
    assert stars(rating)[category] is None and rating.is_at_most
    if category in CALIBRATED:
        assert rating.overall is None and category in rating.why_none
    else:
        assert rating.overall == 5.0 and rating.why_none == ""


def test_what_is_uncounted_in_the_catalogue_does_not_count() -> None:
    assert load_catalogue().entry("THR-B-RR").why_uncounted("first_slice")
    assert rate(with_failed("THR-B-RR", "first_slice")).overall == 5.0


@pytest.mark.parametrize(
    ("configuration", "overall"),
    [
        ("out of the box", 5.0),
        ("special attention", 3.0),
        ("deep knowledge", 2.0),
        ("problematic", 1.0),
        ("none", 0.0),
        ("words of a study", 5.0),
    ],
)
def test_the_configuration_bounds_the_whole(configuration: str, overall: float) -> None:
    rating = rate(replace(FAST, configuration=configuration))
    assert (rating.overall, rating.configuration) == (overall, configuration)
    assert {stars(rating)[name] for name in RATED} == {5.0}


def test_a_missing_mean_counts_as_perfect_and_is_said() -> None:
    slow = all_rated(lambda address, role: 100_000.0)
    mean = (TICK[0], "mean")
    before, after = (of(rate(one), "clock") for one in (slow, without(slow, mean.__eq__)))
    assert after.score > before.score and after.is_at_most and not before.is_at_most
    assert after.missing == ["mean of CLK-P-DUR/tick: not published"]


@pytest.mark.parametrize(("more", "score"), [(-0.1, 5), (0.015, 5), (0.04, 3), (1, 0), (9, 0)])
def test_what_exceeds_a_block_is_rated_by_the_thousandth(more: float, score: float) -> None:
    """1.5 % more than the block is 5, 4 % is 3, twice the block is 0."""
    keys = [(f"RSP-P-FIX/{kind}/time", "max") for kind in ("add", "copy")]
    figures = of(
        rate(FAST.with_values(dict.fromkeys(keys, 10e6 * (1 + more)))), "determinism"
    ).figures
    assert min(one.score for one in figures if one.role == "worst") == pytest.approx(score)


@pytest.mark.parametrize("end", ["below", "above"])
def test_a_bound_is_rated_by_its_known_end(end: str) -> None:
    def change(address: str, statistic: str, amount: Amount) -> Amount:
        is_tick = (address, statistic) == TICK
        return replace(amount, value=None, **{end: 40_000}) if is_tick else amount

    found = of(rate(FAST.changed(change)), "clock")
    assert (found.score, found.is_at_most) == ((3 * 3 + 5) / 4, end == "above")


def test_the_nine_categories_are_those_of_the_catalogue() -> None:
    assert len(load_criteria().categories) == 9
    for name, one in load_criteria().categories.items():
        tests = [*one.behaviours, *(figure.test for figure in one.figures)]
        # The study's clock is the tick; what blocks a caller of the clock is determinism.
        found = {load_catalogue().entry(test).category for test in tests if test != "CLK-P-BIN"}
        assert found == ({name} if tests else set())


# ---- docs/method/rating.md ----


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    heads = list(heads)
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def stars_meanings() -> str:
    """The study's criteria of its stars."""
    criteria = load_studies()[STUDY].tables["rating_criteria"]
    rows = [(number, texts[0], texts[1]) for number, texts in criteria.items()]
    return table(["stars", "configuration", "real-time"], rows)


def published_scores() -> str:
    """The scores of the three systems, their mean, and the stars of both."""
    rows = []
    for key in load_studies()[STUDY].systems:
        system = published_system(key)
        rating = rate(system)
        scores = {one.category: one.score or 0.0 for one in rating.categories if one.is_calibrated}
        numbers = [scores[name] for name in CALIBRATED] + [weighted_mean(scores)]
        bound = rating.caps[0].partition(":")[0] if rating.caps else "-"
        ends = [bound, f"{rating.overall:g}", f"{rating.study_stars:g}"]
        rows.append([system.label, *(f"{one:.2f}" for one in numbers), *ends])
    return table(["system", *CALIBRATED, "mean", "bound by", "stars", "the study's"], rows)


def worked_example() -> str:
    """Interrupts of Windows CE7, figure by figure."""
    found = of(rate(published_system("ce7")), "interrupts")
    rows = []
    for one in found.figures:
        value = one.amount.value or 0.0
        word = "worst" if one.role == "worst" else "mean"
        taken = format_ns(value * load_criteria().factor(one.role))
        rows.append([f"{word} of {one.address}", format_ns(value), taken, f"{one.score:.2f}"])
    worst = min(one.score for one in found.figures if one.role == "worst")
    means = mean_scores("interrupts", found.figures)
    average = sum(means) / len(means)
    return (
        f"{table(['figure', 'value', 'scored as', 'score'], rows)}\n\n"
        f"(3 x {worst:.2f} + {average:.2f}) / 4 = {found.score:.2f}, which is {found.stars:g} "
        f"stars. For another half star:\n{found.next_half}."
    )


def rated_series() -> str:
    """What each category is rated by."""

    def words(one: FigureCriterion) -> str:
        labels = [f"{key} {value}" for key, value in one.labels.items()]
        labels += [f"{key} {', '.join(values)}" for key, values in one.each.items()]
        said = f" ({'; '.join(labels)})" if labels else ""
        return f"{one.test} {one.series}{said}: {', '.join(one.roles)}"

    def counts(criteria: CategoryCriteria) -> str:
        unweighted = "not rated" if criteria.why_no_stars else "bounds only"
        return str(criteria.weight) if criteria.weight else unweighted

    rows = [
        (
            name,
            counts(criteria),
            "; ".join(map(words, criteria.figures)) or "-",
            ", ".join(criteria.behaviours) or "-",
        )
        for name, criteria in load_criteria().categories.items()
    ]
    return table(["category", "counts", "figures", "counted behaviours"], rows)


def stand_ins() -> str:
    """What is rated where the figure of a criterion is missing."""
    rows = []
    for one in (one for name in load_criteria().categories for one in rated_figures(name)):
        names = [" ".join([each.series, *each.labels.values()]) for each in one.instead]
        if names:
            is_rated = all(each.is_stricter for each in one.instead)
            what = f"the worst of {', '.join(names)}"
            rows.append([f"{one.test} {one.series}", what, "yes" if is_rated else "no star"])
    return table(["in place of", "is shown", "rated"], rows)


def uncounted() -> str:
    """What does not count although its test does."""
    catalogue = load_catalogue()
    rated = {test for one in load_criteria().categories.values() for test in one.behaviours}
    rows = [
        (f"{test} {name}", reason)
        for test in catalogue.ids()
        if test in rated or "-P-" in test
        for name, reason in catalogue.entry(test).uncounted.items()
    ]
    return table(["shown, not rated", "why"], rows)


def configurations() -> str:
    rows = [(name, f"{cap:g}") for name, cap in load_criteria().configurations.items()]
    return table(["effort", "at most"], rows)


def curve() -> str:
    us = (5, 15, 20, 25, 40, 100, 200, 500, 1000)
    scores = [f"{score_of_ns(one * 1000, ANCHORS):.2f}" for one in us]
    return table(["us", *map(str, us)], [["score", *scores]])


PARTS = (
    stars_meanings,
    published_scores,
    worked_example,
    rated_series,
    stand_ins,
    uncounted,
    configurations,
    curve,
)


@pytest.mark.parametrize("part", PARTS)
def test_the_page_has_what_follows_from_the_code(part: Callable[[], str]) -> None:
    assert part() in PAGE, part()


def test_the_page_names_the_numbers_of_the_formula() -> None:
    criteria = load_criteria()
    assert criteria.anchors == [(15, 5.0), (40, 3.0), (1000, 0.0)]
    assert (criteria.mean_factor, criteria.uncontended_factor) == (4, 16)
    assert (criteria.worst_weight, criteria.mean_weight) == (3, 1)
    assert (criteria.category_cap, criteria.overall_cap, criteria.lowest_margin) == (2, 3, 1.5)
