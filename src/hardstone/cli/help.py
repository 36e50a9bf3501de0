"""What `--help` prints: options in groups, the common ones first, and examples at the end."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click
from click.shell_completion import CompletionItem

WHAT, HOW_LONG, CONDITIONS = "What", "How long", "Conditions"
DECISION, WHERE, OUTPUT, LAB = "Decision", "Where", "Output", "Lab"
# In the order of the help.
GROUPS = (WHAT, HOW_LONG, CONDITIONS, DECISION, WHERE, OUTPUT, LAB)
_CHOICES = re.compile(r"\[([a-z0-9|-]+)\]", re.ASCII)
_WHAT_OF = {LAB: "Lab (with --target lab:NAME)"}


class Option(click.Option):
    """An option in one of GROUPS. The common ones of a group stand before the others."""

    def __init__(
        self, *arguments: Any, group: str = OUTPUT, is_common: bool = False, **how: Any
    ) -> None:
        super().__init__(*arguments, **how)
        self.group = group
        self.is_common = is_common

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The words of a metavar such as [fifo|rr|other] too, which are no type of click's."""
        words = _CHOICES.fullmatch(self.metavar or "")
        if words is None:
            return super().shell_complete(ctx, incomplete)
        return [CompletionItem(word) for word in words[1].split("|") if word.startswith(incomplete)]


def group_of(parameter: click.Parameter) -> str:
    """The group of an option; click's own, such as --help, are output."""
    return parameter.group if isinstance(parameter, Option) else OUTPUT


class _Helpful(click.Command):
    """A command whose help has its options in groups, and `examples` at the end."""

    def __init__(self, *arguments: Any, examples: Sequence[str] = (), **how: Any) -> None:
        super().__init__(*arguments, **how)
        self.examples = tuple(examples)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes each group that has options."""
        for group in GROUPS:
            options = (one for one in self.get_params(ctx) if isinstance(one, click.Option))
            found = [one for one in options if group_of(one) == group]
            found.sort(key=lambda one: not (isinstance(one, Option) and one.is_common))
            rows = [row for one in found if (row := one.get_help_record(ctx)) is not None]
            if rows:
                with formatter.section(_WHAT_OF.get(group, group)):
                    formatter.write_dl(rows)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the examples, each as it is typed, on one line."""
        if self.examples:
            with formatter.section("Examples"):
                for one in self.examples:
                    formatter.write(f"{'':{formatter.current_indent}}{one}\n")


class Command(_Helpful):
    """A command that does one thing."""


class Group(_Helpful, click.Group):
    """A command with commands of its own, shown in `order` or that of their names."""

    command_class = Command

    def __init__(self, *arguments: Any, order: Sequence[str] = (), **how: Any) -> None:
        super().__init__(*arguments, **how)
        self._order = {name: place for place, name in enumerate(order)}

    def list_commands(self, ctx: click.Context) -> list[str]:
        last = len(self._order)
        return sorted(super().list_commands(ctx), key=lambda name: self._order.get(name, last))

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the options, then the commands."""
        super().format_options(ctx, formatter)
        self.format_commands(ctx, formatter)


def declare(name: str, *examples: str, **how: Any) -> Callable[[Callable[..., Any]], Command]:
    """As click.command, with the `examples` of its help."""
    return click.command(name, cls=Command, examples=examples, **how)


def declare_group(name: str, *examples: str, **how: Any) -> Callable[[Callable[..., Any]], Group]:
    """As click.group, with the `examples` of its help."""
    return click.group(name, cls=Group, examples=examples, **how)


def write_commands(
    formatter: click.HelpFormatter, sections: Mapping[str, Mapping[str, str]]
) -> None:
    """Writes commands with what each does, by section, in columns that all sections share."""
    width = max(len(name) for rows in sections.values() for name in rows)
    for title, rows in sections.items():
        with formatter.section(title):
            formatter.write_dl([(f"{name:{width}}", text) for name, text in rows.items()])
