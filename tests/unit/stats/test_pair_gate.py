"""The gate of pairs: each outcome, its errors, and what it refuses."""

from __future__ import annotations

from collections.abc import Sequence
from math import log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hardstone.stats.pair_gate import (
    DEFAULT_MARGINS,
    OUTCOMES,
    PairGate,
    gate_pairs,
    least_pairs,
)
from hardstone.stats.sign_flip import p_above, p_below
from hardstone.stats.signed_rank import holm

NOISE = (1.01, 0.98, 1.0, 1.03, 0.97, 1.02, 0.99, 1.01, 1.04, 0.96, 1.0, 0.99)


def pairs(ratio: float, noise: Sequence[float] = NOISE) -> list[tuple[float, float]]:
    return [(1000.0, 1000.0 * ratio * one) for one in noise]


def gate(found: Sequence[tuple[float, float]], name: str = "q50") -> PairGate:
    (one,) = gate_pairs({name: found}, DEFAULT_MARGINS)
    return one


@pytest.mark.parametrize(
    ("ratio", "outcome"),
    [(1.0, "PASS"), (0.5, "PASS"), (1.2, "FAIL"), (1.1, "INCONCLUSIVE"), (1.08, "INCONCLUSIVE")],
)
def test_the_three_outcomes(ratio: float, outcome: str) -> None:
    found = gate(pairs(ratio))
    assert found.outcome == outcome
    assert found.ratio == pytest.approx(ratio, rel=1e-3)
    assert found.low is not None and found.high is not None
    assert found.low <= ratio <= found.high
    assert found.reason == OUTCOMES[outcome]
    assert found.confidence == 0.99


def test_the_margin_decides() -> None:
    for margin, outcome in ((0.5, "PASS"), (0.2, "INCONCLUSIVE"), (0.05, "FAIL")):
        (found,) = gate_pairs({"x": pairs(1.2)}, {"x": margin})
        assert found.outcome == outcome


def test_p_is_that_of_the_test_after_holm() -> None:
    values = {"q50": pairs(1.05), "q99": pairs(1.3), "q99.9": pairs(1.6)}
    d = {name: np.log([b / a for a, b in one]) for name, one in values.items()}
    raw = []
    for name, one in d.items():
        terms = one - log(1 + DEFAULT_MARGINS[name])
        raw += [p_below(terms), p_above(terms)]
    found = gate_pairs(values, DEFAULT_MARGINS)
    assert [p for one in found for p in (one.p_within, one.p_beyond)] == pytest.approx(holm(raw))


@pytest.mark.slow
@settings(max_examples=50)
@given(st.lists(st.floats(0.5, 2.0), min_size=10, max_size=14), st.sampled_from([0.05, 0.3]))
def test_outcome_and_interval_agree(noise: list[float], margin: float) -> None:
    (found,) = gate_pairs({"q50": pairs(1.1, noise)}, {"q50": margin})
    assert found.low is not None and found.high is not None and found.ratio is not None
    assert found.low <= found.ratio * (1 + 1e-9) and found.ratio <= found.high * (1 + 1e-9)
    if found.high < (1 + margin) * (1 - 1e-9):
        assert found.outcome == "PASS"
    if found.low > (1 + margin) * (1 + 1e-9):
        assert found.outcome == "FAIL"
    assert (found.p_within <= 0.01) == (found.outcome == "PASS")
    assert (found.p_beyond <= 0.01) == (found.outcome == "FAIL")


@pytest.mark.slow
@settings(max_examples=30)
@given(st.lists(st.floats(0.5, 2.0), min_size=10, max_size=12), st.floats(0.01, 100))
def test_the_unit_does_not_matter(noise: list[float], scale: float) -> None:
    one = gate(pairs(1.1, noise))
    other = gate([(a * scale, b * scale) for a, b in pairs(1.1, noise)])
    assert one.outcome == other.outcome
    assert other.ratio == pytest.approx(one.ratio)


def test_one_wild_pair_of_twelve_does_not_pass_or_fail_alone() -> None:
    assert gate([*pairs(1.0)[:11], (1000.0, 9000.0)]).outcome == "INCONCLUSIVE"
    assert gate([*pairs(1.2)[:11], (1000.0, 10.0)]).outcome == "INCONCLUSIVE"


def test_ten_pairs_are_the_least() -> None:
    assert gate(pairs(1.0)[:10]).outcome == "PASS"
    few = gate(pairs(1.0)[:9])
    assert (few.outcome, few.p_within, few.ratio) == ("INCONCLUSIVE", 1.0, None)
    assert few.reason == "9 pairs: at least 10 are needed"


def test_more_statistics_take_more_pairs_and_it_says_so() -> None:
    names = [f"q{n}" for n in range(6)]
    margins = dict.fromkeys(names, 0.1)
    few = gate_pairs({name: pairs(1.0)[:10] for name in names}, margins)
    assert {one.outcome for one in few} == {"INCONCLUSIVE"}
    assert few[0].reason == "10 pairs cannot decide 6 statistics at 0.01: 11 could"
    enough = gate_pairs({name: pairs(1.0)[:11] for name in names}, margins)
    assert {one.outcome for one in enough} == {"PASS"}
    assert (least_pairs(6), least_pairs(1), least_pairs(100)) == (11, 10, 15)


