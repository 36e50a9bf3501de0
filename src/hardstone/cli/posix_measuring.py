"""`hardstone posix` without a run: POS-B-INV on each target, stored as any run and shown."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from functools import partial

from hardstone.cli.measure import Prepared, TargetLoop, prepare, run_one
from hardstone.cli.messages import print_json, printed, tell
from hardstone.cli.options import MeasureOptions, fitting, lab_targets
from hardstone.cli.posix import PosixOptions
from hardstone.errors import EXIT_OK
from hardstone.model import NotRun, RunDocument
from hardstone.plan.params import PlanError
from hardstone.posix.analysis import POSIX_SCHEMA, TEST, PosixDocument, answers_in
from hardstone.posix.screen import print_posix
from hardstone.targets import find_target


def measure_posix(options: PosixOptions) -> int:
    """Measures POS-B-INV as `options` of the command line say: the exit code."""
    names = lab_targets(options.target, options)
    asked = MeasureOptions(**fitting(MeasureOptions, options))
    if len(names) > 1:
        return _measure_several(names, asked)
    with closing(find_target(names[0])) as target:
        prepared = prepare(target, names[0], (TEST,), asked)
        show = _print_one if options.as_json else print_posix
        return run_one(prepared, asked, show, wants_report=False)[1]


def print_posix_json(documents: Sequence[RunDocument], not_run: Sequence[NotRun] = ()) -> None:
    """The one document of --json."""
    answers = [answer for document in documents for answer in answers_in(document)]
    print_json(PosixDocument(schema=POSIX_SCHEMA, answers=answers, not_run=list(not_run)))


def _print_one(document: RunDocument) -> None:
    print_posix_json([document])


def _measure_several(names: Sequence[str], options: MeasureOptions) -> int:
    """One target after another, a section each."""
    for name in names:
        find_target(name)  # a wrong name is told before anything is measured
    usual = partial(prepare, tests=(TEST,), options=options)
    tour = TargetLoop(names, options, (PlanError,), usual)
    documents: list[RunDocument] = []
    is_json = options.as_json

    def run(prepared: Prepared) -> int:
        show = None if is_json else print_posix
        document, code = run_one(prepared, options, show, wants_report=False)
        documents.append(document)
        return code

    codes = tour.visit(run)
    problem = None
    if is_json:
        problem = printed(lambda: print_posix_json(documents, tour.not_run))
    for one in tour.not_run:
        tell(f"{one.target} was not measured: {one.reason}")
    return tour.code(codes) or problem or EXIT_OK
