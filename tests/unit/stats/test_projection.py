"""The projection: how often its claim is true, and each reason to refuse, alone."""

from __future__ import annotations

from collections import Counter
from typing import get_args

import numpy as np
import pytest

from hardstone import event_names
from hardstone.model import Event, Moved, RunDocument, Series, Trust
from hardstone.stats.projection import PATH_NOT_TAKEN, Projection, Refusal, project
from hardstone.stats.tail_checks import REASONS, Code
from tests.unit.stats.made_tails import PER_INTERVAL, Values, latencies, ordered
from tests.unit.stats.make import document, result

STEADY = {"virtual.hypervisor": None, "power.frequency_is_fixed": True}


def of(
    values: Values | Series, *, run: RunDocument | None = None, **of_result: object
) -> Projection | Refusal:
    made = values if isinstance(values, Series) else ordered(values)
    return project(made, result(**of_result), run or document(system=STEADY))


def codes(found: Projection | Refusal) -> list[Code]:
    return [one.code for one in found.reasons] if isinstance(found, Refusal) else []


@pytest.mark.slow
@pytest.mark.parametrize("shape", [-0.2, 0.2])
def test_it_covers_the_next_maximum_as_often_as_it_says(shape: float) -> None:
    inside = projected = 0
    reasons: Counter[Code] = Counter()
    for seed in range(60):
        found = of(latencies(seed, shape=shape))
        reasons.update(codes(found))
        if isinstance(found, Projection):
            projected += 1
            later = latencies(1000 + seed, shape=shape).max()
            inside += found.low_ns <= later <= found.high_ns
    assert projected >= 54, reasons
    assert inside >= 0.95 * projected - 3 * (0.05 * 0.95 * projected) ** 0.5


def test_what_it_says() -> None:
    values = latencies(1)
    found = of(values)
    assert isinstance(found, Projection)
    assert found.low_ns < found.median_ns < found.high_ns
    assert (found.worst_ns, found.count, found.next_count) == (values.max(), 120_000, 120_000)
    assert 950 <= found.exceedances_count <= 1000
    assert (values > found.threshold_ns).sum() == found.exceedances_count
    assert found.shape == pytest.approx(0, abs=0.15)
    assert found.scale_ns == pytest.approx(5000, rel=0.15)
    assert found.text.startswith("Projection, not observed: if nothing changes, the largest of 120")
    assert found.text.endswith(PATH_NOT_TAKEN)


@pytest.mark.slow
def test_ten_times_the_data_is_the_most() -> None:
    made, of_result, run = ordered(latencies(1)), result(), document(system=STEADY)
    near, far = (project(made, of_result, run, times=times) for times in (1, 10))
    assert isinstance(near, Projection) and isinstance(far, Projection)
    assert far.median_ns > near.median_ns and far.next_count == 1_200_000
    for times in (0, 10.1, float("nan")):
        with pytest.raises(ValueError, match="at most 10"):
            project(made, of_result, run, times=times)


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
    order = np.zeros(300, dtype=np.int64)
    order[places] = small
    order[np.setdiff1d(np.arange(300), places)] = draw.permutation(
        np.setdiff1d(np.arange(300), small)
    )
    return values[order].ravel()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("made", "code", "says"),
    [
        (steps, "tied", "values come in steps of about 3"),
        (risen, "not stationary", "quarters of the run differ in level"),
        (waves, "not stationary", "neighbouring intervals are alike"),
        (together, "clustered", "of 120 intervals"),
        (edged, "disagree", "the likelihood of the tail has no maximum"),
        (kinked, "unstable", "the shape depends on the threshold"),
        (far_out, "rare mode", "700 us is over 10 times"),
        (quiet_tenths, "back-test", "of 10 tenths of the run"),
    ],
)
def test_each_reason_of_the_data_refuses_alone(made, code: Code, says: str) -> None:  # type: ignore[no-untyped-def]
    """Some other check may fail by chance; among a few draws there is one with this reason only,
    and every draw has it."""
    found = [of(made(seed)) for seed in range(6)]
    assert all(code in codes(one) for one in found)
    alone = [one for one in found if isinstance(one, Refusal) and codes(one) == [code]]
    assert alone
    assert says in alone[0].reasons[0].text
    assert alone[0].text == f"No projection: {alone[0].reasons[0].text}. {PATH_NOT_TAKEN}"


