"""Gates stored runs against limits and baselines, and pairs measured by turns; what every gate
writes.

Both sides of pairs get options of `hardstone run`, read by its own parser and never by a shell.

The FILE of --again is what `--pairs --json` printed: it names the runs of each pair. A run that is
missing, or that was measured in another pair or on the other side, ends the command: whoever
chooses the pairs would decide the outcome. A pair that did not count then does not count now.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from decimal import Decimal
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

import click
import msgspec

from hardstone.campaign.campaign import Campaign
from hardstone.campaign.collect import carried
from hardstone.catalogue import kind_of, load_catalogue
from hardstone.cli.gate import GateOptions
from hardstone.cli.measure import Prepared, prepare
from hardstone.cli.messages import print_json, printed, tell, tell_error
from hardstone.cli.open_store import open_store
from hardstone.cli.options import lab_target, read_count, typed_options
from hardstone.cli.repeats import repeats_of
from hardstone.cli.run import RunOptions
from hardstone.errors import (
    EXIT_INTERRUPTED,
    EXIT_OK,
    EXIT_UNTRUSTWORTHY,
    HardstoneError,
    InputError,
    printable,
    worst_code,
)
from hardstone.files import open_checked, read_regular, replace_file, write_all
from hardstone.gate.against_limits import check_limits, limits_of_study, limits_text, suggest_limits
from hardstone.gate.against_run import check_against_runs, more_runs, why_other_system
from hardstone.gate.limits import Limit, read_limits
from hardstone.gate.outcome import (
    Check,
    GateDocument,
    JudgedBy,
    Pair,
    gate_document,
    github_summary,
    junit_xml,
    lava_lines,
)
from hardstone.gate.pairs import (
    MOST_MARGIN,
    MeasuredPairs,
    PairedRun,
    check_pairs,
    pairs_asked,
    read_measured_pairs,
    run_name,
    why_left_out,
)
from hardstone.model import Result, RunDocument
from hardstone.plan.params import PlanError
from hardstone.present.origin import imported_lines
from hardstone.stats.resampling import MOST_PAIRS
from hardstone.stats.run_gate import ALPHA, DIFFERENCE, LEAST_PAIRS, LEAST_RUNS, MOST_RUNS, PairGate
from hardstone.store.place import StoreError, is_run_id
from hardstone.store.store import Store
from hardstone.systems.published import Address, parse_address
from hardstone.systems.subjects import (
    PREFIX,
    MeasuredRun,
    PublishedSystem,
    published_system,
    subjects_of,
)
from hardstone.targets import find_target
from hardstone.units import format_span, parse_duration_ns

_ONLY_MEDIANS = "only medians are judged (--tails judges p99, p99.9)"
_PERCENT = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,6})?) ?%", re.ASCII)
_MOST_ALPHA = 0.1


def _margin_of(text: str) -> float:
    """0.25 of "25%"; InputError for anything that is no margin."""
    margin = _share(text)
    if not 0 < margin <= MOST_MARGIN:
        raise InputError(f"--margin: '{printable(text)[:40]}' is not a margin", "write 25%")
    return margin


def _alpha_of(text: str) -> float:
    """0.01 of "1%"; InputError for anything that is no level of a test."""
    alpha = _share(text)
    if not 0 < alpha <= _MOST_ALPHA:
        raise InputError(
            f"--alpha: '{printable(text)[:40]}' is not a level up to {100 * _MOST_ALPHA:.0f} %",
            "write 1%",
        )
    return alpha


def _deadline_of(text: str) -> int:
    """A deadline in ns; InputError for anything else."""
    try:
        return parse_duration_ns(text, bare="us")
    except ValueError as error:
        raise InputError(f"--deadline: {error}", "write --deadline 100us") from None


def _share(text: str) -> float:
    """0.25 of "25%"; 0 if it is no share."""
    found = _PERCENT.fullmatch(text.strip())
    return float(Decimal(found[1]) / 100) if found else 0.0


_VARIABLE = "GITHUB_STEP_SUMMARY"


def _check_files(options: GateOptions) -> None:
    """InputError for a file that cannot be written, before hours of measuring."""
    for option, path in (("--junit", options.junit), ("--github", _summary_place(options))):
        if path is not None:
            _check(option, path)


def _tell_outcome(document: GateDocument, options: GateOptions) -> int:
    """Prints and writes `document`: the exit code, that of the outcome."""
    from hardstone.gate.screen import print_gate

    def show() -> None:
        if options.as_json:
            print_json(document)
            return
        print_gate(document)
        if options.lava:
            click.echo("\n".join(lava_lines(document)))

    problem = printed(show)
    code = document.exit_code or problem or EXIT_OK
    for write in (_write_junit, _write_summary):
        try:
            write(document, options)
        except HardstoneError as error:
            tell_error(error)
            code = code or error.exit_code
    return code


def _write_junit(document: GateDocument, options: GateOptions) -> None:
    path: Path | None = options.junit
    if path is not None:
        from hardstone.campaign.campaign import now_utc

        _replace("--junit", path, junit_xml(document, now_utc(), os.uname().nodename))


def _write_summary(document: GateDocument, options: GateOptions) -> None:
    """Writes the summary; to GitHub's file it is added, since others write there too."""
    path = _summary_place(options)
    if path is None:
        return
    data = github_summary(document).encode("utf-8", "replace")
    if options.github:
        _replace("--github", path, data)
        return
    try:
        descriptor = open_checked(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        try:
            write_all(descriptor, data)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise _unwritable("--github", path, error) from error


def _summary_place(options: GateOptions) -> Path | None:
    asked: str | None = options.github
    if asked is None:
        return None
    place = asked or os.environ.get(_VARIABLE, "")
    if not place:
        raise InputError(f"--github: ${_VARIABLE} is not set", "name a file: --github FILE")
    return Path(place)


def _check(option: str, path: Path) -> None:
    from hardstone.files import regular_target

    try:
        target = regular_target(path)
    except OSError as error:
        raise _unwritable(option, path, error) from error
    except InputError:
        raise InputError(f"{option}: {path} is not a regular file", "name another file") from None
    folder = target.parent
    if not folder.is_dir():
        raise InputError(f"{option}: there is no folder {folder}", "name another file")
    places = [folder, target] if target.exists() else [folder]
    if not all(os.access(place, os.W_OK) for place in places):
        raise InputError(f"{option}: {path} cannot be written", "name another file")


def _replace(option: str, path: Path, data: bytes) -> None:
    from hardstone.files import regular_target

    try:
        replace_file(regular_target(path), data, None, is_durable=False)
    except OSError as error:
        raise _unwritable(option, path, error) from error


def _unwritable(option: str, path: Path, error: OSError) -> InputError:
    reason = error.strerror or str(error)
    return InputError(f"{option}: {path} cannot be written: {reason}", "name another file")


def _read_file(option: str, path: Path, most_bytes: int) -> bytes:
    try:
        return read_regular(path.resolve(), most_bytes)
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(
            f"{option}: {path} cannot be read: {reason}", "name another file"
        ) from error


_MOST_BYTES = 1 << 20
_DEFAULT_MARGIN = "25%"
_MOST_READ = 200
_System = MeasuredRun | PublishedSystem


def gate_by_limits(words: Sequence[str], options: GateOptions) -> int:
    """Holds the runs and studies `words` against a file: the exit code."""
    _check_files(options)
    path = options.limits or Path()
    store = _Store(options)
    systems = [store.systems(word) for word in words]
    limits = _limits(path, systems, options.pattern)
    checks = [check for one in systems for check in check_limits(limits, one)]
    named = [_name(one) for one in systems]
    document = gate_document("limits", named, [str(path)], checks, notes=_origins(systems))
    return _tell_outcome(document, options)


def _origins(systems: Sequence[Sequence[_System]]) -> list[str]:
    """Whose figures they are that were read from files, and what these do not say."""
    runs = [one.document for each in systems for one in each if isinstance(one, MeasuredRun)]
    found = [(one.id, imported_lines(one)) for one in runs]
    return list(dict.fromkeys(f"{run}: {'. '.join(lines)}" for run, lines in found if lines))


def gate_by_baseline(words: Sequence[str], options: GateOptions) -> int:
    """Holds the runs `words` against runs, or against the figures of a study: the exit code."""
    _check_files(options)
    store = _Store(options)
    difference = None if options.margin is None else _margin_of(options.margin)
    systems = [store.systems(word) for word in words]
    bases = [store.baselines(word) for word in options.baselines]
    pattern = options.pattern.upper()
    checks: list[Check] = []
    notes = _origins(systems)
    used: list[str] = []
    studies = [one for base in bases for one in base if isinstance(one, PublishedSystem)]
    runs = [one for base in bases for one in base if isinstance(one, RunDocument)]
    for study in studies:
        limits, open_ended = limits_of_study(study, pattern)
        notes += open_ended
        checks += [check for one in systems for check in check_limits(limits, one)]
    for one in systems if runs else []:
        own = _runs_of(one)
        if not own:
            raise InputError(
                f"{_name(one)} has no distribution to compare with a run",
                "hold it against limits, or against another study",
            )
        chosen = store.with_others(runs, own[0].document)
        found = check_against_runs(
            own,
            [subjects_of(base) for base in chosen.runs],
            difference=DIFFERENCE if difference is None else difference,
            is_wanted=lambda test: fnmatchcase(test.upper(), pattern),
            more=more_runs(runs[0]),
        )
        checks += found.checks
        notes += [note for note in [*chosen.notes, *found.notes] if note not in notes]
        used += [run_id for run_id in found.used if run_id not in used]
    named = [_name(one) for one in systems]
    against = [
        _name_of_base(word, base) for word, base in zip(options.baselines, bases, strict=True)
    ]
    document = gate_document("baseline", named, against, checks, notes=notes, baselines=used)
    return _tell_outcome(document, options)


def suggest(words: Sequence[str], options: GateOptions) -> int:
    """Writes limits that all runs `words` pass: the exit code."""
    margin = _margin_of(options.margin or _DEFAULT_MARGIN)
    store = _Store(options)
    found = [store.systems(word) for word in words]
    runs = [_runs_of(one) for one in found]
    for word, one in zip(words, runs, strict=True):
        if not one:
            raise InputError(f"{word}: limits are made from runs", "gate against it: --baseline")
    suggestions = [
        one
        for one in suggest_limits(runs, margin)
        if fnmatchcase(one.limit.address.test.upper(), options.pattern.upper())
    ]
    text = limits_text(suggestions, [_name(one) for one in found], margin)
    used = sum(not one.left_out for one in suggestions)
    if options.as_json:
        print_json(suggestions)
    elif options.output is None:
        problem = printed(lambda: sys.stdout.write(text))
        if problem is not None:
            return problem
    else:
        _check("-o", options.output)
        _replace("-o", options.output, text.encode("utf-8", "replace"))
        tell(f"limits: {options.output}")
    tell(f"{used} limits, {len(suggestions) - used} left out, with the reasons in the file")
    return EXIT_OK if used else EXIT_UNTRUSTWORTHY


class _Baselines(NamedTuple):
    """Baselines, and in words which of them were not named."""

    runs: list[RunDocument]
    notes: list[str]


class _Store:
    """The store, which is opened when the first run is asked for: studies need none."""

    def __init__(self, options: GateOptions) -> None:
        self._root: Path | None = options.store
        self._opened: Store | None = None

    def systems(self, word: str) -> list[_System]:
        """The systems of a run, one for each condition, or the one of a study."""
        if word.lower().startswith(PREFIX):
            return [published_system(word.lower())]
        return list(subjects_of(self._open().look_up(word)))

    def baselines(self, word: str) -> list[RunDocument | PublishedSystem]:
        """The runs that `word` names, all of them where it was repeated; or a study."""
        if word.lower().startswith(PREFIX):
            return [published_system(word.lower())]
        store = self._open()
        document = store.look_up(word)
        if document.plan.repeat is None:
            return [document]
        ids = repeats_of(store, document)
        return [*(list(store.load_each(ids)) if ids else [document])]

    def with_others(self, named: Sequence[RunDocument], own: RunDocument) -> _Baselines:
        """The baselines for `own`: the named ones, and if they are few all older runs of the store
        of the same system and plan."""
        runs = list({one.id: one for one in named if one.id != own.id}.values())
        notes = ["a run is no baseline of itself"] if len(runs) < len(named) else []
        # Files of other tools say too little of a system to tell which are of the same one.
        if len(runs) >= LEAST_RUNS or named[0].imported is not None:
            return _Baselines(runs, notes)
        store, known, kind = self._open(), {one.id for one in runs}, named[0]
        entries = [
            one
            for one in store.runs()
            if one.id < own.id
            and one.id not in known
            and one.status == "complete"
            and (one.profile, one.target, one.tests)
            == (kind.plan.profile, kind.plan.target, len(kind.results))
            and not (
                own.plan.repeat is not None and one.repeats == (own.plan.repeat.first or own.id)
            )
        ]
        same = [
            one
            for one in store.load_each([one.id for one in entries[-_MOST_READ:]])
            if why_other_system(kind, one) is None
        ][-(MOST_RUNS - len(runs)) :]
        if same:
            count = "1 more run" if len(same) == 1 else f"{len(same)} more runs"
            notes.append(
                f"{count} of the same system and plan, from {same[0].id} to {same[-1].id}, are "
                "baselines too: what varies between runs takes more than were named"
            )
        return _Baselines([*runs, *same], notes)

    def _open(self) -> Store:
        if self._opened is None:
            self._opened = open_store(self._root)
        return self._opened


def _limits(path: Path, systems: Sequence[Sequence[_System]], pattern: str) -> list[Limit]:
    """The limits in a file, for tests of `pattern`; they may name tests of the `systems` too."""
    data = _read_file("--limits", path, _MOST_BYTES)
    tests = dict.fromkeys(load_catalogue().ids())
    for one in systems:
        for system in one:
            tests |= dict.fromkeys(system.tests())
    limits = read_limits(data, list(tests), str(path))
    found = [one for one in limits if fnmatchcase(one.address.test.upper(), pattern.upper())]
    if not found:
        raise InputError(f"{path} has no limit for a test '{pattern[:60]}'", "leave out --test")
    return found


def _runs_of(systems: Sequence[_System]) -> list[MeasuredRun]:
    return [one for one in systems if isinstance(one, MeasuredRun)]


def _name_of_base(word: str, base: Sequence[RunDocument | PublishedSystem]) -> str:
    one, last = base[0], base[-1]
    if isinstance(one, PublishedSystem):
        return _name([one])
    name = f"{one.id} {one.name}".strip()
    return name if len(base) == 1 else f"{word}: {len(base)} runs, {name} to {last.id}"


def _name(systems: Sequence[_System]) -> str:
    """A run by ID and name, a study with hardware and year."""
    one = systems[0]
    if isinstance(one, MeasuredRun):
        return f"{one.id} {one.document.name}".strip()
    machine = one.conditions.get("machine")
    source = ", ".join(filter(None, (one.study.reading.short, machine, one.year)))
    return f"{one.id} ({source})"


_REMEDY = "--first and --second take options of hardstone run"
# Of `hardstone run`: what the gate decides itself, by parameter.
_OWN = ("tests", "name", "output", "dry_run", "as_json", "quiet", "store", "resume", "wait_s")
_FORBIDDEN = ("compare_preemption", "export_json", "export_csv", "detach", "look_s")


@dataclass(frozen=True)
class _Side:
    """A or B: the options of `hardstone run`, the target, and the words that were typed."""

    name: str
    target: str
    options: RunOptions
    words: str


def gate_by_pairs(words: Sequence[str], options: GateOptions) -> int:
    """Measures and gates: the exit code."""
    remedy = f"give {LEAST_PAIRS} to {MOST_PAIRS}; 12 is usual"
    pairs = read_count("--pairs", options.pairs or "", 0, MOST_PAIRS, "pairs", remedy)
    if pairs < LEAST_PAIRS:
        raise InputError(
            f"--pairs {pairs}: fewer than {LEAST_PAIRS} pairs decide nothing",
            f"give at least {LEAST_PAIRS}",
        )
    if len(words) != 1:
        raise InputError("--pairs measures one test", f"name one of {', '.join(words)[:80]}")
    address = parse_address(words[0])
    deadline = None if options.deadline is None else _deadline_of(options.deadline)
    margin = None if options.margin is None else _margin_of(options.margin)
    alpha = ALPHA if options.alpha is None else _alpha_of(options.alpha)
    _check_files(options)
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
    code = _tell_outcome(document, options)
    return worst_code([code, EXIT_INTERRUPTED]) if session.is_cut else code


def _sides(address: Address, options: GateOptions) -> tuple[_Side, _Side]:
    targets = options.targets
    if len(targets) > 2:
        raise InputError(f"{len(targets)} targets: A and B are two", "give --target twice")
    chosen = targets if len(targets) == 2 else [*targets, *targets] or ["", ""]
    return (
        _side("A", options.first or "", address.test, chosen[0], options),
        _side("B", options.second or "", address.test, chosen[1], options),
    )


def _side(name: str, text: str, test: str, target: str, options: GateOptions) -> _Side:
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
    return _Side(name, chosen, settings, shown)


def _parsed(option: str, words: Sequence[str]) -> tuple[RunOptions, set[str]]:
    """The parameters of `hardstone run` with `words`, and which of them were typed; InputError for
    one that the gate decides."""
    from hardstone.cli.run import run

    if "--help" in words:
        raise InputError(f"{option}: --help is not for one side", "see hardstone run --help")
    try:
        context = run.make_context("run", list(words))
    except click.ClickException as error:
        raise InputError(f"{option}: {error.format_message().rstrip('.')}", _REMEDY) from None
    given = typed_options(context)
    for name in (*_OWN[1:], *_FORBIDDEN):
        if name in given:
            typed = name.removeprefix("as_").removesuffix("_s").replace("_", "-")
            raise InputError(f"{option}: --{typed} is not for one side", _REMEDY)
    if len(context.params["tests"]) != 1:
        raise InputError(f"{option}: it names another test", "leave it out")
    params = {key: one for key, one in context.params.items() if key != "tests"}
    return RunOptions(**params), given


class _Session:
    """All pairs, one run after the other."""

    def __init__(
        self, address: Address, sides: tuple[_Side, _Side], pairs: int, options: GateOptions
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
                tests = prepared.plan.tests
                if len(tests) != 1:
                    raise InputError(
                        f"{side.name} has {len(tests)} measurements",
                        "name one load and CPU configuration",
                    )
                self._expected_ns += tests[0].expected_ns
                self.is_quiet &= not prepared.facts.facts.get("virtual.hypervisor")
        if not self._options.quiet:
            total = format_span(self._expected_ns * self._pairs)
            tell(f"{self._pairs} pairs of {self._address.test}, ABBA, about {total}")

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
                count = len(self._stored)
                tell(
                    f"interrupted in pair {number} of {self._pairs}; {count} runs are stored:",
                    "hardstone runs",
                )
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

    def _run(self, side: _Side, number: int) -> PairedRun:
        name = run_name(side.name, number, self._pairs)
        if not self._options.quiet:
            left = self._expected_ns * (self._pairs - number + 1)
            tell(f"pair {number} of {self._pairs}, {side.name}: about {format_span(left)} left")
        try:
            with closing(find_target(side.target)) as target:
                prepared = prepare(
                    target, side.target, [self._address.test], replace(side.options, name=name)
                )
                # As the first run calibrated it: times of unequal work cannot be compared.
                tests = [carried(prepared.plan.tests[0], self._results)]
                plan = msgspec.structs.replace(prepared.plan, tests=tests)
                return self._campaign(replace(prepared, plan=plan))
        except (PlanError, StoreError):
            raise
        except HardstoneError as error:
            tell_error(error, f"{name}: ")
            return PairedRun(None, str(error))
        except KeyboardInterrupt:
            self.is_cut = True
            return PairedRun(None, "interrupted")

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
        return PairedRun(
            outcome.document,
            "" if outcome.exit_code == EXIT_OK else f"the run is {outcome.document.status}",
        )

    def notes(self, *, with_tails: bool) -> list[str]:
        """Notes on all pairs."""
        found = [f"{len(self._stored)} runs are stored; see hardstone runs"]
        if not with_tails and self._options.tails is None:
            found.append(f"a virtual machine: {_ONLY_MEDIANS}")
        return found


_MOST_PAIRS_BYTES = 1 << 24
_CHOSEN_LATER = (
    "not what the pairs were measured for: an outcome that was looked for afterwards is a reason "
    "to measure again, and no proof"
)
_SAYS_OTHERWISE = (
    "the file says otherwise of these pairs than their runs do: it was changed, or is of another "
    "version of hardstone"
)


def gate_again(words: Sequence[str], options: GateOptions) -> int:
    """Judges the pairs that a file names: the exit code."""
    if len(words) > 1:
        raise InputError("--again judges one series", f"name one of {', '.join(words)[:80]}")
    path = options.again or Path()
    measured = read_measured_pairs(_read_file("--again", path, _MOST_PAIRS_BYTES), str(path))
    asked = _asked(measured.judged_by, words, options)
    _check_files(options)
    store = open_store(options.store)
    runs = [
        (_stored(store, "A", number, pair), _stored(store, "B", number, pair))
        for number, pair in enumerate(measured.pairs, 1)
    ]
    notes = ["judged again from stored runs"]
    as_asked_before = _judged(measured, runs, measured.judged_by)
    if _decided(as_asked_before.statistics) != _decided(measured.statistics):
        notes.append(_SAYS_OTHERWISE)
        asked = msgspec.structs.replace(asked, is_chosen_later=True)
    if asked.is_chosen_later:
        notes.append(_CHOSEN_LATER)
    if not asked.has_tails and options.tails is None:
        notes.append(_ONLY_MEDIANS)
    return _tell_outcome(_judged(measured, runs, asked, notes), options)


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


def _decided(statistics: Sequence[PairGate]) -> list[tuple[object, ...]]:
    return [
        (one.statistic, one.margin, one.confidence, one.pairs_count, one.outcome)
        for one in statistics
    ]


def _asked(before: JudgedBy, words: Sequence[str], options: GateOptions) -> JudgedBy:
    """What is asked now: as before, but for what was typed. Once chosen later, it stays so: this
    outcome can be judged again, too."""
    changed: dict[str, Any] = {}
    if words:
        address, test = parse_address(words[0]), parse_address(before.address).test
        if address.test != test:
            raise InputError(f"{address.test} was not measured", f"name a series of {test}")
        changed["address"] = str(address)
    for name, key, read in (
        ("deadline", "deadline_ns", _deadline_of),
        ("margin", "margin", _margin_of),
        ("alpha", "alpha", _alpha_of),
    ):
        typed = getattr(options, name)
        if typed is not None:
            changed[key] = read(typed)
    if options.tails is not None:
        changed["has_tails"] = options.tails
    asked = msgspec.structs.replace(before, **changed)
    return before if asked == before else msgspec.structs.replace(asked, is_chosen_later=True)


def _stored(store: Store, side: str, number: int, pair: Pair) -> PairedRun:
    run_id = pair.first if side == "A" else pair.second
    if run_id is None and pair.left_out:
        return PairedRun(None)
    if run_id is None or not is_run_id(run_id) or not store.path_of(run_id).is_file():
        shown = "a run" if run_id is None else f"run {printable(run_id)[:60]}"
        raise InputError(
            f"--again: {shown} of pair {number} is not in this store",
            "name the store that has all of them: --store DIR",
        )
    document = store.load(run_id)
    if pairs_asked(document.name, side, number) is None:
        raise InputError(
            f"--again: run {run_id} was not measured as {side} in pair {number}", "measure again"
        )
    return PairedRun(document)


def _pairs_asked(runs: Sequence[tuple[PairedRun, PairedRun]]) -> int:
    """How many pairs were asked for when `runs` were measured; InputError where that differs: they
    are of several measurements."""
    found = {
        pairs_asked(one.document.name, side, number)
        for number, pair in enumerate(runs, 1)
        for side, one in zip("AB", pair, strict=True)
        if one.document is not None
    }
    if len(found) > 1:
        raise InputError("--again: the pairs are of several measurements", "measure again")
    return next(iter(found), None) or 0


def _before(address: Address, pair: Pair, runs: tuple[PairedRun, PairedRun]) -> Pair:
    """`pair`, with the reason of its `runs`, if it has both, for which it did not count."""
    if any(one.document is None for one in runs):
        return pair
    return msgspec.structs.replace(pair, left_out=why_left_out(address, runs))
