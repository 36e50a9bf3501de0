"""Blocking by the kernel, of simulated systems whose blocked intervals are known: rates, time in
sections, and the operations of KRN-P-PRE, ranked worst first."""

from __future__ import annotations

from functools import cache

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from hardstone.kernel.analysis import (
    Residuals,
    blocking_rate,
    concave_majorant,
    count_high,
    count_low,
    longest_of_share,
    rate_bounds,
    rate_interval,
    residuals_of,
    section_length,
    shorter_share,
    time_longer,
    unseen_per_s,
)
from hardstone.kernel.results import (
    ALL,
    FAR_APART_NS,
    LEAST_IDLE,
    MOST_OPERATIONS,
    KernelTime,
    idle_of,
    kernel_time_of,
    ranking_quantile,
    ranks_of,
)
from hardstone.model import Event, Histogram, Result
from hardstone.stats.quantiles import Quantile
from tests.unit.kernel.blocked import (
    EXPONENTIAL,
    IDLE_NS,
    JITTER_NS,
    TWO_POINT,
    UNIFORM,
    Draw,
    System,
    dispatch,
    idle,
    kernel_result,
    ran,
    result,
    with_reference_at_work,
)
from tests.unit.stats import make

DRAWS = {"exponential": EXPONENTIAL, "uniform": UNIFORM, "two points": TWO_POINT}
LENGTHS_NS = (3_000.0, 10_000.0, 40_000.0, 100_000.0, 250_000.0, 400_000.0)
for_each_draw = pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)


def beside(reference: np.ndarray, values: np.ndarray, gap_ns: float = FAR_APART_NS) -> Residuals:
    """Of `values`, where the reference has the idle latency."""
    return residuals_of(make.series(values), idle_of(make.series(reference)), gap_ns)


def at_idle(idle_ns: int, values: list[int], gap_ns: float = FAR_APART_NS) -> Residuals:
    """Where the idle latency is always the same."""
    return beside(np.full(LEAST_IDLE, idle_ns), np.array(values), gap_ns)


def residuals(draw: Draw, seed: int, count: int) -> tuple[System, Residuals]:
    rng = np.random.default_rng(seed)
    system = System(draw, rng)
    reference = idle(rng, 20_000)
    return system, beside(reference, system.latencies(rng, count))


@pytest.mark.slow
@for_each_draw
def test_the_rate_is_that_of_the_intervals(draw: Draw) -> None:
    system, found = residuals(draw, 1, 150_000)
    rate = blocking_rate(found)
    for length in LENGTHS_NS:
        true = system.rate(length)
        assert rate.above(length) == pytest.approx(true, rel=0.15, abs=0.005 * system.rate(0))


@pytest.mark.slow
@for_each_draw
def test_the_interval_holds_the_true_rate(draw: Draw) -> None:
    """Each misses in at most 5 % of runs; it is built to be wider than that."""
    held = 0
    for seed in range(15):
        system, found = residuals(draw, 100 + seed, 3_000)
        for length in LENGTHS_NS:
            bounds = rate_interval(found, length)
            true = system.rate(length)
            held += bounds.low <= true and (bounds.high is None or true <= bounds.high)
    assert held >= 0.95 * 15 * len(LENGTHS_NS)


@pytest.mark.slow
@for_each_draw
def test_the_interval_narrows_and_holds_the_estimate(draw: Draw) -> None:
    (_, few), (_, many) = residuals(draw, 7, 3_000), residuals(draw, 7, 300_000)
    for length in (10_000.0, 40_000.0):
        wide, narrow = rate_interval(few, length), rate_interval(many, length)
        assert narrow.high - narrow.low < wide.high - wide.low
        assert narrow.low <= blocking_rate(many).above(length) <= narrow.high


def test_nothing_is_claimed_within_the_idle_latency() -> None:
    values = idle(np.random.default_rng(3), 50_000)
    found = beside(values, values)
    assert found.start_ns >= 3 * 0.95 * JITTER_NS
    assert found.blocked / found.releases < 0.005  # of a normal distribution: 0.00135
    assert rate_interval(found, found.start_ns / 2).high is None


def test_a_short_reference_says_nothing() -> None:
    assert idle_of(make.series([IDLE_NS] * (LEAST_IDLE - 1))) is None
    assert idle_of(make.series([IDLE_NS] * LEAST_IDLE)).limit_ns == IDLE_NS


def test_without_blocked_releases_the_rate_is_zero_and_bounded() -> None:
    found = at_idle(100, [100] * 1000)
    assert blocking_rate(found).above(1e6) == 0
    bounds = rate_interval(found, 1_000_000.0)
    assert bounds.low == 0
    assert 1 < bounds.high < 100  # 3 / (1000 x 1 ms) = 3 at least


