"""HP's figure of simulated systems: time in sections shorter than x, by length-biased sampling."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardstone.stats.blocking_rate import blocking_rate
from hardstone.stats.residuals import LEAST_IDLE, idle_of, residuals_of
from hardstone.stats.section_time import section_length, shorter_share, time_longer
from tests.unit.stats import make
from tests.unit.stats.blocked import TWO_POINT, Draw, System, idle
from tests.unit.stats.test_blocking_rate import DRAWS, residuals


def true_length(system: System, q: float) -> float:
    """The shortest x with the share `q` of blocked time in intervals up to x."""
    lengths = np.sort(system.lengths)
    share = np.cumsum(lengths) / lengths.sum()
    return float(lengths[int(np.searchsorted(share, q))])


@pytest.mark.slow
@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_the_share_of_time_is_that_of_the_intervals(draw: Draw) -> None:
    system, found = residuals(draw, 11, 200_000)
    longer = time_longer(blocking_rate(found))
    for x in (10_000.0, 60_000.0, 150_000.0, 310_000.0):
        place = int(np.searchsorted(longer.from_ns, x, side="right")) - 1
        share = 1 - float(longer.share[place]) / system.blocked_share
        assert share == pytest.approx(system.shorter(x), abs=0.04)


@pytest.mark.slow
@pytest.mark.parametrize("q", [0.9, 0.99])
@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_the_length_of_a_share_of_time(draw: Draw, q: float) -> None:
    system, found = residuals(draw, 12, 200_000)
    told = section_length(found, system.blocked_share, q)
    assert told is not None and not told.is_below
    assert told.value_ns == pytest.approx(true_length(system, q), rel=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("q", [0.9, 0.99])
@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_the_interval_of_the_length_holds_it(draw: Draw, q: float) -> None:
    held = 0
    for seed in range(20):
        system, found = residuals(draw, 300 + seed, 4_000)
        told = section_length(found, system.blocked_share, q)
        assert told is not None
        true = true_length(system, q)
        held += told.low_ns <= true and (told.high_ns is None or true <= told.high_ns)
    assert held >= 19


@pytest.mark.slow
@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_the_length_of_a_share_with_releases_after_the_last_wake_up(draw: Draw) -> None:
    rng = np.random.default_rng(22)
    system = System(draw, rng, count=90_000)
    reference = idle_of(make.series(idle(rng, 20_000).tolist()))
    assert reference is not None
    values = system.woken(rng, 50_000, 100_000.0)
    found = residuals_of(make.series(values.tolist()), reference, 100_000.0)
    for q in (0.9, 0.99):
        told = section_length(found, system.blocked_share, q)
        assert told is not None and told.high_ns is not None
        true = true_length(system, q)
        assert told.value_ns == pytest.approx(true, rel=0.15)
        assert told.low_ns <= true * 1.01 and true <= told.high_ns * 1.01


def test_time_in_the_kernel_without_blocking_counts_as_short() -> None:
    """The kernel has the CPU all the time, blocked or not: HP's 90 % may be below what is seen."""
    system, found = residuals(TWO_POINT, 13, 100_000)
    told = section_length(found, 1.0, 0.9)
    longest_share = system.blocked_share * (1 - system.shorter(20_000))
    assert longest_share > 0.1
    assert told is not None and told.value_ns == pytest.approx(300_000, rel=0.05)
    told = section_length(found, 1.0, 0.5)
    assert told is not None and told.value_ns <= 21_000


def test_below_what_can_be_told_is_said() -> None:
    reference = idle_of(make.series([1_000] * LEAST_IDLE))
    assert reference is not None
    found = residuals_of(make.series([1_000] * 5_000), reference)
    told = section_length(found, 0.9, 0.99)
    assert told is not None and told.is_below
    assert told.value_ns == found.start_ns
    assert told.low_ns == 0
    assert told.high_ns is not None


def test_one_long_section_alone_bounds_nothing_from_below() -> None:
    """Half a second in one section is most of the time, and no proof of a second one."""
    reference = idle_of(make.series([1_000] * LEAST_IDLE))
    assert reference is not None
    found = residuals_of(make.series([1_000] * 1_999 + [500_000_000]), reference, 350_000.0)
    told = section_length(found, 0.5, 0.9)
    assert told is not None and told.value_ns == pytest.approx(5e8, rel=0.01)
    assert told.low_ns < 1e8
    assert told.high_ns is None


def test_few_releases_say_nothing() -> None:
    reference = idle_of(make.series([1_000] * LEAST_IDLE))
    assert reference is not None
    found = residuals_of(make.series([1_000] * 999), reference)
    assert section_length(found, 1.0, 0.99) is None
    assert section_length(found, 1.0, 0.9) is not None
    assert section_length(found, 0.05, 0.9) is None  # 50 of them hit the kernel


@pytest.mark.slow
@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=60))
def test_the_majorant_gives_the_time_of_the_intervals_that_it_estimates(values: list[int]) -> None:
    """F(x) - x f(x) against the sum of lengths: each corner is an interval of that length, as often
    as the rate falls there."""
    reference = idle_of(make.series([1] * LEAST_IDLE))
    assert reference is not None
    rate = blocking_rate(residuals_of(make.series(values), reference))
    longer = time_longer(rate)
    falls = -np.diff(rate.per_s) / 1e9
    times = falls * rate.from_ns[1:]
    for place in range(rate.from_ns.size):
        assert longer.share[place] == pytest.approx(float(times[place:].sum()), abs=1e-12)
    assert np.all(np.diff(shorter_share(longer, 1.0)) >= -1e-12)
