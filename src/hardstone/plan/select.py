"""Selects tests by ID or glob, in any case."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence

from hardstone.catalogue import Catalogue
from hardstone.model import Descriptor, Register
from hardstone.plan.problems import Problems, nearest, quote

_MAX_PATTERN = 100


def battery(register: Register, catalogue: Catalogue) -> list[Descriptor]:
    """All tests of the probe in the order of the catalogue, which may lack the last ones."""
    return sorted(register.tests, key=lambda test: catalogue.place(test.id))


def find_tests(
    patterns: Sequence[str], register: Register, catalogue: Catalogue
) -> list[Descriptor]:
    """The tests that `patterns` name; PlanError with every pattern that names none."""
    problems = Problems()
    found = select_tests(patterns, register, catalogue, problems)
    problems.raise_if_any()
    return found


def select_tests(
    patterns: Sequence[str], register: Register, catalogue: Catalogue, problems: Problems
) -> list[Descriptor]:
    """The tests that `patterns` name, each once, in the given order; a test that gives figures
    to another one comes before it.

    A glob gives battery order. A pattern without a match is noted, with the nearest name.
    """
    if not patterns:
        problems.add("no test was named", "see: hardstone list")
    ordered = {test.id: test for test in battery(register, catalogue)}
    selected: dict[str, Descriptor] = {}
    for pattern in patterns:
        found = _match(pattern, list(ordered))
        if not found:
            problems.add(*_unknown(pattern, list(ordered), catalogue))
        selected.update({test: ordered[test] for test in found})
    return [selected[test] for test in _givers_first(list(selected), catalogue)]


def _givers_first(tests: Sequence[str], catalogue: Catalogue) -> list[str]:
    """`tests`, in which a test that gives figures to another one comes before it."""
    order: dict[str, None] = {}
    for test in tests:
        giver = catalogue.entry(test).after
        if giver in tests:
            order.setdefault(giver)
        order.setdefault(test)
    return list(order)


def _match(pattern: str, ordered: Sequence[str]) -> list[str]:
    if len(pattern) > _MAX_PATTERN:
        return []
    wanted = pattern.strip().upper()
    return [test for test in ordered if fnmatch.fnmatchcase(test.upper(), wanted)]


def _unknown(pattern: str, ordered: Sequence[str], catalogue: Catalogue) -> tuple[str, str]:
    if pattern.strip().upper() in catalogue.ids():
        return f"the probe has no test {quote(pattern)}", "update it: hardstone probe build"
    if any(char in pattern for char in "*?["):
        return f"no test matches {quote(pattern)}", "see: hardstone list"
    return f"unknown test {quote(pattern)}", f"{nearest(pattern, ordered)}; see all: hardstone list"
