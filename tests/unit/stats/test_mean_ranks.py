"""Ranks, against scipy's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from hardstone.stats.mean_ranks import mean_ranks


@pytest.mark.slow
@given(st.lists(st.integers(-5, 5) | st.integers(-(2**62), 2**62)))
def test_ranks_are_those_of_scipy(values: list[int]) -> None:
    given_values = np.array(values, dtype=np.int64)
    assert mean_ranks(given_values).tolist() == stats.rankdata(given_values).tolist()


@pytest.mark.parametrize(
    ("values", "ranks"), [([], []), ([7], [1]), ([3, 1, 3, 2], [3.5, 1, 3.5, 2])]
)
def test_equal_values_share_their_mean(values: list[int], ranks: list[float]) -> None:
    assert mean_ranks(np.array(values, dtype=np.int64)).tolist() == ranks
