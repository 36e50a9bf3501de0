"""Writes a comparison: HTML or PDF, and its charts as files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Self

from hardstone.cli.report_file import is_pdf, no_folder
from hardstone.errors import InputError

if TYPE_CHECKING:
    from hardstone.compare.figures import BegunFigures
    from hardstone.compare.view import CompareView
    from hardstone.model import RunDocument
    from hardstone.report.drawing import Drawer


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
        from hardstone.report.page_frame import regular_target

        if self._output is not None:
            folder = regular_target(self._output).parent
            if not folder.is_dir():
                raise no_folder(folder)

    def begin(self, view: CompareView) -> None:
        """Begins the charts of a page that need the decisive figures only."""
        if self._output is None or is_pdf(self._output):
            return
        from hardstone.compare.figures import BegunFigures
        from hardstone.report.page_frame import load_bundle

        self._script = load_bundle()
        self._begun = BegunFigures(view, self._drawer, live=self._script is not None)

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
            _write_files(view, self._files, self._drawer)

    def _write(self, view: CompareView, output: Path) -> None:
        if self._begun is None:
            from hardstone.compare.sheet import write_compare_pdf

            write_compare_pdf(view, output, drawer=self._drawer)
            return
        from hardstone.compare.page import write_compare

        write_compare(view, output, self._begun.finished(view), bundle=lambda: self._script)


def _write_files(view: CompareView, files: Path, drawer: Drawer) -> None:
    from hardstone.compare.figures import compare_figures
    from hardstone.report.chart_files import write_chart_files

    source = ", ".join(one.id for one in view.columns)
    write_chart_files(compare_figures(view, drawer, live=False).all(), files, source)
