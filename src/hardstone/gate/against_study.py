"""The figures of a study as limits: averages and maxima, bounds as they were published."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fnmatch import fnmatchcase

from hardstone.gate.limit import CLAIMS, Limit, Value
from hardstone.published import Address
from hardstone.subjects import Amount, Missing, PublishedSeries, PublishedSystem

_AT_MOST, _AT_LEAST = ("max", "mean"), ("min", "mean")


def limits_of_study(system: PublishedSystem, pattern: str = "*") -> tuple[list[Limit], list[str]]:
    """Limits that ask for what `system` was published to reach, in tests that fit `pattern`; and
    what of it is no limit, in words. Their numbers are 0: they are in no file."""
    found: list[Limit] = []
    open_ended = 0
    for held in system.held():
        if not fnmatchcase(held.test, pattern):
            continue
        for statistic in held.statistics():
            amount = held.amount(statistic)
            wanted = _AT_LEAST if held.unit == "bytes_per_s" else _AT_MOST
            if statistic not in wanted or held.unit == "count" or not isinstance(amount, Amount):
                continue
            bound = amount.lowest if held.unit == "bytes_per_s" else amount.highest
            if bound is None:
                open_ended += 1
                continue
            value = Value(bound, held.unit)
            found.append(Limit(0, _address(held), statistic, value, wanted is _AT_MOST))
    found += _claims(system, pattern)
    notes = [f"no limit: {open_ended} figures of which only a lower bound was published"]
    return found, notes if open_ended else []


def _address(held: PublishedSeries) -> Address:
    """Without the study's conditions: the run has those that it has."""
    return replace(held.figures[0].address, conditions={})


def _claims(system: PublishedSystem, pattern: str) -> Iterator[Limit]:
    for test in system.tests():
        verdicts = system.verdicts(test) if fnmatchcase(test, pattern) else Missing("")
        if not isinstance(verdicts, Missing) and all(one.passed for one in verdicts):
            yield Limit(0, Address(test), CLAIMS)
