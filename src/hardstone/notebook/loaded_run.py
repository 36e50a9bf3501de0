"""Runs and comparisons of runs, loaded for Python."""

from __future__ import annotations

import copy
import os
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import Any

import msgspec

from hardstone.comparison.assemble import compare_view
from hardstone.comparison.view import ComparedCell, ComparedRow, CompareView
from hardstone.errors import InputError
from hardstone.figure_text import amount_text
from hardstone.model import Imported
from hardstone.notebook.loaded_series import RunTest
from hardstone.notebook.plot import Chart
from hardstone.stats.consistency import contradiction_messages, trust_of
from hardstone.stats.trust import tool_text
from hardstone.store.place import default_root
from hardstone.store.store import Store, run_of_file
from hardstone.systems.rating import Rating, rate, rate_run
from hardstone.systems.subjects import (
    PREFIX,
    Amount,
    MeasuredRun,
    MeasuredSeries,
    Missing,
    PublishedSeries,
    PublishedSystem,
    Subject,
    SubjectSeries,
    published_system,
    subjects_of,
)
from hardstone.wording import is_rate, one_line, shorten

_MOST_ROWS = 40
_MOST_CHARACTERS = 200


def _table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """The first rows of a table; `rows` and titles are untrusted."""
    head = "".join(f"<th scope=col>{_shown(one)}</th>" for one in columns)
    body = ""
    for first, *others in rows[:_MOST_ROWS]:
        cells = "".join(f"<td>{_shown(one)}</td>" for one in others)
        body += f"<tr><th scope=row>{_shown(first)}</th>{cells}</tr>"
    more = len(rows) - _MOST_ROWS
    rest = f"<p>and {more} more rows</p>" if more > 0 else ""
    return (
        f"<table><caption>{_shown(title)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table>{rest}"
    )


def _shown(text: str) -> str:
    return escape(shorten(text, _MOST_CHARACTERS), quote=True)


_MOST_NAMED = 12


