"""`hardstone posix`: what a system has of POSIX, and of HP's real-time features."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hardstone.cli import completion
from hardstone.cli.help import declare
from hardstone.cli.options import (
    ConditionOptions,
    LabOptions,
    MeasureOptions,
    OutcomeOptions,
    TargetsOption,
    fitting,
    lab_targets,
    options_of,
    shared,
    typed_options,
)
from hardstone.errors import InputError

if TYPE_CHECKING:
    from hardstone.model import NotRun, RunDocument


@dataclass(frozen=True, kw_only=True)
class PosixOptions(LabOptions, TargetsOption):
    """Options of `hardstone posix`: of those that measure the few that it needs."""

    name: str = shared(ConditionOptions, "name")
    wait_s: float | None = shared(OutcomeOptions, "wait_s")
    store: Path | None = shared(OutcomeOptions, "store")
    as_json: bool = shared(OutcomeOptions, "as_json")
    quiet: bool = shared(OutcomeOptions, "quiet")


@declare("posix", "hardstone posix", "hardstone posix last")
@click.argument("run", required=False, shell_complete=completion.runs)
@options_of(PosixOptions)
@click.pass_context
def command(context: click.Context, /, run: str | None, options: PosixOptions) -> int:
    """Show which POSIX options a system has, and which work.

    Each option is looked up in the headers and with sysconf, and tried with a real call. Without
    RUN, the test POS-B-INV is run on the target, stored and shown. RUN is an ID or the start of
    one, a name, last, or last~1 for the run before the last; hardstone runs lists them.

    The first view has the options by part of POSIX, with limits and profiles. The second has the
    real-time features that HP listed in 1987, with the figures of other tests of the same run; a
    run of evaluate has all of them.
    """
    if run is None:
        return _measure(options)
    typed = typed_options(context) - {"run", "store", "as_json", "quiet"}
    idle = [one.name for one in fields(options) if one.name in typed]
    if idle:
        name = idle[0].removeprefix("lab_").removesuffix("_s").replace("_", "-")
        raise InputError(f"--{name}: {run[:60]} is read, and nothing is measured", "leave it out")
    return _show(run, options.store, as_json=options.as_json)


def _show(run: str, store: Path | None, *, as_json: bool) -> int:
    from hardstone.cli.open_store import consistency_exit, open_store
    from hardstone.posix.analysis import TEST

    document = open_store(store).load(run)
    if not any(one.test == TEST for one in document.results):
        raise InputError(f"run {document.id} has no {TEST}", "measure it: hardstone posix")
    if as_json:
        _print_json([document])
    else:
        from hardstone.cli.messages import paged
        from hardstone.posix.screen import print_posix

        with paged():
            print_posix(document)
    return consistency_exit(document)


def _measure(options: PosixOptions) -> int:
    """Runs POS-B-INV on each target, and stores and shows it as any run: the exit code."""
    from hardstone.cli.measure import Procedure, measure_several, prepare, run_one
    from hardstone.posix.analysis import TEST
    from hardstone.posix.screen import print_posix
    from hardstone.targets import find_target

    names = lab_targets(options.target, options)
    asked = MeasureOptions(**fitting(MeasureOptions, options))
    if len(names) > 1:
        prepare_one = partial(prepare, tests=(TEST,), options=asked)
        procedure = Procedure(
            prepare_one, run_one, print_posix, lambda documents: None, _print_json
        )
        return measure_several(names, procedure, asked, wants_report=False)
    with closing(find_target(names[0])) as target:
        prepared = prepare(target, names[0], (TEST,), asked)
        show = (lambda one: _print_json([one])) if options.as_json else print_posix
        return run_one(prepared, asked, show, wants_report=False)[1]


def _print_json(documents: Sequence[RunDocument], not_run: Sequence[NotRun] = ()) -> None:
    from hardstone.cli.messages import print_json
    from hardstone.posix.analysis import POSIX_SCHEMA, PosixDocument, answers_in

    answers = [answer for document in documents for answer in answers_in(document)]
    print_json(PosixDocument(schema=POSIX_SCHEMA, answers=answers, not_run=list(not_run)))
