"""Real output in documents, between `<!-- output: COMMAND -->` and `<!-- end -->`.

`<!-- measured: COMMAND -->` is the same for a command whose figures differ from run to run. Such
blocks are refreshed only on request, all those of a document in one store.

`<!-- shown: ADDRESSES -->` in the next line keeps some lines of the output, named as in sed:
`/PATTERN/` each line that matches, `/PATTERN/../PATTERN/` each stretch from one to the other.
Lines that were left out are a line `...`; without an address only the command is shown.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"<!-- (output|measured): (.+?) -->\n(.*?)<!-- end -->\n", re.DOTALL)
# Whether another run was measuring is not part of a command's output.
WAITING = re.compile(r"hardstone: .*\banother hardstone measurement\b", re.IGNORECASE)
SHOWN = re.compile(r"<!-- shown:(.*?) -->\n")
ADDRESS = re.compile(r" /(.+?)/(?:\.\./(.+?)/)?(?= |$)")
PROGRAMS = {
    "hardstone": ROOT / ".venv" / "bin" / "hardstone",
    "hardstone-probe": ROOT / "build" / "probe" / "hardstone-probe",
}


def refresh(
    text: str, *, measure: bool, afterwards: Callable[[Path], None] = lambda home: None
) -> str:
    """`text` with the current output in its blocks.

    `afterwards` gets the home in which the commands ran, before it is removed.
    """
    with tempfile.TemporaryDirectory(prefix="hardstone-") as home:

        def replace(match: re.Match[str]) -> str:
            kind, command, old = match.groups()
            if kind == "measured" and not measure:
                return match[0]
            choice = SHOWN.match(old)
            lines = run(command, home).splitlines()
            shown = "\n".join([f"$ {command}", *(kept(lines, choice[1]) if choice else lines)])
            head = f"<!-- {kind}: {command} -->\n{choice[0] if choice else ''}"
            return f"{head}```text\n{shown}\n```\n<!-- end -->\n"

        fresh = BLOCK.sub(replace, text)
        afterwards(Path(home))
        return fresh


def kept(lines: list[str], addresses: str) -> list[str]:
    """The lines that `addresses` name. ValueError for an address without a line."""
    chosen: set[int] = set()
    for first, last in ADDRESS.findall(addresses):
        found = _stretches(lines, first, last)
        if not found:
            raise ValueError(f"no line is /{first}/{f'../{last}/' if last else ''} any more")
        chosen |= found
    if ADDRESS.sub("", addresses).strip():
        raise ValueError(f"these are no addresses: {addresses}")
    shown: list[str] = []
    for at, line in enumerate(lines):
        if at in chosen:
            shown.append(line)
        elif chosen and shown[-1:] != ["..."]:
            shown.append("...")
    return shown


def _stretches(lines: list[str], first: str, last: str) -> set[int]:
    """Numbers of the lines from each that matches `first` to the next that matches `last`."""
    found: set[int] = set()
    for at, line in enumerate(lines):
        if re.search(first, line):
            rest = range(at, len(lines))
            end = next((to for to in rest if re.search(last, lines[to])), None) if last else at
            found |= set(range(at, at if end is None else end + 1))
    return found


def run(command: str, home: str) -> str:
    """Output of one of our programs with `home`, shown as `~`, as its home."""
    program, *arguments = shlex.split(command)
    environment = {
        **os.environ,
        "HOME": home,
        # What a command says to type names it as the documents do.
        "PATH": f"{PROGRAMS['hardstone'].parent}:{os.environ.get('PATH', os.defpath)}",
        "XDG_DATA_HOME": f"{home}/.local/share",
        "COLUMNS": "92",
        "NO_COLOR": "1",
        "TERM": "dumb",
    }
    done = subprocess.run(
        [PROGRAMS[program], *arguments],
        cwd=home,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode not in (0, 1, 3):
        raise RuntimeError(f"{command} ended with {done.returncode}: {done.stdout}")
    lines = done.stdout.replace(home, "~").splitlines()
    lines = [line for line in lines if not WAITING.match(line)]
    return "\n".join(line.rstrip() for line in lines).strip("\n")
