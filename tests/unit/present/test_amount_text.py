"""Figures of a comparison in words."""

from __future__ import annotations

import pytest

from hardstone.model import Unit
from hardstone.present.amount_text import amount_text, number_text, ratio_words
from hardstone.stats.two_runs import QuantileRatio
from hardstone.subjects import Amount, PublishedSystem, published_ids, published_system


@pytest.mark.parametrize(
    ("unit", "value", "rounded", "exact"),
    [
        ("ns", 43_940.0, "43.9 us", "43.94 us"),
        ("ns", 70_000.0, "70 us", "70 us"),
        ("ns", 1e9, "1 s", "1 s"),
        ("count", 1.55, "1.55", "1.55"),
        ("count", 0.0, "0", "0"),
        ("bytes_per_s", 12.34e6, "12.3 MB/s", "12.34 MB/s"),
    ],
)
def test_a_value_rounded_and_exact(unit: Unit, value: float, rounded: str, exact: str) -> None:
    amount = Amount(unit, "mean", "somewhere", value=value)
    assert amount_text(amount) == rounded
    assert amount_text(amount, is_exact=True) == exact


def test_bounds_have_their_sign() -> None:
    assert amount_text(Amount("ns", "max", "", below=100.0)) == "< 100 ns"
    assert amount_text(Amount("ns", "p99.9", "", above=4.2e9)) == "> 4.20 s"


def systems() -> list[PublishedSystem]:
    return [published_system(one) for one in published_ids()]


_NS_PER = {"s": 1e9, "ms": 1e6, "us": 1e3, "ns": 1, "GB/s": 1e9, "MB/s": 1e6, "kB/s": 1e3, "B/s": 1}


def test_no_published_figure_loses_a_digit() -> None:
    checked = 0
    for held in (held for one in systems() for held in one.held()):
        for statistic in held.statistics():
            amount = held.amount(statistic)
            assert isinstance(amount, Amount)
            number, _, unit = amount_text(amount, is_exact=True).lstrip("<> ").partition(" ")
            known = next(
                one for one in (amount.value, amount.below, amount.above) if one is not None
            )
            assert float(number) * _NS_PER.get(unit, 1) == pytest.approx(known, rel=1e-12)
            assert float(number_text(known)) == known
            checked += 1
    assert checked > 200


TIMES = "\N{MULTIPLICATION SIGN}\N{NO-BREAK SPACE}"


def ratio(**changed: object) -> QuantileRatio:
    fields: dict[str, object] = {
        "q": 0.5,
        "ratio": 1.25,
        "low": 1.2,
        "high": 1.3,
        "margin": 0.1,
        "confidence": 0.98,
        "outcome": "higher",
    }
    return QuantileRatio(**(fields | changed))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "text", "said"),
    [
        (ratio(), f"{TIMES}1.25 (1.20 to 1.30)", "higher"),
        (
            ratio(high=None, outcome="not decided", reason="why"),
            f"{TIMES}1.25 (at least 1.20)",
            "not decided: why",
        ),
        (ratio(low=None), f"{TIMES}1.25 (at most 1.30)", "higher"),
        (ratio(low=None, high=None), f"{TIMES}1.25, unbounded", "higher"),
        (ratio(ratio=None, reason="no values", outcome="not decided"), "-", "no values"),
        (ratio(ratio=23.4, low=20.0, high=0.012), f"{TIMES}23 (20 to 0.012)", "higher"),
    ],
)
def test_a_ratio_has_interval_and_outcome(given: QuantileRatio, text: str, said: str) -> None:
    assert ratio_words(given) == (text, said)
