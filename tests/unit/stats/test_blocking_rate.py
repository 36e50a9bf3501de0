"""Blocking rates of simulated systems: a known rate of intervals of known lengths is found."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from hardstone.stats.blocking_rate import (
    blocking_rate,
    count_high,
    count_low,
    rate_bounds,
    rate_interval,
    unseen_per_s,
)
from hardstone.stats.concave_majorant import concave_majorant
from hardstone.stats.residuals import LEAST_IDLE, Residuals, idle_of, residuals_of
from tests.unit.stats import make
from tests.unit.stats.blocked import (
    EXPONENTIAL,
    IDLE_NS,
    JITTER_NS,
    TWO_POINT,
    UNIFORM,
    Draw,
    System,
    idle,
)

DRAWS = {"exponential": EXPONENTIAL, "uniform": UNIFORM, "two points": TWO_POINT}
LENGTHS_NS = (3_000.0, 10_000.0, 40_000.0, 100_000.0, 250_000.0, 400_000.0)


def residuals(draw: Draw, seed: int, count: int) -> tuple[System, Residuals]:
    rng = np.random.default_rng(seed)
    system = System(draw, rng)
    reference = idle_of(make.series(idle(rng, 20_000).tolist()))
    assert reference is not None
    return system, residuals_of(make.series(system.latencies(rng, count).tolist()), reference)


@pytest.mark.slow
@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_the_rate_is_that_of_the_intervals(draw: Draw) -> None:
    system, found = residuals(draw, 1, 150_000)
    rate = blocking_rate(found)
    for length in LENGTHS_NS:
        true = system.rate(length)
        assert rate.above(length) == pytest.approx(true, rel=0.15, abs=0.005 * system.rate(0))


@pytest.mark.slow
@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_the_interval_holds_the_true_rate(draw: Draw) -> None:
    """Each misses in at most 5 % of runs; it is built to be wider than that."""
    held = 0
    for seed in range(25):
        system, found = residuals(draw, 100 + seed, 3_000)
        for length in LENGTHS_NS:
            bounds = rate_interval(found, length)
            true = system.rate(length)
            held += bounds.low <= true and (bounds.high is None or true <= bounds.high)
    assert held >= 0.95 * 25 * len(LENGTHS_NS)


@pytest.mark.slow
@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_the_interval_narrows_and_holds_the_estimate(draw: Draw) -> None:
    _, few = residuals(draw, 7, 3_000)
    _, many = residuals(draw, 7, 300_000)
    for length in (10_000.0, 40_000.0):
        wide, narrow = rate_interval(few, length), rate_interval(many, length)
        assert wide.high is not None and narrow.high is not None
        assert narrow.high - narrow.low < wide.high - wide.low
        assert narrow.low <= blocking_rate(many).above(length) <= narrow.high


def test_nothing_is_claimed_within_the_idle_latency() -> None:
    rng = np.random.default_rng(3)
    values = idle(rng, 50_000)
    reference = idle_of(make.series(values.tolist()))
    assert reference is not None
    found = residuals_of(make.series(values.tolist()), reference)
    assert found.start_ns >= 3 * 0.95 * JITTER_NS
    assert found.blocked / found.releases < 0.005  # of a normal distribution: 0.00135
    assert rate_interval(found, found.start_ns / 2).high is None


def test_a_short_reference_says_nothing() -> None:
    assert idle_of(make.series([IDLE_NS] * (LEAST_IDLE - 1))) is None
    reference = idle_of(make.series([IDLE_NS] * LEAST_IDLE))
    assert reference is not None and reference.limit_ns == IDLE_NS


def test_without_blocked_releases_the_rate_is_zero_and_bounded() -> None:
    reference = idle_of(make.series([100] * LEAST_IDLE))
    assert reference is not None
    found = residuals_of(make.series([100] * 1000), reference)
    assert blocking_rate(found).above(1e6) == 0
    bounds = rate_interval(found, 1_000_000.0)
    assert bounds.low == 0
    assert bounds.high is not None and 1 < bounds.high < 100  # 3 / (1000 x 1 ms) = 3 at least


def test_what_overflowed_stands_at_the_maximum() -> None:
    reference = idle_of(make.series([100] * LEAST_IDLE))
    assert reference is not None
    series = make.series([100] * 97 + [150, 5_000, 90_000], limit=1_000)
    found = residuals_of(series, reference)
    assert series.histogram.overflow == 2
    assert found.blocked == 3
    assert found.worst_ns == 89_900
    assert found.upper_ns[-1] == 89_901


def test_too_rare_to_be_seen() -> None:
    found = Residuals(10_000, 1_000.0, 0.0, *(np.zeros(0),) * 3)
    assert unseen_per_s(found, 1_001_000.0) == pytest.approx(0.3)  # 3 / (10 000 x 1 ms)
    assert unseen_per_s(found, 1_000.0) is None


def test_at_the_rate_that_may_be_unseen_one_run_in_twenty_misses_it() -> None:
    rng = np.random.default_rng(5)
    releases, visible_ns = 1_000, 1e6
    found = Residuals(releases, 0.0, 0.0, *(np.zeros(0),) * 3)
    rate = unseen_per_s(found, visible_ns)
    assert rate is not None
    hits = rng.binomial(releases, rate * visible_ns / 1e9, 20_000)
    assert float((hits == 0).mean()) == pytest.approx(0.05, abs=0.01)


@pytest.mark.slow
@given(st.integers(0, 10**6), st.floats(1e-6, 0.4))
def test_bounds_of_a_count_are_those_of_chi_square(count: int, error: float) -> None:
    at = np.array([float(count)])
    expected = stats.chi2.ppf(error, 2 * count) / 2 if count else 0
    assert count_low(at, error)[0] == pytest.approx(expected, rel=1e-6)
    assert count_high(at, error)[0] == pytest.approx(
        stats.chi2.ppf(1 - error, 2 * (count + 1)) / 2, rel=1e-6
    )


@pytest.mark.slow
@pytest.mark.parametrize("gap_ns", [20_000.0, 100_000.0, 1_000_000.0])
@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_releases_that_wait_for_the_last_wake_up_find_the_rate(draw: Draw, gap_ns: float) -> None:
    """A section that is longer than the time to a release is hit once, near its begin."""
    rng = np.random.default_rng(21)
    system = System(draw, rng, count=200_000 if gap_ns > 500_000 else 60_000)
    count = int(min(system.total_ns / (2 * gap_ns + 100_000), 30_000))
    reference = idle_of(make.series(idle(rng, 20_000).tolist()))
    assert reference is not None
    values = system.woken(rng, count, gap_ns)
    found = residuals_of(make.series(values.tolist()), reference, gap_ns)
    rate = blocking_rate(found)
    for length in LENGTHS_NS[1:]:
        true = system.rate(length)
        assert rate.above(length) == pytest.approx(true, rel=0.25, abs=0.01 * system.rate(0))
        bounds = rate_interval(found, length)
        slack = 5_000 / found.per_release_ns  # the idle latency is part of the time
        assert bounds.low * (1 - slack) <= true
        assert bounds.high is not None and true <= bounds.high * (1 + slack)


def test_the_time_to_a_release_matters_where_sections_are_longer() -> None:
    """Taken for releases at any moment, those after a wake-up would find a fraction of the rate."""
    rng = np.random.default_rng(23)
    system = System(TWO_POINT, rng, count=60_000)
    reference = idle_of(make.series(idle(rng, 20_000).tolist()))
    assert reference is not None
    series = make.series(system.woken(rng, 40_000, 50_000.0).tolist())
    true = system.rate(100_000)
    right = blocking_rate(residuals_of(series, reference, 50_000.0)).above(100_000)
    wrong = blocking_rate(residuals_of(series, reference)).above(100_000)
    assert right == pytest.approx(true, rel=0.15)
    assert wrong < 0.5 * true


POINTS = st.lists(st.integers(0, 1_000), min_size=1, max_size=40, unique=True)


@pytest.mark.slow
@given(POINTS, st.randoms(use_true_random=False))
def test_the_majorant_is_concave_lies_above_and_touches(places: list[int], rng: object) -> None:
    x = np.array(sorted(places), dtype=np.float64)
    y = np.array([rng.random() for _ in places])  # type: ignore[attr-defined]
    corners = concave_majorant(
        x.size, lambda first, last: float((y[last] - y[first]) / (x[last] - x[first]))
    )
    corner_x, corner_y = x[corners], y[corners]
    assert np.all(np.interp(x, corner_x, corner_y) >= y - 1e-9)
    assert set(zip(corner_x, corner_y, strict=True)) <= set(zip(x, y, strict=True))
    slopes = np.diff(corner_y) / np.diff(corner_x)
    assert np.all(np.diff(slopes) < 1e-12)


@pytest.mark.slow
@given(st.lists(st.integers(0, 10**7), min_size=1, max_size=200))
def test_rates_never_rise_and_keep_all_residuals(values: list[int]) -> None:
    reference = idle_of(make.series([1_000] * LEAST_IDLE))
    assert reference is not None
    found = residuals_of(make.series(values), reference)
    rate = blocking_rate(found)
    assert found.blocked == sum(value > 1_000 for value in values)
    assert np.all(np.diff(rate.per_s) <= 1e-9)
    if found.blocked:
        area = float((rate.per_s[:-1] * np.diff(rate.from_ns)).sum()) / 1e9
        assert area == pytest.approx(found.blocked / len(values))


@pytest.mark.slow
@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=100), st.floats(1.0, 1e7))
def test_bounds_are_ordered(values: list[int], length: float) -> None:
    reference = idle_of(make.series([100] * LEAST_IDLE))
    assert reference is not None
    low, high = rate_bounds(residuals_of(make.series(values), reference), np.array([length]))
    assert low[0] >= 0
    assert high[0] > 0
