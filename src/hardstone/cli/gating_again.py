"""`hardstone gate --again FILE`: the stored runs of `--pairs`, judged once more without measuring.

FILE is what `--pairs --json` printed: it names the runs of each pair. A pair that did not count
then does not count now, and a run that is missing ends the command: pairs that are left out by
whoever looks at them would decide the outcome.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from hardstone.cli.gate_files import check_files, tell_outcome
from hardstone.cli.gate_numbers import alpha_of, deadline_of, margin_of
from hardstone.cli.open_store import open_store
from hardstone.errors import InputError
from hardstone.files import one_line, read_regular
from hardstone.gate import JudgedBy, Pair, PairedRun, check_pairs, read_measured_pairs
from hardstone.published import parse_address
from hardstone.store import Store
from hardstone.store.place import is_run_id

_MOST_BYTES = 1 << 24
CHOSEN_LATER = (
    "not what the pairs were measured for: an outcome that was looked for afterwards is a reason "
    "to measure anew, and no proof"
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
    if asked != measured.judged_by:
        notes.append(CHOSEN_LATER)
    document = check_pairs(
        parse_address(asked.address),
        runs,
        measured.sides,
        deadline_ns=asked.deadline_ns,
        has_tails=asked.has_tails,
        margin=asked.margin,
        alpha=asked.alpha,
        is_cut=asked.is_cut,
        before=measured.pairs,
        notes=notes,
    )
    return tell_outcome(document, options)


def _asked(before: JudgedBy, words: Sequence[str], options: Mapping[str, Any]) -> JudgedBy:
    """What is asked now: as before, but for what was typed."""
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
    return msgspec.structs.replace(before, **changed)


def _runs(store: Store, number: int, pair: Pair) -> tuple[PairedRun, PairedRun]:
    if pair.left_out:
        return PairedRun(None), PairedRun(None)
    return _stored(store, number, pair.first), _stored(store, number, pair.second)


def _stored(store: Store, number: int, run_id: str | None) -> PairedRun:
    if run_id is None or not is_run_id(run_id) or not store.path_of(run_id).is_file():
        shown = "a run" if run_id is None else f"run {one_line(run_id)[:60]}"
        raise InputError(
            f"--again: {shown} of pair {number} is not in this store",
            "name the store that has all of them: --store DIR",
        )
    return PairedRun(store.load(run_id))


def _read(path: Path) -> bytes:
    try:
        return read_regular(path.resolve(), _MOST_BYTES)
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(
            f"--again: {path} cannot be read: {reason}", "name another file"
        ) from error
