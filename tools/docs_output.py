"""Real output in documents, between `<!-- output: COMMAND -->` and `<!-- end -->`.

`<!-- measured: COMMAND -->` is the same for a command whose figures differ from run to run. Such
blocks are refreshed only on request, all those of a document in one store.
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
            kind, command, _old = match.groups()
            if kind == "measured" and not measure:
                return match[0]
            shown = f"$ {command}\n{run(command, home)}"
            return f"<!-- {kind}: {command} -->\n```text\n{shown}\n```\n<!-- end -->\n"

        fresh = BLOCK.sub(replace, text)
        afterwards(Path(home))
        return fresh


def run(command: str, home: str) -> str:
    """Output of one of our programs with `home`, shown as `~`, as its home."""
    program, *arguments = shlex.split(command)
    environment = {
        **os.environ,
        "HOME": home,
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
