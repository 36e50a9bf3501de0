"""Ranks, and tests by ranks and by signs: against scipy, and against every choice of signs."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from hardstone.stats.resampling import (
    MOST_PAIRS,
    hodges_lehmann,
    holm,
    mean_ranks,
    p_above,
    p_below,
    ratio_bounds,
    signed_rank_p,
)


@pytest.mark.slow
@given(st.lists(st.integers(-5, 5) | st.integers(-(2**62), 2**62)))
def test_ranks_are_those_of_scipy(values: list[int]) -> None:
    array = np.array(values, dtype=np.int64)
    assert mean_ranks(array).tolist() == stats.rankdata(array).tolist()


# ---- signed ranks ----


def by_hand(differences: Sequence[int]) -> float:
    """Pratt's test by trying every choice of signs."""
    ranks = stats.rankdata(np.abs(differences))[np.array(differences) != 0]
    used = [one for one in differences if one]
    if not used:
        return 1.0
    seen = abs(sum(r if one > 0 else -r for r, one in zip(ranks, used, strict=True)))
    sums = np.abs(np.array(list(itertools.product((-1, 1), repeat=len(used)))) @ ranks)
    return float(np.mean(sums >= seen - 1e-9))


@pytest.mark.slow
@given(st.lists(st.integers(-6, 6), min_size=1, max_size=9))
def test_ties_and_zeros_as_by_hand(differences: list[int]) -> None:
    assert signed_rank_p(differences) == pytest.approx(by_hand(differences), rel=1e-12)


@pytest.mark.slow
@settings(max_examples=40)
@given(st.sets(st.integers(1, 500), min_size=2, max_size=25))
def test_without_ties_as_scipy_has_it(sizes: set[int]) -> None:
    signs = np.random.default_rng(sum(sizes)).choice((-1, 1), len(sizes))
    differences = [int(a * b) for a, b in zip(sorted(sizes), signs, strict=True)]
    wanted = stats.wilcoxon(differences, method="exact").pvalue
    assert signed_rank_p(differences) == pytest.approx(wanted, rel=1e-12)


@pytest.mark.slow
@settings(max_examples=60)
@given(st.lists(st.integers(-50, 50), min_size=1, max_size=12, unique=True))
def test_the_interval_holds_what_the_test_does_not_refuse(differences: list[int]) -> None:
    shift = hodges_lehmann(differences, 0.9)
    walsh = [(a + b) / 2 for a, b in itertools.combinations_with_replacement(differences, 2)]
    assert shift.estimate == np.median(walsh)
    if shift.low is None or shift.high is None:
        assert 2 / 2 ** len(differences) > 0.1
        return
    assert shift.confidence >= 0.9
    for end in (shift.low - 0.01, shift.high + 0.01):
        assert signed_rank_p([one - end for one in differences]) <= 0.1 + 1e-12
    inside = shift.low + 0.37 * (shift.high - shift.low) + 1e-6
    if shift.low < inside < shift.high:
        assert signed_rank_p([one - inside for one in differences]) > 1 - shift.confidence - 1e-12


@pytest.mark.parametrize(
    ("count", "confidence", "outside"),
    [
        # where the tails are exactly what may be outside, that is not too much
        (3, 0.75, 1),
        (5, 0.9375, 1),
        (5, 0.875, 2),
        (5, 0.9376, 0),
        (2, 0.5, 1),
        (8, 0.95, 4),
    ],
)
def test_the_interval_is_as_narrow_as_its_confidence_allows(
    count: int, confidence: float, outside: int
) -> None:
    values = [10.0**n for n in range(count)]
    means = sorted((a + b) / 2 for a, b in itertools.combinations_with_replacement(values, 2))
    shift = hodges_lehmann(values, confidence)
    ends = (means[outside - 1], means[-outside]) if outside else (None, None)
    assert (shift.low, shift.high) == ends
    assert not outside or shift.confidence >= confidence


def test_holm() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.9]) == [1.0, 1.0]
    assert holm([]) == []


@pytest.mark.parametrize(("differences", "confidence"), [([], 0.9), ([1.0], 0.0), ([1.0], 1.0)])
def test_no_estimate_of_nothing(differences: list[float], confidence: float) -> None:
    with pytest.raises(ValueError, match="needs a difference"):
        hodges_lehmann(differences, confidence)


# ---- signs ----


@pytest.mark.slow
@given(st.lists(st.integers(-9, 9).map(float), min_size=1, max_size=10).map(np.array))
def test_p_is_that_of_every_choice_of_signs(terms: np.ndarray) -> None:
    sums = np.array(list(itertools.product((-1, 1), repeat=terms.size))) @ terms
    assert p_above(terms) == np.mean(sums >= terms.sum())
    assert p_below(terms) == np.mean(sums <= terms.sum())
    assert p_above(terms) + p_below(terms) >= 1


def test_rounding_does_not_split_what_is_equal() -> None:
    terms = np.array([0.1, 0.2, -0.3])  # 0.1 + 0.2 - 0.3 is not 0 in floats
    assert p_above(terms) == p_above(np.array([1.0, 2.0, -3.0])) == 5 / 8


@pytest.mark.slow
@settings(max_examples=40)
@given(st.lists(st.floats(-2, 2), min_size=6, max_size=9, unique=True).map(np.array))
def test_the_interval_ends_where_the_test_refuses(d: np.ndarray) -> None:
    """The ends are means of sets of pairs (Hartigan), counted out here."""
    low, high = ratio_bounds(lambda at: d - at, 0.05)
    chosen = np.array(list(itertools.product((0, 1), repeat=d.size)))[1:]
    means = np.sort(chosen @ d / chosen.sum(axis=1))
    refused = int(0.05 * 2**d.size)  # sets, the empty one included
    assert np.log(low) == pytest.approx(means[refused - 1], abs=1e-6)
    assert np.log(high) == pytest.approx(means[-refused], abs=1e-6)


def test_too_few_pairs_bound_nothing() -> None:
    assert ratio_bounds(lambda at: np.array([0.1, 0.2, 0.3]) - at, 0.05) == (None, None)


def test_thirty_pairs_are_still_counted_out() -> None:
    terms = np.arange(1.0, MOST_PAIRS + 1)
    assert p_above(terms) == 2.0**-MOST_PAIRS
    assert p_below(terms) == 1.0
    with pytest.raises(ValueError, match="at most 30"):
        p_above(np.ones(MOST_PAIRS + 1))
