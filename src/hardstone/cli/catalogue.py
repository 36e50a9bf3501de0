"""`hardstone list` and `hardstone explain`: the tests, what each measures, what falsifies it."""

from __future__ import annotations

from contextlib import closing

import click

from hardstone.cli.options import json_option, target_option
from hardstone.errors import EXIT_OK
from hardstone.model import Register
from hardstone.targets import find_target


def read_register(target_name: str) -> Register:
    """The tests that the probe of a target has."""
    with closing(find_target(target_name)) as target:
        target.open()
        return target.probe_list()


_PUBLISHED = "published"


@click.command("list")
@click.argument("what", required=False, type=click.Choice([_PUBLISHED]), metavar="[published]")
@target_option
@json_option
def list_tests(what: str | None, target: str, as_json: bool) -> int:
    """List the tests: ID, title, origin, kind, needs.

    With the word published: the systems of the studies, with their stars. They can stand where a
    run can, as published:qnx.
    """
    if what == _PUBLISHED:
        return _list_published(as_json=as_json)
    from hardstone.catalogue import kind_of, load_catalogue
    from hardstone.cli.messages import print_json

    catalogue = load_catalogue()
    tests = sorted(read_register(target).tests, key=lambda test: catalogue.place(test.id))
    if as_json:
        rows = [
            {
                "id": test.id,
                "title": test.title,
                "source": test.source,
                "kind": kind_of(test.id),
                "category": catalogue.entry(test.id).category,
                "needs": test.needs,
            }
            for test in tests
        ]
        print_json(rows)
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


@click.command("explain")
@click.argument("tests", nargs=-1, required=True, metavar="TEST...")
@target_option
@json_option
def explain(tests: tuple[str, ...], target: str, as_json: bool) -> int:
    """Explain tests: what is measured, between which two moments, what distorts it.

    TEST is an ID or a glob in any case.
    """
    from hardstone.catalogue import load_catalogue
    from hardstone.cli.messages import print_json
    from hardstone.plan.params import find_tests
    from hardstone.terminal.explain import explanation, print_explanation

    catalogue = load_catalogue()
    found = find_tests(tests, read_register(target), catalogue)
    if as_json:
        print_json([explanation(test, catalogue.entry(test.id)) for test in found])
        return EXIT_OK
    for position, test in enumerate(found):
        if position:
            click.echo()
        print_explanation(test, catalogue.entry(test.id))
    return EXIT_OK
