"""What half a star more would take is true: exactly that gives it."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given, settings

from hardstone.model import Verdict
from hardstone.rating import CategoryRating, rate, rated_categories
from hardstone.rating.half_more import Needed, category_needed, overall_needed
from hardstone.subjects import Amount, published_system
from tests.changed_copy import replace
from tests.unit.rating.made_subject import MadeSubject, all_rated, copy_of
from tests.unit.rating.made_systems import systems

WAYS = {"worst": ("max", "min"), "mean": ("mean",), "uncontended": ("mean",)}


def carried_out(system: MadeSubject, needed: Needed, slack: float = 1.0) -> MadeSubject:
    """`system` with the changes, each figure `slack` times its limit."""
    limits = {
        (figure.address, statistic): limit * slack
        for figure, limit in needed.limits
        for statistic in WAYS[figure.role]
    }
    for text in needed.without:
        limits[text.partition(":")[0], "max"] = 0.0
    passing = (Verdict(name="claim", passed=True, evidence="-"),)
    tests = {one.split()[0] for one in needed.behaviours}
    claims = {**system.claims, **dict.fromkeys(tests, passing)}
    return replace(
        system.with_values(limits),
        claims=claims,
        configuration=needed.configuration or system.configuration,
    )


def of(system: MadeSubject, category: str) -> CategoryRating:
    return next(one for one in rate(system).categories if one.category == category)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(systems())
def test_exactly_that_gives_a_category_its_half_star(system: MadeSubject) -> None:
    for category in rated_categories():
        rating = of(system, category)
        needed = category_needed(rating)
        if needed is None:
            assert rating.stars in (None, 5.0)
            continue
        after = of(carried_out(system, needed), category)
        assert rating.stars is not None and after.stars is not None
        if needed.behaviours or needed.without:  # without the cap it may be more
            assert after.stars >= rating.stars + 0.5
        else:
            assert after.stars == rating.stars + 0.5


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(systems())
def test_exactly_that_gives_the_whole_its_half_star(system: MadeSubject) -> None:
    rating = rate(system)
    needed = overall_needed(rating)
    if rating.overall in (None, 5.0):
        assert needed == {}
        return
    after = system
    for one in needed.values():
        after = carried_out(after, one)
    now = rate(after).overall
    assert now is not None and rating.overall is not None and now >= rating.overall + 0.5


@pytest.mark.parametrize("key", ["ce7", "linux-rt"])
def test_a_little_less_is_not_enough(key: str) -> None:
    """The limit is not looser than needed: two hundredths above it give nothing."""
    system = copy_of(published_system(key))
    for rating in rate(system).categories:
        needed = category_needed(rating)
        if needed is not None and needed.limits:
            missed = of(carried_out(system, needed, slack=1.02), rating.category)
            assert missed.stars == rating.stars, rating.category


def test_the_words_name_figure_and_limit() -> None:
    found = {one.category: one for one in rate(published_system("ce7")).categories}
    assert found["interrupts"].next_half == (
        "the worst observed IRQ-S-SUS/external/minimal_period at most 22.9 us"
    )
    assert found["clock"].next_half == ""


def test_a_behaviour_that_caps_must_hold() -> None:
    perfect = all_rated(lambda address, role: 1000.0)
    failing = {"SEM-B-REL": (Verdict(name="mixed/sysv", passed=False, evidence="-"),)}
    rating = of(replace(perfect, claims={**perfect.claims, **failing}), "semaphores")
    assert (rating.stars, rating.next_half) == (2.0, "SEM-B-REL mixed/sysv must hold")


def test_below_the_cap_the_figures_come_first() -> None:
    slow = all_rated(lambda address, role: 1e9, is_failing=True)
    rating = of(slow, "semaphores")
    assert rating.stars == 0.0 and "must hold" not in rating.next_half


def test_the_whole_names_what_bounds_it() -> None:
    perfect = all_rated(lambda address, role: 0.0)
    simple = replace(perfect, configuration="special attention")
    assert rate(simple).next_half == "configuration: out of the box"
    worst: Mapping[tuple[str, str], float] = {("TMR-P-LAT/total/wakeup", "max"): 1e9}
    bounded = rate(perfect.with_values(worst))
    assert bounded.overall == 3.0 and bounded.score == 2.75
    assert bounded.next_half.startswith("timers: the worst observed TMR-P-LAT/total/wakeup at most")


def test_a_bound_is_improved_by_its_end() -> None:
    perfect = all_rated(lambda address, role: 0.0)

    def change(address: str, statistic: str, amount: Amount) -> Amount:
        if (address, statistic) != ("CLK-P-DUR/tick", "max"):
            return amount
        return replace(amount, value=None, above=200_000.0)

    system = perfect.changed(change)
    rating = of(system, "clock")
    needed = category_needed(rating)
    assert needed and of(carried_out(system, needed), "clock").stars == (rating.stars or 0) + 0.5
