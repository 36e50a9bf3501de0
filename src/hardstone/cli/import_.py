"""`hardstone import`: files of other tools become runs."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hardstone.cli import completion
from hardstone.cli.help import CONDITIONS, OUTPUT, WHAT, declare
from hardstone.cli.options import json_option, option, options_of, store_option
from hardstone.errors import EXIT_OK, InputError, printable, worst_code
from hardstone.model import TARGETS_SCHEMA, Imported, NotRun, RunDocument, Runs, Series

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hardstone.importers.recognise import SourceFile
    from hardstone.store.store import Store

_STANDARD_INPUT = "-"
_MOST_FILES = 4096


@dataclass(frozen=True, kw_only=True)
class ImportOptions:
    """What a person knows of the files and their measurements."""

    name: str | None = option(
        "--name", group=WHAT, metavar="TEXT", help="Name of the run (default: that of the file)."
    )
    tool: str | None = option(
        "--tool",
        group=WHAT,
        metavar="TOOL",
        help="Tool that wrote the file, if it is not recognised.",
        shell_complete=completion.importable_tools,
    )
    unit: str | None = option(
        "--unit",
        group=WHAT,
        metavar="[us|ns]",
        help="Unit of the values, of a file that does not say it.",
    )
    load: str | None = option(
        "--load",
        group=CONDITIONS,
        metavar="TEXT",
        help="Load during the measurement: none, or in words.",
    )
    dry_run: bool = option(
        "--dry-run", group=OUTPUT, is_flag=True, help="Show what would be stored; store nothing."
    )
    quiet: bool = option("--quiet", "-q", group=OUTPUT, is_flag=True, help="Print only the IDs.")


@declare(
    "import",
    "hardstone import cyclictest.json --load none",
    "cyclictest -q -D 60 -h 400 | hardstone import - --name idle",
    "hardstone compare cyclictest.json rtla.txt last",
)
@click.argument(
    "files",
    nargs=-1,
    required=True,
    metavar="FILE...",
    type=click.Path(path_type=Path, allow_dash=True),
)
@options_of(ImportOptions)
@json_option
@store_option
def command(
    files: tuple[Path, ...], options: ImportOptions, store: Path | None, as_json: bool
) -> int:
    """Store results of other tools as runs.

    A FILE is recognised by its content, whatever its name; - is standard input, and a file may be
    compressed by gzip; hardstone list tools names the tools. Each file becomes a run,
    which is shown, compared, gated and exported as others. What the file does not say is listed,
    and no figure is computed that it does not support. A file that is damaged is refused, and the
    others are stored; then the exit code is 2. A file that is in the store already is not stored
    again: remove its run first to change what you added.

    To look at a file without storing it, give it to a command in place of RUN: hardstone show
    ./cyclictest.json.
    """
    if options.unit not in (None, "us", "ns"):
        raise InputError("--unit is us or ns", "leave it out where the file says its unit")
    if options.name is not None and len(files) > 1:
        raise InputError("--name names one run, and there are several files", "import them in turn")
    if len(files) > _MOST_FILES:
        raise InputError(f"more than {_MOST_FILES} files", "import them in parts")
    from hardstone.store.place import new_run_id

    session = _Session(options, store, as_json=as_json)
    # Sorted, so that the run of the last file is "last".
    run_ids = sorted(new_run_id() for _ in files)
    codes = [session.take(*one) for one in zip(files, run_ids, strict=True)]
    session.finish()
    return worst_code([EXIT_OK, *codes])


class _Session:
    """The files of one command, one after another."""

    def __init__(self, options: ImportOptions, root: Path | None, *, as_json: bool) -> None:
        from hardstone.cli.open_store import open_store

        self._options = options
        self._as_json = as_json
        self._store: Store | None = None if options.dry_run else open_store(root)
        self._known = {} if self._store is None else _stored_files(self._store)
        self._documents: list[RunDocument] = []
        self._refused: list[NotRun] = []

    def take(self, file: Path, run_id: str) -> int:
        """Reads and stores one file: the exit code of it."""
        from hardstone.cli.messages import tell_error

        try:
            source = _read(file)
            document = self._known_document(source) or self._new_document(source, run_id)
        except InputError as error:
            tell_error(error)
            self._refused.append(
                NotRun(target=printable(str(file)), reason=str(error), exit_code=error.exit_code)
            )
            return error.exit_code
        self._documents.append(document)
        return EXIT_OK

    def finish(self) -> None:
        """Prints the documents, where that was asked for: the one, or all."""
        if not self._as_json:
            return
        from hardstone.cli.messages import print_json

        if len(self._documents) == 1 and not self._refused:
            print_json(self._documents[0])
        elif self._documents or len(self._refused) > 1:
            runs = Runs(schema=TARGETS_SCHEMA, runs=self._documents, not_run=self._refused)
            print_json(runs)

    def _known_document(self, source: SourceFile) -> RunDocument | None:
        """The run of a file that is stored already."""
        from hardstone.cli.messages import tell

        known = self._known.get(source.sha256)
        if known is None:
            return None
        tell(f"{source.name} is stored already as {known.id}", f"hardstone show {known.id}")
        return known

    def _new_document(self, source: SourceFile, run_id: str) -> RunDocument:
        from hardstone.importers.imported import Added, document_of
        from hardstone.importers.recognise import read

        options = self._options
        added = Added(name=options.name, load=options.load, unit=options.unit)
        document = document_of(read(source, options.tool), source, run_id, added)
        if self._store is not None:
            self._store.add(document)
            self._known[source.sha256] = document
        if not self._as_json:
            _print(document, options)
        return document


def _read(file: Path) -> SourceFile:
    from hardstone.importers.recognise import read_source, source_of

    if str(file) == _STANDARD_INPUT:
        return source_of(sys.stdin.buffer, "standard input")
    return read_source(file)


def _stored_files(store: Store) -> dict[str, RunDocument]:
    """The runs that were imported, by the checksums of their files."""
    from hardstone.importers.imported import PROFILE

    found = {}
    for entry in store.runs():
        if entry.profile == PROFILE:
            document = store.load(entry.id)
            if document.imported is not None:
                found[document.imported.sha256] = document
    return found


def _print(document: RunDocument, options: ImportOptions) -> None:
    """What was stored, what the file does not say, and the next command."""
    imported = document.imported
    if options.quiet or imported is None:
        click.echo(document.id)
        return
    from rich.text import Text

    from hardstone.stats.consistency import contradiction_messages
    from hardstone.terminal.console import make_console, print_command, words, wrapped

    series = [one for result in document.results for one in result.series]
    console = make_console()
    where = "not stored (--dry-run)" if options.dry_run else document.id
    console.print(words(f"{where}  {document.name}", "bold"))
    console.print(
        words(
            f"{_tool_text(imported)}, {imported.format}: {_size_text(series)}; trust: "
            f"{document.trust.grade}"
        )
    )
    for loss in imported.losses:
        about = f"{loss.what}, {loss.series}" if loss.series else loss.what
        for number, line in enumerate(wrapped(f"{about}: {loss.text}", console.width - 4)):
            console.print(Text("    " if number else "  - ") + words(line))
    for line in contradiction_messages(document):
        console.print(Text("  ! ") + words(line, "red"), soft_wrap=True)
    if not options.dry_run:
        print_command(console, f"hardstone show {document.id}")


def _size_text(series: Sequence[Series]) -> str:
    """ "2 series, 31 586 values", "1 series, the number of its values not known"."""
    from hardstone.units import format_count

    has_count = [
        one for one in series if not (one.histogram.layout == "none" and one.histogram.is_cut)
    ]
    texts = [f"{len(series)} series"]
    if has_count:
        count = sum(one.count for one in has_count)
        texts.append(f"{format_count(count)} value{'' if count == 1 else 's'}")
    if len(has_count) < len(series):
        texts.append("number of values not known" + (" for the others" if has_count else ""))
    return ", ".join(texts)


def _tool_text(imported: Imported) -> str:
    """ "cyclictest 2.40"."""
    from hardstone.systems.moments import load_moments

    return " ".join(filter(None, (load_moments()[imported.tool].title, imported.version)))
