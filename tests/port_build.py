"""Builds the probe with a port that is not in the tree, as docs/how-to/port.md says."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.conftest import ROOT

SMALL = ("-Dload=false", "-Dshield=false", "-Dwerror=true", "-Doptimization=0", "-Ddebug=false")


def compiler() -> str:
    """The C compiler; the test that asks is skipped where there is none."""
    name = os.environ.get("CC", "cc").split()[0]
    if shutil.which(name) is None:
        pytest.skip(f"there is no {name} here")
    return name


def run_command(*words: str | Path) -> None:
    """Fails the test with the command's output if it fails."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    done = subprocess.run(
        [str(word) for word in words],
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def build_port(folder: Path, name: str, port: Path, options: Sequence[str] = ()) -> Path:
    """The probe with the port `name`, whose files are in the folder `port`. What an earlier build
    in `folder` with the same options has compiled is not compiled again."""
    compiler()
    source, build, note = folder / "probe", folder / "build", folder / "options"
    shutil.rmtree(source, ignore_errors=True)
    shutil.copytree(ROOT / "probe", source)
    shutil.copytree(port, source / "src/port" / name)
    setup = ["meson", "setup", str(build), str(source), f"-Dport={name}", *SMALL, *options]
    if not note.exists() or note.read_text() != str(setup):
        shutil.rmtree(build, ignore_errors=True)
        run_command(*setup)
        note.write_text(str(setup))
    run_command("ninja", "-C", build, "hardstone-probe")
    return build / "hardstone-probe"
