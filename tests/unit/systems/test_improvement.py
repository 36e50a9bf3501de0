"""No improvement lowers a rating, no gap that is filled raises one, and what half a star more would
take is true: exactly that gives it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hardstone.model import Verdict
from hardstone.systems.criteria import load_criteria
from hardstone.systems.rating import (
    BEST,
    CategoryRating,
    NeededChanges,
    Rating,
    category_needed,
    overall_needed,
    rate,
)
from hardstone.systems.subjects import Amount, published_system
from tests.changed_copy import replace
from tests.unit.systems.made_subject import Key, MadeSubject, all_rated, copy_of

PERFECT = all_rated(lambda address, role: 1000.0)
KEYS = PERFECT.keys()
TESTS = sorted(PERFECT.claims)
CONFIGURATIONS = list(load_criteria().configurations)

# From far below the first anchor (times 16) to far above the last, and blocks of 10 ms and more.
DURATIONS = st.floats(10, 3e7)
ENDS = st.sampled_from(["value", "below", "above"])
AMOUNTS = st.none() | st.builds(lambda end, value: {end: value}, ENDS, DURATIONS)
few = settings(max_examples=50)


def claim(passed: bool) -> tuple[Verdict, ...]:
    return (Verdict(name="claim", passed=passed, evidence="-"),)


def amount_of(amount: Amount, said: dict[str, float]) -> Amount:
    return Amount(amount.unit, amount.statistic, amount.source, **said)


@st.composite
def systems(draw: st.DrawFn) -> MadeSubject:
    """A system with any figures, bounds and gaps, and behaviours that fail or are not known."""
    usual = draw(DURATIONS)
    drawn = draw(st.dictionaries(st.sampled_from(KEYS), AMOUNTS, max_size=8))
    failing, unknown = (draw(st.sets(st.sampled_from(TESTS), max_size=2)) for _ in range(2))

    def change(address: str, statistic: str, amount: Amount) -> Amount | None:
        said = drawn.get((address, statistic), {"value": usual})
        return None if said is None else amount_of(amount, said)

    claims = {test: claim(test not in failing) for test in TESTS if test not in unknown}
    configuration = draw(st.sampled_from(CONFIGURATIONS))
    return replace(PERFECT.changed(change), claims=claims, configuration=configuration)


# ---- monotone ----


def views(rating: Rating) -> list[dict[str, float]]:
    """Scores and stars; what is not known counts as perfect, as its page says."""
    scores = {one.category: one.score for one in rating.categories} | {"overall": rating.score}
    stars = {one.category: one.stars for one in rating.categories} | {"overall": rating.overall}
    return [
        {name: BEST if one is None else one for name, one in found.items()}
        for found in (scores, stars)
    ]


def assert_no_worse(before: MadeSubject, after: MadeSubject) -> None:
    for was, now in zip(views(rate(before)), views(rate(after)), strict=True):
        assert all(now[name] >= was[name] for name in was), (was, now)


@pytest.mark.slow
@few
@given(systems(), st.sampled_from(KEYS), st.floats(0, 1), st.sampled_from(["value", "below"]))
def test_a_better_figure_lowers_nothing(
    system: MadeSubject, key: Key, share: float, end: str
) -> None:
    """A lower value, a lower bound from above, or a value within the bound that was known."""

    def better(address: str, statistic: str, amount: Amount) -> Amount:
        if (address, statistic) != key or amount.highest is None:
            return amount
        return amount_of(amount, {end: amount.highest * share})

    assert_no_worse(system, system.changed(better))


@pytest.mark.slow
@few
@given(systems(), st.sampled_from(KEYS), DURATIONS)
def test_a_gap_that_is_filled_raises_nothing(system: MadeSubject, key: Key, value: float) -> None:
    """A missing figure that becomes known, and a value above a known bound."""

    def left_out(address: str, statistic: str, amount: Amount) -> Amount | None:
        return None if (address, statistic) == key else amount

    def at_least(address: str, statistic: str, amount: Amount) -> Amount:
        if (address, statistic) != key or amount.above is None:
            return amount
        return amount_of(amount, {"value": amount.above + value})

    gap = system.changed(left_out)
    known = amount_of(Amount("ns", key[1], "-"), {"value": value})
    assert_no_worse(gap.with_amount(key, known), gap)
    assert_no_worse(system.changed(at_least), system)


@pytest.mark.slow
@few
@given(systems(), st.sampled_from(TESTS))
def test_a_behaviour_that_passes_lowers_nothing_and_one_that_is_known_raises_nothing(
    system: MadeSubject, test: str
) -> None:
    unknown, failed, passed = (
        replace(system, claims={name: one for name, one in claims.items() if one})
        for claims in ({**system.claims, test: one} for one in ((), claim(False), claim(True)))
    )
    assert_no_worse(failed, passed)
    assert_no_worse(passed, unknown)
    if test in system.claims:
        assert_no_worse(system, passed)


# ---- half a star more ----

WAYS = {"worst": ("max", "min"), "mean": ("mean",), "uncontended": ("mean",)}


def carried_out(system: MadeSubject, needed: NeededChanges, slack: float = 1.0) -> MadeSubject:
    """`system` with the changes, each figure `slack` times its limit."""
    limits = {
        (figure.address, statistic): limit * slack
        for figure, limit in needed.limits
        for statistic in WAYS[figure.role]
    }
    tests = {one.split()[0] for one in needed.behaviours}
    return replace(
        system.with_values(limits),
        claims={**system.claims, **dict.fromkeys(tests, claim(True))},
        configuration=needed.configuration or system.configuration,
    )


def of(system: MadeSubject, category: str) -> CategoryRating:
    return next(one for one in rate(system).categories if one.category == category)


@pytest.mark.slow
@few
@given(systems())
def test_exactly_that_gives_a_category_and_the_whole_their_half_star(system: MadeSubject) -> None:
    for category in load_criteria().categories:
        rating = of(system, category)
        needed = category_needed(rating)
        if needed is None:
            assert rating.stars in (None, 5.0)
            continue
        after = of(carried_out(system, needed), category)
        if needed.behaviours:  # without the cap it may be more
            assert after.stars >= rating.stars + 0.5
        else:
            assert after.stars == rating.stars + 0.5
    rating = rate(system)
    needed = overall_needed(rating)
    if rating.overall in (None, 5.0):
        assert needed == {}
        return
    for one in needed.values():
        system = carried_out(system, one)
    assert rate(system).overall >= rating.overall + 0.5


@pytest.mark.parametrize("key", ["ce7", "linux-rt"])
def test_a_little_less_is_not_enough(key: str) -> None:
    """The limit is not looser than needed: two hundredths above it give nothing."""
    system = copy_of(published_system(key))
    for rating in rate(system).categories:
        needed = category_needed(rating)
        if needed is not None and needed.limits:
            missed = of(carried_out(system, needed, slack=1.02), rating.category)
            assert missed.stars == rating.stars, rating.category


def test_a_behaviour_that_caps_must_hold_and_below_the_cap_the_figures_come_first() -> None:
    failing = {"SEM-B-REL": (Verdict(name="mixed/sysv", passed=False, evidence="-"),)}
    rating = of(replace(PERFECT, claims={**PERFECT.claims, **failing}), "semaphores")
    assert (rating.stars, rating.next_half) == (2.0, "SEM-B-REL mixed/sysv must hold")
    slow = of(all_rated(lambda address, role: 1e9, is_failing=True), "semaphores")
    assert slow.stars == 0.0 and "must hold" not in slow.next_half


def test_the_whole_names_what_bounds_it() -> None:
    best = all_rated(lambda address, role: 0.0)
    simple = replace(best, configuration="special attention")
    assert rate(simple).next_half == "configuration: out of the box"
    bounded = rate(best.with_values({("TMR-P-LAT/total/wakeup", "max"): 1e9}))
    assert bounded.overall == 3.0 and bounded.score == 2.75
    assert bounded.next_half.startswith("timers: the worst observed TMR-P-LAT/total/wakeup at most")


def test_a_bound_is_improved_by_its_end() -> None:
    def change(address: str, statistic: str, amount: Amount) -> Amount:
        is_tick = (address, statistic) == ("CLK-P-DUR/tick", "max")
        return replace(amount, value=None, above=200_000.0) if is_tick else amount

    system = all_rated(lambda address, role: 0.0).changed(change)
    rating = of(system, "clock")
    after = of(carried_out(system, category_needed(rating)), "clock")
    assert after.stars == rating.stars + 0.5