@dataclass(frozen=True, repr=False)
class Run:
    """A run, of one condition or several, or a published system. It cannot be changed.

    `run["TMR-P-LAT"]` is a test of it; iterating gives the IDs of its tests.
    """

    _subjects: tuple[Subject, ...]

    @property
    def id(self) -> str:
        """The ID of the run, or "published:KEY"."""
        return self._subjects[0].id

    @property
    def name(self) -> str:
        """Its name, with the condition where that is one of several."""
        first = self._subjects[0]
        if isinstance(first, MeasuredRun) and len(self._subjects) > 1:
            return first.document.name
        return first.label

    @property
    def is_published(self) -> bool:
        return self._subjects[0].is_published

    @property
    def year(self) -> str:
        """The year of the measurement; "" where a study does not say."""
        return self._subjects[0].year

    @property
    def trust(self) -> str:
        """ "full", "indicative" or "untrustworthy"; "" for a published system."""
        first = self._subjects[0]
        return trust_of(first.document).grade if isinstance(first, MeasuredRun) else ""

    @property
    def trust_reasons(self) -> list[str]:
        """Why it is not fully trusted."""
        first = self._subjects[0]
        return list(trust_of(first.document).reasons) if isinstance(first, MeasuredRun) else []

    @property
    def imported(self) -> Imported | None:
        """The file of another tool that it was read from, with what that does not say; None where
        hardstone measured it. A copy."""
        first = self._subjects[0]
        document = first.document if isinstance(first, MeasuredRun) else None
        return None if document is None else copy.deepcopy(document.imported)

    @property
    def tests(self) -> list[str]:
        """The IDs of its tests, also of those without figures."""
        return list(dict.fromkeys(test for one in self._subjects for test in one.tests()))

    @property
    def conditions(self) -> dict[str, str]:
        """What its figures depend on: machine, kernel, load, ...; "none; heavy" where it differs
        between its systems."""
        names = dict.fromkeys(name for one in self._subjects for name in one.conditions)
        return {
            name: "; ".join(dict.fromkeys(one.conditions.get(name, "-") for one in self._subjects))
            for name in names
        }

    @property
    def systems(self) -> list[Run]:
        """The run under each of its conditions."""
        return [Run((one,)) for one in self._subjects]

    def under(
        self,
        *,
        load: str | None = None,
        cpu_config: str | None = None,
        preemption: str | None = None,
    ) -> Run:
        """The run with the results under these conditions only. InputError, with those there are,
        if it has none."""
        asked = {"load": load, "cpu_config": cpu_config, "preemption": preemption}
        wanted = {name: value for name, value in asked.items() if value is not None}
        found = tuple(one for one in self._subjects if wanted.items() <= _condition(one).items())
        if not found:
            raise InputError(
                f"{self.id} has nothing under {_said(wanted)}", f"it has {self._conditions_text()}"
            )
        return Run(found)

    def test(
        self,
        test: str,
        *,
        load: str | None = None,
        cpu_config: str | None = None,
        preemption: str | None = None,
        nth: int | None = None,
    ) -> RunTest:
        """The test of that ID under the condition that the others name.

        `nth` counts from 0 and chooses where it was measured several times under one condition, as
        in a proof or a sweep. InputError, with those there are, for none and for several.
        """
        chosen = self
        if (load, cpu_config, preemption) != (None, None, None):
            chosen = self.under(load=load, cpu_config=cpu_config, preemption=preemption)
        found = [one for subject in chosen._subjects for one in _tests(subject, test)]
        if not found:
            named = ", ".join(map(shorten, self.tests[:_MOST_NAMED]))
            more = ", ..." if len(self.tests) > _MOST_NAMED else ""
            raise InputError(f"{self.id} has no test '{shorten(test)}'", f"it has {named}{more}")
        if len({id(subject) for subject, _ in found}) > 1:
            raise InputError(
                f"{self.id} has {shorten(test)} under {chosen._conditions_text()}",
                'choose one: run.test(ID, load="...", cpu_config="...")',
            )
        return _nth([one for _, one in found], nth)

    def rating(self) -> Rating:
        """Its stars, with what they follow from; of a run under several conditions those of the
        condition that its summary shows first. `under(...)` has the others."""
        first = self._subjects[0]
        if isinstance(first, MeasuredRun) and len(self._subjects) > 1:
            return rate_run(first.document)[0][1]
        return rate(first)

    def plot(self, *, limits: Sequence[int] = ()) -> Chart:
        """The distribution that leads its report, with lines at `limits` in ns. InputError where
        nothing was timed."""
        from hardstone.present.answer import answer_of
        from hardstone.report.drawing import Drawer
        from hardstone.report.lead import lead_chart

        first = self._subjects[0]
        figure = None
        if isinstance(first, MeasuredRun):
            document = first.document if len(self._subjects) > 1 else first.alone
            figure = lead_chart(document, answer_of(document), Drawer(), limits=limits)
        if figure is None:
            raise InputError(f"{self.id} has no distribution to draw", "its tests have figures")
        return Chart(figure)

    def to_dict(self) -> dict[str, Any]:
        """A copy of the whole document as Python's own types: what `show --json` prints."""
        first = self._subjects[0]
        if not isinstance(first, MeasuredRun):
            raise InputError(f"{self.id} has no document", "its figures are in its tests")
        copied: dict[str, Any] = msgspec.to_builtins(first.document)
        return copied

    def __getitem__(self, test: str) -> RunTest:
        return self.test(test)

    def __iter__(self) -> Iterator[str]:
        return iter(self.tests)

    def __len__(self) -> int:
        return len(self.tests)

    def __contains__(self, test: object) -> bool:
        return test in self.tests

    def __repr__(self) -> str:
        trust = f", trust {self.trust}" if self.trust else ""
        if self.imported is not None:
            trust += f", read from a file of {one_line(tool_text(self.imported))}"
        return f"<Run {self.id}, {shorten(self.name, 60)}: {len(self)} tests{trust}>"

    def _repr_html_(self) -> str:
        rows = [[name, text] for name, text in self.conditions.items()]
        return _table(f"{self.id}: {one_line(self.name)}", ["condition", "value"], rows)

    @property
    def subjects(self) -> tuple[Subject, ...]:
        """What comparison and rating take: the run under each of its conditions."""
        return self._subjects

    def _conditions_text(self) -> str:
        return " / ".join(_said(_condition(one)) or "no condition" for one in self._subjects)


def _condition(subject: Subject) -> dict[str, str]:
    if isinstance(subject, MeasuredRun):
        return {name: value for name, value in subject.condition._asdict().items() if value}
    load = subject.load if isinstance(subject, PublishedSystem) else ""
    return {"load": load or subject.conditions.get("load", "")}


def _said(condition: dict[str, str]) -> str:
    return ", ".join(f"{name} {shorten(value)}" for name, value in condition.items() if value)


def _tests(subject: Subject, test: str) -> list[tuple[Subject, RunTest]]:
    if isinstance(subject, MeasuredRun):
        found: list[tuple[Subject, RunTest]] = []
        for result in subject.results:
            if result.test == test:
                measured = tuple(MeasuredSeries(subject.id, result, one) for one in result.series)
                found.append((subject, RunTest(test, subject, measured, result)))
        return found
    if test not in subject.tests():
        return []
    series = tuple(one for one in subject.held() if one.test == test and _is_of(one, subject))
    if not series and isinstance(subject.verdicts(test), Missing):  # figures under other loads only
        return []
    return [(subject, RunTest(test, subject, series))]


