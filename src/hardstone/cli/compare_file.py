"""Writes a comparison: HTML or PDF, and its charts as files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hardstone.cli.report_file import is_pdf, no_folder
from hardstone.errors import InputError

if TYPE_CHECKING:
    from hardstone.model import RunDocument
    from hardstone.present.compare_view import CompareView
    from hardstone.report.drawing import Drawer


def drawer_for(documents: Sequence[RunDocument], output: Path | None) -> Drawer:
    """With as many processes as the longest of the runs needs; none for published systems alone.
    They start while the runs are compared.

    InputError where there is no folder for `output` or something else than a file is.
    """
    from hardstone.report.drawing import Drawer, helpers_for
    from hardstone.report.output_file import regular_target

    if output is not None:
        folder = regular_target(output).parent
        if not folder.is_dir():
            raise no_folder(folder)
    return Drawer(max(map(helpers_for, documents), default=0))


def write_comparison(
    view: CompareView, output: Path | None, files: Path | None, drawer: Drawer
) -> None:
    """Writes `view` to `output`, as PDF where its name ends so, and the charts to the folder
    `files`; None: not that. InputError where that fails."""
    if output is not None:
        try:
            _write(view, output, drawer)
        except OSError as error:
            reason = error.strerror or str(error)
            cause = f"{output} cannot be written: {reason}"
            raise InputError(cause, "name a file with -o") from error
    if files is not None:
        _write_files(view, files, drawer)


def _write(view: CompareView, output: Path, drawer: Drawer) -> None:
    from hardstone.report.compare_figures import compare_figures

    if is_pdf(output):
        from hardstone.report.compare_sheet import write_compare_pdf

        write_compare_pdf(view, output, drawer=drawer)
        return
    from hardstone.report.bundle import load_bundle
    from hardstone.report.compare_page import write_compare

    script = load_bundle()
    figures = compare_figures(view, drawer, live=script is not None)
    write_compare(view, output, figures, bundle=lambda: script)


def _write_files(view: CompareView, files: Path, drawer: Drawer) -> None:
    from hardstone.report.chart_files import write_chart_files
    from hardstone.report.compare_figures import compare_figures

    source = ", ".join(one.id for one in view.columns)
    write_chart_files(compare_figures(view, drawer, live=False).all(), files, source)
