"""Intervals from blocks and from runs: against scipy, how often they cover, what they refuse."""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from hardstone.stats.block_bootstrap import block_bootstrap, interval_of_runs, runs_depend


def median(x: np.ndarray) -> float:
    return float(np.median(x))


@pytest.mark.slow
def test_blocks_of_one_are_the_plain_bootstrap() -> None:
    values = np.random.default_rng(1).exponential(10, 200)
    found = block_bootstrap(values, 1, np.mean, draws=6000)
    wanted = stats.bootstrap(
        (values,), np.mean, n_resamples=6000, method="percentile", rng=np.random.default_rng(2)
    ).confidence_interval
    assert found.estimate == values.mean()
    width = wanted.high - wanted.low
    assert (found.low, found.high) == pytest.approx((wanted.low, wanted.high), abs=0.05 * width)


def dependent(seed: int, count: int = 2000) -> np.ndarray:
    noise = np.random.default_rng(seed).normal(size=count + 500)
    return np.array([*accumulate(noise.tolist(), lambda y, x: 0.9 * y + x)])[500:]


@pytest.mark.slow
def test_blocks_cover_what_depends_and_single_values_do_not() -> None:
    """The mean of an autoregression, truly 0: its neighbours make it vary 4 times as much."""
    covered = {1: 0, 100: 0}
    for seed in range(60):
        for length in covered:
            found = block_bootstrap(dependent(seed), length, np.mean, draws=200)
            covered[length] += found.low <= 0 <= found.high
    assert covered[1] < 0.6 * 60
    assert covered[100] > 0.8 * 60


def test_the_same_seed_gives_the_same_interval() -> None:
    one, two = (block_bootstrap(dependent(1), 50, median, draws=50) for _ in range(2))
    other = block_bootstrap(dependent(1), 50, median, draws=50, seed=1)
    assert one == two
    assert (one.low, one.high) != (other.low, other.high)
    assert one.how == "block bootstrap, 40 blocks of 50 values"


EXTREMES: list[Callable[[np.ndarray], float]] = [
    np.max,
    np.min,
    np.ptp,
    lambda x: float(np.sort(x)[-1]),
    lambda x: float(np.quantile(x, 1.0)),
    lambda x: float(np.quantile(x, 0.9999)),
    lambda x: float(np.mean(np.sort(x)[-5:])),
]


@pytest.mark.parametrize("statistic", EXTREMES)
def test_no_maximum_is_bootstrapped(statistic: Callable[[np.ndarray], float]) -> None:
    with pytest.raises(ValueError, match="one extreme value decides"):
        block_bootstrap(dependent(1), 50, statistic)


@pytest.mark.parametrize("q", [0.01, 0.5, 0.9, 0.99])
def test_a_quantile_within_the_data_is_no_maximum(q: float) -> None:
    found = block_bootstrap(dependent(1), 50, lambda x: float(np.quantile(x, q)), draws=50)
    assert found.low <= found.high


@pytest.mark.parametrize(
    ("values", "length", "changed", "problem"),
    [
        (range(99), 10, {}, "fewer than 10 blocks"),
        (range(99), 0, {}, "fewer than 10 blocks"),
        ([], 1, {}, "fewer than 10 blocks"),
        ([*range(99), float("nan")], 10, {}, "finite"),
        (range(100), 10, {"confidence": 1.0}, "confidence"),
        (range(100), 10, {"draws": 0}, "draw"),
    ],
)
def test_wrong_input_is_refused(
    values: list[float], length: int, changed: dict[str, float], problem: str
) -> None:
    with pytest.raises(ValueError, match=problem):
        block_bootstrap(list(values), length, np.mean, **changed)  # type: ignore[arg-type]


@pytest.mark.slow
@given(st.lists(st.floats(0, 1e6), min_size=10, max_size=60), st.sampled_from([0.8, 0.95]))
def test_runs_have_the_interval_of_scipy(values: list[float], confidence: float) -> None:
    found = interval_of_runs(values, confidence)
    wanted = stats.quantile_test(values, q=0, p=0.5).confidence_interval(confidence)
    assert found is not None
    assert found.low <= found.estimate <= found.high
    assert found.low == pytest.approx(wanted.low) and found.high == pytest.approx(wanted.high)


def test_the_interval_of_ten_runs_covers_as_often_as_it_says() -> None:
    draw = np.random.default_rng(2)
    covered = 0
    for _ in range(1000):
        found = interval_of_runs(list(draw.exponential(1, 10)))
        covered += found is not None and found.low <= np.log(2) <= found.high
    assert covered >= 950 - 3 * (1000 * 0.05 * 0.95) ** 0.5


def test_ten_runs_are_the_least() -> None:
    assert interval_of_runs(list(range(9))) is None
    assert interval_of_runs([]) is None
    assert interval_of_runs(list(range(10)), 0.9999) is None
    found = interval_of_runs(list(range(10)))
    assert found is not None
    assert (found.low, found.estimate, found.high) == (1, 4.5, 8)
    assert found.how == "median of 10 runs, order statistics"
    with pytest.raises(ValueError, match="finite"):
        interval_of_runs([float("inf")] * 10)


@pytest.mark.slow
@pytest.mark.parametrize("count", [10, 20])
def test_independent_runs_are_found_to_depend_in_one_of_twenty_cases(count: int) -> None:
    draw = np.random.default_rng(3)
    found = sum(runs_depend(list(draw.exponential(1, count))) for _ in range(1000))
    assert found <= 50 + 3 * (1000 * 0.05 * 0.95) ** 0.5


def test_runs_that_drift_depend() -> None:
    draw = np.random.default_rng(4)
    drifting = [draw.normal(np.linspace(0, 4, 20)) for _ in range(200)]
    assert sum(runs_depend(list(values)) for values in drifting) > 120
    assert runs_depend(list(range(20))) and not runs_depend([1.0] * 20)
    assert not runs_depend([1.0, 2.0])


@pytest.mark.slow
def test_blocks_are_neighbours_in_their_order() -> None:
    """Of independent values blocks of any length give the width of the mean: 2 x 1.96 s / sqrt(n).
    What follows from neighbours alone has to come out as it is."""
    values = np.random.default_rng(3).normal(0, 1, 4000)
    found = block_bootstrap(values, 20, np.mean, draws=1000)
    assert found.high - found.low == pytest.approx(2 * 1.96 / 4000**0.5, rel=0.15)
    steps = block_bootstrap(np.arange(2000) % 50, 50, lambda x: float(np.median(np.diff(x))))
    assert (steps.low, steps.high) == (1, 1)
