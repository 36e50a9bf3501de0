"""Every test of a comparison in detail, as its part of the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hardstone.compare.view import ComparedTest, CompareView
from hardstone.report.compare_alike import GroupedClaim, claim_groups, grouped
from hardstone.report.compare_lines import MEASURED, SeriesGroup, groups_of
from hardstone.report.figures import Figure

MOST_LINES_OPEN = 40
MOST_ALONE_OPEN = 12
MOST_CLAIMS_OPEN = 4


@dataclass(frozen=True)
class SeriesParts:
    """The series of a test: those of several systems and those that one alone has, each with a
    part that is folded."""

    several: list[SeriesGroup]
    several_folded: list[SeriesGroup]
    alone: list[SeriesGroup]
    alone_folded: list[SeriesGroup]


@dataclass(frozen=True)
class TestPart:
    """One test in detail. `states`: what became of it, with the systems; [] if all measured it.
    `claims_folded` hold everywhere."""

    anchor: str
    test: str
    title: str
    about: str
    category: str
    moments: list[tuple[str, str]]
    states: list[tuple[str, str]]
    series: SeriesParts
    claims: list[GroupedClaim]
    claims_folded: list[GroupedClaim]
    figures: Sequence[Figure]
    published: list[str]
    notes: list[str]


def test_parts(view: CompareView, figures: Mapping[str, Sequence[Figure]]) -> list[TestPart]:
    """The parts of all tests; `figures` has the charts of each test."""
    return [
        _part(one, f"test-{number}", view, figures.get(one.test, []))
        for number, one in enumerate(view.tests, 1)
    ]


def _part(one: ComparedTest, anchor: str, view: CompareView, figures: Sequence[Figure]) -> TestPart:
    claims = [claim_groups(row, view.columns, one.states) for row in one.claims]
    is_short = len(claims) <= MOST_CLAIMS_OPEN
    is_plain = set(one.states) <= {MEASURED}
    return TestPart(
        anchor=anchor,
        test=one.test,
        title=one.title,
        about=one.about,
        category=one.category,
        moments=one.moments,
        states=[] if is_plain else grouped(one.states, view.columns),
        series=parted(groups_of(one, view)),
        claims=claims if is_short else [claim for claim in claims if not claim.is_dull],
        claims_folded=[] if is_short else [claim for claim in claims if claim.is_dull],
        figures=figures,
        published=one.published,
        notes=one.notes,
    )


def parted(groups: Sequence[SeriesGroup]) -> SeriesParts:
    """What is open and what is folded. What one system alone has is open if no other is there."""
    several = [one for one in groups if len(one.lines) > 1 or one.absent]
    alone = [one for one in groups if len(one.lines) == 1 and not one.absent]
    lines, shown = 0, 0
    for one in several:
        lines += len(one.lines) + len(one.absent) + 1
        if shown and lines > MOST_LINES_OPEN:
            break
        shown += 1
    open_alone = 0 if several else MOST_ALONE_OPEN
    return SeriesParts(several[:shown], several[shown:], alone[:open_alone], alone[open_alone:])


def by_category(tests: Sequence[TestPart]) -> list[tuple[str, list[TestPart]]]:
    """The tests of each category, in their order."""
    found: dict[str, list[TestPart]] = {}
    for one in tests:
        found.setdefault(one.category, []).append(one)
    return list(found.items())
