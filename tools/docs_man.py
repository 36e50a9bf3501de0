"""The manual pages and the completion scripts, which the wheel and the Debian package install.

They are made from click's own data, and the probe's page from what the probe prints. click-man
writes such pages too, but it walks `Group.commands`, which a group that loads its commands late
does not have, and it knows no groups of options and no examples.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence

import click

from docs_commands import Words
from hardstone import __version__
from hardstone.cli.completion import SHELLS, script
from hardstone.cli.help import GROUPS, Command, Group, Option, group_of
from hardstone.cli.main import hardstone

WIDTH = 78
SCRIPTS = {
    "bash": "bash-completion/completions/hardstone",
    "zsh": "zsh/site-functions/_hardstone",
    "fish": "fish/vendor_completions.d/hardstone.fish",
}
_RELATED = [r"\fBcyclictest\fR(8)", r"\fBhwlatdetect\fR(8)", r"\fBchrt\fR(1)", r"\fBsched\fR(7)"]
_ENVIRONMENT = {
    "HARDSTONE_PROBE": "The probe to use, instead of the one that was installed.",
    "HARDSTONE_LAB_DIR": "Folder of the lab's kernels (default: $XDG_CACHE_HOME/hardstone/lab).",
    "HARDSTONE_DEBUG": "If set, an internal error shows its traceback.",
    "XDG_DATA_HOME": "Runs are stored in its folder hardstone (default: ~/.local/share).",
}
# The program and the command have one name; so they have one page.
_PROBE = ("probe",)
_SPECIAL = {"\\": r"\e", "-": r"\-", "'": r"\(aq", "`": r"\(ga", "^": r"\(ha", "~": r"\(ti"}
_ESCAPES = str.maketrans(_SPECIAL)
_EXIT_CODES = re.compile(r"Exit codes: (.*?)\.?", re.DOTALL)


def files(commands: Mapping[Words, click.Command], probe_help: str, changes: str) -> dict[str, str]:
    """The text of each file, by its path below share/. `probe_help` is what the probe prints as its
    help; `changes` is the CHANGELOG, which has the date of a version."""
    found = {}
    for words, command in {(): hardstone, **commands}.items():
        program = _program(probe_help) if words == _PROBE else []
        text = _page(words, command, _date(changes), commands, program)
        found[f"man/man1/{_name(words)}.1"] = text
    return found | {SCRIPTS[shell]: f"{script(shell).strip()}\n" for shell in SHELLS}


def _name(words: Words) -> str:
    return "-".join(("hardstone", *words))


def _date(changes: str) -> str:
    """The date of this version in the CHANGELOG; "" until it is released."""
    found = re.search(
        rf"^## {re.escape(__version__)} - (\d{{4}}-\d\d-\d\d)$", changes, re.MULTILINE
    )
    return found[1] if found else ""


def _page(
    words: Words,
    command: click.Command,
    date: str,
    commands: Mapping[Words, click.Command],
    program: Sequence[str],
) -> str:
    typed = " ".join(("hardstone", *words))
    names = hardstone.context_settings["help_option_names"]
    context = click.Context(command, info_name=typed, help_option_names=names)
    first, *paragraphs = (" ".join(one.split()) for one in (command.help or "").split("\n\n"))
    usage = " ".join(command.collect_usage_pieces(context))
    ends = {one: found[1] for one in paragraphs if (found := _EXIT_CODES.fullmatch(one))}
    lines = [
        f'.TH {_name(words).upper()} 1 "{date}" "hardstone {__version__}" "User Commands"',
        ".\\" + '" Made by tools/gen_docs.py from the help of the command.',
        ".nh",  # a name that is broken at a hyphen cannot be copied
        ".SH NAME",
        f"{_name(words)} \\- {_escaped(first[:1].lower() + first[1:].rstrip('.'))}",
        *_section("SYNOPSIS", [f"\\fB{_escaped(typed)}\\fR {_escaped(usage)}"]),
        *_section(
            "DESCRIPTION", _paragraphs(one for one in [first, *paragraphs] if one not in ends)
        ),
        *_section("OPTIONS", _options(command, context)),
        *_section("COMMANDS", _children(words, commands)),
        *_section("EXIT STATUS", _exit_status(ends.values())),
        *_section("ENVIRONMENT", _environment() if not words else []),
        *_section("EXAMPLES", _examples(command)),
        *program,
        *_section("SEE ALSO", [_see_also(words)]),
    ]
    return "\n".join(lines) + "\n"


def _section(title: str, lines: Sequence[str] | Iterator[str]) -> list[str]:
    found = list(lines)
    return [f".SH {title}", *found] if found else []


def _escaped(text: str) -> str:
    """`text` as the formatter prints it, character by character."""
    escaped = text.translate(_ESCAPES)
    return f"\\&{escaped}" if escaped.startswith(".") else escaped


def _filled(text: str) -> list[str]:
    """Lines of the source of a paragraph; none of them begins a request."""
    lines = textwrap.wrap(text, WIDTH, break_on_hyphens=False, break_long_words=False)
    return [_escaped(line) for line in lines]


def _paragraphs(texts: Iterator[str]) -> Iterator[str]:
    for number, text in enumerate(texts):
        yield from [".PP"] if number else []
        yield from _filled(text)


def _options(command: click.Command, context: click.Context) -> Iterator[str]:
    """In the groups and the order of --help."""
    for group in GROUPS:
        found = [
            one
            for one in command.get_params(context)
            if isinstance(one, click.Option) and group_of(one) == group
        ]
        found.sort(key=lambda one: not (isinstance(one, Option) and one.is_common))
        rows = [row for one in found if (row := one.get_help_record(context)) is not None]
        if rows:
            yield f".SS {group}"
        for names, text in rows:
            yield from [".TP", ", ".join(map(_option, names.split(", "))), *_filled(text)]


def _option(text: str) -> str:
    """-D or --duration TIME: the name bold, its value in italics."""
    name, _, value = text.partition(" ")
    return f"\\fB{_escaped(name)}\\fR" + (f" \\fI{_escaped(value)}\\fR" if value else "")


def _children(words: Words, commands: Mapping[Words, click.Command]) -> Iterator[str]:
    for one, child in commands.items():
        if one[:-1] == words:
            name = _escaped(_name(one))
            yield from [".TP", f"\\fB{name}\\fR(1)", *_filled(child.get_short_help_str(90))]


def _exit_status(texts: Iterable[str]) -> Iterator[str]:
    codes = [one for text in texts for one in re.split(r", (?=\d)", text)]
    for one in codes:
        code, _, what = one.partition(" ")
        yield from [".TP", f"\\fB{code}\\fR", *_filled(what)]
    if not codes:
        yield "See \\fBhardstone\\fR(1)."


def _environment() -> Iterator[str]:
    for name, text in _ENVIRONMENT.items():
        yield from [".TP", f"\\fB{name}\\fR", *_filled(text)]


def _examples(command: click.Command) -> Iterator[str]:
    if isinstance(command, Command | Group) and command.examples:
        yield from [".nf", *map(_escaped, command.examples), ".fi"]


def _see_also(words: Words) -> str:
    others = [f"\\fB{_escaped(_name(words[:-1]))}\\fR(1)"] if words else _RELATED
    return ", ".join(others)


def _program(probe_help: str) -> list[str]:
    """The section on the program: its own help, line by line."""
    lines = map(_escaped, probe_help.splitlines())
    return [".SH THE PROGRAM HARDSTONE\\-PROBE", ".nf", *lines, ".fi"]
