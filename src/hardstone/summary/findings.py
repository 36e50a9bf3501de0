"""Behaviours with evidence, tests that were not measured, and how far to trust the run."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from hardstone.calling import parted_text
from hardstone.catalogue import Entry
from hardstone.model import Result, RunDocument, Verdict
from hardstone.stats.conditions import LEFT_REMEDY, names_in
from hardstone.stats.contradictions import TITLE, told, trust_of
from hardstone.summary.header import NOT_REALTIME
from hardstone.summary.notes import Row, left_rows
from hardstone.summary.text import short, spoken, words

_MOST_ROWS = 20  # of reasons, and of what moved
_STYLE = {"full": "green", "indicative": "yellow", "untrustworthy": "bold red"}


def verdict_row(verdict: Verdict, entry: Entry) -> Row:
    """A claim about behaviour with its evidence; one that failed is a finding if it counts."""
    name, slash, label = verdict.name.partition("/")
    uncounted = entry.why_uncounted(verdict.name)
    evidence = [verdict.evidence]
    if uncounted:
        reason = "" if verdict.passed else f": {uncounted}"
        evidence.append(f"(does not count for a rating{reason})")
    word = _verdict_word(verdict, bool(uncounted))
    return word, words(f"{spoken(name)}{slash}{label}"), words(" ".join(evidence))


def _verdict_word(verdict: Verdict, is_uncounted: bool) -> Text:
    if verdict.passed:
        return Text("pass", style="green")
    return Text("fail", style="yellow") if is_uncounted else Text("FAIL", style="bold red")


def status_rows(document: RunDocument) -> Iterator[Row]:
    """Tests that gave less than was asked, with the reason and what would help."""
    names = names_in(document)
    told: set[str | None] = set()
    for result in _unfinished(document):
        remedy = "" if result.remedy in told else parted_text(result.remedy or "")[0]
        told.add(result.remedy)
        yield words(names.name(result), "bold"), _status_text(result, remedy)


def remedy_commands(document: RunDocument) -> list[str]:
    """What those remedies, and what a shield left behind, say is to be typed; each once."""
    found = [parted_text(result.remedy or "")[1] for result in _unfinished(document)]
    if any(True for _ in left_rows(document)):
        found.insert(0, f"sudo {LEFT_REMEDY}")
    return [command for command in dict.fromkeys(found) if command]


def _unfinished(document: RunDocument) -> list[Result]:
    return [one for one in document.results if one.status != "measured" or not one.complete]


def _status_text(result: Result, remedy: str) -> Text:
    state = result.status if result.complete else f"{result.status}, incomplete"
    line = Text(f"{state}: ", style="yellow")
    said = result.reason or "no reason was given"
    return line + words(f"{said}; {remedy}" if remedy else said)


def advice_rows(document: RunDocument) -> Iterator[Row]:
    """What would make the machine fitter, but for what the head of the summary says."""
    for line in document.advice:
        if not line.startswith(NOT_REALTIME):
            told, command = parted_text(line)
            yield (words(f"{told}:" if command else told),)


def advice_commands(document: RunDocument) -> list[str]:
    """What the advice says is to be typed."""
    found = (parted_text(line)[1] for line in document.advice)
    return [command for command in dict.fromkeys(found) if command]


def trust_rows(document: RunDocument) -> Iterator[Row]:
    """The grade, every reason for it, and what moved meanwhile."""
    trust = trust_of(document)
    yield Text("trust:", style="bold"), Text(trust.grade, style=_STYLE[trust.grade])
    for reason in trust.reasons[:_MOST_ROWS]:
        yield Text(""), words(reason.removesuffix(f": {LEFT_REMEDY}"))
    for moved in document.environment_moved[:_MOST_ROWS]:
        before, after = short(moved.before) or "not known", short(moved.after) or "not known"
        yield Text(""), words(f"{moved.fact} moved from {before} to {after}")
    more = sum(
        max(len(of_a_kind) - _MOST_ROWS, 0)
        for of_a_kind in (trust.reasons, document.environment_moved)
    )
    if more:
        yield Text(""), words(f"and {more} more, in the report")


def contradiction_lines(document: RunDocument) -> Iterator[Text]:
    """Figures that contradict each other, under a title; nothing where none do."""
    lines = told(document)
    if lines:
        yield Text(TITLE, style="bold red")
        yield from (Text("  ") + words(line) for line in lines)
