"""The signed-rank test against scipy and against every choice of signs."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from hardstone.stats.signed_rank import hodges_lehmann, holm, signed_rank_p

DIFFERENCES = st.lists(st.integers(-6, 6), min_size=1, max_size=9)


def by_hand(differences: Sequence[int]) -> float:
    """Pratt's test by trying every choice of signs."""
    ranks = stats.rankdata(np.abs(differences))[np.array(differences) != 0]
    used = [one for one in differences if one]
    if not used:
        return 1.0
    seen = abs(sum(r if one > 0 else -r for r, one in zip(ranks, used, strict=True)))
    sums = [abs(np.dot(s, ranks)) for s in itertools.product((-1, 1), repeat=len(used))]
    return sum(one >= seen - 1e-9 for one in sums) / len(sums)


@pytest.mark.slow
@given(DIFFERENCES)
def test_ties_and_zeros_as_by_hand(differences: list[int]) -> None:
    assert signed_rank_p(differences) == pytest.approx(by_hand(differences), rel=1e-12)


@pytest.mark.slow
@given(st.sets(st.integers(1, 500), min_size=2, max_size=25))
def test_without_ties_as_scipy_has_it(sizes: set[int]) -> None:
    signs = np.random.default_rng(sum(sizes)).choice((-1, 1), len(sizes))
    differences = [int(a * b) for a, b in zip(sorted(sizes), signs, strict=True)]
    wanted = stats.wilcoxon(differences, method="exact").pvalue
    assert signed_rank_p(differences) == pytest.approx(wanted, rel=1e-12)


def test_all_of_one_sign_gives_the_smallest_p() -> None:
    for count in range(1, 12):
        assert signed_rank_p(list(range(1, count + 1))) == min(1.0, 2 / 2**count)
    assert signed_rank_p([0, 0, 0]) == 1.0


@pytest.mark.slow
@settings(max_examples=60)
@given(st.lists(st.integers(-50, 50), min_size=1, max_size=12, unique=True))
def test_the_interval_holds_what_the_test_does_not_refuse(differences: list[int]) -> None:
    shift = hodges_lehmann(differences, 0.9)
    walsh = [(a + b) / 2 for a, b in itertools.combinations_with_replacement(differences, 2)]
    assert shift.estimate == np.median(walsh)
    if shift.low is None or shift.high is None:
        assert 2 / 2 ** len(differences) > 0.1
        return
    assert shift.confidence is not None
    assert shift.confidence >= 0.9
    assert signed_rank_p([one - (shift.low - 0.01) for one in differences]) <= 0.1 + 1e-12
    assert signed_rank_p([one - (shift.high + 0.01) for one in differences]) <= 0.1 + 1e-12
    inside = shift.low + 0.37 * (shift.high - shift.low) + 1e-6
    if shift.low < inside < shift.high:
        assert signed_rank_p([one - inside for one in differences]) > 1 - shift.confidence - 1e-12


@pytest.mark.parametrize(
    ("count", "confidence", "outside"),
    [
        # where the tails are exactly what may be outside, that is not too much
        (3, 0.75, 1),
        (5, 0.9375, 1),
        (5, 0.875, 2),
        (5, 0.9376, 0),
        (2, 0.5, 1),
        (8, 0.95, 4),
    ],
)
def test_the_interval_is_as_narrow_as_its_confidence_allows(
    count: int, confidence: float, outside: int
) -> None:
    values = [10.0**n for n in range(count)]
    means = sorted((a + b) / 2 for a, b in itertools.combinations_with_replacement(values, 2))
    shift = hodges_lehmann(values, confidence)
    assert (shift.low, shift.high) == (
        (means[outside - 1], means[-outside]) if outside else (None, None)
    )
    if outside:
        assert shift.confidence is not None and shift.confidence >= confidence


def test_the_interval_covers_as_often_as_it_says() -> None:
    draw = np.random.default_rng(7)
    hits = 0
    for _ in range(600):
        shift = hodges_lehmann(list(draw.standard_t(3, 10) + 5.0), 0.95)
        hits += shift.low is not None and shift.high is not None and shift.low <= 5 <= shift.high
    assert 0.93 <= hits / 600 <= 0.985


@pytest.mark.slow
def test_false_alarms_are_as_rare_as_asked() -> None:
    draw = np.random.default_rng(11)
    alarms = sum(signed_rank_p(list(draw.normal(size=8))) <= 0.05 for _ in range(1000))
    assert alarms <= 65


def test_holm() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.9]) == [1.0, 1.0]
    assert holm([]) == []


@pytest.mark.parametrize(("differences", "confidence"), [([], 0.9), ([1.0], 0.0), ([1.0], 1.0)])
def test_no_estimate_of_nothing(differences: list[float], confidence: float) -> None:
    with pytest.raises(ValueError, match="needs a difference"):
        hodges_lehmann(differences, confidence)
