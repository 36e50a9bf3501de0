"""What the runs of a system say at one row of an exhibit: the figure, why it may not be compared,
or why there is none.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from hardstone.catalogue import load_catalogue
from hardstone.errors import InputError, remedy_text
from hardstone.event_names import NOT_SEEN, STEP_BOUNDED, TIRE_TESTS
from hardstone.figure_text import amount_text
from hardstone.kernel.tables import length_interval
from hardstone.model import Result, RunDocument, Series
from hardstone.simulation.analysis import Bound, bounds_of
from hardstone.simulation.results import REAL_FAST, Curve, Point, Total, points_of
from hardstone.simulation.tables import (
    comparable,
    is_of_sweep,
    published_masses_text,
    threads_text,
)
from hardstone.stats.conditions import listed
from hardstone.stats.consistency import (
    UNEQUAL,
    contradiction_of,
    unequal_work,
    work_of,
)
from hardstone.stats.sustained import SUSTAINED
from hardstone.stats.trust import lacks_realtime
from hardstone.study.exhibits import Cell, Column
from hardstone.study.papers import Exhibit, Wanted
from hardstone.systems.published import (
    Address,
    AddressError,
    Figure,
    Resolved,
    is_of_kernel_time,
    length_of,
    resolve,
)
from hardstone.systems.subjects import (
    Amount,
    MeasuredRun,
    MeasuredSeries,
    Missing,
    why_apart,
)
from hardstone.units import format_count, format_ns, whole_number
from hardstone.wording import format_value, one_line, shorten

if TYPE_CHECKING:
    from hardstone.comparison.grey import ComparableAddress

NOT_RUN = "not run"
FAILED, PASSED = "fail: ", "pass"
CUT_OFF = "cut off before it ended"
OF_RUN = "of run "  # begins the note on the run of a figure
_CONFIGS = ("shared", "single", "shielded")
_PART_CHARACTERS, _REASON_CHARACTERS = 40, 220


def each(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))


def is_words(figure: Figure) -> bool:
    return isinstance(figure.value, str)


class _Found(NamedTuple):
    """What one result says: its cell, how many values its series has, the place of its series among
    those that may stand at the address, and whether it was measured with settings of a proof."""

    cell: Cell
    values: int = 0
    stand: int = 0
    is_set: bool = False


def own_cell(wanted: Wanted, column: Column) -> Cell:
    """The best of what the runs of a system have: a figure that may be compared, else one that may
    not, else why there is none."""
    if not wanted.address.test:
        return _of_tests(wanted.quantity.tests, column)
    test = wanted.address.test
    loads = each(
        one.condition.load for one in column.subjects if any(r.test == test for r in one.results)
    )
    load = wanted.load or ("none" if "none" in loads else next(iter(loads), ""))
    subjects = [one for one in column.subjects if one.condition.load == load]
    if test in TIRE_TESTS:
        best = _of_sweep(wanted, [one for one in subjects if _has(one, test)])
    else:
        best = _pooled(wanted, [found for one in subjects for found in _of_subject(wanted, one)])
    if best is None:
        return Cell("not measured", reason=_not_run(test, wanted.load, column))
    if not wanted.load and (len(loads) > 1 or load != "none") and best.text:
        best = replace(best, notes=(*best.notes, f"under load {shorten(load)}"))
    return _with_run(best, column)


def _has(subject: MeasuredRun, test: str) -> bool:
    return any(one.test == test for one in subject.results)


def _rank(cell: Cell) -> int:
    if cell.kind == "measured":
        return 0
    return 1 if cell.text else 2


def _pooled(wanted: Wanted, found: Sequence[_Found]) -> Cell | None:
    """The cell of several results, the latest first: the largest value of all that may be compared,
    the smallest where the row shows that; of another statistic that of the most values; a claim
    that failed anywhere has failed."""
    if not found:
        return None
    rank = min(_rank(one.cell) for one in found)
    best = [one for one in found if _rank(one.cell) == rank]
    best = [one for one in best if not one.is_set] or best
    best = [one for one in best if one.stand == min(other.stand for other in best)]
    if best[0].cell.amount is None:
        return _pooled_verdicts([one.cell for one in best])
    statistic = wanted.own_statistic
    is_smallest = statistic == "min" and wanted.address.test != SUSTAINED
    if is_smallest:
        chosen = min(best, key=lambda one: one.cell.amount.lowest if one.cell.amount else 0.0)
    elif statistic in ("min", "max"):
        chosen = max(best, key=lambda one: _size(one.cell))
    else:
        chosen = max(best, key=lambda one: one.values)
    count = sum(one.values for one in best)
    runs = each(_run_of(one.cell) for one in best)
    notes = []
    if len(best) > 1:
        run = _run_of(chosen.cell)
        others = [one for one in runs if one != run]
        added = f", with those of {listed(others)}" if others else ""
        if statistic in ("min", "max"):
            which = (
                f"the {'smallest' if is_smallest else 'largest'} of {format_count(count)} values"
            )
            notes.append(f"{OF_RUN}{run}: {which}{added}")
        else:
            which = f"{format_count(chosen.values)} of {format_count(count)} values"
            notes.append(f"{OF_RUN}{run}: {which}, the most of a run")
    if rank == 0 and statistic == "max":
        apart = [one.cell for one in found if one.cell.kind == "not comparable" and not one.is_set]
        larger = [one for one in apart if _size(one) > _size(chosen.cell)]
        if larger:
            worst = max(larger, key=_size)
            notes.append(f"{worst.text} in run {_run_of(worst)}, not comparable: {worst.reason}")
    return replace(chosen.cell, notes=(*chosen.cell.notes, *notes))


def _run_of(cell: Cell) -> str:
    return cell.source.partition(" ")[0]


def _size(cell: Cell) -> tuple[bool, float]:
    """Orders figures; what has no upper end is above all others."""
    amount = cell.amount
    if amount is None:
        return False, 0.0
    return amount.highest is None, amount.highest if amount.highest is not None else amount.lowest


def _pooled_verdicts(cells: Sequence[Cell]) -> Cell:
    """The latest that failed, else the latest."""
    failed = [one for one in cells if one.text.startswith(FAILED)]
    passed = each(_run_of(one) for one in cells if one.text == PASSED)
    if not failed or not passed:
        return (failed or cells)[0]
    return replace(failed[0], notes=(*failed[0].notes, f"passed in {' and '.join(passed)}"))


def _with_run(cell: Cell, column: Column) -> Cell:
    """Of a system with several runs each figure says from which it is."""
    runs = column.id.split()
    run = _run_of(cell)
    is_said = any(one.startswith(OF_RUN) for one in cell.notes)
    if len(runs) < 2 or run not in runs or not cell.text or is_said:
        return cell
    return replace(cell, notes=(*cell.notes, f"{OF_RUN}{run}"))


def _not_run(test: str, load: str, column: Column) -> str:
    """What to type to have the figure; nothing for the machine of another tool's file, which is not
    at hand."""
    run = column.subjects[0]
    if run.document.imported is not None:
        return NOT_RUN
    config, target = run.condition.cpu_config, run.document.plan.target
    options = [f" --load {shorten(load)}"] if load not in ("", "none") else []
    options += [f" --cpu-config {shorten(config)}"] if config in _CONFIGS[1:] else []
    options += [f" --target {shlex.quote(shorten(target))}"] if target != "local" else []
    return f"{NOT_RUN}; type: hardstone run {test}{''.join(options)}"


def _of_subject(wanted: Wanted, subject: MeasuredRun) -> Iterator[_Found]:
    """What one run has under one load, for each result of the test."""
    from hardstone.comparison.grey import in_place  # loads numpy, which a paper alone does without

    address = wanted.address
    for result in (one for one in subject.results if one.test == address.test):
        found = _of_result(wanted, subject, result)
        yield found._replace(is_set=bool(result.conditions.settings))
    stand_in = in_place(address.test, address.parts[-1] if address.parts else "", subject)
    if stand_in is not None and isinstance(stand_in.series, MeasuredSeries):
        cell = _of_stand_in(wanted, subject, stand_in.series, stand_in.what)
        yield _Found(cell, stand_in.series.series.count)


def _of_result(wanted: Wanted, subject: MeasuredRun, result: Result) -> _Found:
    """The figure of the series at the address; of the first kind that is comparable where that of
    the address is not."""
    from hardstone.comparison.grey import beside

    stands = list(beside(wanted.address, subject.document.system))
    found = [_at(wanted, subject, result, one) for one in stands]
    cells = [one.cell for one in found]
    first, *others = cells
    other = next((one for one in others if one.kind == "measured"), None)
    if other is None:
        return found[0]
    kinds = [one.address.labels.get("kind", "") for one in stands]
    shown = [(kind, cell) for kind, cell in zip(kinds, cells, strict=True) if cell.text]
    chosen = next(kind for kind, cell in shown if cell is other)
    rest = [f"{kind} {cell.text}" for kind, cell in shown[1:] if cell is not other]
    figure = f" {first.text}" if first.text else ""
    note = f"of kind {chosen}; {kinds[0]}{figure} is not comparable: {first.reason}"
    place = next(number for number, cell in enumerate(cells) if cell is other)
    cell = replace(other, notes=("; ".join([note, *rest]), *other.notes))
    return found[place]._replace(cell=cell, stand=place)


_INVERSION = "MUT-B-INV"  # a count of inversions, for which the paper has words


def _at(wanted: Wanted, subject: MeasuredRun, result: Result, stand: ComparableAddress) -> _Found:
    """The cell of one result at one address."""
    from hardstone.comparison.grey import why_another

    if result.status != "measured" and not (result.series or result.verdicts):
        return _Found(Cell("not measured", reason=_state(result)))
    document = subject.document
    alone = msgspec.structs.replace(document, results=[result])
    address = replace(stand.address, conditions={})
    try:
        found = [resolve(address, alone)]
        for name in wanted.fixed.or_series if wanted.fixed else ():
            found.append(resolve(replace(address, parts=(*address.parts[:-1], name)), alone))
    except AddressError as error:
        return _Found(Cell("not measured", reason=error.cause.removeprefix(f"{address}: ")))
    every = [one.series for one in found if one.series is not None]
    if not every:
        return _Found(_of_verdicts(found[0], subject))
    largest = max(every, key=lambda one: one.max or 0)
    held = MeasuredSeries(document.id, result, largest)
    source = f"{document.id} {held.address} {wanted.own_statistic}"
    text, amount = _figure(held, wanted.own_statistic)
    if isinstance(amount, Missing):
        lacking = _in_words(amount.reason, wanted.own_statistic)
        reason = "; ".join(filter(None, (lacking, amount.remedy)))
        return _Found(Cell("not measured", reason=reason, source=source))
    reasons = [
        stand.refused.removeprefix("not comparable: "),
        why_another(wanted.fixed, result) if wanted.fixed is not None else "",
        *_reasons(subject, result, every),
    ]
    notes = [stand.note]
    if len(every) > 1:
        named = [f"{one.name} {_rounds(one)}" for one in every]
        notes.append(f"the larger of {' and '.join(named)}")
    if result.test == _INVERSION and amount.value is not None:
        rounds = max(every, key=lambda one: (one.mean or 0) * one.count)
        text = f"{'vulnerable' if amount.value else 'not vulnerable'} ({_rounds(rounds)} rounds)"
    if is_of_kernel_time(wanted.own_statistic):
        length = length_of(Resolved(result, largest), wanted.own_statistic)
        notes.append(f"interval {length_interval(length)}")
    for one in found:
        notes += [*one.notes, *_doubts(one, document)]
    cell = Cell(
        "not comparable" if any(reasons) else "measured",
        text,
        reason="; ".join(dict.fromkeys(filter(None, reasons))),
        notes=tuple(one for one in dict.fromkeys(notes) if one and one not in reasons),
        amount=amount,
        source=source,
    )
    return _Found(cell, largest.count)


def _in_words(reason: str, statistic: str) -> str:
    """ "the 99 % length needs 1 311 values; the run has 500" for "time_99 needs 1 311 values, has
    500"."""
    name, is_length = statistic.removeprefix("time_"), is_of_kernel_time(statistic)
    words = f"the {name} % length" if is_length else f"the {statistic[1:]} % quantile"
    if not is_length and not statistic.startswith("p"):
        return reason
    text = reason.replace(statistic, words, 1)
    return text.replace(" values, has ", " values; the run has ")