@pytest.mark.parametrize("value", [0.0, -5.0, float("nan"), float("inf")])
def test_a_value_without_a_ratio_is_never_a_pass(value: float) -> None:
    for found in (gate([*pairs(1.0), (value, 900.0)]), gate([*pairs(1.0), (900.0, value)])):
        assert found.outcome == "INCONCLUSIVE"
        assert found.reason.startswith("pair 13: ") and found.reason.endswith("no ratio")


def test_the_others_are_judged_beside_one_that_cannot_be() -> None:
    bad, good = gate_pairs({"q99": [(0.0, 1.0)] * 12, "q50": pairs(1.0)}, DEFAULT_MARGINS)
    assert (bad.outcome, good.outcome) == ("INCONCLUSIVE", "PASS")


def test_counts_of_nothing_decide_nothing() -> None:
    never = gate([(0.0, 0.0)] * 12, "above")
    assert (never.outcome, never.ratio) == ("INCONCLUSIVE", None)
    assert never.reason == "no event in any run: what was not seen cannot be compared"
    rare = gate([(0.0, 0.0)] * 9 + [(3.0, 0.0)] * 3, "above")
    assert rare.outcome == "INCONCLUSIVE"
    assert rare.reason == "3 pairs with an event cannot decide 1 statistics at 0.01: 8 could"


def test_counts_with_zeros_on_one_side_are_judged() -> None:
    gone = gate([(float(n), 0.0) for n in range(5, 17)], "above")
    assert (gone.outcome, gone.ratio, gone.low) == ("PASS", 0.0, None)
    new = gate([(0.0, float(n)) for n in range(5, 17)], "above")
    assert (new.outcome, new.ratio, new.high) == ("FAIL", None, None)


def test_counts_are_named_by_the_caller() -> None:
    values = {"misses": [(float(n % 2), float(n)) for n in range(5, 17)]}
    (as_ratio,) = gate_pairs(values, {"misses": 0.5})
    (as_count,) = gate_pairs(values, {"misses": 0.5}, counts={"misses"})
    assert (as_ratio.outcome, as_count.outcome) == ("INCONCLUSIVE", "FAIL")


@pytest.mark.slow
@pytest.mark.parametrize("mean", [0.2, 1.0, 5.0, 60.0])
@pytest.mark.parametrize("is_bursty", [False, True])
def test_counts_at_the_margin_are_seldom_decided(mean: float, is_bursty: bool) -> None:
    """The true ratio is just the margin: PASS and FAIL are both wrong. At most 1 % each is
    promised, for terms that are symmetric; those of rare events are not."""
    draw = np.random.default_rng(5)
    wrong = {"PASS": 0, "FAIL": 0, "INCONCLUSIVE": 0}
    for _ in range(200):
        spread = draw.gamma(2, 0.5, (2, 12)) if is_bursty else np.ones((2, 12))
        a, b = draw.poisson(mean * spread[0]), draw.poisson(1.5 * mean * spread[1])
        wrong[gate(list(zip(a.astype(float), b.astype(float), strict=True)), "above").outcome] += 1
    assert max(wrong["PASS"], wrong["FAIL"]) <= 6


@pytest.mark.slow
def test_errors_at_the_margin_are_as_rare_as_alpha() -> None:
    draw = np.random.default_rng(3)
    wrong = 0
    for _ in range(200):
        found = gate_pairs(
            {name: pairs(1 + m, np.exp(draw.normal(0, 0.1, 12))) for name, m in MARGINS.items()},
            MARGINS,
        )
        wrong += any(one.outcome != "INCONCLUSIVE" for one in found)
    assert wrong / 200 <= 0.01 + 3 * (0.01 * 0.99 / 200) ** 0.5


MARGINS = {"q50": 0.10, "q99": 0.25, "q99.9": 0.50}


@pytest.mark.parametrize(
    ("values", "margins", "problem"),
    [
        ({"q50": pairs(1.0)}, {}, "margin above 0"),
        ({"q50": pairs(1.0)}, {"q50": 0.0}, "margin above 0"),
        ({"q50": pairs(1.0)}, {"q50": float("nan")}, "margin above 0"),
        ({"TMR-P-LAT wakeup max": pairs(1.0)}, {"TMR-P-LAT wakeup max": 0.1}, "against a deadline"),
        ({"q50": pairs(1.0) * 3}, {"q50": 0.1}, "at most 30"),
    ],
)
def test_wrong_questions_are_refused(
    values: dict[str, list[tuple[float, float]]], margins: dict[str, float], problem: str
) -> None:
    with pytest.raises(ValueError, match=problem):
        gate_pairs(values, margins)


@pytest.mark.parametrize("alpha", [0.0, 0.5, float("nan")])
def test_a_level_that_is_none_is_refused(alpha: float) -> None:
    with pytest.raises(ValueError, match="alpha"):
        gate_pairs({"q50": pairs(1.0)}, DEFAULT_MARGINS, alpha=alpha)


def test_nothing_asked_is_nothing_said() -> None:
    assert gate_pairs({}, {}) == []


def test_the_interval_holds_for_all_statistics_together() -> None:
    """Twice as many statistics, half the error of each: that of one more bit of pairs."""
    some = [(1.0, 1.0 + 0.01 * number) for number in range(1, 17)]
    alone = gate_pairs({"q50": some}, {"q50": 0.1})[0]
    both = gate_pairs({"q50": some, "q99": some}, {"q50": 0.1, "q99": 0.25})[0]
    assert alone.low and alone.high and both.low and both.high
    assert both.low < alone.low < alone.high < both.high
