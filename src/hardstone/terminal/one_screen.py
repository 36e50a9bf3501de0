"""A run on one screen: at most MOST_LINES lines, whatever number of tests it has."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import IO

from rich.text import Text

from hardstone.calling import as_typed
from hardstone.model import RunDocument, Trust
from hardstone.present.headline import conditions_text, kernel_text, state_text, target_text
from hardstone.present.kernel_summary import kernel_lines
from hardstone.present.noise_table import noise_line
from hardstone.present.notices import deviations
from hardstone.present.overview import FailedClaim, families, stands_out
from hardstone.present.posix_table import posix_lines
from hardstone.present.stars_text import run_stars_lines
from hardstone.present.tire_lines import tire_lines
from hardstone.present.why_late import worst_causes
from hardstone.present.wording import clean, one_line, shorten
from hardstone.stats.conditions import conditions_in, names_in
from hardstone.stats.contradictions import trust_of
from hardstone.stats.tire_sweep import sweep_points
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
from hardstone.terminal.screen_bars import bar_lines
from hardstone.terminal.screen_columns import column_lines
from hardstone.terminal.tire_screen import screen_lines

MOST_LINES = 37  # of 40: the command has a few lines to say after them
_ENOUGH_FOR_TIMINGS = 8
# Failed claims, commands, and lines for each text.
_ROOMY = (5, 3, 2)
_TIGHT = (3, 2, 1)
_LOOKS = {"passed": "green", "failed": "bold red", "partly": "yellow"}
_MOST_STAR_LINES = 2
_FEW_HELD = 2  # families without a failed claim, each on a line of its own where room is tight
_GUTTER = 12
_INDENT = 8


def print_screen(document: RunDocument, stream: IO[str] | None = None) -> None:
    """Prints `document` to `stream` (default: standard output), in colour on a terminal."""
    console = make_console(stream)
    stars = run_stars_lines(document)
    for limits in (_ROOMY, _TIGHT):
        words = _Words(document, stars, console.width, *limits)
        above, below = list(words.above()), list(words.below())
        room = MOST_LINES - len(above) - len(below)
        if room >= _ENOUGH_FOR_TIMINGS:
            break
    if sweep_points(document):
        figures = screen_lines(console, document, room)
    elif len(conditions_in(document)) > 1:
        figures = column_lines(document, console.width, room)
    else:
        figures = list(bar_lines(console, document, room))
    for line in [*above, *figures, *below]:
        line.truncate(console.width, overflow=line.overflow or "ellipsis")  # wide characters
        console.print(line, soft_wrap=True)


@dataclass(frozen=True)
class _Words:
    """Everything but the figures. Limits: failed claims, commands, and lines per text."""

    document: RunDocument
    stars: list[str]
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
        if is_not_realtime(document):
            yield Text(NOT_REALTIME, style="bold red")
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
        for number, (who, text) in enumerate(kernel_lines(self.document)):
            yield from self._labelled("" if number else "kernel time", f"{who} {text}")
        for number, text in enumerate(posix_lines(self.document)):
            yield from self._labelled("" if number else "POSIX", text)
        for number, text in enumerate(tire_lines(self.document)):
            yield from self._labelled("" if number else "simulation", text)
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
        held = [one for one in found if one.look == "passed"] if self.lines_each == 1 else []
        if len(held) > _FEW_HELD:
            text = ", ".join(f"{one.name} {one.claim_count}" for one in held)
            for number, line in enumerate(textwrap.wrap(f"all hold: {text}", self.width - _GUTTER)):
                label = "" if number else "claims"
                yield Text(f"{label:{_GUTTER}}") + Text(line, style=_LOOKS["passed"])
            found = [one for one in found if one not in held]
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
        yield from self._labelled("trust", _graded(trust, shown), TRUST_STYLE[trust.grade])

    def _is_short(self, text: str) -> bool:
        lines = textwrap.wrap(one_line(text), self.width - _GUTTER, break_on_hyphens=False)
        return len(lines) <= self.lines_each

    def _why_late(self) -> Iterator[Text]:
        """The worst value of each test with what was seen in its second."""
        found = worst_causes(self.document, 1)
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
        said = "; ".join([*rows[:1], *(row.removeprefix("hurts: ") for row in rows[1:])])
        if said:
            yield from self._labelled("advice", said)
        unlike = [one.command for one in deviations(document) if one.command]
        commands = dict.fromkeys([*unlike, *grants(document), *advice_commands(document)])
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