def _rounds(series: Series) -> str:
    """ "3 of 5": of a series with 1 or 0 for each round."""
    return f"{format_count(round((series.mean or 0) * series.count))} of {series.count}"


def _figure(held: MeasuredSeries, statistic: str) -> tuple[str, Amount | Missing]:
    """The text of a figure and its amount."""
    amount = held.amount(statistic)
    if isinstance(amount, Missing):
        return "", amount
    if amount.value is not None:
        return format_value(amount.value, held.unit), amount
    return amount_text(amount), amount


def _reasons(subject: MeasuredRun, result: Result, series: Sequence[Series]) -> Iterator[str]:
    """Why no figure of `series` may stand beside a published one."""
    document = subject.document
    yield shorten(why_apart(subject), _REASON_CHARACTERS)
    if result.status != "measured":
        yield _state(result)
    elif not result.complete or result.interrupted:
        yield CUT_OFF
    for one in series:
        problem = contradiction_of(one)
        if problem is not None:
            yield f"it cannot be true: {problem}"
        unequal = unequal_work(document).get(result.test, [])
        if work_of(one, dict.fromkeys(unequal, 0)):
            yield UNEQUAL
    if lacks_realtime(result):
        yield f"not scheduled as real-time: policy {result.conditions.policy}"


_AT_MOST = "upper bound of the step: latency and the time to arm the timer are included"


