"""One target that `evaluate` or `run` measures: request, plan, campaign, what is told after."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hardstone.campaign import Campaign, Outcome
from hardstone.catalogue import load_catalogue
from hardstone.cli.array_threads import one_array_thread
from hardstone.cli.ending import tell_code
from hardstone.cli.file_folder import folder_problems, own_folder, typed_folder
from hardstone.cli.messages import tell, tell_error
from hardstone.cli.open_store import open_store
from hardstone.cli.printing import printed
from hardstone.cli.reaching_told import notices_told
from hardstone.cli.report_file import default_report, no_folder, write_report
from hardstone.errors import EXIT_OK, HardstoneError, InputError
from hardstone.model import Facts, Plan, PlannedTest, Register, RunDocument, Scalar
from hardstone.plan import NONE, Models, Request, make_plan
from hardstone.report.page_frame import regular_target
from hardstone.store import StoreError
from hardstone.targets.base import Target

if TYPE_CHECKING:
    from hardstone.cli.progress import Reporter

_REQUEST_FIELDS = (
    "name",
    "profile",
    "load",
    "cpu_config",
    "cpu",
    "policy",
    "priority",
    "clock",
    "samples",
    "duration",
    "interval",
    "params",
    "seed",
    "dma_latency",
    "trace",
)
_RECORDING_FIELDS = ("watched", "is_recording")


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
    options: Mapping[str, Any],
    models_of: Callable[[Mapping[str, Scalar]], Models] | None = None,
) -> Prepared:
    """Opens `target`, which is called `name`, and plans `tests` for it.

    `models_of` gives from the facts the two preemption models to measure under.
    """
    fields = {field: options[field] for field in _REQUEST_FIELDS}
    fields |= {field: options[field] for field in _RECORDING_FIELDS if field in options}
    fields |= {"folder": typed_folder(options, name), "default_folder": own_folder(options, name)}
    request = Request(tests=tuple(tests), target=name, **fields)
    others = place_problems(options) + folder_problems(options, name)
    target.open(notices_told(quiet=options["quiet"], wait_s=options.get("wait_s")))
    register, facts = target.probe_list(), target.facts()
    if str(facts.facts.get("limits.realtime_cause")).startswith("thread_"):
        one_array_thread()
    is_loaded = any(load != NONE for load in request.load)
    loads = target.load_list() if is_loaded else None
    if models_of is not None:
        request = replace(request, preemption_models=models_of(facts.facts)[:2])
    plan = make_plan(request, register, load_catalogue(), facts.facts, loads, others)
    return Prepared(target, register, facts, plan)


def run_one(
    prepared: Prepared,
    options: Mapping[str, Any],
    show: Callable[[RunDocument], None] | None,
    *,
    wants_report: bool,
    reporter: Reporter | None = None,
    resumes: RunDocument | None = None,
    more: Callable[[RunDocument], Sequence[PlannedTest]] = lambda document: (),
) -> tuple[RunDocument, int]:
    """Runs the plan: the document, stored and shown, and the exit code.

    `show` prints the document; None: it is printed later. `reporter` prints what happens meanwhile.
    `resumes`: the stored run that this one becomes a part of. `more` adds tests to the plan, as
    that of Campaign.
    """
    from hardstone.cli.progress import make_reporter

    output: Path | None = options["output"]
    store = open_store(options["store"], prepared.target)
    with reporter or make_reporter(quiet=options["quiet"]) as telling:
        campaign = Campaign(
            prepared.target, store, telling.take, more=more, wait_s=options.get("wait_s")
        )
        outcome = campaign.run(prepared.plan, prepared.facts, prepared.register, resumes)
    document = outcome.document
    if output is None and wants_report:
        output = default_report(store.path, document.id)
    problem = None if show is None else printed(lambda: show(document))
    is_named = show is not None and problem is None and not options["as_json"]
    code = _finish(outcome, output, is_named=is_named) or problem or EXIT_OK
    tell_code(code, document, prepared.facts.facts, prepared.target)
    return document, code


def place_problems(options: Mapping[str, Any]) -> list[str]:
    """What is wrong with the places that were named, of store and report."""
    problems = []
    store, output = options["store"], options["output"]
    try:
        if store is not None and store.exists() and not store.is_dir():
            problems.append(f"--store: {store} is not a folder; name another place")
        if output is not None:
            _check_writable(output)
    except OSError as error:
        problems.append(f"--store: {store}: {error.strerror or error}; name another place")
    except InputError as error:
        problems.append(str(error))
    return problems


def _check_writable(output: Path) -> None:
    """Hours of measuring must not end with a report that cannot be written."""
    try:
        target = regular_target(output)
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(f"-o: {output}: {reason}", "name another file") from error
    folder = target.parent
    if not folder.is_dir():
        raise no_folder(folder)
    places = [folder, target] if target.exists() else [folder]
    if not all(os.access(place, os.W_OK) for place in places):
        raise InputError(f"-o: {output} cannot be written", "name another file")


def _tell_not_stored(outcome: Outcome, problem: StoreError) -> None:
    tell_error(problem, f"the run {outcome.document.id} is not stored: ")
    if outcome.spare is None:
        tell("of it is left what the journal took; print it with --json to keep it")
    else:
        tell(f"until the machine ends it is in {outcome.spare}; to store it", "hardstone runs")


def _finish(outcome: Outcome, output: Path | None, *, is_named: bool) -> int:
    """`is_named`: what was printed names the run and how to see all of it."""
    run_id = outcome.document.id
    if outcome.problem is None and not is_named:
        tell(f"stored as {run_id}", f"hardstone show {run_id}")
    elif outcome.problem is not None:
        _tell_not_stored(outcome, outcome.problem)
    if output is None:
        return outcome.exit_code
    try:
        write_report(outcome.document, output)
    except HardstoneError as error:
        tell_error(error, "the report is not written: ")
        if outcome.problem is None:
            tell("the run is stored; try", f"hardstone report {run_id} -o FILE")
        return outcome.exit_code or error.exit_code
    tell(f"report: {output}")
    return outcome.exit_code
