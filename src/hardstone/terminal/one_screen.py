"""A run on one screen: at most MOST_LINES lines, whatever number of tests it has."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Iterator
from math import ceil, floor, log10
from typing import IO

from rich.console import Console
from rich.text import Text

from hardstone.calling import as_typed
from hardstone.model import RunDocument
from hardstone.present.headline import (
    conditions_text,
    kernel_text,
    machine_text,
    state_text,
)
from hardstone.present.notices import deviations
from hardstone.present.overview import (
    FailedClaim,
    Timing,
    decisive,
    families,
    stands_out,
    timings,
)
from hardstone.present.wording import clean, format_value, one_line, shorten
from hardstone.stats.conditions import conditions_in
from hardstone.stats.contradictions import MARK, MARK_NOTE, trust_of
from hardstone.terminal.console import make_console
from hardstone.terminal.run_rows import (
    NOT_REALTIME,
    TRUST_STYLE,
    advice_commands,
    advice_rows,
    contradiction_lines,
    grants,
    is_not_realtime,
)
from hardstone.terminal.screen_columns import column_lines
from hardstone.units import format_count

MOST_LINES = 37  # of 40: the command has a few lines to say after them
MOST_TIMINGS = 20
_MOST_FAILED = 5
_MOST_CONTRADICTIONS = 3
_MOST_COMMANDS = 3
_GUTTER = 12
_INDENT = 8
_COLUMNS = (9, 9, 12)  # worst observed, median, count
_LEAST_BAR = 16
_LEAST_LABEL = 8
_MOST_LABEL = 44
_TEST = 10


def print_screen(document: RunDocument, stream: IO[str] | None = None) -> None:
    """Prints `document` to `stream` (default: standard output), in colour on a terminal."""
    console = make_console(stream)
    above = [*_head(console, document), *_behaviours(console, document)]
    below = [*_standing_out(console, document), *_advice(console, document), *_read_on(document)]
    room = MOST_LINES - len(above) - len(below)
    if len(conditions_in(document)) > 1:
        between = column_lines(document, console.width, room)
    else:
        between = list(_timings(console, document, room))
    for line in [*above, *between, *below]:
        console.print(line, soft_wrap=True)


def _head(console: Console, document: RunDocument) -> Iterator[Text]:
    """Run, machine, conditions, trust."""
    for line in list(contradiction_lines(document))[:_MOST_CONTRADICTIONS]:
        for part in _wrapped(line.plain, console.width, 2):
            yield Text(part, style="bold red")
    if is_not_realtime(document):
        yield Text(NOT_REALTIME, style="bold red")
    title = f"{document.id}  {document.name}, {state_text(document, has_start=False)}"
    yield _cut(console, title, "bold")
    yield _cut(console, machine_text(document.system))
    yield _cut(console, kernel_text(document.system))
    yield _cut(console, conditions_text(document))
    trust = trust_of(document)
    reasons = "; ".join(trust.reasons)
    said = f"{trust.grade}: {reasons}" if reasons else trust.grade
    yield from _labelled(console, "trust", said, 2, TRUST_STYLE[trust.grade])


def _behaviours(console: Console, document: RunDocument) -> Iterator[Text]:
    """A line for each family, and below it what its failed claims mean."""
    left = _MOST_FAILED
    hidden = 0
    for family in families(document):
        is_whole = family.held_count == family.claim_count
        style = "green" if is_whole else "yellow" if not _counted(family.failed) else "bold red"
        yield Text(f"{family.name:{_GUTTER}}") + Text(family.text, style=style)
        for claim in family.failed[:left]:
            yield from _failed_lines(console, claim)
        hidden += len(family.failed[left:])
        left -= len(family.failed[:left])
    if hidden:
        yield Text(f"{'':{_GUTTER}}and {hidden} more that failed, with --all")


def _counted(failed: list[FailedClaim]) -> list[FailedClaim]:
    return [one for one in failed if not one.uncounted]


def _failed_lines(console: Console, claim: FailedClaim) -> list[Text]:
    word, style = ("fail", "yellow") if claim.uncounted else ("FAIL", "bold red")
    text = one_line(f"{claim.title}: {claim.meaning}")
    lines = _wrapped(text, console.width - _INDENT, 2)
    first = Text(f"  {word}  ", style=style) + Text(lines[0])
    return [first, *(Text(" " * _INDENT + line) for line in lines[1:])]


def _timings(console: Console, document: RunDocument, room: int) -> Iterator[Text]:
    """Worst observed, median, count and bar of each test, or of the decisive ones."""
    found = timings(document)
    if not found or room < 2:
        return
    most = min(room, MOST_TIMINGS + 1)
    shown = found if len(found) < most else decisive(found, most - 2)
    low, high = _decades(shown)
    width = max(console.width - _TEST - sum(_COLUMNS) - _MOST_LABEL, _LEAST_BAR)
    label = max(console.width - _TEST - sum(_COLUMNS) - 1 - width, _LEAST_LABEL)
    scale = f"{format_value(10**low, 'ns')} to {format_value(10**high, 'ns')}"
    yield Text(
        f"{'test':{_TEST}}{'series':{label}}{'worst':>{_COLUMNS[0]}}{'median':>{_COLUMNS[1]}}"
        f"{'count':>{_COLUMNS[2]}} {shorten(scale, width)}",
        style="bold",
    )
    farthest = max(map(_ratio, shown))
    for one in shown:
        is_farthest = _ratio(one) == farthest > 1
        yield _timing_line(console, one, label, (low, high, width), is_farthest=is_farthest)
    if any(one.is_contradictory for one in shown):
        yield Text(MARK_NOTE)
    if len(shown) < len(found):
        more = len(found) - len(shown)
        yield Text(f"and {more} more that timed less, with --all", style="dim")


def _timing_line(
    console: Console, one: Timing, label: int, axis: tuple[int, int, int], *, is_farthest: bool
) -> Text:
    mark = MARK if one.is_contradictory else ""
    what = ", ".join(filter(None, (one.under, one.label)))
    median = "-" if one.median_ns is None else format_value(one.median_ns, "ns")
    style = "bold red" if is_farthest else ""
    return (
        Text(f"{shorten(one.test, _TEST - 1):{_TEST}}{shorten(what, label - 1):{label}}")
        + Text(f"{format_value(one.worst_ns, 'ns') + mark:>{_COLUMNS[0]}}", style=style or "bold")
        + Text(f"{median:>{_COLUMNS[1]}}{format_count(one.count):>{_COLUMNS[2]}} ")
        + Text(_bar(console, one, *axis), style=style)
    )


def _ratio(one: Timing) -> float:
    """How far the worst observed is from the median: where a program is surprised."""
    return one.worst_ns / max(one.median_ns or one.worst_ns, 1)


def _decades(found: list[Timing]) -> tuple[int, int]:
    """Powers of ten around all that is shown."""
    values = [max(value, 1) for one in found for value in (one.worst_ns, one.median_ns or 1)]
    low = floor(log10(min(max(one.median_ns or one.worst_ns, 1) for one in found)))
    return low, max(ceil(log10(max(values))), low + 1)


def _bar(console: Console, one: Timing, low: int, high: int, width: int) -> str:
    """From the median to the worst observed, on a logarithmic scale."""
    is_plain = "utf" not in (console.encoding or "").lower()
    line, end = ("-", "#") if is_plain else ("\u2501", "\u25cf")

    def place(value_ns: int) -> int:
        share = (log10(max(value_ns, 1)) - low) / (high - low)
        return min(max(round(share * (width - 2)), 0), width - 2)

    last = place(one.worst_ns)
    first = last if one.median_ns is None else min(place(one.median_ns), last)
    return " " * first + line * (last - first) + end


def _standing_out(console: Console, document: RunDocument) -> Iterator[Text]:
    for number, one in enumerate(stands_out(document)):
        style = "bold red" if one.is_grave else "yellow"
        yield from _labelled(console, "" if number else "stands out", one.text, 2, style)


def _advice(console: Console, document: RunDocument) -> Iterator[Text]:
    """The advice in one or two lines, and what to type."""
    rows = [text.plain.removesuffix(":") for (text,) in advice_rows(document)]
    said = "; ".join([*rows[:1], *(row.removeprefix("hurts: ") for row in rows[1:])])
    unlike = [one.command for one in deviations(document) if one.command]
    commands = dict.fromkeys([*unlike, *grants(document), *advice_commands(document)])
    if said:
        yield from _labelled(console, "advice", said, 2)
    for command in list(commands)[:_MOST_COMMANDS]:
        yield _command("", command)


def _read_on(document: RunDocument) -> Iterator[Text]:
    run = shlex.quote(document.id)
    yield _command("all of it", f"hardstone show {run} --all")
    yield _command("charts", f"hardstone report {run}")


def _command(label: str, command: str) -> Text:
    """A command on a line of its own, never cut."""
    return Text(f"{label:{_GUTTER}}") + Text(clean(as_typed(command)), style="cyan")


def _labelled(
    console: Console, label: str, text: str, most: int, style: str = ""
) -> Iterator[Text]:
    """`text` beside its label, in at most `most` lines."""
    width = console.width - _GUTTER
    lines = _wrapped(text, width, most)
    for number, line in enumerate(lines or [""]):
        yield Text(f"{'' if number else label:{_GUTTER}}") + Text(line, style=style)


def _wrapped(text: str, width: int, most: int) -> list[str]:
    """At most `most` lines; the name of a test stays whole."""
    return textwrap.wrap(
        one_line(text), width, max_lines=most, placeholder=" \u2026", break_on_hyphens=False
    )


def _cut(console: Console, text: str, style: str = "") -> Text:
    return Text(shorten(text, console.width), style=style)
