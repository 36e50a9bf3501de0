"""Goes on with a search that was cut off, and what all commands with --resume check."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from hardstone.cli.measure import prepare, print_run, run_one, show_plan
from hardstone.cli.messages import print_json
from hardstone.cli.open_store import open_store
from hardstone.cli.options import MeasureOptions, lab_targets
from hardstone.errors import InputError
from hardstone.model import Plan, Register, RunDocument
from hardstone.plan.make import rest_of_search
from hardstone.stats.sustained import SUSTAINED, bracket_of, ended_sources, steps_of
from hardstone.store.store import Store
from hardstone.targets import find_target

if TYPE_CHECKING:
    from hardstone.cli.simulate import SweepOptions

_BEGIN = f"start one: hardstone run {SUSTAINED}"


def _param(name: str) -> Callable[[Plan], object]:
    return lambda plan: plan.tests[0].params.get(name)


# What a plan has for an option that was typed.
CONDITION_VALUES: dict[str, Callable[[Plan], object]] = {
    "clock": lambda plan: plan.clock,
    "load": lambda plan: plan.loads,
    "cpu_config": lambda plan: plan.cpu_configs,
    "seed": lambda plan: plan.seed,
    "dma_latency": lambda plan: plan.dma_latency_us,
    "trace": lambda plan: plan.trace,
    "name": lambda plan: plan.name,
}
_VALUES: dict[str, Callable[[Plan], object]] = {
    "duration": lambda plan: plan.tests[0].duration_ns,
    "samples": lambda plan: plan.tests[0].samples,
    "interval": _param("interval_ns"),
    "cpu": lambda plan: (plan.cpu, plan.tests[0].params.get("cpus")),
    "priority": lambda plan: plan.priority,
    "threshold": lambda plan: (plan.tests[0].params.get("threshold_ns"), plan.watched_ns),
    "parts": _param("parts"),
    "policy": lambda plan: plan.policy,
    **CONDITION_VALUES,
}


def check_agreement(
    whole: RunDocument, asked: Plan, given: set[str], params: Sequence[str]
) -> None:
    """InputError for an option in `given` whose value in the plan `asked` differs from the stored
    one; `params` are the `key=value` pairs among them."""
    typed = {
        f"--{name.replace('_', '-')}": value for name, value in _VALUES.items() if name in given
    }
    keys = [pair.partition("=")[0].strip() for pair in params]
    typed |= {f"--param {key}": _param(key) for key in keys}
    changed = [option for option, value in typed.items() if value(asked) != value(whole.plan)]
    if "go_on" in given and whole.plan.watched_ns is None:
        changed.append("--go-on")
    if changed:
        raise InputError(
            f"{changed[0]}: run {whole.id} was started with another value",
            "leave it out: a recording is resumed with the options it was started with",
        )


def check_target(
    whole: RunDocument, options: MeasureOptions | SweepOptions, given: set[str]
) -> None:
    """InputError if another target was typed than that of the stored run."""
    name = whole.plan.target
    if "target" in given and lab_targets(options.target, options) != [name]:
        raise InputError(f"run {whole.id} was measured on {name}", "leave the target out")


def check_params(whole: RunDocument, register: Register) -> None:
    """InputError if the plan of the stored run has parameters that this probe lacks."""
    known = {(one.id, spec.name) for one in register.tests for spec in one.params}
    asked = {(one.test, name) for one in whole.plan.tests for name in one.params}
    for _, name in sorted(asked - known)[:1]:
        raise InputError(
            f"this probe does not know the parameter {name[:60]!r} of run {whole.id}",
            "resume it with the version that started it",
        )


def is_of(document: RunDocument, test: str) -> bool:
    """Whether the run is of `test` alone."""
    return [one.test for one in document.plan.tests] == [test]


def tests_text(document: RunDocument) -> str:
    """The first tests of a run, for the message that it is not of the test that is resumed."""
    tests = dict.fromkeys(one.test for one in document.plan.tests[:3])
    return (", ".join(tests) or "no test")[:60]


def recorded_now(run_id: str) -> InputError:
    """The error that a run cannot be resumed while another process records it."""
    return InputError(f"another process is recording run {run_id}", "wait until it ends, or end it")


def resume(reference: str, tests: Sequence[str], options: MeasureOptions, given: set[str]) -> int:
    """Goes on with a stored search; `given` are the options that were typed."""
    if any(test.upper() != SUSTAINED for test in tests):
        raise InputError(
            f"hardstone run --resume takes {SUSTAINED} only, not {tests[0][:60]}", _BEGIN
        )
    whole = _find_search(open_store(options.store), reference)
    rest = _rest(whole)
    if rest is None:
        raise InputError(f"run {whole.id} has nothing left to measure", _BEGIN)
    name = whole.plan.target
    check_target(whole, options, given)
    with closing(find_target(name)) as target:
        asked = prepare(target, name, (SUSTAINED,), options)
        check_agreement(whole, asked.plan, given, options.params)
        prepared = replace(asked, plan=rest)
        if options.dry_run:
            return show_plan(rest, as_json=options.as_json)
        show = print_json if options.as_json else print_run
        return run_one(prepared, options, show, wants_report=False, resumes=whole)[1]


def _find_search(store: Store, reference: str) -> RunDocument:
    """The run that `reference` names, by default the last search that is not complete.

    InputError where it cannot be resumed, with the reason.
    """
    if reference:
        document = store.load(reference)
        if not is_of(document, SUSTAINED):
            tests = tests_text(document)
            cause = f"run {document.id} does not consist of {SUSTAINED} alone: it has {tests}"
            raise InputError(cause, _BEGIN)
    else:
        document = _last_unfinished(store)
    if document.id in store.recorded_now():
        raise recorded_now(document.id)
    return document


def _last_unfinished(store: Store) -> RunDocument:
    for entry in reversed(store.runs()):
        if entry.status != "complete":
            document = store.load(entry.id)
            if is_of(document, SUSTAINED) and _rest(document) is not None:
                return document
    raise InputError(f"no run of {SUSTAINED} was interrupted, so there is none to resume", _BEGIN)


def _rest(whole: RunDocument) -> Plan | None:
    results = whole.results
    steps = steps_of(results)
    known = {step.source: asdict(bracket_of(steps, step.source)) for step in steps}
    missing = {  # sources that the system does not have, as the probe has reported
        str(event.data.get("source"))
        for result in results
        for event in result.events
        if event.name == "source_missing"
    }
    return rest_of_search(whole.plan, ended_sources(results) | missing, known)
