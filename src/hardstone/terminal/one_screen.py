"""One screen of a run: the answer, bars, and columns of conditions; and the head, the trust and
the advice, which other screens of a run have too.
"""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, zip_longest
from math import ceil, floor, log10
from typing import IO

from rich.console import Console
from rich.text import Text

from hardstone.calling import as_typed, granting, parted_text
from hardstone.catalogue import kind_of
from hardstone.event_names import KERNEL_TEST, LEFT_REMEDY, POSIX_TEST, TIRE_TESTS
from hardstone.model import Result, RunDocument, Trust
from hardstone.present.measured_tables import noise_line
from hardstone.present.notices import deviations
from hardstone.present.overview import (
    FailedClaim,
    Timing,
    conditions_text,
    decisive,
    families,
    headline,
    stands_out,
    state_text,
    timings,
)
from hardstone.present.stars_text import run_stars_lines
from hardstone.present.why_late import worst_causes
from hardstone.stats.conditions import (
    Comparison,
    Condition,
    SeriesRow,
    Worst,
    comparisons_in,
    conditions_in,
    decisive_row,
    names_in,
    sweep_points,
    worst_on_any_cpu,
)
from hardstone.stats.consistency import (
    MARK,
    MARK_NOTE,
    TITLE,
    contradiction_messages,
    is_contradictory,
    trust_of,
)
from hardstone.stats.trust import has_run, lacks_realtime
from hardstone.terminal.console import (
    Row,
    make_console,
    print_command,
    words,
)
from hardstone.units import format_count
from hardstone.wording import (
    clean,
    format_value,
    kernel_text,
    one_line,
    ratio_text,
    short,
    shorten,
    spoken,
    target_text,
)

_NOT_REALTIME = "not scheduled as real-time"
_TRUST_STYLE = {"full": "green", "indicative": "yellow", "untrustworthy": "bold red"}
_TYPE = "; type: "
_MOST_RUN_ROWS = 200  # a damaged document may have any number


def not_realtime_lines(document: RunDocument) -> Iterator[Text]:
    """The warning that comes first if tests were not real-time, with its advice."""
    if _is_not_realtime(document):
        yield Text(_NOT_REALTIME, style="bold red")
        for line in document.advice:
            if line.startswith(_NOT_REALTIME):
                yield words("  " + line.partition(": ")[2].partition(_TYPE)[0])


def _is_not_realtime(document: RunDocument) -> bool:
    """Whether tests ran without the real-time scheduling that was requested."""
    is_lacking = any(map(lacks_realtime, document.results))
    is_said = any(line.startswith(_NOT_REALTIME) for line in document.advice)
    return document.plan.policy != "other" and (is_lacking or is_said)


def grants(document: RunDocument) -> list[str]:
    """The commands in the advice that grant real-time scheduling."""
    lines = [line for line in document.advice if line.startswith(_NOT_REALTIME)]
    commands = [granting(line.partition(_TYPE)[2]) for line in lines]
    return [command for command in commands if command]


def advice_rows(document: RunDocument) -> Iterator[Row]:
    """The advice, without the lines that the head of the summary shows."""
    for line in document.advice:
        if not line.startswith(_NOT_REALTIME):
            text, command = parted_text(line)
            yield (words(f"{text}:" if command else text),)


def advice_commands(document: RunDocument) -> list[str]:
    """The commands in the advice."""
    found = (parted_text(line)[1] for line in document.advice)
    return [command for command in dict.fromkeys(found) if command]


def trust_rows(document: RunDocument) -> Iterator[Row]:
    """The grade, its reasons, and the facts that changed during the run."""
    trust = trust_of(document)
    yield Text("trust:", style="bold"), Text(trust.grade, style=_TRUST_STYLE[trust.grade])
    for reason in trust.reasons[:_MOST_RUN_ROWS]:
        yield Text(""), words(reason.removesuffix(f": {LEFT_REMEDY}"))
    for changed in document.environment_moved[:_MOST_RUN_ROWS]:
        before, after = (short(one) or "not known" for one in (changed.before, changed.after))
        yield Text(""), words(f"{changed.fact} changed from {before} to {after}")
    more = sum(
        max(len(of_a_kind) - _MOST_RUN_ROWS, 0)
        for of_a_kind in (trust.reasons, document.environment_moved)
    )
    if more:
        yield Text(""), words(f"and {more} more, in the report")


def contradiction_lines(document: RunDocument) -> Iterator[Text]:
    """Figures that cannot be true, under a title; empty if there are none."""
    lines = contradiction_messages(document)
    if lines:
        yield Text(TITLE, style="bold red")
        yield from (Text("  ") + words(line) for line in lines)


