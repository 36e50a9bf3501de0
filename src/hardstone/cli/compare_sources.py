"""The systems of a comparison, as named on the command line, and its report as a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from hardstone.cli.report import is_pdf, no_folder
from hardstone.errors import InputError
from hardstone.model import RunDocument
from hardstone.store.store import Store
from hardstone.systems.subjects import PREFIX, MeasuredRun, Subject, published_system, subjects_of

if TYPE_CHECKING:
    from hardstone.comparison.figures import BegunFigures
    from hardstone.comparison.view import CompareView
    from hardstone.model import RunDocument
    from hardstone.report.drawing import Drawer


_NAME_CHARACTERS = 60


@dataclass(frozen=True)
class SelectedSystems:
    """Systems with the word that named each, and the runs that were read, each once."""

    subjects: list[Subject]
    words: list[str]
    documents: list[RunDocument]


def chosen_systems(
    store: Store, words: Sequence[str], load: str | None, cpu_config: str | None, reference: str
) -> SelectedSystems:
    """A system for each condition of each run, and for each published one.

    `load` and `cpu_config` choose between the conditions of a run. Of a published system under
    several loads that of the reference is taken, else that of the first run.
    """
    runs: dict[str, list[MeasuredRun]] = {}
    documents: dict[str, RunDocument] = {}
    of_runs = [one for one in words if not one.startswith(PREFIX)]
    for word, document in zip(of_runs, store.load_each(of_runs), strict=True):
        if document.id in documents:
            raise InputError(f"run {document.id} is named twice", "name it once")
        documents[document.id] = document
        runs[word] = _under(document, load, cpu_config)
    chosen = SelectedSystems(*_systems(runs, words, ""), list(documents.values()))
    beside = chosen.subjects[reference_place(chosen, reference)]
    measured = beside if isinstance(beside, MeasuredRun) else next(iter(runs.values()), [None])[0]
    if measured is None:
        return chosen
    return SelectedSystems(*_systems(runs, words, measured.condition.load), chosen.documents)


def _systems(
    runs: Mapping[str, list[MeasuredRun]], words: Sequence[str], load: str
) -> tuple[list[Subject], list[str]]:
    """The systems in the order of `words`, and the word of each; published ones under `load`."""
    found: list[tuple[str, Subject]] = []
    for word in words:
        if word in runs:
            found.extend((word, one) for one in runs[word])
        else:
            found.append((word, published_system(word, load)))
    return [one for _, one in found], [word for word, _ in found]


def _under(document: RunDocument, load: str | None, cpu_config: str | None) -> list[MeasuredRun]:
    """The run under the conditions that were asked for. InputError, with those there are, if none
    is."""
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
        f"run {document.id} has nothing under {' and '.join(asked)[:120]}",
        f"it has {'; '.join(there)[:300]}",
    )


def reference_place(chosen: SelectedSystems, reference: str) -> int:
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
        f"--reference: no system '{reference[:_NAME_CHARACTERS]}'",
        f"write a number from 1 to {count}, or one of {', '.join(dict.fromkeys(ids))[:300]}",
    )


class ComparisonFile:
    """A comparison on its way to `output`, as PDF where its name ends so, and its charts to the
    folder `files`; None: not that. Leaving its `with` block ends the processes that draw charts of
    `documents`, the runs in it.

    Charts begin with the decisive figures, so that such a process draws beside the rest.
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
        """InputError where there is no folder for the output, or something else than a file is."""
        from hardstone.files import regular_target

        if self._output is not None:
            folder = regular_target(self._output).parent
            if not folder.is_dir():
                raise no_folder(folder)

    def begin(self, view: CompareView) -> None:
        """Begins the charts of a page that need the decisive figures only."""
        if self._output is None or is_pdf(self._output):
            return
        from hardstone.comparison.figures import BegunFigures
        from hardstone.report.drawing import load_bundle

        self._script = load_bundle()
        self._drawer.has_scripts = self._script is not None
        self._begun = BegunFigures(view, self._drawer)

    def write(self, view: CompareView) -> None:
        """Writes `view`, of which `begin` has seen the beginning. InputError where that fails."""
        if self._output is not None:
            try:
                self._write(view, self._output)
            except OSError as error:
                reason = error.strerror or str(error)
                cause = f"{self._output} cannot be written: {reason}"
                raise InputError(cause, "name a file with -o") from error
        if self._files is not None:
            self._drawer.has_scripts = False
            _write_files(view, self._files, self._drawer)

    def _write(self, view: CompareView, output: Path) -> None:
        if self._begun is None:
            from hardstone.comparison.sheet import write_compare_pdf

            write_compare_pdf(view, output, drawer=self._drawer)
            return
        from hardstone.comparison.page import write_compare

        write_compare(view, output, self._begun.finished(view), bundle=lambda: self._script)


def _write_files(view: CompareView, files: Path, drawer: Drawer) -> None:
    from hardstone.comparison.figures import compare_figures
    from hardstone.report.sheet import write_chart_files

    source = ", ".join(one.id for one in view.columns)
    write_chart_files(compare_figures(view, drawer).all(), files, source)
