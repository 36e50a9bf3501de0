"""A comparison of systems as data: what `hardstone compare` shows, and the same as a document
(`hardstone.comparison/1`), which has what the view has by the same names.

A system is a run under one condition or a published system. Every list of cells has one for each
system, in their order. Numbers are in the unit of their series; words are ready to be shown, and
untrusted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import msgspec

from hardstone.model import Series, Unit
from hardstone.stats.quantiles import is_count_known
from hardstone.stats.two_runs import QuantileRatio
from hardstone.systems.rating import Rating
from hardstone.systems.subjects import Amount, Missing, Subject, SubjectSeries

COMPARISON_SCHEMA = "hardstone.comparison/1"
MOST_SYSTEMS = 20
LEAST_SYSTEMS = 2


class Figure(msgspec.Struct, kw_only=True):
    """One figure in the unit of its row: a value, or that it is below or above a bound.

    `missing`: why there is none; then `source` is empty.
    """

    statistic: str
    value: float | None = None
    below: float | None = None
    above: float | None = None
    source: str = ""
    notes: list[str] = []
    missing: str | None = None


@dataclass(frozen=True)
class SystemColumn:
    """One system. `number` counts from 1 in the order of the command line and names it where its
    `label` has no room; `id` is what a command takes. `study`, `hardware` and `year` are always
    shown. `trust`: None for a published system. `mark` says that its times are emulated. `apart`:
    why its times are grey beside those of the reference, without a ratio; None if they are not."""

    number: int
    id: str
    label: str
    subject: Subject
    is_published: bool
    is_reference: bool
    study: str
    hardware: str
    year: str
    trust: str | None
    trust_reasons: list[str]
    mark: str
    apart: str | None
    rating: Rating


@dataclass(frozen=True)
class ComparedCell:
    """One series of one system. `worst` is the largest value, of a rate the least; of the shortest
    sustained period the period itself.

    `is_grey` with `why`: it may not be compared with the reference. `worst_why`: why the worst
    alone may not, the mean and the ratio may. `marks` are short remarks on the figure ("equals the
    tick", "cannot be true"), `notes` longer ones. `ratio`: of the medians, to the reference, both
    measured, neither grey. `predictability`: worst over mean, of a rate mean over least. `more` has
    the figures for `ComparedRow.more`. `worst_name`: the statistic that `worst` is.
    """

    mean: Amount | Missing
    worst: Amount | Missing
    subject_series: SubjectSeries | None = None
    is_grey: bool = False
    why: str = ""
    marks: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    ratio: QuantileRatio | None = None
    predictability: float | None = None
    worst_why: str = ""
    more: Mapping[str, Amount | Missing] = field(default_factory=dict)
    worst_name: str = "max"

    @property
    def figures(self) -> list[Figure]:
        named = {"mean": self.mean, self.worst_name: self.worst, **self.more}
        return [_figure(name, one) for name, one in named.items()]

    @property
    def grey(self) -> str | None:
        return self.why if self.is_grey else None

    @property
    def worst_grey(self) -> str | None:
        return self.worst_why or None

    @property
    def count(self) -> int | None:
        return self.series.count if self.series and is_count_known(self.series) else None

    @property
    def series(self) -> Series | None:
        """The distribution, where the system is a run."""
        return self.subject_series.series if self.subject_series else None


@dataclass(frozen=True)
class ComparedRow:
    """One series across the systems. `address` finds it again; `label` is for people. `more` names
    further statistics that a study published or that a ratio is of: "p50", "min", "time_90".
    `decisive`: it is in the summary. `question`: what it answers, where tests of several tools do;
    "" for the series of one test."""

    address: str
    label: str
    unit: Unit
    cells: list[ComparedCell]
    more: tuple[str, ...] = ()
    decisive: bool = False
    question: str = ""

    @property
    def known_count(self) -> int:
        """How many systems have the series."""
        return sum(cell.subject_series is not None for cell in self.cells)


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
    """One test in detail. `title`: "" where no run declares the test. `moments` say between which
    two moments each series is measured; `published` has statements of studies in words, with their
    source."""

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
    """A table of words: preemption beside HP's, the ladder of priorities.

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
    """One condition of all systems, "-" where it is not known. `differs`: not all are the same."""

    name: str
    cells: list[str]
    differs: bool


@dataclass(frozen=True)
class ToolFigure:
    """The figure of a system for a question ("wakeup"): where it is, and between which two moments.

    `core`: what schedules the thread, "Linux" or "Cobalt". `beyond`: what became of values that are
    in no bucket.
    """

    question: str
    address: str
    begin: str
    end: str
    thread: str
    core: str
    resolution: str
    beyond: str


@dataclass(frozen=True)
class SystemTool:
    """What the tool of the system `number` measures. `machine`: what the tool does to the machine,
    and to its values. `losses`: what its file does not say. `command` measures the same with
    hardstone, as far as the file says how; "": it cannot be measured, or nothing is known."""

    number: int
    tool: str
    package: str
    is_imported: bool
    figures: list[ToolFigure]
    machine: list[str]
    losses: list[str]
    command: str = ""


@dataclass(frozen=True)
class ToolPair:
    """Two systems, by number, and whether their figures for `question` are between the same two
    moments; `why` not. `question` is empty where they answer none in common. `differing`: what else
    differs, or is not known."""

    first: int
    second: int
    question: str
    is_same: bool
    why: str
    differing: list[str]


@dataclass(frozen=True)
class Disagreement:
    """Why tools show different figures, by a rule, with its evidence."""

    rule: str
    text: str


@dataclass(frozen=True)
class ToolComparison:
    """The tools of a comparison with a system that another tool measured. `reasons`: why their
    figures differ, the most telling first."""

    reasons: list[Disagreement]
    tools: list[SystemTool]
    pairs: list[ToolPair]


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
class _PlacedSystem(SystemColumn):
    """A system with its conditions, as far as they are known, and its points."""

    conditions: dict[str, str]
    points: SystemPoints


@dataclass(frozen=True)
class CompareView:
    """The whole comparison. `reference` is the place of the system that others are set against.

    `decisive` has the rows of the summary: tick duration, switch with the most threads, sustained
    interrupts, semaphore and mutex with and without contention, wake-up latency. `criteria`: what
    each number of stars means, from 5 down. `tables`: those of the older studies. `shared`: beside
    published systems that hardly share a decisive figure with another one, the figures that two
    systems share; None: the decisive ones stand first. `tools`: what each tool measures, where any
    system was measured by another one than hardstone.
    """

    columns: list[SystemColumn]
    reference: int
    decisive: list[ComparedRow]
    points: list[SystemPoints]
    criteria: dict[str, tuple[str, str]]
    tests: list[ComparedTest]
    tables: list[PlainTable]
    conditions: list[ConditionRow]
    yardsticks: list[Yardstick]
    notes: list[str]
    shared: list[ComparedRow] | None = None
    tools: ToolComparison | None = None
    schema: ClassVar[str] = COMPARISON_SCHEMA

    @property
    def opening(self) -> list[ComparedRow]:
        """The rows that stand first: the decisive ones, or what systems share in their place."""
        return self.decisive if self.shared is None else self.shared

    @property
    def systems(self) -> list[_PlacedSystem]:
        found = []
        for place, (column, points) in enumerate(zip(self.columns, self.points, strict=True)):
            cells = {row.name: row.cells[place] for row in self.conditions}
            known = {name: text for name, text in cells.items() if text != "-"}
            found.append(_PlacedSystem(**vars(column), conditions=known, points=points))
        return found

    @property
    def summary(self) -> list[ComparedRow]:
        return self.decisive


class Cell(msgspec.Struct, kw_only=True):
    """The figures of one system: mean, worst, then those that the row names in `more`.

    `grey`: why none of them may be compared with the reference; `worst_grey`: why the worst alone
    may not; null: they may. `ratio`: of the medians, to the reference. `predictability`: worst over
    mean. `count`: values of a run; null: not known.
    """

    figures: list[Figure]
    count: int | None
    grey: str | None
    worst_grey: str | None
    marks: list[str]
    notes: list[str]
    ratio: QuantileRatio | None
    predictability: float | None


class Row(msgspec.Struct, kw_only=True):
    """One series; `cells` has one for each system. `decisive`: it is in the summary. `question`:
    "wakeup", where figures of several tests stand in one row; else ""."""

    address: str
    label: str
    unit: Unit
    more: list[str]
    decisive: bool
    cells: list[Cell]
    question: str = ""


class DetailedTest(msgspec.Struct, kw_only=True):
    """One test; `states` has one word for each system: "measured", "not run", "published"."""

    test: str
    title: str
    category: str
    states: list[str]
    rows: list[Row]
    claims: list[ClaimRow]
    published: list[str]


class System(msgspec.Struct, kw_only=True):
    """One system. `apart`: why its times have no ratio to those of the reference."""

    number: int
    id: str
    label: str
    is_published: bool
    is_reference: bool
    study: str
    hardware: str
    year: str
    trust: str | None
    trust_reasons: list[str]
    mark: str
    apart: str | None
    conditions: dict[str, str]
    rating: Rating
    points: SystemPoints


class ComparisonDocument(msgspec.Struct, kw_only=True):
    """`systems` are in the order of the command line, as all lists of cells are; `reference` is a
    place among them, from 0. `summary` has the decisive rows, some of which are of no test alone
    (the worst CPU of each system). `tools`: what each tool measures and which pairs are between the
    same two moments; null: hardstone measured every run."""

    schema: str
    reference: int
    systems: list[System]
    summary: list[Row]
    tests: list[DetailedTest]
    tables: list[PlainTable]
    conditions: list[ConditionRow]
    yardsticks: list[Yardstick]
    criteria: dict[str, tuple[str, str]]
    notes: list[str]
    tools: ToolComparison | None = None


def comparison_document(view: CompareView) -> ComparisonDocument:
    """`view` as data for programs: every figure with its unit and source."""
    return msgspec.convert(view, ComparisonDocument, from_attributes=True)


def _figure(statistic: str, one: Amount | Missing) -> Figure:
    if isinstance(one, Missing):
        return Figure(statistic=statistic, missing=one.reason)
    return Figure(
        statistic=one.statistic,
        value=one.value,
        below=one.below,
        above=one.above,
        source=one.source,
        notes=list(one.notes),
    )
