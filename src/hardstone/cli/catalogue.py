"""`hardstone list` and `hardstone explain`: the tests, what each measures, what falsifies it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING

import click

from hardstone.cli import completion
from hardstone.cli.help import declare
from hardstone.cli.options import json_option, target_option
from hardstone.errors import EXIT_OK, InputError, printable
from hardstone.targets import find_target

if TYPE_CHECKING:
    from hardstone.catalogue import Catalogue
    from hardstone.model import Descriptor, Register


def read_register(target_name: str) -> Register:
    """The tests that the probe of a target has."""
    with closing(find_target(target_name)) as target:
        target.open()
        return target.probe_list()


_PUBLISHED = "published"
_TOOLS = "tools"


@declare("list", "hardstone list", "hardstone list published", "hardstone list tools")
@click.argument(
    "what",
    required=False,
    type=click.Choice([_PUBLISHED, _TOOLS]),
    metavar="[published|tools]",
)
@target_option
@json_option
def list_tests(what: str | None, target: str, as_json: bool) -> int:
    """List the tests, published systems, or other tools.

    For each test: ID, title, kind, origin, and what it needs. With the word published: the systems
    of the studies with their stars. compare and show --why take them as published:qnx, for example.
    With the word tools: the tools whose files hardstone import reads, and their formats.
    """
    if what == _PUBLISHED:
        return _list_published(as_json=as_json)
    if what == _TOOLS:
        return _list_tools(as_json=as_json)
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
        from hardstone.cli.messages import paged
        from hardstone.terminal.lists import print_tests

        with paged():
            print_tests(tests)
    return EXIT_OK


def _list_tools(*, as_json: bool) -> int:
    from hardstone.cli.messages import paged, print_json
    from hardstone.importers.recognise import all_formats, tool_title
    from hardstone.terminal.lists import print_tools

    formats: dict[str, list[str]] = {}
    for one in all_formats():
        title, _, form = one.title.partition(", ")
        formats.setdefault(tool_title(one), []).append(form or title)
    if as_json:
        print_json([{"tool": tool, "formats": forms} for tool, forms in formats.items()])
    else:
        with paged():
            print_tools(formats)
    return EXIT_OK


def _list_published(*, as_json: bool) -> int:
    from hardstone.cli.messages import print_json
    from hardstone.present.stars_text import published_rows

    rows = published_rows()
    if as_json:
        print_json(rows)
    else:
        from hardstone.cli.messages import paged
        from hardstone.terminal.lists import print_published_systems

        with paged():
            print_published_systems(rows)
    return EXIT_OK


@declare(
    "explain",
    "hardstone explain TMR-P-LAT",
    "hardstone explain cyclictest",
    "hardstone explain priority inversion",
)
@click.argument(
    "names", nargs=-1, required=True, metavar="TEST|NAME...", shell_complete=completion.tests
)
@target_option
@json_option
def explain(names: tuple[str, ...], target: str, as_json: bool) -> int:
    """Explain what a test measures and what distorts it.

    TEST is an ID or a pattern in upper or lower case, such as TMR-P-LAT or 'sem-*'. NAME is what
    you know a test by: the name of another tool, a call, or a term, such as cyclictest, sem_wait
    or context switch. If several tests have that name, they are listed.
    """
    from hardstone.catalogue import load_catalogue
    from hardstone.cli.messages import print_json, tell

    catalogue = load_catalogue()
    register = read_register(target)
    found, are_called = _find(names, register, catalogue)
    if as_json:
        from hardstone.terminal.explain import explanation

        print_json([explanation(test, catalogue.entry(test.id)) for test in found])
        return EXIT_OK
    if are_called and len(found) > 1:
        from hardstone.terminal.lists import print_tests

        print_tests(found)
        tell("to explain one of them", f"hardstone explain {found[0].id}")
        return EXIT_OK
    from hardstone.cli.messages import paged
    from hardstone.terminal.explain import print_explanation

    with paged():
        for position, test in enumerate(found):
            if position:
                click.echo()
            print_explanation(test, catalogue.entry(test.id))
    return EXIT_OK


def _find(
    names: Sequence[str], register: Register, catalogue: Catalogue
) -> tuple[list[Descriptor], bool]:
    """The tests of IDs and patterns, or those with a name; whether it was by name.

    InputError, with the nearest name, where there are none.
    """
    from hardstone.plan.params import PlanError, find_tests

    tests = {test.id: test for test in register.tests}
    phrase = " ".join(names)
    called = [one for one in catalogue.called(phrase) if one in tests]
    if not called:
        try:
            return find_tests(names, register, catalogue), False
        except PlanError as error:
            called = _holding(phrase, register, catalogue)
            if not called:
                raise _unknown(phrase, register, catalogue) or error from None
    return [tests[one] for one in called], True


def _holding(phrase: str, register: Register, catalogue: Catalogue) -> list[str]:
    """The tests of which each word of `phrase` is in the title or in a name, in battery order."""
    from hardstone.catalogue import folded

    wanted = [folded(word) for word in phrase.split()]
    texts = {
        test.id: [folded(text) for text in (test.title, *catalogue.entry(test.id).known_as)]
        for test in sorted(register.tests, key=lambda one: catalogue.place(one.id))
    }
    return [
        test
        for test, texts_of in texts.items()
        if wanted and all(len(word) > 2 and any(word in one for one in texts_of) for word in wanted)
    ]


_LEAST_WORD = 5  # shorter words are in too many names
_ALIKE = 0.75


def _unknown(phrase: str, register: Register, catalogue: Catalogue) -> InputError | None:
    """The error for a name that is nearly one that is known; None where there is none."""
    import difflib

    texts = [
        text for one in register.tests for text in (one.title, *catalogue.entry(one.id).known_as)
    ]
    words = [word.strip("(),:") for text in texts for word in text.split()]
    words = [word for word in words if len(word) >= _LEAST_WORD]
    known = {
        word.casefold(): word for word in [*words, *texts, *(one.id for one in register.tests)]
    }
    asked = phrase[:80].casefold()
    close = difflib.get_close_matches(asked, known, n=1, cutoff=_ALIKE)
    if not close or close[0] == asked:
        return None
    import shlex

    name = known[close[0]]
    return InputError(
        f"no test is known as '{printable(phrase)[:60]}'",
        f"did you mean {name}: hardstone explain {shlex.quote(name)}",
    )
