"""`hardstone list`: the available tests."""

from __future__ import annotations

from typing import Any

import click

from hardstone.cli.options import json_option, target_option
from hardstone.errors import EXIT_OK


@click.command("list")
@target_option
@json_option
def command(target: str, as_json: bool) -> int:
    """List the tests: ID, title, origin, kind, needs."""
    from hardstone.catalogue import load_catalogue
    from hardstone.cli.messages import print_json
    from hardstone.cli.registers import read_register
    from hardstone.plan import battery

    tests = battery(read_register(target), load_catalogue())
    if as_json:
        print_json([_row(test) for test in tests])
    else:
        from hardstone.terminal.tests import print_tests

        print_tests(tests)
    return EXIT_OK


def _row(test: Any) -> dict[str, Any]:
    from hardstone.catalogue import kind_of, load_catalogue

    return {
        "id": test.id,
        "title": test.title,
        "source": test.source,
        "kind": kind_of(test.id),
        "category": load_catalogue().entry(test.id).category,
        "needs": test.needs,
    }
