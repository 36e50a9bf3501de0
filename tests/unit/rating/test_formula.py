"""The formula gives what the study of 2012 published, and does what its page says."""

from __future__ import annotations

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardstone.catalogue import load_catalogue
from hardstone.model import Verdict
from hardstone.rating import Rating, load_criteria, rate, rated_categories
from hardstone.rating.category_score import weighted_mean
from hardstone.rating.curve import halves, ns_of_score, rounded_down, score_of_ns
from hardstone.subjects import Amount, published_system
from tests.changed_copy import replace
from tests.unit.rating.made_subject import MadeSubject, all_rated, copy_of

ANCHORS = load_criteria().anchors
STUDIED = {"qnx": 5.0, "ce7": 4.5, "linux-rt": 3.0}
CALIBRATED = ["interrupts", "clock", "threads", "semaphores", "mutexes"]


def stars(rating: Rating) -> dict[str, float | None]:
    return {one.category: one.stars for one in rating.categories}


def scores(rating: Rating) -> dict[str, float]:
    return {one.category: one.score for one in rating.categories if one.score is not None}


@pytest.mark.parametrize(("key", "expected"), STUDIED.items())
def test_published_figures_give_the_published_stars(key: str, expected: float) -> None:
    rating = rate(published_system(key))
    assert rating.overall == rating.study_stars == expected


@pytest.mark.parametrize(
    ("key", "of_categories", "mean"),
    [
        ("qnx", [5, 5, 5, 5, 5], 5.0),
        ("ce7", [5, 5, 4.5, 5, 4], 4.47),
        ("linux-rt", [3.5, 3.5, 2.5, 4, 3], 3.10),
    ],
)
def test_the_worked_numbers_of_the_specification(
    key: str, of_categories: list[float], mean: float
) -> None:
    rating = rate(published_system(key))
    found = stars(rating)
    order = ["clock", "threads", "semaphores", "mutexes", "interrupts"]
    assert [found[name] for name in order] == of_categories
    assert weighted_mean(scores(rating)) == pytest.approx(mean, abs=0.005)


@pytest.mark.parametrize("factor", [0.8, 1.2])
@pytest.mark.parametrize(("key", "expected"), STUDIED.items())
def test_figures_moved_by_a_fifth_keep_the_stars(key: str, expected: float, factor: float) -> None:
    """All at once in one direction: the formula is monotone, so all mixtures lie between."""

    def moved(_: str, __: str, amount: Amount) -> Amount:
        return replace(amount, value=None if amount.value is None else amount.value * factor)

    assert rate(copy_of(published_system(key)).changed(moved)).overall == expected


def test_a_third_more_moves_the_stars() -> None:
    """The test above can fail: the stars do depend on the figures."""

    def moved(_: str, __: str, amount: Amount) -> Amount:
        return replace(amount, value=None if amount.value is None else amount.value * 1.35)

    assert rate(copy_of(published_system("ce7")).changed(moved)).overall == 4.0


@pytest.mark.parametrize(
    ("us", "score"), [(0, 5), (15, 5), (40, 3), (200, 1.5), (1000, 0), (5000, 0), (-3, 5)]
)
def test_the_curve_at_its_anchors(us: float, score: float) -> None:
    """200 us is the geometric mean of 40 and 1000, where the score is half of 3."""
    assert score_of_ns(us * 1000, ANCHORS) == pytest.approx(score)


@pytest.mark.slow
@given(st.floats(0.01, 5))
def test_the_curve_and_its_inverse(score: float) -> None:
    assert score_of_ns(ns_of_score(score, ANCHORS), ANCHORS) == pytest.approx(score)


def test_any_duration_has_the_lowest_score() -> None:
    assert ns_of_score(0, ANCHORS) == inf


@pytest.mark.slow
@given(st.floats(1, 1e12))
def test_a_limit_is_rounded_down_to_three_digits(value: float) -> None:
    limit = rounded_down(value)
    assert value * 0.99 <= limit <= value * (1 + 1e-9)
    assert float(f"{limit:.3g}") == pytest.approx(limit, rel=1e-9)


@pytest.mark.parametrize(
    ("score", "nearest"), [(0, 0), (0.24, 0), (0.25, 0.5), (4.74, 4.5), (4.75, 5), (5, 5)]
)
def test_halves(score: float, nearest: float) -> None:
    assert halves(score) == nearest


def fast() -> MadeSubject:
    return all_rated(lambda address, _: 0.0 if address.startswith("SIM-S-RT") else 1000.0)


def test_the_best_of_everything_is_the_full_rating_and_has_no_gaps() -> None:
    rating = rate(fast())
    assert (rating.overall, rating.is_at_most, rating.caps) == (5.0, False, [])
    assert set(stars(rating).values()) == {5.0} and rating.next_half == ""
    assert all(not one.missing and not one.failed for one in rating.categories)


