"""Fits of the generalised Pareto distribution: against scipy, the published formula, the truth."""

from __future__ import annotations

from math import floor, log, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from hardstone.stats.pareto_tail import (
    NextMaximum,
    most_likely,
    next_maximum,
    zhang_stephens,
)

SHAPES = (-0.3, -0.1, 0.0, 0.2, 0.5)


def drawn(shape: float, count: int = 500, seed: int = 1, scale: float = 5000.0) -> np.ndarray:
    return stats.genpareto.rvs(
        shape, scale=scale, size=count, random_state=np.random.default_rng(seed)
    )


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("count", [100, 1000])
def test_the_most_likely_fit_is_that_of_scipy(shape: float, count: int) -> None:
    sample = drawn(shape, count)
    found = most_likely(sample)
    wanted_shape, _, wanted_scale = stats.genpareto.fit(sample, floc=0)
    assert found is not None
    assert found.shape == pytest.approx(wanted_shape, abs=2e-4)
    assert found.scale == pytest.approx(wanted_scale, rel=2e-4)


@pytest.mark.parametrize("shape", SHAPES)
def test_no_fit_nearby_is_likelier(shape: float) -> None:
    sample = drawn(shape)
    found = most_likely(sample)
    assert found is not None
    best = stats.genpareto.logpdf(sample, found.shape, scale=found.scale).sum()
    for by_shape, by_scale in ((0.01, 1), (-0.01, 1), (0, 1.01), (0, 0.99)):
        other = stats.genpareto.logpdf(
            sample, found.shape + by_shape, scale=found.scale * by_scale
        ).sum()
        assert other < best


def as_published(sample: np.ndarray) -> tuple[float, float]:
    """Zhang and Stephens 2009, equations as they stand there: shape k = -shape, plain loops."""
    x = sorted(sample)
    n = len(x)
    m = 20 + floor(sqrt(n))
    thetas = [
        1 / x[-1] + (1 - sqrt(m / (j - 0.5))) / (3 * x[floor(n / 4 + 0.5) - 1])
        for j in range(1, m + 1)
    ]
    ks = [-sum(log(1 - theta * one) for one in x) / n for theta in thetas]
    logs = [n * (log(theta / k) + k - 1) for theta, k in zip(thetas, ks, strict=True)]
    weights = [1 / sum(np.exp(other - one) for other in logs) for one in logs]
    theta = sum(w * t for w, t in zip(weights, thetas, strict=True))
    k = -sum(log(1 - theta * one) for one in x) / n
    return -k, k / theta


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", [1, 2])
def test_zhang_and_stephens_as_published(shape: float, seed: int) -> None:
    sample = drawn(shape, 150, seed)
    found = zhang_stephens(sample)
    assert (found.shape, found.scale) == pytest.approx(as_published(sample), rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_both_find_the_truth(shape: float) -> None:
    for fit in (most_likely, zhang_stephens):
        found = [fit(drawn(shape, 1000, seed)) for seed in range(20)]
        assert np.mean([one.shape for one in found if one]) == pytest.approx(shape, abs=0.03)
        assert np.mean([one.scale for one in found if one]) == pytest.approx(5000, rel=0.03)


def test_a_tail_with_an_edge_has_no_most_likely_fit() -> None:
    assert most_likely(np.random.default_rng(1).uniform(0, 1, 500)) is None


@pytest.mark.slow
@settings(max_examples=30)
@given(st.sampled_from(SHAPES), st.integers(0, 50), st.floats(1e-3, 1e6))
def test_the_unit_does_not_matter(shape: float, seed: int, scale: float) -> None:
    sample = drawn(shape, 200, seed)
    for fit in (most_likely, zhang_stephens):
        one, other = fit(sample), fit(sample * scale)
        assert one is not None and other is not None
        assert other.shape == pytest.approx(one.shape, abs=1e-5)
        assert other.scale == pytest.approx(one.scale * scale, rel=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("shape", [-0.2, 0.0, 0.2, 0.4])
@pytest.mark.parametrize(("count", "times"), [(100, 1.0), (100, 10.0), (30, 1 / 9)])
def test_the_next_maximum_is_where_it_is_foreseen(shape: float, count: int, times: float) -> None:
    """Each probability of it is as likely as any other, with fit and number both uncertain."""
    draw = np.random.default_rng(7)
    found = []
    for _ in range(300):
        foreseen = next_maximum(drawn(shape, count, int(draw.integers(2**31))), times)
        number = draw.poisson(count * times)
        largest = drawn(shape, max(number, 1), int(draw.integers(2**31))).max() if number else 0.0
        found.append(foreseen.below(largest))
    inside = np.mean([0.025 <= one <= 0.975 for one in found])
    assert inside >= 0.95 - 3 * sqrt(0.05 * 0.95 / 300)
    assert 0.35 <= np.mean([one > 0.5 for one in found]) <= 0.65


def one_fit(shape: float, times: float, count: int = 10**6) -> NextMaximum:
    return NextMaximum(np.array([shape]), np.array([1.0]), np.array([1.0]), count, times)


@pytest.mark.parametrize("shape", [-0.3, 0.1, 0.4])
@pytest.mark.parametrize("probability", [0.025, 0.5, 0.975])
def test_quantiles_have_the_closed_form(shape: float, probability: float) -> None:
    """One fit, and so many exceedances that their number is certain."""
    number = 10**6 * 0.5
    expected = stats.genpareto.isf(-np.log(probability) / number, shape)
    found = one_fit(shape, 0.5).quantile(probability)
    assert found == pytest.approx(expected, rel=1e-4)
    assert one_fit(shape, 0.5).below(found) == pytest.approx(probability, abs=1e-6)


def test_no_exceedance_at_all_may_be_likely() -> None:
    assert one_fit(0.1, 0.001, count=100).quantile(0.5) == 0.0


def test_more_values_have_a_larger_maximum() -> None:
    sample = drawn(0.1)
    medians = [next_maximum(sample, times).quantile(0.5) for times in (1, 2, 10)]
    assert medians == sorted(medians) and medians[0] < medians[-1]
