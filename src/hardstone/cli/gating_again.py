"""`hardstone gate --again FILE`: the stored runs of `--pairs`, judged once more without measuring.

FILE is what `--pairs --json` printed: it names the runs of each pair. A run that is missing ends
the command, and so does one that was measured in another pair or on the other side: whoever chooses
the pairs would decide the outcome. A pair that did not count then does not count now.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from hardstone.cli.gate_files import check_files, tell_outcome
from hardstone.cli.gate_numbers import ONLY_MEDIANS, alpha_of, deadline_of, margin_of
from hardstone.cli.open_store import open_store
from hardstone.errors import InputError
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
    why_left_out,
)
from hardstone.stats.run_gate import LEAST_PAIRS, PairGate
from hardstone.store import Store
from hardstone.store.place import is_run_id
from hardstone.systems.published import Address, parse_address

_MOST_BYTES = 1 << 24
CHOSEN_LATER = (
    "not what the pairs were measured for: an outcome that was looked for afterwards is a reason "
    "to measure anew, and no proof"
)
SAYS_OTHERWISE = (
    "the file says otherwise of these pairs than their runs do: it was changed, or is of another "
    "version of hardstone"
)


def gate_again(words: Sequence[str], options: Mapping[str, Any]) -> int:
    """Judges the pairs that a file names: the exit code."""
    if len(words) > 1:
        raise InputError("--again judges one series", f"name one of {', '.join(words)[:80]}")
    path: Path = options["again"]
    measured = read_measured_pairs(_read(path), str(path))
    asked = _asked(measured.judged_by, words, options)
    check_files(options)
    store = open_store(options["store"])
    runs = [_runs(store, number, pair) for number, pair in enumerate(measured.pairs, 1)]
    notes = ["judged again from stored runs"]
    as_asked_before = _judged(measured, runs, measured.judged_by)
    if _said(as_asked_before.statistics) != _said(measured.statistics):
        notes.append(SAYS_OTHERWISE)
        asked = msgspec.structs.replace(asked, is_chosen_later=True)
    if asked.is_chosen_later:
        notes.append(CHOSEN_LATER)
    if not asked.has_tails and options["tails"] is None:
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


def _asked(before: JudgedBy, words: Sequence[str], options: Mapping[str, Any]) -> JudgedBy:
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
        if options[name] is not None:
            changed[key] = read(options[name])
    if options["tails"] is not None:
        changed["has_tails"] = options["tails"]
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
