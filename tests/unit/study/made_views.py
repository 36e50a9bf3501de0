"""Made-up systems for the conclusions: a few series under a load, in a run of its own."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

import msgspec

from hardstone.model import Conditions, Event, Result, RunDocument, Scalar, Series, Unit
from hardstone.study.conclusions import answers_of
from hardstone.study.exhibits import Answer, Column, StudyView
from hardstone.study.papers import load_papers
from hardstone.systems.subjects import subjects_of
from tests.unit.stats import make

_numbers = count(1)
MS, US = 1_000_000, 1_000
FACTS: dict[str, Scalar] = {
    "kernel.name": "Linux",
    "kernel.release": "6.12.0",
    "kernel.preemption": "none (dynamic, boot parameter)",
    "kernel.realtime": False,
    "machine.cpu_model": "made up",
    "cpu.count": 4,
    "virtual.hypervisor": None,
    "limits.priority_min": 1,
    "limits.priority_max": 99,
}
COUNTED: dict[str, Scalar] = {"virtual.time": "instructions", "virtual.hypervisor": "TCG"}
EMULATED: dict[str, Scalar] = {"virtual.emulated": True, "virtual.hypervisor": "TCG"}


def values(name: str, numbers: Sequence[int], *, unit: Unit = "ns", **labels: int | str) -> Series:
    found = make.series(numbers, name)
    return msgspec.structs.replace(found, labels=dict(labels), unit=unit)


def around(middle: int, number: int = 20_000) -> list[int]:
    """As many values, within 2 % of the middle."""
    return [middle + middle * (place % 41 - 20) // 1000 for place in range(number)]


def result(
    test: str, *series: Series, load: str = "none", cpu_config: str = "shared", **changed: object
) -> Result:
    where = Conditions(load=load, cpu_config=cpu_config, policy="fifo", priority=98, realtime=True)
    return make.result(test, **({"series": list(series), "conditions": where} | changed))


def short_of_load(one: Result) -> Result:
    one.events.append(Event(name="load_short", text="cpu reached 20 %"))
    return one


def run(*results: Result, facts: dict[str, Scalar] | None = None, **changed: object) -> RunDocument:
    number = next(_numbers)
    fields: dict[str, object] = {
        "run_id": f"20261125T2000{number % 60:02d}Z-{number:06x}",
        "results": list(results),
        "system": FACTS | (facts or {}),
    }
    return make.document(**(fields | changed))


def column(*documents: RunDocument, title: str = "made up") -> Column:
    """One column of all runs, whatever their conditions: as the layout merges them."""
    subjects = tuple(one for document in documents for one in subjects_of(document))
    return Column(id="made", title=title, short="made", is_published=False, subjects=subjects)


def system(*results: Result, title: str = "made up", **facts: Scalar) -> Column:
    """One run in a column; facts with `__` for the dot."""
    known = {name.replace("__", "."): value for name, value in facts.items()}
    return column(run(*results, facts=known), title=title)


def answers(conclusion: str, *columns: Column) -> list[Answer]:
    """The answers to one conclusion of whichever paper has it."""
    paper = next(
        one for one in load_papers().values() if conclusion in {c.id for c in one.conclusions}
    )
    found = answers_of(StudyView(paper, columns, ()))
    return [one for one in found if one.conclusion.id == conclusion]


def answer(conclusion: str, *columns: Column) -> Answer:
    (found,) = answers(conclusion, *columns)
    return found
