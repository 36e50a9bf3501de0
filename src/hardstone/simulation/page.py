"""The tire in a report: its charts, each with its text alternative, the section of a page, and
the sheets on paper.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from hardstone.model import Result, RunDocument
from hardstone.report.chart_frame import Row, Spec
from hardstone.report.drawing import Drawer
from hardstone.report.figures import Figure, pictures
from hardstone.report.sheet import Sheet
from hardstone.simulation import charts, tables
from hardstone.simulation.analysis import Bound, Model, bounds_of, maps_of, models_of
from hardstone.simulation.charts import (
    MOST_FRAMES,
    MOST_PANELS,
    blocks_chart,
    blocks_text,
    frames_chart,
    frames_text,
    has_behind,
    near_deadline_ns,
    shown_steps,
    shown_threads,
)
from hardstone.simulation.prediction import parts_of_period
from hardstone.simulation.results import (
    TESTS,
    Frame,
    Point,
    StepBlocks,
    blocks_of,
    by_curve,
    frames_of,
    has_tire,
    points_of,
    problems_of,
)
from hardstone.simulation.scaling import scaling_texts
from hardstone.simulation.tables import (
    HELD,
    BoundRow,
    CostTable,
    CurveNames,
    PredictionTable,
    PublishedTire,
    StatementText,
    block_rows,
    bound_rows,
    chosen_points,
    comparable,
    cost_table,
    denied_lines,
    fast_rows,
    headings,
    paused_lines,
    period_rows,
    point_rows,
    prediction_table,
    published_points,
    published_tire,
    statement_texts,
    steps_text,
    texts_between,
    threads_text,
)
from hardstone.units import format_count, format_ns
from hardstone.wording import short, shorten

MOST_DRAWN = 600  # marks of one chart
_MOST_SPOKEN = 8
_PRETEST_STEP_NS = 500_000


@dataclass(frozen=True)
class _Chart:
    name: str
    title: str
    about: str
    spoken: str
    spec: Spec


def tire_figures(document: RunDocument, points: Sequence[Point], drawer: Drawer) -> list[Figure]:
    """Every chart that the points have figures for."""
    sound = [one for one in points if not one.is_delayed]
    bounds = bounds_of(sound)
    names = CurveNames(document)
    found = [
        *_totals(sound, names),
        *_steps(sound, names),
        *_maps(bounds, names),
        *_models(document, sound, names),
        *_periods(document, sound, names),
        *_study(document, sound, bounds, names),
    ]
    return [
        Figure(
            id=f"tire-{one.name}",
            title=one.title,
            about=one.about,
            alt=shorten(f"{one.title}. {one.spoken}", 600),
            drawing=drawer.draw(one.spec),
        )
        for one in found
    ]


def _by_curve(points: Iterable[Point]) -> list[Point]:
    """Curve after curve as they were measured, each by its masses."""
    return [one for own in by_curve(points).values() for one in own]


def _thinned(rows: list[Row]) -> list[Row]:
    return rows[:: max(1, -(-len(rows) // MOST_DRAWN))]


def _has_curve(rows: Sequence[Row]) -> bool:
    """Whether there are several numbers of masses: one has no picture."""
    return len({row["v"] for row in rows}) > 1


def _shown_panels(panels: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(panels))[:MOST_PANELS]


def _left_out(all_panels: Sequence[str], shown: Sequence[str]) -> str:
    more = len(set(all_panels)) - len(shown)
    return f" {more} more conditions: see the table." if more > 0 else ""


def _lines_left_out(points: Sequence[Point], lines: Sequence[int]) -> str:
    count = len({one.threads for one in points})
    return f" {len(lines)} of {count} numbers of threads." if count > len(lines) else ""


def _totals(points: Sequence[Point], names: CurveNames) -> Iterator[_Chart]:
    timed = _by_curve(one for one in points if one.total and not one.has_frames)
    lines = shown_threads(one.threads for one in timed)
    all_panels = [names.panel(one.curve) for one in timed]
    shown = _shown_panels(all_panels)
    rows = [
        charts.total_row(panel, one.threads, one.masses, one.total.mean_ns)
        for one, panel in zip(timed, all_panels, strict=True)
        if one.threads in lines and panel in shown and one.total
    ]
    if _has_curve(rows):
        yield _Chart(
            "total",
            "Real-fast: total time by masses",
            "Mean of the repeats of a whole simulation, as fast as possible."
            + _lines_left_out(timed, lines)
            + _left_out(all_panels, shown),
            "; ".join(
                f"{panel}, {threads_text(one.threads)}, {format_count(one.masses)} masses: "
                f"{format_ns(one.total.mean_ns if one.total else None)}"
                for one, panel in list(zip(timed, all_panels, strict=True))[-_MOST_SPOKEN:]
            ),
            charts.total_chart(_thinned(rows), [threads_text(one) for one in lines]),
        )


def _steps(points: Sequence[Point], names: CurveNames) -> Iterator[_Chart]:
    timed = _by_curve(one for one in points if one.step_time)
    lines = shown_threads(one.threads for one in timed)
    all_panels = [names.panel(one.curve) for one in timed]
    shown = _shown_panels(all_panels)
    kept = [
        (one, panel)
        for one, panel in zip(timed, all_panels, strict=True)
        if one.threads in lines and panel in shown
    ]
    kept = kept[:: max(1, -(-3 * len(kept) // MOST_DRAWN))]
    rows = [row for one, panel in kept for row in charts.step_rows(panel, one)]
    deadlines = {panel: one.period_ns for one, panel in kept}
    if _has_curve(rows):
        yield _Chart(
            "steps",
            "Real time: time of a step by masses",
            "Mean and worst observed, from the start of the first thread to the end of the last "
            "one; p99 where a point has 1000 steps. The red line is the period: a step that takes "
            "longer misses its deadline, and one that starts late misses it even below the line."
            + _lines_left_out(timed, lines)
            + _left_out(all_panels, shown),
            "; ".join(
                f"{panel}, {threads_text(one.threads)}, {format_count(one.masses)} masses: mean "
                f"{format_ns(one.step_time.mean_ns)}, worst {format_ns(one.step_time.max_ns)}"
                for one, panel in kept[-_MOST_SPOKEN:]
                if one.step_time
            ),
            charts.step_chart(
                rows,
                [threads_text(one) for one in lines],
                [charts.deadline_row(panel, ns) for panel, ns in deadlines.items()],
            ),
        )


def _maps(bounds: Sequence[Bound], names: CurveNames) -> Iterator[_Chart]:
    """A map for each step that was simulated: the study's hard and soft maps in one."""
    panels = maps_of(bounds)
    for step in dict.fromkeys((one.key.step_ns, one.key.period_ns) for one in panels):
        own = [one for one in panels if (one.key.step_ns, one.key.period_ns) == step]
        all_names = [names.panel(one.key) for one in own]
        shown = own[:MOST_PANELS]
        rows = [
            charts.map_row(names.panel(panel.key), cell) for panel in shown for cell in panel.cells
        ]
        rows = _thinned(rows)
        if not _has_curve(rows):
            continue
        what = "Pre-test map" if step[0] == _PRETEST_STEP_NS else "Map of missed deadlines"
        spoken = "; ".join(_spoken(bounds, step, names))
        more = _left_out(all_names, [names.panel(one.key) for one in shown])
        yield _Chart(
            f"map-{step[0]}-{step[1]}",
            f"{what}, {steps_text(own[0].key)}",
            "A dot where any deadline was missed, in the colour of the share of missed steps; a "
            "cross where none was. A cross does not prove that none ever will be: the table has "
            "the upper limit of the miss rate." + more,
            spoken,
            charts.map_chart(rows),
        )


