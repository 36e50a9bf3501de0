"""The kernels that tests boot in guests of the lab: fetched as far as they can be had here."""

from __future__ import annotations

import functools
import subprocess
import sys
from collections.abc import Callable, Sequence

from hardstone.errors import HardstoneError
from hardstone.lab.debian import parse_wanted
from hardstone.lab.kernels import find_kernel
from hardstone.lab.qemu import emulator
from probe_checks import ROOT, Command, Skip

# WHAT and ARCH of `hardstone lab get`. The first is for `make test`, all of them for `make lab`.
STANDARD = (
    ("debian", "amd64"),
    ("debian-rt", "amd64"),
    ("debian@6.12", "amd64"),
    ("debian-rt@6.12", "amd64"),
    ("debian", "arm64"),
    ("debian-rt", "arm64"),
)
FETCH_S = 600
_QEMU_ARCH = {"amd64": "x86_64", "arm64": "aarch64"}


def name_of(what: str, arch: str) -> str:
    """What the lab calls that kernel on this machine."""
    return parse_wanted(what, arch).name


NAMES = tuple(name_of(*one) for one in STANDARD)


def fetch(count: int) -> Callable[[], Sequence[Command]]:
    """Fetches the first `count` kernels unless the lab has them; Skip with what cannot be had.

    A kernel that is there stays as it is, whatever Debian has by now.
    """

    def commands() -> Sequence[Command]:
        reasons = [why for one in STANDARD[:count] if (why := _why_not(*one))]
        if reasons:
            raise Skip("; ".join(reasons))
        return []

    return commands


def _why_not(what: str, arch: str) -> str:
    """Why this kernel cannot be booted here, "" if it can."""
    name = name_of(what, arch)
    try:
        emulator(_QEMU_ARCH[arch])
    except HardstoneError as error:
        return f"{name} is not booted: {error}"
    try:
        find_kernel(name)
    except HardstoneError:
        return _why_not_fetched(name, what, arch)
    return ""


def _why_not_fetched(name: str, what: str, arch: str) -> str:
    command = [sys.executable, "-m", "hardstone", "lab", "get", what, "--arch", arch, "--quiet"]
    run = functools.partial(subprocess.run, cwd=ROOT, stdin=subprocess.DEVNULL)
    try:
        done = run(command, capture_output=True, timeout=FETCH_S, check=False)
    except subprocess.TimeoutExpired:
        return f"{name} was not fetched within {FETCH_S} s"
    if done.returncode == 0:
        return ""
    said = " ".join(done.stderr.decode(errors="replace").split())
    return f"{name} cannot be fetched: {said or f'exit code {done.returncode}'}"
