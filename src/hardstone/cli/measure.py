"""Measures a plan, on one target or on several, and shows what came out: what `run`, `evaluate`
and others share.

With --compare-preemption, two models that can be switched at run time are conditions of one run. A
kernel of the lab is booted with each model, and each boot has a run of its own.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from hardstone.campaign.campaign import Campaign, Outcome
from hardstone.catalogue import load_catalogue
from hardstone.cli.messages import (
    notice_messages,
    print_json,
    printed,
    tell,
    tell_code,
    tell_error,
    visible,
)
from hardstone.cli.open_store import open_store
from hardstone.cli.options import (
    LAB_PREFIX,
    MeasureOptions,
    OutcomeOptions,
    fitting,
    lab_targets,
    one_array_thread,
)
from hardstone.errors import (
    EXIT_INTERRUPTED,
    EXIT_OK,
    HardstoneError,
    InputError,
    worst_code,
)
from hardstone.files import regular_target, replace_file
from hardstone.model import (
    TARGETS_SCHEMA,
    Event,
    Facts,
    NotRun,
    Plan,
    PlannedTest,
    Plans,
    Register,
    Result,
    RunDocument,
    Runs,
    Scalar,
)
from hardstone.plan.make import Request, make_plan
from hardstone.plan.params import NONE, PlanError
from hardstone.store.place import StoreError, default_root
from hardstone.targets import find_target
from hardstone.targets.base import LeftAloneError, Target, WrongModelError

if TYPE_CHECKING:
    from hardstone.cli.progress import Reporter
    from hardstone.preemption.tables import Models


Opened = TypeVar("Opened")
_LOCAL = "local"
_LONGEST = 180  # of the probe


def typed_folder(options: MeasureOptions, target: str) -> str | None:
    """The folder of --dir; a relative one is of this machine."""
    typed = options.folder
    return typed if typed is None or target != _LOCAL else str(Path(typed).absolute())


def own_folder(options: OutcomeOptions, target: str) -> str | None:
    """The folder for the probe of `target` without --dir; None leaves it to the probe."""
    if target != _LOCAL:
        return None
    try:
        path = str((options.store or default_root()).absolute())
    except InputError:  # no home folder: opening the store reports it
        return None
    return path if len(os.fsencode(path)) <= _LONGEST and path.isprintable() else None


def folder_problems(options: MeasureOptions, target: str) -> list[str]:
    """What is wrong with the folder of --dir. On another machine its probe finds that out."""
    typed = options.folder
    if typed is None:
        return []
    cause = _cause(typed, is_local=target == _LOCAL)
    return [] if cause is None else [f"--dir: {cause}; name a folder for files"]


def _cause(typed: str, *, is_local: bool) -> str | None:
    if not typed.strip() or not typed.isprintable():
        return "the name is empty or not printable"
    if not is_local and not typed.startswith("/"):
        return f"{typed} is not absolute; a folder on another machine must be"
    path = Path(typed).absolute()
    if len(os.fsencode(path)) > _LONGEST:
        return f"the name is longer than {_LONGEST} bytes"
    return _cause_here(path) if is_local else None


def _cause_here(path: Path) -> str | None:
    try:
        if not stat.S_ISDIR(path.stat().st_mode):
            return f"{path} is not a folder"
    except OSError as error:
        return f"{path}: {error.strerror or error}"
    return None if os.access(path, os.W_OK | os.X_OK) else f"{path} cannot be written"


@dataclass(frozen=True)
class Prepared:
    """A target that is open, and what will be run on it."""

    target: Target
    register: Register
    facts: Facts
    plan: Plan


def prepare(
    target: Target,
    name: str,
    tests: Sequence[str],
    options: MeasureOptions,
    models_of: Callable[[Mapping[str, Scalar]], Models] | None = None,
) -> Prepared:
    """Opens `target`, which is called `name`, and plans `tests` for it.

    `models_of` gives from the facts the two preemption models to measure under.
    """
    asked = fitting(Request, options) | {"tests": tuple(tests), "target": name}
    asked |= {"folder": typed_folder(options, name), "default_folder": own_folder(options, name)}
    request = Request(**asked)
    others = place_problems(options) + folder_problems(options, name)
    register, facts = open_target(target, options)
    is_loaded = any(load != NONE for load in request.load)
    loads = target.load_list() if is_loaded else None
    if models_of is not None:
        request = replace(request, preemption_models=models_of(facts.facts)[:2])
    plan = make_plan(request, register, load_catalogue(), facts.facts, loads, others)
    return Prepared(target, register, facts, plan)


def open_target(target: Target, options: OutcomeOptions) -> tuple[Register, Facts]:
    """Opens `target`: its tests, and the facts of its machine."""
    notices = notice_messages(
        quiet=options.quiet,
        wait_s=options.wait_s,
        leaves=options.detach,
        look_s=options.look_s,
    )
    target.open(notices)
    register, facts = target.probe_list(), target.facts()
    if str(facts.facts.get("limits.realtime_cause")).startswith("thread_"):
        one_array_thread()
    return register, facts


def _no_more(document: RunDocument) -> Sequence[PlannedTest]:
    return ()


def run_one(
    prepared: Prepared,
    options: OutcomeOptions,
    show: Callable[[RunDocument], None] | None,
    *,
    wants_report: bool,
    reporter: Reporter | None = None,
    resumes: RunDocument | None = None,
    more: Callable[[RunDocument], Sequence[PlannedTest]] | None = None,
    note: Callable[[Result], Sequence[Event]] = lambda result: (),
) -> tuple[RunDocument, int]:
    """Runs the plan: the document, stored and shown, and the exit code.

    `show` prints the document; None: it is printed later. `reporter` prints what happens meanwhile.
    `resumes`: the stored run that this one becomes a part of. `more` adds tests to the plan
    and `note` events to a result, as those of Campaign.
    """
    from hardstone.cli.progress import make_reporter

    if options.detach and more is not None:
        raise InputError(
            "--detach: which points are measured follows from the results before them",
            "leave --detach out",
        )
    output = options.output
    store = open_store(options.store, prepared.target)
    with reporter or make_reporter(quiet=options.quiet) as telling:
        campaign = Campaign(
            prepared.target,
            store,
            telling.take,
            more=more or _no_more,
            wait_s=options.wait_s,
            note=note,
        )
        outcome = campaign.run(prepared.plan, prepared.facts, prepared.register, resumes)
    document = outcome.document
    if output is None and wants_report:
        from hardstone.cli.report import default_report

        output = default_report(store.path, document.id)
    problem = None if show is None else printed(lambda: show(document))
    is_named = show is not None and problem is None and not options.as_json
    code = finish(outcome, output, is_named=is_named) or problem or EXIT_OK
    code = code or _export(document, options)
    tell_code(code, document, prepared.facts.facts, prepared.target)
    return document, code


def exports_of(options: OutcomeOptions) -> dict[str, Path]:
    """The files of --export-json and --export-csv that were asked for, by option."""
    asked = {"--export-json": options.export_json, "--export-csv": options.export_csv}
    return {option: path for option, path in asked.items() if path is not None}


def _export(document: RunDocument, options: OutcomeOptions) -> int:
    """Writes the files of --export-json and --export-csv: the exit code."""
    exports = exports_of(options)
    if not exports:
        return EXIT_OK
    from hardstone.report.export import run_csv, run_json

    code = EXIT_OK
    for option, path in exports.items():
        write = run_json if option == "--export-json" else run_csv
        try:
            replace_file(regular_target(path), write(document), None, is_durable=False)
        except (OSError, InputError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            tell(f"{option}: {path} cannot be written: {reason}; the run is stored")
            code = InputError.exit_code
        else:
            tell(f"exported: {path}")
    return code


def place_problems(options: OutcomeOptions) -> list[str]:
    """What is wrong with the places of --store, -o and the exports."""
    problems = []
    store, output = options.store, options.output
    try:
        if store is not None and store.exists() and not store.is_dir():
            problems.append(f"--store: {store} is not a folder; name another place")
        if output is not None:
            from hardstone.cli.report import check_suffix

            check_suffix(output)
            check_writable("-o", output)
        for option, path in exports_of(options).items():
            check_writable(option, path)
    except OSError as error:
        problems.append(f"--store: {store}: {error.strerror or error}; name another place")
    except InputError as error:
        problems.append(str(error))
    return problems


def check_writable(option: str, output: Path) -> None:
    """InputError unless the file of `option` can be written: hours of measuring must not end with a
    report that cannot."""
    try:
        target = regular_target(output)
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(f"{option}: {output}: {reason}", "name another file") from error
    folder = target.parent
    if not folder.is_dir():
        from hardstone.cli.report import no_folder

        raise no_folder(folder, option)
    places = [folder, target] if target.exists() else [folder]
    if not all(os.access(place, os.W_OK) for place in places):
        raise InputError(f"{option}: {output} cannot be written", "name another file")


def finish(outcome: Outcome, output: Path | None, *, is_named: bool) -> int:
    """Says where the run is stored and writes the report: the exit code.

    `is_named`: what was printed names the run and how to see all of it.
    """
    run_id = outcome.document.id
    if outcome.problem is None and not is_named:
        tell(f"stored as {run_id}", f"hardstone show {run_id}")
    elif outcome.problem is not None:
        tell_error(outcome.problem, f"the run {run_id} is not stored: ")
        if outcome.spare is None:
            tell("only what the journal holds is left; use --json to keep the results")
        else:
            tell(
                f"it is kept in {outcome.spare} until the machine stops; to store it",
                "hardstone runs",
            )
    if output is None:
        return outcome.exit_code
    try:
        from hardstone.cli.report import write_report

        write_report(outcome.document, output)
    except HardstoneError as error:
        tell_error(error, "the report is not written: ")
        if outcome.problem is None:
            tell("the run is stored; try", f"hardstone report {run_id} -o FILE")
        return outcome.exit_code or error.exit_code
    tell(f"report: {output}")
    return outcome.exit_code


_INTERRUPTED = "the command was interrupted"
_NO_STORE = "an earlier run could not be stored"


def measure_several(
    names: Sequence[str],
    procedure: Procedure,
    options: OutcomeOptions,
    *,
    wants_report: bool,
    ends_at: tuple[type[HardstoneError], ...] = (),
    after: Callable[[Sequence[RunDocument]], None] = lambda documents: None,
) -> int:
    """Measures the targets `names`, at least two, one after another: the exit code.

    `procedure` plans, runs and shows each, and compares them. An error of `ends_at` at the first
    target ends all. `after` is called with the documents once they are printed, unless as JSON.
    """
    if options.output is not None:
        raise InputError(
            f"-o: one file cannot hold the reports of {len(names)} runs",
            "leave -o out and write each report: hardstone report RUN -o FILE",
        )
    for option in exports_of(options):
        raise InputError(f"{option}: one file cannot hold {len(names)} runs", "leave it out")
    for name in names:
        find_target(name)  # a wrong name is reported before anything is measured
    targets = TargetLoop(names, options, (PlanError, *ends_at), procedure.prepare)
    if options.dry_run:
        return _plan_all(targets, as_json=options.as_json)
    return _run_all(targets, options, after, procedure, wants_report=wants_report)


def print_run(document: RunDocument) -> None:
    """Prints a run on one screen."""
    from hardstone.terminal.one_screen import print_screen

    print_screen(document)


def _print_table(documents: Sequence[RunDocument]) -> None:
    from hardstone.present.target_table import target_table
    from hardstone.terminal.columns import print_target_table

    print_target_table(target_table(documents))


def _print_runs(documents: Sequence[RunDocument], not_run: Sequence[NotRun]) -> None:
    print_json(Runs(schema=TARGETS_SCHEMA, runs=list(documents), not_run=list(not_run)))


@dataclass(frozen=True)
class Procedure:
    """How a target, by its name, is prepared, and what was prepared is run, as `run_one`; how each
    document is shown, two or more are compared, and all are printed as JSON."""

    prepare: Callable[[Target, str], Prepared]
    run: Callable[..., tuple[RunDocument, int]]
    show: Callable[[RunDocument], None] = print_run
    compare: Callable[[Sequence[RunDocument]], None] = _print_table
    print_json: Callable[[Sequence[RunDocument], Sequence[NotRun]], None] = _print_runs


def _usual(tests: Sequence[str], options: MeasureOptions) -> Procedure:
    return Procedure(partial(prepare, tests=tests, options=options), run_one)


class TargetLoop(Generic[Opened]):
    """Visits the targets in turn: one that cannot be measured does not keep the others from it."""

    def __init__(
        self,
        names: Sequence[str],
        options: OutcomeOptions,
        ends_at: tuple[type[HardstoneError], ...],
        prepare_one: Callable[[Target, str], Opened],
    ) -> None:
        self.names = names
        self._ends_at = ends_at
        self.not_run: list[NotRun] = []
        self._options = options
        self._prepare = prepare_one

    def visit(self, work: Callable[[Opened], int | None]) -> list[int]:
        """Calls `work` with each target while it is open; gives what is not None of its results.

        An error of `ends_at` at the very first target is raised: with PlanError the request is
        wrong.
        """
        codes: list[int] = []
        for place, name in enumerate(self.names):
            if not self._options.quiet:
                tell(f"target {place + 1} of {len(self.names)}: {name}")
            try:
                with closing(find_target(name)) as target:
                    code = work(self._prepare(target, name))
            except LeftAloneError as error:
                tell_error(error)
                codes.append(EXIT_OK)
                continue
            except self._ends_at as error:
                if not codes:
                    raise
                self._miss(name, error)
                continue
            except StoreError as error:
                self._miss(name, error)
                self._leave(place + 1, _NO_STORE, error.exit_code)
                break
            except HardstoneError as error:
                self._miss(name, error)
                continue
            except KeyboardInterrupt:
                self._leave(place, _INTERRUPTED, EXIT_INTERRUPTED)
                break
            codes.append(code or EXIT_OK)
            if code == EXIT_INTERRUPTED:
                self._leave(place + 1, _INTERRUPTED, EXIT_INTERRUPTED)
                break
        return codes

    def _miss(self, name: str, error: HardstoneError) -> None:
        tell_error(error, f"{name}: ")
        self.not_run.append(NotRun(target=name, reason=str(error), exit_code=error.exit_code))

    def _leave(self, start: int, reason: str, code: int) -> None:
        for name in self.names[start:]:
            self.not_run.append(NotRun(target=name, reason=reason, exit_code=code))

    def code(self, codes: Sequence[int]) -> int:
        """The exit code of the command, from those of the visits."""
        return worst_code([*codes, *(one.exit_code for one in self.not_run)])


def _run_all(
    targets: TargetLoop[Prepared],
    options: OutcomeOptions,
    after: Callable[[Sequence[RunDocument]], None],
    procedure: Procedure,
    *,
    wants_report: bool,
) -> int:
    documents: list[RunDocument] = []
    is_json = options.as_json

    def run(prepared: Prepared) -> int:
        show = None if is_json else procedure.show
        document, code = procedure.run(prepared, options, show, wants_report=wants_report)
        documents.append(document)
        return code

    codes = targets.visit(run)
    problem = None
    if is_json:
        problem = printed(lambda: procedure.print_json(documents, targets.not_run))
    elif len(documents) > 1:
        problem = printed(lambda: procedure.compare(documents))
    if problem is None and not is_json:
        problem = printed(lambda: after(documents))
    for one in targets.not_run:
        tell(f"{one.target} was not measured: {one.reason}")
    return targets.code(codes) or problem or EXIT_OK


def _plan_all(targets: TargetLoop[Prepared], *, as_json: bool) -> int:
    from hardstone.terminal.explain import print_plan

    plans: list[Plan] = []

    def plan(prepared: Prepared) -> None:
        plans.append(prepared.plan)
        if not as_json:
            print_plan(prepared.plan)

    codes = targets.visit(plan)
    if as_json:
        print_json(Plans(plans=plans, not_run=targets.not_run))
    return targets.code(codes)


_OPTION = "--compare-preemption"


def _compare_preemption(
    names: Sequence[str], tests: Sequence[str], options: MeasureOptions, *, wants_report: bool
) -> int:
    """Measures the one target of `names` with preemption off and on: the exit code."""
    if len(names) != 1:
        raise InputError(f"{_OPTION} compares on one target, not on {len(names)}", "name one")
    if names[0].startswith(LAB_PREFIX):
        return _compare_boots(names[0], tests, options, wants_report=wants_report)
    return _compare_at_run_time(names[0], tests, options, wants_report=wants_report)


def _compare_at_run_time(
    name: str, tests: Sequence[str], options: MeasureOptions, *, wants_report: bool
) -> int:
    from hardstone.preemption.tables import switched_models

    with closing(find_target(name)) as target:
        prepared = prepare(target, name, tests, options, models_of=switched_models)
        _remark(switched_models(prepared.facts.facts), options)
        if options.dry_run:
            return show_plan(prepared.plan, as_json=options.as_json)
        show = print_json if options.as_json else _print_with_pairs
        return run_one(prepared, options, show, wants_report=wants_report)[1]


def _print_with_pairs(document: RunDocument) -> None:
    from hardstone.preemption.screen import print_pairs
    from hardstone.preemption.tables import pairs_in

    print_run(document)
    print_pairs(pairs_in(document))


def _compare_boots(
    name: str, tests: Sequence[str], options: MeasureOptions, *, wants_report: bool
) -> int:
    """Boots the kernel with `none` and `full`; if it has no `none`, with models that it has."""
    from hardstone.lab.settings import PREEMPT_MODELS
    from hardstone.preemption.tables import OFF, ON, Models, booted_models

    models = Models(OFF, ON)
    for is_last in (False, True):
        try:
            return measure_several(
                _boots(name, models),
                _usual(tests, options),
                options,
                wants_report=wants_report,
                ends_at=() if is_last else (WrongModelError,),
                after=_print_pair,
            )
        except WrongModelError as error:
            models = booted_models(error.facts, PREEMPT_MODELS)
            _remark(models, options)
    raise AssertionError("the second round raises no WrongModelError")


def _boots(name: str, models: Models) -> list[str]:
    from hardstone.lab.settings import parse_settings, with_settings

    settings = parse_settings(name.removeprefix(LAB_PREFIX))
    if settings.preempt is not None:
        raise InputError(
            f"{_OPTION} boots with preempt={models.off} and preempt={models.on} itself",
            "leave preempt out",
        )
    return [LAB_PREFIX + with_settings(settings, preempt=one).name for one in models[:2]]


def _print_pair(documents: Sequence[RunDocument]) -> None:
    from hardstone.preemption.screen import print_pairs
    from hardstone.preemption.tables import pairs_of

    if len(documents) == 2:
        print_pairs(pairs_of(*documents))


def _remark(models: Models, options: OutcomeOptions) -> None:
    if models.remark and not options.quiet:
        tell(visible(models.remark))


def measure(tests: Sequence[str], options: MeasureOptions, *, wants_report: bool) -> int:
    """Plans and runs `tests` as `options` of the command line say: the exit code."""
    names = lab_targets(options.target, options)
    if options.compare_preemption:
        return _compare_preemption(names, tests, options, wants_report=wants_report)
    if len(names) > 1:
        return measure_several(names, _usual(tests, options), options, wants_report=wants_report)
    with closing(find_target(names[0])) as target:
        prepared = prepare(target, names[0], tests, options)
        if options.dry_run:
            return show_plan(prepared.plan, as_json=options.as_json)
        show = print_json if options.as_json else print_run
        return run_one(prepared, options, show, wants_report=wants_report)[1]


def show_plan(plan: Plan, *, as_json: bool) -> int:
    """Prints the plan of --dry-run: the exit code."""
    if as_json:
        print_json(plan)
    else:
        from hardstone.terminal.explain import print_plan

        print_plan(plan)
    return EXIT_OK
