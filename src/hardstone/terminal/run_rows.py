"""Rows about a run that several screens show: claims, notes, advice, trust, contradictions."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from hardstone.calling import granting, parted_text
from hardstone.event_names import LEFT_REMEDY
from hardstone.model import RunDocument, Verdict
from hardstone.present.notices import Note, Notice, notes
from hardstone.stats.conditions import conditions_in
from hardstone.stats.consistency import TITLE, told, trust_of
from hardstone.stats.trust import lacks_realtime
from hardstone.terminal.console import (
    Row,
    words,
)
from hardstone.wording import claim_of, short

NOT_REALTIME = "not scheduled as real-time"


TRUST_STYLE = {"full": "green", "indicative": "yellow", "untrustworthy": "bold red"}


_LOOKS = {"passed": "green", "failed": "bold red", "uncounted": "yellow"}


_TYPE = "; type: "


_MOST_RUN_ROWS = 200  # a damaged document may have any number


_MOST_NAMES = 2


def verdict_row(verdict: Verdict, test: str) -> Row:
    """A claim about behaviour with its verdict and evidence."""
    claim = claim_of(verdict, test)
    evidence = claim.evidence
    if claim.uncounted:
        reason = "" if claim.passed else f": {claim.uncounted}"
        evidence += f" (does not count for a rating{reason})"
    return Text(claim.word, style=_LOOKS[claim.look]), words(claim.name), words(evidence)


def deviation_row(one: Notice) -> Row:
    """Who deviates, and how; the kind in colour."""
    kind, colon, rest = one.text.partition(": ")
    style = "bold red" if one.kind == "left" else "yellow"
    return words(one.who, "bold"), words(kind, style) + words(f"{colon}{rest}" if rest else "")


def note_rows(document: RunDocument) -> tuple[list[Row], list[str]]:
    """The first notes of the probe, and the commands that they name."""
    is_folded = len(conditions_in(document)) > 1
    found = notes(document)
    shown = found[:_MOST_RUN_ROWS]
    rows: list[Row] = [(_who(note, is_folded), words(_note_text(note))) for note in shown]
    if len(found) > len(shown):
        rows.append((Text("..."), words(f"and {len(found) - len(shown)} more, in the report")))
    return rows, list(dict.fromkeys(note.command for note in shown if note.command))


def _note_text(note: Note) -> str:
    return note.text + (f" (and {note.like_it} similar, in the report)" if note.like_it else "")


def _who(note: Note, is_folded: bool) -> Text:
    names = note.who
    if is_folded and len(names) > _MOST_NAMES:
        names = [names[0], f"and {len(names) - 1} more conditions"]
    return Text("\n").join(words(name, "bold") for name in names)


def not_realtime_lines(document: RunDocument) -> Iterator[Text]:
    """The warning that comes first if tests were not real-time, with its advice."""
    if is_not_realtime(document):
        yield Text(NOT_REALTIME, style="bold red")
        for line in document.advice:
            if line.startswith(NOT_REALTIME):
                yield words("  " + line.partition(": ")[2].partition(_TYPE)[0])


def is_not_realtime(document: RunDocument) -> bool:
    """Whether tests ran without the real-time scheduling that was requested."""
    is_lacking = any(map(lacks_realtime, document.results))
    is_said = any(line.startswith(NOT_REALTIME) for line in document.advice)
    return document.plan.policy != "other" and (is_lacking or is_said)


def grants(document: RunDocument) -> list[str]:
    """The commands in the advice that grant real-time scheduling."""
    said = [line for line in document.advice if line.startswith(NOT_REALTIME)]
    return [one for line in said if (one := granting(line.partition(_TYPE)[2]))]


def advice_rows(document: RunDocument) -> Iterator[Row]:
    """The advice, without the lines that the head of the summary shows."""
    for line in document.advice:
        if not line.startswith(NOT_REALTIME):
            said, command = parted_text(line)
            yield (words(f"{said}:" if command else said),)


def advice_commands(document: RunDocument) -> list[str]:
    """The commands in the advice."""
    found = (parted_text(line)[1] for line in document.advice)
    return [command for command in dict.fromkeys(found) if command]


def trust_rows(document: RunDocument) -> Iterator[Row]:
    """The grade, its reasons, and the facts that changed during the run."""
    trust = trust_of(document)
    yield Text("trust:", style="bold"), Text(trust.grade, style=TRUST_STYLE[trust.grade])
    for reason in trust.reasons[:_MOST_RUN_ROWS]:
        yield Text(""), words(reason.removesuffix(f": {LEFT_REMEDY}"))
    for moved in document.environment_moved[:_MOST_RUN_ROWS]:
        before, after = short(moved.before) or "not known", short(moved.after) or "not known"
        yield Text(""), words(f"{moved.fact} changed from {before} to {after}")
    more = sum(
        max(len(of_a_kind) - _MOST_RUN_ROWS, 0)
        for of_a_kind in (trust.reasons, document.environment_moved)
    )
    if more:
        yield Text(""), words(f"and {more} more, in the report")


def contradiction_lines(document: RunDocument) -> Iterator[Text]:
    """Figures that cannot be true, under a title; empty if there are none."""
    lines = told(document)
    if lines:
        yield Text(TITLE, style="bold red")
        yield from (Text("  ") + words(line) for line in lines)
