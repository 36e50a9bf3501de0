"""Banners above all figures: contradictions, settings not restored, no real-time scheduling,
an emulated processor."""

from __future__ import annotations

from dataclasses import dataclass

from hardstone import event_names
from hardstone.doctor import realtime_refusal
from hardstone.model import RunDocument
from hardstone.present.notices import left_changed
from hardstone.present.time_words import time_machine
from hardstone.stats.conditions import names_in
from hardstone.stats.contradictions import TITLE, told
from hardstone.stats.kind_of_time import time_meaning
from hardstone.stats.trust import has_run, lacks_realtime

_ASK_DOCTOR = "hardstone doctor says what grants it."
_NO_FACTS_AT_THE_END = (
    "The target sent no facts at the end of the run, so changes during the run are unknown."
)
_THE_REST = "All other results are complete."
_MOST_NAMED = 6


@dataclass(frozen=True)
class Banner:
    """A warning above all figures; `grave` ones have the colour of failure."""

    title: str
    lines: list[str]
    grave: bool = False


def caveats(document: RunDocument) -> list[Banner]:
    """All banners of a run, most severe first."""
    found = (
        _contradictory(document),
        _not_put_back(document),
        _not_realtime(document),
        _unfinished(document),
        _untrustworthy(document),
        _emulated(document),
    )
    return [banner for banner in found if banner is not None]


def _not_put_back(document: RunDocument) -> Banner | None:
    """A shield left settings changed. They stay changed after the run."""
    lines = [f"{who}: {text.rstrip('.')}." for who, text in left_changed(document)]
    if not lines:
        return None
    more = len(lines) - _MOST_NAMED
    rest = [f"And {more} more, see the sections of the results."] if more > 0 else []
    remedy = (
        f"To restore them, run {event_names.LEFT_REMEDY}. Later tests of this run were measured "
        "with the changed settings."
    )
    return Banner(
        "Settings were not restored",
        [*lines[:_MOST_NAMED], *rest, remedy],
        grave=True,
    )


def _not_realtime(document: RunDocument) -> Banner | None:
    ran = [result for result in document.results if has_run(result)]
    names = names_in(document)
    ordinary = [names.name(result) for result in ran if lacks_realtime(result)]
    if not ordinary:
        return None
    which = "All tests" if len(ordinary) == len(ran) else ", ".join(dict.fromkeys(ordinary))
    reason = document.system.get("limits.realtime_reason")
    lines = [
        f"{which} ran as ordinary time-shared threads. The figures do not apply to real-time "
        "threads.",
        f"Reason: {reason}." if reason else "",
        *_remedies(document),
    ]
    return Banner("Not scheduled as real-time", [line for line in lines if line], grave=True)


def _remedies(document: RunDocument) -> list[str]:
    if document.plan.policy == "other":
        return ["The plan asked for policy other. Repeat with --policy fifo."]
    refusal = realtime_refusal(document.system)
    steps = refusal.steps if refusal else []
    said = [one.command or f"{one.words}." for one in steps[:1]]
    return [f"Remedy: {one}" for one in said] or [_ASK_DOCTOR]


def _unfinished(document: RunDocument) -> Banner | None:
    if document.status == "complete":
        return None
    cut, missing = _cut_results(document), _missing(document)
    if document.status == "interrupted":
        said = "The run was stopped early. The results up to that point are shown."
        return Banner("Interrupted run", [said, *cut, *missing])
    lines = [*_end_of_tool(document), *cut, *missing] or [_NO_FACTS_AT_THE_END]
    return Banner("Incomplete run", [*lines, _THE_REST], grave=True)


def _end_of_tool(document: RunDocument) -> list[str]:
    """A recovered run has no end time, and its cause is unknown."""
    if document.finished_utc is not None:
        return []
    return ["hardstone, or the machine it ran on, stopped before the run finished."]


def _cut_results(document: RunDocument) -> list[str]:
    """Each incomplete result with its reason."""
    cut = [one for one in document.results if not one.complete]
    names = names_in(document)
    said = [
        f"{names.name(one)}: {one.reason or 'its record ends early'}." for one in cut[:_MOST_NAMED]
    ]
    more = len(cut) - len(said)
    return [*said, f"And {more} more: see the table of all results."] if more else said


def _missing(document: RunDocument) -> list[str]:
    """Planned tests that were skipped or have no result."""
    names = names_in(document)
    reasons: dict[str, list[str]] = {}
    for one in document.results:
        if one.status == "skipped":
            reason = (one.reason or "").removeprefix("not run: ")
            reasons.setdefault(reason, []).append(names.name(one))
    left = [names.name(one) for one in document.plan.tests[len(document.results) :]]
    if left:
        reasons.setdefault("", []).extend(left)
    return [
        f"Did not run: {', '.join(tests)}{f' ({reason})' if reason else ''}."
        for reason, tests in reasons.items()
    ]


def _contradictory(document: RunDocument) -> Banner | None:
    lines = told(document)
    return Banner(TITLE, lines, grave=True) if lines else None


def _untrustworthy(document: RunDocument) -> Banner | None:
    if document.trust.grade != "untrustworthy":
        return None
    return Banner("Do not rely on these figures", document.trust.reasons, grave=True)


def _emulated(document: RunDocument) -> Banner | None:
    title = time_machine(document.system)
    if not title:
        return None
    return Banner(title.capitalize(), [time_meaning(document.system)])
