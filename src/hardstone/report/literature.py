"""What studies published of the series of a run, where both may be compared: a line for each."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from hardstone.comparison.grey import Pair, why_alone_grey, why_grey
from hardstone.event_names import KERNEL_TEST
from hardstone.figure_text import amount_text
from hardstone.model import Result, RunDocument, Series
from hardstone.stats.conditions import Condition, condition_of
from hardstone.study.papers import load_papers
from hardstone.systems.subjects import (
    Amount,
    FigureRow,
    MeasuredRun,
    PublishedSeries,
    PublishedSystem,
    figure_rows,
    published_ids,
    published_system,
    subjects_of,
    why_apart,
)
from hardstone.wording import is_rate, label_text, shorten, spoken

_LABEL_CHARACTERS = 60
REMARK = "Published: the worst observed, on other hardware. Beside this run:"
_LEAST_IS_ALL = "minimal_period"
_WORSTS = ("max", "min")


@dataclass(frozen=True)
class PublishedLine:
    """One series: `text` is "QNX Neutrino 6.5: 2.8 us, ... (Dedicated Systems 2012)"."""

    series: str
    text: str


@dataclass(frozen=True)
class PublishedBeside:
    """What was published of the series of one result; `commands` lay out the studies with the
    run."""

    lines: list[PublishedLine]
    commands: list[str]
    remark: str = REMARK


class PublishedFigures:
    """The published figures that may be compared with those of `document`; none of a run whose
    times are those of no hardware, or that is not trustworthy, and none of a file of another tool,
    whose conditions are not known: `hardstone compare` greys what does not fit."""

    def __init__(self, document: RunDocument) -> None:
        self._document = document
        self._known: dict[Condition, list[FigureRow]] = {}

    def beside(self, result: Result) -> PublishedBeside | None:
        """Those of one result of the run; None where there are none. The kernel's preemption has
        its published figures in its chart."""
        if self._document.imported is not None:
            return None
        run = self._runs.get(condition_of(result))
        if run is None or result.test == KERNEL_TEST or why_apart(run):
            return None
        lines: list[PublishedLine] = []
        studies: dict[str, None] = {}
        for series in result.series:
            found = list(self._of(series, run))
            if found:
                lines.append(PublishedLine(_label(series), _text(found)))
                studies |= dict.fromkeys(system.study.key for system, _ in found)
        if not lines:
            return None
        names = [one.name for one in load_papers().values() if one.key in studies]
        run_id = shlex.quote(self._document.id)
        return PublishedBeside(
            lines=lines, commands=[f"hardstone study {name} {run_id}" for name in names]
        )

    @cached_property
    def _runs(self) -> dict[Condition, MeasuredRun]:
        return {one.condition: one for one in subjects_of(self._document)}

    def _of(self, series: Series, run: MeasuredRun) -> Iterator[tuple[PublishedSystem, Amount]]:
        """The systems with a figure of `series` that may be compared with it."""
        systems = [published_system(one, run.condition.load) for one in published_ids()]
        if run.condition not in self._known:
            self._known[run.condition] = figure_rows([run, *systems])
        for row in self._known[run.condition]:
            own = row.found[0]
            if own is None or own.series is not series or why_alone_grey(own):
                continue
            for system, one, notes in zip(systems, row.found[1:], row.notes[1:], strict=True):
                if not isinstance(one, PublishedSeries) or notes:
                    continue
                load = one.figures[0].address.conditions.get("load", run.condition.load)
                pair = Pair(one, own, subject=system, reference=run)
                amount = _amount(one, series)
                if load == run.condition.load and amount and not why_grey(pair):
                    yield system, amount


def _amount(one: PublishedSeries, series: Series) -> Amount | None:
    """The worst; where the study has none, the first figure that it has."""
    worst = "min" if is_rate(series.unit) or series.name == _LEAST_IS_ALL else "max"
    for statistic in (worst, *one.statistics()):
        found = one.amount(statistic)
        if isinstance(found, Amount):
            return found
    return None


def _label(series: Series) -> str:
    labels = [label_text(name, value) for name, value in series.labels.items()]
    return shorten(", ".join([spoken(series.name), *labels]), _LABEL_CHARACTERS)


def _text(found: list[tuple[PublishedSystem, Amount]]) -> str:
    """The systems study by study, each with its figure."""
    by_study: dict[str, list[str]] = {}
    for system, amount in found:
        statistic = "" if amount.statistic in _WORSTS else f"{amount.statistic} "
        value = f"{statistic}{amount_text(amount, is_exact=True)}"
        name = system.label.partition(" (")[0]
        load = system.study.conditions.get("load", "").partition(" (")[0]
        study = f"{system.study.reading.short}{f', load {load}' if load else ''}"
        by_study.setdefault(study, []).append(f"{name}: {value}")
    return "; ".join(f"{', '.join(texts)} ({study})" for study, texts in by_study.items())
