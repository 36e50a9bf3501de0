"""Measures a sweep of the tire, reports its progress, and goes on with one that was cut off."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from types import TracebackType
from typing import Self

import click
import msgspec
from rich.console import Console

from hardstone.campaign.collect import (
    CampaignEvent,
    MeasuringFinished,
    MeasuringStarted,
    RunStarted,
)
from hardstone.catalogue import load_catalogue
from hardstone.cli.measure import Prepared, open_target, place_problems, run_one
from hardstone.cli.messages import print_json, tell
from hardstone.cli.open_store import open_store
from hardstone.cli.options import OutcomeOptions, fitting, lab_targets
from hardstone.cli.progress import LiveReporter, PlainReporter, QuietReporter, Reporter, suitable
from hardstone.cli.resume import CONDITION_VALUES, check_target, recorded_now
from hardstone.cli.simulate import SweepOptions
from hardstone.errors import InputError
from hardstone.model import Event, Plan, PlannedTest, Result, RunDocument
from hardstone.plan.make import Request
from hardstone.plan.params import NONE
from hardstone.simulation.prediction import prediction_events
from hardstone.simulation.request import MODES, SweepRequest, make_sweep_plan
from hardstone.simulation.sweep import (
    Curve,
    Sweeper,
    coarse_curves,
    curve_of,
    ended_curves,
    is_whole,
    masses_of,
)
from hardstone.stats.join import unmeasured_tests
from hardstone.store.store import Store
from hardstone.targets import find_target
from hardstone.targets.base import Target
from hardstone.units import format_span
from hardstone.wording import shorten


class _SweepRun:
    """Gives a campaign the points of a sweep. `resumes`: the stored run that it goes on with."""

    def __init__(
        self,
        sweeper: Sweeper,
        resumes: RunDocument | None = None,
    ) -> None:
        self.sweeper = sweeper
        self.resumes = resumes
        self._before = [] if resumes is None else list(filter(is_whole, resumes.results))
        self._before_ns = 0 if resumes is None else spent_ns(resumes)
        self._begin_ns = time.monotonic_ns()
        self._results: list[Result] = []

    def take(self, event: CampaignEvent) -> None:
        """Starts its time when the target is free, and collects the results."""
        if isinstance(event, RunStarted):
            self._begin_ns = time.monotonic_ns()
        elif isinstance(event, MeasuringFinished):
            self._results.append(event.result)

    def more(self, document: RunDocument) -> list[PlannedTest]:
        """The next point after those of `document`, none at the end of the sweep."""
        results = [*self._before, *document.results]
        return self.sweeper.next_tests(results, self._spent_ns())

    def note(self, result: Result) -> list[Event]:
        """What the sweep will hold, predicted from the costs of a step."""
        return prediction_events(result, self.sweeper.curves.main)

    def left_ns(self) -> int:
        """About how long it still takes."""
        return self.sweeper.left_ns([*self._before, *self._results], self._spent_ns())

    @property
    def count(self) -> int:
        """How many results there are."""
        return len(self._before) + len(self._results)

    def _spent_ns(self) -> int:
        return self._before_ns + time.monotonic_ns() - self._begin_ns


def spent_ns(document: RunDocument) -> int:
    """About how long the results of a stored sweep took, with the time to set up conditions."""
    pairs: Sequence[tuple[PlannedTest, Result]] = list(
        zip(document.plan.tests, document.results, strict=False)
    )
    return sum(
        max(planned.expected_ns, result.duration_ns)
        for planned, result in pairs
        if result.status != "skipped"
    )


_MOST_NAMED = 12


class _Timed:
    """Gives each event to a sweep before its reporter, which prints `count` and `left_ns` of it."""

    def __init__(self, reporter: Reporter, sweep: _SweepRun) -> None:
        self._reporter = reporter
        self._sweep = sweep

    def __enter__(self) -> Self:
        self._reporter.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._reporter.__exit__(kind, error, trace)

    def take(self, event: CampaignEvent) -> None:
        self._sweep.take(event)
        self._reporter.take(event)


class _PlainReporter(PlainReporter):
    def __init__(self, sweep: _SweepRun) -> None:
        super().__init__()
        self._sweep = sweep

    def start_text(self, plan: Plan) -> str:
        curves = len(self._sweep.sweeper.curves.main)
        span_ns = self._sweep.left_ns() + sum(one.expected_ns for one in plan.tests)
        before = f", {self._sweep.count} points already measured" if self._sweep.count else ""
        return f"{curves} curve{'' if curves == 1 else 's'}, about {format_span(span_ns)}{before}"

    def begin_text(self, event: MeasuringStarted, name: str) -> str:
        left = format_span(self._sweep.left_ns() + event.planned.expected_ns)
        return f"{self._sweep.count + 1}  {_point_text(event.planned, name)}  about {left} left"


class _LiveReporter(LiveReporter):
    def __init__(self, console: Console, sweep: _SweepRun) -> None:
        super().__init__(console)
        self._sweep = sweep

    def begin_text(self, event: MeasuringStarted, name: str) -> str:
        return f"{_point_text(event.planned, name)}  {self._sweep.count + 1}"

    def left_ns(self, plan: Plan, done_ns: int) -> int:
        return self._sweep.left_ns()


def _point_text(one: PlannedTest | Result, name: str) -> str:
    """A point, with the name of its test: "SIM-S-RT [heavy]  400 masses, 2 threads, fifo"."""
    curve = curve_of(one)
    masses = masses_of(one)
    if curve is None:
        return f"{name}  {masses} masses, pictures" if masses else f"{name}, for the cost model"
    threads = f"{curve.threads} thread{'' if curve.threads == 1 else 's'}"
    parts = [f"{masses} masses", threads, curve.policy]
    return f"{name}  {', '.join([*parts, *_solver(curve)])}"


def _tell_curves(sweeper: Sweeper, document: RunDocument) -> None:
    """Says which curves ended early, with the reason, and which are coarse."""
    curves = sweeper.curves.main
    ended = ended_curves(curves, document.results)
    coarse = coarse_curves(sweeper.sweep, curves, document.results)
    if len(ended) == len(curves) and not any(
        is_whole(one) and one.status == "measured" and curve_of(one) in ended
        for one in document.results
    ):
        tell(f"no point was measured: {shorten(next(iter(ended.values())), 300)}")
        return
    _tell_each(f"{_of_all(len(ended), len(curves), 'curve')} ended early", ended, sweeper)
    timed = document.status == "complete" and sweeper.sweep.within_ns
    remedy = "; allow more time or test fewer curves (--within, --threads)" if timed else ""
    are = "is" if len(coarse) == len(curves) == 1 else "are"
    what = _of_all(len(coarse), len(curves), "limit")
    _tell_each(f"{what} {are} rough{remedy}", coarse, sweeper)


def _of_all(count: int, total: int, what: str) -> str:
    """ "all 4 limits", "2 of 4 limits", "the limit"."""
    if count < total:
        return f"{count} of {total} {what}s"
    return f"the {what}" if total == 1 else f"all {total} {what}s"


def _tell_each(what: str, found: Mapping[Curve, str], sweeper: Sweeper) -> None:
    if not found:
        return
    tell(what)
    for curve, why in list(found.items())[:_MOST_NAMED]:
        tell(f"{_curve_text(curve, sweeper)}: {shorten(why, 200)}")
    if len(found) > _MOST_NAMED:
        tell(f"and {len(found) - _MOST_NAMED} more")


def _curve_text(curve: Curve, sweeper: Sweeper) -> str:
    conditions = {(one.load, one.cpu_config) for one in sweeper.curves.main}
    parts = [f"{curve.threads} thread{'' if curve.threads == 1 else 's'}", curve.policy]
    parts += _solver(curve)
    parts += [f"load {curve.load}", f"CPUs {curve.cpu_config}"] if len(conditions) > 1 else []
    return ", ".join(parts)


def _solver(curve: Curve) -> list[str]:
    return [] if curve.solver == "semaphore" else [curve.solver]


def simulate(mode: str, options: SweepOptions, *, wants_report: bool = True) -> int:
    """A new sweep: the exit code."""
    names = lab_targets(options.target, options)
    if len(names) > 1:
        from hardstone.cli.measure import Procedure, measure_several

        procedure = Procedure(
            partial(_prepare_sweep, mode=mode, options=options),
            run_sweep,
            compare=_print_comparison,
        )
        return measure_several(names, procedure, options, wants_report=wants_report)
    with closing(find_target(names[0])) as target:
        prepared = _prepare_sweep(target, names[0], mode=mode, options=options)
        return _shown_sweep(prepared, options, wants_report=wants_report)


def _print_comparison(documents: Sequence[RunDocument]) -> None:
    from hardstone.simulation.screen import print_tires

    print_tires(documents)
    first, *others = documents
    for other in others:
        tell("to draw both in one report", f"hardstone report {first.id} --beside {other.id}")


def _shown_sweep(
    prepared: Prepared,
    options: SweepOptions,
    sweeping: _SweepRun | None = None,
    *,
    wants_report: bool,
) -> int:
    """Runs the sweep of one target and prints it, or just its plan: the exit code."""
    from hardstone.cli.measure import print_run, show_plan

    if options.dry_run:
        return show_plan(prepared.plan, as_json=options.as_json)
    show = print_json if options.as_json else print_run
    return run_sweep(prepared, options, show, wants_report=wants_report, sweeping=sweeping)[1]


def _prepare_sweep(target: Target, name: str, *, mode: str, options: SweepOptions) -> Prepared:
    """Opens `target`, which is called `name`, and plans the sweep for it."""
    of_curves = {"policy", "duration"}
    shared = {key: one for key, one in fitting(Request, options).items() if key not in of_curves}
    asked = fitting(SweepRequest, options) | {
        "mode": mode,
        "base": Request(**(shared | {"target": name})),
        "has_fast": not getattr(options, "no_fast", False),
    }
    request = SweepRequest(**asked)
    others: Sequence[str] = place_problems(options)
    register, facts = open_target(target, options)
    is_loaded = any(load != NONE for load in request.base.load)
    loads = target.load_list() if is_loaded else None
    plan = make_sweep_plan(request, register, load_catalogue(), facts.facts, loads, others)
    return Prepared(target, register, facts, plan)


def run_sweep(
    prepared: Prepared,
    options: OutcomeOptions,
    show: Callable[[RunDocument], None] | None,
    *,
    wants_report: bool,
    sweeping: _SweepRun | None = None,
) -> tuple[RunDocument, int]:
    """As `run_one`; each result decides what is measured next. `sweeping` resumes a stored run."""
    points = sweeping or _SweepRun(Sweeper(prepared.plan, prepared.register))
    reporter = suitable(
        QuietReporter,
        lambda: _PlainReporter(points),
        lambda console: _LiveReporter(console, points),
        quiet=options.quiet,
    )
    document, code = run_one(
        prepared,
        options,
        show,
        wants_report=wants_report,
        reporter=_Timed(reporter, points),
        resumes=points.resumes,
        more=points.more,
        note=points.note,
    )
    _tell_curves(points.sweeper, document)
    return document, code


def _of_points(read: Callable[[PlannedTest], object]) -> Callable[[Plan], object]:
    """Gives what the points of a sweep have in common."""

    def value(plan: Plan) -> object:
        test = plan.sweep.test if plan.sweep is not None else ""
        points = (one for one in plan.tests if one.test == test and curve_of(one) is not None)
        return next(map(read, points), None)

    return value


def _of_sweep(*names: str) -> Callable[[Plan], object]:
    return lambda plan: [getattr(plan.sweep, name, None) for name in names]


# What a plan has for an option that was typed.
_VALUES: dict[str, Callable[[Plan], object]] = {
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
    **CONDITION_VALUES,
}


def resume(
    mode: str,
    reference: str,
    options: SweepOptions,
    given: set[str],
    command: click.Command,
    *,
    wants_report: bool = True,
) -> int:
    """Goes on with a stored sweep; `given` are the options of `command` that were typed."""
    whole = _find_sweep(open_store(options.store), mode, reference)
    name = whole.plan.target
    check_target(whole, options, given)
    with closing(find_target(name)) as target:
        asked = _prepare_sweep(
            target, name, mode=mode, options=_as_begun(whole, command, options, given)
        )
        _check_agreement(whole, asked.plan, given)
        try:
            sweeping = _SweepRun(Sweeper(whole.plan, asked.register), whole)
        except (KeyError, ValueError, TypeError):
            raise InputError(
                f"this version does not support the plan of run {whole.id}",
                "resume it with the version that started it",
            ) from None
        plan = msgspec.structs.replace(whole.plan, tests=unmeasured_tests(whole))
        if not plan.tests and not sweeping.more(msgspec.structs.replace(whole, results=[])):
            raise InputError(f"run {whole.id} has nothing left to measure", _begin(mode))
        prepared = replace(asked, plan=plan)
        return _shown_sweep(prepared, options, sweeping, wants_report=wants_report)


def _find_sweep(store: Store, mode: str, reference: str) -> RunDocument:
    """The run that `reference` names, by default the last sweep of `mode` that is not complete.

    InputError where it cannot be resumed, with the reason.
    """
    recorded = store.recorded_now()
    for run_id in recorded:
        if reference and run_id.startswith(reference):
            raise recorded_now(run_id)
    document = store.load(reference) if reference else _last_unfinished(store, mode)
    sweep = document.plan.sweep
    if sweep is None:
        raise InputError(f"run {document.id} is not a sweep of hardstone simulate", _begin(mode))
    if sweep.test != MODES[mode]:
        other = next((name for name, test in MODES.items() if test == sweep.test), mode)
        raise InputError(
            f"run {document.id} is a sweep of {sweep.test[:60]}",
            f"hardstone simulate {other} --resume {document.id}",
        )
    if document.status == "complete":
        raise InputError(f"run {document.id} is complete and cannot be resumed", _begin(mode))
    if document.id in recorded:
        raise recorded_now(document.id)
    return document


def _last_unfinished(store: Store, mode: str) -> RunDocument:
    for entry in reversed(store.runs()):
        if entry.status != "complete":
            document = store.load(entry.id)
            sweep = document.plan.sweep
            if sweep is not None and sweep.test == MODES[mode]:
                return document
    raise InputError("no sweep was interrupted, so there is none to resume", _begin(mode))


def _check_agreement(whole: RunDocument, asked: Plan, given: set[str]) -> None:
    for name, value in _VALUES.items():
        if name in given and value(asked) != value(whole.plan):
            raise InputError(
                f"--{name.replace('_', '-')}: run {whole.id} was started with another value",
                "leave it out: a sweep is resumed with the options it was started with",
            )


def _as_begun(
    whole: RunDocument, command: click.Command, options: SweepOptions, given: set[str]
) -> SweepOptions:
    """`options`; those that were not typed are as the sweep was begun with."""
    words = list(whole.plan.command)
    if words[:2] != ["simulate", command.name]:
        return options
    try:
        context = command.make_context(command.name, words[2:])
    except (click.ClickException, click.exceptions.Exit, InputError):
        return options
    begun = {name: value for name, value in context.params.items() if name in _VALUES}
    return replace(options, **{name: begun[name] for name in begun if name not in given})


def _begin(mode: str) -> str:
    return f"start one: hardstone simulate {mode}"
