"""Points for and against a system: every rule both ways; and figures of a comparison in words."""

from __future__ import annotations

import pytest

from hardstone.model import Unit
from hardstone.present.amount_text import amount_text, number_text, ratio_words
from hardstone.present.compare_build import compare_view
from hardstone.present.compare_points import points_of
from hardstone.present.compare_view import (
    ClaimCell,
    ClaimRow,
    ComparedCell,
    ComparedRow,
    ComparedTest,
    ConditionRow,
    Look,
    SystemColumn,
    SystemPoints,
)
from hardstone.rating import CategoryRating, Rating
from hardstone.stats.two_runs import Difference, QuantileRatio
from hardstone.subjects import Amount, published_ids, published_system
from tests.changed_copy import replace
from tests.unit.present import compared
from tests.unit.present.made_systems import QNX, labelled, run_with, spread
from tests.unit.stats.make import result

SWITCH = "THR-P-SLS/{}/switch"


def rating(*found: CategoryRating, **changed: object) -> Rating:
    fields = {"categories": list(found), "why_none": "", **changed}
    return replace(compared.made_rating(None), **fields)


def column(*found: CategoryRating, **changed: object) -> SystemColumn:
    one = compared.two_systems().columns[0]
    return replace(one, **{"rating": rating(*found), **changed})


def category(stars: float | None, **changed: object) -> CategoryRating:
    first = compared.made_rating(3.0).categories[0]
    return replace(first, **{"stars": stars, "score": stars, **changed})


def ratio(outcome: Difference = "higher", **changed: object) -> QuantileRatio:
    usual = QuantileRatio(
        q=0.5, ratio=1.25, low=1.2, high=1.3, margin=0.1, confidence=0.98, outcome=outcome
    )
    return replace(usual, **changed)


def row(
    worst: float | None = 20_000,
    *,
    address: str = "TMR-P-LAT/total/wakeup",
    mean: float = 5_000,
    outcome: Difference | None = None,
) -> ComparedRow:
    cell = ComparedCell(
        mean=Amount("ns", "mean", "made up", value=mean),
        worst=Amount("ns", "max", "made up", value=worst, above=None if worst else 2e6),
        ratio=ratio(outcome) if outcome else None,
        predictability=worst / mean if worst else None,
    )
    return ComparedRow(address, address, "ns", [cell])


def judged(*looks: Look) -> ComparedTest:
    claims = [
        ClaimRow(f"claim {number}", "", [ClaimCell("holds", look, f"seen {number}")])
        for number, look in enumerate(looks)
    ]
    return ComparedTest("THR-B-NEW", "", "", "threads", [], [], claims, [])


def points(
    one: SystemColumn | None = None,
    rows: list[ComparedRow] | None = None,
    tests: list[ComparedTest] | None = None,
) -> SystemPoints:
    (found,) = points_of([one or column()], rows or [], tests or [], (10_000, 1_000_000))
    return found


def counts(found: SystemPoints) -> tuple[int, int]:
    return len(found.positive), len(found.negative)


@pytest.mark.slow
def test_nothing_is_made_of_nothing() -> None:
    assert points() == points(tests=[judged("quiet")]) == SystemPoints([], [])


# Stars


@pytest.mark.parametrize(
    ("stars", "expected"),
    [
        *((5.0, (1, 0)), (4.5, (1, 0)), (4.0, (0, 0)), (3.0, (0, 0))),
        *((2.5, (0, 1)), (0.0, (0, 1)), (None, (0, 0))),
    ],
)
def test_stars_of_a_category(stars: float | None, expected: tuple[int, int]) -> None:
    found = points(column(category(stars)))
    assert counts(found) == expected
    for text in (*found.positive, *found.negative):
        assert text == f"clock {stars:g} of 5: worst 18.4 us (CLK-P-DUR/tick)"


def test_stars_that_are_at_most_say_so_and_uncalibrated_ones_say_nothing() -> None:
    at_most = category(5.0, is_at_most=True)
    assert points(column(at_most)).positive[0].startswith("clock at most 5 of 5")
    assert points(column(category(0.0, is_calibrated=False))).negative == []
    named = points(column(*[category(5.0)] * 3, at_most)).positive[-1]
    assert named == "also clock at most 5 of 5"


