"""`hardstone posix`: what a system has of POSIX, and of HP's real-time features."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from hardstone.cli.options import (
    json_option,
    lab_options,
    store_option,
    targets_option,
    wait_option,
)
from hardstone.errors import InputError


@click.command("posix")
@click.argument("run", required=False)
@targets_option
@click.option("--name", default="", metavar="TEXT", help="A name for the run.")
@wait_option
@store_option
@json_option
@click.option("-q", "--quiet", is_flag=True, help="Show no progress.")
@lab_options
@click.pass_context
def command(context: click.Context, /, run: str | None, **options: Any) -> int:
    """Show which options of POSIX a system has: by headers, by sysconf, and by a real call.

    Without RUN the test POS-B-INV is run on the target, stored, and shown. RUN is an ID, the
    start of one, a name, or "last"; see runs. Two views: the options by part, with limits and
    profiles; and the real-time features that HP listed in 1987, each with what other tests of
    the same run measured. So a RUN of evaluate says most.
    """
    if run is None:
        from hardstone.cli.posix_measuring import measure_posix

        return measure_posix(options)
    typed = click.core.ParameterSource.COMMANDLINE
    idle = [one for one in options if context.get_parameter_source(one) is typed]
    idle = [one for one in idle if one not in ("store", "as_json", "quiet")]
    if idle:
        name = idle[0].removeprefix("lab_").removesuffix("_s").replace("_", "-")
        raise InputError(f"--{name}: {run[:60]} is read, and nothing is measured", "leave it out")
    return _show(run, options["store"], as_json=options["as_json"])


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
