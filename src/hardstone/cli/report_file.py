"""Reports, HTML or PDF: where they go, and what the report may ask about a test."""

from __future__ import annotations

import contextlib
import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from hardstone.errors import InputError
from hardstone.model import Descriptor, Register, RunDocument

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hardstone.report.drawing import Drawer


def default_report(store: Path, run_id: str) -> Path:
    """Place of a report that nobody named: the folder `reports` within `store`, made for it."""
    folder = store / "reports"
    with contextlib.suppress(OSError):  # the report that goes there says what is wrong
        folder.mkdir(parents=True, exist_ok=True)
    place = folder / f"{run_id}.html"
    if place.is_symlink():  # nobody named the file that it leads to
        with contextlib.suppress(OSError):
            place.unlink()
    return place


def no_folder(folder: Path) -> InputError:
    """That there is no `folder` for the report, with a remedy that can work."""
    above = next(one for one in folder.absolute().parents if one.exists())
    if os.access(above, os.W_OK | os.X_OK):
        return InputError(
            f"-o: there is no folder {folder}", f"mkdir -p {shlex.quote(str(folder))}"
        )
    is_readonly = os.statvfs(above).f_flag & os.ST_RDONLY
    why = "its file system is read-only" if is_readonly else "you may not write there"
    return InputError(
        f"there is no folder {folder}, and none can be made in {above}: {why}",
        "name a file elsewhere with -o FILE",
    )


def write_report(
    document: RunDocument,
    output: Path,
    register: Register | None = None,
    limits: Sequence[int] = (),
    beside: RunDocument | None = None,
) -> None:
    """Writes the report, as PDF where the name of `output` ends so. Tests are explained by the
    descriptors of the document, in one from before it had any by those of `register`. `beside`:
    another run, whose tire stands beside.

    InputError where there is no folder for it or something else than a file is.
    """
    from hardstone.report.drawing import Drawer, helpers_for

    with Drawer(helpers_for(document)) as drawer:
        _write(document, output, register, limits, drawer, beside)


def is_pdf(output: Path) -> bool:
    return output.suffix.lower() == ".pdf"


def _write(
    document: RunDocument,
    output: Path,
    register: Register | None,
    limits: Sequence[int],
    drawer: Drawer,
    beside: RunDocument | None,
) -> None:
    from hardstone.files import regular_target

    tests = _tests(document, register)
    try:
        folder = regular_target(output).parent
        if not folder.is_dir():
            raise no_folder(folder)
        if is_pdf(output):
            from hardstone.report.pdf import write_pdf

            write_pdf(document, output, tests.get, drawer=drawer, limits=limits, beside=beside)
        else:
            from hardstone.report.page import write_html

            write_html(document, output, tests.get, drawer=drawer, limits=limits, beside=beside)
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(f"{output} cannot be written: {reason}", "name a file with -o") from error


def _tests(document: RunDocument, register: Register | None) -> dict[str, Descriptor]:
    known = document.descriptors or (register.tests if register is not None else [])
    return {test.id: test for test in known}


def write_run_charts(
    document: RunDocument,
    folder: Path,
    register: Register | None = None,
    limits: Sequence[int] = (),
    beside: RunDocument | None = None,
) -> int:
    """Writes the charts of the report to `folder`, and returns the number of files; the other
    arguments are those of `write_report`. InputError where `folder` cannot be filled."""
    from hardstone.report.drawing import Drawer, helpers_for
    from hardstone.report.page import figures_of_run
    from hardstone.report.sheet import write_chart_files

    tests = _tests(document, register)
    with Drawer(helpers_for(document)) as drawer:
        figures = figures_of_run(document, tests.get, drawer, limits, beside)
        return len(write_chart_files(figures, folder, f"run {document.id}"))
