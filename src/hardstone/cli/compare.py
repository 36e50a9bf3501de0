"""`hardstone compare`: 2 to 20 runs and published systems, compared with each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

import click

from hardstone.cli import completion
from hardstone.cli.help import WHAT, Option, declare
from hardstone.cli.options import (
    files_option,
    json_option,
    one_array_thread,
    output_option,
    store_option,
)
from hardstone.errors import EXIT_OK, InputError, worst_code

if TYPE_CHECKING:
    from hardstone.comparison.figures import BegunFigures
    from hardstone.comparison.view import CompareView
    from hardstone.model import RunDocument
    from hardstone.store.store import Store
    from hardstone.systems.subjects import MeasuredRun, Subject


@declare(
    "compare",
    "hardstone compare last~1 last",
    "hardstone compare last published:qnx -o compare.html",
)
@click.argument(
    "systems", nargs=-1, required=True, metavar="SYSTEM...", shell_complete=completion.runs
)
@output_option
@click.option(
    "--reference",
    cls=Option,
    group=WHAT,
    default="1",
    show_default=True,
    metavar="N|ID",
    help="Compare the others with this system: its number, ID or name.",
)
@click.option(
    "--load",
    cls=Option,
    group=WHAT,
    metavar="LOAD",
    help="Compare only results under this load.",
)
@click.option(
    "--cpu-config",
    cls=Option,
    group=WHAT,
    metavar="CONFIG",
    help="Compare only results in this CPU configuration.",
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
    """Compare 2 to 20 runs or published systems.

    The screen has the stars, the decisive figures and what differs; -o writes all figures as HTML,
    or PDF if the name of FILE ends in .pdf. SYSTEM is a run (an ID or the start of one, a name,
    last, or last~1 for the run before the last; hardstone runs lists them), the file of another
    tool, such as ./cyclictest.json, or published:KEY (hardstone list published). Each load and CPU
    configuration of a run is a system of its own. --json prints every figure with its source. The
    exit code is 3 if figures of a run contradict each other.
    """
    if as_json and (output is not None or files is not None):
        raise InputError("--json prints the comparison and writes no file", "give --json alone")
    one_array_thread()
    with ExitStack() as stack:
        from hardstone.cli.messages import print_json, tell
        from hardstone.cli.open_store import consistency_exit, open_store
        from hardstone.systems.subjects import MeasuredRun

        chosen = _chosen_systems(open_store(store), systems, load, cpu_config, reference)
        place = _reference_place(chosen, reference)
        file = None
        if output is not None or files is not None:
            file = stack.enter_context(_ComparisonFile(output, files, chosen.documents))
        if as_json:
            from hardstone.comparison.assemble import compare_view
            from hardstone.comparison.view import comparison_document

            print_json(comparison_document(compare_view(chosen.subjects, place)))
        else:
            _show(chosen, place, file)
        if output is not None:
            tell(f"comparison: {output}")
        if files is not None:
            tell(f"charts: {files}")
        runs = [one for one in chosen.subjects if isinstance(one, MeasuredRun)]
        known = {one.id: one.contradictions for one in runs}
        codes = [consistency_exit(document, known[document.id]) for document in chosen.documents]
        return worst_code([EXIT_OK, *codes])


def _show(chosen: _SelectedSystems, place: int, file: _ComparisonFile | None) -> None:
    """Writes the comparison to `file`, if there is one, and prints it."""
    from hardstone.comparison.assemble import compare_view

    if file is None:
        view = compare_view(chosen.subjects, place)
    else:
        file.check()
        view = compare_view(chosen.subjects, place, begun=file.begin)
        file.write(view)
    from hardstone.comparison.screen import print_comparison

    print_comparison(view)


@dataclass(frozen=True)
class _SelectedSystems:
    """Systems with the word that named each, and the runs that were read, each once."""

    subjects: list[Subject]
    words: list[str]
    documents: list[RunDocument]


def _chosen_systems(
    store: Store, words: Sequence[str], load: str | None, cpu_config: str | None, reference: str
) -> _SelectedSystems:
    """A system for each condition of each run, and for each published one.

    `load` and `cpu_config` choose between the conditions of a run. Of a published system under
    several loads that of the reference is taken, else that of the first run.
    """
    from hardstone.systems.subjects import PREFIX, MeasuredRun

    runs: dict[str, list[MeasuredRun]] = {}
    documents: dict[str, RunDocument] = {}
    of_runs = [one for one in words if not one.startswith(PREFIX)]
    for word, document in zip(of_runs, map(store.look_up, of_runs), strict=True):
        if document.id in documents:
            raise InputError(f"run {document.id} is named twice", "name it once")
        documents[document.id] = document
        runs[word] = _under(document, load, cpu_config)
    chosen = _SelectedSystems(*_systems(runs, words, ""), list(documents.values()))
    base = chosen.subjects[_reference_place(chosen, reference)]
    measured = base if isinstance(base, MeasuredRun) else next(iter(runs.values()), [None])[0]
    if measured is None:
        return chosen
    return _SelectedSystems(*_systems(runs, words, measured.condition.load), chosen.documents)


def _systems(
    runs: Mapping[str, list[MeasuredRun]], words: Sequence[str], load: str
) -> tuple[list[Subject], list[str]]:
    """The systems in the order of `words`, and the word of each; published ones under `load`."""
    from hardstone.systems.subjects import published_system

    found: list[tuple[str, Subject]] = []
    for word in words:
        if word in runs:
            found.extend((word, one) for one in runs[word])
        else:
            found.append((word, published_system(word, load)))
    return [one for _, one in found], [word for word, _ in found]


def _under(document: RunDocument, load: str | None, cpu_config: str | None) -> list[MeasuredRun]:
    """The run under the conditions that were asked for; InputError, with those that it has, if it
    has none of them."""
    from hardstone.systems.subjects import subjects_of

    every = subjects_of(document)
    found = [
        one
        for one in every
        if load in (None, one.condition.load) and cpu_config in (None, one.condition.cpu_config)
    ]
    if found:
        return found
    asked = [f"load {load}"] if load is not None else []
    asked += [f"CPU configuration {cpu_config}"] if cpu_config is not None else []
    there = sorted({f"{one.condition.load} on {one.condition.cpu_config}" for one in every})
    raise InputError(
        f"run {document.id} has no results under {' and '.join(asked)[:120]}",
        f"it has {'; '.join(there)[:300]}",
    )


def _reference_place(chosen: _SelectedSystems, reference: str) -> int:
    """The place of the system that `reference` names: a number from 1, what was typed for it, its
    ID, or the start of the ID. InputError if it names none, or several."""
    count = len(chosen.subjects)
    if reference.isascii() and reference.isdecimal() and len(reference) < 4:
        place = int(reference) - 1
        if 0 <= place < count:
            return place
    ids = [one.id for one in chosen.subjects]
    for names in (chosen.words, ids, [one.label for one in chosen.subjects]):
        if names.count(reference) >= 1:
            return names.index(reference)
    begun = {one for one in ids if reference and one.startswith(reference)}
    if len(begun) == 1:
        return ids.index(begun.pop())
    raise InputError(
        f"--reference: no system '{reference[:60]}'",
        f"write a number from 1 to {count}, or one of {', '.join(dict.fromkeys(ids))[:300]}",
    )


class _ComparisonFile:
    """Writes a comparison of `documents` to `output`, as PDF where its name ends so, and its charts
    to the folder `files`; None: not that. Leaving its `with` block ends the processes that draw.

    The charts that need only the decisive figures are begun first, so that they are drawn while the
    other figures are computed.
    """

    def __init__(
        self, output: Path | None, files: Path | None, documents: Sequence[RunDocument]
    ) -> None:
        from hardstone.report.drawing import Drawer, helpers_for

        self._output = output
        self._files = files
        self._drawer = Drawer(max(map(helpers_for, documents), default=0))
        self._script: str | None = None
        self._begun: BegunFigures | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._drawer.__exit__()

    def check(self) -> None:
        """InputError if the output has no folder, or is something else than a file."""
        from hardstone.cli.report import check_suffix, no_folder
        from hardstone.files import regular_target

        if self._output is not None:
            check_suffix(self._output, (".html", ".htm", ".pdf"))
            folder = regular_target(self._output).parent
            if not folder.is_dir():
                raise no_folder(folder)

    def begin(self, view: CompareView) -> None:
        """Begins the charts of a page that need the decisive figures only."""
        from hardstone.cli.report import is_pdf

        if self._output is None or is_pdf(self._output):
            return
        from hardstone.comparison.figures import BegunFigures
        from hardstone.report.page_frame import load_bundle

        self._script = load_bundle()
        self._drawer.has_scripts = self._script is not None
        self._begun = BegunFigures(view, self._drawer)

    def write(self, view: CompareView) -> None:
        """Writes `view`, which `begin` has seen without most of its figures. InputError where that
        fails."""
        if self._output is not None:
            try:
                self._write(view, self._output)
            except OSError as error:
                reason = error.strerror or str(error)
                cause = f"{self._output} cannot be written: {reason}"
                raise InputError(cause, "name a file with -o") from error
        if self._files is not None:
            self._drawer.has_scripts = False
            from hardstone.comparison.figures import compare_figures
            from hardstone.report.sheet import write_chart_files

            source = ", ".join(one.id for one in view.columns)
            write_chart_files(compare_figures(view, self._drawer).all(), self._files, source)

    def _write(self, view: CompareView, output: Path) -> None:
        if self._begun is None:
            from hardstone.comparison.sheet import write_compare_pdf

            write_compare_pdf(view, output, drawer=self._drawer)
            return
        from hardstone.comparison.page import write_compare

        write_compare(view, output, self._begun.finished(view), bundle=lambda: self._script)
