"""Repeats a plan: N runs, one after another, and goes on with those that are left.

The runs name the first of them. What is stored is complete or measured again: after Ctrl-C, a kill
or a reboot `--resume` goes on with those that are missing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import msgspec

from hardstone.campaign.collect import carried
from hardstone.cli.measure import Prepared, prepare, print_run, run_one, show_plan
from hardstone.cli.messages import notice_messages, print_json, tell
from hardstone.cli.open_store import open_store
from hardstone.cli.options import MeasureOptions, lab_targets, read_count
from hardstone.cli.resume import check_params, check_target
from hardstone.errors import EXIT_INTERRUPTED, EXIT_OK, HardstoneError, InputError, worst_code
from hardstone.model import TARGETS_SCHEMA, Plan, Repeat, RunDocument, Runs
from hardstone.stats.run_gate import LEAST_RUNS
from hardstone.stats.sustained import SUSTAINED
from hardstone.store.store import Store
from hardstone.targets import find_target
from hardstone.targets.base import Target
from hardstone.units import format_span

_MOST = 1000
# What may be typed with --resume; all else is as it was begun.
_FREE = frozenset({"store", "quiet", "as_json", "dry_run", "target", "wait_s"})


def repeat(text: str, tests: Sequence[str], options: MeasureOptions) -> int:
    """Measures the plan of `tests` as often as `text` says: the exit code."""
    remedy = f"give 2 to {_MOST}; {LEAST_RUNS} is usual"
    count = read_count("--repeat", text, 2, _MOST, "runs", remedy)
    names = lab_targets(options.target, options)
    for is_typed, option in (
        (len(names) > 1, "several targets"),
        (options.compare_preemption, "--compare-preemption"),
        (options.detach, "--detach"),
        (options.output is not None, "-o"),
        (options.export_json is not None, "--export-json"),
        (options.export_csv is not None, "--export-csv"),
    ):
        if is_typed:
            raise InputError(f"--repeat cannot be combined with {option}", "leave one of them out")
    with closing(find_target(names[0])) as target:

        def prepared(number: int, first: str) -> Prepared:
            found = prepare(target, names[0], tests, options)
            return replace(found, plan=_numbered(found.plan, found.plan.name, number, count, first))

        return _Session(prepared, list(range(1, count + 1)), count, options).measure(target)


def find_unfinished(
    root: Path | None, reference: str, tests: Sequence[str], given: set[str]
) -> RunDocument | None:
    """One of the repeats that `reference` names, by default of the last that are not complete; None
    where something else is to be resumed."""
    if any(test.upper() == SUSTAINED for test in tests):
        return None
    store = open_store(root)
    if reference:
        found = store.load(reference)
        return found if found.plan.repeat is not None else None
    for entry in reversed(store.runs()):
        if entry.repeats:
            found = store.load(entry.id)
            if _missing(store, found):
                return found
        elif entry.status != "complete" and entry.tests == 1:
            return None
    if "repeat" in given:
        raise InputError("all repeats are complete: there is nothing to resume")
    return None


def resume(whole: RunDocument, options: MeasureOptions, given: set[str]) -> int:
    """Measures the repeats that are missing; `given` are the options that were typed."""
    fixed = sorted(given - _FREE)
    if fixed:
        raise InputError(
            f"--{fixed[0].replace('_', '-')}: repeats are resumed with their first options",
            "leave it out",
        )
    name, asked = whole.plan.target, _repeat_of(whole)
    check_target(whole, options, given)
    store = open_store(options.store)
    missing = _missing(store, whole)
    if not missing:
        raise InputError(f"all {asked.count} repeats of run {whole.id} are complete")
    first = asked.first or whole.id
    with closing(find_target(name)) as target:
        target.open(notice_messages(quiet=options.quiet, wait_s=options.wait_s))
        register, facts = target.probe_list(), target.facts()
        check_params(whole, register)
        base = whole.plan.name.removesuffix(_of(asked.number, asked.count))

        def prepared(number: int, _: str) -> Prepared:
            plan = _numbered(whole.plan, base, number, asked.count, first)
            return Prepared(target, register, facts, plan)

        known = [store.load(one) for one in repeats_of(store, whole)[:1]]
        return _Session(prepared, missing, asked.count, options, first, known).measure(target)


def repeats_of(store: Store, document: RunDocument) -> list[str]:
    """The ids of the complete runs that were measured in turn with `document`, itself too."""
    repeat = document.plan.repeat
    if repeat is None:
        return [document.id]
    first = repeat.first or document.id
    entries = store.runs()
    return [one.id for one in entries if one.repeats == first and one.status == "complete"]


class _Session:
    """The runs with `numbers`, of `count` that were asked for."""

    def __init__(
        self,
        prepared: Callable[[int, str], Prepared],
        numbers: Sequence[int],
        count: int,
        options: MeasureOptions,
        first: str = "",
        known: Sequence[RunDocument] = (),
    ) -> None:
        self._prepared = prepared
        self._numbers = numbers
        self._count = count
        self._options = options
        self._first = first
        self._documents: list[RunDocument] = []
        self._results = [result for one in known for result in one.results]

    def measure(self, target: Target) -> int:
        """Measures the runs one after the other and shows the last complete one: the worst exit
        code of them. Ctrl-C and errors keep what is complete, and say how to go on."""
        if self._options.dry_run:
            plan = self._prepared(self._numbers[0], self._first).plan
            return show_plan(plan, as_json=self._options.as_json)
        codes = [EXIT_OK]
        for place, number in enumerate(self._numbers):
            try:
                codes.append(self._run(number, len(self._numbers) - place))
            except KeyboardInterrupt:
                codes.append(EXIT_INTERRUPTED)
            except HardstoneError:
                self._tell_cut(number)
                raise
            if codes[-1] == EXIT_INTERRUPTED:
                self._tell_cut(number)
                break
        self._show()
        return worst_code(codes)

    def _run(self, number: int, left: int) -> int:
        prepared = self._prepared(number, self._first)
        # As the first run calibrated them: times of unequal work cannot be compared.
        calibrated = [one for one in self._results if one.calibrated]
        tests = [carried(one, calibrated) for one in prepared.plan.tests]
        plan = msgspec.structs.replace(prepared.plan, tests=tests)
        if not self._options.quiet:
            span_ns = sum(one.expected_ns for one in tests) * left
            tell(f"run {number} of {self._count}: about {format_span(span_ns)} left")
        document, code = run_one(
            replace(prepared, plan=plan),
            replace(self._options, output=None),
            None,
            wants_report=False,
        )
        self._first = self._first or document.id
        self._documents.append(document)
        self._results += document.results
        return code

    def _tell_cut(self, number: int) -> None:
        complete = sum(one.status == "complete" for one in self._documents)
        stored = f"{complete} complete run{' is' if complete == 1 else 's are'}"
        text = f"stopped in run {number} of {self._count}; {stored} stored"
        if self._first:
            tell(f"{text}; to measure the rest", f"hardstone run --resume {self._first}")
        else:
            tell(text)

    def _show(self) -> None:
        if self._options.as_json:
            print_json(Runs(schema=TARGETS_SCHEMA, runs=self._documents, not_run=[]))
            return
        complete = [one for one in self._documents if one.status == "complete"]
        if not complete:
            return
        print_run(complete[-1])
        if len(complete) == len(self._numbers):
            text = f"{self._count} runs of this plan are stored"
            if self._count < LEAST_RUNS:
                text += f" (a gate needs {LEAST_RUNS})"
            tell(
                f"{text}; to compare another run with them",
                f"hardstone gate RUN --baseline {self._first}",
            )


def _missing(store: Store, whole: RunDocument) -> list[int]:
    """The numbers of the repeats that are not complete."""
    done = set()
    for run_id in repeats_of(store, whole):
        found = store.load(run_id).plan.repeat
        done |= {found.number} if found is not None else set()
    return [one for one in range(1, _repeat_of(whole).count + 1) if one not in done]


def _repeat_of(document: RunDocument) -> Repeat:
    return document.plan.repeat or Repeat(number=1, count=1)


def _numbered(plan: Plan, name: str, number: int, count: int, first: str) -> Plan:
    return msgspec.structs.replace(
        plan,
        name=name + _of(number, count),
        repeat=Repeat(number=number, count=count, first=first),
    )


def _of(number: int, count: int) -> str:
    return f" {number} of {count}"