def test_of_many_categories_the_first_have_their_figure() -> None:
    names = ["clock", "threads", "semaphores", "mutexes", "interrupts"]
    texts = points(column(*(category(5.0, category=name) for name in names))).positive
    assert texts[3:] == ["also mutexes 5, interrupts 5 of 5"]
    # a published figure keeps its digits, and a measured one is rounded
    worst = replace(category(5.0).figures[0], amount=Amount("ns", "max", "made up", value=14_855.0))
    for is_published, text in ((True, "14.855 us"), (False, "14.9 us")):
        found = points(column(category(5.0, decisive=worst), is_published=is_published))
        assert text in found.positive[0]


# Trust


def test_nothing_speaks_for_a_run_that_is_not_trustworthy() -> None:
    rows, tests = [row(9_000), row(6_000, address="CLK-P-DUR/tick")], [judged("passed")]
    good = category(5.0)
    assert len(points(column(good), rows, tests).positive) == 4
    assert points(column(good, trust="untrustworthy"), rows, tests).positive == []
    emulated = points(column(good, mark="(emulated)"), rows, tests).positive
    assert len(emulated) == 2 and not any("latency" in one or "of 5" in one for one in emulated)


def test_no_point_follows_from_a_figure_that_contradicts_others() -> None:
    wrong = labelled(spread(500), "wakeup", part="total")
    wrong.mean = 1.0
    run = run_with(result("TMR-P-LAT", series=[wrong]))
    for reference in (run_with(result("TMR-P-LAT", series=[])), QNX):
        (_, found) = compare_view([reference, run]).points
        assert not any("TMR-P-LAT/" in one for one in (*found.positive, *found.negative))


@pytest.mark.parametrize("grade", ["full", "indicative", "untrustworthy"])
def test_trust_comes_first(grade: str) -> None:
    reasons = [] if grade == "full" else ["virtual machine"]
    problem = rating(configuration="problematic")
    found = points(column(trust=grade, trust_reasons=reasons, rating=problem)).negative
    first = "configuration: problematic" if grade == "full" else f"{grade}: virtual machine"
    assert found[0] == first


# Figures


@pytest.mark.parametrize(
    ("worst", "is_below", "reaches"),
    [
        *((9_999, True, False), (10_000, False, False), (999_999, False, False)),
        *((1_000_000, False, True), (None, False, True)),
    ],
)
def test_the_yardsticks(worst: float | None, is_below: bool, reaches: bool) -> None:
    found = points(rows=[row(worst, mean=worst or 900_000)])
    assert any("below 10 us" in one for one in found.positive) is is_below
    assert any("reaches 1 ms" in one for one in found.negative) is reaches


def test_yardsticks_are_for_wake_up_latency_of_trusted_hardware() -> None:
    emulated = column(mark="(emulated)")
    low, high = row(9_000, mean=9_000), row(2_000_000, mean=900_000)
    assert points(emulated, [low]).positive == [] and points(emulated, [high]).negative == []
    assert points(column(trust="untrustworthy"), [low]).positive == []
    other = row(2_000_000, mean=900_000, address=SWITCH.format(2))
    assert points(rows=[other]).negative == []
    one = row(100, mean=100, address=SWITCH.format(2))  # alone it is not called steady
    assert points(rows=[one]).positive == []


@pytest.mark.parametrize(
    ("times", "is_steady", "is_spread"),
    [
        *((1, True, False), (5, True, False), (6, False, False)),
        *((99, False, False), (100, False, True)),
    ],
)
def test_worst_over_mean(times: int, is_steady: bool, is_spread: bool) -> None:
    found = points(rows=[row(100 * times, mean=100, address=SWITCH.format(n)) for n in (2, 10)])
    assert any("times the mean in the decisive" in one for one in found.positive) is is_steady
    assert any("times the mean: mean 100 ns" in one for one in found.negative) is is_spread


@pytest.mark.parametrize(
    ("outcome", "places"),
    [
        ("higher", (0, 1)),
        ("lower", (1, 0)),
        ("no difference seen", (0, 0)),
        ("not decided", (0, 0)),
    ],
)
def test_medians_beside_the_reference(outcome: Difference, places: tuple[int, int]) -> None:
    found = points(rows=[row(50_000, outcome=outcome)])
    sides = (found.positive, found.negative)
    medians = [[one for one in side if "median" in one] for side in sides]
    assert tuple(map(len, medians)) == places
    for (text,) in filter(None, medians):
        assert "1.25 (1.20 to 1.30)" in text and "between these two runs" in text


