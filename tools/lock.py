"""Pins every dependency, with the hashes of all its files: requirements/*.txt.

run.txt holds what `hardstone` and its build need, dev.txt also what the checks need, docs.txt what
the site of the documents is built with, release.txt what wheels for every architecture are built
with; they agree on versions. None holds an address: each site uses its own index.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DEV = "requirements/dev.txt"
RUN = "requirements/run.txt"
DOCS = "requirements/docs.txt"
RELEASE = "requirements/release.txt"
PROJECT = "pyproject.toml"


def compile_command(output: str, *selection: str) -> list[str]:
    return [
        *(sys.executable, "-m", "uv", "pip", "compile"),
        *("--universal", "--python-version", "3.11", "--fork-strategy", "fewest"),
        *("--generate-hashes", "--no-header", "--no-annotate", "--quiet"),
        *("--output-file", output),
        *selection,
    ]


def main() -> int:
    if subprocess.run([sys.executable, "-m", "uv", "--version"], check=False).returncode:
        print(f"uv is missing: {sys.executable} -m pip install uv", file=sys.stderr)
        return 1
    upgrade = ["--upgrade"] if "--upgrade" in sys.argv[1:] else []
    dev = compile_command(DEV, PROJECT, "--group", "build", "--group", "dev", *upgrade)
    run = compile_command(RUN, PROJECT, "--group", "build", "--constraint", DEV)
    docs = compile_command(DOCS, "--group", "docs", "--constraint", DEV, *upgrade)
    release = compile_command(RELEASE, "--group", "release", "--constraint", DEV)
    for command in (dev, run, docs, release):
        subprocess.run(command, cwd=ROOT, check=True)
    for name in (DEV, RUN, DOCS, RELEASE):
        if "://" in (ROOT / name).read_text():
            print(f"{name} holds an address: pin it by version instead", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
