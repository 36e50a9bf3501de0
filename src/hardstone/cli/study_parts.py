"""Measures the parts of a study on each target, and lays out what came of them.

Each part is a run of its own, stored when it ends: Ctrl-C keeps the parts before it, and --resume
measures those that are missing.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass

import msgspec

from hardstone.cli.measure import (
    Prepared,
    TargetLoop,
    open_target,
    own_folder,
    place_problems,
    run_one,
)
from hardstone.cli.messages import print_json, printed, tell, tell_error
from hardstone.cli.open_store import open_store
from hardstone.cli.options import OutcomeOptions, fitting, lab_targets
from hardstone.cli.report import check_suffix, default_report
from hardstone.cli.study import (
    PAGE_SUFFIXES,
    StudyOptions,
    first_of,
    laid_out,
    show,
    write_page,
)
from hardstone.cli.tire import run_sweep
from hardstone.errors import (
    EXIT_INTERRUPTED,
    EXIT_OK,
    EXIT_UNREACHABLE,
    HardstoneError,
    InputError,
    worst_code,
)
from hardstone.model import Facts, NotRun, Plan, Plans, Register, RunDocument, StudyPart
from hardstone.plan.params import PlanError
from hardstone.stats.sustained import SUSTAINED
from hardstone.study.papers import Paper
from hardstone.study.procedure import (
    Here,
    Part,
    Procedure,
    needs_loads,
    needs_shield,
    plan_of,
    planned_ns,
    procedure_of,
)
from hardstone.targets import find_target
from hardstone.targets.base import Target
from hardstone.units import format_span
from hardstone.wording import shorten


def measure(paper: Paper, options: StudyOptions) -> int:
    """Measures the study on each target and prints it: the exit code."""
    names = lab_targets(options.target, options)
    outcome = OutcomeOptions(**fitting(OutcomeOptions, options))
    problems = place_problems(outcome)
    if options.output is not None and not problems:
        check_suffix(options.output, PAGE_SUFFIXES)
    if problems:
        raise PlanError(problems)
    for name in names:
        find_target(name)  # a wrong name is reported before anything is measured
    if options.questionnaire is not None:
        laid_out(paper, [], options)  # so is one that cannot be read
    session = _Session(paper, options, names)
    return session.plan() if options.dry_run else session.measure()


@dataclass(frozen=True)
class _Opened:
    """A target that is open, the parts for it with their plans, and those that are stored already,
    by number."""

    target: Target
    register: Register
    facts: Facts
    procedure: Procedure
    plans: Sequence[Plan]
    stored: Mapping[int, RunDocument]

    @property
    def left(self) -> list[tuple[Part, Plan]]:
        """The parts that are not stored."""
        pairs = zip(self.procedure.parts, self.plans, strict=True)
        return [(part, plan) for part, plan in pairs if part.number not in self.stored]

    def left_ns(self, start: int = 0) -> int:
        """About how long those take, from the place `start` on."""
        return sum(planned_ns(plan, self.register) for _, plan in self.left[start:])


class _Session:
    """One call of the command. `documents`: the runs that it measured or found, in order."""

    def __init__(self, paper: Paper, options: StudyOptions, names: Sequence[str]) -> None:
        self._paper = paper
        self._options = options
        self._names = names
        self._outcome = OutcomeOptions(**fitting(OutcomeOptions, options) | {"output": None})
        self._documents: list[RunDocument] = []
        self._stopped: Part | None = None
        self._first = ""
        self._left = len(names)

    def plan(self) -> int:
        """Prints what would be measured on each target: the exit code."""
        from hardstone.terminal.lists import print_parts

        plans: list[Plan] = []

        def take(opened: _Opened) -> int:
            plans.extend(plan for _, plan in opened.left)
            if not self._options.as_json:
                parts = [(*one, planned_ns(one[1], opened.register)) for one in opened.left]
                print_parts(self._paper, opened.target.name, parts, opened.procedure.missing)
            return EXIT_OK

        code, not_run = self._visit(take)
        if self._options.as_json:
            print_json(Plans(plans=plans, not_run=not_run))
        return code

    def measure(self) -> int:
        """Measures the parts on each target and lays them out: the exit code."""
        code, not_run = self._visit(self._measure)
        shown = self._show(not_run) if self._documents or self._options.as_json else EXIT_OK
        for one in not_run:
            tell(f"{one.target} was not measured: {one.reason}")
        return code or shown

    def _visit(self, work: Callable[[_Opened], int]) -> tuple[int, list[NotRun]]:
        if len(self._names) == 1:
            with closing(find_target(self._names[0])) as target:
                return work(self._open(target, self._names[0])), []
        loop = TargetLoop(self._names, self._outcome, (PlanError,), self._open)
        return loop.code(loop.visit(work)), loop.not_run

    def _open(self, target: Target, name: str) -> _Opened:
        """Opens `target`, which is called `name`, and plans the parts for it."""
        options = self._options
        register, facts = open_target(target, self._outcome)
        here = Here(
            target=name,
            facts=facts.facts,
            register=register,
            loads=target.load_list() if needs_loads(self._paper.name) else None,
            shield=target.shield_look() if needs_shield(self._paper.name) else None,
            folder=own_folder(self._outcome, name),
        )
        length = options.length
        found = procedure_of(self._paper, length, here, params=options.params, name=options.name)
        plans = [plan_of(part, here) for part in found.parts]
        stored = self._stored(plans) if options.resume else {}
        return _Opened(target, register, facts, found, plans, stored)

    def _stored(self, plans: Sequence[Plan]) -> dict[int, RunDocument]:
        """The parts that the last call with the same plans has stored complete, by number.

        InputError if it has measured none on the first target.
        """
        found: dict[int, RunDocument] = {}
        names = {plan.name: plan for plan in plans}
        store, first = open_store(self._options.store), ""
        for entry in reversed(store.runs()):
            plan = names.get(entry.name)
            if plan is None or entry.target != plan.target:
                continue
            document = store.load(entry.id)
            study = document.plan.study
            first = first or first_of(document)
            if first_of(document) != first:  # an earlier call
                break
            is_same = document.plan.command == plan.command
            if study is not None and is_same and document.status == "complete":
                found.setdefault(study.number, document)
        if not first and plans[0].target == self._names[0]:
            raise InputError(
                "no part of this study is stored with these options",
                "leave out --resume, or see what is stored: hardstone runs",
            )
        return found

    def _measure(self, opened: _Opened) -> int:
        """Measures the parts that are not stored: the worst exit code of them."""
        self._left -= 1
        for one in opened.procedure.missing:
            tell(str(one))
        codes = [EXIT_OK]
        left = opened.left
        for part, plan in zip(opened.procedure.parts, opened.plans, strict=True):
            if part.number in opened.stored:
                self._take(opened.stored[part.number])
                continue
            self._tell_part(opened, part, left.index((part, plan)))
            try:
                codes.append(self._run(opened, part, plan))
            except KeyboardInterrupt:
                codes.append(EXIT_INTERRUPTED)
            except HardstoneError as error:
                self._stopped = part
                if not self._documents:
                    raise
                tell_error(error)
                codes.append(error.exit_code)
                break
            if codes[-1] in (EXIT_INTERRUPTED, EXIT_UNREACHABLE):
                self._stopped = part
                break
        return worst_code(codes)

    def _run(self, opened: _Opened, part: Part, plan: Plan) -> int:
        study = StudyPart(study=part.study, number=part.number, count=part.count, first=self._first)
        plan = msgspec.structs.replace(plan, study=study)
        prepared = Prepared(opened.target, opened.register, opened.facts, plan)
        run = run_one if part.sweep is None else run_sweep
        document, code = run(prepared, self._outcome, None, wants_report=False)
        self._take(document)
        return code

    def _take(self, document: RunDocument) -> None:
        self._documents.append(document)
        self._first = self._first or first_of(document)

    def _tell_part(self, opened: _Opened, part: Part, place: int) -> None:
        if self._options.quiet:
            return
        left_ns = opened.left_ns(place) + self._left * opened.left_ns()
        numbers = part.numbers(self._paper)
        what = f"{part.title} ({shorten(numbers, 60)})" if numbers else part.title
        left = format_span(left_ns)
        tell(f"part {part.number} of {part.count}: {what}; about {left} left in all")

    def _show(self, not_run: Sequence[NotRun]) -> int:
        """Prints the study with what was measured, and writes its page: the exit code."""
        options, paper = self._options, self._paper
        view = laid_out(paper, self._documents, options)
        code = printed(lambda: show(view, as_json=options.as_json, not_run=not_run)) or EXIT_OK
        if self._documents:
            store = open_store(options.store)
            output = options.output
            if output is None:
                output = default_report(store.path, f"{paper.name}-{self._documents[-1].id}")
            try:
                write_page(view, output)
            except HardstoneError as error:
                tell_error(error, "the page is not written: ")
                code = code or error.exit_code
            known = {one.id for one in store.runs()}  # one that could not be stored was reported
            ids = [one.id for one in self._documents if one.id in known]
            count = "1 run" if len(ids) == 1 else f"{len(ids)} runs"
            text = f"{count} of this study stored: {', '.join(ids)}"
            if self._first in known:
                command = f"hardstone study {paper.name} {self._first}"
                tell(f"{text}; to lay {'it' if len(ids) == 1 else 'them'} out again", command)
            else:
                tell(text)
        self._tell_stop()
        return code

    def _tell_stop(self) -> None:
        """Says how to go on: first with a run that can be resumed, then with the parts after it."""
        part = self._stopped
        if part is None:
            return
        last = self._documents[-1] if self._documents else None
        command = _resuming(part)
        if command and last is not None and last.plan.name == part.request.name:
            tell("to go on with the part that was cut off", f"{command} --resume {last.id}")
        where = f"part {part.number} of {part.count}"
        tell(f"stopped in {where}; to measure the rest", self._resume_command())

    def _resume_command(self) -> str:
        options = self._options
        words = ["hardstone", "study", self._paper.name]
        words += [] if options.length == "default" else [f"--{options.length}"]
        for name in self._names if self._names != ["local"] else []:
            words += ["--target", name]
        for pair in options.params:
            words += ["-p", pair]
        words += ["--name", options.name] if options.name else []
        return shlex.join([*words, "--resume"])


def _resuming(part: Part) -> str:
    """The command that goes on with a run of `part`; "" if it has to be measured again."""
    if part.sweep is not None:
        return f"hardstone simulate {part.kind}"
    if part.request.is_recording:
        return "hardstone latstat"
    return "hardstone run" if part.tests == (SUSTAINED,) else ""
