"""Carries out the instructions of the Containerfile in the root that this runs in, as root.

No image can be built where no registry is reached, but each command can be tried: tools/fresh.sh
runs this in a minimal Debian, in place of the one that FROM names. Any instruction that is not
known here is an error.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CONTAINERFILE = ROOT / "Containerfile"
KNOWN = ("FROM", "RUN", "COPY", "ENV", "VOLUME", "CMD")
TRIED = (["hardstone-probe", "selftest"], ["hardstone", "list"])


class ContainerfileError(Exception):
    """One line: what is wrong."""


def instructions(text: str) -> list[tuple[str, str]]:
    """Each with its text, lines that go on joined; comments are left out."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    found = [(name, rest) for name, _, rest in (one.partition(" ") for one in joined.splitlines())]
    for name, _ in found:
        if name not in KNOWN:
            raise ContainerfileError(f"the instruction {name!r} is not known")
    if not found or found[0][0] != "FROM":
        raise ContainerfileError("the first instruction is not FROM")
    return found


def copied(text: str) -> None:
    """COPY: files of the context, by pattern, into a folder."""
    *patterns, folder = text.split()
    files = [path for pattern in patterns for path in ROOT.glob(pattern)]
    if not files:
        raise ContainerfileError(f"COPY {text}: there is no such file")
    for path in files:
        shutil.copy2(path, folder)


def carry_out(found: list[tuple[str, str]]) -> None:
    environment = dict(os.environ)
    commands = [*TRIED]
    for name, text in found:
        print(f"containerfile: {name} {text}", flush=True)
        if name == "RUN":
            subprocess.run(["sh", "-c", text], cwd="/", env=environment, check=True)
        elif name == "COPY":
            copied(text)
        elif name == "ENV":
            key, _, value = text.partition("=")
            environment[key] = value
        elif name == "VOLUME":
            Path(text).mkdir(exist_ok=True)
        elif name == "CMD":
            commands.append(json.loads(text))
    for command in commands:
        print(f"containerfile: $ {' '.join(command)}", flush=True)
        subprocess.run(command, cwd="/", env=environment, check=True)


def main() -> int:
    try:
        carry_out(instructions(CONTAINERFILE.read_text("utf-8")))
    except (ContainerfileError, subprocess.CalledProcessError, OSError) as error:
        print(f"containerfile: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
