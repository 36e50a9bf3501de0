"""The target's clock beside that of the machine that the toolkit runs on."""

from __future__ import annotations

import pytest

from hardstone.model import ClockCheck
from hardstone.stats.clock_check import clocks_apart, clocks_not_held
from hardstone.stats.trust import grade_run
from tests.unit.stats import make

MINUTE_NS = 60_000_000_000
MOST = 2**63 - 1


def check(ratio: float, uncertainty_ns: int = 0, host_ns: int = MINUTE_NS) -> ClockCheck:
    target_ns = round(host_ns * ratio)
    return ClockCheck(host_ns=host_ns, target_ns=target_ns, uncertainty_ns=uncertainty_ns)


@pytest.mark.parametrize("ratio", [1.0, 1.009, 0.991, 1.01, 0.99])
def test_clocks_within_one_percent_agree(ratio: float) -> None:
    one = check(ratio, 1_000_000)
    assert (clocks_apart(one), clocks_not_held(one)) == (None, None)


@pytest.mark.parametrize(
    ("ratio", "said"),
    [
        (1.011, "ran 1.011 times as fast"),
        (0.989, "ran 0.989 times as fast"),
        (10.15, "ran 10.15 times as fast as this machine's"),
        (0.1, "ran 0.1 times as fast"),
        (1e-6, "ran less than 0.001 times as fast"),
        (12_345_678.0, "ran 12\N{NO-BREAK SPACE}345\N{NO-BREAK SPACE}678 times as fast"),
        (0, "the target's clock stood still"),
        (-1, "the target's clock went back"),
    ],
)
def test_clocks_apart_are_told_in_figures(ratio: float, said: str) -> None:
    assert said in (clocks_apart(check(ratio)) or "")
    assert clocks_not_held(check(ratio)) is None


def test_the_uncertainty_counts_for_the_target() -> None:
    apart_ns = MINUTE_NS // 100 + 5
    one = ClockCheck(host_ns=MINUTE_NS, target_ns=MINUTE_NS + apart_ns, uncertainty_ns=4)
    assert clocks_apart(one)
    one = ClockCheck(host_ns=MINUTE_NS, target_ns=MINUTE_NS + apart_ns, uncertainty_ns=5)
    assert clocks_apart(one) is None


@pytest.mark.parametrize(
    ("one", "said"),
    [
        (check(1.0, 700_000_000), "uncertain by 700 ms in 60 s"),
        (check(1.0, 0, host_ns=0), "uncertain by 0 ns in 0 ns"),
        (check(1.0, 5_000, host_ns=0), "uncertain by 5 us in 0 ns"),
        (check(10, 0, host_ns=-7), "in 0 ns"),
    ],
)
def test_a_span_that_proves_nothing(one: ClockCheck, said: str) -> None:
    assert clocks_apart(one) is None
    assert said in (clocks_not_held(one) or "")


def test_clocks_far_apart_are_seen_in_spite_of_a_long_round_trip() -> None:
    one = check(10, 2_000_000_000)
    assert "10 times" in (clocks_apart(one) or "")
    assert clocks_not_held(one) is None


@pytest.mark.parametrize("host_ns", [-MOST, 0, 1, MOST])
@pytest.mark.parametrize("target_ns", [-MOST, 0, 1, MOST])
@pytest.mark.parametrize("uncertainty_ns", [-MOST, 0, 1, MOST])
def test_no_figure_is_too_large(host_ns: int, target_ns: int, uncertainty_ns: int) -> None:
    one = ClockCheck(host_ns=host_ns, target_ns=target_ns, uncertainty_ns=uncertainty_ns)
    reasons = [clocks_apart(one), clocks_not_held(one)]
    assert None in reasons
    assert all(len(text) < 150 for text in reasons if text is not None)


@pytest.mark.parametrize(
    ("one", "grade", "words"),
    [
        (check(1.0), "full", ""),
        (None, "full", ""),
        (check(1.02), "untrustworthy", "1.02 times as fast"),
        (check(1.0, MINUTE_NS), "indicative", "could not be held against"),
    ],
)
def test_the_grade_of_a_run(one: ClockCheck | None, grade: str, words: str) -> None:
    trust = grade_run(make.document(clock_check=one))
    assert trust.grade == grade
    assert words in "; ".join(trust.reasons)
