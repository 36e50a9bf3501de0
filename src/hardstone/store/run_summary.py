"""What a list shows of a run, kept beside its document: hundreds of bytes instead of all of it.

The document is the truth: a summary counts only while size and time of the document are those
that it was made from, and its stars follow from the formula of this version. One that is missing,
damaged or stale is made again from the document, which never holds stars.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import msgspec

from hardstone.files import OddFileError, check_regular, read_regular, replace_file
from hardstone.formula import FORMULA
from hardstone.model import RunDocument, RunStatus, TrustGrade
from hardstone.stats.contradictions import trust_of
from hardstone.stats.trust import lacking_text
from hardstone.store.place import Place

_LIMIT_BYTES = 16 * 2**10
_MODE = 0o644


class Stamp(NamedTuple):
    """Size of a document and the time at which it was last changed."""

    size_bytes: int
    changed_ns: int


class RunEntry(msgspec.Struct, kw_only=True, frozen=True):
    """A run as a list shows it. `tests` counts its results.

    `stars`: the overall rating, of the loaded condition where there are several; None: too little
    is known for one. `is_at_most`: figures are missing, each of which can only lower it. `lowest`:
    stars from there to `stars` are possible with the values that were taken; None: not a range.
    `rated_as`: why it is not the full rating. `formula`: what they follow from; "" before stars.
    `lacking`: the results that were not measured, "2 failed, 1 denied"; None in a list of before.
    `repeats`: the id of the first of several runs of one plan, also in itself; "": it is alone.
    """

    id: str
    name: str
    started_utc: str
    status: RunStatus
    grade: TrustGrade
    tests: Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
    profile: str
    target: str
    stars: Annotated[float, msgspec.Meta(ge=0, le=5)] | None = None
    is_at_most: bool = False
    lowest: Annotated[float, msgspec.Meta(ge=0, le=5)] | None = None
    rated_as: str = ""
    formula: str = ""
    repeats: str = ""
    lacking: str | None = None


class _Summary(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    schema: Literal["hardstone.summary/1"] = "hardstone.summary/1"
    run: RunEntry
    document: Stamp


def stamp_of(path: Path) -> Stamp | None:
    """The stamp of the document at `path`, None for what is not a file."""
    state = path.lstat()
    try:
        check_regular(state.st_mode)
    except OddFileError:
        return None
    return Stamp(state.st_size, state.st_mtime_ns)


def entry_of(document: RunDocument) -> RunEntry:
    """`document` as a list shows it; grade and stars as its figures say by now."""
    from hardstone.rating import rate_run  # half a second, and most lists need none

    (_, rating), *_ = rate_run(document)
    repeat = document.plan.repeat
    return RunEntry(
        id=document.id,
        name=document.name,
        started_utc=document.started_utc,
        status=document.status,
        grade=trust_of(document).grade,
        tests=len(document.results),
        profile=document.plan.profile,
        target=document.plan.target,
        stars=rating.overall,
        is_at_most=rating.is_at_most,
        lowest=rating.lowest,
        rated_as=", ".join(rating.rated_as),
        formula=rating.formula,
        repeats="" if repeat is None else repeat.first or document.id,
        lacking=lacking_text(document.results),
    )


def read_summary(place: Place, run_id: str, stamp: Stamp) -> RunEntry | None:
    """The entry of a run whose document has `stamp`; None where there is no good summary."""
    try:
        content = read_regular(place.summary(run_id), _LIMIT_BYTES)
        summary = msgspec.json.decode(content, type=_Summary)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    is_fitting = summary.run.id == run_id and summary.document == stamp
    return summary.run if is_fitting and is_current(summary.run) else None


def is_current(entry: RunEntry) -> bool:
    """Whether the stars of `entry` follow from the formula of this version, and all is in it."""
    return entry.formula == FORMULA and entry.lacking is not None


def write_summary(place: Place, entry: RunEntry) -> None:
    """Puts a summary beside the document of a run; without space or access, none."""
    with contextlib.suppress(OSError):
        stamp = stamp_of(place.document(entry.id))
        if stamp is not None:
            content = msgspec.json.encode(_Summary(run=entry, document=stamp))
            replace_file(place.summary(entry.id), content, _MODE, is_durable=False)