def _doubts(found: Resolved, document: RunDocument) -> Iterator[str]:
    """What a reader must know of a figure, in addition to the notes of `found`."""
    if found.series is None:
        return
    result = found.result
    asked = [one.params for one in document.plan.tests if one.test == result.test]
    given = {
        name: value
        for name, value in result.calibrated.items()
        if any(params.get(name) == value for params in asked)
    }
    for what, count in work_of(found.series, given).items():
        yield f"{format_count(count)} {what} set by the request, not calibrated"
    if _is_bound(found.series, result):
        yield _AT_MOST


def _is_bound(series: Series, result: Result) -> bool:
    """Whether an event says that the step of this mechanism is an upper bound."""
    if series.name != "expiry_step":
        return False
    mechanism = series.labels.get("mechanism")
    bounded = [one.data.get("mechanisms") for one in result.events if one.name == STEP_BOUNDED]
    return any(isinstance(names, list) and mechanism in names for names in bounded)


def _of_stand_in(wanted: Wanted, subject: MeasuredRun, held: MeasuredSeries, what: str) -> Cell:
    source = f"{subject.id} {held.address} {wanted.own_statistic}"
    try:
        amount = held.amount(wanted.own_statistic)
    except InputError as error:
        amount = Missing(error.cause, error.remedy)
    if isinstance(amount, Missing):
        reason = _in_words(amount.reason, wanted.own_statistic)
        return Cell("not measured", reason=reason, source=source)
    reasons = [f"{what}, not from a device", *_reasons(subject, held.result, [held.series])]
    return Cell(
        "not comparable",
        amount_text(amount),
        reason="; ".join(dict.fromkeys(filter(None, reasons))),
        amount=amount,
        source=source,
    )