def test_what_overflowed_stands_at_the_maximum() -> None:
    series = make.series([100] * 97 + [150, 5_000, 90_000], limit=1_000)
    found = residuals_of(series, idle_of(make.series([100] * LEAST_IDLE)))
    assert series.histogram.overflow == 2
    assert (found.blocked, found.worst_ns, found.upper_ns[-1]) == (3, 89_900, 89_901)


def test_at_the_rate_that_may_be_unseen_one_run_in_twenty_misses_it() -> None:
    found = Residuals(10_000, 1_000.0, 0.0, *(np.zeros(0),) * 3)
    rate = unseen_per_s(found, 1_001_000.0)
    assert rate == pytest.approx(0.3)  # 3 / (10 000 x 1 ms)
    assert stats.binom.pmf(0, 10_000, rate * 1e6 / 1e9) == pytest.approx(0.05, abs=0.001)
    assert unseen_per_s(found, 1_000.0) is None


@pytest.mark.slow
@given(st.integers(0, 10**6), st.floats(1e-6, 0.4))
def test_bounds_of_a_count_are_those_of_chi_square(count: int, error: float) -> None:
    at = np.array([float(count)])
    low = stats.chi2.ppf(error, 2 * count) / 2 if count else 0
    high = stats.chi2.ppf(1 - error, 2 * (count + 1)) / 2
    assert count_low(at, error)[0] == pytest.approx(low, rel=1e-6)
    assert count_high(at, error)[0] == pytest.approx(high, rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("gap_ns", [20_000.0, 100_000.0, 1_000_000.0])
@for_each_draw
def test_releases_that_wait_for_the_last_wake_up_find_the_rate(draw: Draw, gap_ns: float) -> None:
    """A section that is longer than the time to a release is hit once, near its begin."""
    rng = np.random.default_rng(21)
    system = System(draw, rng, count=200_000 if gap_ns > 500_000 else 60_000)
    count = int(min(system.total_ns / (2 * gap_ns + 100_000), 30_000))
    found = beside(idle(rng, 20_000), system.woken(rng, count, gap_ns), gap_ns)
    rate = blocking_rate(found)
    for length in LENGTHS_NS[1:]:
        true = system.rate(length)
        assert rate.above(length) == pytest.approx(true, rel=0.25, abs=0.01 * system.rate(0))
        bounds = rate_interval(found, length)
        slack = 5_000 / found.per_release_ns  # the idle latency is part of the time
        assert bounds.low * (1 - slack) <= true <= bounds.high * (1 + slack)


@pytest.mark.slow
@given(st.lists(st.integers(0, 1_000), min_size=1, max_size=40, unique=True), st.integers(0, 2**32))
def test_the_majorant_is_concave_lies_above_and_touches(places: list[int], seed: int) -> None:
    x = np.array(sorted(places), dtype=np.float64)
    y = np.random.default_rng(seed).random(x.size)
    corners = concave_majorant(
        x.size, lambda first, last: float((y[last] - y[first]) / (x[last] - x[first]))
    )
    assert np.all(np.interp(x, x[corners], y[corners]) >= y - 1e-9)
    assert np.all(np.diff(np.diff(y[corners]) / np.diff(x[corners])) < 1e-12)


@pytest.mark.slow
@given(st.lists(st.integers(0, 10**7), min_size=1, max_size=100), st.floats(1.0, 1e7))
def test_rates_never_rise_keep_all_residuals_and_bounds_are_ordered(
    values: list[int], length: float
) -> None:
    found = at_idle(1_000, values)
    rate = blocking_rate(found)
    assert found.blocked == sum(value > 1_000 for value in values)
    assert np.all(np.diff(rate.per_s) <= 1e-9)
    if found.blocked:
        area = float((rate.per_s[:-1] * np.diff(rate.from_ns)).sum()) / 1e9
        assert area == pytest.approx(found.blocked / len(values))
    low, high = rate_bounds(found, np.array([length]))
    assert 0 <= low[0] <= high[0] and high[0] > 0


# ---- time in sections: HP's figure, by length-biased sampling ----


def true_length(system: System, q: float) -> float:
    """The shortest x with the share `q` of blocked time in intervals up to x."""
    lengths = np.sort(system.lengths)
    share = np.cumsum(lengths) / lengths.sum()
    return float(lengths[int(np.searchsorted(share, q))])


@pytest.mark.slow
@for_each_draw
def test_shares_of_time_and_their_lengths_are_those_of_the_intervals(draw: Draw) -> None:
    system, found = residuals(draw, 11, 200_000)
    longer = time_longer(blocking_rate(found))
    for x in (10_000.0, 60_000.0, 150_000.0, 310_000.0):
        place = int(np.searchsorted(longer.from_ns, x, side="right")) - 1
        share = 1 - float(longer.share[place]) / system.blocked_share
        assert share == pytest.approx(system.shorter(x), abs=0.04)
    for q in (0.9, 0.99):
        told = section_length(found, system.blocked_share, q)
        assert not told.is_below
        assert told.value_ns == pytest.approx(true_length(system, q), rel=0.1)


@pytest.mark.slow
@for_each_draw
def test_the_interval_of_the_length_holds_it(draw: Draw) -> None:
    held = {0.9: 0, 0.99: 0}
    for seed in range(20):
        system, found = residuals(draw, 300 + seed, 4_000)
        for q in held:
            told, true = section_length(found, system.blocked_share, q), true_length(system, q)
            held[q] += told.low_ns <= true and (told.high_ns is None or true <= told.high_ns)
    assert min(held.values()) >= 19


@pytest.mark.slow
@for_each_draw
def test_the_length_of_a_share_with_releases_after_the_last_wake_up(draw: Draw) -> None:
    rng = np.random.default_rng(22)
    system = System(draw, rng, count=90_000)
    found = beside(idle(rng, 20_000), system.woken(rng, 50_000, 100_000.0), 100_000.0)
    for q in (0.9, 0.99):
        told, true = section_length(found, system.blocked_share, q), true_length(system, q)
        assert told.value_ns == pytest.approx(true, rel=0.15)
        assert told.low_ns <= true * 1.01 and true <= told.high_ns * 1.01


def test_time_in_the_kernel_without_blocking_counts_as_short() -> None:
    """The kernel has the CPU all the time, blocked or not: HP's 90 % may be below what is seen."""
    system, found = residuals(TWO_POINT, 13, 100_000)
    assert system.blocked_share * (1 - system.shorter(20_000)) > 0.1
    assert section_length(found, 1.0, 0.9).value_ns == pytest.approx(300_000, rel=0.05)
    assert section_length(found, 1.0, 0.5).value_ns <= 21_000


def test_below_what_can_be_told_is_said() -> None:
    found = at_idle(1_000, [1_000] * 5_000)
    told = section_length(found, 0.9, 0.99)
    assert told.is_below
    assert (told.value_ns, told.low_ns) == (found.start_ns, 0)
    assert told.high_ns is not None


def test_one_long_section_alone_bounds_nothing_from_below() -> None:
    """Half a second in one section is most of the time, and no proof of a second one."""
    found = at_idle(1_000, [1_000] * 1_999 + [500_000_000], 350_000.0)
    told = section_length(found, 0.5, 0.9)
    assert told.value_ns == pytest.approx(5e8, rel=0.01)
    assert told.low_ns < 1e8
    assert told.high_ns is None


def test_few_releases_say_nothing() -> None:
    found = at_idle(1_000, [1_000] * 999)
    assert section_length(found, 1.0, 0.99) is None
    assert section_length(found, 1.0, 0.9) is not None
    assert section_length(found, 0.05, 0.9) is None  # 50 of them hit the kernel


@pytest.mark.slow
@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=60))
def test_the_majorant_gives_the_time_of_the_intervals_that_it_estimates(values: list[int]) -> None:
    """F(x) - x f(x) against the sum of lengths: each corner is an interval of that length, as often
    as the rate falls there."""
    rate = blocking_rate(at_idle(1, values))
    longer = time_longer(rate)
    times = -np.diff(rate.per_s) / 1e9 * rate.from_ns[1:]
    sums = [float(times[place:].sum()) for place in range(rate.from_ns.size)]
    assert list(longer.share) == pytest.approx(sums, abs=1e-12)
    assert np.all(np.diff(shorter_share(longer, 1.0)) >= -1e-12)


