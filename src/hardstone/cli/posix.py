"""`hardstone posix`: what a system has of POSIX, and of HP's real-time features."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path

import click

from hardstone.cli.options import (
    ConditionOptions,
    LabOptions,
    OutcomeOptions,
    TargetsOption,
    options_of,
    shared,
    typed_options,
)
from hardstone.errors import InputError


@dataclass(frozen=True, kw_only=True)
class PosixOptions(LabOptions, TargetsOption):
    """Options of `hardstone posix`: of those that measure the few that it needs."""

    name: str = shared(ConditionOptions, "name")
    wait_s: float | None = shared(OutcomeOptions, "wait_s")
    store: Path | None = shared(OutcomeOptions, "store")
    as_json: bool = shared(OutcomeOptions, "as_json")
    quiet: bool = shared(OutcomeOptions, "quiet")


@click.command("posix")
@click.argument("run", required=False)
@options_of(PosixOptions)
@click.pass_context
def command(context: click.Context, /, run: str | None, options: PosixOptions) -> int:
    """Show which options of POSIX a system has: by headers, by sysconf, and by a real call.

    Without RUN the test POS-B-INV is run on the target, stored, and shown. RUN is an ID, the
    start of one, a name, or "last"; see runs. Two views: the options by part, with limits and
    profiles; and the real-time features that HP listed in 1987, each with what other tests of
    the same run measured. So a RUN of evaluate says most.
    """
    if run is None:
        from hardstone.cli.posix_measuring import measure_posix

        return measure_posix(options)
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
        from hardstone.cli.posix_measuring import print_posix_json

        print_posix_json([document])
    else:
        from hardstone.posix.screen import print_posix

        print_posix(document)
    return consistency_exit(document)
