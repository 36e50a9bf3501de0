"""Gates stored runs against limits and baselines; files and summaries that every gate writes."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from decimal import Decimal
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from hardstone.catalogue import load_catalogue
from hardstone.cli.gate import GateOptions
from hardstone.cli.messages import print_json, printed, tell, tell_error
from hardstone.cli.open_store import open_store
from hardstone.cli.repeats import repeats_of
from hardstone.errors import EXIT_OK, EXIT_UNTRUSTWORTHY, HardstoneError, InputError
from hardstone.files import open_checked, read_regular, replace_file, write_all
from hardstone.gate import (
    Check,
    GateDocument,
    Limit,
    check_against_runs,
    check_limits,
    gate_document,
    github_summary,
    junit_xml,
    limits_of_study,
    limits_text,
    more_runs,
    read_limits,
    suggest_limits,
    why_other_system,
)
from hardstone.gate.pairs import MOST_MARGIN
from hardstone.model import RunDocument
from hardstone.stats.run_gate import DIFFERENCE, LEAST_RUNS, MOST_RUNS
from hardstone.store import Store
from hardstone.systems.subjects import (
    PREFIX,
    MeasuredRun,
    PublishedSystem,
    published_system,
    subjects_of,
)
from hardstone.units import parse_duration_ns

ONLY_MEDIANS = "only medians are judged (--tails judges p99, p99.9)"
_PERCENT = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,6})?) ?%", re.ASCII)
_MOST_ALPHA = 0.1


def margin_of(text: str) -> float:
    """0.25 of "25%"; InputError for anything that is no margin."""
    margin = _share(text)
    if not 0 < margin <= MOST_MARGIN:
        raise InputError(f"--margin: '{_shown(text)}' is not a margin", "write 25%")
    return margin


def alpha_of(text: str) -> float:
    """0.01 of "1%"; InputError for anything that is no level of a test."""
    alpha = _share(text)
    if not 0 < alpha <= _MOST_ALPHA:
        raise InputError(
            f"--alpha: '{_shown(text)}' is not a level up to {100 * _MOST_ALPHA:.0f} %", "write 1%"
        )
    return alpha


def deadline_of(text: str) -> int:
    """A deadline in ns; InputError for anything else."""
    try:
        return parse_duration_ns(text, bare="us")
    except ValueError as error:
        raise InputError(f"--deadline: {error}", "write --deadline 100us") from None


def _share(text: str) -> float:
    """0 if it is none."""
    found = _PERCENT.fullmatch(text.strip())
    return float(Decimal(found[1]) / 100) if found else 0.0


def _shown(text: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in text)[:40]


_VARIABLE = "GITHUB_STEP_SUMMARY"


def check_files(options: GateOptions) -> None:
    """InputError for a file that cannot be written: told before hours of measuring."""
    for option, path in (("--junit", options.junit), ("--github", _summary_place(options))):
        if path is not None:
            _check(option, path)


def tell_outcome(document: GateDocument, options: GateOptions) -> int:
    """Prints and writes `document`: the exit code, that of the outcome."""
    from hardstone.gate.screen import print_gate

    problem = printed(lambda: print_json(document) if options.as_json else print_gate(document))
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
    """To GitHub's file it is added: others write there too."""
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


def write_text(option: str, path: Path, text: str) -> None:
    """Writes `text` to the file of `option`; InputError if that fails."""
    _check(option, path)
    _replace(option, path, text.encode("utf-8", "replace"))
    tell(f"limits: {path}")


_MOST_BYTES = 1 << 20
_DEFAULT_MARGIN = "25%"
MOST_READ = 200
System = MeasuredRun | PublishedSystem


def gate_by_limits(words: Sequence[str], options: GateOptions) -> int:
    """Holds the runs and studies `words` against a file: the exit code."""
    check_files(options)
    path = options.limits or Path()
    store = _Store(options)
    systems = [store.systems(word) for word in words]
    limits = _of_tests(_read(path, systems), options.pattern, str(path))
    checks = [check for one in systems for check in check_limits(limits, one)]
    named = [_name(one) for one in systems]
    return tell_outcome(gate_document("limits", named, [str(path)], checks), options)


def gate_by_baseline(words: Sequence[str], options: GateOptions) -> int:
    """Holds the runs `words` against runs, or against the figures of a study: the exit code."""
    check_files(options)
    store = _Store(options)
    difference = None if options.margin is None else margin_of(options.margin)
    systems = [store.systems(word) for word in words]
    bases = [store.baselines(word) for word in options.baselines]
    pattern = options.pattern.upper()
    checks: list[Check] = []
    notes: list[str] = []
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
        held = check_against_runs(
            own,
            [subjects_of(base) for base in chosen.runs],
            difference=DIFFERENCE if difference is None else difference,
            is_wanted=lambda test: fnmatchcase(test, pattern),
            more=more_runs(runs[0]),
        )
        checks += held.checks
        notes += [note for note in [*chosen.notes, *held.notes] if note not in notes]
        used += [run_id for run_id in held.used if run_id not in used]
    named = [_name(one) for one in systems]
    against = [
        _name_of_base(word, base) for word, base in zip(options.baselines, bases, strict=True)
    ]
    document = gate_document("baseline", named, against, checks, notes=notes, baselines=used)
    return tell_outcome(document, options)


