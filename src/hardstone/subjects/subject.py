"""What can be compared, rated and gated: a run under one condition, or a published system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from hardstone.model import Result, Series, Unit, Verdict
from hardstone.subjects.amount import Amount, Missing


class Held(Protocol):
    """One series of one subject: a measured distribution, or what a study published of it.

    `labels` have the label values as text; `parts` are published label values whose label the study
    does not name. `series` and `result` are None for a published system.
    """

    @property
    def test(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def labels(self) -> Mapping[str, str]: ...
    @property
    def parts(self) -> tuple[str, ...]: ...
    @property
    def unit(self) -> Unit: ...
    @property
    def series(self) -> Series | None: ...
    @property
    def result(self) -> Result | None: ...
    @property
    def notes(self) -> tuple[str, ...]: ...
    @property
    def address(self) -> str:
        """TEST/label-values/series, as it is typed."""
        ...

    def statistics(self) -> list[str]:
        """The statistics that it has a figure of, the mean and the largest value among them."""
        ...

    def amount(self, statistic: str) -> Amount | Missing:
        """The figure for `statistic`. A series without it says why."""
        ...


class Subject(Protocol):
    """A run under one condition, or a published system.

    `id` is the ID of the run or "published:KEY". `label` tells it apart from the other subjects of
    one comparison. `conditions` have what its figures depend on, by name, for a table: only what
    is known. `year` is that of the measurement, "" where the study does not say.
    """

    @property
    def id(self) -> str: ...
    @property
    def label(self) -> str: ...
    @property
    def is_published(self) -> bool: ...
    @property
    def year(self) -> str: ...
    @property
    def conditions(self) -> Mapping[str, str]: ...

    def held(self) -> Sequence[Held]:
        """All series that have a figure, in the order of their tests."""
        ...

    def verdicts(self, test: str) -> Sequence[Verdict] | Missing:
        """The claims about `test`; the evidence of a published one is what the study says."""
        ...

    def tests(self) -> list[str]:
        """Tests with a result, also one without figures."""
        ...
