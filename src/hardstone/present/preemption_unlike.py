"""What differs between two sides that should differ in the preemption model only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from hardstone.model import Result, Scalar
from hardstone.present.wording import short
from hardstone.stats.kind_of_time import kind_of_time, time_meaning
from hardstone.stats.moved import environment_moved

_MODEL = "kernel.preemption"
_COMMAND_LINE = "kernel.cmdline"
_CHOICE = "preempt="
_SWITCHED = "preemption"  # the condition that is to differ
_NOT_KNOWN = "not known"
Facts = Mapping[str, Scalar]


def why_not_divided(off: Facts, on: Facts) -> list[str]:
    """Why no ratio may be formed of the figures; empty if it may. Times of an emulated machine are
    divided by those of the same kind only."""
    if kind_of_time(off) is kind_of_time(on):
        return []
    return ["no improvement is given: the times of both sides are of different kinds"]


def unlike_conditions(
    off: Sequence[Result], on: Sequence[Result], systems: tuple[Facts, Facts]
) -> list[str]:
    """Conditions, parameters and facts that differ, "load: none off, storm on"; what both sides
    share and limits the figures comes last."""
    found = [*_models(*systems), *_conditions(off, on), *_facts(*systems)]
    meaning = time_meaning(systems[0])
    return [*found, meaning] if meaning else found


def _models(off: Facts, on: Facts) -> list[str]:
    ours, theirs = off.get(_MODEL), on.get(_MODEL)
    if ours is not None and ours == theirs:
        return [f"the preemption model is {short(ours)} on both sides"]
    return []


def _conditions(off: Sequence[Result], on: Sequence[Result]) -> list[str]:
    if not off or not on:
        return []
    sides = [{**msgspec.to_builtins(one.conditions), **one.params} for one in (off[0], on[0])]
    told = [
        _differs(name.replace("_", " "), sides[0].get(name), sides[1].get(name))
        for name in dict.fromkeys([*sides[0], *sides[1]])
        if name != _SWITCHED and sides[0].get(name) != sides[1].get(name)
    ]
    return [*told, *_lengths(off, on)]


def _lengths(off: Sequence[Result], on: Sequence[Result]) -> list[str]:
    if len(off) == len(on):
        return []
    return [f"results: {len(off)} off, {len(on)} on"]


def _facts(off: Facts, on: Facts) -> list[str]:
    return [
        _differs(one.fact, one.before, one.after)
        for one in environment_moved(off, on)
        if one.fact != _MODEL and not _is_the_choice(one.fact, one.before, one.after)
    ]


def _is_the_choice(fact: str, before: Scalar, after: Scalar) -> bool:
    """Whether the kernel's command lines differ in the choice of the model only."""
    return fact == _COMMAND_LINE and _without_choice(before) == _without_choice(after)


def _without_choice(line: Scalar) -> list[str]:
    return [word for word in str(line or "").split() if not word.startswith(_CHOICE)]


def _differs(name: str, off: object, on: object) -> str:
    texts = [_NOT_KNOWN if one is None else short(str(one)) for one in (off, on)]
    return f"{name}: {texts[0]} off, {texts[1]} on"