def suggest(words: Sequence[str], options: GateOptions) -> int:
    """Writes limits that all runs `words` pass: the exit code."""
    margin = margin_of(options.margin or _DEFAULT_MARGIN)
    store = _Store(options)
    found = [store.systems(word) for word in words]
    runs = [_runs_of(one) for one in found]
    for word, one in zip(words, runs, strict=True):
        if not one:
            raise InputError(f"{word}: limits are made from runs", "gate against it: --baseline")
    suggestions = [
        one
        for one in suggest_limits(runs, margin)
        if fnmatchcase(one.limit.address.test, options.pattern.upper())
    ]
    text = limits_text(suggestions, [_name(one) for one in found], margin)
    used = sum(not one.left_out for one in suggestions)
    if options.as_json:
        print_json(suggestions)
    elif options.output is None:
        problem = printed(lambda: _print(text))
        if problem is not None:
            return problem
    else:
        write_text("-o", options.output, text)
    tell(f"{used} limits, {len(suggestions) - used} left out, with the reasons in the file")
    return EXIT_OK if used else EXIT_UNTRUSTWORTHY


def _print(text: str) -> None:
    sys.stdout.write(text)


class Baselines(NamedTuple):
    """Baselines, and in words which of them were not named."""

    runs: list[RunDocument]
    notes: list[str]


class _Store:
    """The store, opened when the first run is asked for."""

    def __init__(self, options: GateOptions) -> None:
        self._root: Path | None = options.store
        self._opened: Store | None = None

    def systems(self, word: str) -> list[System]:
        """The systems of a run, one for each condition, or the one of a study."""
        if word.lower().startswith(PREFIX):
            return [published_system(word.lower())]
        return list(subjects_of(self._open().load(word)))

    def baselines(self, word: str) -> list[RunDocument | PublishedSystem]:
        """The runs that `word` names, all of them where it was repeated; or a study."""
        if word.lower().startswith(PREFIX):
            return [published_system(word.lower())]
        store = self._open()
        document = store.load(word)
        ids = repeats_of(store, document)
        return [*(list(store.load_each(ids)) if ids else [document])]

    def with_others(self, named: Sequence[RunDocument], own: RunDocument) -> Baselines:
        """The baselines for `own`: those that are named, and if they are few all of the store that
        are of the same system and plan and are older than it."""
        runs = list({one.id: one for one in named if one.id != own.id}.values())
        notes = ["a run is no baseline of itself"] if len(runs) < len(named) else []
        if len(runs) >= LEAST_RUNS:
            return Baselines(runs, notes)
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
        alike = [
            one
            for one in store.load_each([one.id for one in entries[-MOST_READ:]])
            if why_other_system(kind, one) is None
        ][-(MOST_RUNS - len(runs)) :]
        if alike:
            told = "1 more run" if len(alike) == 1 else f"{len(alike)} more runs"
            notes.append(
                f"{told} of the same system and plan, from {alike[0].id} to {alike[-1].id}, are "
                "baselines too: what varies between runs takes more than were named"
            )
        return Baselines([*runs, *alike], notes)

    def _open(self) -> Store:
        if self._opened is None:
            self._opened = open_store(self._root)
        return self._opened


def _read(path: Path, systems: Sequence[Sequence[System]]) -> list[Limit]:
    try:
        data = read_regular(path.resolve(), _MOST_BYTES)
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(
            f"--limits: {path} cannot be read: {reason}", "name another file"
        ) from error
    tests = dict.fromkeys(load_catalogue().ids())
    for one in systems:
        for system in one:
            tests |= dict.fromkeys(system.tests())
    return read_limits(data, list(tests), str(path))


def _of_tests(limits: Sequence[Limit], pattern: str, path: str) -> list[Limit]:
    found = [one for one in limits if fnmatchcase(one.address.test, pattern.upper())]
    if not found:
        raise InputError(f"{path} has no limit for a test '{pattern[:60]}'", "leave out --test")
    return found


def _runs_of(systems: Sequence[System]) -> list[MeasuredRun]:
    return [one for one in systems if isinstance(one, MeasuredRun)]


def _name_of_base(word: str, base: Sequence[RunDocument | PublishedSystem]) -> str:
    one, last = base[0], base[-1]
    if isinstance(one, PublishedSystem):
        return _name([one])
    told = f"{one.id} {one.name}".strip()
    return told if len(base) == 1 else f"{word}: {len(base)} runs, {told} to {last.id}"


def _name(systems: Sequence[System]) -> str:
    """A run by ID and name, a study with hardware and year."""
    one = systems[0]
    if isinstance(one, MeasuredRun):
        return f"{one.id} {one.document.name}".strip()
    machine = one.conditions.get("machine")
    told = ", ".join(filter(None, (one.study.reading.short, machine, one.year)))
    return f"{one.id} ({told})"
