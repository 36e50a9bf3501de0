"""The store of runs: documents, journals, and references to runs by id, name or "last"."""

from __future__ import annotations

import contextlib
import difflib
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from hardstone.errors import InputError
from hardstone.files import check_regular
from hardstone.memory import Recorder
from hardstone.model import RunDocument
from hardstone.store.documents import ReadAhead, RunEntry, read_stored
from hardstone.store.index import Index
from hardstone.store.journal import Journal, recorded_now
from hardstone.store.place import is_run_id, open_place
from hardstone.store.recovery import Dump, Reopen, recover_runs


class Store:
    """Runs in the folder `path`, by default $XDG_DATA_HOME/hardstone.

    The folder is made if it is missing. StoreError (an InputError, exit code 2) with the remedy
    if it cannot be made or read; one that cannot be written can be listed. A broken file affects
    nothing else: `on_problem` is called once for each, with one line. What its files may be:
    hardstone.files. The folder itself, "runs" and "journals" may be links, as to another disk;
    nothing that is in them may.
    """

    def __init__(
        self, path: Path | None = None, on_problem: Callable[[str], object] = lambda text: None
    ) -> None:
        self._place = open_place(path)
        self._on_problem = on_problem
        self._told: set[str] = set()
        self._index = Index(self._place, self._say)

    @property
    def path(self) -> Path:
        return self._place.root

    @property
    def unreadable(self) -> dict[str, str]:
        """After `runs`: the reason for each run whose document could not be read, by id."""
        return self._index.unreadable

    def journal(
        self, document: RunDocument, recorder: Recorder, *, resumes: str | None = None
    ) -> Journal:
        """Begins to record the run that `document`, still without results, describes.

        Its probes run on the target `recorder`. Its id must be a new one of `new_run_id`.
        `resumes`: the id of a stored run, to which it is added in the end. StoreError if the
        journal cannot be written, or another process records that run.
        """
        return Journal(self._place, document, recorder, resumes=resumes, stored=self._refresh_index)

    def recorded_now(self) -> list[str]:
        """The ids of runs that are being recorded, or whose recovery failed."""
        return list(recorded_now(self._place))

    def runs(self) -> list[RunEntry]:
        """All runs that can be read, oldest first."""
        return self._index.entries()

    def load(self, reference: str) -> RunDocument:
        """The run of an id, a unique prefix of one, a name (the latest), or "last".

        InputError if there is none, with the nearest names, or if it cannot be read: an older run
        never takes its place. `on_problem` is called if a newer run, which may have the same
        name, cannot be read.
        """
        if self._is_stored(reference):
            return read_stored(self._place, reference)
        document = self._load_found(reference)
        if reference not in (document.name, "last") and not document.id.startswith(reference):
            self._index.reread()
            document = self._load_found(reference)
        return document

    def load_each(self, references: Sequence[str]) -> Iterator[RunDocument]:
        """As `load` of each, in their order, in less time."""
        named = [one for one in references if self._is_stored(one)]
        with ReadAhead([self.path_of(one) for one in named]) as ahead:
            for one in references:
                if one in named:
                    yield read_stored(self._place, one, ahead.content)
                else:
                    yield self.load(one)

    def path_of(self, run_id: str) -> Path:
        """Where the document of a run is, or would be."""
        if not is_run_id(run_id):
            raise InputError(f"'{run_id[:60]}' is not the id of a run", "see all: hardstone runs")
        return self._place.document(run_id)

    def rebuild_index(self) -> int:
        """Makes the index again from summaries and documents; how many runs there are."""
        return self._index.rebuild()

    def recover(self, dump: Dump, reopen: Reopen) -> list[str]:
        """Stores the runs whose tool was ended, as incomplete ones; their ids.

        `reopen(name)` gives the target of that name, not yet reached, whose memory has the
        recording of the test that ran. `dump(path)` gives the stream lines of a copy on this
        machine (see `hardstone-probe dump`). Where a run cannot be stored, its journal stays; a
        damaged journal is set aside.
        """
        try:
            check_regular(self._place.journals_lock.lstat().st_mode)
        except FileNotFoundError:
            pass
        except OSError as error:
            self._say(f"{self._place.journals_lock} is not used: {error.strerror}; move it away")
        return recover_runs(self._place, dump, reopen, self._say)

    def _refresh_index(self) -> None:
        # The run is stored; the index is made at the latest when it is needed.
        with contextlib.suppress(InputError):
            self._index.entries()

    def _is_stored(self, reference: str) -> bool:
        """Whether it is the id of a run that is there."""
        return is_run_id(reference) and os.path.lexists(self.path_of(reference))

    def _load_found(self, reference: str) -> RunDocument:
        entries = self.runs()
        found = find_run(reference, entries, self.unreadable)
        try:
            document = read_stored(self._place, found.id)
        except InputError as error:
            others = [entry for entry in entries if entry.id != found.id]
            raise unreadable_run(found.id, str(error), others) from None
        newer = max(self.unreadable, default="")
        if newer > found.id and found.name == reference:
            self._say(f"run {newer} is newer and cannot be read: {self.unreadable[newer]}")
        return document

    def _say(self, problem: str) -> None:
        if problem not in self._told:
            self._told.add(problem)
            self._on_problem(problem)


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