@pytest.mark.parametrize(("load", "is_said"), [("heavy", False), ("none", True)])
def test_another_load_is_said_with_a_median(load: str, is_said: bool) -> None:
    rows = [row(50_000, outcome="higher")]
    rows[0].cells.insert(0, row().cells[0])
    conditions = [
        ConditionRow("load", ["heavy", load], differs=is_said),
        ConditionRow("machine", ["a", "b"], differs=True),
    ]
    systems = [replace(one, rating=rating()) for one in compared.two_systems().columns]
    found = points_of(systems, rows, [], (10_000, 1_000_000), conditions)[1].negative
    (text,) = [one for one in found if "median" in one]
    assert ("with another load (" in text) is is_said and "machine" not in text


# Claims and configuration


def test_claims() -> None:
    held = points(tests=[judged("passed", "passed")])
    assert held.positive == ["all 2 claims that were judged and count hold"]
    failing = points(tests=[judged("passed", "failed")])
    assert failing == SystemPoints([], ["THR-B-NEW, claim 1 fails: seen 1"])
    aside = points(tests=[judged("uncounted", "passed", "quiet")])
    assert aside.negative == [] and "all 1 claims" in aside.positive[0]
    assert points(tests=[judged(*["failed"] * 5)]).negative[-1] == "and 3 more claims fail"


@pytest.mark.parametrize(
    ("configuration", "is_published", "expected"),
    [
        *(("out of the box", True, (1, 0)), ("out of the box", False, (0, 0))),
        *(("special attention", True, (0, 1)), ("special attention", False, (0, 1))),
        *(("not published", True, (0, 0)), ("", False, (0, 0))),
    ],
)
def test_configuration(configuration: str, is_published: bool, expected: tuple[int, int]) -> None:
    one = column(is_published=is_published, rating=rating(configuration=configuration))
    assert counts(points(one)) == expected


def test_a_rating_that_lacks_figures_is_a_point_against() -> None:
    found = points(column(rating=rating(why_none="interrupts have no worst case"))).negative
    assert found == ["no overall rating: interrupts have no worst case"]


# Figures in words


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


def test_no_published_figure_loses_a_digit() -> None:
    factors = {"s": 1e9, "ms": 1e6, "us": 1e3, "ns": 1, "GB/s": 1e9, "MB/s": 1e6, "kB/s": 1e3}
    held = [one for key in published_ids() for one in published_system(key).held()]
    amounts = [one.amount(statistic) for one in held for statistic in one.statistics()]
    for amount in amounts:
        assert isinstance(amount, Amount)
        number, _, unit = amount_text(amount, is_exact=True).lstrip("<> ").partition(" ")
        known = next(one for one in (amount.value, amount.below, amount.above) if one is not None)
        assert float(number) * factors.get(unit, 1) == pytest.approx(known, rel=1e-12)
        assert float(number_text(known)) == known
    assert len(amounts) > 200
    assert amount_text(Amount("ns", "max", "", below=100.0)) == "< 100 ns"
    assert amount_text(Amount("ns", "p99.9", "", above=4.2e9)) == "> 4.20 s"


TIMES = "\N{MULTIPLICATION SIGN}\N{NO-BREAK SPACE}"


@pytest.mark.parametrize(
    ("given", "text", "said"),
    [
        (ratio(), f"{TIMES}1.25 (1.20 to 1.30)", "higher"),
        (
            ratio("not decided", high=None, reason="why"),
            f"{TIMES}1.25 (at least 1.20)",
            "not decided: why",
        ),
        (ratio(low=None), f"{TIMES}1.25 (at most 1.30)", "higher"),
        (ratio(low=None, high=None), f"{TIMES}1.25, unbounded", "higher"),
        (ratio("not decided", ratio=None, reason="no values"), "-", "no values"),
        (ratio(ratio=23.4, low=20.0, high=0.012), f"{TIMES}23 (20 to 0.012)", "higher"),
    ],
)
def test_a_ratio_has_interval_and_outcome(given: QuantileRatio, text: str, said: str) -> None:
    assert ratio_words(given) == (text, said)
