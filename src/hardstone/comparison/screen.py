"""A comparison on one screen: stars, decisive figures, what differs, and where the rest is.

Of two runs it has both medians of each series and their ratio, or why there is none. Up to
MOST_COLUMNS systems are columns. More are rows, with fewer figures each.
"""

from __future__ import annotations

import shlex
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from rich.text import Text

from hardstone.calling import as_typed
from hardstone.comparison.rows import CONTRADICTS, EQUALS_TICK, group_of
from hardstone.comparison.view import (
    ComparedCell,
    ComparedRow,
    CompareView,
    SystemColumn,
)
from hardstone.errors import InputError
from hardstone.figure_text import amount_text
from hardstone.present.stars_text import stars_number
from hardstone.stats.conditions import listed
from hardstone.stats.quantiles import median_of
from hardstone.stats.two_runs import QuantileRatio
from hardstone.systems.rating import Rating
from hardstone.systems.subjects import Amount
from hardstone.terminal.console import make_console
from hardstone.wording import format_value, numbers_text, one_line, ratio_text, shorten

MOST_LINES = 30
MOST_OF_MANY = 37  # more than _FEW systems: the name and the hardware of each take lines
_FEW = 3
MOST_COLUMNS = 6
_GUTTER = 12
_LEAST_CELL = 9
_MOST_CELL = 16
_LABEL, _LEAST_LABEL = 20, 12
_STARS = 6
_NAME, _MOST_NAME = 17, 40
_FIGURE = 9
_TICK_MARK, _CONTRADICTION = "*", "!"
_NAMED_ABOVE = ("machine", "study")  # with the systems
_MOST_DIFFERING = 5
_MEDIAN, _RATIO = 9, 24  # columns
_OUTCOMES = {"higher": ">", "lower": "<", "no difference seen": "=", "not decided": "?"}
_RATIO_MARKS = (
    "ratio of medians, 98 % interval: > higher, < lower, = equal within 10 %, ? not decided"
)
_MOST_PAIRED = 14
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
    if pair is not None and width >= _LEAST_LABEL + 2 * (_MEDIAN + _LEAST_CELL) + _RATIO:
        figures = pair.table(width)
    else:
        figures = _as_columns(view, width) if are_columns else _as_rows(view, width)
    systems = list(_systems(view, _origin) if are_columns else [])
    is_cut = any(len(line) > width for line in systems)
    if is_cut:
        systems = list(_systems(view, _study))
    below = [
        *_legend(view, width, is_pair=pair is not None),
        Text(f"{'all of it':{_GUTTER}}add -o comparison.html (or .pdf) to the command"),
        *_why(view),
    ]
    reference = columns[view.reference]
    head = f"{count} systems; {reference.number} is the reference: {shorten(reference.label, 40)}"
    apart = [f"{one.number} {one.apart}" for one in columns if one.apart]
    origins = [] if are_columns else _shared([_origin(one) for one in columns])
    hardware = _shared([one.hardware or "not known" for one in columns]) if is_cut else []
    reserves = _shared([", ".join(one.rating.rated_as) for one in columns])
    medians = _shared(["; ".join(_outcomes(view, place)) for place in range(count)])
    where = [
        *_labelled("from", origins, width, 6),
        *_labelled("hardware", hardware, width, 8),
    ]
    differs = _labelled("differs", _differing(view), width, _MOST_DIFFERING)
    found = _labelled("why not", pair.refused(), width, 6) if pair else []
    sections = [
        *_labelled("apart", apart, width, 3, "bold red"),
        *([] if pair else _labelled("medians", medians, width, 4)),
        # The study and the hardware of a published figure are always shown.
        *([*differs, *found, *where] if pair else [*where, *differs]),
        *_labelled("rated as", reserves, width, 3, "yellow"),
    ]
    room = max(most - 1 - len(systems) - len(figures) - len(below), 0)
    if len(sections) > room:
        more = Text(f"{'':{_GUTTER}}and more, with -o", style="dim")
        sections = [*sections[: room - 1], more] if room else []
    return [Text(head, style="bold"), *systems, *figures, *sections, *below]


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
        cell = min(max((width - _LABEL - 2 * _MEDIAN - _RATIO) // 2, _LEAST_CELL), _MOST_CELL)
        label = width - 2 * (cell + _MEDIAN) - _RATIO
        numbers = [one.number for one in self._view.columns]
        heads = "".join(f"{f'worst {one}':>{cell}}" for one in numbers)
        heads += "".join(f"{f'median {one}':>{_MEDIAN}}" for one in numbers)
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
            line += Text(f"{median:>{_MEDIAN}}", style="dim" if one.is_grey else "")
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


def _median_text(cell: ComparedCell, row: ComparedRow) -> str:
    if cell.series is None:
        return "-"
    try:
        return format_value(median_of(cell.series), row.unit)
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
    """ "SEM-P-ARC 128 acquire": test, chosen number, and series if the summary has several."""
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


def _cell(cell: ComparedCell, width: int) -> Text:
    """The worst; in brackets where it may not be compared, which holds without colours too."""
    if not isinstance(cell.worst, Amount):
        return Text(f"{'-':>{width}}", style="dim")
    marks = (_CONTRADICTION if CONTRADICTS in cell.marks else "") + (
        _TICK_MARK if EQUALS_TICK in cell.marks else ""
    )
    is_grey = cell.is_grey or bool(cell.worst_why)
    room = width - 1 - len(marks) - 2 * is_grey
    text = amount_text(cell.worst, is_exact=cell.series is None)
    if len(text) > room:
        text = amount_text(cell.worst)
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


def _legend(view: CompareView, width: int, *, is_pair: bool) -> Iterator[Text]:
    cells = [cell for row in view.decisive for cell in row.cells]
    marks = [
        (
            any(one.is_grey or one.worst_why for one in cells),
            "( ) not comparable" + ("" if is_pair else " (why: add -o)"),
        ),
        (any(EQUALS_TICK in one.marks for one in cells), f"{_TICK_MARK} equals the tick"),
        (any(CONTRADICTS in one.marks for one in cells), f"{_CONTRADICTION} cannot be true"),
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
        wrapped = textwrap.wrap(
            item, width - _GUTTER, max_lines=2, placeholder=" \u2026", break_on_hyphens=False
        ) or [""]
        if len(lines) + len(wrapped) > most or (
            len(lines) + len(wrapped) == most and number < len(found) - 1
        ):
            lines.append(f"and {len(found) - number} more, with -o")
            break
        lines.extend(wrapped)
    return [
        Text(f"{'' if number else label:{_GUTTER}}") + Text(line, style=style)
        for number, line in enumerate(lines)
    ]