@pytest.mark.parametrize("category", rated_categories())
def test_a_category_that_is_worst_bounds_the_whole(category: str) -> None:
    figures = load_criteria().categories[category].each_figure()
    slow = {(one.address, name): 1e9 for one in figures for name in ("min", "max", "mean")}
    rating = rate(fast().with_values(slow))
    assert stars(rating) == {**dict.fromkeys(rated_categories(), 5.0), category: 0.0}
    assert rating.overall == 1.5 and any(category in text for text in rating.caps)


@pytest.mark.parametrize("category", rated_categories())
def test_a_behaviour_that_fails_caps_category_and_whole(category: str) -> None:
    tests = load_criteria().categories[category].behaviours
    for test in tests:
        failing = (Verdict(name="claim/case", passed=False, evidence="-"),)
        rating = rate(replace(fast(), claims={**fast().claims, test: failing}))
        found = next(one for one in rating.categories if one.category == category)
        assert found.stars == 2.0 and found.failed == [f"{test} claim/case"]
        assert rating.overall == 3.0 and any("behaviours fail" in text for text in rating.caps)


def test_what_is_uncounted_in_the_catalogue_does_not_count() -> None:
    assert load_catalogue().entry("THR-B-RR").why_uncounted("first_slice")
    failing = (Verdict(name="first_slice", passed=False, evidence="-"),)
    rating = rate(replace(fast(), claims={**fast().claims, "THR-B-RR": failing}))
    assert rating.overall == 5.0


def test_a_missed_deadline_caps_its_category_alone() -> None:
    address = "SIM-S-RT/400/semaphore/lateness"
    rating = rate(fast().with_values({(address, "max"): 10.0}))
    assert stars(rating)["application"] == 2.0 and rating.overall == 3.5
    on_time = rate(fast().with_values({(address, "max"): 0.0}))
    assert stars(on_time)["application"] == 5.0


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
    rating = rate(replace(fast(), configuration=configuration))
    assert (rating.overall, rating.configuration) == (overall, configuration)
    assert set(stars(rating).values()) == {5.0}


@pytest.mark.parametrize("category", rated_categories())
def test_without_a_worst_case_a_category_has_no_stars(category: str) -> None:
    tests = {one.test for one in load_criteria().categories[category].figures}

    def known(address: str, _: str, amount: Amount) -> Amount | None:
        return None if address.split("/", maxsplit=1)[0] in tests else amount

    rating = rate(fast().changed(known))
    assert stars(rating)[category] is None and rating.is_at_most
    if category in CALIBRATED:
        assert rating.overall is None and category in rating.why_none
    else:
        assert rating.overall == 5.0 and rating.why_none == ""


def test_a_missing_mean_counts_as_perfect_and_is_said() -> None:
    slow = all_rated(lambda address, role: 100_000.0)
    known = rate(slow)

    def without(address: str, statistic: str, amount: Amount) -> Amount | None:
        return None if (address, statistic) == ("CLK-P-DUR/tick", "mean") else amount

    rating = rate(slow.changed(without))
    before, after = (
        next(one for one in found.categories if one.category == "clock")
        for found in (known, rating)
    )
    assert before.score is not None and after.score is not None
    assert after.score > before.score and after.is_at_most and not before.is_at_most
    assert after.missing == ["mean of CLK-P-DUR/tick: not published"]


def test_what_exceeds_a_block_is_rated_by_the_thousandth() -> None:
    """1.5 % more than the block is 5, 4 % is 3, twice the block is 0."""

    def score(time_ns: float) -> float:
        times = {(f"RSP-P-FIX/{kind}/time", "max"): time_ns for kind in ("add", "copy")}
        found = rate(fast().with_values(times)).categories
        figures = next(one for one in found if one.category == "determinism").figures
        return min(one.score for one in figures if one.role == "worst")

    assert [score(10e6 * (1 + more)) for more in (-0.1, 0.015, 0.04, 1, 9)] == pytest.approx(
        [5, 5, 3, 0, 0]
    )


def test_a_bound_is_rated_by_its_known_end() -> None:
    def bounded(**ends: float) -> float:
        def change(address: str, statistic: str, amount: Amount) -> Amount:
            if (address, statistic) != ("CLK-P-DUR/tick", "max"):
                return amount
            return replace(amount, value=None, **ends)  # type: ignore[arg-type]

        rating = rate(fast().changed(change))
        found = next(one for one in rating.categories if one.category == "clock")
        assert found.is_at_most == ("above" in ends) and found.score is not None
        return found.score

    assert bounded(below=40_000) == bounded(above=40_000) == (3 * 3 + 5) / 4


def test_the_nine_categories_are_those_of_the_catalogue() -> None:
    assert len(rated_categories()) == 9
    for name, one in load_criteria().categories.items():
        tests = [*one.behaviours, *(figure.test for figure in one.figures)]
        # The study's clock is the tick; what blocks a caller of the clock is determinism.
        found = {load_catalogue().entry(test).category for test in tests if test != "CLK-P-BIN"}
        assert found == {name}
