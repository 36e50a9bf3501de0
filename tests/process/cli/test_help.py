"""The help of every command: options in groups, examples that parse, 80 columns."""

from __future__ import annotations

import shlex

import click
import pytest

from docs_commands import all_commands
from hardstone.cli.help import GROUPS, LAB, Command, Group, Option
from hardstone.cli.main import hardstone

WALKED: dict[str, click.Command] = {"hardstone": hardstone} | {
    " ".join(("hardstone", *words)): command for words, command in all_commands().items()
}
each_command = pytest.mark.parametrize("name", WALKED)


def helped(name: str) -> str:
    names = ["-h", "--help"]  # as of the whole, which click keeps with each command
    return WALKED[name].get_help(
        click.Context(WALKED[name], info_name=name, terminal_width=80, help_option_names=names)
    )


@each_command
def test_no_line_is_longer_than_80_columns(name: str) -> None:
    shown = helped(name)
    assert [line for line in shown.splitlines() if len(line) > 80] == []
    _, _, commands = shown.partition("\nCommands:\n")
    assert not any(line.endswith("...") for line in commands.splitlines())


@each_command
def test_each_option_is_in_a_group(name: str) -> None:
    """click's own stand with the output: --help, and --version of the whole."""
    command = WALKED[name]
    assert isinstance(command, Command | Group)
    options = [one for one in command.params if isinstance(one, click.Option) and not one.hidden]
    odd = [one.opts for one in options if not isinstance(one, Option) and one.opts != ["--version"]]
    assert odd == []
    shown = helped(name)
    heads = [line.rstrip(":") for line in shown.splitlines() if line.endswith(":")]
    groups = [head for head in heads if head in GROUPS or head.startswith(LAB)]
    assert len(groups) == len(set(groups))
    for one in options:
        assert one.opts[-1] in shown and one.help, one.opts


@each_command
def test_each_has_two_examples_that_click_parses(name: str) -> None:
    command = WALKED[name]
    assert isinstance(command, Command | Group)
    assert len(command.examples) >= 2
    shown = helped(name)
    assert shown.index("Examples:") > shown.index("--help")
    for example in command.examples:
        assert f"  {example}" in shown.splitlines()
        words = shlex.split(example)
        if "$(" in example:
            continue  # it takes the output of a command of ours
        words = words[words.index("hardstone") + 1 :]
        found: click.Command = hardstone
        above = click.Context(hardstone, help_option_names=["-h", "--help"])
        while words and isinstance(found, click.Group) and words[0] in found.list_commands(above):
            child = found.get_command(above, words.pop(0))
            assert child is not None
            found = child
        context = found.make_context(found.name, words, parent=above)
        assert context.command is found
        assert not isinstance(found, click.Group) or found.invoke_without_command


def test_the_common_options_stand_first() -> None:
    shown = helped("hardstone run")
    heads = ["What:", "How long:", "Conditions:", "Where:", "Output:", "Lab (with", "Examples:"]
    places = [shown.index(head) for head in heads]
    assert places == sorted(places)
    conditions = shown[places[2] : places[3]]
    firsts = [conditions.index(name) for name in ("--cpu N", "--load", "--cpu-config", "--seed")]
    assert firsts == sorted(firsts)