def _is_of(one: SubjectSeries, subject: Subject) -> bool:
    """Whether a published series was measured under the load of `subject`, or none is named."""
    if not isinstance(one, PublishedSeries) or not isinstance(subject, PublishedSystem):
        return True
    load = one.figures[0].address.conditions.get("load")
    return not subject.load or not load or load == subject.load


def _nth(found: list[RunTest], nth: int | None) -> RunTest:
    if nth is None and len(found) > 1:
        raise InputError(
            f"{found[0].id} was measured {len(found)} times under this condition",
            f"choose one: run.test(ID, nth=0) to nth={len(found) - 1}",
        )
    if nth is not None and not 0 <= nth < len(found):
        raise InputError(f"there is no nth={nth}: {len(found)} in all", "count from 0")
    return found[nth or 0]


def load(run: str | Path, store: str | Path | None = None) -> Run:
    """A run of the store, of a file, or a published system. Nothing is written.

    `run` is an ID, the start of one, a name, or "last" (see `hardstone runs`); the path of a file,
    of a run or of another tool, such as cyclictest; or "published:qnx" (see `hardstone list
    published`). `store`: the folder of the store, by default that of the command line.

    InputError, with a remedy, if there is none or it cannot be read. Warns where figures of the
    run cannot be true, and where a newer run of the name cannot be read.
    """
    if not isinstance(run, str | Path):
        raise InputError(
            f"load takes no {type(run).__name__}",
            'give an ID, a name, "last" or the path of a file',
        )
    text = os.fspath(run)
    if text.startswith(PREFIX):
        system = published_system(text)
        if len(system.loads) < 2:
            return Run((system,))
        # Once for each load under which its study has figures of it.
        return Run(tuple(replace(system, load=one) for one in system.loads))
    if isinstance(run, Path) or os.sep in text or text.endswith((".json", ".json.gz")):
        path = Path(text).expanduser()
        if not os.path.lexists(path):
            raise InputError(
                f"there is no file {path}", "name a run by its ID, its name, or 'last'"
            )
        document = run_of_file(path)
    else:
        root = default_root() if store is None else Path(store).expanduser()
        if not root.is_dir():  # opening it would make it
            raise InputError(f"there is no store {root}", "measure something: hardstone evaluate")
        document = Store(root, _warn).look_up(text)
    for line in contradiction_messages(document):
        _warn(f"{document.id}: {line}")
    return Run(tuple(subjects_of(document)))


def _warn(text: str) -> None:
    warnings.warn(one_line(text), stacklevel=3)


Value = str | float | int | bool | None


@dataclass(frozen=True, repr=False)
class Comparison:
    """What `hardstone compare` shows. `view` has all of it, as the page and the screen take it."""

    view: CompareView

    @property
    def systems(self) -> list[dict[str, Value]]:
        """One entry for each system: number, id, label, study, hardware, year, trust, stars, and in
        `apart` why its times have no ratio."""
        return [
            {
                "number": one.number,
                "id": one.id,
                "label": one.label,
                "study": one.study,
                "hardware": one.hardware,
                "year": one.year,
                "trust": one.trust or "",
                "stars": one.rating.overall,
                "lowest_stars": one.rating.lowest,
                "is_at_most": one.rating.is_at_most,
                "is_reference": one.is_reference,
                "apart": one.apart or "",
            }
            for one in self.view.columns
        ]

    def rows(self, test: str | None = None) -> list[dict[str, Value]]:
        """One entry for each figure of each system, for `pandas.DataFrame(rows)` or a loop.

        `mean` and `worst` are in `unit`, None where there is none. A bound is in `mean_below` or
        `mean_above`; `mean_why` says why there is nothing. `ratio` is that of the medians to the
        reference, with its interval and `outcome`; None for what may not be compared, with the
        reason in `why`, and in `worst_why` that of the worst alone. `mean_source` and
        `worst_source` find the figures again. Further statistics, such as p99.9, have keys of
        their own.
        """
        known = [one.test for one in self.view.tests]
        if test is not None and test not in known:
            raise InputError(f"no system has the test '{test[:60]}'", f"there are {known}")
        return [
            entry
            for one in self.view.tests
            if test in (None, one.test)
            for row in one.rows
            for entry in self._entries(one.test, row)
        ]

    def decisive(self) -> list[dict[str, Value]]:
        """The same of the rows of the summary."""
        rows = self.view.decisive
        return [one for row in rows for one in self._entries(row.address.partition("/")[0], row)]

    def plot(self, address: str) -> Chart:
        """Average and worst of each system, of one row: its `address` in `rows()`."""
        from hardstone.comparison.figures import pair_figure, standards_of
        from hardstone.report.drawing import Drawer

        found = {row.address: row for one in self.view.tests for row in one.rows}
        if address not in found:
            some = ", ".join(map(one_line, list(found)[:3]))
            raise InputError(f"there is no row '{shorten(address, 80)}'", f"there are {some}, ...")
        standards = standards_of(self.view)
        figure = pair_figure(found[address], self.view.columns, standards, "pair", Drawer())
        return Chart(replace(figure, subject=address))

    def _entries(self, test: str, row: ComparedRow) -> Iterator[dict[str, Value]]:
        for column, cell in zip(self.view.columns, row.cells, strict=True):
            further: dict[str, Value] = {}  # each as `mean`: "p99.9", "p99.9_below", ...
            for statistic, amount in cell.more.items():
                further |= _amount(statistic, amount)
            yield {
                "test": test,
                "address": row.address,
                "series": row.label,
                "unit": row.unit,
                "number": column.number,
                "system": column.label,
                **_amount("mean", cell.mean),
                **_amount("worst", cell.worst),
                **further,
                "predictability": cell.predictability,
                **_ratio(cell),
                "is_grey": cell.is_grey,
                "why": cell.why,
                "worst_why": cell.worst_why,
                "marks": "; ".join(cell.marks),
                "notes": "; ".join(cell.notes),
            }

    def __repr__(self) -> str:
        count = sum(len(one.rows) for one in self.view.tests)
        return f"<Comparison of {len(self.view.columns)} systems: {count} series>"

    def _repr_html_(self) -> str:
        names = [f"{one.number} {one.label} {one.year}".strip() for one in self.view.columns]
        rows = [
            [row.label, *(_text(cell, row) for cell in row.cells)] for row in self.view.decisive
        ]
        return _table("Mean and worst observed", ["series", *names], rows)


