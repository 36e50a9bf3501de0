"""`evaluate` and `run` on several targets: the same plan on each in turn, then one table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from hardstone.cli.measuring import Prepared, prepare, run_one
from hardstone.cli.messages import print_json, tell, tell_error
from hardstone.cli.printing import printed
from hardstone.errors import (
    EXIT_INTERRUPTED,
    EXIT_OK,
    HardstoneError,
    InputError,
    worst_code,
)
from hardstone.model import TARGETS_SCHEMA, NotRun, Plan, Plans, RunDocument, Runs
from hardstone.plan import PlanError
from hardstone.store import StoreError
from hardstone.targets import find_target
from hardstone.targets.base import Target

_INTERRUPTED = "the command was interrupted"
_NO_STORE = "an earlier run could not be stored"


def measure_several(
    names: Sequence[str],
    tests: Sequence[str],
    options: Mapping[str, Any],
    *,
    wants_report: bool,
    ends_at: tuple[type[HardstoneError], ...] = (),
    after: Callable[[Sequence[RunDocument]], None] = lambda documents: None,
    way: Way | None = None,
) -> int:
    """Measures the targets `names`, at least two, one after another: the exit code.

    An error of `ends_at` at the first target ends all. `after` is called with the documents once
    they are printed, unless as JSON. `way` is how each is planned and run, if not as `tests`.
    """
    if options["output"] is not None:
        raise InputError(
            f"-o: one file cannot hold the reports of {len(names)} runs",
            "leave it out; each run has its report: hardstone report RUN -o FILE",
        )
    for name in names:
        find_target(name)  # a wrong name is told before anything is measured
    usual = Way(lambda target, name: prepare(target, name, tests, options), run_one)
    tour = Tour(names, tests, options, (PlanError, *ends_at), (way or usual).prepare)
    if options["dry_run"]:
        return _plan_all(tour, as_json=options["as_json"])
    return _run_all(tour, options, after, way or usual, wants_report=wants_report)


def _print_table(documents: Sequence[RunDocument]) -> None:
    from hardstone.present.target_table import target_table
    from hardstone.terminal.beside import print_target_table

    print_target_table(target_table(documents))


@dataclass(frozen=True)
class Way:
    """How a target, by its name, is prepared, how what was prepared is run, as `run_one`, and how
    two documents or more are shown beside each other."""

    prepare: Callable[[Target, str], Prepared]
    run: Callable[..., tuple[RunDocument, int]]
    show_beside: Callable[[Sequence[RunDocument]], None] = _print_table


class Tour:
    """Visits the targets in turn: one that cannot be measured does not keep the others from it."""

    def __init__(
        self,
        names: Sequence[str],
        tests: Sequence[str],
        options: Mapping[str, Any],
        ends_at: tuple[type[HardstoneError], ...],
        prepare_one: Callable[[Target, str], Prepared] | None = None,
    ) -> None:
        self.names = names
        self._ends_at = ends_at
        self.not_run: list[NotRun] = []
        self._tests = tests
        self._options = options
        self._prepare = prepare_one or self._usual

    def _usual(self, target: Target, name: str) -> Prepared:
        return prepare(target, name, self._tests, self._options)

    def visit(self, work: Callable[[Prepared], int | None]) -> list[int]:
        """Calls `work` with each target while it is open; gives what is not None of its results.

        An error of `ends_at` at the very first target is raised: with PlanError the request is
        wrong.
        """
        codes: list[int] = []
        for place, name in enumerate(self.names):
            if not self._options["quiet"]:
                tell(f"target {place + 1} of {len(self.names)}: {name}")
            try:
                with closing(find_target(name)) as target:
                    code = work(self._prepare(target, name))
            except self._ends_at as error:
                if not codes:
                    raise
                self._miss(name, error)
                continue
            except StoreError as error:
                self._miss(name, error)
                self._leave(place + 1, _NO_STORE, error.exit_code)
                break
            except HardstoneError as error:
                self._miss(name, error)
                continue
            except KeyboardInterrupt:
                self._leave(place, _INTERRUPTED, EXIT_INTERRUPTED)
                break
            codes.append(code or EXIT_OK)
            if code == EXIT_INTERRUPTED:
                self._leave(place + 1, _INTERRUPTED, EXIT_INTERRUPTED)
                break
        return codes

    def _miss(self, name: str, error: HardstoneError) -> None:
        tell_error(error, f"{name}: ")
        self.not_run.append(NotRun(target=name, reason=str(error), exit_code=error.exit_code))

    def _leave(self, start: int, reason: str, code: int) -> None:
        for name in self.names[start:]:
            self.not_run.append(NotRun(target=name, reason=reason, exit_code=code))

    def code(self, codes: Sequence[int]) -> int:
        """The exit code of the command, from those of the visits."""
        return worst_code([*codes, *(one.exit_code for one in self.not_run)])


def _run_all(
    tour: Tour,
    options: Mapping[str, Any],
    after: Callable[[Sequence[RunDocument]], None],
    way: Way,
    *,
    wants_report: bool,
) -> int:
    from hardstone.terminal.one_screen import print_screen

    documents: list[RunDocument] = []
    is_json = options["as_json"]

    def run(prepared: Prepared) -> int:
        show = None if is_json else print_screen
        document, code = way.run(prepared, options, show, wants_report=wants_report)
        documents.append(document)
        return code

    codes = tour.visit(run)
    problem = printed(lambda: _print_runs(documents, tour.not_run, way, as_json=is_json))
    if problem is None and not is_json:
        problem = printed(lambda: after(documents))
    for one in tour.not_run:
        tell(f"{one.target} was not measured: {one.reason}")
    return tour.code(codes) or problem or EXIT_OK


def _print_runs(
    documents: list[RunDocument], not_run: list[NotRun], way: Way, *, as_json: bool
) -> None:
    if as_json:
        print_json(Runs(schema=TARGETS_SCHEMA, runs=documents, not_run=not_run))
    elif len(documents) > 1:
        way.show_beside(documents)


def _plan_all(tour: Tour, *, as_json: bool) -> int:
    from hardstone.terminal.explain import print_plan

    plans: list[Plan] = []

    def plan(prepared: Prepared) -> None:
        plans.append(prepared.plan)
        if not as_json:
            print_plan(prepared.plan)

    codes = tour.visit(plan)
    if as_json:
        print_json(Plans(plans=plans, not_run=tour.not_run))
    return tour.code(codes)
