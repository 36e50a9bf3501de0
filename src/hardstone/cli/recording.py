"""`latstat`: a recording that begins, and one that goes on."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from functools import partial
from typing import Any

from hardstone.cli.breach_command import BreachCommand, command_words
from hardstone.cli.ctrl_c import unwind_on_termination
from hardstone.cli.lab_options import lab_target
from hardstone.cli.latstat_options import plan_words
from hardstone.cli.measuring import Prepared, prepare, run_one
from hardstone.cli.messages import print_json
from hardstone.cli.open_store import open_store
from hardstone.cli.recording_told import make_recording_reporter
from hardstone.cli.resuming import LATSTAT, check_agreement, find_unfinished, prepared_rest
from hardstone.errors import InputError
from hardstone.model import RunDocument
from hardstone.targets import find_target


def record(options: Mapping[str, Any]) -> int:
    """A new recording: the exit code."""
    if options["go_on"] and options["threshold"] is None:
        raise InputError("--go-on needs a threshold", "add --threshold TIME")
    has_threshold = options["threshold"] is not None
    command = _command(options, has_threshold=has_threshold)
    name = lab_target(options["target"], options)
    with closing(find_target(name)) as target:
        prepared = prepare(target, name, (LATSTAT,), plan_words(options))
        _check_single(prepared)
        return _run(prepared, options, command, None)


def resume(reference: str, options: Mapping[str, Any], given: set[str]) -> int:
    """Goes on with a recording that was cut off; `given` are the options that were typed."""
    whole = find_unfinished(open_store(options["store"]), reference)
    name = whole.plan.target
    asked_name = lab_target(options["target"] if "target" in given else name, options)
    if asked_name != name:
        raise InputError(
            f"run {whole.id} is of the target {name}, not of {asked_name}",
            "leave the target and its options out: it is resumed where it began",
        )
    command = _command(options, has_threshold=_has_threshold(whole))
    with closing(find_target(name)) as target:
        asked = prepare(target, name, (LATSTAT,), plan_words(options))
        check_agreement(whole, asked.plan, given, options["params"])
        prepared = prepared_rest(asked, whole)
        return _run(prepared, options, command, whole)


def _run(
    prepared: Prepared,
    options: Mapping[str, Any],
    command: BreachCommand | None,
    whole: RunDocument | None,
) -> int:
    from hardstone.cli.measure_targets import print_plan, print_run

    if options["dry_run"]:
        return print_plan(prepared.plan, as_json=options["as_json"])
    reporter = make_recording_reporter(quiet=options["quiet"], command=command)
    show = print_json if options["as_json"] else print_run
    run = partial(
        run_one, prepared, options, show, wants_report=False, reporter=reporter, resumes=whole
    )
    if command is None:
        return run()[1]
    with unwind_on_termination(), command:
        _, code = run()
        command.finish()
    return code


def _command(options: Mapping[str, Any], *, has_threshold: bool) -> BreachCommand | None:
    text = options["on_threshold"]
    if text is None:
        return None
    if not has_threshold:
        raise InputError("--on-threshold needs a threshold", "add --threshold TIME")
    return BreachCommand(command_words(text))


def _has_threshold(whole: RunDocument) -> bool:
    params = whole.plan.tests[0].params
    return whole.plan.watched_ns is not None or bool(params.get("threshold_ns"))


def _check_single(prepared: Prepared) -> None:
    count = len(prepared.plan.tests)
    if count != 1:
        raise InputError(
            f"latstat records under one load in one CPU configuration, not {count}",
            "join elements with +, as in heavy+storm, or use: hardstone run TMR-P-LAT",
        )
