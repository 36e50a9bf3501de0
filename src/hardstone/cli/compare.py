"""`hardstone compare`: 2 to 20 runs and published systems beside each other."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hardstone.cli.options import (
    files_option,
    json_option,
    one_array_thread,
    output_option,
    store_option,
)
from hardstone.collector import collector_paused, keep
from hardstone.errors import EXIT_OK, InputError, worst_code

if TYPE_CHECKING:
    from hardstone.cli.compare_sources import ComparisonFile, SelectedSystems
    from hardstone.comparison.view import CompareView


@click.command("compare")
@click.argument("systems", nargs=-1, required=True, metavar="SYSTEM...")
@output_option
@click.option(
    "--reference",
    default="1",
    show_default=True,
    metavar="N|ID",
    help="The system that the others are set against: its number, or what names it.",
)
@click.option("--load", metavar="LOAD", help="Of runs with several loads only this one.")
@click.option(
    "--cpu-config", metavar="CONFIG", help="Of runs with several CPU configurations only this one."
)
@files_option
@json_option
@store_option
def command(
    systems: tuple[str, ...],
    output: Path | None,
    reference: str,
    load: str | None,
    cpu_config: str | None,
    files: Path | None,
    as_json: bool,
    store: Path | None,
) -> int:
    """Compare 2 to 20 systems: stars, decisive figures, what differs; with -o everything.

    SYSTEM is a run (an ID, the start of one, a name, or "last"; see runs) or published:KEY, a
    system of the literature (list published). A run under several loads or CPU configurations is
    one system for each. -o writes HTML, or PDF where the name of FILE ends in .pdf. --json prints
    every figure with its source. Exits with 3 where figures of a run cannot be true.
    """
    if as_json and (output is not None or files is not None):
        raise InputError("--json prints the comparison and writes no file", "give --json alone")
    one_array_thread()
    with collector_paused(), ExitStack() as stack:  # what is read is needed to the end
        from hardstone.cli.compare_sources import chosen_systems, reference_place
        from hardstone.cli.open_store import open_store

        chosen = chosen_systems(open_store(store), systems, load, cpu_config, reference)
        place = reference_place(chosen, reference)
        file = None
        if output is not None or files is not None:
            from hardstone.cli.compare_sources import ComparisonFile

            file = stack.enter_context(ComparisonFile(output, files, chosen.documents))
        view = _print_document(chosen, place) if as_json else _show(chosen, place, file)
        _tell_files(output, files)
        keep(chosen, view)
        return _exit_code(chosen)


def _print_document(chosen: SelectedSystems, place: int) -> CompareView:
    from hardstone.cli.messages import print_json
    from hardstone.comparison.assemble import compare_view
    from hardstone.comparison.view import comparison_document

    view = compare_view(chosen.subjects, place)
    print_json(comparison_document(view))
    return view


def _show(chosen: SelectedSystems, place: int, file: ComparisonFile | None) -> CompareView:
    """On the screen, once it is written where that was asked for."""
    from hardstone.comparison.assemble import compare_view

    if file is None:
        view = compare_view(chosen.subjects, place)
    else:
        file.check()
        view = compare_view(chosen.subjects, place, begun=file.begin)
        file.write(view)
    from hardstone.comparison.screen import print_comparison

    print_comparison(view)
    return view


def _exit_code(chosen: SelectedSystems) -> int:
    from hardstone.cli.open_store import consistency_exit
    from hardstone.systems.subjects import MeasuredRun

    known = {one.id: one.contradictions for one in chosen.subjects if isinstance(one, MeasuredRun)}
    codes = [consistency_exit(document, known[document.id]) for document in chosen.documents]
    return worst_code([EXIT_OK, *codes])


def _tell_files(output: Path | None, files: Path | None) -> None:
    from hardstone.cli.messages import tell

    if output is not None:
        tell(f"comparison: {output}")
    if files is not None:
        tell(f"charts: {files}")
