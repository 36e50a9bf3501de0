"""Which run a person means."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from hardstone.errors import InputError
from hardstone.store.index import RunEntry

LAST = "last"


def find_run(reference: str, entries: Sequence[RunEntry]) -> RunEntry:
    """The run called `reference`: "last", an id, a name (the latest of it), a prefix of ids.

    `entries` are ordered by start. InputError with the nearest names when there is none,
    with the candidates when a prefix fits several.
    """
    if not entries:
        raise InputError("the store holds no runs", "measure one: hardstone evaluate")
    if not reference:
        raise _unknown(reference, entries)
    if reference == LAST:
        return entries[-1]
    for exact in (
        [entry for entry in entries if entry.id == reference],
        [entry for entry in entries if entry.name == reference],
    ):
        if exact:
            return exact[-1]
    begun = [entry for entry in entries if entry.id.startswith(reference)]
    if len(begun) == 1:
        return begun[0]
    raise _ambiguous(reference, begun) if begun else _unknown(reference, entries)


def _ambiguous(reference: str, begun: Sequence[RunEntry]) -> InputError:
    ids = [entry.id for entry in begun]
    return InputError(
        f"'{reference}' fits {len(ids)} runs",
        f"write more of one: {', '.join(ids[-3:])}" + (", ..." if len(ids) > 3 else ""),
    )


def _unknown(reference: str, entries: Sequence[RunEntry]) -> InputError:
    words = list(dict.fromkeys(word for entry in reversed(entries) for word in _words(entry)))
    near = difflib.get_close_matches(reference, words, n=3, cutoff=0.5)
    remedy = f"did you mean {', '.join(near)}?" if near else "see all: hardstone runs"
    return InputError(f"there is no run '{reference[:60]}'", remedy)


def _words(entry: RunEntry) -> tuple[str, ...]:
    return (entry.name, entry.id) if entry.name else (entry.id,)
