"""Names of targets as the headings of columns: short, different from each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hardstone.model import RunDocument
from hardstone.present.wording import shorten
from hardstone.stats.kind_of_time import KindOfTime, kind_of_time

_MOST_LINES = 4
_LINE_CHARACTERS = 20
_NAME_CHARACTERS = 300
_CUT = "\N{HORIZONTAL ELLIPSIS}"
_KINDS = {
    KindOfTime.HARDWARE: "",
    KindOfTime.EMULATED: "(emulated)",
    KindOfTime.COUNTED: "(instructions)",
    KindOfTime.UNKNOWN: "(emulated?)",
}


@dataclass(frozen=True)
class TargetColumn:
    """A target. `short` names it in a sentence, `lines` are its heading, `kind` what its times
    are if they are not of hardware. `legend` is its whole name, if the heading has not."""

    short: str
    lines: list[str]
    kind: str
    legend: str


def target_columns(documents: Sequence[RunDocument]) -> list[TargetColumn]:
    """A column for each run, by the name of its target.

    A name is broken at its commas. If one is too long, or is there twice, all have numbers.
    """
    names = [shorten(one.plan.target, _NAME_CHARACTERS) for one in documents]
    headings = [_heading(name) for name in names]
    is_plain = len(set(names)) == len(names) and all(
        "".join(lines) == name for lines, name in zip(headings, names, strict=True)
    )
    return [
        TargetColumn(
            short=name if is_plain else f"#{number}",
            lines=lines if is_plain else [f"#{number}", *lines],
            kind=_KINDS[kind_of_time(document.system)],
            legend="" if is_plain else name,
        )
        for number, (name, lines, document) in enumerate(
            zip(names, headings, documents, strict=True), 1
        )
    ]


def _heading(name: str) -> list[str]:
    """ "lab:debian,preempt=full" as ["lab:debian,", "preempt=full"]."""
    *before, last = name.split(",")
    parts = [f"{part}," for part in before] + [last]
    lines = [shorten(part, _LINE_CHARACTERS) for part in parts[:_MOST_LINES]]
    return [*lines, _CUT] if len(parts) > _MOST_LINES else lines
