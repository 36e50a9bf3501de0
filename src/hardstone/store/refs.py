"""Which run a person means."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from hardstone.errors import InputError
from hardstone.store.run_summary import RunEntry

LAST = "last"
_NUMBER = re.compile(" [0-9]{1,4} of [0-9]{1,4}$", re.ASCII)
_NONE: Mapping[str, str] = MappingProxyType({})


def find_run(
    reference: str, entries: Sequence[RunEntry], unreadable: Mapping[str, str] = _NONE
) -> RunEntry:
    """The run called `reference`: "last", an id, a name (its latest run), or a prefix of an id.
    "good" also names the repeats that are called "good 3 of 10".

    `entries` are ordered by id, and so by start. `unreadable` has the reasons of runs that cannot
    be read. InputError: with that reason for one of those; with the nearest names for an unknown
    one; with the candidates for a prefix of several.
    """
    ids = sorted({*(entry.id for entry in entries), *unreadable})
    if not ids:
        raise InputError("the store holds no runs", "measure one: hardstone evaluate")
    if not reference:
        raise _unknown(reference, entries)
    if reference == LAST:
        return _readable(ids[-1], entries, unreadable)
    if reference in ids:
        return _readable(reference, entries, unreadable)
    named = [entry for entry in entries if reference in (entry.name, _repeated(entry))]
    if named:
        return named[-1]
    begun = [run_id for run_id in ids if run_id.startswith(reference)]
    if len(begun) == 1:
        return _readable(begun[0], entries, unreadable)
    raise _ambiguous(reference, begun) if begun else _unknown(reference, entries)


def _repeated(entry: RunEntry) -> str | None:
    """The name that repeats have in common."""
    return _NUMBER.sub("", entry.name) if entry.repeats else None


def unreadable_run(run_id: str, reason: str, readable: Sequence[RunEntry]) -> InputError:
    """The error for a run that cannot be read; its remedy names one that can."""
    remedy = f"the newest that can be read: hardstone show {readable[-1].id}" if readable else ""
    return InputError(f"run {run_id} cannot be read: {reason}", remedy)


def _readable(run_id: str, entries: Sequence[RunEntry], unreadable: Mapping[str, str]) -> RunEntry:
    for entry in entries:
        if entry.id == run_id:
            return entry
    raise unreadable_run(run_id, unreadable[run_id], entries)


def _ambiguous(reference: str, ids: Sequence[str]) -> InputError:
    return InputError(
        f"'{reference}' matches {len(ids)} runs",
        f"type more of one: {', '.join(ids[-3:])}" + (", ..." if len(ids) > 3 else ""),
    )


def _unknown(reference: str, entries: Sequence[RunEntry]) -> InputError:
    words = list(dict.fromkeys(word for entry in reversed(entries) for word in _words(entry)))
    near = difflib.get_close_matches(reference, words, n=3, cutoff=0.5)
    remedy = f"did you mean {', '.join(near)}?" if near else "see all: hardstone runs"
    return InputError(f"there is no run '{reference[:60]}'", remedy)


def _words(entry: RunEntry) -> tuple[str, ...]:
    return (entry.name, entry.id) if entry.name else (entry.id,)
