"""One test of a run in Python: how it ended, what it claims, its series."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from hardstone.errors import InputError
from hardstone.model import ParamValue, Result
from hardstone.notebook.loaded_series import RunSeries, labels_of
from hardstone.present.wording import one_line, shorten
from hardstone.subjects import Held, Missing, Subject

_MOST_NAMED = 6
_TOTAL = ("part", "total")


class Claim(NamedTuple):
    """A claim about behaviour, whether it holds, and what was observed."""

    name: str
    holds: bool
    evidence: str


@dataclass(frozen=True, repr=False)
class RunTest:
    """One test of a run under one condition, or what a study published of one."""

    id: str
    _subject: Subject
    _held: tuple[Held, ...]
    _result: Result | None = None

    @property
    def status(self) -> str:
        """How it ended: "measured", "failed", "denied", ...; "published"."""
        return "published" if self._result is None else self._result.status

    @property
    def reason(self) -> str:
        """Why it was not measured, in words; "" if it was."""
        return "" if self._result is None else self._result.reason or ""

    @property
    def conditions(self) -> dict[str, str]:
        """What its figures depend on, as far as it is known."""
        return dict(self._subject.conditions)

    @property
    def params(self) -> dict[str, ParamValue]:
        """The parameters that were asked for; a copy."""
        return {} if self._result is None else copy.deepcopy(self._result.params)

    @property
    def claims(self) -> list[Claim]:
        """Its verdicts; often none."""
        found = self._subject.verdicts(self.id) if self._result is None else self._result.verdicts
        if isinstance(found, Missing):
            return []
        return [Claim(one.name, one.passed, one.evidence) for one in found]

    @property
    def all_series(self) -> list[RunSeries]:
        """All its series, in the order in which it recorded them."""
        return [RunSeries(one) for one in self._held]

    def series(self, name: str | None = None, /, *values: object, **labels: object) -> RunSeries:
        """The one series of that name whose labels have these values.

        `series("switch", threads=128)` and, without the name of the label, `series("switch", 128)`.
        Of a latency in parts the total is meant unless a part is named. The name may be left out
        where there is one only. InputError, with those there are, for none and for several.
        """
        if not self._held:
            why = f"{self.status}: {one_line(self.reason)}" if self.reason else self.status
            raise InputError(f"{self.id} has no series ({why})")
        found = [one for one in self._held if name is None or one.name == name]
        if not found:
            raise InputError(f"{self.id} has no series '{shorten(str(name))}'", self._names())
        wanted = [str(one) for one in values]
        chosen = [one for one in found if _is_labelled(one, wanted, labels)]
        if len(chosen) > 1 and "part" not in labels:
            chosen = [one for one in chosen if _TOTAL in one.labels.items()] or chosen
        if not chosen:
            said = [*wanted, *(f"{key}={value}" for key, value in labels.items())]
            raise InputError(
                f"{self.id} has no series '{name or ''}' with {shorten(', '.join(said))}",
                f"there are {_addresses(found)}",
            )
        if len(chosen) > 1:
            raise InputError(
                f"{len(chosen)} series of {self.id} match: {_addresses(chosen)}",
                "name the labels that tell them apart: series(NAME, LABEL=VALUE)",
            )
        return RunSeries(chosen[0])

    def __repr__(self) -> str:
        names = dict.fromkeys(one_line(one.name) for one in self._held)
        return f"<{one_line(self.id)}: {self.status}; series {', '.join(names) or 'none'}>"

    def _names(self) -> str:
        names = dict.fromkeys(shorten(one.name) for one in self._held)
        return f"it has {', '.join(list(names)[:_MOST_NAMED])}"


def _is_labelled(one: Held, values: Sequence[str], labels: dict[str, object]) -> bool:
    has = dict(labels_of(one))
    if any(has.pop(key, None) != str(value) for key, value in labels.items()):
        return False
    rest = list(has.values())
    for value in values:
        if value not in rest:
            return False
        rest.remove(value)
    return True


def _addresses(held: Sequence[Held]) -> str:
    """The first few, with their labels by name."""
    named = [_address(one) for one in held[:_MOST_NAMED]]
    more = f" and {len(held) - _MOST_NAMED} more" if len(held) > _MOST_NAMED else ""
    return "; ".join(named) + more


def _address(one: Held) -> str:
    said = [f"{key}={value}" for key, value in one.labels.items()] + list(one.parts)
    return shorten(", ".join([one.name, *said]), 100)
