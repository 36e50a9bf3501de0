"""Gates interleaved pairs: measured and judged, or judged once more.

Both sides get options of `hardstone run`, read by its own parser and never by a shell.

FILE is what `--pairs --json` printed: it names the runs of each pair. A run that is missing ends
the command, and so does one that was measured in another pair or on the other side: whoever chooses
the pairs would decide the outcome. A pair that did not count then does not count now.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
import msgspec

from hardstone.campaign import Campaign
from hardstone.campaign.collect import carried
from hardstone.catalogue import kind_of
from hardstone.cli.gate import GateOptions
from hardstone.cli.gate_runs import (
    ONLY_MEDIANS,
    alpha_of,
    check_files,
    deadline_of,
    margin_of,
    tell_outcome,
)
from hardstone.cli.measure import Prepared, prepare
from hardstone.cli.messages import tell, tell_error
from hardstone.cli.open_store import open_store
from hardstone.cli.options import lab_target, typed_options
from hardstone.cli.run import RunOptions
from hardstone.errors import (
    EXIT_INTERRUPTED,
    EXIT_OK,
    HardstoneError,
    InputError,
    worst_code,
)
from hardstone.files import one_line, read_regular
from hardstone.gate import (
    GateDocument,
    JudgedBy,
    MeasuredPairs,
    Pair,
    PairedRun,
    check_pairs,
    pairs_asked,
    read_measured_pairs,
    run_name,
    why_left_out,
)
from hardstone.model import Plan, Result, RunDocument
from hardstone.plan import PlanError
from hardstone.stats.rank_tests import MOST_PAIRS
from hardstone.stats.run_gate import ALPHA, LEAST_PAIRS, PairGate
from hardstone.store import Store, StoreError
from hardstone.store.place import is_run_id
from hardstone.systems.published import Address, parse_address
from hardstone.targets import find_target
from hardstone.units import format_span

_REMEDY = "--first and --second take options of hardstone run"
# Of `hardstone run`: what the gate decides itself, by parameter.
_OWN = ("tests", "name", "output", "dry_run", "as_json", "quiet", "store", "resume", "wait_s")
_FORBIDDEN = ("compare_preemption",)


@dataclass(frozen=True)
class Side:
    """A or B: the options of `hardstone run`, the target, and the words that were typed."""

    name: str
    target: str
    options: RunOptions
    words: str


def gate_by_pairs(words: Sequence[str], options: GateOptions) -> int:
    """Measures and gates: the exit code."""
    pairs = _pairs(options.pairs or "")
    if len(words) != 1:
        raise InputError("--pairs measures one test", f"name one of {', '.join(words)[:80]}")
    address = parse_address(words[0])
    deadline = None if options.deadline is None else deadline_of(options.deadline)
    margin = None if options.margin is None else margin_of(options.margin)
    alpha = ALPHA if options.alpha is None else alpha_of(options.alpha)
    check_files(options)
    sides = _sides(address, options)
    session = _Session(address, sides, pairs, options)
    session.check()
    with_tails = session.is_quiet if options.tails is None else options.tails
    runs = session.measure()
    document = check_pairs(
        address,
        runs,
        (sides[0].words, sides[1].words),
        deadline_ns=deadline,
        has_tails=with_tails,
        margin=margin,
        alpha=alpha,
        is_cut=session.is_cut,
        notes=session.notes(with_tails=with_tails),
    )
    code = tell_outcome(document, options)
    return worst_code([code, EXIT_INTERRUPTED]) if session.is_cut else code


def _pairs(text: str) -> int:
    is_number = text.isascii() and text.isdigit() and len(text) < 6
    if not is_number or int(text) > MOST_PAIRS:
        shown = "".join(char if char.isprintable() else "?" for char in text)[:40]
        raise InputError(
            f"--pairs: '{shown}' is not a number of pairs",
            f"give {LEAST_PAIRS} to {MOST_PAIRS}; 12 is usual",
        )
    if int(text) < LEAST_PAIRS:
        raise InputError(
            f"--pairs {int(text)}: fewer than {LEAST_PAIRS} pairs decide nothing",
            f"give at least {LEAST_PAIRS}",
        )
    return int(text)


def _sides(address: Address, options: GateOptions) -> tuple[Side, Side]:
    targets = options.targets
    if len(targets) > 2:
        raise InputError(f"{len(targets)} targets: A and B are two", "give --target twice")
    chosen = targets if len(targets) == 2 else [*targets, *targets] or ["", ""]
    return (
        _side("A", options.first or "", address.test, chosen[0], options),
        _side("B", options.second or "", address.test, chosen[1], options),
    )


def _side(name: str, text: str, test: str, target: str, options: GateOptions) -> Side:
    option = "--first" if name == "A" else "--second"
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise InputError(f"{option}: {error}", "close the quotes") from None
    parsed, given = _parsed(option, [test, *words])
    own = parsed.target
    has_own = "target" in given
    if len(own) != 1 or (has_own and options.targets):
        raise InputError(f"{option}: one target for each side", "name it once")
    settings = replace(
        parsed, output=None, store=options.store, quiet=options.quiet, wait_s=options.wait_s
    )
    chosen = lab_target(own[0] if has_own or not target else target, parsed)
    shown = " ".join(filter(None, (f"{name}:", chosen, text.strip())))
    return Side(name, chosen, settings, shown)


def _parsed(option: str, words: Sequence[str]) -> tuple[RunOptions, set[str]]:
    """The parameters of `hardstone run` with `words`, and which of them were typed; InputError for
    one that the gate decides."""
    from hardstone.cli.run import command

    if "--help" in words:
        raise InputError(f"{option}: --help is not for one side", "see hardstone run --help")
    try:
        context = command.make_context("run", list(words))
    except click.ClickException as error:
        raise InputError(f"{option}: {error.format_message().rstrip('.')}", _REMEDY) from None
    given = typed_options(context)
    for name in (*_OWN[1:], *_FORBIDDEN):
        if name in given:
            raise InputError(
                f"{option}: --{_typed(name)} is not for one side",
                _REMEDY,
            )
    if len(context.params["tests"]) != 1:
        raise InputError(f"{option}: it names another test", "leave it out")
    params = {key: one for key, one in context.params.items() if key != "tests"}
    return RunOptions(**params), given


def _typed(name: str) -> str:
    """The option of a parameter."""
    return name.removeprefix("as_").removesuffix("_s").replace("_", "-")


class _Session:
    """All pairs, one run after the other."""

    def __init__(
        self, address: Address, sides: tuple[Side, Side], pairs: int, options: GateOptions
    ) -> None:
        self._address = address
        self._sides = sides
        self._pairs = pairs
        self._options = options
        self._results: list[Result] = []
        self._stored: list[str] = []
        self._expected_ns = 0
        self.is_cut = False
        self.is_quiet = True

    def check(self) -> None:
        """Plans both sides, so that every error of the request comes before any measurement."""
        if kind_of(self._address.test) == "behaviour":
            raise InputError(
                f"{self._address.test} tests behaviour and times nothing", "name a -P- test"
            )
        for side in self._sides:
            with closing(find_target(side.target)) as target:
                prepared = prepare(target, side.target, [self._address.test], side.options)
                self._check_plan(side, prepared)
                self.is_quiet &= not prepared.facts.facts.get("virtual.hypervisor")
        if not self._options.quiet:
            total = format_span(self._expected_ns * self._pairs)
            tell(f"{self._pairs} pairs of {self._address.test}, ABBA, about {total}")

    def _check_plan(self, side: Side, prepared: Prepared) -> None:
        tests = prepared.plan.tests
        if len(tests) != 1:
            raise InputError(
                f"{side.name} has {len(tests)} measurements",
                "name one load and CPU configuration",
            )
        self._expected_ns += tests[0].expected_ns

    def measure(self) -> list[tuple[PairedRun, PairedRun]]:
        """Both runs of every pair, in their order A, B; fewer after Ctrl-C."""
        found: list[tuple[PairedRun, PairedRun]] = []
        for number in range(1, self._pairs + 1):
            runs: dict[str, PairedRun] = {}
            for side in self._sides if number % 2 else self._sides[::-1]:
                if not self.is_cut:
                    runs[side.name] = self._run(side, number)
            a, b = (runs.get(one, PairedRun(None, "not measured")) for one in ("A", "B"))
            found.append((a, b))
            if self.is_cut:
                self._tell_cut(number)
                break
            if self._is_hopeless(found):
                break
        return found

    def _is_hopeless(self, found: Sequence[tuple[PairedRun, PairedRun]]) -> bool:
        """Whether too many pairs do not count for the others to decide anything."""
        reasons = list(filter(None, (why_left_out(self._address, pair) for pair in found)))
        if self._pairs - len(reasons) >= LEAST_PAIRS:
            return False
        tell(f"ended after {len(found)} pairs: the others decide nothing; {reasons[-1]}")
        return True

    def _tell_cut(self, number: int) -> None:
        count = len(self._stored)
        tell(
            f"interrupted in pair {number} of {self._pairs}; {count} runs are stored:",
            "hardstone runs",
        )

    def _run(self, side: Side, number: int) -> PairedRun:
        name = run_name(side.name, number, self._pairs)
        if not self._options.quiet:
            left = self._expected_ns * (self._pairs - number + 1)
            tell(f"pair {number} of {self._pairs}, {side.name}: about {format_span(left)} left")
        try:
            with closing(find_target(side.target)) as target:
                prepared = prepare(
                    target, side.target, [self._address.test], replace(side.options, name=name)
                )
                return self._campaign(replace(prepared, plan=self._equal_work(prepared.plan)))
        except (PlanError, StoreError):
            raise
        except HardstoneError as error:
            tell_error(error, f"{name}: ")
            return PairedRun(None, str(error))
        except KeyboardInterrupt:
            self.is_cut = True
            return PairedRun(None, "interrupted")

    def _equal_work(self, plan: Plan) -> Plan:
        """With what the first run calibrated: times of unequal work cannot be compared."""
        return msgspec.structs.replace(plan, tests=[carried(plan.tests[0], self._results)])

    def _campaign(self, prepared: Prepared) -> PairedRun:
        from hardstone.cli.progress import make_reporter

        store = open_store(self._options.store, prepared.target)
        is_quiet = self._options.quiet or not sys.stderr.isatty()
        with make_reporter(quiet=is_quiet) as reporter:
            wait_s = self._options.wait_s
            campaign = Campaign(prepared.target, store, reporter.take, wait_s=wait_s)
            outcome = campaign.run(prepared.plan, prepared.facts, prepared.register)
        if outcome.problem is not None:
            raise outcome.problem
        self._stored.append(outcome.document.id)
        self._results += outcome.document.results
        self.is_cut |= outcome.exit_code == EXIT_INTERRUPTED
        return PairedRun(outcome.document, _problem(outcome.document, outcome.exit_code))

    def notes(self, *, with_tails: bool) -> list[str]:
        """What a reader must know of all pairs."""
        found = [f"{len(self._stored)} runs are stored; see hardstone runs"]
        if not with_tails and self._options.tails is None:
            found.append(f"a virtual machine: {ONLY_MEDIANS}")
        return found


def _problem(document: RunDocument, code: int) -> str:
    return "" if code == EXIT_OK else f"the run is {document.status}"


_MOST_BYTES = 1 << 24
CHOSEN_LATER = (
    "not what the pairs were measured for: an outcome that was looked for afterwards is a reason "
    "to measure anew, and no proof"
)
SAYS_OTHERWISE = (
    "the file says otherwise of these pairs than their runs do: it was changed, or is of another "
    "version of hardstone"
)


def gate_again(words: Sequence[str], options: GateOptions) -> int:
    """Judges the pairs that a file names: the exit code."""
    if len(words) > 1:
        raise InputError("--again judges one series", f"name one of {', '.join(words)[:80]}")
    path = options.again or Path()
    measured = read_measured_pairs(_read(path), str(path))
    asked = _asked(measured.judged_by, words, options)
    check_files(options)
    store = open_store(options.store)
    runs = [_runs(store, number, pair) for number, pair in enumerate(measured.pairs, 1)]
    notes = ["judged again from stored runs"]
    as_asked_before = _judged(measured, runs, measured.judged_by)
    if _said(as_asked_before.statistics) != _said(measured.statistics):
        notes.append(SAYS_OTHERWISE)
        asked = msgspec.structs.replace(asked, is_chosen_later=True)
    if asked.is_chosen_later:
        notes.append(CHOSEN_LATER)
    if not asked.has_tails and options.tails is None:
        notes.append(ONLY_MEDIANS)
    return tell_outcome(_judged(measured, runs, asked, notes), options)


def _judged(
    measured: MeasuredPairs,
    runs: Sequence[tuple[PairedRun, PairedRun]],
    asked: JudgedBy,
    notes: Sequence[str] = (),
) -> GateDocument:
    """The outcome of the stored `runs` for what is asked."""
    first = parse_address(measured.judged_by.address)
    before = [_before(first, *one) for one in zip(measured.pairs, runs, strict=True)]
    # Pairs that are missing could have decided only where enough of them count.
    can_decide = sum(not one.left_out for one in before) >= LEAST_PAIRS
    is_short = len(before) < _pairs_asked(runs) and can_decide
    return check_pairs(
        parse_address(asked.address),
        runs,
        measured.sides,
        deadline_ns=asked.deadline_ns,
        has_tails=asked.has_tails,
        margin=asked.margin,
        alpha=asked.alpha,
        is_cut=asked.is_cut or is_short,
        is_chosen_later=asked.is_chosen_later,
        before=before,
        notes=notes,
    )


def _said(statistics: Sequence[PairGate]) -> list[tuple[object, ...]]:
    return [
        (one.statistic, one.margin, one.confidence, one.pairs_count, one.outcome)
        for one in statistics
    ]


def _asked(before: JudgedBy, words: Sequence[str], options: GateOptions) -> JudgedBy:
    """What is asked now: as before, but for what was typed. Once chosen later, always so: the
    outcome can be judged again, too."""
    changed: dict[str, Any] = {}
    if words:
        address, test = parse_address(words[0]), parse_address(before.address).test
        if address.test != test:
            raise InputError(f"{address.test} was not measured", f"name a series of {test}")
        changed["address"] = str(address)
    for name, key, read in (
        ("deadline", "deadline_ns", deadline_of),
        ("margin", "margin", margin_of),
        ("alpha", "alpha", alpha_of),
    ):
        typed = getattr(options, name)
        if typed is not None:
            changed[key] = read(typed)
    if options.tails is not None:
        changed["has_tails"] = options.tails
    asked = msgspec.structs.replace(before, **changed)
    return before if asked == before else msgspec.structs.replace(asked, is_chosen_later=True)


def _runs(store: Store, number: int, pair: Pair) -> tuple[PairedRun, PairedRun]:
    return _stored(store, "A", number, pair), _stored(store, "B", number, pair)


def _stored(store: Store, side: str, number: int, pair: Pair) -> PairedRun:
    run_id = pair.first if side == "A" else pair.second
    if run_id is None and pair.left_out:
        return PairedRun(None)
    if run_id is None or not is_run_id(run_id) or not store.path_of(run_id).is_file():
        shown = "a run" if run_id is None else f"run {one_line(run_id)[:60]}"
        raise InputError(
            f"--again: {shown} of pair {number} is not in this store",
            "name the store that has all of them: --store DIR",
        )
    document = store.load(run_id)
    if pairs_asked(document.name, side, number) is None:
        raise InputError(
            f"--again: run {run_id} was not measured as {side} in pair {number}", "measure anew"
        )
    return PairedRun(document)


def _pairs_asked(runs: Sequence[tuple[PairedRun, PairedRun]]) -> int:
    """When they were measured. InputError where that differs: they are of several measurements."""
    found = {
        pairs_asked(one.document.name, side, number)
        for number, pair in enumerate(runs, 1)
        for side, one in zip("AB", pair, strict=True)
        if one.document is not None
    }
    if len(found) > 1:
        raise InputError("--again: the pairs are of several measurements", "measure anew")
    return next(iter(found), None) or 0


def _before(address: Address, pair: Pair, runs: tuple[PairedRun, PairedRun]) -> Pair:
    """The pair as its runs, where it has both, say that it was judged when it was measured."""
    if any(one.document is None for one in runs):
        return pair
    return msgspec.structs.replace(pair, left_out=why_left_out(address, runs))


def _read(path: Path) -> bytes:
    try:
        return read_regular(path.resolve(), _MOST_BYTES)
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(
            f"--again: {path} cannot be read: {reason}", "name another file"
        ) from error
