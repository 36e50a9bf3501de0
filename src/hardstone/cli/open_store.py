"""Opens the store for a command and recovers what a crash left.

Damage is reported on standard error and ends no command.
"""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from hardstone.calling import stay_in
from hardstone.cli.messages import tell
from hardstone.errors import EXIT_OK, EXIT_UNTRUSTWORTHY, InputError
from hardstone.model import RunDocument
from hardstone.stats.consistency import TITLE, Contradiction, contradiction_messages
from hardstone.store.store import Store
from hardstone.targets.host_memory import remove_abandoned

if TYPE_CHECKING:
    from hardstone.targets.base import Target


def open_store(root: Path | None, target: Target | None = None) -> Store:
    """The store in `root` or at its default place, once runs cut off by a crash are recovered."""
    stay_in(root)
    store = Store(root, tell)
    recover(store, target)
    return store


def recover(store: Store, target: Target | None = None) -> None:
    """Turns unfinished journals into runs, and reports each."""

    def of_name(name: str) -> Target:
        from hardstone.targets import find_target

        return find_target(name)

    def reopen(name: str) -> Target:
        if target is not None and target.name == name:
            return target
        try:
            return of_name(name)
        except InputError:  # of another version, or damaged
            return of_name("local")

    recovered = store.recover(lambda copy: of_name("local").dump(str(copy)), reopen)
    remove_abandoned(store.path / "journals")
    for run_id in recovered:
        tell(f"recovered {run_id}, which was cut off", f"hardstone show {run_id}")


def consistency_exit(document: RunDocument, known: Sequence[Contradiction] | None = None) -> int:
    """The exit code of a command that shows `document`; says on standard error why it is not 0.

    `known`: the contradictions of the document, where they are known.
    """
    lines = contradiction_messages(document, known)
    if not lines:
        return EXIT_OK
    tell(f"{document.id}: {TITLE.lower()}")
    for line in lines:
        tell("  " + line)
    return EXIT_UNTRUSTWORTHY


def of_tests(document: RunDocument, patterns: Sequence[str]) -> RunDocument:
    """The run with the results of the tests that `patterns` name; InputError for an idle one."""
    names = {result.test for result in document.results}
    for pattern in patterns:
        if not any(fnmatchcase(name.upper(), pattern.upper()) for name in names):
            known = ", ".join(sorted(names)) or "no test"
            raise InputError(f"the run has no test '{pattern[:60]}'", f"it has {known}")
    results = [
        result
        for result in document.results
        if any(fnmatchcase(result.test.upper(), pattern.upper()) for pattern in patterns)
    ]
    return msgspec.structs.replace(document, results=results)
