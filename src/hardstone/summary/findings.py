"""Behaviours with evidence, tests that were not measured, and how far to trust the run."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from hardstone.model import Result, RunDocument, Verdict
from hardstone.summary.text import short, spoken, words

_MOST_EVENTS = 20
_STYLE = {"full": "green", "indicative": "yellow", "untrustworthy": "bold red"}


def verdict_lines(document: RunDocument) -> Iterator[Text]:
    """One line for each claim about behaviour, failed ones too: they are findings."""
    for result in document.results:
        if result.verdicts:
            yield words(result.test, "bold")
            for verdict in result.verdicts:
                yield _verdict_line(verdict)


def _verdict_line(verdict: Verdict) -> Text:
    word, style = ("pass", "green") if verdict.passed else ("FAIL", "bold red")
    line = Text(" ")
    line.append(word, style=style)
    line.append(f" {spoken(verdict.name)}: ")
    return line.append_text(words(verdict.evidence))


def status_lines(document: RunDocument) -> Iterator[Text]:
    """Tests that gave less than was asked, with the reason and what would help."""
    for result in document.results:
        if result.status != "measured" or not result.complete:
            yield _status_line(result)
            if result.remedy:
                yield Text("  ").append_text(words(result.remedy))


def _status_line(result: Result) -> Text:
    line = words(result.test, "bold")
    state = result.status if result.complete else f"{result.status}, incomplete"
    line.append(f" {state}: ", style="yellow")
    return line.append_text(words(result.reason or "no reason was given"))


def event_lines(document: RunDocument) -> Iterator[Text]:
    """What the probe wants a reader to know, each text once."""
    seen: dict[str, list[str]] = {}
    for result in document.results:
        for event in result.events:
            tests = seen.setdefault(event.text, [])
            if result.test not in tests:
                tests.append(result.test)
    for text, tests in list(seen.items())[:_MOST_EVENTS]:
        yield words(f"{', '.join(tests)}: {text}")
    if len(seen) > _MOST_EVENTS:
        yield words(f"and {len(seen) - _MOST_EVENTS} more, in the report")


def trust_lines(document: RunDocument) -> Iterator[Text]:
    """The grade with every reason, and what moved meanwhile."""
    trust = document.trust
    line = Text("trust: ")
    line.append(trust.grade, style=_STYLE[trust.grade])
    if trust.reasons:
        line.append(" because: ")
        line.append_text(words("; ".join(trust.reasons)))
    yield line
    for moved in document.environment_moved:
        before, after = short(moved.before) or "not known", short(moved.after) or "not known"
        yield words(f"  {moved.fact} moved from {before} to {after}")
