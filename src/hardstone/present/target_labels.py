"""Names of targets as the headings of columns: short, different from each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hardstone.model import RunDocument
from hardstone.present.time_words import time_mark
from hardstone.present.wording import shorten

_MOST_LINES = 4
_LINE_CHARACTERS = 20
_NAME_CHARACTERS = 300
_CUT = "\N{HORIZONTAL ELLIPSIS}"


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
    headings = _headings(names)
    is_plain = len(set(names)) == len(names) and all(
        "".join(lines) == name for lines, name in zip(headings, names, strict=True)
    )
    return [
        TargetColumn(
            short=name if is_plain else f"#{number}",
            lines=lines if is_plain else [f"#{number}", *lines],
            kind=time_mark(document.system),
            legend="" if is_plain else name,
        )
        for number, (name, lines, document) in enumerate(
            zip(names, headings, documents, strict=True), 1
        )
    ]


def _headings(names: Sequence[str]) -> list[list[str]]:
    """ "lab:debian,preempt=full" as ["lab:debian,", "preempt=full"].

    If there are too many settings for a heading, it leaves out those that all names have.
    """
    split = [name.split(",") for name in names]
    if max(map(len, split)) > _MOST_LINES:
        common = set.intersection(*(set(settings) for _, *settings in split))
        split = [[kernel, *(s for s in settings if s not in common)] for kernel, *settings in split]
    return [_heading(parts) for parts in split]


def _heading(parts: list[str]) -> list[str]:
    *before, last = parts
    lines = [shorten(part, _LINE_CHARACTERS) for part in (*(f"{one}," for one in before), last)]
    return [*lines[:_MOST_LINES], _CUT] if len(lines) > _MOST_LINES else lines
