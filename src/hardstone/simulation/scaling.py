"""Why more threads held fewer masses, as far as the figures of the points show it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hardstone.model import RunDocument
from hardstone.simulation.analysis import Bound, Cell, Model, bounds_of, model_of
from hardstone.simulation.results import Curve, Point, blocks_of, mean_blocks
from hardstone.simulation.tables import CurveNames, threads_text
from hardstone.units import format_count, format_ns

_ARITHMETIC = ("spring", "mass")
_WITHOUT_ACCESS = "hand-overs, switches and semaphore operations"
_LIGHT = 0.5  # a mean step below this share of its period leaves time enough for the work


def scaling_texts(document: RunDocument, points: Sequence[Point]) -> list[str]:
    """A text for each policy, solver and condition under which more threads held fewer masses.

    Only where the larger number of threads missed at a number of masses that the smaller one held:
    otherwise the sweep may have measured other numbers, and nothing follows.
    """
    names = CurveNames(document)
    by_panel: dict[Curve, list[Bound]] = {}
    for bound in bounds_of(points):
        by_panel.setdefault(bound.curve._replace(threads=0), []).append(bound)
    found = []
    for key, bounds in by_panel.items():
        most = max(bounds, key=lambda one: (_held(one), -one.curve.threads))
        fewer = [
            one
            for one in bounds
            if one.curve.threads > most.curve.threads
            and one.first_missed is not None
            and one.first_missed.masses <= _held(most)
        ]
        if fewer:
            least = min(fewer, key=lambda one: (_held(one), one.curve.threads))
            found.append(f"{names.panel(key)}: {' '.join(_sentences(document, most, least))}")
    return found


def _held(bound: Bound) -> int:
    return bound.held.masses if bound.held else 0


def _sentences(document: RunDocument, most: Bound, least: Bound) -> Iterator[str]:
    missed = least.first_missed
    if missed is None:
        return
    many, few = threads_text(least.curve.threads), threads_text(most.curve.threads)
    at_least = "" if most.first_missed else "at least "
    held = f"{format_count(_held(least))} masses" if least.held else "no number of masses"
    yield f"{many} held {held}, {few} held {at_least}{format_count(_held(most))}."
    point = max(missed.points, key=lambda one: one.step_time.mean_ns if one.step_time else -1.0)
    yield _missed_text(missed, point, most, many, few)
    causes = list(_causes(document, missed, point, most))
    yield f"Seen there: {'; '.join(causes)}." if causes else "The figures do not show the cause."


def _missed_text(missed: Cell, point: Point, most: Bound, many: str, few: str) -> str:
    of = f" of {format_count(missed.released_count)}" if missed.released_count else ""
    steps = f"{format_count(missed.missed_count)}{of} steps missed with {many}"
    text = f"At {format_count(missed.masses)} masses {steps}"
    if point.step_time is None:
        return f"{text}."
    mean_ns = point.step_time.mean_ns
    twin_ns = _twin_ns(missed, most)
    with_few = f", {format_ns(twin_ns)} with {few}" if twin_ns is not None else ""
    return f"{text}; a step takes {format_ns(mean_ns)} on average{with_few}."


def _twin_ns(missed: Cell, most: Bound) -> float | None:
    """The mean step of the smaller number of threads at the same masses."""
    found = [
        one.step_time.mean_ns
        for cell in most.cells
        if cell.masses == missed.masses
        for one in cell.points
        if one.step_time
    ]
    return max(found, default=None)


def _causes(document: RunDocument, missed: Cell, point: Point, most: Bound) -> Iterator[str]:
    """What the figures show, and nothing else."""
    cpus = point.work.cpus_count
    if cpus and point.threads > cpus:
        yield f"{point.threads} threads share {'1 CPU' if cpus == 1 else f'{cpus} CPUs'}"
    mean_ns, twin_ns = point.step_time.mean_ns if point.step_time else None, _twin_ns(missed, most)
    if mean_ns is not None and (twin_ns is None or mean_ns > twin_ns):
        yield from _coordination(document, point, mean_ns - (twin_ns or 0.0))
    results = {one.result for one in missed.points}
    stolen_ns = sum(document.results[one].environment.get("steal_ns", 0) for one in results)
    if stolen_ns > 0:
        yield f"the hypervisor took {format_ns(stolen_ns)}"
    period_ns = point.period_ns or point.step_ns
    if mean_ns is not None and point.step_time and mean_ns < _LIGHT * period_ns:
        yield (
            f"the mean step fills {100 * mean_ns / period_ns:.2g} % of its period and the longest "
            f"took {format_ns(point.step_time.max_ns)}, so single steps were late"
        )


def _arithmetic_ns(model: Model) -> float:
    return sum(one.ns for one in model.terms if one.name in _ARITHMETIC)


def _coordination(document: RunDocument, point: Point, longer_ns: float) -> Iterator[str]:
    """The time of a step that its threads spend on each other; `longer_ns`: what a step takes more
    than with fewer threads."""
    model = model_of(document, point)
    if isinstance(model, Model):
        own_ns = (model.extended_ns or model.model_ns) - _arithmetic_ns(model)
        only = "only " if own_ns < longer_ns / 2 else ""
        what = "reads and writes and switches" if model.access else _WITHOUT_ACCESS
        yield f"{what} cost {only}{format_ns(own_ns)} of a step by the cost model"
    if point.solver != "barrier":
        return
    waits = [
        one.write_ns
        for variant in blocks_of(document.results[point.result])
        if (variant.masses, variant.threads, variant.solver, variant.policy)
        == (point.masses, point.threads, point.solver, point.policy)
        for one in mean_blocks(variant)
    ]
    if waits:
        yield f"a thread spends {format_ns(sum(waits) / len(waits))} of a step at the barrier"
