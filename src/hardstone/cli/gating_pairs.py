"""`hardstone gate --pairs`: one test measured by turns as A and as B, ABBA, each a run of its own.

Both sides get options of `hardstone run`, read by its own parser and never by a shell.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

import click
import msgspec

from hardstone.campaign import Campaign
from hardstone.campaign.collect import carried
from hardstone.catalogue import kind_of
from hardstone.cli.gate_files import check_files, tell_outcome
from hardstone.cli.gate_numbers import ONLY_MEDIANS, alpha_of, deadline_of, margin_of
from hardstone.cli.lab_options import lab_target
from hardstone.cli.measuring import Prepared, prepare
from hardstone.cli.messages import tell, tell_error
from hardstone.cli.open_store import open_store
from hardstone.errors import (
    EXIT_INTERRUPTED,
    EXIT_OK,
    HardstoneError,
    InputError,
    worst_code,
)
from hardstone.gate import PairedRun, check_pairs, run_name, why_left_out
from hardstone.model import Plan, Result, RunDocument
from hardstone.plan import PlanError
from hardstone.stats.rank_tests import MOST_PAIRS
from hardstone.stats.run_gate import ALPHA, LEAST_PAIRS
from hardstone.store import StoreError
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
    options: Mapping[str, Any]
    words: str


def gate_by_pairs(words: Sequence[str], options: Mapping[str, Any]) -> int:
    """Measures and gates: the exit code."""
    pairs = _pairs(options["pairs"])
    if len(words) != 1:
        raise InputError("--pairs measures one test", f"name one of {', '.join(words)[:80]}")
    address = parse_address(words[0])
    deadline = None if options["deadline"] is None else deadline_of(options["deadline"])
    margin = None if options["margin"] is None else margin_of(options["margin"])
    alpha = ALPHA if options["alpha"] is None else alpha_of(options["alpha"])
    check_files(options)
    sides = _sides(address, options)
    session = _Session(address, sides, pairs, options)
    session.check()
    with_tails = session.is_quiet if options["tails"] is None else options["tails"]
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


def _sides(address: Address, options: Mapping[str, Any]) -> tuple[Side, Side]:
    targets = options["targets"]
    if len(targets) > 2:
        raise InputError(f"{len(targets)} targets: A and B are two", "give --target twice")
    chosen = targets if len(targets) == 2 else [*targets, *targets] or ["", ""]
    return (
        _side("A", options["first"] or "", address.test, chosen[0], options),
        _side("B", options["second"] or "", address.test, chosen[1], options),
    )


def _side(name: str, text: str, test: str, target: str, options: Mapping[str, Any]) -> Side:
    option = "--first" if name == "A" else "--second"
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise InputError(f"{option}: {error}", "close the quotes") from None
    parsed, given = _parsed(option, [test, *words])
    own = parsed.pop("target")
    has_own = "target" in given
    if len(own) != 1 or (has_own and options["targets"]):
        raise InputError(f"{option}: one target for each side", "name it once")
    settings = {**parsed, "output": None}
    settings |= {one: options[one] for one in ("store", "quiet", "wait_s")}
    chosen = lab_target(own[0] if has_own or not target else target, parsed)
    shown = " ".join(filter(None, (f"{name}:", chosen, text.strip())))
    return Side(name, chosen, settings, shown)


def _parsed(option: str, words: Sequence[str]) -> tuple[dict[str, Any], set[str]]:
    """The parameters of `hardstone run` with `words`, and which of them were typed; InputError for
    one that the gate decides."""
    from hardstone.cli.run import command

    if "--help" in words:
        raise InputError(f"{option}: --help is not for one side", "see hardstone run --help")
    try:
        context = command.make_context("run", list(words))
    except click.ClickException as error:
        raise InputError(f"{option}: {error.format_message().rstrip('.')}", _REMEDY) from None
    given = {
        name
        for name in context.params
        if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
    }
    for name in (*_OWN[1:], *_FORBIDDEN):
        if name in given:
            raise InputError(
                f"{option}: --{_typed(name)} is not for one side",
                _REMEDY,
            )
    if len(context.params["tests"]) != 1:
        raise InputError(f"{option}: it names another test", "leave it out")
    return dict(context.params), given


def _typed(name: str) -> str:
    """The option of a parameter."""
    return name.removeprefix("as_").removesuffix("_s").replace("_", "-")


class _Session:
    """All pairs, one run after the other."""

    def __init__(
        self, address: Address, sides: tuple[Side, Side], pairs: int, options: Mapping[str, Any]
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
        if not self._options["quiet"]:
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
        if not self._options["quiet"]:
            left = self._expected_ns * (self._pairs - number + 1)
            tell(f"pair {number} of {self._pairs}, {side.name}: about {format_span(left)} left")
        try:
            with closing(find_target(side.target)) as target:
                prepared = prepare(
                    target, side.target, [self._address.test], {**side.options, "name": name}
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

        store = open_store(self._options["store"], prepared.target)
        is_quiet = self._options["quiet"] or not sys.stderr.isatty()
        with make_reporter(quiet=is_quiet) as reporter:
            wait_s = self._options["wait_s"]
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
        if not with_tails and self._options["tails"] is None:
            found.append(f"a virtual machine: {ONLY_MEDIANS}")
        return found


def _problem(document: RunDocument, code: int) -> str:
    return "" if code == EXIT_OK else f"the run is {document.status}"