_POLICIES = {"cfs": "other", "fifo": "fifo"}  # words of a title, and what a run calls them
_SOLVER = "semaphore"
_STEP_NS, _SIMULATED_S = 10_000_000, 60


def policies_named(exhibit: Exhibit) -> set[str]:
    """The scheduling policies that the title of an exhibit names; empty: any."""
    words = set(re.findall(r"[a-z]+", exhibit.title.lower()))
    return {policy for word, policy in _POLICIES.items() if word in words}


def _of_sweep(wanted: Wanted, subjects: Sequence[MeasuredRun]) -> Cell | None:
    """What all points of all runs under one load say together; no single result does."""
    if not subjects:
        return None
    policies = policies_named(wanted.exhibit)
    points = [
        (subject, point)
        for subject in subjects
        for point in points_of(subject.alone)
        if point.test == wanted.address.test and (not policies or point.policy in policies)
    ]
    if wanted.address.test == REAL_FAST:
        return _of_totals(wanted, points)
    bounds = [one for one in bounds_of(point for _, point in points) if comparable(one)]
    curves = {one.curve for one in bounds}
    of_curves = [(subject, point) for subject, point in points if point.curve in curves]
    text = _sizes_text(wanted, bounds)
    if text:
        return _swept(wanted, text, [one for one, _ in of_curves], [])
    states = [
        f"{point.status}: {point.reason or 'no reason was given'}"
        for _, point in of_curves
        if _is_of(point.curve, wanted.address) and point.status != "measured"
    ]
    reason = one_line(states[0]) if states else _no_curve(wanted, policies)
    return Cell("not measured", reason=reason)