def _spoken(bounds: Sequence[Bound], step: tuple[int, int], names: CurveNames) -> Iterator[str]:
    own = [one for one in bounds if (one.curve.step_ns, one.curve.period_ns) == step]
    for one in own[:_MOST_SPOKEN]:
        who = f"{names.panel(one.curve)}, {threads_text(one.curve.threads)}"
        held = f"none missed up to {format_count(one.held.masses)}" if one.held else "none held"
        first = one.first_missed
        missed = f", missed at {format_count(first.masses)}" if first else ", no miss"
        yield f"{who}: {held}{missed}"


def _models(document: RunDocument, points: Sequence[Point], names: CurveNames) -> Iterator[_Chart]:
    found = [one for one in models_of(document, chosen_points(points)) if isinstance(one, Model)]
    in_real_time = [one for one in found if one.point.deadlines is not None]
    models = in_real_time or found
    all_panels = [names.panel(one.point.curve) for one in models]
    shown = _shown_panels(all_panels)
    kept = [(one, panel) for one, panel in zip(models, all_panels, strict=True) if panel in shown][
        :24
    ]
    rows = [
        row
        for one, panel in kept
        for row in charts.model_rows(panel, threads_text(one.point.threads), one)
    ]
    if rows:
        yield _Chart(
            "model",
            "A step by the cost model, and measured",
            "Bars: terms of the model, stacked; the last one is not in the paper, and has the "
            "hand-overs in it where it is the reads and writes. Tick: measured "
            "mean. Of each curve the largest simulation that held, its masses above the bar."
            + _left_out(all_panels, shown),
            "; ".join(
                f"{panel}, {threads_text(one.point.threads)}, {format_count(one.point.masses)} "
                f"masses: model {format_ns(one.model_ns)}, measured {format_ns(one.measured_ns)}"
                for one, panel in kept[:_MOST_SPOKEN]
            ),
            charts.model_chart(rows),
        )


