"""A comparison on one screen: stars, decisive figures, what differs, and where the rest is.

Of two runs it has both medians of each series and their ratio, or why there is none. Up to
MOST_COLUMNS systems are columns. More are rows, with fewer figures each.
"""

from __future__ import annotations

import shlex
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import zip_longest

from rich.text import Text

from hardstone.calling import as_typed
from hardstone.comparison.rows import AS_A_WHOLE, CONTRADICTS, EQUALS_TICK, MEDIAN, group_of
from hardstone.comparison.sizes import SIZES
from hardstone.comparison.tables import clock_steps
from hardstone.comparison.tools import WAKEUP
from hardstone.comparison.view import (
    ClaimCell,
    ComparedCell,
    ComparedRow,
    CompareView,
    SystemColumn,
    ToolComparison,
)
from hardstone.errors import InputError
from hardstone.figure_text import amount_text
from hardstone.present.stars_text import stars_number
from hardstone.stats.conditions import listed
from hardstone.stats.quantiles import median_of
from hardstone.stats.two_runs import QuantileRatio
from hardstone.systems.moments import QUESTIONS
from hardstone.systems.rating import Rating
from hardstone.systems.subjects import Amount, MeasuredSeries, Missing, PublishedSeries
from hardstone.terminal.console import make_console, wrapped
from hardstone.wording import numbers_text, one_line, ratio_text, read_value, shorten

MOST_LINES = 30
MOST_OF_MANY = 37  # more than _FEW systems: the name and the hardware of each take lines
_FEW = 3
MOST_COLUMNS = 6
_GUTTER = 12
_LEAST_CELL = 9
_MOST_CELL = 16
_LABEL, _LEAST_LABEL = 20, 12
_USUAL_FIGURES, _MOST_SHARED = 14, 28  # lines
_SHARED_CELL, _STATISTIC = 12, 6
_STATISTICS = {"max": "worst", "min": "least", "time_90": "90 %", "time_99": "99 %"}
_STATISTICS |= dict.fromkeys(SIZES, "")
_STARS = 6
_NAME, _MOST_NAME = 17, 40
_FIGURE = 9
_TICK_MARK, _CONTRADICTION = "*", "!"
_NAMED_ABOVE = ("machine", "study")  # with the systems
_MOST_DIFFERING = 5
_MEDIAN_WIDTH, _RATIO = 9, 24  # columns
_OUTCOMES = {"higher": ">", "lower": "<", "no difference seen": "=", "not decided": "?"}
_RATIO_MARKS = (
    "ratio of medians, 98 % interval: > higher, < lower, = equal within 10 %, ? not decided"
)
_MOST_PAIRED = 14
_MOST_COMMANDS = 2
_PAIRS = ("acquire", "release")
_UNCONTENDED = ("sem", "mutex")  # the first to go where systems are rows


def print_comparison(view: CompareView) -> None:
    """Prints `view` to standard output on one screen."""
    console = make_console()
    for line in comparison_lines(view, console.width):
        line.truncate(console.width, overflow=line.overflow or "ellipsis")  # no cut command
        console.print(line, soft_wrap=True)