_MOST_TIMINGS = 20
_COLUMNS = (9, 9)  # worst observed, median
_LEAST_COUNT = 12
_LEAST_BAR = 16
_LEAST_BAR_LABEL = 8
_MOST_LABEL = 44
_TEST = 10


def bar_lines(console: Console, document: RunDocument, room: int) -> Iterator[Text]:
    """Worst observed, median, count and bar of each test, or of the decisive tests."""
    found = timings(document)
    most = min(room, _MOST_TIMINGS + 1)
    shown = found if len(found) < most else decisive(found, most - 2)
    if not shown:
        return
    low, high = _decades(shown)
    count = max(_LEAST_COUNT, *(len(format_count(one.count)) + 2 for one in shown))
    fixed = _TEST + sum(_COLUMNS) + count
    width = max(console.width - fixed - _MOST_LABEL, _LEAST_BAR)
    label = max(console.width - fixed - 1 - width, _LEAST_BAR_LABEL)
    scale = f"{format_value(10**low, 'ns')} to {format_value(10**high, 'ns')}"
    yield Text(
        f"{'test':{_TEST}}{'series':{label}}{'worst':>{_COLUMNS[0]}}{'median':>{_COLUMNS[1]}}"
        f"{'count':>{count}} {shorten(scale, width)}",
        style="bold",
    )
    farthest = max(map(_worst_ratio, shown))
    for one in shown:
        is_farthest = _worst_ratio(one) == farthest > 1
        columns = (label, count)
        yield _timing_line(console, one, columns, (low, high, width), is_farthest=is_farthest)
    if any(one.is_contradictory for one in shown):
        yield Text(MARK_NOTE)
    if len(shown) < len(found):
        more = len(found) - len(shown)
        yield Text(f"and {more} more tests, with --all", style="dim")


def _timing_line(
    console: Console,
    one: Timing,
    columns: tuple[int, int],
    axis: tuple[int, int, int],
    *,
    is_farthest: bool,
) -> Text:
    label, count = columns
    mark = MARK if one.is_contradictory else ""
    what = ", ".join(filter(None, (one.under, one.label)))
    median = "-" if one.median_ns is None else format_value(one.median_ns, "ns")
    style = "bold red" if is_farthest else ""
    return (
        Text(f"{shorten(one.test, _TEST - 1):{_TEST}}{shorten(what, label - 1):{label}}")
        + Text(f"{format_value(one.worst_ns, 'ns') + mark:>{_COLUMNS[0]}}", style=style or "bold")
        + Text(f"{median:>{_COLUMNS[1]}}{format_count(one.count):>{count}} ")
        + Text(_bar(console, one, *axis), style=style)
    )


def _worst_ratio(one: Timing) -> float:
    """The ratio of worst observed to median."""
    return max(one.worst_ns, 1) / max(_known_median_ns(one), 1)


def _known_median_ns(one: Timing) -> int:
    return one.worst_ns if one.median_ns is None else one.median_ns


def _decades(found: list[Timing]) -> tuple[int, int]:
    """The powers of ten that enclose all shown values."""
    low = floor(log10(min(max(_known_median_ns(one), 1) for one in found)))
    return low, max(ceil(log10(max(max(one.worst_ns, 1) for one in found))), low + 1)


def _bar(console: Console, one: Timing, low: int, high: int, width: int) -> str:
    """A bar from the median to the worst observed, on a logarithmic scale."""
    is_plain = "utf" not in (console.encoding or "").lower()
    line, end = ("-", "#") if is_plain else ("\u2501", "\u25cf")

    def place(value_ns: int) -> int:
        share = (log10(max(value_ns, 1)) - low) / (high - low)
        return min(max(round(share * (width - 2)), 0), width - 2)

    last = place(one.worst_ns)
    first = last if one.median_ns is None else min(place(one.median_ns), last)
    return " " * first + line * (last - first) + end


MOST_COLUMNS = 4
_LEAST_LABEL = 14
_MOST_CELL = 16
_LEAST_CELL = 8
_FAR = 2.0  # times the first condition: the load, or the CPU configuration, matters