def _periods(document: RunDocument, points: Sequence[Point], names: CurveNames) -> Iterator[_Chart]:
    timed = [
        (one, parts)
        for one in chosen_points(points)
        if (parts := parts_of_period(document, one)) is not None
    ]
    all_panels = [names.panel(one.curve) for one, _ in timed]
    shown = _shown_panels(all_panels)
    kept = [pair for pair, panel in zip(timed, all_panels, strict=True) if panel in shown][:24]
    rows = [
        row
        for one, parts in kept
        for row in charts.period_rows(
            names.panel(one.curve), threads_text(one.threads), parts, one.masses
        )
    ]
    if rows:
        yield _Chart(
            "period",
            "A period: dispatch, step and idle",
            "Figure 1 of the study: T = T_i + T_s + T_w. Means of the largest simulation of each "
            "curve that held, its masses above the bar. A step that missed its deadline has no "
            "idle time." + _left_out(all_panels, shown),
            "; ".join(
                f"{names.panel(one.curve)}, {threads_text(one.threads)}: "
                + ", ".join(
                    f"{name} {format_ns(ns)}"
                    for name, ns in zip(charts.PERIOD_PARTS, parts, strict=True)
                )
                for one, parts in kept[:_MOST_SPOKEN]
            ),
            charts.period_chart(rows),
        )


def _study(
    document: RunDocument, points: Sequence[Point], bounds: Sequence[Bound], names: CurveNames
) -> Iterator[_Chart]:
    """The published points; those of this run where both are of hardware and of one step."""
    study = published_tire(document, points)
    rows = []
    for one in published_points():
        masses, kind = (
            (one.held, charts.HELD_UP_TO)
            if one.held is not None
            else (one.missed_from, charts.MISSED_FROM)
        )
        rows.append(charts.study_row(one.system, one.threads, masses or 1, kind))
    own = [] if study.refused else [one for one in bounds if comparable(one)]
    panels = _shown_panels([names.panel(one.curve) for one in own])
    for bound in own:
        panel = names.panel(bound.curve)
        if panel not in panels:
            continue
        who, threads = f"this run, {panel}", bound.curve.threads
        if bound.held:
            rows.append(charts.study_row(who, threads, bound.held.masses, charts.HELD_UP_TO))
        if bound.first_missed:
            first = bound.first_missed.masses
            rows.append(charts.study_row(who, threads, first, charts.MISSED_FROM))
    lacking = ""
    if not own and not study.refused:
        lacking = ", no curve with the study's solver, step and rate"
    yield _Chart(
        "study",
        f"Compared with {study.short}",
        f"{study.short}: {study.hardware}. Dashed: with any number of threads. This run: "
        f"{study.refused or study.own_hardware}{lacking}. The hardware differs: compare the "
        "distances between systems, not the numbers.",
        "; ".join(
            f"{row[0]}, {row[1]} threads: "
            + ", ".join(
                f"{who} {cell}" for who, cell in zip(study.headings[2:], row[2:], strict=True)
            )
            for row in study.rows[:_MOST_SPOKEN]
        ),
        charts.study_chart(rows),
    )


