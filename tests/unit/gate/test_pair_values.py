"""Interleaved pairs of runs: what decides, what does not count, and why."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from hardstone.errors import InputError
from hardstone.gate import GateDocument, PairedRun, check_pairs
from hardstone.gate.pair_values import INTERRUPTED
from hardstone.model import RunDocument, Trust
from hardstone.published import parse_address
from tests.unit.gate.made import run, spread
from tests.unit.stats import make

SIDES = ("A: local", "B: local --load heavy")


def one(middle: float, seed: int, count: int = 2000, **changed: Any) -> RunDocument:
    return run(spread(count, middle, seed), run_id=f"20261121T032200Z-{seed:06x}", **changed)


def gated(
    factor: float = 1.0,
    pairs: int = 12,
    *,
    address: str = "TMR-P-LAT",
    odd: dict[int, PairedRun] | None = None,
    count: int = 2000,
    **options: Any,
) -> GateDocument:
    """The second side is slower by `factor`; `odd` replaces the second run of a pair."""
    runs = [
        (
            PairedRun(one(10_000, 2 * number, count)),
            (odd or {}).get(number, PairedRun(one(10_000 * factor, 2 * number + 1, count))),
        )
        for number in range(pairs)
    ]
    return check_pairs(parse_address(address), runs, SIDES, **options)


def by_statistic(document: GateDocument) -> dict[str, str]:
    return {one.statistic: one.outcome for one in document.checks}


@pytest.mark.parametrize(
    ("factor", "outcome", "code"), [(1.0, "PASS", 0), (0.5, "PASS", 0), (1.3, "FAIL", 1)]
)
def test_a_median(factor: float, outcome: str, code: int) -> None:
    found = gated(factor)
    assert by_statistic(found) == {
        "p50": outcome,
        "p99": "PASS" if factor < 1.1 else "INCONCLUSIVE",
    } or (by_statistic(found)["p50"] == outcome)
    assert found.exit_code == code
    (median, *_) = [check for check in found.checks if check.statistic == "p50"]
    assert median.address == "TMR-P-LAT/total/wakeup" and median.found.startswith("B/A ")
    assert median.wanted == "at most 10 % higher than A" and median.condition == "12 pairs"


def test_a_slowdown_near_the_margin_is_not_decided() -> None:
    found = gated(1.1, has_tails=False)
    assert by_statistic(found) == {"p50": "INCONCLUSIVE"} and found.exit_code == 3


@pytest.mark.slow
def test_tails_are_judged_where_they_may_be_and_counts_allow() -> None:
    assert set(by_statistic(gated(count=500))) == {"p50"}
    assert set(by_statistic(gated(count=2000))) == {"p50", "p99"}
    assert set(by_statistic(gated(count=12_000))) == {"p50", "p99", "p99.9"}
    assert set(by_statistic(gated(count=12_000, has_tails=False))) == {"p50"}


@pytest.mark.slow
def test_values_above_a_deadline() -> None:
    found = by_statistic(gated(1.0, deadline_ns=12_000, has_tails=False))
    assert found == {"p50": "PASS", "above 12 us": "PASS"}
    assert by_statistic(gated(1.4, deadline_ns=12_000))["above 12 us"] == "FAIL"
    never = gated(1.0, deadline_ns=10**9, has_tails=False)
    assert by_statistic(never)["above 1 s"] == "INCONCLUSIVE"


def test_the_order_of_worst_first_and_the_maxima() -> None:
    found = gated(1.3)
    assert found.checks[0].outcome == "FAIL"
    assert any("worst observed: A 50 us, B 65 us; not judged" in note for note in found.notes)


def doubtful(**changed: Any) -> PairedRun:
    return PairedRun(one(10_000, 99, **changed))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("odd", "reason"),
    [
        (PairedRun(None, "the target is gone"), "B: the target is gone"),
        (doubtful(complete=False), "B: cut off before its end"),
        (doubtful(status="denied", series=[], reason="EPERM"), "B: denied: EPERM"),
        (doubtful(trust=Trust(grade="untrustworthy", reasons=["X"])), "untrustworthy: X"),
        (doubtful(series=[make.series([])]), "B: no values"),
        (doubtful(series=[]), "B: no values"),
        (
            doubtful(series=[msgspec.structs.replace(make.series([1, 2]), max=0)]),
            "untrustworthy: TMR-P-LAT wakeup",
        ),
        (doubtful(system={"virtual.emulated": True}), "not comparable: it is emulated"),
        (doubtful(test="SEM-P-SIG"), "B: the run has no TMR-P-LAT"),
        (doubtful(series=[make.series([1, 2], "jitter")]), "different series"),
    ],
)
def test_a_pair_with_a_useless_run_does_not_count(odd: PairedRun, reason: str) -> None:
    found = gated(odd={3: odd})
    assert found.statistics[0].pairs_count == 11
    assert [reason in pair.left_out for pair in found.pairs] == [n == 3 for n in range(12)]
    assert by_statistic(found)["p50"] == "PASS"


def test_fewer_than_ten_pairs_decide_nothing() -> None:
    gone = {number: PairedRun(None, "the target is gone") for number in range(3)}
    found = gated(3.0, odd=gone, has_tails=False)
    assert (
        by_statistic(found) == {"p50": "INCONCLUSIVE"} and "at least 10" in found.checks[0].reason
    )
    assert gated(3.0, odd=dict.fromkeys(range(12), gone[0])).exit_code == 3


def test_an_interrupted_session_decides_nothing() -> None:
    found = gated(3.0, is_cut=True)
    assert set(by_statistic(found).values()) == {"INCONCLUSIVE"}
    assert found.checks[0].reason == INTERRUPTED


def test_an_address_chooses_the_series() -> None:
    found = gated(address="TMR-P-LAT/total/wakeup")
    assert found.checks[0].address == "TMR-P-LAT/total/wakeup"
    none = gated(address="TMR-P-LAT/total/jitter")
    assert none.exit_code == 3 and "no series with" in none.pairs[0].left_out


@pytest.mark.slow
def test_other_labels_are_told() -> None:
    series = msgspec.structs.replace(make.series(spread(2000)), labels={"threads": 128})
    runs = [(PairedRun(run()), PairedRun(run(series=[series])))] * 10
    notes = check_pairs(parse_address("TMR-P-LAT"), runs, SIDES).notes
    assert "A has part total, and B none" in notes and "A has threads none, and B 128" in notes


def rates(factor: float) -> GateDocument:
    def rate(middle: float, seed: int) -> PairedRun:
        series = make.series(spread(2000, middle, seed))
        series = msgspec.structs.replace(series, unit="bytes_per_s")
        return PairedRun(run(series=[series]))

    runs = [(rate(1e7, n), rate(1e7 * factor, n + 50)) for n in range(12)]
    return check_pairs(parse_address("TMR-P-LAT"), runs, SIDES)


@pytest.mark.slow
def test_of_a_rate_less_is_worse() -> None:
    assert by_statistic(rates(2.0)) == {"p50": "PASS"}
    worse = rates(0.7)
    assert by_statistic(worse) == {"p50": "FAIL"}
    assert worse.checks[0].found.startswith("A/B 1.4")


def in_a_bucket(first: list[int], second: list[int]) -> str:
    """The outcome of values above 9084 ns, which lies in one bucket with 9080 and 9085."""
    pair = PairedRun(run(first)), PairedRun(run(second))
    found = check_pairs(
        parse_address("TMR-P-LAT"), [pair] * 12, SIDES, deadline_ns=9084, has_tails=False
    )
    return by_statistic(found)["above 9.084 us"]


@pytest.mark.slow
def test_a_bucket_that_holds_the_deadline_flatters_no_change_and_blames_none() -> None:
    """A misses 2 % and B nearly all, or the other way round: the buckets show the same."""
    rarely, always = ([5000, *[one] * 1959, *[20_000] * 40] for one in (9080, 9085))
    assert in_a_bucket(rarely, always) == "INCONCLUSIVE"
    assert in_a_bucket(always, rarely) == "INCONCLUSIVE"
    assert in_a_bucket(rarely, [20_000] * 2000) == "INCONCLUSIVE"
    assert in_a_bucket([5000] * 1960 + [20_000] * 40, [20_000] * 2000) == "FAIL"
    assert in_a_bucket([20_000] * 2000, always) == "PASS"


def test_a_deadline_of_a_rate_is_refused() -> None:
    series = msgspec.structs.replace(make.series(spread(2000)), unit="bytes_per_s")
    runs = [(PairedRun(run(series=[series])), PairedRun(run(series=[series])))] * 12
    with pytest.raises(InputError, match="is no time"):
        check_pairs(parse_address("TMR-P-LAT"), runs, SIDES, deadline_ns=5)
