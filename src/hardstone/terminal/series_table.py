"""One table of all series: count, minimum, median, a deep quantile, worst observed."""

from __future__ import annotations

from collections.abc import Iterator

from rich import box
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from hardstone.errors import InputError
from hardstone.model import Instrument, Result, RunDocument, Series
from hardstone.present.quantile_text import lacking_quantile, level_text, quantile_value
from hardstone.present.wording import format_value, is_rate, labels_text, spoken, work_text
from hardstone.stats.contradictions import MARK, MARK_NOTE, is_contradictory
from hardstone.stats.quantiles import LADDER, deepest_of, values_for
from hardstone.stats.summary import SeriesSummary, instrument_limit, summarise
from hardstone.terminal.words import words
from hardstone.units import format_count

_MOST_ROWS = 800  # rows take time to print, and nobody reads more
_MARKS = {"at the": "*", "within": "+"}


class SeriesTable:
    """Builds the table and collects the footnotes of its marks."""

    def __init__(self, document: RunDocument) -> None:
        self._document = document
        self._deepest = deepest_of(document.plan.profile)
        self._left_out = 0
        self._has_missing = False
        self.notes: list[str] = []

    def build(self) -> Table | None:
        """The table; None if there is no series."""
        measured = [result for result in self._document.results if result.series]
        if not measured:
            return None
        table = _empty_table()
        for result in measured:
            self._add_result(table, result)
        if self._left_out:
            self.notes.append(f"{self._left_out} more series, in the report and with --json")
        return table

    def _add_result(self, table: Table, result: Result) -> None:
        if table.row_count >= _MOST_ROWS:
            self._left_out += len(result.series)
            return
        state = "" if result.status == "measured" and result.complete else f" ({result.status})"
        table.add_row(words(result.test + state, "bold"))
        shown = result.series[: _MOST_ROWS - table.row_count]
        self._left_out += len(result.series) - len(shown)
        for name, group in _by_name(shown).items():
            self._add_group(table, name, group, result)

    def _add_group(self, table: Table, name: str, group: list[Series], result: Result) -> None:
        filled = [series for series in group if series.count]
        if len(group) == 1:
            title = _joined(spoken(name), labels_text(group[0].labels), _work(group[0], result))
            self._add_series(table, group[0], _label(title, 1), result.instrument)
            return
        empty = "" if filled else ": none"
        table.add_row(_label(spoken(name) + empty, 1))
        for series in filled:
            title = _joined(_varying_labels(series, group), _work(series, result))
            self._add_series(table, series, _label(title, 2), result.instrument)
        if filled and len(filled) < len(group):
            table.add_row(_label(f"{len(group) - len(filled)} empty", 2), Text("0"))

    def _add_series(
        self, table: Table, series: Series, label: Padding, instrument: Instrument | None
    ) -> None:
        own = instrument or self._document.instrument
        # Values are integer ns, even if the clock is finer.
        quantum_ns = max(own.quantum_ns, 1.0) if own is not None else 1.0
        try:
            figures = summarise(series, deepest=self._deepest)
            mark = self._mark(series, own) if figures.quantiles else ""
        except InputError as error:
            table.add_row(label, Text("?"))
            self.notes.append(f"{series.name}: {error.cause}")
            return
        is_wrong = is_contradictory(series)
        if is_wrong:
            self._note(MARK_NOTE)
        self._note_missing(figures)
        table.add_row(label, *cells_of(figures, quantum_ns, mark, MARK if is_wrong else ""))

    def _note_missing(self, figures: SeriesSummary) -> None:
        """What a "-" in the place of a quantile says."""
        if not self._has_missing and any(lacking_quantile(q, figures.count) for q in LADDER[:2]):
            self._has_missing = True
            needs = ", ".join(f"{level_text(q)} {format_count(values_for(q))}" for q in LADDER[:4])
            self.notes.append(f"-: too few values. A quantile needs 10 beyond it: {needs} values")

    def _mark(self, series: Series, instrument: Instrument | None) -> str:
        note = instrument_limit(series, instrument)
        if note is None:
            return ""
        mark = next((sign for start, sign in _MARKS.items() if note.startswith(start)), "*")
        self._note(f"{mark} {note}")
        return mark

    def _note(self, line: str) -> None:
        if line not in self.notes:
            self.notes.append(line)


def _empty_table() -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    table.add_column("test, series", overflow="fold", ratio=1)
    for title in ("count", "min", "median", "quantile", "worst\nobserved"):
        table.add_column(title, justify="right", no_wrap=True)
    return table


def _label(text: str, indent: int) -> Padding:
    """Text whose wrapped lines are indented too."""
    return Padding(Text(text), (0, 0, 0, indent))


def _joined(*parts: str) -> str:
    return ", ".join(part for part in parts if part)


def _work(series: Series, result: Result) -> str:
    return work_text(series, result.calibrated)


def _by_name(found: list[Series]) -> dict[str, list[Series]]:
    names: dict[str, list[Series]] = {}
    for series in found:
        names.setdefault(series.name, []).append(series)
    return names


def _varying_labels(series: Series, group: list[Series]) -> str:
    """The labels that differ, and all numbers, since they may differ from the request."""
    varying = {
        key: value
        for key, value in series.labels.items()
        if isinstance(value, int) or len({other.labels.get(key) for other in group}) > 1
    }
    return labels_text(varying or series.labels)


def cells_of(figures: SeriesSummary, quantum_ns: float, mark: str, wrong: str) -> Iterator[Text]:
    """What stands in the columns beside the name. The worst of a rate is its least value."""
    unit = figures.unit
    median = next((found for found in figures.quantiles if found.q == 0.5), None)
    deepest = figures.quantiles[-1] if len(figures.quantiles) > 1 else None
    quantile = (
        f"{level_text(deepest.q)} {quantile_value(deepest, unit, quantum_ns)}" if deepest else "-"
    )
    yield Text(format_count(figures.count) + wrong)
    yield Text(format_value(figures.min, unit, quantum_ns) + wrong)
    yield Text(quantile_value(median, unit, quantum_ns) + mark)
    yield Text(quantile)
    yield Text(
        format_value(figures.min if is_rate(unit) else figures.max, unit, quantum_ns) + wrong,
        style="bold",
    )
