"""`hardstone explain`: what a test measures, and what falsifies it."""

from __future__ import annotations

import click

from hardstone.cli.options import json_option, target_option
from hardstone.errors import EXIT_OK


@click.command("explain")
@click.argument("tests", nargs=-1, required=True, metavar="TEST...")
@target_option
@json_option
def command(tests: tuple[str, ...], target: str, as_json: bool) -> int:
    """Explain tests: what is measured, between which two moments, what distorts it.

    TEST is an ID or a glob in any case.
    """
    from hardstone.catalogue import load_catalogue
    from hardstone.cli.messages import print_json
    from hardstone.cli.registers import read_register
    from hardstone.plan import find_tests
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
