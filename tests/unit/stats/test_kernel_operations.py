"""The operations of KRN-P-PRE: ranked worst first, in the same order run after run."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardstone.model import Event, Histogram, Result, Series
from hardstone.stats.kernel_operations import ALL, MOST_OPERATIONS, KernelTime, kernel_time_of
from hardstone.stats.operation_ranks import ranking_quantile, ranks_of
from hardstone.stats.quantiles import Quantile
from hardstone.stats.section_share import longest_of_share
from tests.unit.stats import make
from tests.unit.stats.blocked import (
    dispatch,
    idle,
    kernel_result,
    ran,
    result,
    with_reference_at_work,
)

OPERATIONS = ["exit", "exec", "fork"]


def told(found: Result) -> KernelTime:
    time = kernel_time_of(found)
    assert time is not None
    return time


@pytest.mark.slow
def test_three_runs_have_the_same_operation_first() -> None:
    firsts = [told(kernel_result(seed)).operations[0] for seed in (1, 2, 3)]
    assert [(one.name, one.rank) for one in firsts] == [("exit", 1)] * 3


def test_a_worse_maximum_does_not_rank_first() -> None:
    rng = np.random.default_rng(2)
    found = {"fork": idle(rng, 2_000), "exit": idle(rng, 2_000) + 50_000}
    found["fork"][7] = 90_000_000
    time = told(result(found, {"fork": 0.9, "exit": 0.9}, reference=idle(rng, 2_000)))
    assert [one.name for one in time.operations] == ["exit", "fork"]
    assert time.operations[1].series.max == 90_000_000


def test_alike_operations_share_a_rank() -> None:
    rng = np.random.default_rng(3)
    found = {name: idle(rng, 2_000) + 5_000 for name in ("a", "b")}
    found["c"] = idle(rng, 2_000) + 10_000
    time = told(result(found, {}, reference=idle(rng, 2_000)))
    assert (time.operations[0].name, time.operations[0].rank) == ("c", 1)
    assert {one.rank for one in time.operations[1:]} == {2}


@pytest.mark.parametrize(("count", "q"), [(1_000, 0.99), (999, 0.9), (99, 0.5), (5, 0.5)])
def test_the_quantile_that_ranks_is_one_that_the_count_supports(count: int, q: float) -> None:
    assert ranking_quantile({"fork": make.series(range(count))}) == q


def test_an_operation_with_few_releases_has_no_rank_and_comes_last() -> None:
    rng = np.random.default_rng(4)
    found = {"fsync": idle(rng, 100) + 10**6, "fork": idle(rng, 2_000) + 5_000}
    time = told(result(found, {}, reference=idle(rng, 2_000)))
    assert [(one.name, one.rank) for one in time.operations] == [("fork", 1), ("fsync", None)]


def test_what_is_like_the_reference_or_below_it_has_no_rank() -> None:
    rng = np.random.default_rng(5)
    found = {"pipe": idle(rng, 2_000) - 2_000, "map": idle(rng, 2_000), "few": idle(rng, 50)}
    found["exit"] = idle(rng, 2_000) + 5_000
    time = told(result(found, {}, reference=idle(rng, 2_000)))
    assert [(one.name, one.rank, one.is_like_reference) for one in time.operations] == [
        ("exit", 1, False),
        ("map", None, True),
        ("pipe", None, True),
        ("few", None, False),
    ]


@pytest.mark.parametrize("reference", [None, 50])
def test_without_a_quantile_of_the_reference_all_have_a_rank(reference: int | None) -> None:
    rng = np.random.default_rng(6)
    found = {"fork": idle(rng, 2_000), "map": idle(rng, 2_000)}
    beside = idle(rng, reference) if reference else None
    time = told(result(found, {}, reference=beside))
    assert [(one.rank, one.is_like_reference) for one in time.operations] == [(1, False)] * 2


def test_kernel_time_is_that_of_operation_ran() -> None:
    found = kernel_result(share=0.5)
    found.events.append(ran("exit", 1.0))  # twice, of the same length
    time = told(found)
    shares = {one.name: one.kernel_share for one in time.operations}
    assert shares == {"exit": 0.75, "exec": 0.5, "fork": 0.5}
    assert time.whole.kernel_share == 0.5
    found.series = [one for one in found.series if one.labels["operation"] != "all"]
    assert told(found).whole.kernel_share == pytest.approx(0.75 / 3 + 1 / 3)


@pytest.mark.parametrize("event", [ran("exit", None), Event(name="operation_ran", text="odd")])
def test_without_kernel_time_no_share_is_given(event: Event) -> None:
    found = kernel_result()
    found.events = [event]
    time = told(found)
    assert time.whole.kernel_share is None
    assert time.whole.blocking is not None
    assert set(time.whole.blocking.lengths.values()) == {None}


def test_without_a_reference_only_latencies_are_given() -> None:
    found = kernel_result()
    found.series = [one for one in found.series if one.labels["operation"] != "none"]
    time = told(found)
    assert (time.idle, time.rate_at_ns, time.reference) == (None, None, None)
    assert all(one.blocking is None and one.quantile for one in time.operations)


@pytest.mark.parametrize(("still", "waited"), [(0.501, 0.0), (0.0, 0.501), (1.0, 1.0)])
def test_a_reference_of_other_processes_gives_latencies_and_ranks_only(
    still: float, waited: float
) -> None:
    time = told(with_reference_at_work(kernel_result(), still=still, waited=waited))
    assert time.is_reference_of_others
    assert (time.idle, time.rate_at_ns) == (None, None)
    assert {one.blocking for one in (*time.operations, time.whole, time.reference) if one} == {None}
    own = [(one.name, one.rank, one.quantile) for one in time.operations]
    assert own == [(one.name, one.rank, one.quantile) for one in told(kernel_result()).operations]


@pytest.mark.slow
@pytest.mark.parametrize(("still", "waited"), [(0.5, 0.0), (0.0, 0.5), (0.5, 0.5)])
def test_a_reference_that_is_half_its_own_counts(still: float, waited: float) -> None:
    time = told(with_reference_at_work(kernel_result(), still=still, waited=waited))
    assert not time.is_reference_of_others
    assert time.reference and (time.reference.still_share, time.reference.waited_share) == (
        still,
        waited,
    )
    whole = told(kernel_result()).whole
    assert time.whole.blocking and whole.blocking
    assert time.whole.blocking.lengths == whole.blocking.lengths


def test_what_other_operations_waited_for_is_not_the_reference() -> None:
    found = kernel_result()
    for event in found.events:  # fsync waits for a disk
        event.data |= {"value_count": 100, "still_count": 99, "waited_ns": 9_000_000_000}
    assert not told(found).is_reference_of_others


@pytest.mark.parametrize("odd", [-1, True, "many", 2**70])
def test_an_odd_count_of_the_reference_is_bounded(odd: int | str) -> None:
    found = with_reference_at_work(kernel_result())
    found.events[-1].data["still_count"] = odd
    time = told(found)
    assert time.reference and 0 <= time.reference.still_share <= 1


def test_all_together_is_theirs_without_a_series_of_it() -> None:
    found = kernel_result()
    with_it = told(found).whole
    found.series = [one for one in found.series if one.labels["operation"] != "all"]
    time = told(found)
    assert time.whole.name == ALL
    assert time.whole.series.count == with_it.series.count
    assert time.whole.blocking is not None and with_it.blocking is not None
    assert time.whole.blocking.lengths == with_it.blocking.lengths


def test_the_reference_is_none_and_has_no_rank() -> None:
    time = told(kernel_result())
    assert time.reference is not None and time.reference.rank is None
    assert sorted(one.name for one in time.operations) == sorted(OPERATIONS)


def test_other_tests_and_empty_results_have_none() -> None:
    assert kernel_time_of(make.result()) is None
    assert kernel_time_of(make.result("KRN-P-PRE", series=[])) is None
    assert kernel_time_of(make.result("KRN-P-PRE", series=[dispatch("none", [1] * 200)])) is None


def test_a_damaged_document_is_bounded() -> None:
    series = [dispatch(f"operation {n}", [n] * 3) for n in range(3 * MOST_OPERATIONS)]
    time = told(make.result("KRN-P-PRE", series=series))
    assert len(time.operations) == MOST_OPERATIONS


NUMBERS = st.one_of(st.none(), st.floats(-1e300, 1e300))


@pytest.mark.slow
@given(NUMBERS, NUMBERS, st.lists(st.integers(-(10**9), 10**18), min_size=1, max_size=50))
def test_odd_figures_of_the_reference_never_stop_it(
    mean: float | None, deviation: float | None, values: list[int]
) -> None:
    reference = msgspec.structs.replace(dispatch("none", [1] * 200), mean=mean, stddev=deviation)
    odd = Event(name="operation_ran", text="", data={"operation": "fork", "system_ns": -1})
    series = [reference, reference, dispatch("fork", values)]
    found = make.result("KRN-P-PRE", series=series, events=[odd, ran("fork", 1.0)])
    time = told(found)
    assert [one.name for one in time.operations] == ["fork"]


def test_an_emptied_histogram_never_stops_it() -> None:
    found = kernel_result()
    empty = Histogram(layout="log-linear/10", buckets=[])
    found.series = [msgspec.structs.replace(one, histogram=empty) for one in found.series]
    time = told(found)
    assert all(one.quantile is None for one in time.operations)


def quantile(low: int | None, value: int | None, high: int | None) -> Quantile:
    return Quantile(q=0.99, value=value, low=low, high=high, above=None if value else 1)


def test_ranks_with_unbounded_intervals() -> None:
    found = {
        "a": quantile(5, 6, 7),
        "b": quantile(5, None, None),
        "c": quantile(1, 2, 3),
        "d": None,
    }
    assert ranks_of(found) == {"b": 1, "a": 1, "c": 3, "d": None}
    assert list(ranks_of(found)) == ["b", "a", "c", "d"]


def test_an_interval_must_be_above_that_of_the_reference() -> None:
    reference = quantile(4, 5, 6)
    found = {
        "above": quantile(7, 8, 9),
        "touching": quantile(6, 8, 100),
        "below": quantile(1, 2, 3),
        "without a lower end": quantile(None, 8, 9),
    }
    ranks = ranks_of(found, reference)
    assert {name for name, rank in ranks.items() if rank} == {"above"}
    assert ranks["above"] == 1
    endless = quantile(4, 5, None)
    assert set(ranks_of(found, endless).values()) == {None}


@pytest.mark.slow
@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=100), st.floats(0.01, 0.99))
def test_the_length_of_a_share_of_timed_sections(values: list[int], q: float) -> None:
    exact = sorted(value for value in values if value < 2_048)  # buckets of one value
    if not exact:
        return
    found = longest_of_share(make.series(exact), q)
    assert found is not None
    assert sum(value for value in exact if value <= found) >= q * sum(exact) * (1 - 1e-9)
    assert sum(value for value in exact if value < found) <= q * sum(exact) * (1 + 1e-9)


def test_sections_of_tracers_belong_to_their_operation() -> None:
    section: Series = dispatch("exit", [5_000] * 20, "section")
    found = kernel_result()
    found.series.append(section)
    time = told(found)
    assert {one.name: len(one.sections) for one in time.operations} == {
        "exit": 1,
        "exec": 0,
        "fork": 0,
    }
