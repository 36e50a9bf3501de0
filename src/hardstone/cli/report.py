"""`hardstone report`: the report of a stored run, HTML or PDF."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from hardstone.cli.options import files_option, one_array_thread, output_option, store_option
from hardstone.collector import keep
from hardstone.errors import InputError
from hardstone.units import parse_duration_ns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hardstone.model import RunDocument


@click.command("report")
@click.argument("run")
@output_option
@click.option(
    "--limit",
    "limits",
    multiple=True,
    metavar="TIME",
    help="TMR-P-LAT: count the points above it: 100 (us), 50us, 1ms. Several.",
)
@click.option(
    "--beside",
    metavar="RUN",
    help="SIM-*: another run, such as one of another kernel, beside this one.",
)
@files_option
@store_option
def command(
    run: str,
    output: Path | None,
    limits: tuple[str, ...],
    beside: str | None,
    files: Path | None,
    store: Path | None,
) -> int:
    """Write the report of a stored run; one file that needs no network.

    RUN is an ID, the start of one, a name, or "last"; see runs. Without -o the
    report goes to the folder "reports" within the store. It is HTML, or PDF where the name of
    FILE ends in .pdf. Exits with 3 where figures of the run cannot be true: the report names
    them first, and marks them.
    """
    one_array_thread()
    from hardstone.cli.messages import tell
    from hardstone.cli.open_store import consistency_exit, open_store
    from hardstone.cli.registers import register_or_none
    from hardstone.cli.report_file import default_report, write_report, write_run_charts

    asked = [_limit_ns(text) for text in limits]
    opened = open_store(store)
    document = opened.load(run)
    keep(document)
    if asked:
        _check_limits(document, asked)
    other = _other(document, opened.load(beside)) if beside is not None else None
    place = output or default_report(opened.path, document.id)
    register = None if document.descriptors else register_or_none()
    write_report(document, place, register, asked, other)
    tell(f"report: {place}")
    if files is not None:
        count = write_run_charts(document, files, register, asked, other)
        tell(f"charts: {count} files in {files}")
    return consistency_exit(document)


def _limit_ns(text: str) -> int:
    try:
        return parse_duration_ns(text, bare="us")
    except ValueError as error:
        raise InputError(f"--limit: {error}", "write --limit 50us, once for each limit") from None


def _other(document: RunDocument, other: RunDocument) -> RunDocument:
    from hardstone.simulation.results import has_tire

    for one in (document, other):
        if not has_tire(one):
            cause = f"--beside compares simulations of the tire, and run {one.id} has none"
            raise InputError(cause, "name two runs of hardstone simulate")
    return other


def _check_limits(document: RunDocument, asked: Sequence[int]) -> None:
    from hardstone.report.latency_pages import MOST_LIMITS, TEST, has_pages

    if not any(map(has_pages, document.results)):
        raise InputError(f"--limit counts points of {TEST}, and the run has none", "leave it out")
    if len(set(asked)) > MOST_LIMITS:
        raise InputError(f"--limit: at most {MOST_LIMITS} limits", "leave some out")
