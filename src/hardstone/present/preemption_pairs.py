"""Results of KRN-P-PRE that differ in the preemption model: of one run, or of two."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

from hardstone.errors import InputError
from hardstone.model import Result, RunDocument, Scalar
from hardstone.present.preemption_table import PreemptionTable, Systems, preemption_table
from hardstone.stats.conditions import (
    Condition,
    Names,
    condition_of,
    conditions_in,
    names_in,
)
from hardstone.stats.kernel_operations import TEST
from hardstone.stats.kind_of_time import counts_instructions

ONCE = (
    "Each side was measured once: by how much the worst observed differs without a switch is not "
    "known. Measure again and compare."
)


@dataclass(frozen=True)
class PreemptionPair:
    """`under`: load and CPU configuration of both sides; empty where the run has one of each."""

    under: str
    table: PreemptionTable


def pairs_in(document: RunDocument) -> list[PreemptionPair]:
    """A table for each load and CPU configuration of a run that switched the model; else none.

    A side with an unreadable histogram has no table: that of its series says so.
    """
    models = document.plan.preemption_models
    if len(models) < 2:
        return []
    off, on = models[0], models[-1]
    systems = _under(document.system, off), _under(document.system, on)
    names = Names([_without_model(one) for one in conditions_in(document)])
    return [
        pair
        for found in _by_place(document.results).values()
        for pair in _pair(names, _with(found, off), _with(found, on), systems)
    ]


def pairs_of(off: RunDocument, on: RunDocument) -> list[PreemptionPair]:
    """The same of two runs of one plan, each under a model of its own."""
    names = names_in(off)
    sides = _by_place(off.results), _by_place(on.results)
    return [
        pair
        for place, found in sides[0].items()
        for pair in _pair(names, found, sides[1].get(place, []), (off.system, on.system))
    ]


def _pair(
    names: Names, off: list[Result], on: list[Result], systems: Systems
) -> Iterator[PreemptionPair]:
    under = names.label(_without_model(condition_of([*off, *on][0])))
    with suppress(InputError):
        table = preemption_table(off, on, systems)
        is_unsure = table.rows and len(off) == len(on) == 1 and not counts_instructions(systems[0])
        notes = [*table.notes, ONCE] if is_unsure else table.notes
        yield PreemptionPair(under, replace(table, notes=notes))


def _by_place(results: list[Result]) -> dict[tuple[str, str], list[Result]]:
    found: dict[tuple[str, str], list[Result]] = {}
    for one in results:
        if one.test == TEST:
            found.setdefault(condition_of(one)[:2], []).append(one)
    return found


def _without_model(condition: Condition) -> Condition:
    return condition._replace(preemption="")


def _with(found: list[Result], model: str) -> list[Result]:
    return [one for one in found if one.conditions.preemption == model]


def _under(system: Mapping[str, Scalar], model: str) -> dict[str, Scalar]:
    """The facts while the kernel was switched to `model`."""
    return {**system, "kernel.preemption": model, "kernel.preemption_model": model}
