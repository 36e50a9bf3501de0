"""The pages of the commands: the help that click prints."""

from __future__ import annotations

from collections.abc import Iterator

import click

from docs_tests import table
from hardstone.cli.main import hardstone

WIDTH = 92

Words = tuple[str, ...]

_PAGE = "docs/how-to/containers-and-groups.md"
_RESTRICTED = f"""
In a container, a control group or under limits: [what is said there, and what to
type]({_PAGE.replace("docs", "../..", 1)}).
"""
_MORE: dict[Words, str] = {("doctor",): _RESTRICTED, ("run",): _RESTRICTED}


def all_commands() -> dict[Words, click.Command]:
    """Every command by its words, ("target", "add") for one within a group."""
    return dict(_walk(hardstone, ()))


def file_name(words: Words) -> str:
    return f"{'-'.join(words)}.md"


def page(words: Words, command: click.Command) -> str:
    name = f"hardstone {' '.join(words)}"
    return f"# {name}\n\n```text\n{help_text(name, command)}\n```\n{_MORE.get(words, '')}"


def index(commands: dict[Words, click.Command]) -> str:
    rows = [
        [f"[hardstone {' '.join(words)}]({file_name(words)})", command.get_short_help_str(90)]
        for words, command in commands.items()
    ]
    return f"# Commands\n\n{table(['command', 'what'], rows)}\n"


def help_text(name: str, command: click.Command) -> str:
    names = hardstone.context_settings["help_option_names"]  # click keeps them with the command
    context = click.Context(command, info_name=name, terminal_width=WIDTH, help_option_names=names)
    lines = command.get_help(context).splitlines()
    return "\n".join(line.rstrip() for line in lines)


def _walk(command: click.Command, above: Words) -> Iterator[tuple[Words, click.Command]]:
    if not isinstance(command, click.Group):
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        child = command.get_command(context, name)
        if child is not None and not child.hidden:
            yield (*above, name), child
            yield from _walk(child, (*above, name))
