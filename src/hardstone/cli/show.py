"""`hardstone show`: a stored run on one screen, or all of it."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hardstone.cli import completion
from hardstone.cli.help import OUTPUT, WHAT, Option, declare
from hardstone.cli.options import json_option, store_option
from hardstone.errors import EXIT_OK, InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hardstone.model import RunDocument

_PUBLISHED = "published:"


@declare(
    "show",
    "hardstone show last",
    "hardstone show last --why",
    "hardstone show last~1 TMR-P-LAT --deadline 100us",
)
@click.argument("run", shell_complete=completion.runs)
@click.argument("tests", nargs=-1, metavar="[TEST]...", shell_complete=completion.tests)
@click.option(
    "--all",
    "is_all",
    cls=Option,
    group=WHAT,
    is_flag=True,
    help="Show all series, claims and notes, through a pager at a terminal.",
)
@click.option(
    "--why",
    cls=Option,
    group=WHAT,
    is_flag=True,
    help="Show where each star comes from, and what another half star requires.",
)
@click.option(
    "--deadline",
    cls=Option,
    group=WHAT,
    metavar="TIME",
    help="Count values above TIME; if none, give the upper bound on their share.",
)
@click.option("--published", is_flag=True, hidden=True)
@click.option(
    "--project",
    cls=Option,
    group=WHAT,
    is_flag=True,
    help="Estimate the maximum of another run of the same length, for each series of TEST.",
)
@click.option(
    "--csv",
    "as_csv",
    cls=Option,
    group=OUTPUT,
    is_flag=True,
    help="Print count, min, mean, quantiles and max of each series as CSV.",
)
@json_option
@store_option
def command(
    run: str,
    tests: tuple[str, ...],
    store: Path | None,
    as_json: bool,
    as_csv: bool,
    is_all: bool,
    published: bool,
    why: bool,
    project: bool,
    deadline: str | None,
) -> int:
    """Show a stored run on one screen, or all of it.

    RUN is an ID or the start of one, a name, last, or last~1 for the run before the last (hardstone
    runs lists them), or the file of another tool, such as ./cyclictest.json. TEST is an ID or a
    pattern such as 'MUT-*'; with it everything about these tests is shown, and with --all
    everything about the run. --json prints the run document. The exit code is 3 if figures of the
    run contradict each other; they are named first, and marked.

    With --why, RUN may also be a published system such as published:qnx, and --json prints the
    rating.

    --project estimates the maximum of another run of the same length (extreme-value theory), or
    lists why no estimate is possible.

    --deadline counts the values above TIME in each series of durations, with the exact confidence
    interval of their share. --json prints these counts.
    """
    if published:
        raise InputError(
            "--published is a command of its own, which lays out one study with runs",
            f"name one of hardstone study list: hardstone study NAME {shlex.quote(run)}",
        )
    if as_csv and (why or as_json or is_all or project or deadline is not None):
        raise InputError("--csv prints the series of the run or of TESTs", "give --csv alone")
    if why or run.startswith(_PUBLISHED):
        has_more = is_all or tests or project or deadline is not None
        if why and has_more:
            raise InputError(
                "--why takes no TEST, --all, --project or --deadline",
                "give --why alone",
            )
        return _show_why(run, store, as_json=as_json, is_asked=why)
    if deadline is not None:
        if is_all or project:
            raise InputError("--deadline takes no --all or --project", "give --deadline alone")
        return _show_misses(run, tests, store, deadline, as_json=as_json)
    from hardstone.cli.messages import print_json
    from hardstone.cli.open_store import consistency_exit, of_tests, open_store

    if project and (is_all or not tests):
        raise InputError(
            "--project takes a TEST, and no --all",
            "name tests: hardstone show RUN TMR-P-LAT --project",
        )
    if as_json and (is_all or tests):
        raise InputError(
            "--json prints the whole document, whatever else is asked for", "give --json alone"
        )
    opened = open_store(store)
    document = opened.look_up(run)
    if as_json:
        print_json(document)
        return consistency_exit(document)
    shown = of_tests(document, tests) if tests else document
    if as_csv:
        from hardstone.report.export import run_csv

        click.echo(run_csv(shown), nl=False)
        return consistency_exit(document)
    if not (is_all or tests):
        from hardstone.terminal.one_screen import print_screen

        print_screen(shown)
        return consistency_exit(document)
    from hardstone.cli.messages import paged

    with paged():
        _print_all(shown, project=project)
    return consistency_exit(document)


def _print_all(shown: RunDocument, *, project: bool) -> None:
    if project:
        from hardstone.terminal.whole_run import print_projections

        print_projections(shown)
    else:
        from hardstone.terminal.whole_run import print_whole

        print_whole(shown)


def _show_why(run: str, store: Path | None, *, as_json: bool, is_asked: bool) -> int:
    """The rating of a run or of a published system."""
    from hardstone.cli.messages import paged, print_json
    from hardstone.cli.open_store import consistency_exit, open_store
    from hardstone.present.stars_text import rated_document
    from hardstone.systems.rating import rate, rate_run
    from hardstone.systems.subjects import published_system
    from hardstone.terminal.whole_run import print_published_why, print_why

    if run.startswith(_PUBLISHED):
        system = published_system(run)
        if not is_asked:
            raise InputError(f"{system.id} has no run to show", f"hardstone show {system.id} --why")
        rating = rate(system)
        if as_json:
            print_json(rated_document([(system, rating)]))
        else:
            with paged():
                print_published_why(system, rating)
        return EXIT_OK
    document = open_store(store).look_up(run)
    rated = rate_run(document)
    if as_json:
        print_json(rated_document(rated))
    else:
        with paged():
            print_why(rated)
    return consistency_exit(document)


def _show_misses(
    run: str, tests: Sequence[str], store: Path | None, deadline: str, *, as_json: bool
) -> int:
    """How often the series of a run missed a deadline."""
    from hardstone.cli.messages import paged, print_json
    from hardstone.cli.open_store import consistency_exit, of_tests, open_store
    from hardstone.present.deadlines import misses_document
    from hardstone.terminal.whole_run import print_misses
    from hardstone.units import parse_duration_ns

    try:
        deadline_ns = parse_duration_ns(deadline, bare="")
    except ValueError as error:
        problem = str(error).partition(":")[0]  # without the forms that need no unit
        raise InputError(f"--deadline: {problem}", "write --deadline 100us") from None
    document = open_store(store).look_up(run)
    shown = of_tests(document, tests) if tests else document
    if as_json:
        print_json(misses_document(shown, deadline_ns))
    else:
        with paged():
            print_misses(shown, deadline_ns)
    return consistency_exit(document)
