"""`hardstone run --resume`: a search of IRQ-S-SUS that was cut off goes on from its steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict
from typing import Any

from hardstone.cli.lab_options import lab_targets
from hardstone.cli.measuring import Prepared, prepare, run_one
from hardstone.cli.messages import print_json
from hardstone.cli.open_store import open_store
from hardstone.cli.resuming import check_agreement
from hardstone.errors import InputError
from hardstone.model import Plan, RunDocument
from hardstone.plan.make import rest_of_search
from hardstone.stats.sustained import SUSTAINED, bracket_of, ended_sources, steps_of
from hardstone.store import Store
from hardstone.targets import find_target

_BEGIN = f"begin one: hardstone run {SUSTAINED}"


def resume(
    reference: str, tests: Sequence[str], options: Mapping[str, Any], given: set[str]
) -> int:
    """Goes on with a stored search; `given` are the options that were typed."""
    from hardstone.cli.measure_targets import print_plan, print_run

    if any(test.upper() != SUSTAINED for test in tests):
        raise InputError(f"only {SUSTAINED} can be resumed here, not {tests[0][:60]}", _BEGIN)
    whole = find_search(open_store(options["store"]), reference)
    rest = _rest(whole)
    if rest is None:
        raise InputError(f"of run {whole.id} nothing is left to measure", _BEGIN)
    name = whole.plan.target
    if "target" in given and lab_targets(options["target"], options) != [name]:
        raise InputError(f"run {whole.id} is of the target {name}", "leave the target out")
    with closing(find_target(name)) as target:
        asked = prepare(target, name, (SUSTAINED,), options)
        check_agreement(whole, asked.plan, given, options["params"])
        prepared = Prepared(asked.target, asked.register, asked.facts, rest)
        if options["dry_run"]:
            return print_plan(rest, as_json=options["as_json"])
        show = print_json if options["as_json"] else print_run
        return run_one(prepared, options, show, wants_report=False, resumes=whole)[1]


def find_search(store: Store, reference: str) -> RunDocument:
    """The run that `reference` names, by default the last search that is not complete.

    InputError where it cannot be resumed, with the reason.
    """
    if reference:
        document = store.load(reference)
        _check(document)
    else:
        document = _last_unfinished(store)
    if document.id in store.recorded_now():
        raise InputError(
            f"run {document.id} is recorded by another process now", "wait for its end, or end it"
        )
    return document


def _last_unfinished(store: Store) -> RunDocument:
    for entry in reversed(store.runs()):
        if entry.status != "complete":
            document = store.load(entry.id)
            if _is_search(document) and _rest(document) is not None:
                return document
    raise InputError(f"no run of {SUSTAINED} was cut off: there is none to resume", _BEGIN)


def _check(document: RunDocument) -> None:
    if not _is_search(document):
        tests = ", ".join(dict.fromkeys(one.test for one in document.plan.tests[:3])) or "no test"
        raise InputError(
            f"run {document.id} is not of {SUSTAINED} alone: it has {tests[:60]}", _BEGIN
        )


def _is_search(document: RunDocument) -> bool:
    tests = document.plan.tests
    return len(tests) == 1 and tests[0].test == SUSTAINED


def _rest(whole: RunDocument) -> Plan | None:
    results = whole.results
    steps = steps_of(results)
    known = {step.source: asdict(bracket_of(steps, step.source)) for step in steps}
    return rest_of_search(whole.plan, ended_sources(results) | _missing(whole), known)


def _missing(whole: RunDocument) -> set[str]:
    """Sources that the system does not have, as the probe has told."""
    return {
        str(event.data.get("source"))
        for result in whole.results
        for event in result.events
        if event.name == "source_missing"
    }
