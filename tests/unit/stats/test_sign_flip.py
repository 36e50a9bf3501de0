"""The sign-flip test against scipy and against every choice of signs."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from hardstone.stats.sign_flip import MOST_PAIRS, p_above, p_below, ratio_bounds

TERMS = st.lists(st.integers(-9, 9).map(float), min_size=1, max_size=10).map(np.array)


@pytest.mark.slow
@given(TERMS)
def test_p_is_that_of_every_choice_of_signs(terms: np.ndarray) -> None:
    sums = [np.dot(signs, terms) for signs in itertools.product((-1, 1), repeat=terms.size)]
    assert p_above(terms) == np.mean([one >= terms.sum() for one in sums])
    assert p_below(terms) == np.mean([one <= terms.sum() for one in sums])


@pytest.mark.slow
@settings(max_examples=30)
@given(st.lists(st.integers(-50, 50).map(lambda n: n / 16), min_size=3, max_size=9).map(np.array))
def test_p_is_that_of_scipy(terms: np.ndarray) -> None:
    def mean(x: np.ndarray, axis: int) -> np.ndarray:
        return np.mean(x, axis=axis)

    for function, side in ((p_above, "greater"), (p_below, "less")):
        wanted = stats.permutation_test(
            (terms,), mean, permutation_type="samples", alternative=side, n_resamples=np.inf
        )
        assert function(terms) == pytest.approx(wanted.pvalue, abs=1e-12)


@pytest.mark.slow
@given(TERMS)
def test_both_sides_cover_everything(terms: np.ndarray) -> None:
    assert p_above(terms) + p_below(terms) >= 1


def test_rounding_does_not_split_what_is_equal() -> None:
    terms = np.array([0.1, 0.2, -0.3])  # 0.1 + 0.2 - 0.3 is not 0 in floats
    assert p_above(terms) == p_above(np.array([1.0, 2.0, -3.0])) == 5 / 8


@pytest.mark.slow
@settings(max_examples=40)
@given(st.lists(st.floats(-2, 2), min_size=6, max_size=10, unique=True).map(np.array))
def test_the_interval_ends_where_the_test_refuses(d: np.ndarray) -> None:
    """The ends are means of sets of pairs (Hartigan), counted out here."""
    low, high = ratio_bounds(lambda at: d - at, 0.05)
    sets = itertools.chain.from_iterable(
        itertools.combinations(d, size) for size in range(1, d.size + 1)
    )
    means = sorted(float(np.mean(one)) for one in sets)
    refused = int(0.05 * 2**d.size)  # sets, the empty one included
    assert low is not None and np.log(low) == pytest.approx(means[refused - 1], abs=1e-6)
    assert high is not None and np.log(high) == pytest.approx(means[-refused], abs=1e-6)


def test_too_few_pairs_bound_nothing() -> None:
    assert ratio_bounds(lambda at: np.array([0.1, 0.2, 0.3]) - at, 0.05) == (None, None)


def test_thirty_pairs_are_still_counted_out() -> None:
    terms = np.arange(1.0, MOST_PAIRS + 1)
    assert p_above(terms) == 2.0**-MOST_PAIRS
    assert p_below(terms) == 1.0
    with pytest.raises(ValueError, match="at most 30"):
        p_above(np.ones(MOST_PAIRS + 1))
