"""`hardstone simulate --resume`: a sweep that was cut off goes on with the points that are left."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from typing import Any

import click
import msgspec

from hardstone.cli.lab_options import lab_targets
from hardstone.cli.measuring import Prepared
from hardstone.cli.open_store import open_store
from hardstone.cli.simulating import prepare_sweep, shown_sweep
from hardstone.cli.sweep_run import SweepRun
from hardstone.errors import InputError
from hardstone.model import Plan, PlannedTest, RunDocument
from hardstone.simulation.request import MODES
from hardstone.simulation.sweep import Sweeper, curve_of
from hardstone.stats.join import unmeasured_tests
from hardstone.store import Store
from hardstone.targets import find_target


def _of_points(read: Callable[[PlannedTest], object]) -> Callable[[Plan], object]:
    """What the points of a sweep have in common."""

    def say(plan: Plan) -> object:
        test = plan.sweep.test if plan.sweep is not None else ""
        points = (one for one in plan.tests if one.test == test and curve_of(one) is not None)
        return next(map(read, points), None)

    return say


def _of_sweep(*names: str) -> Callable[[Plan], object]:
    return lambda plan: [getattr(plan.sweep, name, None) for name in names]


# What an option that was typed says of a plan.
_SAYS: dict[str, Callable[[Plan], object]] = {
    "masses": _of_sweep("masses", "masses_least", "masses_most"),
    "threads": _of_sweep("threads"),
    "solver": _of_sweep("solvers"),
    "policy": _of_sweep("policies"),
    "within": _of_sweep("within_ns"),
    "points": _of_sweep("points_most"),
    "blocks": _of_sweep("block_steps"),
    "frames": _of_sweep("frames"),
    "no_fast": _of_sweep("fast_masses"),
    "step": _of_points(lambda one: one.params.get("step_ns")),
    "rate": _of_points(lambda one: one.params.get("period_ns")),
    "stiffness": _of_points(lambda one: one.params.get("stiffness_per_s2")),
    "duration": _of_points(lambda one: (one.samples, one.params.get("simulated_s"))),
    "cpu": lambda plan: plan.cpu,
    "priority": lambda plan: plan.priority,
    "clock": lambda plan: plan.clock,
    "load": lambda plan: plan.loads,
    "cpu_config": lambda plan: plan.cpu_configs,
    "seed": lambda plan: plan.seed,
    "dma_latency": lambda plan: plan.dma_latency_us,
    "trace": lambda plan: plan.trace,
    "name": lambda plan: plan.name,
}


def resume(
    mode: str,
    reference: str,
    options: Mapping[str, Any],
    given: set[str],
    command: click.Command,
    *,
    wants_report: bool = True,
) -> int:
    """Goes on with a stored sweep; `given` are the options of `command` that were typed."""
    whole = find_sweep(open_store(options["store"]), mode, reference)
    name = whole.plan.target
    if "target" in given and lab_targets(options["target"], options) != [name]:
        raise InputError(f"run {whole.id} is of the target {name}", "leave the target out")
    with closing(find_target(name)) as target:
        asked = prepare_sweep(
            target, name, mode=mode, options=_as_begun(whole, command, options, given)
        )
        _check_agreement(whole, asked.plan, given)
        sweeping = _sweeping(asked, whole)
        plan = msgspec.structs.replace(whole.plan, tests=unmeasured_tests(whole))
        if not plan.tests and not sweeping.more(_without_results(whole)):
            raise InputError(f"of run {whole.id} nothing is left to measure", _begin(mode))
        prepared = Prepared(asked.target, asked.register, asked.facts, plan)
        return shown_sweep(prepared, options, sweeping, wants_report=wants_report)


def find_sweep(store: Store, mode: str, reference: str) -> RunDocument:
    """The run that `reference` names, by default the last sweep of `mode` that is not complete.

    InputError where it cannot be resumed, with the reason.
    """
    recorded = store.recorded_now()
    for run_id in recorded:
        if reference and run_id.startswith(reference):
            raise _recorded_now(run_id)
    document = store.load(reference) if reference else _last_unfinished(store, mode)
    sweep = document.plan.sweep
    if sweep is None:
        raise InputError(f"run {document.id} is no sweep of hardstone simulate", _begin(mode))
    if sweep.test != MODES[mode]:
        other = next((name for name, test in MODES.items() if test == sweep.test), mode)
        raise InputError(
            f"run {document.id} is a sweep of {sweep.test[:60]}",
            f"hardstone simulate {other} --resume {document.id}",
        )
    if document.status == "complete":
        raise InputError(f"run {document.id} is complete: nothing is left to measure", _begin(mode))
    if document.id in recorded:
        raise _recorded_now(document.id)
    return document


def _last_unfinished(store: Store, mode: str) -> RunDocument:
    for entry in reversed(store.runs()):
        if entry.status != "complete":
            document = store.load(entry.id)
            sweep = document.plan.sweep
            if sweep is not None and sweep.test == MODES[mode]:
                return document
    raise InputError("no sweep was cut off: there is none to resume", _begin(mode))


def _sweeping(asked: Prepared, whole: RunDocument) -> SweepRun:
    try:
        return SweepRun(Sweeper(whole.plan, asked.register), whole)
    except (KeyError, ValueError, TypeError):
        raise InputError(
            f"the plan of run {whole.id} is not one that this version makes",
            "resume it with the version that began it",
        ) from None


def _check_agreement(whole: RunDocument, asked: Plan, given: set[str]) -> None:
    for name, says in _SAYS.items():
        if name in given and says(asked) != says(whole.plan):
            raise InputError(
                f"--{name.replace('_', '-')}: run {whole.id} was begun with another value",
                "leave it out: a sweep is resumed as it was begun",
            )


def _as_begun(
    whole: RunDocument, command: click.Command, options: Mapping[str, Any], given: set[str]
) -> dict[str, Any]:
    """`options`, and where none was typed what the sweep was begun with."""
    words = list(whole.plan.command)
    if words[:2] != ["simulate", command.name]:
        return dict(options)
    try:
        context = command.make_context(command.name, words[2:])
    except (click.ClickException, click.exceptions.Exit, InputError):
        return dict(options)
    begun = {name: value for name, value in context.params.items() if name in _SAYS}
    return {**options, **{name: begun[name] for name in begun if name not in given}}


def _without_results(whole: RunDocument) -> RunDocument:
    return msgspec.structs.replace(whole, results=[])


def _begin(mode: str) -> str:
    return f"begin one: hardstone simulate {mode}"


def _recorded_now(run_id: str) -> InputError:
    return InputError(
        f"run {run_id} is recorded by another process now", "wait for its end, or end it"
    )
