"""What a reader must know before the figures: notices of a run, and caveats of its trust."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from hardstone import event_names
from hardstone.calling import harmless
from hardstone.catalogue import load_catalogue
from hardstone.model import Event, Result, RunDocument, as_integer
from hardstone.present.origin import loss_texts, tool_title
from hardstone.stats.conditions import conditions_in, listed, names_in
from hardstone.stats.consistency import (
    TITLE,
    UNEQUAL,
    UNSTEADY,
    contradiction_messages,
    time_meaning,
    unequal_work,
    unsteady_blocks,
)
from hardstone.stats.trust import has_run, lacks_realtime
from hardstone.units import format_ns
from hardstone.wording import time_machine

# Shown as deviations, with the details of a shield, or in tables of their own.
_NO_NOTES = {
    *event_names.SHORT,
    event_names.DIFFER,
    event_names.LEFT,
    *event_names.SHIELD_DETAILS,
    *event_names.POSIX,
    *event_names.TIRE,
}


_TIMED = ("TMR-P-JIT", "TMR-P-LAT")
_COARSE_NS = 500_000  # as the doctor's rule timer-resolution has it


@dataclass(frozen=True)
class Notice:
    """A deviation of `who`, a test or the name of a result. `command`: the remedy to run, or ""."""

    kind: Literal["left", "status", "work", "block", "load"]
    who: str
    text: str
    command: str = ""


def deviations(document: RunDocument) -> list[Notice]:
    """What differs between run and request, most severe kind first."""
    names = names_in(document)
    return [
        *(
            Notice("left", who, f"not restored: {text}", f"sudo {event_names.LEFT_REMEDY}")
            for who, text in _left_changed(document)
        ),
        *_unfinished(document),
        *(
            Notice("work", test, f"{UNEQUAL}: {', '.join(works).replace('_', ' ')}")
            for test, works in unequal_work(document).items()
        ),
        # Unloaded results that are no reference for those under load.
        *(
            Notice("block", names.name(result), f"{text}: {UNSTEADY}")
            for result, text in unsteady_blocks(document)
        ),
        *_load_short(document),
    ]


def _left_changed(document: RunDocument) -> list[tuple[str, str]]:
    """Settings that a shield did not restore, as (result, setting), without duplicates."""
    names = names_in(document)
    found = (
        (names.name(result), event.text)
        for result in document.results
        for event in result.events
        if event.name == event_names.LEFT
    )
    return list(dict.fromkeys(found))


def _unfinished(document: RunDocument) -> Iterator[Notice]:
    """Tests that gave less than was asked, with the reason; the same remedy is given once."""
    names = names_in(document)
    given: set[tuple[str | None, str | None]] = set()
    for result in document.results:
        if result.status == "measured" and result.complete and not result.interrupted:
            continue
        state: str = result.status
        state += "" if result.complete else ", incomplete"
        state += ", interrupted" if result.interrupted else ""
        parts = [result.reason or "no reason was given"]
        advice = (result.remedy, result.command)
        if advice not in given:
            parts += [result.remedy] if result.remedy else []
            given.add(advice)
        command = harmless(result.command)
        yield Notice("status", names.name(result), f"{state}: {'; '.join(parts)}", command)


def _load_short(document: RunDocument) -> Iterator[Notice]:
    """Results whose load fell short of the request or differed from it."""
    names = names_in(document)
    for result in document.results:
        for kind in (*event_names.SHORT, event_names.DIFFER):
            events = [event for event in result.events if event.name == kind]
            for text in _together(events):
                yield Notice("load", names.name(result), f"load: {text}")


def _together(events: list[Event]) -> list[str]:
    """The text of the first event, then the elements of the others if every event names one."""
    elements = [str(event.data.get("element", "")) for event in events]
    if not all(elements[1:]):
        return [event.text for event in events]
    others = ", ".join(elements[1:])
    also = f"; also short: {others}" if others else ""
    return [f"{events[0].text}{also}"] if events else []


@dataclass
class Note:
    """The text of an event and its results. `like_it` counts events that differ in figures only."""

    text: str
    who: list[str] = field(default_factory=list)
    like_it: int = 0
    command: str = ""


def notes(document: RunDocument) -> list[Note]:
    """Details that the probe reports, without duplicate texts.

    In a run with several conditions, events of one test that differ in figures only are one note.
    """
    names = names_in(document)
    is_folded = len(conditions_in(document)) > 1
    found: dict[object, Note] = {}
    for result in document.results:
        for event in result.events:
            if event.name in _NO_NOTES:
                continue
            command = harmless(event.data.get("command"))
            key = _likeness(result, event) if is_folded else event.text
            note = found.setdefault(key, Note(event.text, command=command))
            if event.text != note.text:
                note.like_it += 1
            elif (who := names.name(result)) not in note.who:
                note.who.append(who)
    return list(found.values())


def _likeness(result: Result, event: Event) -> object:
    """A key that is equal for events that differ in figures only."""
    if event.name == event_names.ONLINE:
        return event.text
    if not event.data:
        return result.test, event.name, event.text
    kept = {
        key: value
        for key, value in event.data.items()
        if isinstance(value, bool) or not isinstance(value, int | float)
    }
    return result.test, event.name, repr(kept)


def warnings_of(result: Result) -> list[str]:
    """The deviations of one result, as sentences."""
    left = dict.fromkeys(one.text for one in result.events if one.name == event_names.LEFT)
    found = [f"Not restored: {text.rstrip('.')}; run {event_names.LEFT_REMEDY}." for text in left]
    found += [
        f"{event_names.DEVIATIONS[event.name]}: {event.text.rstrip('.')}."
        for event in result.events
        if event.name in event_names.DEVIATIONS
    ]
    if result.conditions.realtime is False:
        found.append("Not scheduled as real-time.")
    if result.interrupted:
        found.append("Interrupted: the figures cover the time until then.")
    if not result.complete:
        found.append("Incomplete: the figures cover the data that arrived.")
    if result.foreign_count:
        found.append(
            f"Other programs wrote {result.foreign_count} lines to the console of this stream."
        )
    return found


def idle_remark(result: Result) -> str:
    """A remark on figures that include the exit from idle states; "" if they include none."""
    is_bounded = result.conditions.dma_latency_us is not None
    is_timed = any(series.count for series in result.series)
    return "" if is_bounded or not is_timed else load_catalogue().entry(result.test).idle


def has_idle_remarks(document: RunDocument) -> bool:
    """Systems other than Linux have no bound of idle states, and another tool keeps them as it
    likes."""
    return document.imported is None and document.system.get("kernel.name") in (None, "Linux")


def idle_remarks(document: RunDocument) -> list[str]:
    """The idle remarks of a run, each with the results that it concerns."""
    if not has_idle_remarks(document):
        return []
    names = names_in(document)
    found: dict[str, list[str]] = {}
    for result in document.results:
        found.setdefault(idle_remark(result), []).append(names.name(result))
    return [f"{listed(who)}: {remark}" for remark, who in found.items() if remark]


def timer_remark(document: RunDocument) -> str:
    """What a coarse clock of timers means for the figures of this run; "" if it is not coarse, or
    no timer was measured."""
    step_ns = as_integer(document.system.get("kernel.timer_resolution_ns"))
    who = [one.test for one in document.results if one.test in _TIMED and one.status == "measured"]
    if step_ns is None or step_ns < _COARSE_NS or not who:
        return ""
    return (
        f"Timers expire at multiples of {format_ns(step_ns)}: in {listed(list(dict.fromkeys(who)))}"
        " what is shorter is the phase of that tick, not the speed of the system."
    )


def column_note(result: Result | None) -> str:
    """The most severe deviation of a result in two or three words, for the head of a column."""
    if result is None:
        return "not run"
    names = {event.name for event in result.events}
    if event_names.LEFT in names:
        return "not restored"
    if names & set(event_names.SHORT):
        return "load fell short"
    if event_names.ONLINE in names:
        return "other CPUs online"
    return "" if result.complete else "incomplete"


_MOST_NAMED = 6


@dataclass(frozen=True)
class Banner:
    """A warning above all figures; `grave` ones have the colour of failure."""

    title: str
    lines: list[str]
    grave: bool = False


def caveats(document: RunDocument) -> list[Banner]:
    """All banners of a run, most severe first."""
    found: list[Banner | None] = []
    if contradictory := contradiction_messages(document):
        found.append(Banner(TITLE, contradictory, grave=True))
    found += [_not_put_back(document), _not_realtime(document), _unfinished_banner(document)]
    if document.trust.grade == "untrustworthy":
        title = "Do not rely on these figures"
        found.append(Banner(title, document.trust.reasons, grave=True))
    found.append(_read_from_file(document))
    if coarse := timer_remark(document):
        found.append(Banner("Timers are as coarse as the tick", [coarse]))
    if machine := time_machine(document.system):
        found.append(Banner(machine.capitalize(), [time_meaning(document.system)]))
    return [banner for banner in found if banner is not None]


def _read_from_file(document: RunDocument) -> Banner | None:
    """Whose figures they are, and what the file does not say of them."""
    imported = document.imported
    if imported is None:
        return None
    losses = loss_texts(imported)
    more = len(losses) - _MOST_NAMED
    rest = [f"And {more} more, under System and conditions."] if more > 0 else []
    title = f"Read from a file of {tool_title(imported)}: hardstone did not measure it"
    return Banner(title, [*losses[:_MOST_NAMED], *rest])


def _not_put_back(document: RunDocument) -> Banner | None:
    """A shield left settings changed. They stay changed after the run."""
    lines = [f"{who}: {text.rstrip('.')}." for who, text in _left_changed(document)]
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
    from hardstone.doctor.diagnose import realtime_refusal

    refusal = realtime_refusal(document.system)
    if refusal is None or not refusal.steps:
        return ["hardstone doctor says what grants it."]
    first = refusal.steps[0]
    return [f"Remedy: {first.command or f'{first.words}.'}"]


def _unfinished_banner(document: RunDocument) -> Banner | None:
    if document.status == "complete":
        return None
    cut, missing = _cut_results(document), _missing(document)
    if document.status == "interrupted":
        stopped = "The run was stopped early. The results up to that point are shown."
        return Banner("Interrupted run", [stopped, *cut, *missing])
    lines = [*cut, *missing]
    if document.finished_utc is None:  # a recovered run: the cause is unknown
        lines.insert(0, "hardstone, or the machine it ran on, stopped before the run finished.")
    elif not lines:
        lines.append(
            "The target sent no facts at the end of the run, so changes during the run are unknown."
        )
    lines.append("All other results are complete.")
    return Banner("Incomplete run", lines, grave=True)


def _cut_results(document: RunDocument) -> list[str]:
    """Each incomplete result with its reason."""
    cut = [one for one in document.results if not one.complete]
    names = names_in(document)
    lines = [
        f"{names.name(one)}: {one.reason or 'its record ends early'}." for one in cut[:_MOST_NAMED]
    ]
    more = len(cut) - len(lines)
    return [*lines, f"And {more} more: see the table of all results."] if more else lines


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