_SPEED = (
    "Total time of the second side over that of the first at each common point. Above the dashed "
    "line the first side is faster."
)
_HELD = (
    "Largest number of masses without a miss, there and at every smaller number. A triangle to the "
    "right: no miss was found, so the limit is higher. To the left: even the smallest missed."
)


def _side_figures(found: Sequence[StatementText], name: str, drawer: Drawer) -> list[Figure]:
    """Which side is faster, and what each held; none without such figures."""
    shown = [one for one in found if one.statement.speed or one.rows][:MOST_PANELS]
    panels = [shorten(one.title, 60) for one in shown]
    speed = [
        row
        for one, panel in zip(shown, panels, strict=True)
        for row in charts.speed_rows(panel, one.statement)
    ]
    held = [
        row
        for one, panel in zip(shown, panels, strict=True)
        for row in charts.held_rows(panel, one.statement, (one.first, one.second))
    ]
    figures = []
    if speed:
        title, spoken = "Which is faster", " ".join(f"{one.title}: {one.speed}" for one in shown)
        alt, drawing = shorten(f"{title}. {spoken}", 600), drawer.draw(charts.speed_chart(speed))
        figures.append(Figure(f"{name}-speed", title, _SPEED, alt, drawing))
    if held:
        spoken = "; ".join(
            f"{one.title}, {what}: {one.first} {first}, {one.second} {second}"
            for one in shown
            for what, first, second in one.rows
        )
        title = "Which holds more masses"
        alt, drawing = shorten(f"{title}. {spoken}", 600), drawer.draw(charts.held_chart(held))
        figures.append(Figure(f"{name}-held", title, _HELD, alt, drawing))
    return figures


MOST_VARIANTS = 6


def picture_figures(result: Result, anchor: str, drawer: Drawer) -> list[Figure]:
    """The falling tire, and for the first MOST_VARIANTS variants the steps of its threads; none
    where the result has no such tables."""
    frames, variants = frames_of(result), blocks_of(result)
    found = [_frames_figure(frames, f"{anchor}-tire", drawer)] if frames else []
    for number, one in enumerate(variants[:MOST_VARIANTS]):
        name = f"{anchor}-blocks-{number}"
        found.append(_blocks_figure(one, _title(one, result), name, drawer))
    return found


def blocks_tables(result: Result) -> list[tuple[str, tuple[str, ...], list[tuple[str, ...]]]]:
    """Title, headings and rows for the variants that have such a figure."""
    return [
        (_title(one, result), headings(one), block_rows(one))
        for one in blocks_of(result)[:MOST_VARIANTS]
    ]


def _frames_figure(frames: list[Frame], name: str, drawer: Drawer) -> Figure:
    first = frames[0]
    title = f"The tire of {format_count(first.masses)} masses"
    about = (
        f"Simulated on one thread after the measurement, in steps of {format_ns(first.step_ns)}. "
        "Upwards and across at one scale; the dot is the mass that was on top."
    )
    if len(frames) > MOST_FRAMES:
        about += f" {MOST_FRAMES} of {len(frames)} pictures."
    if first.every > 1:
        about += f" One mass of {first.every} neighbours is drawn."
    return _picture(title, about, frames_text(frames), frames_chart(frames), name, drawer)


def _blocks_figure(blocks: StepBlocks, title: str, name: str, drawer: Drawer) -> Figure:
    kept = {one.step for row in blocks.rows for one in row.blocks}
    about = f"{len(shown_steps(blocks))} of {len(kept)} recorded steps, around the one that "
    about += "ended latest. Thin: waiting for the release. Parts include time off the CPU."
    if has_behind(blocks):
        about += " Behind: an earlier step has not ended."
    if len(blocks.rows) < blocks.threads:
        about += f" {len(blocks.rows)} of {blocks.threads} threads."
    if blocks.period_ns is not None and near_deadline_ns(blocks) is None:
        about += f" The deadline is {format_ns(blocks.period_ns)} after the release."
    return _picture(title, about, blocks_text(blocks), blocks_chart(blocks), name, drawer)


