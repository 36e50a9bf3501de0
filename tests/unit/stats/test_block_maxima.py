"""What the order of maxima tells: against scipy, and how often it is wrong."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from hardstone.stats.block_maxima import (
    close_gaps_p,
    crowding,
    folds_held,
    level_p,
    neighbour_p,
)

MAXIMA = st.lists(st.integers(0, 40), min_size=8, max_size=60).map(np.array)


def independent(seed: int, count: int = 150) -> np.ndarray:
    return np.random.default_rng(seed).gumbel(50_000, 5_000, count).astype(np.int64)


@pytest.mark.slow
@settings(max_examples=60)
@given(MAXIMA)
def test_the_level_is_tested_as_scipy_does(maxima: np.ndarray) -> None:
    if np.unique(maxima).size == 1:
        assert level_p(maxima) == 1.0
        return
    wanted = stats.kruskal(*np.array_split(maxima, 4)).pvalue
    assert level_p(maxima) == pytest.approx(wanted, rel=1e-9, abs=1e-12)


def test_neighbours_are_correlated_by_rank() -> None:
    walk = np.cumsum(np.random.default_rng(1).normal(size=150)).astype(np.int64)
    assert neighbour_p(walk) < 1e-6
    assert neighbour_p(np.full(100, 7)) == 1.0
    maxima = independent(1)
    ranks = stats.rankdata(maxima)
    correlation = stats.pearsonr(ranks[:-1], ranks[1:]).statistic
    wanted = 2 * stats.norm.sf(abs(correlation) * np.sqrt(maxima.size - 1))
    assert neighbour_p(maxima) == pytest.approx(wanted)


@pytest.mark.parametrize("test", [level_p, neighbour_p])
def test_what_is_stationary_is_seldom_doubted(test) -> None:  # type: ignore[no-untyped-def]
    doubted = sum(test(independent(seed)) < 0.05 for seed in range(300))
    assert doubted <= 300 * 0.05 + 3 * (300 * 0.05 * 0.95) ** 0.5


def test_a_change_of_level_is_seen() -> None:
    maxima = independent(2)
    maxima[75:] += 5_000
    assert level_p(maxima) < 1e-4


def occupied(seed: int, count: int, blocks: int, *, together: int = 1) -> np.ndarray:
    """Maxima of blocks, 1 where a value fell and 0 elsewhere; values come `together`."""
    draw = np.random.default_rng(seed)
    maxima = np.zeros(blocks, dtype=np.int64)
    maxima[draw.integers(0, blocks, count // together)] = 1
    return maxima


def test_crowding_is_a_number_of_standard_deviations() -> None:
    found = [crowding(occupied(seed, 120, 120), 0, 120) for seed in range(400)]
    assert np.mean(found) == pytest.approx(0, abs=0.2)
    assert np.std(found) == pytest.approx(1, abs=0.12)
    assert min(crowding(occupied(seed, 120, 120, together=2), 0, 120) for seed in range(50)) > 3


def test_close_gaps_are_counted_out() -> None:
    draw = np.random.default_rng(3)
    p = [close_gaps_p(draw.integers(0, 10**6, 32), 10**6) for _ in range(400)]
    assert np.mean([one < 0.05 for one in p]) <= 0.06
    twice = np.repeat(draw.integers(0, 10**6, 16), 2) + np.tile([0, 1], 16)
    assert close_gaps_p(twice, 10**6) < 1e-5
    assert close_gaps_p(np.array([5]), 100) == 1.0
    assert close_gaps_p(np.array([], dtype=np.int64), 100) == 1.0


@pytest.mark.slow
def test_independent_maxima_are_foreseen() -> None:
    held = [folds_held(independent(seed), 0.95) for seed in range(60)]
    assert np.mean(held) == pytest.approx(9.5, abs=0.35)
    assert sum(one < 8 for one in held) <= 4


def test_equal_maxima_foresee_nothing() -> None:
    assert folds_held(np.full(100, 9), 0.95) == 0
