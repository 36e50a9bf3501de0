"""Points for and against a system: every rule both ways, in golden/points.txt; and figures of a
comparison in words."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hardstone.comparison.assemble import compare_view
from hardstone.comparison.points import points_of
from hardstone.comparison.view import (
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
from hardstone.figure_text import amount_text, number_text, ratio_words
from hardstone.model import Unit
from hardstone.stats.two_runs import Difference, QuantileRatio
from hardstone.systems.rating import CategoryRating, Rating
from hardstone.systems.subjects import Amount, published_ids, published_system
from tests.changed_copy import replace
from tests.unit.comparison import compared
from tests.unit.comparison.made_systems import QNX, labelled, run_with, spread
from tests.unit.golden import assert_as_stored
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


def of_stars() -> Iterator[tuple[str, SystemPoints]]:
    for stars in (5.0, 4.5, 4.0, 3.0, 2.5, 0.0, None):
        yield f"{stars} stars", points(column(category(stars)))
    at_most = category(5.0, is_at_most=True)
    yield "stars that are at most", points(column(at_most))
    yield "not calibrated", points(column(category(0.0, is_calibrated=False)))
    yield "the fourth is at most", points(column(*[category(5.0)] * 3, at_most))
    names = ["clock", "threads", "semaphores", "mutexes", "interrupts"]
    many = column(*(category(5.0, category=name) for name in names))
    yield "of many categories the first have their figure", points(many)
    worst = replace(category(5.0).figures[0], amount=Amount("ns", "max", "made up", value=14_855.0))
    for is_published in (True, False):
        one = column(category(5.0, decisive=worst), is_published=is_published)
        yield f"digits of a figure, published {is_published}", points(one)
    lacking = column(rating=rating(why_none="interrupts have no worst case"))
    yield "figures are missing", points(lacking)
    for configuration in ("out of the box", "special attention", "not published", ""):
        for is_published in (True, False):
            one = rating(configuration=configuration)
            name = f"configuration {configuration!r}, published {is_published}"
            yield name, points(column(is_published=is_published, rating=one))


def of_trust() -> Iterator[tuple[str, SystemPoints]]:
    rows, tests = [row(9_000), row(6_000, address="CLK-P-DUR/tick")], [judged("passed")]
    good = category(5.0)
    yield "trusted", points(column(good), rows, tests)
    yield "not trusted", points(column(good, trust="untrustworthy"), rows, tests)
    yield "emulated", points(column(good, mark="(emulated)"), rows, tests)
    for grade in ("full", "indicative", "untrustworthy"):
        reasons = [] if grade == "full" else ["virtual machine"]
        problem = rating(configuration="problematic")
        yield grade, points(column(trust=grade, trust_reasons=reasons, rating=problem))
    low, high = row(9_000, mean=9_000), row(2_000_000, mean=900_000)
    yield "the lower yardstick, emulated", points(column(mark="(emulated)"), [low])
    yield "the upper yardstick, emulated", points(column(mark="(emulated)"), [high])
    yield "the lower yardstick, not trusted", points(column(trust="untrustworthy"), [low])


def of_figures() -> Iterator[tuple[str, SystemPoints]]:
    for worst in (9_999, 10_000, 999_999, 1_000_000, None):
        yield f"worst {worst}", points(rows=[row(worst, mean=worst or 900_000)])
    other = row(2_000_000, mean=900_000, address=SWITCH.format(2))
    yield "yardsticks are for wake-up latency", points(rows=[other])
    alone = row(100, mean=100, address=SWITCH.format(2))
    yield "one row is not called steady", points(rows=[alone])
    for times in (1, 5, 6, 99, 100):
        both = [row(100 * times, mean=100, address=SWITCH.format(n)) for n in (2, 10)]
        yield f"worst over mean {times}", points(rows=both)
    for outcome in ("higher", "lower", "no difference seen", "not decided"):
        yield f"a median: {outcome}", points(rows=[row(50_000, outcome=outcome)])  # type: ignore[arg-type]
    for load in ("heavy", "none"):
        rows = [row(50_000, outcome="higher")]
        rows[0].cells.insert(0, row().cells[0])
        conditions = [
            ConditionRow("load", ["heavy", load], differs=load != "heavy"),
            ConditionRow("machine", ["a", "b"], differs=True),
        ]
        systems = [replace(one, rating=rating()) for one in compared.two_systems().columns]
        found = points_of(systems, rows, [], (10_000, 1_000_000), conditions)
        yield f"a median beside load {load}", found[1]
    judgements: dict[str, list[Look]] = {
        "claims that hold": ["passed", "passed"],
        "a claim that fails": ["passed", "failed"],
        "what does not count": ["uncounted", "passed", "quiet"],
        "many fail": ["failed"] * 5,
        "nothing judged": ["quiet"],
    }
    for name, looks in judgements.items():
        yield name, points(tests=[judged(*looks)])
    yield "nothing", points()


@pytest.mark.slow
def test_points_for_and_against(request: pytest.FixtureRequest) -> None:
    texts = {}
    for name, found in (*of_stars(), *of_trust(), *of_figures()):
        lines = [f"+ {one}" for one in found.positive] + [f"- {one}" for one in found.negative]
        texts[name] = "\n".join(lines) or "no points"
    assert_as_stored(request, "points.txt", texts)


def test_no_point_follows_from_a_figure_that_contradicts_others() -> None:
    wrong = labelled(spread(500), "wakeup", part="total")
    wrong.mean = 1.0
    run = run_with(result("TMR-P-LAT", series=[wrong]))
    for reference in (run_with(result("TMR-P-LAT", series=[])), QNX):
        (_, found) = compare_view([reference, run]).points
        assert not any("TMR-P-LAT/" in one for one in (*found.positive, *found.negative))


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
        text = amount_text(amount, is_exact=True).replace("\N{NO-BREAK SPACE}", "")  # of thousands
        number, _, unit = text.lstrip("<> ").partition(" ")
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