def _column_lines(document: RunDocument, width: int, room: int) -> list[Text]:
    """Worst observed of each test under each condition, and its ratio to the first, in at most
    `room` lines; empty if nothing was timed."""
    timed = [one for one in comparisons_in(document) if kind_of(one.test) != "behaviour"]
    found = [(one, row) for one in timed if (row := decisive_row(one)) is not None]
    if not found or room < 4:
        return []
    conditions = found[0][0].conditions
    places = _places(found)
    cell = min((width - _TEST - _LEAST_LABEL) // len(places), _MOST_CELL)
    cell = max(cell, _LEAST_CELL)
    label = max(width - _TEST - cell * len(places), _LEAST_LABEL)
    notes = []
    if len(places) < len(conditions):
        notes.append(f"and {len(conditions) - len(places)} more conditions, with --all")
    headings = _headings(document, [conditions[place] for place in places], cell, label)
    most = room - len(headings) - len(notes)
    shown = found if len(found) <= most else _highest(found, most - 1)
    if len(shown) < len(found):
        notes.append(f"and {len(found) - len(shown)} more tests, with --all")
    lines = [_line(one, row, places, label, cell) for one, row in shown]
    return [*headings, *lines, *(Text(note, style="dim") for note in notes)]


def _places(found: list[tuple[Comparison, SeriesRow]]) -> list[int]:
    """The first condition, which is the reference, and those with the highest ratios."""
    count = len(found[0][0].conditions)
    if count <= MOST_COLUMNS:
        return list(range(count))

    def highest(place: int) -> float:
        return max(_condition_ratio(one, row, place) for one, row in found)

    others = sorted(range(1, count), key=lambda place: -highest(place))
    return [0, *sorted(others[: MOST_COLUMNS - 1])]


def _condition_ratio(one: Comparison, row: SeriesRow, place: int) -> float:
    """The ratio to the first condition, whatever the CPUs; 0 where there is none."""
    worst = worst_on_any_cpu(row, one.results[place])
    return (worst and worst.ratio_to(worst_on_any_cpu(row, one.results[0]))) or 0.0


def _highest(
    found: list[tuple[Comparison, SeriesRow]], most: int
) -> list[tuple[Comparison, SeriesRow]]:
    ranked = sorted(found, key=lambda pair: -pair[1].highest)[: max(most, 0)]
    kept = {id(row) for _, row in ranked}
    return [pair for pair in found if id(pair[1]) in kept]


def _headings(
    document: RunDocument, conditions: list[Condition], cell: int, label: int
) -> list[Text]:
    """The load above the CPU configuration if both differ within the run."""
    names = names_in(document)
    parts = [names.label(one).split(", ") for one in conditions]
    lines = max(len(part) for part in parts)
    first = f"{'test':{_TEST}}{'worst observed':{label}}"
    return [
        Text(
            (first if number == lines - 1 else " " * len(first))
            + "".join(
                f"{shorten(part[number] if number < len(part) else '', cell - 1):>{cell}}"
                for part in parts
            ),
            style="bold",
        )
        for number in range(lines)
    ]


def _line(one: Comparison, row: SeriesRow, places: list[int], label: int, cell: int) -> Text:
    line = Text(f"{shorten(one.test, _TEST - 1):{_TEST}}")
    line += Text(f"{shorten(spoken(row.first.name), label - 1):{label}}")
    first = worst_on_any_cpu(row, one.results[0])
    for place in places:
        line += _cell(first if place else None, one.results[place], row, cell)
    return line


def _cell(first: Worst | None, result: Result | None, row: SeriesRow, cell: int) -> Text:
    """Worst observed with its ratio to that of `first`, or with its CPU if that is another."""
    worst = worst_on_any_cpu(row, result)
    if worst is None:
        status = "not run" if result is None else "-" if has_run(result) else result.status
        return Text(f"{shorten(status, cell - 1):>{cell}}", style="yellow")
    series = worst.series
    mark = MARK if is_contradictory(series) else ""
    text, style = f"{format_value(series.max, series.unit)}{mark}", ""
    if first is not None and first.cpus != worst.cpus:
        text += f", CPU {series.labels.get('cpu', '?')}"
    elif (ratio := worst.ratio_to(first)) is not None:
        text += f" x{ratio_text(ratio)}"
        style = "bold red" if ratio >= _FAR else ""
    return Text(f"{shorten(text, cell - 1):>{cell}}", style=style)


MOST_LINES = 37  # of 40: the command has a few lines to say after them
_ENOUGH_FOR_TIMINGS = 8
# Failed claims, commands, and lines for each text.
_ROOMY = (5, 3, 2)
_TIGHT = (3, 2, 1)
_LOOKS = {"passed": "green", "failed": "bold red", "partly": "yellow"}
_MOST_STAR_LINES = 2
_FEW_PASSED = 2  # families without a failed claim, each on a line of its own where room is tight
_GUTTER = 12
_INDENT = 8


def print_screen(document: RunDocument, stream: IO[str] | None = None) -> None:
    """Prints `document` to `stream` (default: standard output), in colour on a terminal."""
    console = make_console(stream)
    stars, features = run_stars_lines(document), _features(document)
    for limits in (_ROOMY, _TIGHT):
        words = _Words(document, stars, features, console.width, *limits)
        above, below = list(words.above()), list(words.below())
        room = MOST_LINES - len(above) - len(below)
        if room >= _ENOUGH_FOR_TIMINGS:
            break
    if sweep_points(document):
        from hardstone.simulation.screen import screen_lines

        figures = screen_lines(console, document, room)
    elif len(conditions_in(document)) > 1:
        figures = _column_lines(document, console.width, room)
    else:
        figures = list(bar_lines(console, document, room))
    for line in [*above, *figures, *below]:
        line.truncate(console.width, overflow=line.overflow or "ellipsis")  # wide characters
        console.print(line, soft_wrap=True)


def _features(document: RunDocument) -> dict[str, list[str]]:
    """Lines on tests with tables of their own; only the modules that a run needs are loaded."""
    tests = {one.test for one in document.results}
    found: dict[str, list[str]] = {}
    if KERNEL_TEST in tests:
        from hardstone.kernel.tables import kernel_lines

        found["kernel time"] = [f"{who} {text}" for who, text in kernel_lines(document)]
    if POSIX_TEST in tests:
        from hardstone.posix.tables import posix_lines

        found["POSIX"] = posix_lines(document)
    if tests.intersection(TIRE_TESTS):
        from hardstone.simulation.tables import tire_lines

        found["simulation"] = tire_lines(document)
    return found


@dataclass(frozen=True)
class _Words:
    """Everything but the figures. Limits: failed claims, commands, and lines per text."""

    document: RunDocument
    stars: list[str]
    features: dict[str, list[str]]
    width: int
    claims: int
    commands: int
    lines_each: int

    def above(self) -> Iterator[Text]:
        """Run, machine, conditions, trust, stars, claims."""
        document = self.document
        for line in list(contradiction_lines(document))[:2]:
            for part in self._wrapped(line.plain, self.width):
                yield Text(part, style="bold red")
        if _is_not_realtime(document):
            yield Text(_NOT_REALTIME, style="bold red")
        state = f", {state_text(document, has_start=False)}"
        name = Text(f"{document.id} {one_line(document.name)}")
        name.truncate(max(self.width - len(state), len(document.id)), overflow="ellipsis")
        yield Text(name.plain + state, style="bold")
        yield Text(shorten(target_text(document), self.width))
        yield Text(shorten(kernel_text(document.system), self.width))
        yield from map(Text, self._wrapped(conditions_text(document, is_brief=True), self.width))
        yield from self._trust()
        yield from self._stars()
        yield from self._behaviours()

    def below(self) -> Iterator[Text]:
        """What stands out, advice, and the commands that show more."""
        for number, one in enumerate(stands_out(self.document)):
            style = "bold red" if one.is_grave else "yellow"
            yield from self._labelled("" if number else "stands out", one.text, style)
        for name, texts in self.features.items():
            for number, text in enumerate(texts):
                yield from self._labelled("" if number else name, text)
        yield from self._noise()
        yield from self._why_late()
        yield from self._advice()
        run = shlex.quote(self.document.id)
        yield _command("all of it", f"hardstone show {run} --all")
        yield _command("charts", f"hardstone report {run}")

    def _behaviours(self) -> Iterator[Text]:
        """A line for each family, and below it what its failed claims mean."""
        found = families(self.document)
        # The first of each family before the second of any.
        failed = [one for row in zip_longest(*(family.failed for family in found)) for one in row]
        failed = [one for one in failed if one is not None]
        shown = sorted(failed, key=lambda claim: bool(claim.uncounted))[: self.claims]
        passed = [one for one in found if one.look == "passed"] if self.lines_each == 1 else []
        if len(passed) > _FEW_PASSED:
            text = ", ".join(f"{one.name} {one.claim_count}" for one in passed)
            for number, line in enumerate(textwrap.wrap(f"all hold: {text}", self.width - _GUTTER)):
                label = "" if number else "claims"
                yield Text(f"{label:{_GUTTER}}") + Text(line, style=_LOOKS["passed"])
            found = [one for one in found if one not in passed]
        for family in found:
            yield Text(f"{family.name:{_GUTTER}}") + Text(family.text, style=_LOOKS[family.look])
            for claim in family.failed:
                if claim in shown:
                    yield from self._failed(claim)
        if len(shown) < len(failed):
            yield Text(f"{'':{_INDENT}}and {len(failed) - len(shown)} more that failed, with --all")

    def _stars(self) -> Iterator[Text]:
        width = self.width - _GUTTER
        lines = [textwrap.wrap(one_line(text), width)[:_MOST_STAR_LINES] for text in self.stars]
        for number, line in enumerate(chain.from_iterable(lines)):
            yield Text(f"{'' if number else 'stars':{_GUTTER}}") + Text(line)

    def _failed(self, claim: FailedClaim) -> Iterator[Text]:
        word, style = ("fail", "yellow") if claim.uncounted else ("FAIL", "bold red")
        lines = self._wrapped(f"{claim.title}: {claim.meaning}", self.width - _INDENT)
        yield Text(f"  {word}  ", style=style) + Text(lines[0])
        yield from (Text(" " * _INDENT + line) for line in lines[1:])

    def _trust(self) -> Iterator[Text]:
        """The grade, the most severe reason, those others that fit, and how many do not."""
        trust = trust_of(self.document)
        shown = trust.reasons[:1]
        for reason in trust.reasons[1:]:
            if self._is_short(_graded(trust, [*shown, reason])):
                shown.append(reason)
        yield from self._labelled("trust", _graded(trust, shown), _TRUST_STYLE[trust.grade])

    def _is_short(self, text: str) -> bool:
        lines = textwrap.wrap(one_line(text), self.width - _GUTTER, break_on_hyphens=False)
        return len(lines) <= self.lines_each

    def _why_late(self) -> Iterator[Text]:
        """The worst value of each test with what was seen in its second."""
        found = worst_causes(self.document)
        shown = found[: self.commands]
        for number, (who, text) in enumerate(shown):
            yield from self._labelled("" if number else "why late", f"{who} {text}")
        if len(shown) < len(found):
            yield from self._labelled("", f"and {len(found) - len(shown)} more, with --all")

    def _noise(self) -> Iterator[Text]:
        """What took the CPU from loops that watched it."""
        names = names_in(self.document)
        found = [(names.name(one), noise_line(one)) for one in self.document.results if one.noise]
        for number, (who, text) in enumerate(found[: self.commands]):
            yield from self._labelled("" if number else "noise", f"{who}: {text}")
        if len(found) > self.commands:
            yield from self._labelled("", f"and {len(found) - self.commands} more, with --all")

    def _advice(self) -> Iterator[Text]:
        """The advice and its commands; those that restore settings come first."""
        document = self.document
        rows = [text.plain.removesuffix(":") for (text,) in advice_rows(document)]
        advice = "; ".join([*rows[:1], *(row.removeprefix("problem: ") for row in rows[1:])])
        if advice:
            yield from self._labelled("advice", advice)
        restoring = [one.command for one in deviations(document) if one.command]
        commands = dict.fromkeys([*restoring, *grants(document), *advice_commands(document)])
        for command in list(commands)[: self.commands]:
            yield _command("", command)

    def _labelled(self, label: str, text: str, style: str = "") -> Iterator[Text]:
        for number, line in enumerate(self._wrapped(text, self.width - _GUTTER)):
            yield Text(f"{'' if number else label:{_GUTTER}}") + Text(line, style=style)

    def _wrapped(self, text: str, width: int) -> list[str]:
        """At least one line; the name of a test stays whole."""
        lines = textwrap.wrap(
            one_line(text),
            width,
            max_lines=self.lines_each,
            placeholder=" \u2026",
            break_on_hyphens=False,
        )
        return lines or [""]


def _graded(trust: Trust, shown: list[str]) -> str:
    more = len(trust.reasons) - len(shown)
    texts = [*shown, f"and {more} more"] if more else shown
    return f"{trust.grade}: {'; '.join(texts)}" if texts else trust.grade


def _command(label: str, command: str) -> Text:
    """A command on a line of its own, never cut."""
    line = Text(f"{label:{_GUTTER}}", overflow="ignore")
    return line + Text(clean(as_typed(command)), style="cyan")


def print_head(console: Console, document: RunDocument) -> None:
    """Prints the title lines, preceded by the most severe warnings and their commands."""
    for line in (*contradiction_lines(document), *not_realtime_lines(document)):
        console.print(line)
    for command in grants(document):
        print_command(console, command)
    for number, text in enumerate(headline(document)):
        console.print(words(text, "" if number else "bold"))