Comparable = Run | str | Path


def compare(
    *runs: Comparable | Iterable[Comparable],
    reference: int = 0,
    store: str | Path | None = None,
) -> Comparison:
    """Compares 2 to 20 systems, of which a run under several conditions is several.

    `runs` are runs, or what `load` takes, or a list of these: `compare(run, "published:qnx")`,
    `compare([run, "published:qnx"])`. `reference`: the place, from 0, of the system that the others
    are compared with. InputError as `load`, for anything else, and for too few or too many.
    """
    if not isinstance(reference, int):
        raise InputError(
            f"reference is a place, not a {type(reference).__name__}", "count systems from 0"
        )
    opened = [one if isinstance(one, Run) else load(one, store) for one in _each(runs)]
    subjects: list[Subject] = []
    for run in opened:
        # A published system is one, as on the command line: of figures under several loads it has
        # those of the heaviest, with the load in their notes.
        is_whole_study = run.is_published and len(run.subjects) > 1
        subjects += [published_system(run.id)] if is_whole_study else run.subjects
    return Comparison(compare_view(subjects, reference))


_TAKES = 'give runs of hardstone.load, names such as "last" or "published:qnx", or a list of these'


def _each(given: Iterable[object]) -> Iterator[Comparable]:
    for one in given:
        if isinstance(one, Run | str | Path):
            yield one
        elif isinstance(one, list | tuple):
            yield from _each(one)
        else:
            raise InputError(f"compare takes no {type(one).__name__}", _TAKES)


def _amount(name: str, amount: Amount | Missing) -> dict[str, Value]:
    if isinstance(amount, Missing):
        found: tuple[Value, ...] = (None, None, None, amount.reason, "", "")
    else:
        said = "; ".join(amount.notes)
        found = (amount.value, amount.below, amount.above, said, amount.statistic, amount.source)
    keys = (name, f"{name}_below", f"{name}_above", f"{name}_why", f"{name}_of", f"{name}_source")
    return dict(zip(keys, found, strict=True))


def _ratio(cell: ComparedCell) -> dict[str, Value]:
    found = cell.ratio
    if found is None:
        return {"ratio": None, "ratio_low": None, "ratio_high": None, "outcome": None}
    return {
        "ratio": found.ratio,
        "ratio_low": found.low,
        "ratio_high": found.high,
        "outcome": found.outcome,
    }


def _text(cell: ComparedCell, row: ComparedRow) -> str:
    worst = "least" if is_rate(row.unit) else "worst"
    said = [f"{_figure(cell.mean)} mean, {_figure(cell.worst)} {worst}", *cell.marks]
    return ", ".join([*said, cell.why] if cell.is_grey and cell.why else said)


def _figure(amount: Amount | Missing) -> str:
    """Short text: "18.4 us", "< 0.1 us", or why there is none."""
    return amount.reason if isinstance(amount, Missing) else amount_text(amount)