def comparison_lines(view: CompareView, width: int) -> list[Text]:
    """The lines of the screen, none broken; the most telling are kept where not all fit."""
    columns, count = view.columns, len(view.columns)
    most = MOST_LINES if count <= _FEW else MOST_OF_MANY
    are_columns = count <= MOST_COLUMNS and _LEAST_LABEL + _LEAST_CELL * count <= width
    pair = _RunPair(view) if count == 2 and not any(one.is_published for one in columns) else None
    has_shared = view.shared is not None or (
        are_columns and all(one.is_published for one in columns)
    )
    shared = _Shared(view) if pair is None and has_shared else None
    if pair is not None and width >= _LEAST_LABEL + 2 * (_MEDIAN_WIDTH + _LEAST_CELL) + _RATIO:
        figures = pair.table(width)
    elif shared is not None:
        figures = shared.table(width, are_columns=are_columns)
        most += max(len(figures) - _USUAL_FIGURES, 0)
    else:
        figures = _as_columns(view, width) if are_columns else _as_rows(view, width)
    are_named = are_columns or shared is not None
    systems = list(_systems(view, _origin) if are_named else [])
    is_cut = any(len(line) > width for line in systems)
    if is_cut:
        systems = list(_systems(view, _study))
    rows = shared.rows if shared else view.decisive
    refused = pair.refused() if pair else _refused(rows, columns) if are_columns else []
    not_shown = "" if pair or shared else _more_shared(view)
    below = [
        *_legend(view, rows, width, is_named=are_columns),
        Text(f"{'all of it':{_GUTTER}}add -o comparison.html (or .pdf) to the command{not_shown}"),
        *_why(view),
    ]
    reference = columns[view.reference]
    head = f"{count} systems; {reference.number} is the reference: {shorten(reference.label, 40)}"
    alike = _grouped([one.apart or "" for one in columns])
    apart = [f"{numbers} {why}" for why, numbers in alike.items() if why]
    origins = [] if are_named else _shared([_origin(one) for one in columns])
    hardware = _shared([one.hardware or "not known" for one in columns]) if is_cut else []
    reserves = _shared([", ".join(one.rating.rated_as) for one in columns])
    medians = _shared(["; ".join(_outcomes(view, place)) for place in range(count)])
    where = [
        *_labelled("from", origins, width, 6),
        *_labelled("hardware", hardware, width, 8),
    ]
    differs = _labelled("differs", _differing(view), width, _MOST_DIFFERING)
    found = _labelled("why not", refused, width, 6)
    tools = list(_tools(view, width))
    most += len(tools)
    sections = [
        *_labelled("apart", apart, width, 3, "bold red"),
        *tools,
        *([] if pair else _labelled("medians", medians, width, 4)),
        # The study and the hardware of a published figure are always shown.
        *([*differs, *found, *where] if pair else [*where, *found, *differs]),
        *_labelled("rated as", reserves, width, 3, "yellow"),
    ]
    clocks = [Text(line) for text in _shared(clock_steps(columns)) for line in wrapped(text, width)]
    room = max(most - 1 - len(systems) - len(clocks) - len(figures) - len(below), 0)
    if len(sections) > room:
        more = Text(f"{'':{_GUTTER}}and more, with -o", style="dim")
        sections = [*sections[: room - 1], more] if room else []
    return [Text(head, style="bold"), *systems, *clocks, *figures, *sections, *below]


def _tools(view: CompareView, width: int) -> Iterator[Text]:
    """Between which moments each tool measures, and why their figures differ."""
    if view.tools is None:
        return
    label, room = "moments", width - _GUTTER
    for question, by_moments in _by_question(view.tools).items():
        if sum(map(len, by_moments.values())) < 2:  # the reasons name it
            continue
        yield Text(f"{label:{_GUTTER}}") + Text(QUESTIONS[question], style="bold")
        label = ""
        for (begin, end, place), numbers in by_moments.items():
            text = f"{numbers_text(numbers)}: begin: {begin}; end: {end}; in {place}"
            yield from (Text(f"{'':{_GUTTER}}{line}") for line in wrapped(text, room))
    label = "why differ"
    for one in view.tools.reasons:
        for line in wrapped(one_line(one.text), room):
            yield Text(f"{label:{_GUTTER}}{line}")
            label = ""
    commands = [(one.number, one.command) for one in view.tools.tools if one.command]
    for number, command in commands[:_MOST_COMMANDS]:
        typed = Text(f"{f'same as {number}':{_GUTTER}}", overflow="ignore")
        yield typed.append(as_typed(command), "cyan")


_Moments = tuple[str, str, str]


def _by_question(tools: ToolComparison) -> dict[str, dict[_Moments, list[int]]]:
    """The numbers of the systems by question and moments."""
    found: dict[str, dict[_Moments, list[int]]] = {}
    for tool in tools.tools:
        for one in tool.figures:
            moments = one.begin, one.end, one.thread
            found.setdefault(one.question, {}).setdefault(moments, []).append(tool.number)
    return found


def _systems(view: CompareView, origin: Callable[[SystemColumn], str]) -> Iterator[Text]:
    """Number, name and origin of each system."""
    names = different_names([one.label for one in view.columns], 32)
    for one, label in zip(view.columns, names, strict=True):
        style = "" if not one.apart else "dim"
        name = " ".join(filter(None, (label, one.mark)))
        yield Text(f"{one.number:>2} {one_line(f'{name}: {origin(one)}')}", style=style)


