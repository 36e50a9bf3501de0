"""`hardstone report`, and the files that it and commands that measure write."""

from __future__ import annotations

import contextlib
import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hardstone.cli import completion
from hardstone.cli.help import WHAT, Option, declare
from hardstone.cli.options import files_option, one_array_thread, output_option, store_option
from hardstone.errors import HardstoneError, InputError
from hardstone.units import parse_duration_ns
from hardstone.wording import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hardstone.model import Descriptor, Register, RunDocument


@declare(
    "report",
    "hardstone report last -o report.html",
    "hardstone report last -o picture.png --limit 100us",
)
@click.argument("run", shell_complete=completion.runs)
@output_option
@click.option(
    "--limit",
    "limits",
    cls=Option,
    group=WHAT,
    multiple=True,
    metavar="TIME",
    help="TMR-P-LAT: count the latencies above TIME: 100 (us), 50us, 1ms. Repeat it for several "
    "limits.",
)
@click.option(
    "--beside",
    cls=Option,
    group=WHAT,
    metavar="RUN",
    help="SIM-*: draw another run, for example of another kernel, in the same charts.",
)
@click.option(
    "--badge",
    cls=Option,
    group=WHAT,
    is_flag=True,
    help='Write a badge as SVG instead: "real-time | worst wake-up 22.4 ms".',
)
@files_option
@store_option
def command(
    run: str,
    output: Path | None,
    limits: tuple[str, ...],
    beside: str | None,
    badge: bool,
    files: Path | None,
    store: Path | None,
) -> int:
    """Write the report of a stored run as one file.

    The file needs no network. Its suffix chooses the format: .html and .pdf are the whole report,
    .png and .svg its opening as one picture, with the machine, the answer and the distribution.
    Without -o an HTML file is written to the folder reports of the store. RUN is an ID or the start
    of one, a name, last, or last~1 for the run before the last (hardstone runs lists them), or the
    file of another tool, such as ./cyclictest.json. The exit code is 3 if figures of the run
    contradict each other; the report names them first, and marks them.
    """
    if output is not None:
        check_suffix(output, (".svg",) if badge else SUFFIXES)
    one_array_thread()
    from hardstone.cli.catalogue import read_register
    from hardstone.cli.messages import tell
    from hardstone.cli.open_store import consistency_exit, open_store

    asked = [_limit_ns(text) for text in limits]
    opened = open_store(store)
    document = opened.look_up(run)
    if asked:
        _check_limits(document, asked)
    other = None if beside is None else opened.look_up(beside)
    if other is not None:
        from hardstone.simulation.results import has_tire

        for one in (document, other):
            if not has_tire(one):
                cause = f"--beside compares simulations of the tire, and run {one.id} has none"
                raise InputError(cause, "name two runs of hardstone simulate")
    place = output or default_report(opened.path, document.id, ".svg" if badge else ".html")
    if badge:
        write_badge(document, place)
        tell(f"badge: {place}")
        return consistency_exit(document)
    register = None
    if not document.descriptors:
        with contextlib.suppress(HardstoneError):  # without a probe tests stay unexplained
            register = read_register("local")
    write_report(document, place, register, asked, other)
    tell(f"report: {place}")
    if files is not None:
        count = _write_run_charts(document, files, register, asked, other)
        tell(f"charts: {count} files in {files}")
    return consistency_exit(document)


def _limit_ns(text: str) -> int:
    try:
        return parse_duration_ns(text, bare="us")
    except ValueError as error:
        raise InputError(f"--limit: {error}", "write --limit 50us, once for each limit") from None


def _check_limits(document: RunDocument, asked: Sequence[int]) -> None:
    from hardstone.report.latency_pages import MOST_LIMITS, TEST, has_pages

    if not any(map(has_pages, document.results)):
        raise InputError(f"--limit counts points of {TEST}, and the run has none", "leave it out")
    if len(set(asked)) > MOST_LIMITS:
        raise InputError(f"--limit: at most {MOST_LIMITS} limits", "leave some out")


