"""`hardstone questionnaire`: what no test measures, asked of a system of one's own."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from hardstone.cli.help import declare
from hardstone.errors import EXIT_OK


@declare(
    "questionnaire",
    "hardstone questionnaire my-system.toml",
    "hardstone questionnaire boards/other-system.toml",
)
@click.argument("file", type=click.Path(path_type=Path))
def command(file: Path) -> int:
    """Answer what no test measures, or show the answers.

    Writes FILE, a questionnaire to fill in: documentation, support, tools, debugging, setting up a
    target, configuration, source and licence, priority inheritance. Each answer is yes, partly, no
    or not known, with the evidence for it. If FILE is a questionnaire, it is checked and shown with
    what the study of 2012 says of QNX, Windows CE7 and Linux RT. Another file is never overwritten.
    The answers count in no score.
    """
    from hardstone.cli.messages import paged, tell
    from hardstone.study.questionnaire import read_questionnaire, write_template

    if write_template(file):
        tell(
            f"{file} has the questions; fill it in, then check and show it",
            f"hardstone questionnaire {shlex.quote(str(file))}",
        )
        return EXIT_OK
    found = read_questionnaire(file)
    from hardstone.terminal.lists import print_questionnaire

    with paged():
        print_questionnaire(found)
    return EXIT_OK
