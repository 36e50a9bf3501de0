"""How much of 1003.1a, b and c works, beside what systems of the year 2000 had of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from hardstone.model import RunDocument, Scalar
from hardstone.present.wording import short, spoken
from hardstone.stats.posix_answer import PartCoverage
from hardstone.systems.published import load_studies

_STUDY = "obenland-2000"
_TABLE = "posix_coverage"
RULE = (
    "This system, from POS-B-INV: full if a real call of every option of the part works; partial "
    "with the options that do not, or only in part. What was not tried or not reported never "
    "counts as working. The study has what each system claimed; POSIX has changed since."
)
_LOOKS = {"full": "passed", "partial": "partly", "none": "failed", "not known": "quiet"}


@dataclass(frozen=True)
class CoverageRow:
    """A system with a cell for each column. `looks` are empty for the study's."""

    system: str
    cells: list[str]
    looks: list[str]
    is_own: bool = False


@dataclass(frozen=True)
class CoverageTable:
    """`study` names the source with its year."""

    study: str
    columns: list[str]
    rows: list[CoverageRow]
    rule: str = RULE


def coverage_table(document: RunDocument, own: Sequence[PartCoverage]) -> CoverageTable:
    """The run's system first, then those of the study, as it was transcribed."""
    study = load_studies()[_STUDY]
    table = study.tables[_TABLE]
    by_part = {one.part: one for one in own}
    columns: list[str] = table["columns"]
    mine = [by_part.get(column.partition(" ")[0]) for column in columns]
    return CoverageTable(
        study=f"{study.reading.short}, {study.title}",
        columns=columns,
        rows=[
            CoverageRow(
                system=f"this system, {_kernel(document.system)}",
                cells=[coverage_text(one) if one else "-" for one in mine],
                looks=[_LOOKS[one.coverage] if one else "quiet" for one in mine],
                is_own=True,
            ),
            *(
                CoverageRow(system, list(cells), [""] * len(cells))
                for system, cells in table["rows"].items()
            ),
        ],
    )


def coverage_text(found: PartCoverage) -> str:
    """ "full (14 options)", "partial: no message passing; not known: fsync"."""
    if found.coverage == "full":
        return f"full ({found.options_count} options)"
    if found.coverage == "none":
        return f"none of {found.options_count} options works"
    return f"{found.coverage}: {'; '.join(_lacking(found))}" if found.options_count else "not known"


def _lacking(found: PartCoverage) -> Iterator[str]:
    if found.missing:
        yield f"no {_names(found.missing)}"
    if found.partly:
        yield f"{_names(found.partly)} in part"
    if found.not_known:
        known = "" if found.coverage == "not known" else "not known: "
        yield f"{known}{_names(found.not_known)}"
    if found.coverage == "not known":
        yield f"{found.working_count} of {found.options_count} options work"


def _names(names: Sequence[str]) -> str:
    return ", ".join(map(spoken, names))


def _kernel(facts: Mapping[str, Scalar]) -> str:
    told = f"{short(facts.get('kernel.name'))} {short(facts.get('kernel.release'))}".strip()
    return told or "kernel not known"