# ---- operations ----


def ranked(
    more_ns: dict[str, int], counts: dict[str, int] | None = None, reference: int = 2_000
) -> list[tuple[str, int | None, bool]]:
    """Of operations whose latencies are the idle one and more; `counts` has numbers of values."""
    rng = np.random.default_rng(5)
    found = {
        name: idle(rng, (counts or {}).get(name, 2_000)) + more for name, more in more_ns.items()
    }
    time = kernel_time_of(result(found, {}, reference=idle(rng, reference) if reference else None))
    return [(one.name, one.rank, one.is_like_reference) for one in time.operations]


def test_a_worse_maximum_does_not_rank_first() -> None:
    rng = np.random.default_rng(2)
    found = {"fork": idle(rng, 2_000), "exit": idle(rng, 2_000) + 50_000}
    found["fork"][7] = 90_000_000
    time = kernel_time_of(result(found, {"fork": 0.9, "exit": 0.9}, reference=idle(rng, 2_000)))
    assert [one.name for one in time.operations] == ["exit", "fork"]
    assert time.operations[1].series.max == 90_000_000


def test_alike_operations_share_a_rank() -> None:
    found = ranked({"a": 5_000, "b": 5_000, "c": 10_000})
    assert found[0] == ("c", 1, False)
    assert {rank for _, rank, _ in found[1:]} == {2}