def _title(blocks: StepBlocks, result: Result) -> str:
    where = result.conditions
    words = [
        f"Steps of {format_count(blocks.masses)} masses",
        threads_text(blocks.threads),
        shorten(blocks.solver),
        shorten(blocks.policy),
    ]
    words += [f"load {shorten(where.load)}"] if where.load not in (None, "none") else []
    words += [shorten(where.cpu_config)] if where.cpu_config not in (None, "shared") else []
    return ", ".join(words)


def _picture(title: str, about: str, spoken: str, spec: Spec, name: str, drawer: Drawer) -> Figure:
    return Figure(
        id=name,
        title=title,
        about=about,
        alt=shorten(f"{title}: {spoken}.", 1200),
        drawing=drawer.draw(spec),
    )


_MOST_PROBLEMS = 12
_MOST_PICTURES = 7


@dataclass(frozen=True)
class TirePage:
    """`points` has at most some hundred rows. `denied`: what was refused, or paused."""

    rows: list[BoundRow]
    has_solver: bool
    fast: list[tuple[str, ...]]
    statements: list[StatementText]
    sides: list[Figure]
    beside: list[StatementText]
    beside_sides: list[Figure]
    not_beside: str
    predicted: PredictionTable
    periods: list[tuple[str, ...]]
    costs: CostTable
    study: PublishedTire
    figures: list[Figure]
    pictures: list[Figure]
    pictures_left_out: int
    blocks: list[tuple[str, tuple[str, ...], list[tuple[str, ...]]]]
    points: list[tuple[str, ...]]
    points_caption: str
    problems: list[str]
    denied: list[str]
    scaling: list[str]
    held_meaning: str = HELD
    steps_meaning: str = tables.STEPS
    fast_meaning: str = tables.MEANING
    fast_headings: tuple[str, ...] = tuple(one[0].upper() + one[1:] for one in tables.FAST_HEADINGS)
    statement_title: str = tables.TITLE
    statement_meaning: str = tables.STATEMENT_ABOUT
    one_side: str = tables.ONE_SIDE
    predicted_meaning: str = tables.PREDICTED
    predicted_headings: tuple[str, ...] = tuple(map(str.capitalize, tables.PREDICTED_HEADINGS))
    periods_meaning: str = tables.PERIOD
    period_headings: tuple[str, ...] = tuple(map(str.capitalize, tables.PERIOD_HEADINGS))
    costs_meaning: str = tables.COST_ABOUT
    cost_headings: tuple[str, ...] = tuple(map(str.capitalize, tables.COST_HEADINGS))
    point_headings: tuple[str, ...] = tuple(
        one[0].upper() + one[1:] for one in tables.POINT_HEADINGS
    )
    points_meaning: str = tables.POINTS


def tire_page(
    document: RunDocument, drawer: Drawer, *, other: RunDocument | None = None
) -> TirePage | None:
    """None where the run has no result of the tire. `other`: a run to compare with this one."""
    if not has_tire(document):
        return None
    points = points_of(document)
    rows = bound_rows(document, points)
    listed = point_rows(document, points)
    pictures: list[Figure] = []
    blocks = []
    for number, result in enumerate(document.results):
        if result.test in TESTS and result.tables:
            pictures += picture_figures(result, f"tire-{number}", drawer)
            blocks += blocks_tables(result)
    pictures.sort(key=lambda one: not one.id.endswith("-tire"))  # the falling tire first
    more = f", the first {len(listed)} of them" if len(listed) < len(points) else ""
    statements = statement_texts(document, points)
    between = _between(document, other) if other else []
    compared = [] if isinstance(between, str) else between
    return TirePage(
        rows=rows,
        has_solver=len({row.solver for row in rows}) > 1,
        fast=fast_rows(document, points),
        statements=statements,
        sides=_side_figures(statements, "tire-sides", drawer),
        beside=compared,
        beside_sides=_side_figures(compared, "tire-beside", drawer),
        not_beside=between if isinstance(between, str) else "",
        predicted=prediction_table(document, points),
        periods=period_rows(document, points),
        costs=cost_table(document, points),
        study=published_tire(document, points),
        figures=tire_figures(document, points, drawer),
        pictures=pictures[:_MOST_PICTURES],
        pictures_left_out=max(0, len(pictures) - _MOST_PICTURES),
        blocks=blocks[:_MOST_PICTURES],
        points=listed,
        points_caption=f"All {format_count(len(points))} points{more}",
        problems=problems_of(points)[:_MOST_PROBLEMS],
        denied=[*denied_lines(points), *paused_lines(points)],
        scaling=scaling_texts(document, points),
    )