def default_report(store: Path, run_id: str, suffix: str = ".html") -> Path:
    """Place of a report that nobody named: the folder `reports` within `store`, made for it."""
    folder = store / "reports"
    with contextlib.suppress(OSError):  # the report that goes there says what is wrong
        folder.mkdir(parents=True, exist_ok=True)
    # The ID of a run that is not stored is the path of its file.
    place = folder / f"{Path(run_id).name}{suffix}"
    if place.is_symlink():  # nobody named the file that it leads to
        with contextlib.suppress(OSError):
            place.unlink()
    return place


def no_folder(folder: Path, option: str = "-o") -> InputError:
    """The error that there is no `folder` for the report, with a remedy that can work."""
    above = next(one for one in folder.absolute().parents if one.exists())
    if os.access(above, os.W_OK | os.X_OK):
        return InputError(
            f"{option}: there is no folder {folder}", f"mkdir -p {shlex.quote(str(folder))}"
        )
    is_readonly = os.statvfs(above).f_flag & os.ST_RDONLY
    why = "its file system is read-only" if is_readonly else "you may not write there"
    return InputError(
        f"there is no folder {folder}, and none can be made in {above}: {why}",
        f"name a file elsewhere with {option} FILE",
    )


SUFFIXES = (".html", ".htm", ".pdf", ".png", ".svg")
_PICTURES = (".png", ".svg")


def check_suffix(output: Path, known: Sequence[str] = SUFFIXES) -> None:
    """InputError where the name of `output` ends in another suffix. A name without one is HTML."""
    if str(output) == "-":
        raise InputError(
            "-o: '-' is not a file, and a report is not written to a pipe", "name a file"
        )
    suffix = output.suffix.lower()
    if suffix not in known and (suffix or ".html" not in known):
        shown = f"'{one_line(suffix)[:20]}'" if suffix else "a name without suffix"
        raise InputError(
            f"-o: {shown} is not a format of this report", f"end FILE in {', '.join(known)}"
        )


def write_report(
    document: RunDocument,
    output: Path,
    register: Register | None = None,
    limits: Sequence[int] = (),
    beside: RunDocument | None = None,
) -> None:
    """Writes the report in the format that the name of `output` ends in. Tests are explained by
    the descriptors of the document; in an old one, which has none, by those of `register`.
    `beside`: another run, whose tire is compared.

    InputError where there is no folder for it or something else than a file is.
    """
    from hardstone.report.drawing import Drawer, helpers_for

    check_suffix(output)
    tests = _tests(document, register)
    with written(output):
        if output.suffix.lower() in _PICTURES:
            from hardstone.report.picture import write_picture

            write_picture(document, output, limits=limits)
            return
        with Drawer(helpers_for(document)) as drawer:
            if is_pdf(output):
                from hardstone.report.pdf import write_pdf as write
            else:
                from hardstone.report.page import write_html as write
            write(document, output, tests.get, drawer=drawer, limits=limits, beside=beside)


def write_badge(document: RunDocument, output: Path) -> None:
    """Writes the badge of a run; InputError as for `write_report`."""
    from hardstone.report.picture import write_badge as write

    with written(output):
        write(document, output)


@contextlib.contextmanager
def written(output: Path) -> Iterator[None]:
    """Within, `output` is written; InputError where there is no folder for it."""
    from hardstone.files import regular_target

    try:
        folder = regular_target(output).parent
        if not folder.is_dir():
            raise no_folder(folder)
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(f"{output} cannot be written: {reason}", "name a file with -o") from error


def is_pdf(output: Path) -> bool:
    return output.suffix.lower() == ".pdf"


def _tests(document: RunDocument, register: Register | None) -> dict[str, Descriptor]:
    known = document.descriptors or (register.tests if register is not None else [])
    return {test.id: test for test in known}


def _write_run_charts(
    document: RunDocument,
    folder: Path,
    register: Register | None,
    limits: Sequence[int],
    beside: RunDocument | None,
) -> int:
    """Writes the charts of the report to `folder`: the number of files. InputError where `folder`
    cannot be filled."""
    from hardstone.report.drawing import Drawer, helpers_for
    from hardstone.report.page import figures_of_run
    from hardstone.report.sheet import write_chart_files

    tests = _tests(document, register)
    with Drawer(helpers_for(document)) as drawer:
        figures = figures_of_run(document, tests.get, drawer, limits, beside)
        return len(write_chart_files(figures, folder, f"run {document.id}"))
