"""`hardstone list`: the available tests, or the published systems."""

from __future__ import annotations

from typing import Any

import click

from hardstone.cli.options import json_option, target_option
from hardstone.errors import EXIT_OK

_PUBLISHED = "published"


@click.command("list")
@click.argument("what", required=False, type=click.Choice([_PUBLISHED]), metavar="[published]")
@target_option
@json_option
def command(what: str | None, target: str, as_json: bool) -> int:
    """List the tests: ID, title, origin, kind, needs.

    With the word published: the systems of the studies, with their stars. They can stand where a
    run can, as published:qnx.
    """
    if what == _PUBLISHED:
        return _list_published(as_json=as_json)
    from hardstone.catalogue import load_catalogue
    from hardstone.cli.messages import print_json
    from hardstone.cli.registers import read_register

    catalogue = load_catalogue()
    tests = sorted(read_register(target).tests, key=lambda test: catalogue.place(test.id))
    if as_json:
        print_json([_row(test) for test in tests])
    else:
        from hardstone.terminal.lists import print_tests

        print_tests(tests)
    return EXIT_OK


def _list_published(*, as_json: bool) -> int:
    from hardstone.cli.messages import print_json
    from hardstone.present.stars_text import published_rows

    rows = published_rows()
    if as_json:
        print_json(rows)
    else:
        from hardstone.terminal.lists import print_published_systems

        print_published_systems(rows)
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
