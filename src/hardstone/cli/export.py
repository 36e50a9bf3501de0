"""`hardstone export`: runs in the formats that other programs read."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from hardstone.cli import completion
from hardstone.cli.help import OUTPUT, WHAT, Option, declare
from hardstone.cli.options import one_array_thread, quiet_option, store_option
from hardstone.errors import InputError, printable, worst_code
from hardstone.exporters.registry import EXPORTERS, Exporter, Wanted, find_exporter, format_names

if TYPE_CHECKING:
    from hardstone.model import Result, RunDocument, Series

_STDOUT = Path("-")


def _complete_format(
    context: click.Context, parameter: click.Parameter, begin: str
) -> list[CompletionItem]:
    return [
        CompletionItem(one.name, help=one.title) for one in EXPORTERS if one.name.startswith(begin)
    ]


@declare(
    "export",
    "hardstone export last --format csv",
    "hardstone export last~1 last -o runs.parquet",
    "hardstone export last -o /var/lib/node_exporter/hardstone.prom",
)
@click.argument("runs", nargs=-1, required=True, metavar="RUN...", shell_complete=completion.runs)
@click.option(
    "-f",
    "--format",
    "name",
    cls=Option,
    group=OUTPUT,
    is_common=True,
    metavar="FORMAT",
    shell_complete=_complete_format,
    help=f"One of {format_names()} (default: that of the suffix of FILE).",
)
@click.option(
    "-o",
    "--output",
    cls=Option,
    group=OUTPUT,
    is_common=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write to FILE, as a whole (default: standard output, which - is too).",
)
@click.option(
    "--test",
    "tests",
    cls=Option,
    group=WHAT,
    multiple=True,
    metavar="TEST",
    shell_complete=completion.tests,
    help="Export only this test, or the tests of a pattern such as 'TMR-*'. Repeat it for several.",
)
@click.option(
    "--series",
    cls=Option,
    group=WHAT,
    multiple=True,
    metavar="SERIES",
    help="Export only series of this name or address, or pattern: wakeup, '*/interrupt/*'.",
)
@click.option(
    "--load",
    cls=Option,
    group=WHAT,
    metavar="LOAD",
    help="Export only the results under this load.",
)
@click.option(
    "--cpu-config",
    cls=Option,
    group=WHAT,
    metavar="CONFIG",
    help="Export only the results in this CPU configuration.",
)
@click.option(
    "--table",
    cls=Option,
    group=WHAT,
    metavar="[figures|buckets]",
    default="",
    help="csv, parquet: a row for each figure, or for each bucket of each histogram.",
)
@quiet_option
@store_option
def command(
    runs: tuple[str, ...],
    name: str | None,
    output: Path | None,
    tests: tuple[str, ...],
    series: tuple[str, ...],
    load: str | None,
    cpu_config: str | None,
    table: str,
    quiet: bool,
    store: Path | None,
) -> int:
    """Write runs in a format that other programs read.

    RUN is an ID or the start of one, a name, last, or last~1 for the run before the last (hardstone
    runs lists them), or the file of another tool, such as ./cyclictest.json. Several runs go into
    one file where the format allows: csv, parquet, junit, lava, markdown. What a format cannot say
    is reported on standard error, unless --quiet is given. The exit code is 3 if figures of a run
    contradict each other.
    """
    exporter = find_exporter(name, output)
    one_array_thread()
    import msgspec

    from hardstone.cli.messages import tell
    from hardstone.cli.open_store import consistency_exit, of_tests, open_store
    from hardstone.exporters.registry import export
    from hardstone.stats.consistency import trust_of

    if output in (None, _STDOUT):
        _check_terminal(exporter)
    documents = [*map(open_store(store).look_up, runs)]
    graded = [msgspec.structs.replace(one, trust=trust_of(one)) for one in documents]
    tested = [of_tests(one, tests) if tests else one for one in graded]
    chosen = [_of_conditions(_of_series(one, series), load, cpu_config) for one in tested]
    exported = export(exporter, chosen, Wanted(table=table))
    if output is None or output == _STDOUT:
        sys.stdout.flush()
        sys.stdout.buffer.write(exported.content)
    else:
        _write(output, exported.content)
        if not quiet:
            tell(f"{exporter.name}: {output}")
    if not quiet:
        for one in exported.lost:
            tell(one)
    return worst_code(consistency_exit(one) for one in documents)


def _of_series(document: RunDocument, patterns: Sequence[str]) -> RunDocument:
    """The run with the series of these names or addresses; without verdicts, which are of none."""
    if not patterns:
        return document
    import msgspec

    from hardstone.stats.conditions import listed
    from hardstone.systems.subjects import MeasuredSeries

    def is_asked(result: Result, series: Series) -> bool:
        names = (series.name, MeasuredSeries("", result, series).address)
        return any(fnmatchcase(name, pattern) for name in names for pattern in patterns)

    found = {id(one): [own for own in one.series if is_asked(one, own)] for one in document.results}
    results = [
        msgspec.structs.replace(one, series=found[id(one)], verdicts=[])
        for one in document.results
        if found[id(one)]
    ]
    if not results:
        known = dict.fromkeys(own.name for one in document.results for own in one.series)
        asked = printable(", ".join(patterns))[:60]
        raise InputError(f"the run has no series '{asked}'", f"it has {listed(known) or 'none'}")
    return msgspec.structs.replace(document, results=results)


def _of_conditions(document: RunDocument, load: str | None, cpu_config: str | None) -> RunDocument:
    """The run with the results under these conditions; None: under any."""
    if load is None and cpu_config is None:
        return document
    import msgspec

    from hardstone.exporters.exportable import condition_text
    from hardstone.stats.conditions import listed

    results = [
        one
        for one in document.results
        if load in (None, one.conditions.load) and cpu_config in (None, one.conditions.cpu_config)
    ]
    if not results:
        wanted = printable(", ".join(one for one in (load, cpu_config) if one is not None))[:60]
        found = dict.fromkeys(map(condition_text, document.results))
        raise InputError(f"the run has no results under '{wanted}'", f"it has {listed(found)}")
    return msgspec.structs.replace(document, results=results)


def _check_terminal(exporter: Exporter) -> None:
    if exporter.is_binary and sys.stdout.isatty():
        suffix = exporter.suffixes[0]
        raise InputError(
            f"{exporter.name} is binary, and standard output is a terminal",
            f"name a file: -o run{suffix}",
        )


def _write(output: Path, content: bytes) -> None:
    from hardstone.cli.report import written
    from hardstone.files import regular_target, replace_file

    with written(output):
        replace_file(regular_target(output), content, None, is_durable=False)
