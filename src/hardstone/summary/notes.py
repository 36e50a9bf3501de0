"""What the probe said beside its figures, told once: much of it holds for many conditions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from rich.text import Text

from hardstone.calling import parted_text
from hardstone.model import Event, Result, RunDocument
from hardstone.stats.calibrated import UNEQUAL, unequal_work
from hardstone.stats.conditions import (
    DIFFER_EVENT,
    FOLDED_EVENTS,
    LEFT_EVENT,
    ONLINE_EVENT,
    SHORT_EVENTS,
    conditions_in,
    names_in,
)
from hardstone.summary.text import words

Row = tuple[Text, ...]

_MOST_NOTES = 20
_MOST_NAMES = 2
_WARNED = (*SHORT_EVENTS, DIFFER_EVENT)
_TOLD_BEFORE = (*_WARNED, LEFT_EVENT, *FOLDED_EVENTS)
_FIGURE = re.compile(r"\d[\d.,]*")


def left_rows(document: RunDocument) -> Iterator[Row]:
    """What a shield did not put back, each once, and what to type."""
    names = names_in(document)
    told = [
        (names.name(result), event.text)
        for result in document.results
        for event in result.events
        if event.name == LEFT_EVENT
    ]
    for name, text in dict.fromkeys(told):
        line = Text("not put back: ", style="bold red") + words(text)
        yield words(name, "bold"), line


def work_rows(document: RunDocument) -> Iterator[Row]:
    """Tests whose results did unequal work: their times do not compare."""
    for test, names in unequal_work(document).items():
        differ = ", ".join(name.replace("_", " ") for name in names)
        yield words(test, "bold"), Text(f"{UNEQUAL}: ", style="yellow") + words(differ)


def load_rows(document: RunDocument) -> Iterator[Row]:
    """Results whose load was not what was asked for: their figures are of less."""
    names = names_in(document)
    for result in document.results:
        for text in _short_texts(result):
            line = Text("load: ", style="yellow") + words(text)
            yield words(names.name(result), "bold"), line


def _short_texts(result: Result) -> Iterator[str]:
    """One text for each kind of event: the first of its elements, the others by name."""
    for kind in _WARNED:
        events = [event for event in result.events if event.name == kind]
        others = [_element(event, result) for event in events[1:]]
        if not all(others):
            yield from (event.text for event in events)
        elif events:
            also = f"; {', '.join(others)} fell short too" if others else ""
            yield f"{events[0].text}{also}"


def _element(event: Event, result: Result) -> str:
    """The element of the load that `event` speaks of; empty where it speaks of none."""
    return str(event.data.get("element", ""))


@dataclass
class _Note:
    text: str
    tests: dict[str, None] = field(default_factory=dict)
    like_it: int = 0


def _to_know(document: RunDocument) -> Iterator[tuple[Result, Event]]:
    for result in document.results:
        for event in result.events:
            if event.name not in _TOLD_BEFORE:
                yield result, event


def event_rows(document: RunDocument) -> Iterator[Row]:
    """What the probe wants a reader to know, each text once with the tests that said it.

    Under several conditions a test says much that differs in its figures only: once.
    """
    names = names_in(document)
    is_folded = len(conditions_in(document)) > 1
    notes: dict[tuple[str, str], _Note] = {}
    for result, event in _to_know(document):
        is_of_all = event.name == ONLINE_EVENT or not is_folded
        alike = ("", event.text) if is_of_all else (result.test, _FIGURE.sub("#", event.text))
        note = notes.setdefault(alike, _Note(event.text))
        if event.text == note.text:
            note.tests[names.name(result)] = None
        else:
            note.like_it += 1
    for note in list(notes.values())[:_MOST_NOTES]:
        more = f" (and {note.like_it} like it, in the report)" if note.like_it else ""
        yield _who(note, is_folded), words(parted_text(note.text)[0] + more)
    if len(notes) > _MOST_NOTES:
        yield Text("..."), words(f"and {len(notes) - _MOST_NOTES} more, in the report")


def event_commands(document: RunDocument) -> list[str]:
    """What those texts say is to be typed, each once."""
    found = [parted_text(event.text)[1] for _, event in _to_know(document)]
    return [command for command in dict.fromkeys(found) if command][:_MOST_NOTES]


def _who(note: _Note, is_folded: bool) -> Text:
    names = list(note.tests)
    if is_folded and len(names) > _MOST_NAMES:
        names = [names[0], f"and {len(names) - 1} more conditions"]
    return Text("\n").join(words(name, "bold") for name in names)