def test_a_heavy_tail_refuses_alone() -> None:
    """Far from 0, so that its largest value is not 10 times the others."""
    values = latencies(2, shape=0.6) + 80_000
    found = of(values)
    assert codes(found) == ["heavy"]


def test_few_values_refuse_alone() -> None:
    found = of(ordered(latencies(1)[:9_000], per_interval=60))
    assert codes(found) == ["few"]
    assert isinstance(found, Refusal)
    assert found.reasons[0].text == "fewer than 100 exceedances: 1% of 9000 values"


def test_overflow_refuses_alone() -> None:
    assert codes(of(ordered(latencies(1), limit=40_000))) == ["overflow"]


def test_other_units_refuse_alone() -> None:
    made = ordered(latencies(1))
    made.unit = "count"
    assert codes(of(made)) == ["unit"]


@pytest.mark.parametrize("kept", [0, 99])
def test_no_order_refuses_alone(kept: int) -> None:
    made = ordered(latencies(1))
    made.maxima_per_s = made.maxima_per_s[:kept]
    assert codes(of(made)) == ["order"]


def test_the_largest_values_together_refuse_alone() -> None:
    """Their places are known also where no second shows it."""
    made = ordered(latencies(1))
    for number, one in enumerate(made.worst):
        one.index = number // 2 * 3000 + number % 2
    found = of(made)
    assert codes(found) == ["clustered"]
    assert isinstance(found, Refusal)
    assert found.reasons[0].text == "the largest values come together"


MOVED: list[tuple[dict[str, object], RunDocument | None, str]] = [
    ({"environment": {"steal_ns": 20_000_000}}, None, "steal time: 20 ms"),
    ({"environment": {"migrations_count": 2}}, None, "migrations: 2"),
    ({"environment": {"throttled_count": 1}}, None, "its control group was throttled: 1"),
    ({"environment": {"thermal_throttled_count": 3}}, None, "slowed down for heat: 3"),
    ({"events": [Event(name=event_names.THROTTLED, text="")]}, None, "lost CPU time"),
    (
        {"events": [Event(name=event_names.JOINED, text="", at_ns=5, data={"gap_ns": 9})]},
        None,
        "resumed",
    ),
    ({}, document(system={"power.frequency_is_fixed": False}), "the frequency of the CPU"),
    ({"environment": {}}, document(system={"virtual.hypervisor": "KVM"}), "steal time is not"),
    (
        {},
        document(environment_moved=[Moved(fact="power.governor", before="a", after="b")]),
        "changed during the run: power.governor",
    ),
    ({}, document(trust=Trust(grade="untrustworthy", reasons=["x"])), "not trustworthy"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("of_result", "run", "says"), MOVED)
def test_whatever_moved_refuses_alone(
    of_result: dict[str, object], run: RunDocument | None, says: str
) -> None:
    found = of(latencies(1), run=run, **of_result)
    assert codes(found) == ["moved"]
    assert isinstance(found, Refusal) and says in found.reasons[0].text


def test_a_guest_whose_steal_time_is_known_and_none_is_no_reason() -> None:
    run = document(system={"virtual.hypervisor": "KVM"})
    assert codes(of(latencies(1), run=run, environment={"steal_ns": 0})) == []


def test_a_fine_step_is_no_reason() -> None:
    assert codes(of(steps(1, step=40))) == []


def test_every_reason_is_told_and_not_only_the_first() -> None:
    made = ordered(risen(2))
    found = of(made, environment={"steal_ns": 10_000_000})
    assert codes(found) == ["moved", "not stationary"]
    assert isinstance(found, Refusal) and found.text.count(";") == 1


def test_an_empty_series_is_refused() -> None:
    assert codes(of(ordered(np.array([1], dtype=np.int64)))) == ["few", "order"]


def test_every_reason_has_its_words() -> None:
    assert set(REASONS) == set(get_args(Code))
