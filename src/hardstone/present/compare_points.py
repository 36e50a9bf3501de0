"""What speaks for a system and what against it: each point follows from a result by a rule."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hardstone.present.amount_text import amount_text, ratio_words
from hardstone.present.compare_detail import judged_claims
from hardstone.present.compare_grey import why_alone_grey
from hardstone.present.compare_view import (
    ComparedCell,
    ComparedRow,
    ComparedTest,
    ConditionRow,
    SystemColumn,
    SystemPoints,
)
from hardstone.present.stars_text import category_number, certain_stars
from hardstone.present.wording import ratio_text, shorten
from hardstone.systems.rating import CategoryRating
from hardstone.systems.subjects import Amount
from hardstone.units import format_ns

Cells = Sequence[tuple[ComparedRow, ComparedCell]]
MOST_POINTS = 8
GOOD_STARS, BAD_STARS = 4.5, 2.5
STEADY, SPREAD = 5.0, 100.0  # worst over mean
OUT_OF_THE_BOX = "out of the box"
NOT_PUBLISHED = "not published"
_MOST_OF_A_KIND = 2
_MOST_CATEGORIES = 3
_EVIDENCE_CHARACTERS = 120
_ADDRESS_CHARACTERS = 80
# Conditions of a measurement: with another one a median says nothing about the system alone.
_ALIKE = ("load", "CPU configuration", "policy", "priority", "clock")
RULES = (
    f"Positive: a calibrated category of {GOOD_STARS:g} stars or more; all claims that were judged "
    f"and count hold; the worst of every decisive duration is at most {STEADY:g} times its mean; "
    "the wake-up latency stays below the lower yardstick; a decisive median is lower than that of "
    "the reference; no configuration was needed. Negative: a claim that counts fails; a calibrated "
    f"category of {BAD_STARS:g} stars or fewer; a worst of {SPREAD:g} times its mean or more; the "
    "wake-up latency reaches the upper yardstick; a decisive median is higher than that of the "
    "reference; the configuration takes attention; a run is not fully trustworthy; the rating "
    "lacks figures. Nothing speaks for a run that is not trustworthy."
)


def points_of(
    columns: Sequence[SystemColumn],
    decisive: Sequence[ComparedRow],
    tests: Sequence[ComparedTest],
    yardsticks: tuple[int, int],
    conditions: Sequence[ConditionRow] = (),
) -> list[SystemPoints]:
    """At most MOST_POINTS of each side for each system, by RULES. `yardsticks` in ns: the lower and
    the upper one. A median beside the reference says which of `conditions` are other ones."""
    reference = next((place for place, one in enumerate(columns) if one.is_reference), 0)
    found = []
    for place, one in enumerate(columns):
        facts = _Facts(
            place, one, decisive, tests, yardsticks, _other(conditions, place, reference)
        )
        positive, negative = list(_positive(facts)), list(_negative(facts))
        found.append(SystemPoints(positive[:MOST_POINTS], negative[:MOST_POINTS]))
    return found


@dataclass(frozen=True)
class _Facts:
    """What the points of one system follow from. `other`: conditions that are not those of the
    reference."""

    place: int
    column: SystemColumn
    decisive: Sequence[ComparedRow]
    tests: Sequence[ComparedTest]
    yardsticks: tuple[int, int]
    other: list[str]

    @property
    def cells(self) -> Cells:
        """Without figures that may be compared with nothing: no point follows from them."""
        found = [(row, row.cells[self.place]) for row in self.decisive]
        return [one for one in found if one[1].held is None or not why_alone_grey(one[1].held)]


def _other(conditions: Sequence[ConditionRow], place: int, reference: int) -> list[str]:
    return [
        one.name
        for one in conditions
        if one.name in _ALIKE and one.cells[place] != one.cells[reference]
    ]


def _positive(facts: _Facts) -> Iterator[str]:
    column, cells = facts.column, facts.cells
    if column.trust == "untrustworthy":
        return
    if not column.mark:  # times of an emulated processor, or instructions, are held against nothing
        good = [one for one in _calibrated(column) if _certain(one) >= GOOD_STARS]
        yield from _category_texts(good, column)
        yield from _below(cells, facts.yardsticks[0])
    spread = _largest_spread(cells)
    if spread is not None and spread[2] <= STEADY and _known(cells) > 1:
        yield (
            f"worst at most {ratio_text(spread[2])} times the mean in the decisive tests "
            f"({_short(spread[0])})"
        )
    yield from _medians(facts, "lower")
    yield from _all_hold(facts.place, facts.tests)
    if column.rating.configuration == OUT_OF_THE_BOX and column.is_published:
        yield "works out of the box"


def _negative(facts: _Facts) -> Iterator[str]:
    column, cells = facts.column, facts.cells
    if column.trust != "full" and column.trust_reasons:
        yield f"{column.trust}: {shorten(column.trust_reasons[0], _EVIDENCE_CHARACTERS)}"
    yield from _failed(facts.place, facts.tests)
    low = [one for one in _calibrated(column) if (one.stars or 0) <= BAD_STARS]
    yield from _category_texts(sorted(low, key=lambda one: one.stars or 0), column)
    if not column.mark:  # times of an emulated processor are held against nothing
        yield from _reaches(cells, facts.yardsticks[1])
    spread = _largest_spread(cells)
    if spread is not None and spread[2] >= SPREAD:
        row, cell, times = spread
        yield f"worst {ratio_text(times)} times the mean: {_figures(row, cell)}"
    yield from _medians(facts, "higher")
    configuration = column.rating.configuration
    if configuration not in ("", OUT_OF_THE_BOX, NOT_PUBLISHED):
        yield f"configuration: {configuration}"
    if column.rating.why_none:
        yield f"no overall rating: {shorten(column.rating.why_none, _EVIDENCE_CHARACTERS)}"


def _calibrated(column: SystemColumn) -> list[CategoryRating]:
    """The categories whose stars were fitted to published ones, where there are any stars."""
    found = column.rating.categories
    return [one for one in found if one.is_calibrated and one.stars is not None]


def _certain(one: CategoryRating) -> float:
    return certain_stars(one.stars or 0, one.lowest_stars)


def _category_texts(found: Sequence[CategoryRating], column: SystemColumn) -> Iterator[str]:
    """The first with their figures, the others by name."""
    for one in found[:_MOST_CATEGORIES]:
        yield _category_text(one, is_exact=column.is_published)
    rest = [_stars_text(one) for one in found[_MOST_CATEGORIES:]]
    if rest:
        yield f"also {', '.join(rest)} of 5"


def _stars_text(one: CategoryRating) -> str:
    return f"{one.category} {category_number(one)}"


def _category_text(one: CategoryRating, *, is_exact: bool) -> str:
    said = f"{_stars_text(one)} of 5"
    if one.decisive is None:
        return said
    worst = amount_text(one.decisive.amount, is_exact=is_exact)
    return f"{said}: worst {worst} ({shorten(one.decisive.address, _ADDRESS_CHARACTERS)})"


def _below(cells: Cells, yardstick_ns: int) -> Iterator[str]:
    for row, cell in cells:
        if _is_latency(row) and isinstance(cell.worst, Amount):
            highest = cell.worst.highest
            if highest is not None and highest < yardstick_ns:
                yield f"wake-up latency below {format_ns(yardstick_ns)}: {_figures(row, cell)}"


def _reaches(cells: Cells, yardstick_ns: int) -> Iterator[str]:
    for row, cell in cells:
        worst = cell.worst if _is_latency(row) else None
        if isinstance(worst, Amount) and worst.lowest >= yardstick_ns:
            yield f"wake-up latency reaches {format_ns(yardstick_ns)}: {_figures(row, cell)}"


def _is_latency(row: ComparedRow) -> bool:
    return row.address.startswith("TMR-P-LAT")


def _largest_spread(cells: Cells) -> tuple[ComparedRow, ComparedCell, float] | None:
    found = [(row, cell, cell.predictability) for row, cell in cells if cell.predictability]
    known = [(row, cell, times) for row, cell, times in found if times is not None]
    return max(known, key=lambda one: one[2], default=None)


def _known(cells: Cells) -> int:
    return sum(cell.predictability is not None for _, cell in cells)


def _short(row: ComparedRow) -> str:
    return shorten(row.address, _ADDRESS_CHARACTERS)


def _medians(facts: _Facts, outcome: str) -> Iterator[str]:
    """The strongest first; with the conditions that are other ones, so that nothing is ranked
    silently."""
    other = f", with another {', '.join(facts.other)}" if facts.other else ""
    found = [
        (row, cell.ratio)
        for row, cell in facts.cells
        if cell.ratio is not None and cell.ratio.outcome == outcome and cell.ratio.ratio
    ]
    found.sort(key=lambda one: one[1].ratio or 1.0, reverse=outcome == "higher")
    for row, ratio in found[:_MOST_OF_A_KIND]:
        yield (
            f"median {ratio_words(ratio)[0]} that of the reference, between these two runs{other} "
            f"({_short(row)})"
        )


def _figures(row: ComparedRow, cell: ComparedCell) -> str:
    is_exact = cell.series is None
    told = [
        f"{name} {amount_text(one, is_exact=is_exact)}"
        for name, one in (("mean", cell.mean), ("worst", cell.worst))
        if isinstance(one, Amount)
    ]
    return f"{', '.join(told)} ({_short(row)})"


def _failed(place: int, tests: Sequence[ComparedTest]) -> Iterator[str]:
    found = [
        f"{test.test}, {row.name} fails: {shorten(cell.evidence, _EVIDENCE_CHARACTERS)}"
        for test in tests
        for row, cell in judged_claims(test, place)
        if cell.look == "failed"
    ]
    yield from found[:_MOST_OF_A_KIND]
    if len(found) > _MOST_OF_A_KIND:
        yield f"and {len(found) - _MOST_OF_A_KIND} more claims fail"


def _all_hold(place: int, tests: Sequence[ComparedTest]) -> Iterator[str]:
    looks = [cell.look for test in tests for _, cell in judged_claims(test, place)]
    if looks and "failed" not in looks:
        if len(looks) == 1:
            yield "the only claim that was judged and counts holds"
        else:
            yield f"all {len(looks)} claims that were judged and count hold"