def _sizes_text(wanted: Wanted, bounds: Sequence[Bound]) -> str:
    """What the curves of a row held; empty without one."""
    figure = next((one for one in wanted.figures if one.statistic == wanted.statistic), None)
    if figure is not None and is_of_sweep(figure):
        text = published_masses_text(bounds, figure) if bounds else "- ("
        return "" if text.startswith("- (") else text
    own = [one for one in bounds if _is_of(one.curve, wanted.address)]
    return _held_or_missed(own[0]) if own else ""


def _is_of(one: Curve, address: Address) -> bool:
    threads = {whole_number(part) for part in address.parts}
    return one.policy in address.parts and one.threads in threads


def _no_curve(wanted: Wanted, policies: Collection[str]) -> str:
    """Which curve no run has."""
    threads = next((one for one in map(whole_number, wanted.address.parts) if one), None)
    policy = ", ".join(one for one in _POLICIES.values() if one in policies)
    parts = [f"policy {policy}" if policy else "", threads_text(threads) if threads else ""]
    parts.append(f"a step of {format_ns(_STEP_NS)}")
    return f"no simulation with {', '.join(filter(None, parts))}"


def _held_or_missed(bound: Bound) -> str:
    held, first = bound.held, bound.first_missed
    texts = [f"none missed to {format_count(held.masses)} masses"] if held else []
    texts += [f"missed from {format_count(first.masses)} masses"] if first else []
    return ", ".join(texts)


def why_other_totals(point: Point) -> list[str]:
    """In what a simulation of SIM-P-RF differs from those of the study."""
    solver = "" if point.solver == _SOLVER else f"solver {point.solver}, in the study {_SOLVER}"
    step = (
        ""
        if point.step_ns == _STEP_NS
        else f"step {format_ns(point.step_ns)}, in the study {format_ns(_STEP_NS)}"
    )
    length = (
        ""
        if point.simulated_s in (0, _SIMULATED_S)
        else f"{point.simulated_s} s simulated, in the study {_SIMULATED_S} s"
    )
    cut = "" if point.is_whole else CUT_OFF
    return [one for one in (solver, step, length, cut) if one]


def _of_totals(wanted: Wanted, points: Sequence[tuple[MeasuredRun, Point]]) -> Cell:
    """The first and the last total time of one curve, of each the run with the most repeats."""
    own = [one for one in points if one[1].total and _is_of(one[1].curve, wanted.address)]
    if not own:
        return Cell("not measured", reason=_no_curve(wanted, policies_named(wanted.exhibit)))
    least = min(len(why_other_totals(point)) for _, point in own)
    reasons = next(found for _, one in own if len(found := why_other_totals(one)) == least)
    totals: dict[int, tuple[MeasuredRun, Total]] = {}
    for subject, point in own:
        if point.total is None or why_other_totals(point) != reasons:
            continue
        known = totals.get(point.masses)
        if known is None or point.total.repeats_count > known[1].repeats_count:
            totals[point.masses] = subject, point.total
    ends = list(dict.fromkeys((min(totals), max(totals))))
    texts = [f"{format_ns(totals[n][1].mean_ns)} with {format_count(n)} masses" for n in ends]
    return _swept(wanted, ", ".join(texts), [totals[n][0] for n in ends], reasons)


