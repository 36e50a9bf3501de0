"""`hardstone completion`, and what is offered for a word that a shell completes.

A shell runs `hardstone` for each Tab, so nothing here loads a document, a catalogue or the probe:
IDs are read off the lines and the file names that have them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ShellComplete,
    ZshComplete,
)

from hardstone.cli.help import Command, declare
from hardstone.errors import EXIT_OK, HardstoneError

SHELLS: dict[str, type[ShellComplete]] = {
    "bash": BashComplete,
    "zsh": ZshComplete,
    "fish": FishComplete,
}
_PACKAGE = Path(__file__).resolve().parents[1]
_TEST = re.compile(r"^\[([A-Z]{3}-[A-Z]-[A-Z]+)\]$", re.MULTILINE | re.ASCII)
_MOST_RUNS = 200


def script(shell: str) -> str:
    """The completion script of a shell, by click. It asks `hardstone` for each word."""
    asks = SHELLS[shell](Command("hardstone"), {}, "hardstone", "_HARDSTONE_COMPLETE")
    text = ShellComplete.source(asks)  # BashComplete's starts a bash to ask for its version
    # As fish has it, a description ends at its first comma.
    return text.replace('string split ","', 'string split --max 1 ","')


@declare(
    "completion",
    'eval "$(hardstone completion bash)"',
    'eval "$(hardstone completion zsh)"',
)
@click.argument("shell", type=click.Choice(list(SHELLS)), metavar="SHELL")
def command(shell: str) -> int:
    """Print the script that completes hardstone in a shell.

    SHELL is bash, zsh or fish. It reads the script from a file of its own:
    ~/.local/share/bash-completion/completions/hardstone (bash 4.4 or newer with bash-completion),
    _hardstone in a folder of $fpath (zsh), ~/.config/fish/completions/hardstone.fish (fish). The
    Debian package installs all three.
    """
    click.echo(script(shell))
    return EXIT_OK


def _beginning(words: Iterable[str], begin: str) -> list[CompletionItem]:
    return [CompletionItem(word) for word in words if word.startswith(begin)]


def tests(context: click.Context, parameter: click.Parameter, begin: str) -> list[CompletionItem]:
    """IDs of tests, in upper or lower case as commands take them."""
    words = _TEST.findall((_PACKAGE / "catalogue.toml").read_text(encoding="utf-8"))
    return _beginning(words, begin.upper())


def runs(context: click.Context, parameter: click.Parameter, begin: str) -> list[CompletionItem]:
    """last, and the IDs of the newest stored runs; only last where the store cannot be read. A word
    with a slash is a file."""
    if "/" in begin:
        return [CompletionItem(begin, type="file")]
    from hardstone.store.place import DOCUMENT_SUFFIX, Place, default_root, is_run_id

    words: list[str] = []
    with suppress(OSError, HardstoneError):
        folder = Place(context.params.get("store") or default_root()).runs
        names = (path.name.removesuffix(DOCUMENT_SUFFIX) for path in folder.iterdir())
        words = sorted((name for name in names if is_run_id(name)), reverse=True)[:_MOST_RUNS]
    return _beginning(["last", *words], begin)


def runs_and_tests(
    context: click.Context, parameter: click.Parameter, begin: str
) -> list[CompletionItem]:
    """What commands take that measure tests or read runs."""
    return [*runs(context, parameter, begin), *tests(context, parameter, begin)]


def named_targets(
    context: click.Context, parameter: click.Parameter, begin: str
) -> list[CompletionItem]:
    """The names of hardstone target list, with what each is; none where their file is damaged."""
    from hardstone.targets import named

    with suppress(HardstoneError):
        found = named.named_targets().values()
        return [
            CompletionItem(one.name, help=one.url) for one in found if one.name.startswith(begin)
        ]
    return []


def targets(context: click.Context, parameter: click.Parameter, begin: str) -> list[CompletionItem]:
    """What --target takes and has a name: this machine, named targets, the kernels of the lab."""
    from hardstone.lab.lab_folder import entry_names

    kernels: list[str] = []
    with suppress(OSError, HardstoneError):
        kernels = [f"lab:{name}" for name in entry_names()]
    named = named_targets(context, parameter, begin)
    return [*_beginning(["local"], begin), *named, *_beginning(kernels, begin)]


def importable_tools(
    context: click.Context, parameter: click.Parameter, begin: str
) -> list[CompletionItem]:
    """The tools whose files are read."""
    from hardstone.importers.recognise import tools

    return _beginning(tools(), begin)


def words(*known: str) -> Callable[..., list[CompletionItem]]:
    """For a parameter that has these values."""

    def complete(
        context: click.Context, parameter: click.Parameter, begin: str
    ) -> list[CompletionItem]:
        return _beginning(known, begin)

    return complete
