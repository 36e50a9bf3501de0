"""The situations of docs/how-to/containers-and-groups.md, made by the commands that stand there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import pytest

from tests.conftest import PROBE, ROOT

PAGE = ROOT / "docs/how-to/containers-and-groups.md"
CONTROLLERS = ("cpu", "cpuset", "freezer", "pids")
# Tried in tests/host: what takes seconds of the real kernel, and tracing, which a PID namespace of
# the tests' own refuses for a reason of its own.
REAL_TIME = (
    *("A CPU quota", "A cpuset that changes while measuring", "Frozen or stopped"),
    "Limits of the shell (ulimit)",
    *("No tracefs, no debugfs", "A rootless container, a user namespace"),
)
_SECTION = re.compile(r"^## (.+?)\n(.*?)(?=^## |\Z)", re.DOTALL | re.MULTILINE)
_CANNOT = ("mount:", "umount:", "unshare:", "capsh:", "Directory nonexistent", "write error")


def situations() -> dict[str, tuple[list[str], str]]:
    """What is said, and the commands, of each heading that has both."""
    found = {}
    for heading, text in _SECTION.findall(PAGE.read_text()):
        said = re.search(r"^```text\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
        tried = re.search(r"^Tried by.*?^```sh\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
        if said and tried:
            found[heading] = (said[1].splitlines(), tried[1])
    return found


@contextmanager
def groups() -> Iterator[dict[str, str]]:
    """A control group of each controller, as the variables of the page; removed at the end."""
    name = f"hs-{uuid4().hex[:12]}"  # as long as fits in a line of the doctor
    made = [Path("/sys/fs/cgroup", controller, name) for controller in CONTROLLERS]
    try:
        for folder in made:
            try:
                folder.mkdir()
            except OSError:
                pytest.skip("no control groups of version 1 that can be made here")
        yield {path.parent.name.upper(): str(path) for path in made}
    finally:
        for folder in made:
            if folder.exists():
                folder.rmdir()


def check(heading: str, folder: Path) -> None:
    """Runs the commands of the page, and finds each line that it quotes in what they print."""
    if os.geteuid() != 0:
        pytest.skip("the commands are for root")
    said, commands = situations()[heading]
    programs = folder / "bin"
    programs.mkdir()
    shutil.copy(PROBE, programs / "hardstone-probe")
    (programs / "hardstone").write_text(f'#!/bin/sh\nexec {sys.executable} -m hardstone "$@"\n')
    (programs / "hardstone").chmod(0o755)
    (programs / "python").symlink_to(sys.executable)
    place = {"PATH": f"{programs}:{os.environ['PATH']}:/usr/sbin", "STORE": str(folder / "store")}
    with groups() as group:
        done = subprocess.run(
            ["sh", "-c", commands],
            cwd=ROOT,
            env={**os.environ, **place, **group, "HARDSTONE_LOCK_FILE": str(folder / "lock")},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
    for line in done.stdout.splitlines():
        if any(word in line for word in _CANNOT):
            pytest.skip(f"not to be made here: {line[-120:]}")
    printed = " ".join(done.stdout.split())
    missing = [line for line in said if " ".join(line.split()) not in printed]
    assert not missing, done.stdout
