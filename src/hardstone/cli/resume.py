"""Goes on with a recording, or a search, that was cut off."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict

from hardstone.cli.measure import Prepared, prepare, run_one
from hardstone.cli.messages import print_json, tell
from hardstone.cli.open_store import open_store
from hardstone.cli.options import MeasureOptions, lab_targets
from hardstone.errors import InputError
from hardstone.model import Plan, RunDocument
from hardstone.plan.make import rest_of, rest_of_search
from hardstone.stats.join import measured_ns
from hardstone.stats.sustained import SUSTAINED, bracket_of, ended_sources, steps_of
from hardstone.store.store import Store
from hardstone.targets import find_target

LATSTAT = "TMR-P-LAT"
_BEGIN = "begin one: hardstone latstat"
_WAKEUP = "wakeup"


def _param(name: str) -> Callable[[Plan], object]:
    return lambda plan: plan.tests[0].params.get(name)


# What an option that was typed says of a plan.
_SAYS: dict[str, Callable[[Plan], object]] = {
    "duration": lambda plan: plan.tests[0].duration_ns,
    "samples": lambda plan: plan.tests[0].samples,
    "interval": _param("interval_ns"),
    "cpu": lambda plan: (plan.cpu, plan.tests[0].params.get("cpus")),
    "priority": lambda plan: plan.priority,
    "threshold": lambda plan: (plan.tests[0].params.get("threshold_ns"), plan.watched_ns),
    "parts": _param("parts"),
    "policy": lambda plan: plan.policy,
    "clock": lambda plan: plan.clock,
    "load": lambda plan: plan.loads,
    "cpu_config": lambda plan: plan.cpu_configs,
    "seed": lambda plan: plan.seed,
    "dma_latency": lambda plan: plan.dma_latency_us,
    "trace": lambda plan: plan.trace,
    "name": lambda plan: plan.name,
}


def find_unfinished(store: Store, reference: str) -> RunDocument:
    """The run that `reference` names, by default the last recording that is not complete.

    InputError where it cannot be resumed, with the reason.
    """
    if not reference:
        return _last_unfinished(store)
    for run_id in store.recorded_now():
        if run_id.startswith(reference):
            raise recorded_now(run_id)
    document = store.load(reference)
    _check(store, document)
    return document


def check_agreement(
    whole: RunDocument, asked: Plan, given: set[str], params: Sequence[str]
) -> None:
    """InputError for an option that was typed and says something else than the recorded plan.

    `params` are the `key=value` pairs among them.
    """
    typed = {f"--{name.replace('_', '-')}": says for name, says in _SAYS.items() if name in given}
    keys = [pair.partition("=")[0].strip() for pair in params]
    typed |= {f"--param {key}": _param(key) for key in keys}
    unlike = [option for option, says in typed.items() if says(asked) != says(whole.plan)]
    if "go_on" in given and whole.plan.watched_ns is None:
        unlike.append("--go-on")
    if unlike:
        raise InputError(
            f"{unlike[0]}: run {whole.id} was begun with another value",
            "leave it out: a recording is resumed as it was begun",
        )


def prepared_rest(asked: Prepared, whole: RunDocument) -> Prepared:
    """The rest of the recorded plan on the same target; InputError if the probe cannot do it."""
    descriptor = next((one for one in asked.register.tests if one.id == LATSTAT), None)
    known = {spec.name for spec in descriptor.params} if descriptor is not None else set()
    lacking = sorted(whole.plan.tests[0].params.keys() - known)
    if lacking:
        raise InputError(
            f"this probe has no parameter {lacking[0][:60]!r}, which run {whole.id} was begun with",
            "resume it with the version that began it",
        )
    plan = _rest(whole)
    if plan is None:
        raise InputError(_nothing_left([whole.id]), _BEGIN)
    return Prepared(asked.target, asked.register, asked.facts, plan)


def _rest(whole: RunDocument) -> Plan | None:
    return rest_of(whole.plan, measured_ns(whole), _fewest_samples(whole))


def _last_unfinished(store: Store) -> RunDocument:
    spent: list[str] = []
    for entry in reversed(store.runs()):
        if entry.status != "complete":
            document = store.load(entry.id)
            if not _is_recording(document):
                continue
            _check(store, document)
            if _rest(document) is not None:
                if spent:
                    tell(f"{_nothing_left(spent)}; run {document.id} is resumed")
                return document
            spent.append(document.id)
    if spent:
        raise InputError(_nothing_left(spent), _BEGIN)
    raise InputError("no recording was cut off: there is none to resume", _BEGIN)


def _nothing_left(run_ids: list[str]) -> str:
    more = f" and {len(run_ids) - 1} before it" if len(run_ids) > 1 else ""
    return f"of run {run_ids[0]}{more} nothing is left to record"


def _check(store: Store, document: RunDocument) -> None:
    if not _is_recording(document):
        tests = ", ".join(dict.fromkeys(one.test for one in document.plan.tests[:3])) or "no test"
        raise InputError(
            f"run {document.id} is no recording of {LATSTAT} alone: it has {tests[:60]}", _BEGIN
        )
    if document.status == "complete":
        raise InputError(f"run {document.id} is complete: nothing is left to record", _BEGIN)
    if document.id in store.recorded_now():
        raise recorded_now(document.id)


def recorded_now(run_id: str) -> InputError:
    return InputError(
        f"run {run_id} is recorded by another process now", "wait for its end, or end it"
    )


def _is_recording(document: RunDocument) -> bool:
    tests = document.plan.tests
    return len(tests) == 1 and tests[0].test == LATSTAT


def _fewest_samples(document: RunDocument) -> int:
    """What every CPU has: each is to have as many as were asked for."""
    counts: dict[object, int] = {}
    for result in document.results:
        for series in result.series:
            if series.name == _WAKEUP:
                cpu = series.labels.get("cpu")
                counts[cpu] = counts.get(cpu, 0) + series.count
    return min(counts.values(), default=0)


_BEGIN_SEARCH = f"begin one: hardstone run {SUSTAINED}"


def resume(reference: str, tests: Sequence[str], options: MeasureOptions, given: set[str]) -> int:
    """Goes on with a stored search; `given` are the options that were typed."""
    from hardstone.cli.measure import print_run, show_plan

    if any(test.upper() != SUSTAINED for test in tests):
        raise InputError(
            f"only {SUSTAINED} can be resumed here, not {tests[0][:60]}", _BEGIN_SEARCH
        )
    whole = find_search(open_store(options.store), reference)
    rest = _rest_of_search(whole)
    if rest is None:
        raise InputError(f"of run {whole.id} nothing is left to measure", _BEGIN_SEARCH)
    name = whole.plan.target
    if "target" in given and lab_targets(options.target, options) != [name]:
        raise InputError(f"run {whole.id} is of the target {name}", "leave the target out")
    with closing(find_target(name)) as target:
        asked = prepare(target, name, (SUSTAINED,), options)
        check_agreement(whole, asked.plan, given, options.params)
        prepared = Prepared(asked.target, asked.register, asked.facts, rest)
        if options.dry_run:
            return show_plan(rest, as_json=options.as_json)
        show = print_json if options.as_json else print_run
        return run_one(prepared, options, show, wants_report=False, resumes=whole)[1]


def find_search(store: Store, reference: str) -> RunDocument:
    """The run that `reference` names, by default the last search that is not complete.

    InputError where it cannot be resumed, with the reason.
    """
    if reference:
        document = store.load(reference)
        _check_search(document)
    else:
        document = _last_unfinished_search(store)
    if document.id in store.recorded_now():
        raise InputError(
            f"run {document.id} is recorded by another process now", "wait for its end, or end it"
        )
    return document


def _last_unfinished_search(store: Store) -> RunDocument:
    for entry in reversed(store.runs()):
        if entry.status != "complete":
            document = store.load(entry.id)
            if _is_search(document) and _rest_of_search(document) is not None:
                return document
    raise InputError(f"no run of {SUSTAINED} was cut off: there is none to resume", _BEGIN_SEARCH)


def _check_search(document: RunDocument) -> None:
    if not _is_search(document):
        tests = ", ".join(dict.fromkeys(one.test for one in document.plan.tests[:3])) or "no test"
        raise InputError(
            f"run {document.id} is not of {SUSTAINED} alone: it has {tests[:60]}", _BEGIN_SEARCH
        )


def _is_search(document: RunDocument) -> bool:
    tests = document.plan.tests
    return len(tests) == 1 and tests[0].test == SUSTAINED


def _rest_of_search(whole: RunDocument) -> Plan | None:
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
