"""The list of tests as a table."""

from __future__ import annotations

from collections.abc import Sequence

from hardstone.catalogue import kind_of
from hardstone.model import Descriptor
from hardstone.terminal.light_table import print_light_table

_HEADS = ("test", "title", "kind", "origin", "needs")
_WRAPPING = (False, True, False, True, True)


def print_tests(tests: Sequence[Descriptor]) -> None:
    """Prints one row for each test."""
    rows = [
        (test.id, test.title, kind_of(test.id), test.source, ", ".join(test.needs) or "-")
        for test in tests
    ]
    print_light_table(_HEADS, rows, _WRAPPING)