def _swept(
    wanted: Wanted, text: str, subjects: Sequence[MeasuredRun], reasons: Sequence[str]
) -> Cell:
    """A cell of the points of one or several runs."""
    apart = [shorten(why_apart(one), _REASON_CHARACTERS) for one in subjects]
    runs = each(one.id for one in subjects)
    every = each(filter(None, (*apart, *reasons)))
    return Cell(
        "not comparable" if every else "measured",
        text,
        reason="; ".join(every),
        notes=(f"{OF_RUN}{' and '.join(runs)}",) if len(runs) > 1 else (),
        source=f"{runs[0]} {wanted.address} {wanted.statistic}",
    )


def _of_verdicts(found: Resolved, subject: MeasuredRun) -> Cell:
    """The verdicts in the paper's terms: behaviours of any system are compared. Claims that do not
    count for a rating cannot fail."""
    entry = load_catalogue().entry(found.result.test)
    failed = [shorten(one.name, _PART_CHARACTERS) for one in found.verdicts if not one.passed]
    counted = [name for name in failed if not entry.why_uncounted(name)]
    uncounted = [name for name in failed if entry.why_uncounted(name)]
    notes = [one_line(one) for one in found.notes]
    if uncounted:
        do = "does" if len(uncounted) == 1 else "do"
        notes.append(f"{listed(uncounted)} failed, but {do} not count for a rating")
    unseen = each(
        shorten(str(event.data.get("verdict", "")), _PART_CHARACTERS)
        for event in found.result.events
        if event.name == NOT_SEEN
    )
    if unseen:
        notes.append(f"not seen: {listed(unseen)}")
    text = f"{FAILED}{listed(counted)}" if counted else PASSED
    source = f"{subject.id} {found.result.test}"
    return Cell("measured", text, notes=tuple(notes), source=source)


def _of_tests(tests: Sequence[str], column: Column) -> Cell:
    """What the tests of a row of words say, together."""
    if not tests:
        return Cell("not covered", reason="no test measures it")
    said: dict[str, list[str]] = {}
    notes: list[str] = []
    sources, lacking = [], []
    for test in tests:
        found = next(
            (
                (subject, result)
                for subject in column.subjects
                for result in subject.results
                if result.test == test and (result.verdicts or result.series)
            ),
            None,
        )
        if found is None:
            lacking.append(test)
            continue
        subject, result = found
        sources.append(f"{subject.id} {test}")
        if not result.verdicts:
            said.setdefault("measured", []).append(test)
            continue
        cell = _of_verdicts(Resolved(result, verdicts=result.verdicts), subject)
        said.setdefault(cell.text, []).append(test)
        notes += [f"{test}: {one}" for one in cell.notes]
    notes += [f"{test}: {_why_none(test, column)}" for test in lacking]
    if not said:
        return Cell("not measured", reason="; ".join(notes))
    if len(said) == 1 and not lacking:
        text = next(iter(said))
    else:
        text = "; ".join(f"{', '.join(names)} {text}" for text, names in said.items())
    return Cell("measured", text, notes=tuple(notes), source=", ".join(sources))


def _why_none(test: str, column: Column) -> str:
    """Why a test has neither verdicts nor figures."""
    found = (one for subject in column.subjects for one in subject.results if one.test == test)
    result = next(found, None)
    return _not_run(test, "", column) if result is None else _state(result)


def _state(result: Result) -> str:
    """The reason of a result without figures, and what to do about it."""
    remedy = remedy_text(result.remedy, result.command)
    reason = f"{result.status}: {result.reason or 'no reason was given'}"
    return one_line("; ".join(filter(None, (reason, remedy))))
