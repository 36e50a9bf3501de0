"""One screen of a run: how late, why, what next, how far to trust it, and a fixed dozen of rows;
and the head, the trust and the advice, which other screens of a run have too.
"""

from __future__ import annotations

import re
import shlex
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from math import ceil, log10
from typing import IO

from rich.console import Console
from rich.text import Text

from hardstone.calling import as_typed, granting, parted_text
from hardstone.event_names import KERNEL_TEST, LEFT_REMEDY, POSIX_TEST, TIRE_TESTS
from hardstone.model import RunDocument, Series, Trust
from hardstone.present.answer import (
    NOT_RUN,
    Answer,
    ScreenRow,
    answer_of,
    more_advice,
    other_rows,
    screen_rows,
)
from hardstone.present.measured_tables import noise_line
from hardstone.present.origin import loss_texts, origin_text, unknown_text, without_worst
from hardstone.present.overview import (
    conditions_text,
    families,
    headline,
    stands_out,
    state_text,
)
from hardstone.present.stars_text import run_stars_lines
from hardstone.stats.conditions import Condition, conditions_in, names_in, sweep_points
from hardstone.stats.consistency import (
    MARK,
    MARK_NOTE,
    TITLE,
    contradiction_messages,
    trust_of,
)
from hardstone.stats.identity import has_quantiles, histogram_problem, parse_layout
from hardstone.stats.quantiles import why_no_quantile
from hardstone.stats.trust import lacks_realtime
from hardstone.terminal.console import Row, make_console, print_command, words
from hardstone.units import format_count
from hardstone.wording import (
    clean,
    kernel_of,
    ratio_text,
    read_value,
    short,
    shorten,
    steps_text,
    target_text,
    time_machine,
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


MOST_LINES = 30
_BREAKING_SPACES = re.compile(r"[^\S\N{NO-BREAK SPACE}]+")
_WIDTH = 80  # the same lines whatever the terminal has room for
_GUTTER = 10
_INDENT = 8
_GRADES = {"good": "bold green", "fair": "bold", "poor": "bold yellow", "bad": "bold red"}
_MARK_STYLES = {"+": "green", "=": "", "-": "yellow", "--": "bold red"}
MOST_COLUMNS = 4
_NAME, _ID, _FIGURE, _COUNT, _MARK = 20, 9, 9, 11, 3
_LEAST_CELL = 8
_FAR = 2.0  # times the first condition: the load, or the CPU configuration, matters
_MOST_SENTENCE = 8  # lines, at the narrowest: its judgement is at the end
_MOST_FIRST = 5  # lines of the first step: no rule of the doctor has more
_LEAST_NAME, _RATIO = 6, 8
_FEW_ROWS = 6  # below this, rows that were not run share a line


@dataclass(frozen=True)
class _Limits:
    """How many failed claims, steps and problems are shown, and how many lines a text may take."""

    claims: int
    steps: int
    problems: int
    lines_each: int
    head_lines: int
    stars: int
    has_page: bool = True


_LIMITS = (
    _Limits(4, 3, 3, 3, 2, 3),
    _Limits(3, 3, 2, 2, 2, 2),
    _Limits(2, 2, 2, 3, 1, 1),
    _Limits(2, 2, 1, 2, 1, 1),
    _Limits(2, 1, 1, 2, 1, 1),
    _Limits(1, 1, 1, 2, 1, 1),
    _Limits(1, 1, 1, 1, 1, 1),
    _Limits(1, 1, 1, 1, 1, 1, has_page=False),
)


def print_screen(document: RunDocument, stream: IO[str] | None = None) -> None:
    """Prints `document` to `stream` (default: standard output), in colour on a terminal."""
    console = make_console(stream)
    width = console.width = min(console.width, _WIDTH)
    answer, stars = answer_of(document), run_stars_lines(document)
    is_plain = "utf" not in (console.encoding or "").lower()
    for limits in _LIMITS:
        texts = _Texts(document, answer, stars, width, limits, is_plain)
        above, below = list(texts.above()), list(texts.below())
        room = MOST_LINES - _rows_taken([*above, *below], width)
        figures = _figure_lines(console, document, width, room)
        wanted = _figure_lines(console, document, width, MOST_LINES)
        if len(figures) == len(wanted):
            break
    left = room - len(figures)
    extra = list(islice(texts.extra(), max(left, 0)))
    for line in [*above, *figures, *extra, *below]:
        line.truncate(width, overflow=line.overflow or "ellipsis")  # wide characters
        if is_plain:
            line.plain = line.plain.translate(_ASCII)
        console.print(line, soft_wrap=True)


def _rows_taken(lines: Sequence[Text], width: int) -> int:
    """The rows of a terminal; a command may be longer than one."""
    return sum(max(ceil(line.cell_len / width), 1) if line.overflow else 1 for line in lines)


def _figure_lines(console: Console, document: RunDocument, width: int, room: int) -> list[Text]:
    """At most `room` lines: the sweep of a simulation, a recording, or the rows of the screen."""
    if sweep_points(document):
        from hardstone.simulation.screen import screen_lines

        return screen_lines(console, document, room)
    from hardstone.terminal.distribution import recording_lines

    lines = recording_lines(document, console) or _rows_of(document).lines(document, width)
    lines += _lines_without_worst(document, width)
    if len(lines) <= max(room, 0):
        return lines
    kept = lines[: max(room - 1, 0)]
    more = len(lines) - len(kept)
    return [*kept, Text(f"and {more} more rows, with --all", style="dim")] if room > 2 else []


def _lines_without_worst(document: RunDocument, width: int) -> list[Text]:
    """A line for each series of a file that has no maximum."""
    found = without_worst(document) if document.imported is not None else []
    if not found:
        return []
    columns = {"mean": [one.mean for one in found], "median": [one.median for one in found]}
    columns["quantile"] = [one.tail for one in found]
    columns = {title: cells for title, cells in columns.items() if set(cells) != {"-"}}
    wide = {
        title: max(_FIGURE, *(len(cell) + 2 for cell in cells)) for title, cells in columns.items()
    }
    name = max(width - sum(wide.values()) - _ID - 2, _LEAST_CELL)
    titles = "".join(f"{title:>{wide[title]}}" for title in columns)
    lines = [Text(f"{'without a maximum':{name}}{titles}", style="bold")]
    for number, one in enumerate(found):
        figures = "".join(f"{cells[number]:>{wide[title]}}" for title, cells in columns.items())
        line = Text(f"{shorten(one.name, name - 1):{name}}{figures}  ")
        lines.append(line + Text(shorten(one.test, _ID), style="dim"))
    return lines


@dataclass(frozen=True)
class _Rows:
    """The rows of a screen; `absent`: the names of fixed rows that were not run, in one line."""

    rows: list[ScreenRow]
    absent: list[str]

    @property
    def reasons(self) -> list[str]:
        """Why a figure has no median, where the file of another tool is the reason."""
        found = [one.series for row in self.rows for one in row.figures if one is not None]
        return list(dict.fromkeys(filter(None, map(why_no_quantile, found))))

    def lines(self, document: RunDocument, width: int) -> list[Text]:
        conditions = conditions_in(document)
        if not self.rows:
            return []
        if len(conditions) > 1:
            lines = list(_column_lines(document, self.rows, conditions, width))
        else:
            lines = list(_single_lines(self.rows, width))
        if any(one.is_contradictory for row in self.rows for one in row.figures if one):
            lines.append(Text(MARK_NOTE))
        lines += [Text(line) for why in self.reasons for line in textwrap.wrap(f"-: {why}", width)]
        if self.absent:
            text = f"not run: {', '.join(self.absent)}"
            lines += [Text(line, style="dim") for line in textwrap.wrap(text, width)]
        return lines


def _rows_of(document: RunDocument) -> _Rows:
    """The fixed rows; where few of them were run, these and all other series that were timed."""
    fixed = screen_rows(document)
    run = [row for row in fixed if any(state != NOT_RUN for state in row.states)]
    if len(run) >= _FEW_ROWS:
        return _Rows(fixed, [])
    if document.imported is not None:  # nobody asked another tool for the others
        run = [row for row in run if row.figure is not None]
        return _Rows([*run, *other_rows(document, run)], [])
    absent = [row.name for row in fixed if row not in run]
    return _Rows([*run, *other_rows(document, run)], absent if run else [])


def _single_lines(rows: Sequence[ScreenRow], width: int) -> Iterator[Text]:
    """Worst observed, median, count and mark of each row."""
    counts = [row.figure.count_text for row in rows if row.figure is not None]
    values = max(_COUNT, *(len(one) + 2 for one in counts), 0)
    # Names of series need more room than those of the fixed rows; then only the ratio is shown.
    is_fixed = all(len(row.name) < _NAME for row in rows)
    reference = width - _NAME - 2 * _FIGURE - values - _ID - _MARK - 2 if is_fixed else _RATIO
    name = width - 2 * _FIGURE - values - _ID - _MARK - 2 - reference
    has_reference = any(row.reference for row in rows) and min(reference, name) >= _LEAST_CELL
    if not has_reference:
        name = max(width - 2 * _FIGURE - values - _ID - 1, _LEAST_CELL)
    heading = f"{'':{name}}{'worst':>{_FIGURE}}{'median':>{_FIGURE}}{'values':>{values}}"
    if has_reference:
        heading += "  against reference" if is_fixed else "  reference"
    yield Text(heading[:width], style="bold")
    for row in rows:
        figure = row.figure
        about = f", {figure.about}" if figure and figure.about and not has_reference else ""
        line = Text(f"{shorten(row.name + about, name - 1):{name}}")
        if figure is None:
            room = width - name - _ID - 1
            line += Text(f"{shorten(row.state, room - 1):{room}} ", style="yellow")
        else:
            mark = MARK if figure.is_contradictory else ""
            median = figure.median_text
            style = _MARK_STYLES.get(row.mark.rstrip("?"), "")
            worst = f"{figure.worst_text + mark:>{_FIGURE}}"
            line += Text(worst, style=style or "bold")
            line += Text(f"{median:>{_FIGURE}}{figure.count_text:>{values}}")
            if has_reference:
                line += Text("  ") + Text(f"{row.mark:{_MARK}}", style=style)
                said = figure.about or _reference_text(row)
                said = said if is_fixed else said.partition(" ")[0] if row.reference else ""
                line += Text(f"{shorten(said, reference - 1):{reference}}")
            else:
                line += Text(" ")
        yield line + Text(shorten(row.test, _ID), style="dim")


def _reference_text(row: ScreenRow) -> str:
    """ "x143 Solaris": how many times the reference, and which."""
    if row.reference is None or row.ratio is None:
        return ""
    return f"x{ratio_text(row.ratio)} {row.reference[0]}"


def _column_lines(
    document: RunDocument, rows: Sequence[ScreenRow], conditions: Sequence[Condition], width: int
) -> Iterator[Text]:
    """Worst observed of each row under each condition, and its ratio to the first."""
    places = _places(rows, len(conditions))
    cell = max((width - _NAME - _ID - _MARK - 1) // len(places), _LEAST_CELL)
    yield from _headings(document, [conditions[place] for place in places], cell)
    for row in rows:
        line = Text(f"{shorten(row.name, _NAME - 1):{_NAME}}")
        for place in places:
            line += _cell(row, place, cell)
        line += Text(f" {row.mark:{_MARK}}", style=_MARK_STYLES.get(row.mark.rstrip("?"), ""))
        yield line + Text(shorten(row.test, _ID), style="dim")
    if len(places) < len(conditions):
        count = len(conditions) - len(places)
        are = "condition" if count == 1 else "conditions"
        yield Text(f"and {count} more {are}, with --all", style="dim")


def _places(rows: Sequence[ScreenRow], count: int) -> list[int]:
    """The first condition, which is the reference, and those with the highest ratios."""
    if count <= MOST_COLUMNS:
        return list(range(count))

    def highest(place: int) -> float:
        pairs = ((row.figures[0], row.figures[place]) for row in rows)
        return max((b.worst_ns / max(a.worst_ns, 1) for a, b in pairs if a and b), default=0.0)

    others = sorted(range(1, count), key=lambda place: -highest(place))
    return [0, *sorted(others[: MOST_COLUMNS - 1])]


def _headings(document: RunDocument, conditions: Sequence[Condition], cell: int) -> list[Text]:
    """The load above the CPU configuration if both differ within the run."""
    names = names_in(document)
    parts = [names.label(one).split(", ") for one in conditions]
    lines = max(len(part) for part in parts)
    first = f"{'worst observed':{_NAME}}"
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


def _cell(row: ScreenRow, place: int, width: int) -> Text:
    """Worst observed with its ratio to that of the first condition, or with its CPU if that is
    another."""
    figure, first = row.figures[place], row.figures[0] if place else None
    if figure is None:
        state = row.states[place].partition(":")[0] or "-"
        return Text(f"{shorten(state, width - 1):>{width}}", style="yellow")
    mark = MARK if figure.is_contradictory else ""
    text, style = f"{figure.worst_text}{mark}", ""
    if first is not None and first.cpus != figure.cpus:
        text += f", CPU {figure.cpu}"
    elif first is not None and first.worst_ns > 0:
        ratio = figure.worst_ns / first.worst_ns
        text += f" x{ratio_text(ratio)}"
        style = "bold red" if ratio >= _FAR else ""
    return Text(f"{shorten(text, width - 1):>{width}}", style=style)


_BLOCKS, _PLAIN_BLOCKS = " \u2581\u2582\u2583\u2584\u2585\u2586\u2587\u2588", " .:-=+*#%@"


def spread_text(series: Series, width: int, quantum_ns: float = 1.0, *, is_plain: bool) -> str:
    """The distribution on one line: heights are logarithms of counts, on a logarithmic scale whose
    ends are named; "" where there are too few values or no readable histogram."""
    if series.min is None or series.max is None or histogram_problem(series.histogram):
        return ""
    if not has_quantiles(series.histogram):
        return ""
    if series.count < _LEAST_SPREAD or series.max <= max(series.min, 1):
        return ""
    low, high = (read_value(one, "ns", quantum_ns) for one in (series.min, series.max))
    cells = [0] * max(width - len(low) - len(high) - 2, 1)
    base = log10(max(series.min, 1))
    span = log10(series.max) - base
    layout = parse_layout(series.histogram.layout)
    for index, count in series.histogram.buckets:
        ends = layout.edges_of(index)
        middle = min(max((ends[0] + ends[1]) / 2, series.min, 1), series.max)
        place = int((log10(middle) - base) / span * len(cells))
        cells[min(place, len(cells) - 1)] += count
    cells[-1] += series.histogram.overflow
    blocks = _PLAIN_BLOCKS if is_plain else _BLOCKS
    most = log10(max(cells) + 1)
    drawn = "".join(
        blocks[ceil(log10(count + 1) / most * (len(blocks) - 1))] if count else blocks[0]
        for count in cells
    )
    return f"{low} {drawn} {high}"


_LEAST_SPREAD = 20
# One character each, so that nothing moves.
_ASCII = str.maketrans("\u00a0\u2026\u2605\u2606\u00bd", " ~*-+")


def _features(document: RunDocument) -> Iterator[tuple[str, str]]:
    """Lines on tests with tables of their own; only the modules that a run needs are loaded."""
    tests = {one.test for one in document.results}
    if tests.intersection(TIRE_TESTS):
        from hardstone.simulation.tables import tire_lines

        yield from (("simulation", text) for text in tire_lines(document))
    if POSIX_TEST in tests:
        from hardstone.posix.tables import posix_lines

        yield from (("POSIX", text) for text in posix_lines(document))
    if KERNEL_TEST in tests:
        from hardstone.kernel.tables import kernel_lines

        yield from (("kernel", f"{who} {text}") for who, text in kernel_lines(document))
    names = names_in(document)
    for one in document.results:
        if one.noise:
            yield "noise", f"{names.name(one)}: {noise_line(one)}"


@dataclass(frozen=True)
class _Texts:
    """Everything but the figures."""

    document: RunDocument
    answer: Answer
    stars: list[str]
    width: int
    limits: _Limits
    is_plain: bool

    def above(self) -> Iterator[Text]:
        """Run, machine, conditions; then how late, why, what next, how far to trust it."""
        document, answer = self.document, self.answer
        for line in list(contradiction_lines(document))[:2]:
            for part in self._wrapped(line.plain, self.width, 2):
                yield Text(part, style="bold red")
        state = f", {state_text(document, has_start=False)}"
        room = self.width - len(state) - len(document.id) - 1
        name = f" {shorten(document.name, room)}" if room >= _LEAST_NAME else ""
        yield Text(f"{document.id}{name}{state}", style="bold")
        if document.imported is not None:
            origin = f"read from {origin_text(document.imported)}"
            yield from map(Text, self._wrapped(origin, self.width, self.limits.head_lines))
        machine, kernel = target_text(document), kernel_of(document)
        if document.imported is not None and not document.system:
            yield Text("machine and kernel not known")
        elif self.limits.head_lines == 1:
            kernel = ", ".join(kernel.split(", ")[:2]).partition(" (")[0]
            if kind := time_machine(document.system):  # what matters most of the machine
                machine = f"{short(document.plan.target, 20)}: {kind}"
            else:
                machine = shorten(machine, max(self.width - len(kernel) - 2, self.width // 3))
            yield Text(shorten(f"{machine}; {kernel}", self.width))
        else:
            yield from (Text(shorten(one, self.width)) for one in (machine, kernel))
        conditions = conditions_text(document, is_brief=True)
        how, comma, load = conditions.partition(", load ")
        if comma and document.imported is None:
            conditions = f"load {load}, {how}"  # the load is never cut off
        yield from map(Text, self._wrapped(conditions, self.width, self.limits.head_lines))
        if steps := steps_text(document.instrument):
            yield from map(Text, self._wrapped(steps, self.width, 2))
        style = _GRADES.get(answer.grade, "bold")
        yield from self._labelled("how late", answer.sentence, style, _MOST_SENTENCE)
        if answer.figure is not None:
            room = self.width - _GUTTER
            figure = answer.figure
            drawn = spread_text(figure.series, room, figure.quantum_ns, is_plain=self.is_plain)
            if drawn:
                yield Text(" " * _GUTTER + drawn)
        yield from self._why()
        yield from self._next()
        yield from self._trust()
        yield from self._lost()

    def below(self) -> Iterator[Text]:
        """Stars, and the commands that show more."""
        for number, text in enumerate(self.stars[: self.limits.stars]):
            yield from self._labelled("" if number else "stars", text, most=1)
        run = shlex.quote(self.document.id)
        yield _command("all of it", f"hardstone show {run} --all")
        if self.limits.has_page:
            yield _command("page", f"hardstone report {run}")

    def extra(self) -> Iterator[Text]:
        """What is said where there is room: families of claims, tests with tables of their own,
        and what stands out without being a fault."""
        last = ""
        for label, text in (*self._families(), *_features(self.document), *self._remarks()):
            yield from self._labelled("" if label == last else label, text, most=2)
            last = label

    def _families(self) -> Iterator[tuple[str, str]]:
        held = sum(one.held_count for one in families(self.document))
        count = sum(one.claim_count for one in families(self.document))
        if count:
            yield "claims", f"{format_count(held)} of {format_count(count)} claims hold"

    def _remarks(self) -> Iterator[tuple[str, str]]:
        yield from (("note", one.text) for one in stands_out(self.document) if not one.is_grave)

    def _why(self) -> Iterator[Text]:
        """The cause of the worst value, what failed, and what else makes the run doubtful."""
        if self.answer.cause:
            yield from self._labelled("why", self.answer.cause, most=2)
        shown = self.answer.failed[: self.limits.claims]
        for claim in shown:
            word, style = ("fail", "yellow") if claim.uncounted else ("FAIL", "bold red")
            one_of = (
                f"1 of {len(self.answer.failed)}: "
                if len(shown) == 1 < len(self.answer.failed)
                else ""
            )
            text = f"{one_of}{claim.title}: {claim.meaning}"
            lines = self._wrapped(text, self.width - _INDENT, self.limits.lines_each)
            yield Text(f"  {word}  ", style=style) + Text(lines[0])
            yield from (Text(" " * _INDENT + line) for line in lines[1:])
        if 1 < len(shown) < len(self.answer.failed):
            more = len(self.answer.failed) - len(shown)
            are = "claim" if more == 1 else "claims"
            yield Text(f"{'':{_INDENT}}{more} more {are} failed, see --all")
        problems = [one for one in stands_out(self.document) if one.is_grave and not one.is_claim]
        for number, one in enumerate(problems[: self.limits.problems]):
            label = "" if number else "problem"
            yield from self._labelled(label, one.text, "bold red", self.limits.lines_each)

    def _next(self) -> Iterator[Text]:
        """The steps with what to type: the first in full."""
        steps = self.answer.steps
        shown = steps[: self.limits.steps]
        for number, step in enumerate(shown):
            label = "" if number else "what next"
            lead = f"{number + 1}. " if len(shown) > 1 else ""
            most = _MOST_FIRST if number == 0 else self.limits.lines_each
            yield from self._labelled(label, f"{lead}{step.text}", most=most)
            if step.command:
                yield _command("", step.command)
        if more := more_advice(self.document):
            count = len(steps) - len(shown)
            more_steps = f"and {count} more: see --all, and" if count > 0 else "see also"
            text = more_steps if shown else "see"
            label = "" if shown else "what next"
            yield (
                Text(f"{label:{_GUTTER}}{text} ", overflow="ignore") + _command("", more)[_GUTTER:]
            )

    def _trust(self) -> Iterator[Text]:
        """The grade, the most severe reason, those others that fit, and how many do not."""
        trust = trust_of(self.document)
        room = self.width - _GUTTER
        shown = trust.reasons[:1]
        for reason in trust.reasons[1:]:
            if len(_graded(trust, [*shown, reason])) <= room:
                shown.append(reason)
        style = _TRUST_STYLE[trust.grade]
        most = 1 if self.document.imported is None else 2
        yield from self._labelled("trust", _graded(trust, shown), style, most=most)

    def _lost(self) -> Iterator[Text]:
        """What the file of another tool does not say: as many lines as there is room for."""
        imported = self.document.imported
        if imported is None:
            return
        losses = loss_texts(imported)
        shown = losses[: 2 * self.limits.problems]
        for number, text in enumerate(shown):
            label = "" if number else "not said"
            yield from self._labelled(label, text, "yellow", self.limits.lines_each)
        more = [f"{len(losses) - len(shown)} more"] if len(losses) > len(shown) else []
        more += filter(None, [unknown_text(imported)])
        if more:
            label = "" if shown else "not said"
            yield from self._labelled(label, f"and {', '.join(more)}: see --all", "dim")

    def _labelled(self, label: str, text: str, style: str = "", most: int = 1) -> Iterator[Text]:
        for number, line in enumerate(self._wrapped(text, self.width - _GUTTER, most)):
            yield Text(f"{'' if number else label:{_GUTTER}}") + Text(line, style=style)

    def _wrapped(self, text: str, width: int, most: int) -> list[str]:
        """At least one line, at most `most`; the name of a test and a number stay whole."""
        lines = textwrap.wrap(
            _BREAKING_SPACES.sub(" ", clean(text)).strip(),
            width,
            max_lines=most,
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
