"""Tails: fits of the generalised Pareto distribution, what the order of maxima tells, and the
projection, which says as often as it claims what comes, or why not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from math import floor, log, sqrt
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from hardstone import event_names
from hardstone.model import ChangedFact, Event, Loss, RunDocument, Series, Trust
from hardstone.stats.projection import (
    PATH_NOT_TAKEN,
    REASONS,
    Code,
    NextMaximum,
    Projection,
    Refusal,
    close_gaps_p,
    crowding,
    folds_held,
    level_p,
    most_likely,
    next_maximum,
    project,
    zhang_stephens,
)
from hardstone.stats.resampling import neighbour_p
from tests.imported import imported_run
from tests.unit.stats.made_tails import PER_INTERVAL, Values, latencies, ordered
from tests.unit.stats.make import document, result

# ---- fits ----

SHAPES = (-0.3, -0.1, 0.0, 0.2, 0.5)


def drawn(shape: float, count: int = 500, seed: int = 1, scale: float = 5000.0) -> np.ndarray:
    random = np.random.default_rng(seed)
    return stats.genpareto.rvs(shape, scale=scale, size=count, random_state=random)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("count", "scale"), [(100, 5000.0), (1000, 0.5)])
def test_the_most_likely_fit_is_that_of_scipy_and_none_nearby_is_likelier(
    shape: float, count: int, scale: float
) -> None:
    sample = drawn(shape, count, scale=scale)
    found = most_likely(sample)
    wanted_shape, _, wanted_scale = stats.genpareto.fit(sample, floc=0)
    assert found.shape == pytest.approx(wanted_shape, abs=2e-4)
    assert found.scale == pytest.approx(wanted_scale, rel=2e-4)

    def likelihood(by_shape: float, by_scale: float) -> float:
        made = found.shape + by_shape, found.scale * by_scale
        return stats.genpareto.logpdf(sample, made[0], scale=made[1]).sum()

    for change in ((0.01, 1), (-0.01, 1), (0, 1.01), (0, 0.99)):
        assert likelihood(*change) < likelihood(0, 1)


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
@pytest.mark.parametrize("scale", [5000.0, 0.01])
def test_zhang_and_stephens_as_published(shape: float, scale: float) -> None:
    sample = drawn(shape, 150, scale=scale)
    found = zhang_stephens(sample)
    assert (found.shape, found.scale) == pytest.approx(as_published(sample), rel=1e-6)


def test_a_tail_with_an_edge_has_no_most_likely_fit() -> None:
    assert most_likely(np.random.default_rng(1).uniform(0, 1, 500)) is None


@pytest.mark.slow
@pytest.mark.parametrize("shape", [-0.2, 0.0, 0.2, 0.4])
@pytest.mark.parametrize(("count", "times"), [(100, 1.0), (100, 10.0), (30, 1 / 9)])
def test_the_next_maximum_is_where_it_is_foreseen(shape: float, count: int, times: float) -> None:
    """Each probability of it is as likely as any other, with fit and number both uncertain."""
    draw = np.random.default_rng(7)
    found = []
    for _ in range(200):
        foreseen = next_maximum(drawn(shape, count, int(draw.integers(2**31))), times)
        number = draw.poisson(count * times)
        largest = drawn(shape, max(number, 1), int(draw.integers(2**31))).max() if number else 0.0
        found.append(foreseen.below(largest))
    inside = np.mean([0.025 <= one <= 0.975 for one in found])
    assert inside >= 0.95 - 3 * sqrt(0.05 * 0.95 / 200)
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


# ---- order of maxima ----


def independent(seed: int, count: int = 150) -> np.ndarray:
    return np.random.default_rng(seed).gumbel(50_000, 5_000, count).astype(np.int64)


@pytest.mark.slow
@settings(max_examples=60)
@given(st.lists(st.integers(0, 40), min_size=8, max_size=60).map(np.array))
def test_the_level_is_tested_as_scipy_does(maxima: np.ndarray) -> None:
    is_flat = np.unique(maxima).size == 1
    wanted = 1.0 if is_flat else stats.kruskal(*np.array_split(maxima, 4)).pvalue
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
    held = [folds_held(independent(seed)) for seed in range(60)]
    assert np.mean(held) == pytest.approx(9.5, abs=0.35)
    assert sum(one < 8 for one in held) <= 4


def test_equal_maxima_foresee_nothing() -> None:
    assert folds_held(np.full(100, 9)) == 0


# ---- projection ----

STEADY = {"virtual.hypervisor": None, "power.frequency_is_fixed": True}


def of(
    values: Values | Series,
    *,
    run: RunDocument | None = None,
    times: float = 1,
    **of_result: object,
) -> Projection | Refusal:
    made = values if isinstance(values, Series) else ordered(values)
    return project(made, result(**of_result), run or document(system=STEADY), times=times)


def codes(found: Projection | Refusal) -> list[Code]:
    return [one.code for one in found.reasons] if isinstance(found, Refusal) else []


@pytest.mark.slow
@pytest.mark.parametrize("shape", [-0.2, 0.2])
def test_it_covers_the_next_maximum_as_often_as_it_says(shape: float) -> None:
    inside = projected = 0
    reasons: Counter[Code] = Counter()
    for seed in range(12):
        found = of(latencies(seed, shape=shape))
        reasons.update(codes(found))
        if isinstance(found, Projection):
            projected += 1
            later = latencies(1000 + seed, shape=shape).max()
            inside += found.low_ns <= later <= found.high_ns
    assert projected >= 11, reasons
    assert inside >= 0.95 * projected - 3 * (0.05 * 0.95 * projected) ** 0.5


def test_what_it_says() -> None:
    values = latencies(1)
    found = of(values)
    assert found.low_ns < found.median_ns < found.high_ns
    assert (found.worst_ns, found.count, found.next_count) == (values.max(), 120_000, 120_000)
    assert 950 <= found.exceedances_count <= 1000
    assert (values > found.threshold_ns).sum() == found.exceedances_count
    assert found.shape == pytest.approx(0, abs=0.15)
    assert found.scale_ns == pytest.approx(5000, rel=0.15)
    assert found.text.startswith("Projection, not observed: if nothing changes, the largest of 120")
    assert found.text.endswith(PATH_NOT_TAKEN)
    far = of(values, times=10)
    assert far.median_ns > found.median_ns and far.next_count == 1_200_000


@pytest.mark.parametrize("times", [0, 10.1, float("nan")])
def test_ten_times_the_data_is_the_most(times: float) -> None:
    with pytest.raises(ValueError, match="at most 10"):
        of(latencies(1), times=times)


def steps(seed: int, step: int = 300) -> Values:
    """As a clock with steps shows them."""
    return latencies(seed) // step * step


def risen(seed: int) -> Values:
    values = latencies(seed)
    return np.asarray(values * np.linspace(1, 1.3, values.size), dtype=np.int64)


def waves(seed: int) -> Values:
    """Seconds in another order: up and down within 12 s, without a trend."""
    seconds = latencies(seed, seconds=300).reshape(300, PER_INTERVAL)
    noise = np.random.default_rng(seed).normal(0, 0.7, 300)
    wave = np.sin(2 * np.pi * np.arange(300) / 12) + noise
    order = np.zeros(300, dtype=np.int64)
    order[np.argsort(wave)] = np.argsort(seconds.max(axis=1))
    return seconds[order].ravel()


def together(seed: int) -> Values:
    """Each event makes four values late, one after another."""
    values = latencies(seed)
    late = np.flatnonzero(values > 20_000)[::4]
    excess = values[late] - 20_000
    values = np.minimum(values, 15_000)
    for number in range(4):
        after = np.minimum(late + number, values.size - 1)
        values[after] = np.maximum(values[after], 20_000 + excess * (100 - number) // 100)
    return values


def edged(seed: int) -> Values:
    values = latencies(seed)
    flat = np.random.default_rng(seed).integers(20_000, 40_000, values.size)
    return np.where(values > 20_000, flat, values)


def kinked(seed: int) -> Values:
    """Beyond 32 us there is another kind of event."""
    values = latencies(seed)
    return np.where(values > 32_000, 32_000 + (values - 32_000) * 3, values)


def far_out(seed: int) -> Values:
    values = latencies(seed)
    values[77_777] = 700_000
    return values


def quiet_tenths(seed: int) -> Values:
    """Seconds in another order: three of the ten tenths have no large maximum."""
    values = latencies(seed, seconds=300).reshape(300, PER_INTERVAL)
    maxima = values.max(axis=1)
    draw = np.random.default_rng(seed)
    small = draw.permutation(np.flatnonzero(maxima < np.quantile(maxima, 0.65)))[:90]
    places = np.concatenate([np.arange(30) + 30 * tenth for tenth in (1, 4, 8)])
    others = np.arange(300)
    order = np.zeros(300, dtype=np.int64)
    order[places] = small
    order[np.setdiff1d(others, places)] = draw.permutation(np.setdiff1d(others, small))
    return values[order].ravel()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("made", "code", "says"),
    [
        (steps, "tied", "values come in steps of about 3"),
        (risen, "not stationary", "quarters of the run differ in level"),
        (waves, "not stationary", "neighbouring intervals are correlated"),
        (together, "clustered", "of 120 intervals"),
        (edged, "disagree", "the likelihood of the tail has no maximum"),
        (kinked, "unstable", "the shape depends on the threshold"),
        (far_out, "rare mode", "700 us is over 10 times"),
        (quiet_tenths, "back-test", "of 10 tenths of the run"),
    ],
)
def test_each_reason_of_the_data_refuses_alone(
    made: Callable[[int], Values], code: Code, says: str
) -> None:
    """Some other check may fail by chance: a later draw has this reason only, and each has it."""
    for seed in range(6):
        found = of(made(seed))
        assert code in codes(found)
        if codes(found) == [code]:
            break
    (reason,) = found.reasons
    assert says in reason.text
    assert found.text == f"No projection: {reason.text}. {PATH_NOT_TAKEN}"


def changed(made: Series, **fields: object) -> Series:
    for name, value in fields.items():
        setattr(made, name, value)
    return made


@pytest.mark.parametrize(
    ("values", "code"),
    [
        # far from 0, so that its largest value is not 10 times the others
        (lambda: latencies(2, shape=0.6) + 80_000, ["heavy"]),
        (lambda: ordered(latencies(1)[:9_000], per_interval=60), ["few"]),
        (lambda: ordered(latencies(1), limit=40_000), ["overflow"]),
        (lambda: changed(ordered(latencies(1)), unit="count"), ["unit"]),
        (lambda: changed(ordered(latencies(1)), maxima_per_s=[]), ["order"]),
        (
            lambda: changed(made := ordered(latencies(1)), maxima_per_s=made.maxima_per_s[:99]),
            ["order"],
        ),
        (lambda: ordered(np.array([1], dtype=np.int64)), ["few", "order"]),
        (lambda: steps(1, step=40), []),
    ],
    ids=["heavy", "few", "overflow", "unit", "no order", "short order", "one value", "fine steps"],
)
def test_each_reason_of_the_series(values: Callable[[], Values | Series], code: list[Code]) -> None:
    found = of(values())
    assert codes(found) == code
    if code == ["few"]:
        assert found.reasons[0].text == "fewer than 100 exceedances: 1% of 9000 values"


def test_the_largest_values_together_refuse_alone() -> None:
    """Their places are known also where no second shows it."""
    made = ordered(latencies(1))
    for number, one in enumerate(made.worst):
        one.index = number // 2 * 3000 + number % 2
    found = of(made)
    assert codes(found) == ["clustered"]
    assert found.reasons[0].text == "the largest values occur together"


def test_a_file_that_lacks_values_has_no_projection() -> None:
    losses = [Loss(what="values", text="Older ones were written over.")]
    run = document(imported=imported_run(losses=losses).imported)
    assert codes(of(latencies(1), run=run, environment={"steal_ns": 0})) == ["missing"]


GAP = Event(name=event_names.JOINED, text="", at_ns=5, data={"gap_ns": 9})
GOVERNOR = ChangedFact(fact="power.governor", before="a", after="b")
GUEST = document(system={"virtual.hypervisor": "KVM"})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("of_result", "run", "says"),
    [
        ({"environment": {"steal_ns": 20_000_000}}, None, "steal time: 20 ms"),
        ({"environment": {"migrations_count": 2}}, None, "migrations: 2"),
        ({"environment": {"throttled_count": 1}}, None, "its control group was throttled: 1"),
        ({"environment": {"thermal_throttled_count": 3}}, None, "slowed down because of heat: 3"),
        ({"events": [Event(name=event_names.THROTTLED, text="")]}, None, "lost CPU time"),
        ({"events": [GAP]}, None, "resumed"),
        ({}, document(system={"power.frequency_is_fixed": False}), "the CPU frequency"),
        ({"environment": {}}, GUEST, "unknown steal time"),
        ({"environment": {"steal_ns": 0}}, GUEST, ""),
        ({}, document(environment_moved=[GOVERNOR]), "changed during the run: power.governor"),
        ({}, document(trust=Trust(grade="untrustworthy", reasons=["x"])), "not trustworthy"),
    ],
)
def test_whatever_moved_refuses_alone(
    of_result: dict[str, object], run: RunDocument | None, says: str
) -> None:
    found = of(latencies(1), run=run, **of_result)
    assert codes(found) == (["moved"] if says else [])
    assert not says or says in found.reasons[0].text


def test_every_reason_is_told_and_not_only_the_first() -> None:
    found = of(risen(2), environment={"steal_ns": 10_000_000})
    assert codes(found) == ["moved", "not stationary"] and found.text.count(";") == 1


def test_every_reason_has_its_words() -> None:
    assert set(REASONS) == set(get_args(Code))
