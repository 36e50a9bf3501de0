"""Every test of a comparison in detail: what it measures, figures, behaviours with evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hardstone.catalogue import load_catalogue
from hardstone.model import Descriptor, Verdict
from hardstone.present.claims import Claim, claim_of
from hardstone.present.compare_rows import missing_of, state_of
from hardstone.present.compare_view import (
    ClaimCell,
    ClaimRow,
    ComparedRow,
    ComparedTest,
    SystemColumn,
)
from hardstone.present.wording import format_value
from hardstone.systems.published import Figure, figures_of, load_studies
from hardstone.systems.subjects import MeasuredRun, Missing, amount_of

_MOST_CLAIMS = 60  # of one test
AS_A_WHOLE = "as a whole"
_WHOLE_CLAIM = "all claims that count for a rating hold; of a study, what it says"
HOLDS, FAILS = "holds", "fails"


def compared_tests(
    columns: Sequence[SystemColumn], rows: Sequence[ComparedRow]
) -> list[ComparedTest]:
    """Each test that any system has, in the order of the battery."""
    by_test: dict[str, list[ComparedRow]] = {}
    for row in rows:
        by_test.setdefault(row.address.partition("/")[0], []).append(row)
    names = {test: None for column in columns for test in column.subject.tests()}
    catalogue = load_catalogue()
    ordered = sorted(
        {**names, **dict.fromkeys(by_test)}, key=lambda one: catalogue.entry(one).order
    )
    specs = _descriptors(columns)
    return [_compared_test(one, columns, by_test.get(one, []), specs.get(one)) for one in ordered]


def _descriptors(columns: Sequence[SystemColumn]) -> Mapping[str, Descriptor]:
    """As the probe of the first run declared them."""
    found: dict[str, Descriptor] = {}
    for column in columns:
        if isinstance(column.subject, MeasuredRun):
            for one in column.subject.document.descriptors:
                found.setdefault(one.id, one)
    return found


def _compared_test(
    test: str,
    columns: Sequence[SystemColumn],
    rows: list[ComparedRow],
    spec: Descriptor | None,
) -> ComparedTest:
    entry = load_catalogue().entry(test)
    claims, left_out = _claim_rows(test, columns, spec)
    return ComparedTest(
        test=test,
        title=spec.title if spec else test,
        about=entry.about,
        category=entry.category,
        moments=[(one.title, one.meaning) for one in spec.series] if spec else [],
        rows=rows,
        claims=claims,
        states=[_state(column, test) for column in columns],
        published=_statements(test),
        notes=[
            *([f"What distorts it: {entry.distorts}"] if entry.distorts else []),
            *([f"{left_out} more claims are in the reports of the runs."] if left_out else []),
        ],
    )


def _state(column: SystemColumn, test: str) -> str:
    subject = column.subject
    if not isinstance(subject, MeasuredRun):
        return "published" if test in subject.tests() else "not published"
    found = next((one for one in subject.results if one.test == test), None)
    if found is None:
        return "not run"
    if found.status == "measured" and (not found.complete or found.interrupted):
        return "cut off before its end"
    return state_of(found.status, found.reason)


def _claim_rows(
    test: str, columns: Sequence[SystemColumn], spec: Descriptor | None
) -> tuple[list[ClaimRow], int]:
    """The row of the whole where a study judged, then those claims that are not alike, then the
    others; and how many were left out."""
    found = [_verdicts(column, test) for column in columns]
    claims = [[claim_of(one, test, spec) for one in verdicts] for verdicts in found]
    by_name: dict[str, list[Claim | None]] = {}
    for place, own in enumerate(claims):
        if not columns[place].is_published:
            for one in own:
                by_name.setdefault(one.name, [None] * len(columns))[place] = one
    ordered = sorted(by_name.items(), key=lambda one: not _is_telling(one[1]))
    rows = [
        ClaimRow(
            name,
            next((one.claim for one in cells if one and one.claim), ""),
            [
                _cell(one) if one else _without(column, test)
                for one, column in zip(cells, columns, strict=True)
            ],
        )
        for name, cells in ordered[:_MOST_CLAIMS]
    ]
    is_judged = any(column.is_published and own for column, own in zip(columns, found, strict=True))
    whole = [_whole(test, columns, claims)] if is_judged else []
    return [*whole, *rows], max(len(ordered) - _MOST_CLAIMS, 0)


def _verdicts(column: SystemColumn, test: str) -> Sequence[Verdict]:
    found = column.subject.verdicts(test)
    return [] if isinstance(found, Missing) else found


def _is_telling(cells: Sequence[Claim | None]) -> bool:
    return any(one is not None and not one.passed for one in cells)


def _cell(one: Claim) -> ClaimCell:
    word = HOLDS if one.passed else FAILS
    if one.uncounted and not one.passed:
        return ClaimCell(word, "uncounted", f"{one.evidence} (does not count: {one.uncounted})")
    return ClaimCell(word, "passed" if one.passed else "failed", one.evidence)


def _without(column: SystemColumn, test: str) -> ClaimCell:
    if column.is_published:
        judged = _verdicts(column, test)
        return ClaimCell(AS_A_WHOLE if judged else "not published", "quiet")
    reason = missing_of(column, test).reason
    return ClaimCell("not judged" if reason == "no values" else reason, "quiet")


def _whole(
    test: str, columns: Sequence[SystemColumn], claims: Sequence[Sequence[Claim]]
) -> ClaimRow:
    cells = [
        _whole_cell(own) if own else _without(column, test)
        for own, column in zip(claims, columns, strict=True)
    ]
    return ClaimRow(AS_A_WHOLE, _WHOLE_CLAIM, cells)


def _whole_cell(own: Sequence[Claim]) -> ClaimCell:
    failed = [one for one in own if not one.passed and not one.uncounted]
    if failed:
        return ClaimCell(FAILS, "failed", "; ".join(one.evidence for one in failed[:3]))
    aside = [one for one in own if not one.passed]
    told = own[0].evidence if len(own) == 1 else f"{len(own) - len(aside)} of {len(own)} hold"
    more = f"; not counted: {', '.join(one.name for one in aside)}" if aside else ""
    return ClaimCell(HOLDS, "passed", told + more)


def _statements(test: str) -> list[str]:
    """What studies say about no single system, in words and figures, with their source."""
    said = [_said(one) for one in figures_of(test) if one.system is None or one.unit is None]
    return list(dict.fromkeys(one for one in said if one))


def _said(one: Figure) -> str:
    study = load_studies()[one.study].reading.short
    load = one.address.conditions.get("load")
    where = f"{study}, load {load}" if load else study
    if one.statistic is None and one.system is None:
        return f"{where}: {one.value}"
    if one.system is None and one.unit is not None:
        amount = amount_of(one)
        return f"{where}: {one.address} {one.statistic} {format_value(amount.value, amount.unit)}"
    return ""


def judged_claims(test: ComparedTest, place: int) -> list[tuple[ClaimRow, ClaimCell]]:
    """What was judged about one system and counts: claim by claim, or of a study the whole."""
    found = [(row, row.cells[place]) for row in test.claims]
    judged = [one for one in found if one[1].look in ("passed", "failed")]
    return [one for one in judged if one[0].name != AS_A_WHOLE] or judged
