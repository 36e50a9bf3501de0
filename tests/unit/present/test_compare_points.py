"""Points for and against a system: every rule both ways."""

from __future__ import annotations

from dataclasses import replace

import pytest

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
from hardstone.subjects import Amount
from tests.unit.present import compared
from tests.unit.present.made_systems import QNX, labelled, run_with, spread
from tests.unit.stats.make import result

YARDSTICKS = (10_000, 1_000_000)


def rating(**changed: object) -> Rating:
    fields = {"categories": [], "why_none": "", **changed}
    return replace(compared.made_rating(None), **fields)  # type: ignore[arg-type]


def column(**changed: object) -> SystemColumn:
    (one, _) = compared.two_systems().columns
    return replace(one, **{"rating": rating(), **changed})  # type: ignore[arg-type]


def category(stars: float | None, **changed: object) -> CategoryRating:
    first = compared.made_rating(3.0).categories[0]
    return replace(first, **{"stars": stars, "score": stars, **changed})  # type: ignore[arg-type]


def row(
    worst: float | None = 20_000,
    *,
    address: str = "TMR-P-LAT/total/wakeup",
    mean: float = 5_000,
    outcome: Difference | None = None,
) -> ComparedRow:
    ratio = outcome and QuantileRatio(
        q=0.5, ratio=1.5, low=1.4, high=1.6, margin=0.1, confidence=0.98, outcome=outcome
    )
    cell = ComparedCell(
        mean=Amount("ns", "mean", "made up", value=mean),
        worst=Amount("ns", "max", "made up", value=worst, above=None if worst else 2e6),
        ratio=ratio or None,
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
    (found,) = points_of([one or column()], rows or [], tests or [], YARDSTICKS)
    return found


@pytest.mark.slow
def test_nothing_is_made_of_nothing() -> None:
    assert points() == SystemPoints([], [])


@pytest.mark.parametrize(
    ("stars", "is_good", "is_bad"),
    [
        (5.0, True, False),
        (4.5, True, False),
        (4.0, False, False),
        (3.0, False, False),
        (2.5, False, True),
        (0.0, False, True),
        (None, False, False),
    ],
)
def test_stars_of_a_category(stars: float | None, is_good: bool, is_bad: bool) -> None:
    found = points(column(rating=replace(rating(), categories=[category(stars)])))
    assert (bool(found.positive), bool(found.negative)) == (is_good, is_bad)
    for text in (*found.positive, *found.negative):
        assert text == f"clock {stars:g} of 5: worst 18.4 us (CLK-P-DUR/tick)"


def test_stars_that_are_at_most_say_so_and_uncalibrated_ones_say_nothing() -> None:
    at_most = category(5.0, is_at_most=True)
    (text,) = points(column(rating=replace(rating(), categories=[at_most]))).positive
    assert text.startswith("clock at most 5 of 5")
    loose = category(0.0, is_calibrated=False)
    assert points(column(rating=replace(rating(), categories=[loose]))).negative == []


def test_stars_that_are_at_most_say_so_where_only_named() -> None:
    found = [category(5.0), category(5.0), category(5.0), category(5.0, is_at_most=True)]
    said = points(column(rating=rating(categories=found))).positive[-1]
    assert said == f"also {found[3].category} at most 5 of 5"


def test_nothing_speaks_for_a_run_that_is_not_trustworthy() -> None:
    good = rating(categories=[category(5.0)])
    rows, tests = [row(9_000), row(6_000, address="CLK-P-DUR/tick")], [judged("passed")]
    assert len(points(column(rating=good), rows, tests).positive) == 4
    assert points(column(rating=good, trust="untrustworthy"), rows, tests).positive == []
    emulated = points(column(rating=good, mark="(emulated)"), rows, tests).positive
    assert len(emulated) == 2 and not any("latency" in one or "of 5" in one for one in emulated)


def test_no_point_follows_from_a_figure_that_contradicts_others() -> None:
    wrong = labelled(spread(500), "wakeup", part="total")
    wrong.mean = 1.0
    run = run_with(result("TMR-P-LAT", series=[wrong]))
    for reference in (run_with(result("TMR-P-LAT", series=[])), QNX):
        (_, found) = compare_view([reference, run]).points
        assert not any("TMR-P-LAT/" in one for one in (*found.positive, *found.negative))


def test_of_many_categories_the_first_have_their_figure() -> None:
    names = ["clock", "threads", "semaphores", "mutexes", "interrupts"]
    found = [category(5.0, category=name) for name in names]
    texts = points(column(rating=replace(rating(), categories=found))).positive
    assert texts[3:] == ["also mutexes 5, interrupts 5 of 5"]


def test_a_published_figure_keeps_its_digits_and_a_measured_one_is_rounded() -> None:
    worst = replace(category(5.0).figures[0], amount=Amount("ns", "max", "made up", value=14_855.0))
    rated = replace(rating(), categories=[category(5.0, decisive=worst)])
    assert "14.855 us" in points(column(rating=rated, is_published=True)).positive[0]
    assert "14.9 us" in points(column(rating=rated)).positive[0]


@pytest.mark.parametrize(
    ("worst", "is_below", "reaches"),
    [
        (9_999, True, False),
        (10_000, False, False),
        (999_999, False, False),
        (1_000_000, False, True),
        (None, False, True),
    ],
)
def test_the_yardsticks(worst: float | None, is_below: bool, reaches: bool) -> None:
    found = points(rows=[row(worst, mean=worst or 900_000)])
    assert any("below 10 us" in one for one in found.positive) is is_below
    assert any("reaches 1 ms" in one for one in found.negative) is reaches


def test_times_of_an_emulated_processor_are_held_against_no_yardstick() -> None:
    emulated = column(mark="(emulated)")
    low, high = row(9_000, mean=9_000), row(2_000_000, mean=900_000)
    assert points(emulated, [low]).positive == [] and points(emulated, [high]).negative == []
    assert points(column(trust="untrustworthy"), [low]).positive == []


def test_only_wake_up_latency_has_yardsticks() -> None:
    other = row(2_000_000, mean=900_000, address="THR-P-SLS/2/switch")
    assert points(rows=[other]).negative == []


@pytest.mark.parametrize(
    ("times", "is_steady", "is_spread"),
    [
        (1, True, False),
        (5, True, False),
        (6, False, False),
        (99, False, False),
        (100, False, True),
    ],
)
def test_worst_over_mean(times: int, is_steady: bool, is_spread: bool) -> None:
    rows = [row(100 * times, mean=100, address=f"THR-P-SLS/{n}/switch") for n in (2, 10)]
    found = points(rows=rows)
    assert any("times the mean in the decisive" in one for one in found.positive) is is_steady
    assert any("times the mean: mean 100 ns" in one for one in found.negative) is is_spread


def test_one_figure_alone_is_not_called_steady() -> None:
    assert points(rows=[row(100, mean=100, address="THR-P-SLS/2/switch")]).positive == []


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
    medians = [
        [one for one in side if "median" in one] for side in (found.positive, found.negative)
    ]
    assert tuple(map(len, medians)) == places
    for (text,) in filter(None, medians):
        assert "1.50 (1.40 to 1.60)" in text and "between these two runs" in text


@pytest.mark.parametrize(("load", "is_said"), [("heavy", False), ("none", True)])
def test_another_load_is_said_with_a_median(load: str, is_said: bool) -> None:
    first, second = compared.two_systems().columns
    rows = [row(50_000, outcome="higher")]
    rows[0].cells.insert(0, row().cells[0])
    conditions = [
        ConditionRow("load", ["heavy", load], differs=is_said),
        ConditionRow("machine", ["a", "b"], differs=True),
    ]
    systems = [replace(one, rating=rating()) for one in (first, second)]
    found = points_of(systems, rows, [], YARDSTICKS, conditions)[1].negative
    (text,) = [one for one in found if "median" in one]
    assert ("with another load (" in text) is is_said and "machine" not in text


def test_claims() -> None:
    assert points(tests=[judged("passed", "passed")]).positive == [
        "all 2 claims that were judged and count hold"
    ]
    failing = points(tests=[judged("passed", "failed")])
    assert failing.positive == []
    assert failing.negative == ["THR-B-NEW, claim 1 fails: seen 1"]
    aside = points(tests=[judged("uncounted", "passed", "quiet")])
    assert aside.negative == [] and "all 1 claims" in aside.positive[0]
    assert points(tests=[judged("quiet")]) == SystemPoints([], [])
    assert points(tests=[judged(*["failed"] * 5)]).negative[-1] == "and 3 more claims fail"


@pytest.mark.parametrize(
    ("configuration", "is_published", "expected"),
    [
        ("out of the box", True, (1, 0)),
        ("out of the box", False, (0, 0)),
        ("special attention", True, (0, 1)),
        ("special attention", False, (0, 1)),
        ("not published", True, (0, 0)),
        ("", False, (0, 0)),
    ],
)
def test_configuration(configuration: str, is_published: bool, expected: tuple[int, int]) -> None:
    one = column(is_published=is_published, rating=rating(configuration=configuration))
    found = points(one)
    assert (len(found.positive), len(found.negative)) == expected


@pytest.mark.parametrize("grade", ["full", "indicative", "untrustworthy"])
def test_trust_comes_first(grade: str) -> None:
    reasons = [] if grade == "full" else ["virtual machine"]
    one = column(trust=grade, trust_reasons=reasons, rating=rating(configuration="problematic"))
    found = points(one).negative
    assert found[0] == (
        "configuration: problematic" if grade == "full" else f"{grade}: virtual machine"
    )


def test_a_rating_that_lacks_figures_is_a_point_against() -> None:
    rated = replace(rating(), why_none="interrupts have no worst case")
    assert points(column(rating=rated)).negative == [
        "no overall rating: interrupts have no worst case"
    ]
