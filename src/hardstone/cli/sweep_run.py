"""A sweep while it runs: its points so far, and the time that they took."""

from __future__ import annotations

import time
from collections.abc import Sequence

from hardstone.campaign import CampaignEvent, MeasuringFinished, RunStarted
from hardstone.model import PlannedTest, Result, RunDocument
from hardstone.simulation.sweep import Sweeper, is_whole


class SweepRun:
    """Gives a campaign the points of a sweep. `resumes`: the stored run that it goes on with."""

    def __init__(
        self,
        sweeper: Sweeper,
        resumes: RunDocument | None = None,
    ) -> None:
        self.sweeper = sweeper
        self.resumes = resumes
        self._before = [] if resumes is None else list(filter(is_whole, resumes.results))
        self._before_ns = 0 if resumes is None else spent_ns(resumes)
        self._begin_ns = time.monotonic_ns()
        self._results: list[Result] = []

    def take(self, event: CampaignEvent) -> None:
        """Its time begins when the target is free; results are those that were told."""
        if isinstance(event, RunStarted):
            self._begin_ns = time.monotonic_ns()
        elif isinstance(event, MeasuringFinished):
            self._results.append(event.result)

    def more(self, document: RunDocument) -> list[PlannedTest]:
        """The next point after those of `document`, none at the end of the sweep."""
        results = [*self._before, *document.results]
        return self.sweeper.next_tests(results, self._spent_ns())

    def left_ns(self) -> int:
        """About how long it still takes."""
        return self.sweeper.left_ns([*self._before, *self._results], self._spent_ns())

    @property
    def count(self) -> int:
        """How many results there are."""
        return len(self._before) + len(self._results)

    def _spent_ns(self) -> int:
        return self._before_ns + time.monotonic_ns() - self._begin_ns


def spent_ns(document: RunDocument) -> int:
    """About how long the results of a stored sweep took, with the setting up of conditions."""
    pairs: Sequence[tuple[PlannedTest, Result]] = list(
        zip(document.plan.tests, document.results, strict=False)
    )
    return sum(
        max(planned.expected_ns, result.duration_ns)
        for planned, result in pairs
        if result.status != "skipped"
    )
