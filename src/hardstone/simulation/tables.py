"""The tire in tables and sentences: points, maps, costs, what the study published, and the
statement.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil

from hardstone.figure_text import share_text
from hardstone.model import RunDocument
from hardstone.simulation.analysis import (
    HAND_OVER_TEST,
    SWITCH_TEST,
    Bound,
    Cell,
    HeldRow,
    Misses,
    Model,
    NoModel,
    Panel,
    Side,
    Speed,
    Statement,
    bounds_of,
    inputs_of,
    maps_of,
    models_of,
    statements_between,
    statements_within,
    steps_each,
)
from hardstone.simulation.prediction import Checked, checked, parts_of_period, series_at
from hardstone.simulation.results import (
    REAL_FAST,
    REAL_TIME,
    Curve,
    Point,
    StepBlocks,
    by_curve,
    mean_blocks,
    points_of,
)
from hardstone.stats.conditions import Condition, listed, names_in, sweep_points
from hardstone.stats.consistency import why_incomparable, why_not_comparable_to_hardware
from hardstone.systems.published import Figure, figures_of, load_studies
from hardstone.units import format_count, format_ns
from hardstone.wording import clean, one_line, shorten, target_text

_NAME_CHARACTERS = 24
_NOISE = 1e-9  # of floating point, in the last digit shown
_USUAL = ((10_000_000, 60), (10_000_000, 0))
HELD = (
    "Held: the largest number of masses at which no step missed its deadline, there and at every "
    "smaller number measured. None of N steps missed does not mean that none ever will: it bounds "
    "the share of missed steps to about 3/N, at 95 % confidence (exact, Clopper and Pearson), if "
    "steps miss independently. Steps of one run depend on each other, so the true bound is higher."
)
BOUND = "bound: 95 % upper limit on the miss rate (assumes independent steps)"


def opening_text(document: RunDocument) -> str:
    """Why a sweep has results of other tests; empty where it has none."""
    ran = {one.test for one in document.results}
    if not {SWITCH_TEST, HAND_OVER_TEST} <= ran or not sweep_points(document):
        return ""
    return (
        f"{SWITCH_TEST} and {HAND_OVER_TEST} ran first to time a switch and a hand-over "
        "(cost model)"
    )


class CurveNames:
    """Short names for the curves of one document."""

    def __init__(self, document: RunDocument) -> None:
        self._names = names_in(document)

    def under(self, curve: Curve) -> str:
        """The condition, where the run has several: "heavy, shielded"."""
        condition = Condition(curve.load, curve.cpu_config, curve.preemption)
        return shorten(self._names.label(condition), _NAME_CHARACTERS)

    def panel(self, curve: Curve) -> str:
        """Everything but the threads: "fifo, heavy", "fifo, barrier, step 1 ms"."""
        solver = "" if curve.solver == "semaphore" else curve.solver
        usual = curve.test != REAL_FAST or (curve.step_ns, curve.simulated_s) in _USUAL
        step = "" if usual else f"step {format_ns(curve.step_ns)}, {curve.simulated_s} s"
        parts = (curve.policy, solver, self.under(curve), step)
        return ", ".join(shorten(one, _NAME_CHARACTERS) for one in parts if one)


def threads_text(count: int) -> str:
    return "1 thread" if count == 1 else f"{count} threads"


def steps_text(curve: Curve) -> str:
    """Step and, where it differs, the period: "step 10 ms", "step 1 ms every 2 ms"."""
    step = f"step {format_ns(curve.step_ns)}"
    is_real_time = curve.period_ns not in (0, curve.step_ns)
    return f"{step} every {format_ns(curve.period_ns)}" if is_real_time else step


def _held_text(bound: Bound) -> str:
    """Without a miss above it, the largest measured is no limit of the system. A curve that was
    refused did not hold "none": it was not measured."""
    if bound.held is not None:
        return f"{'>= ' if bound.first_missed is None else ''}{format_count(bound.held.masses)}"
    statuses = {point.status for cell in bound.cells for point in cell.points}
    if bound.first_missed or "measured" in statuses or len(statuses) != 1:
        return "none"
    return shorten(statuses.pop(), 11)


def _first_missed_text(bound: Bound) -> str:
    if bound.first_missed is not None:
        return format_count(bound.first_missed.masses)
    return "none" if bound.held else "-"


def _missed_text(cell: Cell) -> str:
    """ "0 of 100"; without released steps only what is known."""
    missed = format_count(cell.missed_count)
    return f"{missed} of {format_count(cell.released_count)}" if cell.released_count else missed


def bound_text(cell: Cell) -> str:
    """The upper end of the share of missed steps, never rounded in favour of the system."""
    if cell.bound is None:
        return "-"
    return f"{'<' if cell.bound < 1 else '<='} {percent(cell.bound)}"


def percent(share: float) -> str:
    """A share rounded up: "3.0 %", "0.051 %"; small ones as "1 in 100 000"."""
    if share >= 0.1:
        return f"{min(ceil(100 * share - _NOISE), 100)} %"
    if share < 0.0001:
        return share_text(share) if share > 0 else "0"
    digits = 1 if share >= 0.01 else 2 if share >= 0.001 else 3
    scale: int = 10**digits
    return f"{ceil(100 * share * scale - _NOISE) / scale:.{digits}f} %"


MOST_LINES = 4


def tire_lines(document: RunDocument) -> list[str]:
    """Missed deadlines, then total times; empty for a sweep, which has a screen of its own."""
    if sweep_points(document):
        return []
    points = points_of(document)
    names = CurveNames(document)
    found = [
        _missed_line(cell, names)
        for bound in bounds_of(points)
        for cell in bound.cells
        if cell.points[0].is_measured
    ]
    for point in points:
        if point.test == REAL_FAST and point.total:
            code = f", code {shorten(point.work.code, 12)}" if point.work.code else ""
            found.append(f"{_who(point, names)} in {format_ns(point.total.mean_ns)}{code}")
    more = len(found) - MOST_LINES
    return [*found[:MOST_LINES], *([f"and {more} more, with --all"] if more > 0 else [])]


def deadlines_missed(document: RunDocument) -> str:
    """The first size at which steps missed; empty without one, and for a sweep, which looks for
    them on purpose."""
    if sweep_points(document):
        return ""
    cells = [cell for bound in bounds_of(points_of(document)) for cell in bound.cells]
    late = [cell for cell in cells if cell.has_missed]
    if not late:
        return ""
    more = f"; {len(late)} sizes in all" if len(late) > 1 else ""
    return f"{REAL_TIME}: {_missed_line(late[0], CurveNames(document))}{more}"


def _missed_line(cell: Cell, names: CurveNames) -> str:
    """ "0 of 100 steps missed their deadline (share < 3.0 %): 400 masses, 2 threads, fifo"."""
    bound = f" (share {bound_text(cell)})" if cell.bound is not None else ""
    return f"{_missed_text(cell)} steps missed their deadline{bound}: {_who(cell.points[0], names)}"


def _who(point: Point, names: CurveNames) -> str:
    masses = f"{format_count(point.masses)} masses"
    return ", ".join((masses, threads_text(point.threads), names.panel(point.curve)))


MOST_COLUMNS = 60
_MAP_LINES = 16
MAP_MISSED, MAP_HELD, NOT_COUNTED, NOT_MEASURED = "\u25cf", "\u00b7", "?", " "
PLAIN = {MAP_MISSED: "#", MAP_HELD: "."}


@dataclass(frozen=True)
class MapText:
    """`lines` are (threads, marks); `ends` are the smallest and the largest number of masses."""

    title: str
    ends: tuple[str, str]
    lines: list[tuple[str, str]]
    left_out: int


def map_texts(
    document: RunDocument, points: Sequence[Point], columns: int = MOST_COLUMNS
) -> list[MapText]:
    """One map for each solver, policy and condition with several numbers of masses."""
    names = CurveNames(document)
    panels = maps_of(bounds_of(points))
    return [_map_text(panel, names, columns) for panel in panels if len(panel.masses) > 1]


def _map_text(panel: Panel, names: CurveNames, columns: int) -> MapText:
    masses = panel.masses
    threads = panel.threads
    each = -(-len(masses) // max(columns, 1))
    groups = [masses[at : at + each] for at in range(0, len(masses), each)]
    by_place = {(one.curve.threads, one.masses): one for one in panel.cells}
    lines = [
        (
            format_count(count),
            "".join(
                _mark([by_place[count, n] for n in group if (count, n) in by_place])
                for group in groups
            ).rstrip(),
        )
        for count in threads[:_MAP_LINES]
    ]
    return MapText(
        title=f"{names.panel(panel.key)}, {steps_text(panel.key)}",
        ends=(format_count(masses[0]), format_count(masses[-1])),
        lines=lines,
        left_out=len(threads) - len(lines),
    )


def _mark(cells: Sequence[Cell]) -> str:
    """The mark of the worst of several cells."""
    if not cells:
        return NOT_MEASURED
    if any(one.has_missed for one in cells):
        return MAP_MISSED
    return MAP_HELD if all(one.has_held for one in cells) else NOT_COUNTED


_BOUND_ROWS = 64
_MOST_POINT_ROWS = 300
POINTS = (
    "Total: mean of the repeats. CPU time of all threads, switches (voluntary + involuntary) and "
    "blocked semaphore operations: of the last repeat."
)
POINT_HEADINGS = (
    "masses",
    "threads",
    "policy",
    "under",
    "missed",
    "bound",
    "lateness",
    "mean",
    "p99",
    "max",
    "total",
    "CPU time",
    "switches",
    "blocked",
    "status",
)
STEPS = (
    "Missed and bound: steps that missed at the number held (where none held, at the smallest) and "
    "the upper end of their share. Mean, p99, max: time of a step there; p99 from 1000 steps on."
)


@dataclass(frozen=True)
class BoundRow:
    """One curve. `note`: islands above the first miss, and what was not counted."""

    policy: str
    under: str
    threads: str
    held: str
    missed_from: str
    missed: str
    bound: str
    mean: str
    p99: str
    worst: str
    solver: str
    steps: str
    has_held: bool
    note: str

    @property
    def cells(self) -> tuple[str, ...]:
        """All but solver, steps and note, in the order of the columns."""
        words = (self.policy, self.under, self.threads, self.held, self.missed_from)
        return (*words, self.missed, self.bound, self.mean, self.p99, self.worst)


def bound_rows(document: RunDocument, points: Sequence[Point]) -> list[BoundRow]:
    """What each curve held, at most _BOUND_ROWS, by solver, condition, policy and threads."""
    names = CurveNames(document)
    return [_bound_row(one, names) for one in bounds_of(points)[:_BOUND_ROWS]]


def _bound_row(bound: Bound, names: CurveNames) -> BoundRow:
    curve = bound.curve
    shown = bound.held or next((one for one in bound.cells if one.released_count), None)
    timed = [one.step_time for one in shown.points if one.step_time] if shown else []
    longest = max(timed, key=lambda one: one.max_ns, default=None)
    return BoundRow(
        policy=shorten(curve.policy, 12),
        under=names.under(curve),
        threads=format_count(curve.threads),
        held=_held_text(bound),
        missed_from=_first_missed_text(bound),
        missed=_missed_text(shown) if shown else "-",
        bound=bound_text(shown) if shown else "-",
        mean=format_ns(longest.mean_ns if longest else None),
        p99=format_ns(longest.p99_ns if longest else None),
        worst=format_ns(longest.max_ns if longest else None),
        solver=shorten(curve.solver, 12),
        steps=steps_text(curve),
        has_held=bound.held is not None,
        note="; ".join(_notes(bound)),
    )


def _notes(bound: Bound) -> Iterator[str]:
    if bound.islands:
        masses = listed(format_count(one.masses) for one in bound.islands)
        yield f"no miss again at {masses}"
    for cell in bound.not_counted[:2]:
        yield f"{format_count(cell.masses)} not counted: {_why(cell.points[-1])}"
    if len(bound.not_counted) > 2:
        yield f"{len(bound.not_counted) - 2} more not counted"


_REASON_CHARACTERS = 80


def _why(point: Point) -> str:
    if point.status != "measured":
        reason = point.reason or "no reason was given"
        if len(reason) > _REASON_CHARACTERS:  # what failed is at the begin, why at the end
            half = _REASON_CHARACTERS // 2
            reason = f"{reason[:half]}\N{HORIZONTAL ELLIPSIS}{reason[-half:]}"
        return shorten(f"{point.status}, {reason}", 2 * _REASON_CHARACTERS)
    if not point.is_whole:
        return "ended before its last step"
    return "its released steps are not known"


def point_rows(document: RunDocument, points: Sequence[Point]) -> list[tuple[str, ...]]:
    """Every point as in POINT_HEADINGS, at most _MOST_POINT_ROWS, by its curve and masses."""
    names = CurveNames(document)
    ordered = sorted(points, key=lambda one: (one.test, one.curve, one.masses))
    return [_point_row(one, names) for one in ordered[:_MOST_POINT_ROWS]]


def _point_row(point: Point, names: CurveNames) -> tuple[str, ...]:
    cell = next((one.cells[0] for one in bounds_of([point])), None)
    deadlines, step, work = point.deadlines, point.step_time, point.work
    blocked = "-"  # semaphore operations, of all
    if work.operations_count and work.blocked_count is not None:
        blocked = f"{format_count(work.blocked_count)} of {format_count(work.operations_count)}"
    status = "measured" if point.is_whole else _why(point)
    policy = point.policy if point.solver == "semaphore" else f"{point.policy}, {point.solver}"
    return (
        format_count(point.masses),
        format_count(point.threads),
        shorten(policy, 24),
        names.under(point.curve) or "-",
        _missed_text(cell) if cell and cell.is_counted else "-",
        bound_text(cell) if cell else "-",
        format_ns(deadlines.lateness_max_ns if deadlines else None),
        format_ns(step.mean_ns if step else None),
        format_ns(step.p99_ns if step else None),
        format_ns(step.max_ns if step else None),
        format_ns(point.total.mean_ns if point.total else None),
        format_ns(work.cpu_ns),
        _switches_text(point),
        blocked,
        "one step was delayed on purpose" if point.is_delayed else status,
    )


def _switches_text(point: Point) -> str:
    """Voluntary + involuntary."""
    counts = (point.work.voluntary_count, point.work.involuntary_count)
    if None in counts:
        return "-"
    return " + ".join(format_count(one or 0) for one in counts)


def paused_lines(points: Sequence[Point]) -> list[str]:
    """A line on total times during which the simulation did not have the CPU all the time."""
    paused = [one for one in points if one.paused_ns is not None]
    if not paused:
        return []
    worst = max(paused, key=lambda one: one.paused_ns or 0)
    total = format_ns(worst.total.mean_ns) if worst.total else "its time"
    return [
        f"Points of SIM-P-RF: at {len(paused)} of them the only thread did not have the CPU all "
        f"the time, which is in the total time: {format_ns(worst.paused_ns)} of {total} with "
        f"{format_count(worst.masses)} masses, {shorten(worst.policy, 12)}; real-time throttling "
        "takes such time"
    ]


def denied_lines(points: Sequence[Point]) -> list[str]:
    """Why points were refused, each reason once, with the remedy."""
    found: dict[str, None] = {}
    for point in points:
        if point.status not in ("measured", "skipped") and point.reason:
            remedy = f"; remedy: {point.remedy}" if point.remedy else ""
            command = f": {point.command}" if point.command else ""
            found[one_line(f"{point.status}: {point.reason}{remedy}{command}")] = None
    return list(found)[:4]


_FAST_ROWS = 60
FAST_HEADINGS = (
    "real-fast",
    "threads",
    "masses",
    "total",
    "range",
    "a mass, a step",
    "CPU",
    "switches",
)
MEANING = (
    "Total: mean of the repeats, from the common start to the end of the last thread. CPU time of "
    "all threads, and context switches (voluntary + involuntary): of the last repeat."
)


def fast_rows(document: RunDocument, points: Sequence[Point]) -> list[tuple[str, ...]]:
    """Each measured point as in FAST_HEADINGS, by curve and masses, at most _FAST_ROWS."""
    names = CurveNames(document)
    timed = [one for one in points if one.total and not one.has_frames]
    ordered = [one for own in by_curve(timed).values() for one in own]
    return [_fast_row(document, one, names) for one in ordered[:_FAST_ROWS]]


def _fast_row(document: RunDocument, point: Point, names: CurveNames) -> tuple[str, ...]:
    total = point.total
    mean_ns = total.mean_ns if total else 0.0
    is_repeated = total is not None and total.repeats_count > 1
    steps = steps_each(document, point)
    each_ns = mean_ns / (steps * point.masses) if steps else None
    return (
        names.panel(point.curve),
        format_count(point.threads),
        format_count(point.masses),
        format_ns(mean_ns),
        f"{format_ns(total.min_ns)} to {format_ns(total.max_ns)}" if total and is_repeated else "-",
        format_ns(each_ns),
        format_ns(point.work.cpu_ns),
        _switches_text(point),
    )


STUDY = "garre-2014"
MOST_HELD, FIRST_MISSED = "most without a miss", "fewest with a miss"
_STEP_NS = 10_000_000
_MOST_SHOWN = 8


@dataclass(frozen=True)
class PublishedPoint:
    """`threads` is None for any number of them. One of the two numbers of masses is known."""

    system: str
    threads: int | None
    held: int | None
    missed_from: int | None


@dataclass(frozen=True)
class PublishedTire:
    """A row for each size that the study gives; columns: the size, the number of threads, each
    system of the study, and each policy and condition of this run. `refused`: why this run may not
    be compared; its columns say so."""

    short: str
    hardware: str
    headings: tuple[str, ...]
    rows: list[tuple[str, ...]]
    pretest: str
    own_hardware: str
    refused: str


def published_points() -> list[PublishedPoint]:
    """The published numbers of masses, by system and number of threads."""
    study = load_studies()[STUDY]
    return [
        PublishedPoint(
            system=study.systems[one.system].name if one.system else study.reading.short,
            threads=_threads_of(one),
            held=int(one.value) if one.statistic == MOST_HELD else None,
            missed_from=int(one.value) if one.statistic == FIRST_MISSED else None,
        )
        for one in figures_of(REAL_TIME)
        if isinstance(one.value, int | float) and is_of_sweep(one)
    ]


def is_of_sweep(figure: Figure) -> bool:
    """Whether `figure` is a number of masses that a sweep finds, and no statistic of a series."""
    return figure.statistic in (MOST_HELD, FIRST_MISSED)


def _threads_of(figure: Figure) -> int | None:
    """The number of threads that an address names; None: any."""
    return next((int(one) for one in figure.address.parts if one.isdecimal()), None)


_OWN_COLUMNS = 4


def published_tire(document: RunDocument, points: Sequence[Point]) -> PublishedTire:
    """The sizes of the study beside those of this run with its step and its solver."""
    study = load_studies()[STUDY]
    published = published_points()
    systems = list(dict.fromkeys(one.system for one in published))
    refused = why_not_comparable_to_hardware(document) or ""
    own: dict[str, list[Bound]] = {}
    names = CurveNames(document)
    for bound in filter(comparable, bounds_of(points)):
        own.setdefault(names.panel(bound.curve), []).append(bound)
    shown = dict(list(own.items())[:_OWN_COLUMNS])
    rows = []
    for is_held, threads in _published_sizes(published):
        cells = [_published_cell(published, system, threads, is_held) for system in systems]
        cells += [_own_cell(bounds, threads, is_held=is_held) for bounds in shown.values()]
        which = "any" if threads is None else format_count(threads)
        rows.append(("held" if is_held else "missed at", which, *cells))
    who = "this run (not comparable)" if refused else "this run"
    pretest = study.tables["simulation"]["pretest"]
    step = format_ns(float(pretest["time_step_ms"]) * 1e6)
    return PublishedTire(
        short=study.reading.short,
        hardware=study.conditions.get("hardware", ""),
        headings=("masses", "threads", *systems, *(f"{who}, {panel}" for panel in shown)),
        rows=rows,
        pretest=f"step {step}, Linux: first miss at {pretest['linux first miss']}",
        own_hardware=target_text(document),
        refused=refused,
    )


def _published_sizes(published: Sequence[PublishedPoint]) -> list[tuple[bool, int | None]]:
    """What was held first, with any number of threads before a given one."""
    sizes = {(one.held is not None, one.threads) for one in published}
    return sorted(sizes, key=lambda one: (not one[0], one[1] or 0))


def _published_cell(
    published: Sequence[PublishedPoint], system: str, threads: int | None, is_held: bool
) -> str:
    for one in published:
        masses = one.held if is_held else one.missed_from
        if (one.system, one.threads) == (system, threads) and masses is not None:
            return format_count(masses)
    return "-"


def _own_cell(bounds: Sequence[Bound], threads: int | None, *, is_held: bool) -> str:
    """Of this run. With any number of threads: what all of those that were measured held."""
    own = [one for one in bounds if threads in (None, one.curve.threads)]
    if not own:
        return "not measured"
    text = _held_text if is_held else _first_missed_text
    if threads is not None:
        return text(own[0])
    least = min(own, key=lambda one: one.held.masses if one.held else 0)
    return f"{text(least)} ({threads_text(least.curve.threads)})"


def comparable(bound: Bound) -> bool:
    """Whether a curve has the solver, step and rate of the study."""
    curve = bound.curve
    is_same_rate = curve.step_ns == curve.period_ns == _STEP_NS
    return curve.solver == "semaphore" and is_same_rate


def published_masses_text(bounds: Sequence[Bound], figure: Figure) -> str:
    """What the curves of this run say of a published number of masses, or why nothing."""
    wanted = _threads_of(figure)
    own = [one for one in bounds if wanted in (None, one.curve.threads)]
    if not own:
        return "- (not measured" + (f" with {wanted} threads)" if wanted else ")")
    is_held = figure.statistic == MOST_HELD
    texts = []
    for one in own[:_MOST_SHOWN]:
        masses = _held_text(one) if is_held else _first_missed_text(one)
        texts.append(
            f"{masses} ({shorten(one.curve.policy, 12)}, {threads_text(one.curve.threads)})"
        )
    more = f" and {len(own) - _MOST_SHOWN} more" if len(own) > _MOST_SHOWN else ""
    return clean(", ".join(texts)) + more


_COST_ROWS = 40
_MOST_CURVES = 128
COST_HEADINGS = (
    "masses",
    "threads",
    "policy",
    "under",
    "springs",
    "masses' own",
    "hand-overs",
    "switches",
    "model",
    "measured",
    "residual",
    "reads and writes",
    "with them",
    "residual with them",
)
COST_ABOUT = (
    "T_s = N_switch T_switch + 4e N_ipc T_ipc + (2e + 1) T_spring + e T_mass with e = floor(n/i) "
    "masses of each of i threads; for one thread 3n/2 T_spring + n T_mass. Not fitted: T_spring "
    "and T_mass are timed by the threads of the simulation on their CPUs, T_switch is the mean of "
    "THR-P-SLS with 2 threads, T_ipc that of SEM-P-SHF. The model of the paper has no term for "
    "semaphore operations that do not block, for cache lines that another thread has written, and "
    "for memory. All of them are in the reads and writes of a step, which the threads time before "
    "the first step and after the last, without the arithmetic: with them in place of the "
    "hand-overs the model is complete but for the wait for a CPU. Runs of earlier versions have 4e "
    "uncontended operations in this column, and keep the hand-overs."
)


@dataclass(frozen=True)
class CostTable:
    """`rows` as in COST_HEADINGS. `lacking`: why points have no model; `notes`: of the others."""

    rows: list[tuple[str, ...]]
    lacking: list[str]
    notes: list[str]


def cost_table(document: RunDocument, points: Sequence[Point]) -> CostTable:
    """One point of each curve: the largest that held, else the largest."""
    names = CurveNames(document)
    found = models_of(document, chosen_points(points))
    models = [one for one in found if isinstance(one, Model)]
    by_reason: dict[str, list[str]] = {}
    for one in found:
        if isinstance(one, NoModel):
            who = f"{names.panel(one.point.curve)}, {threads_text(one.point.threads)}"
            by_reason.setdefault(one.why, []).append(who)
    return CostTable(
        rows=[_cost_row(one, names) for one in models[:_COST_ROWS]],
        lacking=[f"no model: {why} ({listed(who)})" for why, who in by_reason.items()],
        notes=[
            *filter(None, [opening_text(document)]),
            *_inputs(document, models),
            *dict.fromkeys(note for one in models[:_COST_ROWS] for note in one.notes),
        ],
    )


def _inputs(document: RunDocument, models: Sequence[Model]) -> Iterator[str]:
    """The times of single operations, and those on the machine of the study."""
    if not models:
        return
    point = models[0].point
    found = inputs_of(document, point)
    if isinstance(found, str):
        return
    known = {
        "one spring": found.spring_ns,
        "one mass": found.mass_ns,
        "one uncontended semaphore": found.semaphore_ns,
        "the reads and writes of a step": found.access_ns,
        "a switch": found.switch_ns,
        "a hand-over": found.hand_over_ns,
    }
    own = [f"{name} {format_ns(ns)}" for name, ns in known.items() if ns is not None]
    published = load_studies()[STUDY].tables["simulation"]["cost_ns"]
    spring, mass = float(published["one spring force"]), float(published["integrate one mass"])
    study = f"a spring {format_ns(spring)} and a mass {format_ns(mass)}"
    who = f"{format_count(point.masses)} masses, {threads_text(point.threads)}"
    yield f"{who}: {', '.join(own)}; on the machine of the study {study}"


def chosen_points(points: Sequence[Point]) -> list[Point]:
    """The largest point of each curve that held, else the largest; those in real time first."""
    whole = [one for one in points if one.is_whole and one.is_measured and not one.is_delayed]
    whole = [one for one in whole if not one.has_frames]
    held = {one.curve: one.held.points[-1] for one in bounds_of(whole) if one.held}
    last = [held.get(curve, own[-1]) for curve, own in by_curve(whole).items()]
    return sorted(last, key=lambda one: one.test != REAL_TIME)[:_MOST_CURVES]


def _cost_row(model: Model, names: CurveNames) -> tuple[str, ...]:
    point = model.point
    terms = {one.name: one.ns for one in model.terms}
    is_fast = point.test != REAL_TIME
    more = model.access or model.semaphore
    return (
        format_count(point.masses),
        format_count(point.threads),
        shorten(point.policy, 12) + (", real-fast" if is_fast else ""),
        names.under(point.curve) or "-",
        *(format_ns(terms.get(name)) for name in ("spring", "mass", "hand-over", "switch")),
        format_ns(model.model_ns),
        format_ns(model.measured_ns),
        residual_text(model.residual_ns, model.measured_ns),
        format_ns(more.ns if more else None),
        format_ns(model.extended_ns),
        residual_text(model.extended_residual_ns, model.measured_ns),
    )


def residual_text(residual: float | None, measured: float) -> str:
    """ "+42 %" of the measured time: above 0 the step takes longer than the model."""
    return f"{100 * residual / measured:+.0f} %" if residual is not None and measured > 0 else "-"


PREDICTED_HEADINGS = ("policy", "threads", "predicted", "interval", "held", "missed at", "check")
PREDICTED = (
    "Predicted before the first point, from the costs of a step at a few sizes: the largest number "
    "of masses whose step fits the period less the time from a release to the first thread. "
    "Interval: the same with the first and the ninth decile of the costs, repeated with new "
    "threads. It does not cover a CPU that changes its speed later, or single long delays: one is "
    "enough for a miss."
)
_CHECKS = {
    "inside": "inside",
    "below": "below: single steps were late, or the costs changed",
    "above": "above",
    "not decided": "not decided",
}


@dataclass(frozen=True)
class PredictionTable:
    """`rows` as in PREDICTED_HEADINGS; `lacking`: why curves have no prediction."""

    rows: list[tuple[str, ...]]
    lacking: list[str]


def prediction_table(document: RunDocument, points: Sequence[Point]) -> PredictionTable:
    """What was predicted for each curve beside what it held."""
    names = CurveNames(document)
    found = checked(document, points)
    by_reason: dict[str, list[str]] = {}
    for one in found:
        if one.prediction.masses is None:
            who = f"{names.panel(one.bound.curve)}, {threads_text(one.bound.curve.threads)}"
            by_reason.setdefault(one_line(one.prediction.why or "no reason"), []).append(who)
    return PredictionTable(
        rows=[
            _prediction_row(one, names)
            for one in found[:_BOUND_ROWS]
            if one.prediction.masses is not None
        ],
        lacking=[
            f"no prediction: {shorten(why, 200)} ({listed(who)})" for why, who in by_reason.items()
        ],
    )


def _prediction_row(one: Checked, names: CurveNames) -> tuple[str, ...]:
    found = one.prediction
    return (
        names.panel(one.bound.curve),
        format_count(found.threads),
        format_count(found.masses or 0),
        f"{format_count(found.low or 0)} to {format_count(found.high or 0)}",
        _held_text(one.bound),
        _first_missed_text(one.bound),
        _CHECKS[one.check] + (" a wide interval" if one.check == "inside" and one.is_wide else ""),
    )


def prediction_sentences(document: RunDocument, points: Sequence[Point]) -> list[str]:
    """ "fifo, 2 threads: predicted 41 000 (38 000 to 45 000), held 39 500: inside"."""
    table = prediction_table(document, points)
    return [
        f"{row[0]}, {row[1]} thread{'' if row[1] == '1' else 's'}: predicted {row[2]} ({row[3]}), "
        f"held {row[4]}: {row[6].partition(':')[0]}"
        for row in table.rows
    ]


PERIOD_HEADINGS = (
    "policy",
    "threads",
    "masses",
    "dispatch",
    "step",
    "idle",
    "period",
    "longest dispatch",
    "least idle",
)
PERIOD = (
    "T = T_i + T_s + T_w, means at the largest number of masses that held: from the release of a "
    "step to its first thread, the step, and the rest of the period until the next release. A step "
    "that missed its deadline has no rest: it counts as 0, and lateness has how late it was."
)


def period_rows(document: RunDocument, points: Sequence[Point]) -> list[tuple[str, ...]]:
    """A row as in PERIOD_HEADINGS for each curve in real time that has these series."""
    names = CurveNames(document)
    rows = []
    for point in chosen_points(points):
        parts = parts_of_period(document, point)
        if parts is None:
            continue
        dispatch, idle = (series_at(document, point, name) for name in ("dispatch", "idle"))
        rows.append(
            (
                names.panel(point.curve),
                format_count(point.threads),
                format_count(point.masses),
                *(format_ns(one) for one in parts),
                format_ns(point.period_ns),
                format_ns(dispatch.max if dispatch else None),
                format_ns(idle.min if idle else None),
            )
        )
    return rows[:_BOUND_ROWS]


def headings(blocks: StepBlocks) -> tuple[str, ...]:
    """The threads of the solver `barrier` write as they compute, and wait for each other."""
    written = "barrier" if blocks.solver == "barrier" else "write"
    return ("thread", "CPU", "steps", "read", "compute", written, "wait")


def block_rows(blocks: StepBlocks) -> list[tuple[str, ...]]:
    """A row for each thread, under `headings`."""
    return [
        (
            f"{one.thread}",
            "not known" if one.cpu is None else f"{one.cpu}",
            format_count(one.steps),
            *(format_ns(round(part)) for part in (one.read_ns, one.compute_ns, one.write_ns)),
            "not known" if one.wait_ns is None else format_ns(round(one.wait_ns)),
        )
        for one in mean_blocks(blocks)
    ]


TITLE = "Real-time is not real-fast"
STATEMENT_ABOUT = (
    "Two sides at the points that both measured: total time of SIM-P-RF, and deadlines missed in "
    "SIM-S-RT. A point is one value of the exact signed-rank test; p is adjusted for all "
    "statements of the run (Holm). The sides were measured one after another, so drift of the "
    "machine is part of a difference; real-time throttling takes time from real-time policies only."
)
ONE_SIDE = (
    "One policy under each condition: nothing to compare. Measure two, such as --policy fifo,other."
)
_CONCLUSIONS = {
    "faster misses more": (
        "{faster} is faster and misses more deadlines: real-time is not real-fast."
    ),
    "faster misses fewer": "{faster} is faster and also misses fewer deadlines.",
    "undecided": "Not decided.",
}


@dataclass(frozen=True)
class StatementText:
    """`rows` are (what, first side, second side). `statement` has what charts draw."""

    title: str
    first: str
    second: str
    speed: str
    misses: str
    conclusion: str
    is_decided: bool
    needed: list[str]
    rows: list[tuple[str, str, str]]
    statement: Statement


def statement_texts(document: RunDocument, points: Sequence[Point]) -> list[StatementText]:
    """What the points of one run say."""
    names = names_in(document)
    return [
        _statement_text(one, names.label(Condition(*one.under)))
        for one in statements_within(points)
    ]


def texts_between(
    first: RunDocument, second: RunDocument, labels: tuple[str, str]
) -> list[StatementText] | str:
    """What two runs say, such as those of two kernels; why nothing where they do not compare."""
    why = why_incomparable(first, second)
    if why:
        return why
    sides = [
        Side(label=shorten(label, 24), points=points_of(one))
        for label, one in zip(labels, (first, second), strict=True)
    ]
    found = statements_between(*sides)
    if not found:
        return "no common size, number of threads and policy"
    return [_statement_text(one, ", ".join(one.under[:2])) for one in found]


def _statement_text(one: Statement, under: str) -> StatementText:
    first, second = shorten(one.first, 48), shorten(one.second, 48)
    faster = {"first": first, "second": second}.get((one.speed and one.speed.faster) or "", "")
    return StatementText(
        title=f"{first} and {second}" + (f", {under}" if under else ""),
        first=first,
        second=second,
        speed=_speed(one.speed, first, second),
        misses=_misses(one.misses, first, second),
        conclusion=_CONCLUSIONS[one.conclusion].format(faster=faster),
        is_decided=one.conclusion != "undecided",
        needed=one.needed,
        rows=list(_rows(one)),
        statement=one,
    )


def _speed(speed: Speed | None, first: str, second: str) -> str:
    if speed is None:
        return "Total time: not measured on both sides."
    count = len(speed.places)
    interval = (
        f"; 95 %: {speed.low:.3g} to {speed.high:.3g}"
        if speed.low is not None and speed.high is not None
        else ""
    )
    spread = (
        f"; {speed.repeated} points were repeated"
        if speed.repeated
        else "; each point was measured once, so the spread is not known"
    )
    for name, paused in zip((first, second), speed.paused, strict=True):
        if paused:
            spread += f"; {name} did not have the CPU all the time at {_points(paused)}"
    return (
        f"Total time of {second}: {speed.ratio:.3g} times that of {first}{interval} "
        f"({speed.least:.3g} to {speed.most:.3g} over {_points(count)}, p {_p(speed.p_adjusted)}"
        f"{spread}). Faster: {_which(speed.faster, first, second)}."
    )


def _misses(misses: Misses | None, first: str, second: str) -> str:
    if misses is None:
        return "Missed deadlines: not counted on both sides."
    sides = [
        f"{name} {format_count(missed)} of {format_count(released)}"
        for name, missed, released in zip(
            (first, second), misses.missed, misses.released, strict=True
        )
    ]
    return (
        f"Missed deadlines: {' and '.join(sides)} steps at {_points(len(misses.places))}, "
        f"{misses.differing} of which differ (p {_p(misses.p_adjusted)}). "
        f"Fewer: {_which(misses.fewer, first, second)}."
    )


def _which(side: str | None, first: str, second: str) -> str:
    return "not decided" if side is None else first if side == "first" else second


def _points(count: int) -> str:
    return "1 common point" if count == 1 else f"{count} common points"


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"{value:.2g}"


def _rows(one: Statement) -> Iterator[tuple[str, str, str]]:
    steps = {_steps(row) for row in one.held}
    for row in one.held:
        solver = "" if row.solver == "semaphore" else f", {shorten(row.solver, 12)}"
        solver += f", {_steps(row)}" if len(steps) > 1 else ""
        yield (
            f"held with {threads_text(row.threads)}{solver}",
            _held(row.first),
            _held(row.second),
        )


def _steps(row: HeldRow) -> str:
    bound = row.first or row.second
    return steps_text(bound.curve) if bound else ""


def _held(bound: Bound | None) -> str:
    """The largest number of masses without a miss; "at least" where none missed above it."""
    if bound is None or not any(one.is_counted or one.has_missed for one in bound.cells):
        return "not measured"
    if bound.held is None:
        first = bound.first_missed
        return f"none, missed at {format_count(first.masses)}" if first else "not known"
    at_least = "at least " if bound.first_missed is None else ""
    return f"{at_least}{format_count(bound.held.masses)} masses"


def sweep_sentence(document: RunDocument) -> str:
    """The answer of a sweep in one sentence: the largest simulation that missed no deadline."""
    bounds = bounds_of(points_of(document))
    if not bounds:
        return "The simulation ran as fast as it could; the table has its times"
    held = [(one.held.masses, one) for one in bounds if one.held is not None]
    lost = sum(not any(cell.is_counted for cell in one.cells) for one in bounds)
    are = "was" if lost == 1 else "were"
    lacking = f"; {lost} of {len(bounds)} curves {are} not measured" if lost else ""
    if not held:
        return f"No simulation kept all of its deadlines{lacking}"
    masses, best = max(held, key=lambda pair: pair[0])
    # Above it nothing was missed, and nothing failed to run.
    is_open = best.first_missed is None and not any(one.masses > masses for one in best.not_counted)
    least = "at least " if is_open else ""
    policy = shorten(best.curve.policy, 12)
    size = f"{least}{format_count(masses)} masses ({policy}, {threads_text(best.curve.threads)})"
    return f"No deadline was missed with {size}{lacking}"