def _between(document: RunDocument, other: RunDocument) -> list[StatementText] | str:
    """The statements about both runs, which are named by what differs; or why there are none."""
    first, second = (short(one.system.get("kernel.release"), 24) for one in (document, other))
    if first == second:
        first, second = document.name, other.name
    if first == second:
        first, second = document.id, other.id
    return texts_between(document, other, (first, second))


_CHARTS_EACH = 4


def tire_sheets(subject: str, page: TirePage) -> Iterator[Sheet]:
    """`subject` names the machine."""
    yield _held(subject, page)
    if page.fast:
        sheet = Sheet.headed(subject, "Tire simulation: as fast as possible")
        sheet.table(page.fast_headings, page.fast)
        sheet.text(page.fast_meaning, 7.5, colour="quiet")
        yield sheet
    figures = [*page.sides, *page.beside_sides, *page.figures, *page.pictures]
    for at in range(0, len(figures), _CHARTS_EACH):
        found = figures[at : at + _CHARTS_EACH]
        sheet = Sheet.headed(subject, "Tire simulation, charts")
        for one in found:
            sheet.text(f"{one.title}: {one.about}", 7.5, colour="quiet")
        sheet.gap(4)
        sheet.drawings(pictures(found), columns=2)
        yield sheet
    yield _model(subject, page)


def _held(subject: str, page: TirePage) -> Sheet:
    sheet = Sheet.headed(subject, "Tire simulation: what held in real time")
    for line in (*page.denied, *page.problems):
        sheet.text(line, 8, colour="fair")
    head = ["Policy", "Threads", "Held", "Missed at", "Missed", "95 % bound", "Mean", "p99", "Max"]
    rows = [
        [", ".join(filter(None, (row.policy, row.under, row.solver))), *row.cells[2:]]
        for row in page.rows
    ]
    sheet.table(head, rows)
    for text in page.scaling:
        sheet.text(text, 8)
    if page.predicted.rows:
        sheet.table(page.predicted_headings, page.predicted.rows)
        sheet.text(page.predicted_meaning, 7.5, colour="quiet")
    for text in page.predicted.lacking:
        sheet.text(text, 7.5, colour="quiet")
    if page.periods:
        sheet.table(page.period_headings, page.periods)
        sheet.text(page.periods_meaning, 7.5, colour="quiet")
    for text in (page.held_meaning, page.steps_meaning):
        sheet.text(text, 7.5, colour="quiet")
    sheet.gap(6)
    sheet.text(page.statement_title, 11, bold=True)
    if page.not_beside:
        sheet.text(f"Not compared with the other run: {page.not_beside}", 8, colour="fair")
    for one in (*page.statements, *page.beside):
        sheet.text(f"{one.title}: {one.conclusion}", 9, bold=one.is_decided)
        for text in (one.speed, one.misses, *(f"Open: {text}." for text in one.needed)):
            sheet.text(text, 8)
        sheet.table(["", one.first, one.second], one.rows)
        sheet.gap(4)
    sheet.text(page.statement_meaning if page.statements else page.one_side, 7.5, colour="quiet")
    return sheet


def _model(subject: str, page: TirePage) -> Sheet:
    sheet = Sheet.headed(subject, "Tire simulation: cost model, and the study")
    if page.costs.rows:
        sheet.table(page.cost_headings, page.costs.rows)
        sheet.text(page.costs_meaning, 7.5, colour="quiet")
    for text in (*page.costs.notes, *page.costs.lacking):
        sheet.text(text, 7.5, colour="quiet")
    sheet.gap(6)
    sheet.text(f"Published: {page.study.short}, on {page.study.hardware}", 11, bold=True)
    sheet.table(page.study.headings, page.study.rows)
    sheet.text(f"This run: {page.study.refused or page.study.own_hardware}", 7.5, colour="quiet")
    sheet.text(f"Pre-test of the study: {page.study.pretest}", 7.5, colour="quiet")
    return sheet
