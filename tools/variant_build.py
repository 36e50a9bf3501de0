"""Builds the probe on another C library: `python tools/variant_build.py [--linux] [TARGET...]`.

In build/probe-variant, all that may differ from the usual build does: musl, the portable subset,
no load, no shield, few CPUs, no optimisation. With --linux, in build/probe-musl, only the C library
does. Checks and tests use one build each: whoever comes second waits, and finds it done.
"""

from __future__ import annotations

import fcntl
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
HEADERS = Path("/usr/include")


@dataclass(frozen=True)
class Build:
    folder: Path
    options: Sequence[str]
    targets: Sequence[str]

    @property
    def probe(self) -> Path:
        return self.folder / "hardstone-probe"


UNLIKE = ["-Dport=posix", "-Dload=false", "-Dshield=false", "-Dcpus=8", "-Dwerror=true"]
FAST = ["-Doptimization=0", "-Ddebug=false"]
TARGETS = ["meson-test-prereq", "hardstone-probe", "tests/hardstone-probe-counted"]
VARIANT = Build(BUILD / "probe-variant", [*UNLIKE, *FAST], TARGETS)
LINUX = Build(BUILD / "probe-musl", FAST, ["hardstone-probe"])


def compiler() -> str:
    """musl's sees no header of the kernel: it gets those, and nothing of glibc."""
    musl = shutil.which("musl-gcc")
    if musl is None:
        return os.environ.get("CC", "cc")
    folder = BUILD / "kernel-headers"
    folder.mkdir(parents=True, exist_ok=True)
    machine = next(HEADERS.glob("*-linux-gnu/asm"), HEADERS / "asm")
    for place in (HEADERS / "linux", HEADERS / "asm-generic", machine):
        link = folder / place.name
        if not link.is_symlink():
            link.symlink_to(place)
    return shlex.join([musl, "-isystem", str(folder)])


def set_up(folder: Path, options: Sequence[str], compiler: str) -> list[list[str]]:
    """The command that configures a build; none where it was configured alike. Else it begins
    anew: Meson keeps the compiler that it knows."""
    command = [
        "env",
        f"CC={compiler}",
        "meson",
        "setup",
        *options,
        str(folder),
        str(ROOT / "probe"),
    ]
    note = folder.with_name(f"{folder.name}.command")
    if (folder / "build.ninja").exists() and note.exists() and note.read_text() == str(command):
        return []
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(exist_ok=True)
    note.write_text(str(command))
    return [command]


def build(one: Build, targets: Sequence[str]) -> int:
    BUILD.mkdir(exist_ok=True)
    with one.folder.with_name(f"{one.folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        ninja = ["ninja", "-C", str(one.folder), *(targets or one.targets)]
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
        for command in [*set_up(one.folder, one.options, compiler()), ninja]:
            if code := subprocess.run(
                command, env={**os.environ, "PATH": path}, check=False
            ).returncode:
                return code
    return 0


if __name__ == "__main__":
    words = sys.argv[1:]
    sys.exit(build(LINUX if "--linux" in words else VARIANT, [w for w in words if w != "--linux"]))
