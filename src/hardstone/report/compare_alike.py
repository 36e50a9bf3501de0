"""What systems have in common and what not, by value: it is read at two systems and at twenty."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hardstone.compare.view import ClaimRow, CompareView, Look, SystemColumn
from hardstone.report.compare_lines import NAMED_SYSTEMS, who


@dataclass(frozen=True)
class ClaimGroup:
    """The systems with one outcome of a claim; `evidence` has (systems, words)."""

    word: str
    look: Look
    systems: str
    evidence: list[tuple[str, str]]


@dataclass(frozen=True)
class GroupedClaim:
    name: str
    claim: str
    groups: list[ClaimGroup]

    @property
    def is_dull(self) -> bool:
        """Whether it holds wherever it is known."""
        return {one.look for one in self.groups} <= {"passed", "quiet"}


@dataclass(frozen=True)
class ConditionPart:
    """Conditions side by side. `same` has those that are alike everywhere; `columns` and `cells`
    those that differ, system by system, or by value (`by_value`) where there are many systems."""

    same: list[tuple[str, str]]
    cells: list[tuple[str, list[str]]]
    by_value: list[tuple[str, list[tuple[str, str]]]]


def grouped(cells: Sequence[str], columns: Sequence[SystemColumn]) -> list[tuple[str, str]]:
    """Each text with the systems that have it, in the order of the systems."""
    places: dict[str, list[int]] = {}
    for place, text in enumerate(cells):
        places.setdefault(text, []).append(place)
    return [(text, who(columns, found)) for text, found in places.items()]


def claim_groups(
    row: ClaimRow, columns: Sequence[SystemColumn], states: Sequence[str]
) -> GroupedClaim:
    """A claim with the systems by outcome, failures first. Where a cell only repeats what became
    of the whole test (`states`), it is left out."""
    places: dict[tuple[str, Look], list[int]] = {}
    for place, (cell, state) in enumerate(zip(row.cells, states, strict=True)):
        if cell.word != state:
            places.setdefault((cell.word, cell.look), []).append(place)
    groups = [
        ClaimGroup(word, look, who(columns, found), _evidence(row, found, columns))
        for (word, look), found in places.items()
    ]
    return GroupedClaim(row.name, row.claim, sorted(groups, key=lambda one: one.look != "failed"))


def _evidence(
    row: ClaimRow, places: Sequence[int], columns: Sequence[SystemColumn]
) -> list[tuple[str, str]]:
    found: dict[str, list[int]] = {}
    for place in places:
        if row.cells[place].evidence:
            found.setdefault(row.cells[place].evidence, []).append(place)
    return [(who(columns, one), text) for text, one in found.items()]


def condition_part(view: CompareView) -> ConditionPart:
    differing = [one for one in view.conditions if one.differs]
    is_wide = len(view.columns) > NAMED_SYSTEMS
    return ConditionPart(
        same=[(one.name, one.cells[0]) for one in view.conditions if not one.differs],
        cells=[] if is_wide else [(one.name, one.cells) for one in differing],
        by_value=[(one.name, grouped(one.cells, view.columns)) for one in differing]
        if is_wide
        else [],
    )
