"""No improvement lowers a rating, and no gap that is filled raises one."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hardstone.model import Verdict
from hardstone.rating import Rating, rate
from hardstone.rating.curve import BEST
from hardstone.subjects import Amount
from tests.unit.rating.made_subject import MadeSubject
from tests.unit.rating.made_systems import (
    CONFIGURATIONS,
    KEYS,
    TESTS,
    amount_of,
    durations,
    systems,
)

pytestmark = pytest.mark.slow


def each_score(rating: Rating) -> dict[str, float]:
    """What is not known counts as perfect, as its page says."""
    found = {one.category: one.score for one in rating.categories} | {"overall": rating.score}
    return {name: BEST if score is None else score for name, score in found.items()}


def each_star(rating: Rating) -> dict[str, float]:
    found = {one.category: one.stars for one in rating.categories} | {"overall": rating.overall}
    return {name: BEST if stars is None else stars for name, stars in found.items()}


def assert_no_worse(before: MadeSubject, after: MadeSubject) -> None:
    worse, better = rate(before), rate(after)
    for view in (each_score, each_star):
        was, now = view(worse), view(better)
        assert all(now[name] >= was[name] for name in was), (was, now)


@settings(max_examples=80, deadline=None)
@given(systems(), st.sampled_from(KEYS), st.floats(0, 1), st.sampled_from(["value", "below"]))
def test_a_better_figure_lowers_nothing(
    system: MadeSubject, key: tuple[str, str], share: float, end: str
) -> None:
    """A lower value, a lower bound from above, or a value within the bound that was known."""

    def better(address: str, statistic: str, amount: Amount) -> Amount:
        if (address, statistic) != key or amount.highest is None:
            return amount
        return amount_of(amount, {end: amount.highest * share})

    assert_no_worse(system, system.changed(better))


@settings(max_examples=80, deadline=None)
@given(systems(), st.sampled_from(TESTS))
def test_a_behaviour_that_passes_lowers_nothing(system: MadeSubject, test: str) -> None:
    passing = {test: (Verdict(name="claim", passed=True, evidence="-"),)}
    known = passing if test in system.claims else {}
    assert_no_worse(system, replace(system, claims={**system.claims, **known}))


@settings(max_examples=80, deadline=None)
@given(systems(), st.sampled_from(KEYS), durations)
def test_a_gap_that_is_filled_raises_nothing(
    system: MadeSubject, key: tuple[str, str], value: float
) -> None:
    """A missing figure that becomes known, and a value above a known bound."""

    def left_out(address: str, statistic: str, amount: Amount) -> Amount | None:
        return None if (address, statistic) == key else amount

    def at_least(address: str, statistic: str, amount: Amount) -> Amount:
        if (address, statistic) != key or amount.above is None:
            return amount
        return amount_of(amount, {"value": amount.above + value})

    gap = system.changed(left_out)
    assert_no_worse(
        gap.with_amount(key, amount_of(Amount("ns", key[1], "-"), {"value": value})), gap
    )
    assert_no_worse(system.changed(at_least), system)


@settings(max_examples=60, deadline=None)
@given(systems(), st.sampled_from(TESTS), st.booleans())
def test_a_behaviour_that_becomes_known_raises_nothing(
    system: MadeSubject, test: str, passed: bool
) -> None:
    unknown = {name: has for name, has in system.claims.items() if name != test}
    known = {**unknown, test: (Verdict(name="claim", passed=passed, evidence="-"),)}
    assert_no_worse(replace(system, claims=known), replace(system, claims=unknown))


@settings(max_examples=40, deadline=None)
@given(systems())
def test_a_simpler_configuration_lowers_nothing(system: MadeSubject) -> None:
    for simple, hard in pairwise(CONFIGURATIONS):
        assert_no_worse(replace(system, configuration=hard), replace(system, configuration=simple))