def different_names(names: Sequence[str], most: int) -> list[str]:
    """`names` cut to `most` characters; those that are then the same, in their middle."""
    cut = [shorten(one, most) for one in names]
    same, half = Counter(cut), most // 2
    return [
        text if same[text] == 1 else f"{shorten(name, half)}{one_line(name)[-half:]}"
        for name, text in zip(names, cut, strict=True)
    ]


def _study(one: SystemColumn) -> str:
    """The study with its year, or the ID of the run."""
    if not one.is_published:
        return one.id
    year = "" if one.year and one.year in one.study else one.year
    return f"{one.study} {year}".strip()


def _origin(one: SystemColumn) -> str:
    return ", ".join(filter(None, (_study(one), one.hardware)))


class _RunPair:
    """Two runs: the series that both measured, and why some figures have no ratio."""

    def __init__(self, view: CompareView) -> None:
        self._view = view
        self._other = view.columns[1 - view.reference]
        self._reference = view.columns[view.reference]
        decisive = {one.partition("/")[0] for one in (row.address for row in view.decisive)}
        rows = [row for row in view.decisive if row.known_count == 2]
        for test in view.tests:
            if test.test not in decisive:
                both = [row for row in test.rows if row.known_count == 2]
                rows += sorted(both, key=lambda row: -max(map(_worst_value, row.cells)))[:1]
        self._rows = rows[:_MOST_PAIRED]
        self._left_out = len(rows) - len(self._rows)

    def table(self, width: int) -> list[Text]:
        if not self._rows:
            return [Text("No series was measured in both runs.", style="yellow")]
        cell = min(max((width - _LABEL - 2 * _MEDIAN_WIDTH - _RATIO) // 2, _LEAST_CELL), _MOST_CELL)
        label = width - 2 * (cell + _MEDIAN_WIDTH) - _RATIO
        numbers = [one.number for one in self._view.columns]
        heads = "".join(f"{f'worst {one}':>{cell}}" for one in numbers)
        heads += "".join(f"{f'median {one}':>{_MEDIAN_WIDTH}}" for one in numbers)
        ratio = f"median {self._other.number} / {self._reference.number}"
        lines = [Text(f"{'':{label}}{heads}  {ratio}", style="bold")]
        stars = "".join(f"{_stars_short(one.rating):>{cell}}" for one in self._view.columns)
        lines.append(Text(f"{'stars of 5':{label}}{stars}"))
        lines += [self._line(row, label, cell) for row in self._rows]
        if self._left_out:
            lines.append(Text(f"and {self._left_out} more series, with -o", style="dim"))
        lines += [Text(line, style="dim") for line in textwrap.wrap(_RATIO_MARKS, width)]
        return lines

    def _line(self, row: ComparedRow, label: int, cell: int) -> Text:
        line = Text(f"{shorten(_row_name(row), label - 1):{label}}")
        for one in row.cells:
            line += _cell(one, cell)
        for one in row.cells:
            median = _median_text(one, row)
            line += Text(f"{median:>{_MEDIAN_WIDTH}}", style="dim" if one.is_grey else "")
        found = row.cells[self._other.number - 1].ratio
        return line + Text(f"  {_ratio_cell(found)}", style="bold" if _is_decided(found) else "")

    def refused(self) -> Iterator[str]:
        """Why a ratio or a worst may not be compared, each reason once with its rows."""
        reasons: dict[tuple[str, str], list[str]] = {}
        for row in self._rows:
            name, cell = _row_name(row), row.cells[self._other.number - 1]
            ratio = cell.ratio
            if cell.is_grey:
                reasons.setdefault(("", cell.why), []).append(name)
            elif cell.worst_why:
                reasons.setdefault(("worst of ", cell.worst_why), []).append(name)
            if ratio is not None and ratio.reason and (ratio.low is None or ratio.high is None):
                reasons.setdefault(("ratio of ", ratio.reason), []).append(name)
        for (what, why), names in reasons.items():
            yield f"{what}{listed(names)}: {why}"
        for place, column in enumerate(self._view.columns):
            tests = dict.fromkeys(
                test.test
                for test in self._view.tests
                if any(row.cells[place].subject_series for row in test.rows)
                and not any(row.cells[1 - place].subject_series for row in test.rows)
            )
            if tests:
                yield f"only {column.number} measured {listed(tests)}"


def _more_shared(view: CompareView) -> str:
    """How many series, beside the decisive ones, published systems share with another one."""
    if not any(one.is_published for one in view.columns):
        return ""
    more = len(_Shared(view).rows) - sum(row.known_count > 1 for row in view.decisive)
    return f" ({more} more shared)" if more > 0 else ""


class _Shared:
    """Every figure that two or more systems have, the decisive ones first."""

    def __init__(self, view: CompareView) -> None:
        self._view = view
        decisive = [row for row in view.decisive if row.known_count > 1]
        seen = {row.address for row in decisive}
        others = [row for test in view.tests for row in test.rows if row.address not in seen]
        found = [(row, self._shared_statistics(row)) for row in [*decisive, *others]]
        self._found = [(row, statistics) for row, statistics in found if statistics]
        self.rows = [row for row, _ in self._found]
        self._claims = [
            (test, claim)
            for test in view.tests
            for claim in test.claims[:1]
            if claim.name == AS_A_WHOLE and sum(map(_is_judged, claim.cells)) > 1
        ]

    @staticmethod
    def _shared_statistics(row: ComparedRow) -> list[str]:
        """The statistics that two systems have."""
        names = [one for one in (row.cells[0].worst_name, "mean", *row.more) if one != MEDIAN]
        return [
            name
            for name in names
            if sum(isinstance(_figure(cell, name), Amount) for cell in row.cells) > 1
        ]

    def table(self, width: int, *, are_columns: bool) -> list[Text]:
        if not self._found and not self._claims:
            return list(self._none(width))
        lines = list(self._columns(width) if are_columns else self._blocks(width))
        if len(lines) > _MOST_SHARED:
            lines = lines[:_MOST_SHARED]
            shown = {line.plain.partition("/")[0].strip() for line in lines}
            tests = dict.fromkeys(row.address.partition("/")[0] for row in self.rows)
            left = [one for one in tests if one not in shown]
            text = f"and more{f', of {listed(left)} too' if left else ''}: with -o"
            lines += [Text(line, style="dim") for line in wrapped(text, width)]
        for column in self._view.columns:
            if not self._has_any(column):
                text = f"{column.number} shares none of its figures: {self._has(column)}"
                lines += [Text(line, style="yellow") for line in wrapped(text, width)]
        return lines

    def _none(self, width: int) -> Iterator[Text]:
        found = ["The systems share no figure."]
        found += [f"{one.number} has {self._has(one)}" for one in self._view.columns]
        for text in found:
            yield from (Text(line, style="yellow") for line in wrapped(text, width))

    def _has_any(self, column: SystemColumn) -> bool:
        place = column.number - 1
        is_judged = any(_is_judged(claim.cells[place]) for _, claim in self._claims)
        return is_judged or any(row.cells[place].subject_series for row in self.rows)

    def _has(self, column: SystemColumn) -> str:
        return listed(column.subject.tests()) or "no test"

    def _columns(self, width: int) -> Iterator[Text]:
        """Address and statistic before a column for each system."""
        count = len(self._view.columns)
        cell = min(max((width - _LABEL - _STATISTIC) // count, _LEAST_CELL), _SHARED_CELL)
        label = max(width - cell * count - _STATISTIC, _LEAST_LABEL)
        numbers = "".join(f"{one.number:>{cell}}" for one in self._view.columns)
        yield Text(f"{'shared figures':{label}}{'':{_STATISTIC}}{numbers}", style="bold")
        stars = "".join(f"{_stars_short(one.rating):>{cell}}" for one in self._view.columns)
        yield Text(f"{'stars of 5':{label}}{'':{_STATISTIC}}{stars}")
        for row, statistics in self._found:
            texts = wrapped(_full_name(row), label - 1)
            for name, text in zip_longest(statistics, texts, fillvalue=""):
                line = Text(f"{text:{label}}{_STATISTICS.get(name, name):{_STATISTIC}}")
                for one in row.cells if name else ():
                    line += _cell(one, cell, name)
                yield line
        for test, claim in self._claims:
            words = (f"{one.word if _is_judged(one) else '-':>{cell}}" for one in claim.cells)
            yield Text(f"{test.test:{label}}{'claims':{_STATISTIC}}{''.join(words)}")

    def _blocks(self, width: int) -> Iterator[Text]:
        """Each figure with the systems that have it, where these are too many for columns."""
        columns = self._view.columns
        for row, statistics in self._found:
            for name in statistics:
                found = [
                    f"{column.number}: {_cell(cell, _MOST_CELL, name).plain.strip()}"
                    for column, cell in zip(columns, row.cells, strict=True)
                    if isinstance(_figure(cell, name), Amount)
                ]
                yield Text(f"{_full_name(row)} {_STATISTICS.get(name, name)}".rstrip())
                yield from (Text(f"  {line}") for line in wrapped(", ".join(found), width - 2))


def _is_judged(cell: ClaimCell) -> bool:
    return cell.look in ("passed", "failed")


def _figure(cell: ComparedCell, name: str) -> Amount | Missing:
    found = {"mean": cell.mean, **cell.more, cell.worst_name: cell.worst}
    return found.get(name, Missing("-"))


def _full_name(row: ComparedRow) -> str:
    """The address; of a size of a sweep what it is."""
    if row.cells[0].worst_name in SIZES:
        return f"{row.address.partition('/')[0]} {one_line(row.label)}"
    return one_line(row.address)


def _refused(rows: Sequence[ComparedRow], columns: Sequence[SystemColumn]) -> Iterator[str]:
    """Why figures may not be compared, each reason once with its systems and rows."""
    reasons: dict[tuple[str, str], tuple[dict[str, None], dict[int, None]]] = {}
    for row in rows:
        for column, cell in zip(columns, row.cells, strict=True):
            if cell.is_grey and cell.why == column.apart:
                continue  # it is said of the system
            if cell.is_grey or cell.worst_why:
                what = "" if cell.is_grey else "worst of "
                key = what, cell.why if cell.is_grey else cell.worst_why
                names, numbers = reasons.setdefault(key, ({}, {}))
                names[_row_name(row)] = None
                numbers[column.number] = None
    for (what, why), (names, numbers) in reasons.items():
        yield f"{numbers_text(sorted(numbers), '-', 2)}: {what}{listed(names)}: {why}"


def _median_text(cell: ComparedCell, row: ComparedRow) -> str:
    if cell.series is None:
        return "-"
    try:
        own = cell.subject_series
        quantum_ns = own.quantum_ns if isinstance(own, MeasuredSeries) else 1.0
        return read_value(median_of(cell.series), row.unit, quantum_ns)
    except InputError:  # a damaged histogram, which is marked
        return "-"


def _ratio_cell(found: QuantileRatio | None) -> str:
    """ "> 1.4 (1.35-1.45)"; "-" without a ratio."""
    if found is None or found.ratio is None:
        return "-"
    low, high = found.low, found.high
    if low is not None and high is not None:
        interval = f"{low:.3g}-{high:.3g}"
    elif low is not None:
        interval = f">= {low:.3g}"
    else:
        interval = "unbounded" if high is None else f"<= {high:.3g}"
    return f"{_OUTCOMES[found.outcome]} {found.ratio:.3g} ({interval})"


def _is_decided(found: QuantileRatio | None) -> bool:
    return found is not None and found.outcome in ("higher", "lower")


def _as_columns(view: CompareView, width: int) -> list[Text]:
    count = len(view.columns)
    cell = min(max((width - _LABEL) // count, _LEAST_CELL), _MOST_CELL)
    label = max(width - cell * count, _LEAST_LABEL)
    numbers = "".join(f"{one.number:>{cell}}" for one in view.columns)
    lines = [Text(f"{'worst observed':{label}}{numbers}", style="bold")]
    stars = "".join(f"{_stars_short(one.rating):>{cell}}" for one in view.columns)
    lines.append(Text(f"{'stars of 5':{label}}{stars}"))
    for row in view.decisive:
        line = Text(f"{shorten(_row_name(row), label):{label}}")
        for one in row.cells:
            line += _cell(one, cell)
        lines.append(line)
    return lines


def _row_name(row: ComparedRow) -> str:
    """ "SEM-P-ARC 128 acquire": test, chosen number, and series if the summary has several; of
    several tests what all of them answer."""
    tests = {one.subject_series.test for one in row.cells if one.subject_series}
    if row.question and (len(tests) > 1 or row.question != WAKEUP):
        return row.question
    test, *parts = row.address.split("/")
    numbers = [one for one in parts if one.isdecimal()]
    series = parts[-1] if parts and parts[-1] in _PAIRS else ""
    return " ".join(filter(None, [test, *numbers, series]))


def _as_rows(view: CompareView, width: int) -> list[Text]:
    groups = dict.fromkeys(group_of(one) for one in view.decisive)
    fitting = max((width - 3 - _STARS - _NAME) // _FIGURE, 1)
    shown = [one for one in groups if one not in _UNCONTENDED][:fitting]
    titles = "".join(f"{shorten(one, _FIGURE - 1):>{_FIGURE}}" for one in shown)
    wide = min(max(width - 3 - _STARS - len(titles), _NAME), _MOST_NAME)
    lines = [Text(f"{'#':>2} {'worst observed':{wide}}{'stars':>{_STARS}}{titles}", style="bold")]
    full = [" ".join(filter(None, (column.mark, column.label))) for column in view.columns]
    names = different_names(full, wide - 1)
    for place, (column, name) in enumerate(zip(view.columns, names, strict=True)):
        line = Text(f"{column.number:>2} {name:{wide}}{_stars_short(column.rating):>{_STARS}}")
        for group in shown:
            cells = [row.cells[place] for row in view.decisive if group_of(row) == group]
            line += _cell(max(cells, key=_worst_value), _FIGURE)
        lines.append(line)
    return lines


def _worst_value(cell: ComparedCell) -> float:
    worst = cell.worst
    return worst.highest or worst.lowest if isinstance(worst, Amount) else -1.0


def _stars_short(rating: Rating) -> str:
    """ "4.5", "<=4.5" where figures are missing, "1-4" for a range, "-" where there are too few."""
    return stars_number(
        rating.overall,
        is_at_most=rating.is_at_most,
        lowest=rating.lowest,
        at_most="<=",
        to="-",
    )


def _cell(cell: ComparedCell, width: int, name: str = "") -> Text:
    """The worst, or the statistic `name`; in brackets where it may not be compared, which holds
    without colours too."""
    is_worst = name in ("", cell.worst_name)
    amount = cell.worst if is_worst else _figure(cell, name)
    if not isinstance(amount, Amount):
        return Text(f"{'-':>{width}}", style="dim")
    marks = _CONTRADICTION if CONTRADICTS in cell.marks else ""
    marks += _TICK_MARK if EQUALS_TICK in cell.marks and is_worst else ""
    is_grey = cell.is_grey or (is_worst and bool(cell.worst_why))
    room = width - 1 - len(marks) - 2 * is_grey
    is_published = isinstance(cell.subject_series, PublishedSeries)
    text = amount_text(amount, is_exact=is_published)
    if len(text) > room:
        text = amount_text(amount)
    if len(text) > room:  # a figure without its unit would be another one
        text = text.replace(" ", "")
    text = f"({text}{marks})" if is_grey else f"{text}{marks}"
    return Text(f"{shorten(text, width - 1):>{width}}", style="dim" if is_grey else "")


def _differing(view: CompareView) -> list[str]:
    differing = [one for one in view.conditions if one.differs]
    rows = [one for one in differing if not one.name.startswith("values of")]
    found = []
    for row in rows:
        if row.name not in _NAMED_ABOVE:
            groups = _grouped(row.cells)
            values = [f"{shorten(text, 28)} ({groups[text]})" for text in groups if text != "-"]
            found.append(f"{row.name}: {', '.join(values)}")
    names = [one.name for one in rows if one.name in _NAMED_ABOVE]
    if names:
        found.append(f"also {', '.join(names)}, named above")
    if len(differing) > len(rows):
        count = len(differing) - len(rows)
        found.append(f"number of values: {count} of the rows above")
    return found


_UNDECIDED = {
    "no difference seen": "equal within 10 %",
    "not decided": "no significant difference",
}


def _outcomes(view: CompareView, place: int) -> Iterator[str]:
    """How the decisive medians of a run differ from those of the reference."""
    found: dict[str, list[str]] = {}
    for row in view.decisive:
        ratio = row.cells[place].ratio
        if ratio is not None:
            name = group_of(row)
            shown = f"{name} x{ratio_text(ratio.ratio)}" if ratio.ratio else name
            found.setdefault(ratio.outcome, []).append(shown)
    for outcome in ("higher", "lower"):
        if outcome in found:
            yield f"{outcome} {', '.join(found[outcome])}"
    for outcome, text in _UNDECIDED.items():
        if outcome in found:
            count = len(found[outcome])
            yield f"{text} for {count} series"


def _shared(texts: Sequence[str]) -> list[str]:
    """Each text once, after the numbers of the systems that share it: "1-3, 5: heavy"."""
    return [f"{numbers}: {text}" for text, numbers in _grouped(texts).items() if text]


def _grouped(texts: Sequence[str]) -> dict[str, str]:
    """The numbers of the systems by the text that they share: {"heavy": "1-3, 5"}."""
    found: dict[str, list[int]] = {}
    for number, text in enumerate(texts, 1):
        found.setdefault(text, []).append(number)
    return {text: numbers_text(numbers, "-", 2) for text, numbers in found.items()}


def _legend(
    view: CompareView, rows: Sequence[ComparedRow], width: int, *, is_named: bool
) -> Iterator[Text]:
    """`is_named`: the reasons stand above."""
    cells = [cell for row in rows for cell in row.cells]
    marks = [
        (
            any(one.is_grey or one.worst_why for one in cells),
            "( ) not comparable" + ("" if is_named else " (why: add -o)"),
        ),
        (any(EQUALS_TICK in one.marks for one in cells), f"{_TICK_MARK} equals the tick"),
        (any(CONTRADICTS in one.marks for one in cells), f"{_CONTRADICTION} cannot be true"),
        (
            any(one.startswith("time_") for row in rows for one in row.more),
            "90 %, 99 %: shorter sections made up that share of kernel time",
        ),
        (any(map(_is_at_most, view.columns)), "<= at most: some tests did not run"),
        (any(map(_is_range, view.columns)), "1-4: range, from substitutes or too few values"),
    ]
    text = "; ".join(text for is_there, text in marks if is_there)
    yield from (Text(line, style="dim") for line in textwrap.wrap(text, width))
    if sum(not one.is_published for one in view.columns) > 1:
        text = "One run each proves no difference; use hardstone gate --pairs."
        yield Text(text, style="dim")


def _why(view: CompareView) -> Iterator[Text]:
    """The command that explains the stars of the first run."""
    run = next((one.id for one in view.columns if not one.is_published), None)
    if run is not None:
        command = as_typed(f"hardstone show {shlex.quote(run)} --why")
        line = Text(f"{'stars, why':{_GUTTER}}", overflow="ignore")
        yield line.append(command, "cyan")


def _is_at_most(column: SystemColumn) -> bool:
    rating = column.rating
    return rating.is_at_most and rating.overall is not None and not _is_range(column)


def _is_range(column: SystemColumn) -> bool:
    lowest, overall = column.rating.lowest, column.rating.overall
    return lowest is not None and overall is not None and lowest < overall


def _labelled(
    label: str, items: Iterable[str], width: int, most: int, style: str = ""
) -> list[Text]:
    """Each item on lines of its own, the first with the label; at most `most` lines, and how many
    items do not fit."""
    lines: list[str] = []
    found = [one_line(one) for one in items]
    for number, item in enumerate(found):
        of_item = wrapped(item, width - _GUTTER)
        if len(of_item) > 2:
            of_item = [of_item[0], f"{of_item[1][: width - _GUTTER - 2]} \u2026"]
        if len(lines) + len(of_item) > most or (
            len(lines) + len(of_item) == most and number < len(found) - 1
        ):
            lines.append(f"and {len(found) - number} more, with -o")
            break
        lines.extend(of_item)
    return [
        Text(f"{'' if number else label:{_GUTTER}}") + Text(line, style=style)
        for number, line in enumerate(lines)
    ]
