"""`hardstone runs`: the runs of the store, listed or removed."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import click

from hardstone.cli import completion
from hardstone.cli.help import WHAT, Option, declare_group
from hardstone.cli.options import json_option, store_option
from hardstone.errors import EXIT_OK, InputError

if TYPE_CHECKING:
    from rich.text import Text

    from hardstone.store.documents import RunEntry
    from hardstone.store.store import Store


@declare_group(
    "runs",
    "hardstone runs",
    "hardstone show last~1",
    "hardstone runs remove last",
    invoke_without_command=True,
)
@store_option
@json_option
@click.pass_context
def command(context: click.Context, /, store: Path | None, as_json: bool) -> int:
    """List the stored runs, or remove some.

    Without a command the runs are listed, oldest first. Wherever a command takes a RUN, you can
    give its ID or the start of one, its name (the latest run of that name), last, or last~1 for the
    run before the last, last~2 for the one before that, and so on. A command that shows, compares,
    gates or exports a RUN also takes the file of another tool, or of a run; a run goes before a
    file of the same name, unless the name has a slash: ./cyclictest.json.
    """
    if context.invoked_subcommand is not None:
        return EXIT_OK
    from hardstone.cli.messages import print_json, tell
    from hardstone.cli.open_store import open_store
    from hardstone.targets.host_memory import lost_recordings

    opened = open_store(store)
    entries = opened.runs()
    unreadable = opened.unreadable
    for run_id, reason in unreadable.items():
        tell(f"{run_id} cannot be read: {reason}")
    for one in opened.left():
        if not one.is_recorded:
            tell(
                f"run {one.id} is left on {one.target}; to get its results",
                f"hardstone target collect {shlex.quote(one.id)}",
            )
    for folder, root in lost_recordings():
        tell(
            f"{folder} belongs to a run whose store {root} is missing; to remove it",
            f"rm -r {shlex.quote(str(folder))}",
        )
    if as_json:
        print_json(entries)
    else:
        from hardstone.cli.messages import paged

        with paged():
            _print_runs(entries, unreadable_count=len(unreadable))
    return EXIT_OK


_HERE = "local"
_TARGET_CHARACTERS = 120
_LINE_CHARACTERS = 24
_MINUTE_CHARACTERS = len("2026-11-30 02:54")


def _print_runs(entries: Sequence[RunEntry], *, unreadable_count: int = 0) -> None:
    """Prints two lines or more for each run, or a message if there is none or none is readable."""
    from rich.text import Text

    from hardstone.terminal.console import (
        make_console,
        make_table,
        print_command,
        print_table,
        words,
    )

    console = make_console()
    if not entries and unreadable_count:
        console.print(words(f"none of the stored runs is readable ({unreadable_count} found)"))
        return
    if not entries:
        console.print(words("no runs yet; to measure:"))
        print_command(console, "hardstone evaluate")
        return
    table = make_table()
    for head in ("run, tests", "date (UTC), trust"):
        table.add_column(head, no_wrap=True)
    table.add_column("stars", justify="right", no_wrap=True)
    table.add_column("name, machine", overflow="fold", ratio=1)
    for entry in entries:
        minute = entry.started_utc.replace("T", " ")[:_MINUTE_CHARACTERS]
        status = [words(line, "dim") for line in wrap(_status(entry), len(entry.id))]
        table.add_row(
            Text("\n").join([words(entry.id), *status]),
            Text("\n").join([words(minute), words(entry.grade, "dim")]),
            words(_stars(entry)),
            Text("\n").join([words(entry.name), *_machine(entry)]),
        )
    print_table(console, table)
    if any(entry.rated_as and entry.stars is not None for entry in entries):
        console.print(words("* partial rating; see hardstone show RUN --why", "dim"))


def _status(entry: RunEntry) -> str:
    """ "48 tests", "1 failed of 48 tests", "3 tests, incomplete"."""
    tests = f"{entry.tests} test{'' if entry.tests == 1 else 's'}"
    if entry.status != "complete":
        return f"{tests}, {entry.status}"
    return f"{entry.lacking} of {tests}" if entry.lacking else tests


def _stars(entry: RunEntry) -> str:
    """ "4.5", "<= 4.5" where figures are missing, "1.0-4.5" for a range, with a star where it is
    not the full rating."""
    if entry.stars is None:
        return "-"
    bound = "<= " if entry.is_at_most else ""
    if entry.lowest is not None and entry.lowest < entry.stars:
        bound = f"{entry.lowest:.1f}-"
    return f"{bound}{entry.stars:.1f}{'*' if entry.rated_as else ' '}"


def _machine(entry: RunEntry) -> list[Text]:
    """The target if that is not this machine, a setting a line, and the machine; of a file its
    tool."""
    from hardstone.terminal.console import words
    from hardstone.wording import shorten

    target = f"from {entry.tool}" if entry.tool else entry.target
    parts = [] if target == _HERE else shorten(target, _TARGET_CHARACTERS).split(",")
    parts = [f"{part}," for part in parts[:-1]] + parts[-1:] + [entry.machine or ""]
    return [words(line, "dim") for part in parts for line in wrap(part, _LINE_CHARACTERS)]


@dataclass(frozen=True)
class _Removal:
    """A run that is to be removed; what else refers to it."""

    id: str
    text: str
    remarks: tuple[str, ...] = ()


@command.command(
    "remove",
    examples=(
        "hardstone runs remove last",
        "hardstone runs remove 20261130T025420Z-cb0d51 before --yes",
    ),
)
@click.argument(
    "references", nargs=-1, required=True, metavar="RUN...", shell_complete=completion.runs
)
@click.option(
    "--yes", "is_confirmed", cls=Option, group=WHAT, is_flag=True, help="Remove without asking."
)
@store_option
@json_option
@click.pass_context
def remove(
    context: click.Context,
    /,
    references: tuple[str, ...],
    is_confirmed: bool,
    store: Path | None,
    as_json: bool,
) -> int:
    """Remove stored runs.

    At a terminal you are asked first; elsewhere --yes is needed. All RUNs are looked up before any
    is removed. A run that is being recorded or continued is not removed. Reports stay.
    """
    from hardstone.cli.messages import print_json, tell
    from hardstone.cli.open_store import open_store

    above: dict[str, Any] = context.parent.params if context.parent is not None else {}
    opened = open_store(store or above.get("store"))
    found = {one.id: one for one in (_removal(opened, reference) for reference in references)}
    busy = [run_id for run_id in found if run_id in opened.recorded_now()]
    if busy:
        raise InputError(
            f"run {busy[0]} is being recorded now; nothing was removed",
            "wait for it to finish, or stop it",
        )
    for one in found.values():
        for remark in one.remarks:
            tell(remark)
    if not is_confirmed and not _is_agreed(list(found.values())):
        tell("nothing was removed")
        return EXIT_OK
    rows = []
    for one in found.values():
        files = opened.remove(one.id)
        rows.append({"id": one.id, "files": list(map(str, files))})
        if not as_json:
            click.echo(f"removed {one.text}")
        report = opened.path / "reports" / f"{one.id}.html"
        if os.path.lexists(report):
            tell(f"its report is still there: {report}")
    if as_json or above.get("as_json"):
        print_json({"removed": rows})
    return EXIT_OK


def _is_agreed(found: Sequence[_Removal]) -> bool:
    """Whether the person at the terminal agrees. InputError where nobody can be asked."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise InputError("removing runs needs an answer, and there is no terminal", "add --yes")
    for one in found:
        click.echo(one.text, err=True)
    count = "this run" if len(found) == 1 else f"these {len(found)} runs"
    return click.confirm(f"Remove {count}?", err=True)


def _removal(store: Store, reference: str) -> _Removal:
    """The run that `reference` names; InputError if it names none, or several.

    The document itself says which run it is, not the index. One that cannot be read is removed only
    by its whole ID.
    """
    from hardstone.store.place import is_run_id
    from hardstone.wording import one_line

    try:
        document = store.load(reference)
    except InputError:
        if is_run_id(reference) and os.path.lexists(store.path_of(reference)):
            return _Removal(reference, f"{reference} (cannot be read)")
        raise
    run_id, repeat = document.id, document.plan.repeat
    remarks = []
    if repeat is not None:
        remarks.append(
            f"run {run_id} is number {repeat.number} of {repeat.count} repeats: gate --baseline "
            "can no longer use it"
        )
    if document.status != "complete":
        remarks.append(f"run {run_id} was interrupted: --resume can no longer continue it")
    name = one_line(document.name)
    return _Removal(run_id, f"{run_id}  {name}".rstrip(), tuple(remarks))
