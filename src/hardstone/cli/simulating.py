"""A sweep of the tire on one target or several: request, plan, points, what is told after."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from functools import partial
from typing import Any

from hardstone.catalogue import load_catalogue
from hardstone.cli.lab_options import lab_targets
from hardstone.cli.measuring import Prepared, place_problems, run_one
from hardstone.cli.messages import print_json, tell
from hardstone.cli.reaching_told import notices_told
from hardstone.cli.simulate_options import sweep_request
from hardstone.cli.sweep_run import SweepRun
from hardstone.cli.sweep_told import make_sweep_reporter, tell_curves
from hardstone.model import RunDocument
from hardstone.plan import NONE
from hardstone.simulation.request import make_sweep_plan
from hardstone.simulation.sweep import Sweeper
from hardstone.targets import find_target
from hardstone.targets.base import Target

Show = Callable[[RunDocument], None] | None


def simulate(mode: str, options: Mapping[str, Any], *, wants_report: bool = True) -> int:
    """A new sweep: the exit code."""
    names = lab_targets(options["target"], options)
    if len(names) > 1:
        from hardstone.cli.several_targets import Way, measure_several

        way = Way(partial(prepare_sweep, mode=mode, options=options), run_sweep, _print_beside)
        return measure_several(names, (), options, wants_report=wants_report, way=way)
    with closing(find_target(names[0])) as target:
        prepared = prepare_sweep(target, names[0], mode=mode, options=options)
        return shown_sweep(prepared, options, wants_report=wants_report)


def _print_beside(documents: Sequence[RunDocument]) -> None:
    from hardstone.simulation.screen import print_tires

    print_tires(documents)
    first, *others = documents
    for other in others:
        tell("drawn beside each other", f"hardstone report {first.id} --beside {other.id}")


def shown_sweep(
    prepared: Prepared,
    options: Mapping[str, Any],
    sweeping: SweepRun | None = None,
    *,
    wants_report: bool,
) -> int:
    """Runs the sweep of one target and prints it, or just its plan: the exit code."""
    from hardstone.cli.measure_targets import print_plan, print_run

    if options["dry_run"]:
        return print_plan(prepared.plan, as_json=options["as_json"])
    show = print_json if options["as_json"] else print_run
    return run_sweep(prepared, options, show, wants_report=wants_report, sweeping=sweeping)[1]


def prepare_sweep(target: Target, name: str, *, mode: str, options: Mapping[str, Any]) -> Prepared:
    """Opens `target`, which is called `name`, and plans the sweep for it."""
    request = sweep_request(mode, name, options)
    others: Sequence[str] = place_problems(options)
    target.open(notices_told(quiet=options["quiet"], wait_s=options.get("wait_s")))
    register, facts = target.probe_list(), target.facts()
    is_loaded = any(load != NONE for load in request.base.load)
    loads = target.load_list() if is_loaded else None
    plan = make_sweep_plan(request, register, load_catalogue(), facts.facts, loads, others)
    return Prepared(target, register, facts, plan)


def run_sweep(
    prepared: Prepared,
    options: Mapping[str, Any],
    show: Show,
    *,
    wants_report: bool,
    sweeping: SweepRun | None = None,
) -> tuple[RunDocument, int]:
    """As `run_one`; each result decides what is measured next. `sweeping` resumes a stored run."""
    points = sweeping or SweepRun(Sweeper(prepared.plan, prepared.register))
    document, code = run_one(
        prepared,
        options,
        show,
        wants_report=wants_report,
        reporter=make_sweep_reporter(points, quiet=options["quiet"]),
        resumes=points.resumes,
        more=points.more,
    )
    tell_curves(points.sweeper, document)
    return document, code
