"""`hardstone study`: a published study again, in its own tables and figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hardstone.cli import completion
from hardstone.cli.help import HOW_LONG, WHAT, declare
from hardstone.cli.options import (
    ConditionOptions,
    LabOptions,
    OutcomeOptions,
    PlanOptions,
    TargetsOption,
    option,
    options_of,
    shared,
    typed_options,
)
from hardstone.errors import EXIT_OK, InputError, worst_code

if TYPE_CHECKING:
    from hardstone.model import NotRun, RunDocument
    from hardstone.store.store import Store
    from hardstone.study.exhibits import StudyView
    from hardstone.study.papers import Paper
    from hardstone.study.procedure import Length

_LIST = "list"
_FILE = click.Path(dir_okay=False, path_type=Path)


@dataclass(frozen=True, kw_only=True)
class StudyOptions(LabOptions, TargetsOption):
    """Options of `hardstone study`."""

    quick: bool = option(
        "--quick",
        group=HOW_LONG,
        is_flag=True,
        is_common=True,
        help="At most 3 minutes (default: at most 15).",
    )
    as_published: bool = option(
        "--as-published",
        group=HOW_LONG,
        is_flag=True,
        help="The paper's own lengths and counts: an hour to days.",
    )
    published: bool = option(
        "--published",
        group=WHAT,
        is_flag=True,
        is_common=True,
        help="Show the paper's figures alone; nothing is measured.",
    )
    resume: bool = option(
        "--resume",
        group=WHAT,
        is_flag=True,
        help="Measure only the parts that the last call of this study has not stored.",
    )
    params: tuple[str, ...] = shared(
        PlanOptions,
        "params",
        help="Set a parameter that the paper leaves open, such as uio=0 for a device.",
    )
    questionnaire: Path | None = option(
        "--questionnaire",
        group=WHAT,
        type=_FILE,
        metavar="FILE",
        help="Show the answers of FILE (hardstone questionnaire FILE) with those of "
        "dedicated-systems-2012.",
    )
    output: Path | None = shared(
        OutcomeOptions, "output", help="Write the page to FILE (default: in the store)."
    )
    name: str = shared(ConditionOptions, "name", help="Name of the runs, to find them by.")
    as_json: bool = shared(OutcomeOptions, "as_json")
    dry_run: bool = shared(
        OutcomeOptions,
        "dry_run",
        help="Print what would be measured, and what is not available; measure nothing.",
    )
    quiet: bool = shared(OutcomeOptions, "quiet")
    store: Path | None = shared(OutcomeOptions, "store")
    wait_s: float | None = shared(OutcomeOptions, "wait_s")

    @property
    def length(self) -> Length:
        return "quick" if self.quick else "as-published" if self.as_published else "default"


_STUDIES = ("obenland-2000", "dedicated-systems-2012", "hp-1987", "latstat-2007", "garre-2014")
# What may be typed where nothing is measured.
_LOOKING = {"published", "questionnaire", "output", "as_json", "quiet", "store"}


@declare(
    "study",
    "hardstone study obenland-2000",
    "hardstone study hp --quick --target lab:debian,preempt=full",
)
@click.argument(
    "study", metavar="STUDY", required=False, shell_complete=completion.words(*_STUDIES)
)
@click.argument("runs", nargs=-1, metavar="[RUN]...", shell_complete=completion.runs)
@options_of(StudyOptions)
@click.pass_context
def command(
    context: click.Context, /, study: str | None, runs: tuple[str, ...], options: StudyOptions
) -> int:
    """Repeat a published study: its tables with your figures.

    STUDY is obenland-2000, dedicated-systems-2012, hp-1987, latstat-2007 or garre-2014, or at
    least the first three letters of one; "list" lists them. What the paper ran is measured in
    parts, each of which is a stored run. What is not available here is reported before the first
    part. At the end the tables and figures of the paper are printed in its order, and for each of
    its conclusions whether this machine bears it out.

    With RUNs (IDs, names, last, last~1) stored runs are laid out, and nothing is measured. One that
    is a part of this study stands for all parts of the same call.
    """
    from hardstone.study.papers import paper_named

    if study is None:
        raise click.UsageError("Missing argument 'STUDY'", context)
    given = typed_options(context) - {"study", "runs"}
    if study == _LIST:
        if runs:
            raise InputError("list takes no RUN", "leave it out")
        _refuse(given - {"as_json"}, "list", "studies are listed")
        return _list(as_json=options.as_json)
    paper = paper_named(study)
    if options.quick and options.as_published:
        raise InputError("--quick and --as-published are both given", "give one of them")
    if options.published or runs:
        if options.published and runs:
            raise InputError("--published takes no RUN", "leave one of them out")
        what = "--published" if options.published else "RUN"
        _refuse(given - _LOOKING, what, "nothing is measured")
        return _look(paper, runs, options)
    from hardstone.cli.study_parts import measure

    return measure(paper, options)


def _refuse(given: set[str], where: str, why: str) -> None:
    """InputError for an option that has no meaning `where`."""
    for one in fields(StudyOptions):
        if one.name in given:
            name = one.metadata["names"][-1]
            raise InputError(f"{name} has no effect with {where}: {why}", "leave it out")


def _list(*, as_json: bool) -> int:
    from hardstone.cli.messages import print_json
    from hardstone.study.papers import load_papers
    from hardstone.study.procedure import about_minutes, measured_tests

    papers = load_papers().values()
    if as_json:
        print_json(
            [
                {
                    "study": one.name,
                    "title": one.study.title,
                    "author": one.study.author or None,
                    "systems": [system.name for system in one.study.systems.values()],
                    "exhibits": [exhibit.number for exhibit in one.exhibits],
                    "tests": measured_tests(one.name),
                    "about_min": about_minutes(one.name),
                }
                for one in papers
            ]
        )
        return EXIT_OK
    from hardstone.study.screen import print_study_list

    print_study_list({one.name: f"{about_minutes(one.name)} min" for one in papers})
    return EXIT_OK


def _look(paper: Paper, runs: Sequence[str], options: StudyOptions) -> int:
    """Lays out stored runs, or the paper alone: the exit code."""
    from hardstone.cli.messages import paged
    from hardstone.cli.open_store import consistency_exit, open_store

    if options.output is not None:
        _check_output(options.output)
    documents: list[RunDocument] = []
    if runs:
        store = open_store(options.store)
        documents = with_parts(store, list(store.load_each(runs)), paper.name)
    view = laid_out(paper, documents, options)
    with paged():
        show(view, as_json=options.as_json)
    if options.output is not None:
        write_page(view, options.output)
    return worst_code(map(consistency_exit, documents))


def with_parts(store: Store, documents: Sequence[RunDocument], study: str) -> list[RunDocument]:
    """`documents`, each that is a part of `study` with the other complete parts of its call."""
    found = {one.id: one for one in documents}
    for one in documents:
        first = first_of(one)
        if one.plan.study is None or one.plan.study.study != study:
            continue
        for entry in store.runs():
            is_later = entry.id[:_TIME] >= first[:_TIME]
            if is_later and entry.id not in found and _title(entry.name) == _title(one.plan.name):
                other = store.load(entry.id)
                if other.status == "complete" and first_of(other) == first:
                    found[other.id] = other
    return list(found.values())


_TIME = len("20261130T062746Z")  # of an ID


def _title(name: str) -> str:
    """The name that the parts of one call have in common."""
    return name.rpartition(" ")[0]


def first_of(document: RunDocument) -> str:
    """The id of the first run of the call that `document` is a part of; "" for no part."""
    study = document.plan.study
    return "" if study is None else study.first or document.id


def _check_output(output: Path) -> None:
    """InputError unless the page can be written to `output`."""
    from hardstone.cli.measure import check_writable
    from hardstone.cli.report import check_suffix

    check_suffix(output, PAGE_SUFFIXES)
    check_writable("-o", output)


PAGE_SUFFIXES = (".html", ".htm", ".pdf")


def laid_out(paper: Paper, documents: Sequence[RunDocument], options: StudyOptions) -> StudyView:
    """The study with `documents`, its conclusions answered."""
    from dataclasses import replace

    from hardstone.study.conclusions import answers_of
    from hardstone.study.layout import lay_out

    view = lay_out(paper, documents)
    view = replace(view, answers=answers_of(view))
    if options.questionnaire is None:
        return view
    from hardstone.study.questionnaire import read_questionnaire, with_answers

    return with_answers(view, read_questionnaire(options.questionnaire))


def show(view: StudyView, *, as_json: bool, not_run: Sequence[NotRun] = ()) -> None:
    """Prints the study. `not_run`: targets that were not measured."""
    if as_json:
        from hardstone.cli.messages import print_json
        from hardstone.study.json_document import study_document

        print_json(study_document(view, not_run))
    else:
        from hardstone.study.screen import print_study

        print_study(view)


def write_page(view: StudyView, output: Path) -> None:
    """Writes the page of the study, and says where it is; InputError where that fails."""
    from hardstone.cli.messages import tell
    from hardstone.cli.report import written
    from hardstone.study.page import write_study

    with written(output):
        write_study(view, output)
    tell(f"page: {output}")
