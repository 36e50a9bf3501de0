"""The journal of a run that continues when its store is full."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from hardstone.model import PlannedTest, Result, RunDocument
from hardstone.store import CopyCost, Journal, StoreError


class Keeper:
    """Records what it can: a store that fails is reported once, and measuring continues.

    From then on the run is kept outside of the store too, and the next command on the store
    takes it from there.
    """

    def __init__(
        self, journal: Journal, document: RunDocument, on_problem: Callable[[StoreError], None]
    ) -> None:
        self._journal = journal
        self._document = document
        self._on_problem = on_problem
        self._is_failing = False
        self.problem: StoreError | None = None
        self.spare: Path | None = None
        self.path: Path | None = None

    def backing_file(self, test: str) -> str | None:
        """As that of the journal; None where the store fails."""
        try:
            return self._journal.backing_file(test)
        except StoreError as error:
            self._fail(error)
            return None

    def has_recording(self) -> bool:
        return self._journal.has_recording()

    def stream_line(self, test: str, raw: bytes) -> None:
        try:
            self._journal.stream_line(test, raw)
        except StoreError as error:
            self._fail(error)

    def planned(self, tests: Sequence[PlannedTest]) -> None:
        """Records tests that the plan of the document already has."""
        try:
            self._journal.planned(tests)
        except StoreError as error:
            self._fail(error)

    def result(self, result: Result) -> None:
        """Records a result that the document already has."""
        try:
            self._journal.result(result)
        except StoreError as error:
            self._fail(error)
        if self._is_failing:
            self.spare = self._journal.spare(self._document)

    def snapshot(self) -> Path | None:
        return self._journal.snapshot()

    def copy_cost(self) -> CopyCost | None:
        return self._journal.copy_cost()

    def take_warning(self) -> str | None:
        return self._journal.take_warning()

    def finish(self) -> None:
        """Stores the document at `path`. If that fails, `problem` says why and `spare` where it
        is."""
        try:
            self.path = self._journal.finish(self._document)
        except StoreError as error:
            self._fail(error)
            self.problem = error
            self.spare = self._journal.spare(self._document)

    def _fail(self, error: StoreError) -> None:
        if not self._is_failing:
            self._is_failing = True
            self._on_problem(error)
