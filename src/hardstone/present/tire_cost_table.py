"""The cost model of a step beside the measured step, as rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hardstone.model import RunDocument
from hardstone.present.tire_published import published_costs
from hardstone.present.tire_words import CurveNames, threads_text
from hardstone.present.wording import shorten
from hardstone.stats.conditions import listed
from hardstone.stats.tire_bound import bounds_of
from hardstone.stats.tire_costs import Model, NoModel, inputs_of, models_of
from hardstone.stats.tire_names import REAL_TIME
from hardstone.stats.tire_points import Point, by_curve
from hardstone.units import format_count, format_ns

MOST_ROWS = 40
_MOST_CURVES = 128
HEADINGS = (
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
    "4e semaphores",
    "residual with them",
)
ABOUT = (
    "T_s = N_switch T_switch + 4e N_ipc T_ipc + (2e + 1) T_spring + e T_mass with e = floor(n/i) "
    "masses of each of i threads; for one thread 3n/2 T_spring + n T_mass. Not fitted: T_spring "
    "and T_mass are timed on one thread by the test, T_switch is the mean of THR-P-SLS with 2 "
    "threads, T_ipc that of SEM-P-SHF. The model of the paper has no term for semaphore operations "
    "that do not block: they are a column of their own, 4e times one uncontended wait and post. "
    "Nor has it a term for waiting for a CPU or for memory: these are in the residual."
)


@dataclass(frozen=True)
class CostTable:
    """`rows` as in HEADINGS. `lacking`: why points have no model. `notes`: of those that have."""

    rows: list[tuple[str, ...]]
    lacking: list[str]
    notes: list[str]


def cost_table(document: RunDocument, points: Sequence[Point]) -> CostTable:
    """One point of each curve: the largest that held, else the largest."""
    names = CurveNames(document)
    found = models_of(document, chosen(points))
    models = [one for one in found if isinstance(one, Model)]
    return CostTable(
        rows=[_row(one, names) for one in models[:MOST_ROWS]],
        lacking=_lacking([one for one in found if isinstance(one, NoModel)], names),
        notes=[
            *_inputs(document, models),
            *dict.fromkeys(note for one in models[:MOST_ROWS] for note in one.notes),
        ],
    )


def _inputs(document: RunDocument, models: Sequence[Model]) -> Iterator[str]:
    """The times of single operations, beside those of the study."""
    if not models:
        return
    spring, mass = published_costs()
    found = inputs_of(document, models[0].point)
    if isinstance(found, str):
        return
    known = {
        "one spring": found.spring_ns,
        "one mass": found.mass_ns,
        "one uncontended semaphore": found.semaphore_ns,
        "a switch": found.switch_ns,
        "a hand-over": found.hand_over_ns,
    }
    told = [f"{name} {format_ns(ns)}" for name, ns in known.items() if ns is not None]
    study = f"a spring {format_ns(spring)} and a mass {format_ns(mass)}"
    yield f"{', '.join(told)}; on the machine of the study {study}"


def chosen(points: Sequence[Point]) -> list[Point]:
    """Of each curve the largest point that held, else the largest; those in real time first."""
    whole = [one for one in points if one.is_whole and one.is_measured and not one.is_delayed]
    whole = [one for one in whole if not one.has_frames]
    held = {one.curve: one.held.points[-1] for one in bounds_of(whole) if one.held}
    last = [held.get(curve, own[-1]) for curve, own in by_curve(whole).items()]
    return sorted(last, key=lambda one: one.test != REAL_TIME)[:_MOST_CURVES]


def _row(model: Model, names: CurveNames) -> tuple[str, ...]:
    point = model.point
    terms = {one.name: one.ns for one in model.terms}
    is_fast = point.test != REAL_TIME
    return (
        format_count(point.masses),
        format_count(point.threads),
        shorten(point.policy, 12) + (", real-fast" if is_fast else ""),
        names.under(point.curve) or "-",
        *(format_ns(terms.get(name)) for name in ("spring", "mass", "hand-over", "switch")),
        format_ns(model.model_ns),
        format_ns(model.measured_ns),
        residual_text(model.residual_ns, model.measured_ns),
        format_ns(model.semaphore.ns if model.semaphore else None),
        residual_text(model.extended_residual_ns, model.measured_ns),
    )


def residual_text(residual: float | None, measured: float) -> str:
    """ "+42 %" of the measured time: above 0 the step takes longer than the model."""
    return f"{100 * residual / measured:+.0f} %" if residual is not None and measured > 0 else "-"


def _lacking(found: Sequence[NoModel], names: CurveNames) -> list[str]:
    """Each reason once, with the curves that it is of."""
    by_reason: dict[str, list[str]] = {}
    for one in found:
        who = f"{names.panel(one.point.curve)}, {threads_text(one.point.threads)}"
        by_reason.setdefault(one.why, []).append(who)
    return [f"no model: {why} ({listed(who)})" for why, who in by_reason.items()]