@pytest.mark.parametrize(("count", "q"), [(1_000, 0.99), (999, 0.9), (99, 0.5), (5, 0.5)])
def test_the_quantile_that_ranks_is_one_that_the_count_supports(count: int, q: float) -> None:
    assert ranking_quantile({"fork": make.series(range(count))}) == q


def test_few_releases_and_what_is_like_the_reference_or_below_it_have_no_rank() -> None:
    found = {"pipe": -2_000, "map": 0, "few": 10**6, "exit": 5_000}
    assert ranked(found, {"few": 99}) == [
        ("exit", 1, False),
        ("map", None, True),
        ("pipe", None, True),
        ("few", None, False),
    ]


@pytest.mark.parametrize("reference", [0, 50])
def test_without_a_quantile_of_the_reference_all_have_a_rank(reference: int) -> None:
    found = ranked({"fork": 0, "map": 0}, reference=reference)
    assert [one[1:] for one in found] == [(1, False)] * 2


@cache
def plain() -> KernelTime:
    return kernel_time_of(kernel_result())


def without(operation: str, found: Result) -> Result:
    found.series = [one for one in found.series if one.labels["operation"] != operation]
    return found


@pytest.mark.slow
def test_kernel_time_is_that_of_operation_ran() -> None:
    found = kernel_result(share=0.5)
    found.events.append(ran("exit", 1.0))  # twice, of the same length
    time = kernel_time_of(found)
    shares = {one.name: one.kernel_share for one in time.operations}
    assert shares == {"exit": 0.75, "exec": 0.5, "fork": 0.5}
    assert time.whole.kernel_share == 0.5
    whole = kernel_time_of(without("all", found)).whole
    assert whole.kernel_share == pytest.approx(0.75 / 3 + 1 / 3)


@pytest.mark.parametrize("event", [ran("exit", None), Event(name="operation_ran", text="odd")])
def test_without_kernel_time_no_share_is_given(event: Event) -> None:
    found = kernel_result()
    found.events = [event]
    whole = kernel_time_of(found).whole
    assert whole.kernel_share is None
    assert set(whole.blocking.lengths.values()) == {None}


def test_without_a_reference_only_latencies_are_given() -> None:
    time = kernel_time_of(without("none", kernel_result()))
    assert (time.idle, time.rate_at_ns, time.reference) == (None, None, None)
    assert all(one.blocking is None and one.quantile for one in time.operations)


@pytest.mark.parametrize(("still", "waited"), [(0.501, 0.0), (0.0, 0.501), (1.0, 1.0)])
def test_a_reference_of_other_processes_gives_latencies_and_ranks_only(
    still: float, waited: float
) -> None:
    time = kernel_time_of(with_reference_at_work(kernel_result(), still=still, waited=waited))
    assert time.is_reference_of_others
    assert (time.idle, time.rate_at_ns) == (None, None)
    assert {one.blocking for one in (*time.operations, time.whole, time.reference)} == {None}
    own, usual = (
        [(one.name, one.rank, one.quantile) for one in found.operations]
        for found in (time, plain())
    )
    assert own == usual


@pytest.mark.slow
@pytest.mark.parametrize(("still", "waited"), [(0.5, 0.0), (0.0, 0.5), (0.5, 0.5)])
def test_a_reference_that_is_half_its_own_counts(still: float, waited: float) -> None:
    time = kernel_time_of(with_reference_at_work(kernel_result(), still=still, waited=waited))
    assert not time.is_reference_of_others
    assert (time.reference.still_share, time.reference.waited_share) == (still, waited)
    assert time.whole.blocking.lengths == plain().whole.blocking.lengths


def test_what_other_operations_waited_for_is_not_the_reference() -> None:
    found = kernel_result()
    for event in found.events:  # fsync waits for a disk
        event.data |= {"value_count": 100, "still_count": 99, "waited_ns": 9_000_000_000}
    assert not kernel_time_of(found).is_reference_of_others


