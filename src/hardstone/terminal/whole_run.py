"""All of a run on a terminal: head, series, claims and notes, and where each star comes from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import IO

from msgspec.structs import replace
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from hardstone.errors import InputError
from hardstone.figure_text import amount_text, level_text, quantile_value
from hardstone.kernel.screen import show_kernel_time
from hardstone.model import Instrument, Result, RunDocument, Series
from hardstone.posix.screen import show_posix
from hardstone.present.answer import answer_of
from hardstone.present.deadlines import (
    Misses,
    MissesDocument,
    count_text,
    misses_document,
    projections,
    share_lines,
)
from hardstone.present.measured_tables import (
    CAPTION,
    COLUMNS,
    HEADINGS,
    NoiseTable,
    noise_tables,
    step_rows,
)
from hardstone.present.notices import deviations, idle_remarks, notes, timer_remark
from hardstone.present.origin import (
    loss_texts,
    origin_rows,
    tool_title,
    unknown_rows,
    unknown_text,
)
from hardstone.present.overview import LIMIT_OF_MAXIMA
from hardstone.present.stars_text import (
    category_number,
    certain_stars,
    headline_reason,
    score_text,
    stars_glyphs,
    stars_text,
    weight_text,
)
from hardstone.present.why_late import NOTE, all_causes
from hardstone.stats.conditions import (
    Condition,
    condition_of,
    conditions_in,
    listed,
    listed_results,
    names_in,
)
from hardstone.stats.consistency import MARK, MARK_NOTE, is_contradictory
from hardstone.stats.identity import step_of
from hardstone.stats.quantiles import (
    LADDER,
    PATH_NOT_TAKEN,
    SeriesSummary,
    deepest_of,
    instrument_limit,
    lacking_quantile,
    quantum_of,
    summarise,
    values_for,
)
from hardstone.systems.criteria import load_criteria, special_attention
from hardstone.systems.rating import CategoryRating, RatedFigure, Rating, overall_caps
from hardstone.systems.subjects import MeasuredRun, PublishedSystem
from hardstone.terminal.console import (
    Row,
    make_console,
    make_table,
    print_command,
    print_rows,
    print_table,
    print_wrapped,
    words,
)
from hardstone.terminal.one_screen import (
    advice_commands,
    advice_rows,
    print_head,
    trust_rows,
)
from hardstone.units import COARSE_NS, format_count, write_ns
from hardstone.wording import (
    claim_of,
    format_value,
    is_rate,
    labels_text,
    one_line,
    read_value,
    spoken,
    work_text,
)


def _print_steps(console: Console, document: RunDocument) -> None:
    """What next, all of it: the first screen has the first ones."""
    steps = answer_of(document).steps
    if not steps:
        return
    console.print(words("what next", "bold"))
    for number, step in enumerate(steps, 1):
        print_wrapped(console, step.text, f"{number}. ")
        if step.command:
            print_command(console, step.command)
    console.print()


def _print_search(console: Console, document: RunDocument) -> None:
    """The steps of each result of IRQ-S-SUS."""
    names = names_in(document)
    for result in document.results:
        rows = step_rows([result])
        if not rows:
            continue
        table = make_table()
        for number, title in enumerate(HEADINGS):
            table.add_column(title, justify="right" if 0 < number < 6 else "left", overflow="fold")
        for row in rows:
            table.add_row(*map(words, row))
        console.print(words(f"steps of {names.name(result)}", "bold"))
        print_table(console, table)
        console.print(words(CAPTION, "dim"))
        console.print()


def _print_noise(console: Console, document: RunDocument) -> None:
    """A table for each result that has one, with its remarks."""
    names = names_in(document)
    for result in document.results:
        for found in noise_tables(result):
            title = f"what took the CPU, {names.name(result)}: {found.title}"
            console.print(words(title, "bold"))
            print_table(console, _noise_table(found), indent=1)
            for remark in found.remarks:
                console.print(words(remark))
            console.print()


def _noise_table(found: NoiseTable) -> Table:
    table = make_table()
    table.add_column(COLUMNS[0], overflow="fold", ratio=1)
    for title in COLUMNS[1:]:
        table.add_column(title, justify="right", no_wrap=True)
    for row in found.rows:
        table.add_row(*map(Text, row.cells))
    return table


_MOST_SERIES_ROWS = 800  # rows take time to print, and nobody reads more
_MARKS = {"at the": "*", "within": "+"}


class _SeriesTable:
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
        table = make_table()
        table.add_column("test, series", overflow="fold", ratio=1)
        for title in ("count", "min", "median", "quantile", "worst\nobserved"):
            table.add_column(title, justify="right", no_wrap=True)
        for result in measured:
            self._add_result(table, result)
        if self._left_out:
            self.notes.append(f"{self._left_out} more series, in the report and with --json")
        return table

    def _add_result(self, table: Table, result: Result) -> None:
        if table.row_count >= _MOST_SERIES_ROWS:
            self._left_out += len(result.series)
            return
        state = "" if result.status == "measured" and result.complete else f" ({result.status})"
        table.add_row(words(result.test + state, "bold"))
        shown = result.series[: _MOST_SERIES_ROWS - table.row_count]
        self._left_out += len(result.series) - len(shown)
        by_name: dict[str, list[Series]] = {}
        for series in shown:
            by_name.setdefault(series.name, []).append(series)
        for name, group in by_name.items():
            self._add_group(table, name, group, result)

    def _add_group(self, table: Table, name: str, group: list[Series], result: Result) -> None:
        filled = [series for series in group if series.count]
        if len(group) == 1:
            work = work_text(group[0], result.calibrated)
            title = _joined(spoken(name), labels_text(group[0].labels), work)
            self._add_series(table, group[0], _label(title, 1), result.instrument)
            return
        empty = "" if filled else ": none"
        table.add_row(_label(spoken(name) + empty, 1))
        for series in filled:
            work = work_text(series, result.calibrated)
            title = _joined(_varying_labels(series, group), work)
            self._add_series(table, series, _label(title, 2), result.instrument)
        if filled and len(filled) < len(group):
            table.add_row(_label(f"{len(group) - len(filled)} empty", 2), Text("0"))

    def _add_series(
        self, table: Table, series: Series, label: Padding, instrument: Instrument | None
    ) -> None:
        own = instrument or self._document.instrument
        quantum_ns = quantum_of(series, own)
        if own is not None and own.quantum_ns < COARSE_NS:
            quantum_ns = max(own.quantum_ns, 1.0)  # values are integer ns, if the clock is finer
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
        self._note_missing(figures, series)
        wrong = MARK if is_wrong else ""
        table.add_row(label, *cells_of(figures, quantum_ns, mark, wrong, step_of(series)))

    def _note_missing(self, figures: SeriesSummary, series: Series) -> None:
        """Explains "-" in the place of a quantile."""
        if figures.why_no_quantile:
            self._note(f"-: {figures.why_no_quantile}")
            return
        if not self._has_missing and any(lacking_quantile(q, series) for q in LADDER[:2]):
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


def _label(text: str, indent: int) -> Padding:
    """Text whose wrapped lines are indented too."""
    return Padding(Text(text), (0, 0, 0, indent))


def _joined(*parts: str) -> str:
    return ", ".join(part for part in parts if part)


def _varying_labels(series: Series, group: list[Series]) -> str:
    """The labels that differ, and all numbers, since they may differ from the request; and of which
    part of a latency they are, where the whole of it is not there."""
    varying = {
        key: value
        for key, value in series.labels.items()
        if isinstance(value, int)
        or len({other.labels.get(key) for other in group}) > 1
        or (key == "part" and value != "total")
    }
    return labels_text(varying or series.labels)


def cells_of(
    figures: SeriesSummary, quantum_ns: float, mark: str, wrong: str, step: int = 1
) -> Iterator[Text]:
    """The cells of the columns after the name. The worst of a rate is its least value. `step` is
    that of the values."""
    unit = figures.unit
    median = next((found for found in figures.quantiles if found.q == 0.5), None)
    deepest = figures.quantiles[-1] if len(figures.quantiles) > 1 else None
    quantile = (
        f"{level_text(deepest.q)} {quantile_value(deepest, unit, quantum_ns, step)}"
        if deepest
        else "-"
    )
    yield Text(figures.count_text + wrong)
    yield Text(read_value(figures.min, unit, quantum_ns) + wrong)
    yield Text(quantile_value(median, unit, quantum_ns, step) + mark)
    yield Text(quantile)
    yield Text(
        read_value(figures.min if is_rate(unit) else figures.max, unit, quantum_ns) + wrong,
        style="bold",
    )


_MOST_ROWS = 800  # rows take time to print, and nobody reads more


def print_misses(shown: RunDocument, deadline_ns: int, stream: IO[str] | None = None) -> None:
    """Prints the misses of all series of durations to `stream` (default: standard output)."""
    found = misses_document(shown, deadline_ns)
    console = make_console(stream)
    print_head(console, shown)
    console.print()
    console.print(words(f"values above {write_ns(deadline_ns)}", "bold"))
    print_table(console, _misses_table(shown, found))
    console.print()
    if len(found.series) > _MOST_ROWS:
        console.print(words(f"{len(found.series) - _MOST_ROWS} more series, with --json"))
    if found.left_out_count:
        count = found.left_out_count
        what = "1 series is not a duration" if count == 1 else f"{count} series are not durations"
        console.print(words(f"{what}, and left out"))
    if any(one.at_most is not None for one in found.series):
        level = f"{found.confidence * 100:.0f} % confidence"
        console.print(words(f"at most: what no miss in that many values shows with {level}"))
    for note in found.notes:
        console.print(words(note))
    console.print()
    print_rows(console, "", trust_rows(shown))


def _misses_table(shown: RunDocument, found: MissesDocument) -> Table:
    table = make_table()
    table.add_column("test, series", overflow="fold", ratio=1)
    table.add_column("values", justify="right", no_wrap=True)
    table.add_column("misses", justify="right", no_wrap=True)
    table.add_column(f"share of misses\n({found.confidence * 100:.0f} % interval)")
    names = names_in(shown)
    for (test, condition, state), group in groupby(found.series[:_MOST_ROWS], _result_of):
        under = names.label(condition)
        table.add_row(words(f"{test}{f' [{under}]' if under else ''}{state}", "bold"))
        for one in group:
            derived = "derived" if one.derived else ""
            parts = filter(None, (spoken(one.name), labels_text(one.labels), derived))
            # A line may break before "to", and nowhere else in an interval.
            share = "\n".join(share_lines(one)).replace("1 in", "1\N{NO-BREAK SPACE}in")
            table.add_row(
                _label(", ".join(parts), 1),
                Text("-" if one.values is None else format_count(one.values)),
                Text(count_text(one), style="bold" if one.most_count else ""),
                Text(share, style="yellow" if one.problem else ""),
            )
    return table


def _result_of(one: Misses) -> tuple[str, Condition, str]:
    is_whole = one.status == "measured" and one.is_complete
    state = "" if is_whole else f" ({one.status if one.status != 'measured' else 'incomplete'})"
    return one.test, Condition(one.load, one.cpu_config, one.preemption), state


def print_projections(document: RunDocument, stream: IO[str] | None = None) -> None:
    """Prints the projections of all series to `stream` (default: standard output)."""
    console = make_console(stream)
    print_head(console, document)
    console.print()
    names = names_in(document)
    projected, left_out = 0, Counter[str]()
    for result in document.results:
        found = projections(result, document)
        under = names.label(condition_of(result))
        for one in found:
            who = f"{result.test} under {under}" if under else result.test
            console.print(words(f"{who}, {one.label}", "bold"))
            console.print(words(f"worst observed {one.worst}"))
            console.print(words(f"{one.outcome}:", "yellow" if one.is_projected else "dim"))
            print_rows(console, "", [(words("-"), words(line)) for line in one.lines])
        left_out[result.test] += sum(one.count > 0 for one in result.series) - len(found)
        projected += sum(one.is_projected for one in found)
    _print_left_out(console, left_out)
    if projected > 1:
        console.print(words("Each interval is at its level alone, not all of them together."))
    console.print(words("The worst observed is what was measured. " + PATH_NOT_TAKEN))


def _print_left_out(console: Console, left_out: Counter[str]) -> None:
    """How many series of each test have no projection, and why."""
    from hardstone.stats.projection import LEAST_VALUES

    why = f"fewer than {format_count(LEAST_VALUES)} values, or values that are no durations"
    lines = [
        f"{test}: no projection: {count} {'series has' if count == 1 else 'series have'} {why}"
        for test, count in left_out.items()
        if count
    ]
    for line in lines:
        console.print(words(line))
    if lines:
        console.print()


_LATE_EACH = 3
_MOST_NOTES = 200  # a damaged document may have any number
_CLAIM_LOOKS = {"passed": "green", "failed": "bold red", "uncounted": "yellow"}


def print_whole(document: RunDocument, stream: IO[str] | None = None) -> None:
    """Prints `document` to `stream` (default: standard output), in colour on a terminal."""
    from hardstone.preemption.screen import show_pair
    from hardstone.preemption.tables import pairs_in
    from hardstone.simulation.screen import show_tire
    from hardstone.terminal.columns import print_legend, print_loads, print_side_by_side

    console = make_console(stream)
    print_head(console, document)
    console.print()
    if len(conditions_in(document)) > 1:
        print_side_by_side(console, document)
    else:
        _print_series(console, replace(document, results=listed_results(document)))
    _print_imported(console, document)
    _print_noise(console, document)
    for pair in pairs_in(document):
        show_pair(console, pair)
    print_loads(console, document)
    print_legend(console, document)
    show_kernel_time(console, document)
    show_posix(console, document)
    _print_search(console, document)
    show_tire(console, document)
    _print_verdicts(console, document)
    _print_deviations(console, document)
    print_rows(console, "notes", *note_rows(document))
    _print_why_late(console, document)
    print_rows(console, "", trust_rows(document))
    _print_steps(console, document)
    print_rows(console, "advice", advice_rows(document), advice_commands(document))


def _print_series(console: Console, document: RunDocument) -> None:
    series = _SeriesTable(document)
    table = series.build()
    if table is None:
        return
    print_table(console, table)
    console.print()
    coarse = timer_remark(document)
    for note in [*series.notes, *idle_remarks(document), *([coarse] if coarse else [])]:
        console.print(words(note))
    console.print(Text(LIMIT_OF_MAXIMA, style="dim"))
    console.print()


def _print_imported(console: Console, document: RunDocument) -> None:
    """The file that the run was read from, what it could not say, and what of it is not known."""
    imported = document.imported
    if imported is None:
        return
    rows: list[Row] = [(words(name), words(text)) for name, text in origin_rows(imported)]
    print_rows(console, f"from a file of {tool_title(imported)}", rows)
    losses = loss_texts(imported)
    if losses:
        print_rows(
            console, "what the file does not say", [(words("-"), words(one)) for one in losses]
        )
    unknown: list[Row] = [(words(key), words(text)) for key, text in unknown_rows(imported)]
    if unknown:
        print_rows(console, unknown_text(imported), unknown)


def _print_why_late(console: Console, document: RunDocument) -> None:
    found = all_causes(document, _LATE_EACH)
    if found:
        rows = [(words(who, "bold"), words(text)) for who, text in found]
        print_rows(console, "why the worst values were late", rows)
        console.print(Text(NOTE, style="dim"))
        console.print()


def _print_verdicts(console: Console, document: RunDocument) -> None:
    """Each claim about behaviour with its verdict and evidence."""
    names = names_in(document)
    for result in listed_results(document):
        rows: list[Row] = []
        for verdict in result.verdicts:
            claim = claim_of(verdict, result.test)
            evidence = claim.evidence
            if claim.uncounted:
                reason = "" if claim.passed else f": {claim.uncounted}"
                evidence += f" (not rated{reason})"
            word = Text(claim.word, style=_CLAIM_LOOKS[claim.look])
            rows.append((word, words(claim.name), words(evidence)))
        print_rows(console, f"behaviours of {names.name(result)}", rows)


def _print_deviations(console: Console, document: RunDocument) -> None:
    """Who deviates, and how; the kind in colour."""
    rows: list[Row] = []
    found = deviations(document)
    for one in found:
        kind, colon, rest = one.text.partition(": ")
        style = "bold red" if one.kind == "left" else "yellow"
        how = words(kind, style) + words(f"{colon}{rest}" if rest else "")
        rows.append((words(one.who, "bold"), how))
    commands = dict.fromkeys(one.command for one in found if one.command)
    print_rows(console, "deviations from the request", rows, commands)


def note_rows(document: RunDocument) -> tuple[list[Row], list[str]]:
    """The first notes of the probe, and the commands that they name."""
    is_folded = len(conditions_in(document)) > 1
    found = notes(document)
    rows: list[Row] = []
    for note in found[:_MOST_NOTES]:
        names = note.who
        if is_folded and len(names) > 2:
            names = [names[0], f"and {len(names) - 1} more conditions"]
        similar = f" (and {note.like_it} similar, in the report)" if note.like_it else ""
        who = Text("\n").join(words(name, "bold") for name in names)
        rows.append((who, words(note.text + similar)))
    if len(found) > _MOST_NOTES:
        rows.append((Text("..."), words(f"and {len(found) - _MOST_NOTES} more, in the report")))
    commands = [note.command for note in found[:_MOST_NOTES] if note.command]
    return rows, list(dict.fromkeys(commands))


_ROLES = {"worst": "worst", "mean": "mean", "uncontended": "mean"}


def print_why(rated: Sequence[tuple[MeasuredRun, Rating]], stream: IO[str] | None = None) -> None:
    """Every condition of a run, the headline first."""
    console = make_console(stream)
    reason = headline_reason(list(rated))
    for number, (run, rating) in enumerate(rated):
        load, config = run.condition.load, run.condition.cpu_config
        name = one_line(f"{run.id} {run.document.name}, load {load}, CPUs {config}")
        title = f"{name} (headline: {reason})" if reason and not number else name
        taken = special_attention(run)
        _print_rating(console, title, rating, f" ({'; '.join(taken)})" if taken else "")


def print_published_why(system: PublishedSystem, rating: Rating) -> None:
    """A published system."""
    title = f"{system.id} {system.label}, {system.study.reading.short}"
    _print_rating(make_console(), title, rating, "")


def _print_rating(console: Console, title: str, rating: Rating, taken: str) -> None:
    print_wrapped(console, title, style="bold")
    _print_labelled(console, "stars", stars_text(rating), "bold")
    if rating.study_stars is not None:
        _print_labelled(console, "the study", f"gave {rating.study_stars:g}")
    if rating.score is not None:
        for label, text in _overall_lines(rating, taken):
            _print_labelled(console, label, text)
        if rating.next_half:
            _print_labelled(console, "next", f"for another half star: {rating.next_half}")
    _print_labelled(console, "formula", f"{rating.formula}, see docs/method/rating.md")
    for one in rating.categories:
        console.print()
        _print_category(console, one)
    console.print()


def _overall_lines(rating: Rating, taken: str) -> Iterator[tuple[str, str]]:
    """The mean of the categories, and every limit, whether it is reached or not."""
    calibrated = [one for one in rating.categories if one.is_calibrated]
    weights = {name: one.weight for name, one in load_criteria().categories.items()}
    parts = [f"{weights[one.category]} x {one.score:.2f}" for one in calibrated]
    total = sum(weights.values())
    mean = sum(weights[one.category] * (one.score or 0.0) for one in calibrated) / total
    names = ", ".join(one.category for one in calibrated)
    yield "mean", f"of {names}: ({' + '.join(parts)}) / {total} = {mean:.2f}"
    for cap in overall_caps(rating.categories, rating.configuration):
        more = taken if cap.text.startswith("configuration") else ""
        if cap.score < mean:
            yield "limited by", f"{cap.text}{more}"
        else:
            yield "limit", f"{cap.score:.2f} (not reached): {cap.text}{more}"


def _print_category(console: Console, rating: CategoryRating) -> None:
    kind = weight_text(rating) if rating.is_calibrated else "not calibrated"
    print_wrapped(console, f"{rating.category}{_head(rating)}{kind})", style="bold")
    for figure in rating.figures:
        is_decisive = figure is rating.decisive
        _print_figure(console, figure, is_decisive=is_decisive)
    if rating.decisive is not None:
        _print_labelled(console, "source", rating.decisive.amount.source)
    for text in _grouped(rating.failed):
        _print_labelled(console, "fails", f"{text}, so at most {load_criteria().category_cap:g}")
    if rating.why_no_stars:
        _print_labelled(console, "why none", rating.why_no_stars)
    for text in rating.missing:
        _print_labelled(console, "missing", text)
    if rating.next_half:
        _print_labelled(console, "next", f"for another half star: {rating.next_half}")


def _head(rating: CategoryRating) -> str:
    if rating.why_no_stars:
        return ": not rated ("
    if rating.stars is None or rating.score is None:
        what = "only stand-ins are known" if rating.has_stand_ins else "no worst figure is known"
        return f": no stars, {what} ("
    drawn = stars_glyphs(certain_stars(rating.stars, rating.lowest_stars))
    score = f"{rating.score:.2f}"
    if rating.lowest_stars is not None:
        score = f"{rating.lowest_score:.2f} to {score}"
    return f" {drawn} {category_number(rating)} (score {score}, "


def _print_figure(console: Console, figure: RatedFigure, *, is_decisive: bool) -> None:
    """Role, address, value, score; the decisive figure and stand-ins are marked."""
    factor = load_criteria().factor(figure.role)
    value = amount_text(figure.amount)
    times = f" x {factor}" if factor > 1 else ""
    beyond = f" (nominal {format_value(figure.block_ns, 'ns')})" if figure.block_ns else ""
    scored = f"{value}{beyond}{times} -> {score_text(figure)}"
    mark = ", decides" if is_decisive else ""
    style = "bold" if is_decisive else ""
    notes = dict.fromkeys((figure.instead, figure.why_range, *figure.amount.notes))
    remarks = "; ".join(filter(None, notes))
    text = f"{figure.address} {scored}{mark}" + (f" ({remarks})" if remarks else "")
    _print_labelled(console, _ROLES[figure.role], text, style)


def _grouped(failed: Sequence[str]) -> list[str]:
    """One text for all cases of a claim: "SEM-B-REL mixed (sysv/thread, sysv/process)"."""
    cases: dict[str, list[str]] = {}
    for one in failed:
        name, _, case = one.partition("/")
        cases.setdefault(name, []).append(case)
    return [
        f"{name} ({listed(filter(None, found))})" if any(found) else name
        for name, found in cases.items()
    ]


def _print_labelled(console: Console, label: str, text: str, style: str = "") -> None:
    print_wrapped(console, text, f"  {label:11}", style)
