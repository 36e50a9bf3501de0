"""What a comparison of 2 to 20 systems says: the types that terminal, page and files share.

A system is a run under one condition or a published system. Every list of cells has one for each
system, in their order. Numbers are in the unit of their series; words are ready to be shown, and
untrusted.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from hardstone.model import Series, Unit
from hardstone.stats.two_runs import QuantileRatio
from hardstone.systems.rating import Rating
from hardstone.systems.subjects import Amount, Held, Missing, Subject

MOST_SYSTEMS = 20
LEAST_SYSTEMS = 2


@dataclass(frozen=True)
class SystemColumn:
    """One system. `number` counts from 1 in the order of the command line and names it where its
    `label` has no room; `id` is what a command takes. `study`, `hardware` and `year` are always
    shown. `trust` is "" for a published system. `mark` says that its times are emulated. `apart`:
    why its times stand beside those of the reference in grey, without a ratio; "" if they may."""

    number: int
    id: str
    label: str
    subject: Subject
    is_published: bool
    is_reference: bool
    study: str
    hardware: str
    year: str
    trust: str
    trust_reasons: list[str]
    mark: str
    apart: str
    rating: Rating


@dataclass(frozen=True)
class ComparedCell:
    """One series of one system. `worst` is the largest value, of a rate the least; of the shortest
    sustained period the period itself.

    `is_grey` with `why`: it may not be compared with the reference. `worst_why`: why the worst
    alone may not, the mean and the ratio may. `marks` are short remarks on the figure ("equals the
    tick", "cannot be true"), `notes` longer ones. `ratio`: of the medians, to the reference, both
    measured, neither grey. `predictability`: worst over mean, of a rate mean over least. `more` has
    the figures for `ComparedRow.more`.
    """

    mean: Amount | Missing
    worst: Amount | Missing
    held: Held | None = None
    is_grey: bool = False
    why: str = ""
    marks: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    ratio: QuantileRatio | None = None
    predictability: float | None = None
    worst_why: str = ""
    more: tuple[Amount | Missing, ...] = ()

    @property
    def series(self) -> Series | None:
        """The distribution, where the system is a run."""
        return self.held.series if self.held else None


@dataclass(frozen=True)
class ComparedRow:
    """One series across the systems. `address` finds it again; `label` is for people. `more` names
    further statistics that a study published or that a ratio is of: "p50", "min", "time_90"."""

    address: str
    label: str
    unit: Unit
    cells: list[ComparedCell]
    more: tuple[str, ...] = ()


Look = Literal["passed", "failed", "uncounted", "quiet"]


@dataclass(frozen=True)
class ClaimCell:
    """What a system does: "holds", "fails", or why it is not known; `evidence` is its own words."""

    word: str
    look: Look
    evidence: str = ""


@dataclass(frozen=True)
class ClaimRow:
    name: str
    claim: str
    cells: list[ClaimCell]


@dataclass(frozen=True)
class ComparedTest:
    """One test in detail. `moments` say between which two moments each series is measured;
    `published` has statements of studies in words, with their source."""

    test: str
    title: str
    about: str
    category: str
    moments: list[tuple[str, str]]
    rows: list[ComparedRow]
    claims: list[ClaimRow]
    states: list[str]
    published: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class PlainTable:
    """A table of words: preemption beside HP's, the ladder of priorities, worst cases of [G].

    `anchor` is a name for links; `notes` follow the table. A cell that starts a row is a heading.
    """

    anchor: str
    title: str
    about: str
    columns: list[str]
    rows: list[list[str]]
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class ConditionRow:
    """One condition of all systems, "-" where it is not known. `differs`: not all alike."""

    name: str
    cells: list[str]
    differs: bool


@dataclass(frozen=True)
class SystemPoints:
    """What speaks for a system and what against it; each follows from a result by a rule."""

    positive: list[str]
    negative: list[str]


@dataclass(frozen=True)
class Yardstick:
    """A published line in pictures of latency: 1000 us "mean: not real-time above", 10 us [L]."""

    value_ns: int
    text: str


@dataclass(frozen=True)
class CompareView:
    """The whole comparison. `reference` is the place of the system that others are set against.

    `decisive` has the rows of the summary: tick duration, switch with the most threads, sustained
    interrupts, semaphore and mutex with and without contention, wake-up latency. `criteria`: what
    each number of stars means, from 5 down. `tables`: those of the older studies.
    """

    columns: list[SystemColumn]
    reference: int
    decisive: list[ComparedRow]
    points: list[SystemPoints]
    criteria: list[tuple[str, str, str]]
    tests: list[ComparedTest]
    tables: list[PlainTable]
    conditions: list[ConditionRow]
    yardsticks: list[Yardstick]
    notes: list[str]