@pytest.mark.parametrize("odd", [-1, True, "many", 2**70])
def test_an_odd_count_of_the_reference_is_bounded(odd: int | str) -> None:
    found = with_reference_at_work(kernel_result())
    found.events[-1].data["still_count"] = odd
    assert 0 <= kernel_time_of(found).reference.still_share <= 1


@pytest.mark.slow
def test_all_together_is_theirs_without_a_series_of_it() -> None:
    with_it, whole = plain().whole, kernel_time_of(without("all", kernel_result())).whole
    assert whole.name == ALL
    assert whole.series.count == with_it.series.count
    assert whole.blocking.lengths == with_it.blocking.lengths


def test_the_reference_is_none_and_has_no_rank() -> None:
    assert plain().reference.rank is None
    assert list(plain().whole.blocking.lengths) == [0.9, 0.99]
    assert sorted(one.name for one in plain().operations) == ["exec", "exit", "fork"]


def test_other_tests_and_empty_results_have_none() -> None:
    assert kernel_time_of(make.result()) is None
    for series in ([], [dispatch("none", [1] * 200)]):
        assert kernel_time_of(make.result("KRN-P-PRE", series=series)) is None


def test_a_damaged_document_is_bounded() -> None:
    series = [dispatch(f"operation {n}", [n] * 3) for n in range(3 * MOST_OPERATIONS)]
    found = kernel_time_of(make.result("KRN-P-PRE", series=series))
    assert len(found.operations) == MOST_OPERATIONS
    found = kernel_result()
    empty = Histogram(layout="log-linear/10", buckets=[])
    found.series = [msgspec.structs.replace(one, histogram=empty) for one in found.series]
    assert all(one.quantile is None for one in kernel_time_of(found).operations)


NUMBERS = st.one_of(st.none(), st.floats(-1e300, 1e300))


@pytest.mark.slow
@settings(max_examples=50)
@given(NUMBERS, NUMBERS, st.lists(st.integers(-(10**9), 10**18), min_size=1, max_size=50))
def test_odd_figures_of_the_reference_never_stop_it(
    mean: float | None, deviation: float | None, values: list[int]
) -> None:
    reference = msgspec.structs.replace(dispatch("none", [1] * 200), mean=mean, stddev=deviation)
    odd = Event(name="operation_ran", text="", data={"operation": "fork", "system_ns": -1})
    series = [reference, reference, dispatch("fork", values)]
    found = make.result("KRN-P-PRE", series=series, events=[odd, ran("fork", 1.0)])
    assert [one.name for one in kernel_time_of(found).operations] == ["fork"]


def quantile(low: int | None, value: int | None, high: int | None) -> Quantile:
    return Quantile(q=0.99, value=value, low=low, high=high, above=None if value else 1)


def test_ranks_with_unbounded_intervals() -> None:
    found = {"a": quantile(5, 6, 7), "b": quantile(5, None, None), "c": quantile(1, 2, 3)}
    ranks = ranks_of(found | {"d": None})
    assert list(ranks.items()) == [("b", 1), ("a", 1), ("c", 3), ("d", None)]


def test_an_interval_must_be_above_that_of_the_reference() -> None:
    found = {
        "above": quantile(7, 8, 9),
        "touching": quantile(6, 8, 100),
        "below": quantile(1, 2, 3),
        "without a lower end": quantile(None, 8, 9),
    }
    ranks = ranks_of(found, quantile(4, 5, 6))
    assert {name: rank for name, rank in ranks.items() if rank} == {"above": 1}
    assert set(ranks_of(found, quantile(4, 5, None)).values()) == {None}


@pytest.mark.slow
@given(st.lists(st.integers(1, 2_047), min_size=1, max_size=100), st.floats(0.01, 0.99))
def test_the_length_of_a_share_of_timed_sections(values: list[int], q: float) -> None:
    """Of lengths whose buckets have one value each."""
    found = longest_of_share(make.series(values), q)
    assert sum(value for value in values if value <= found) >= q * sum(values) * (1 - 1e-9)
    assert sum(value for value in values if value < found) <= q * sum(values) * (1 + 1e-9)


def test_sections_of_tracers_belong_to_their_operation() -> None:
    found = kernel_result()
    found.series.append(dispatch("exit", [5_000] * 20, "section"))
    sections = {one.name: len(one.sections) for one in kernel_time_of(found).operations}
    assert sections == {"exit": 1, "exec": 0, "fork": 0}
