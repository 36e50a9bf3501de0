"""Build hook: the probe goes into the wheel, built by the C compiler of this machine."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PROBE = "hardstone-probe"
GUEST = "hardstone-guest"  # process 1 of a guest of the lab, which runs Linux
NINJAS = ("ninja", "ninja-build", "samu")  # the names that Meson looks for


class BuildError(Exception):
    """Its last line is the cause."""


class ProbeBuildHook(BuildHookInterface[Any]):
    """An editable installation finds the probe in build/ and needs no hook."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        # The folder must outlive this call: the wheel is written after it.
        self._folder = tempfile.TemporaryDirectory(prefix="hardstone-")
        try:
            programs = build_programs(Path(self.root) / "probe", Path(self._folder.name))
        except BuildError as error:
            self.app.abort(f"hardstone: {error}")
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform_tag()}"
        for program in programs:
            build_data["force_include"][str(program)] = f"hardstone/_probe/{program.name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if version != "editable":
            self._folder.cleanup()


def platform_tag() -> str:
    return sysconfig.get_platform().replace("-", "_").replace(".", "_")


def obstacle(folder: Path, path: str) -> str:
    """What keeps Meson from building in `folder` with the programs on `path`; "" for nothing."""
    compiler = os.environ.get("CC", "cc").split()[0]
    if os.statvfs(folder).f_flag & os.ST_NOEXEC:
        return f"no program may run in {folder.parent} (noexec): set TMPDIR to another folder"
    if shutil.which(compiler, path=path) is None:
        remedy = "sudo apt-get install build-essential"
        return f"the wheel holds the probe, which needs a C compiler ({compiler}): {remedy}"
    if not any(shutil.which(os.environ.get("NINJA", name), path=path) for name in NINJAS):
        return "the probe is built with ninja, which is not on the PATH: pip install ninja"
    return ""


def build_programs(source: Path, build: Path) -> list[Path]:
    """Builds the probe and the guest's program; raises BuildError, one line with the cause."""
    path = f"{sysconfig.get_path('scripts')}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    if found := obstacle(build, path):
        raise BuildError(found)
    meson = [sys.executable, "-m", "mesonbuild.mesonmain"]
    run([*meson, "setup", str(build), str(source), "-Ddebug=false"], path)
    has_guest = sys.platform == "linux" and (source / "guest" / "main.c").exists()
    names = [PROBE, GUEST] if has_guest else [PROBE]
    run([*meson, "compile", "-C", str(build), *names], path)
    return [build / name for name in names]


def run(command: list[str], path: str) -> None:
    done = subprocess.run(
        command,
        env={**os.environ, "PATH": path},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        lines = done.stdout.splitlines()
        errors = [line for line in lines if "ERROR: " in line or "error: " in line]
        (*_, cause) = ["", *lines, *errors[:1]]
        raise BuildError(f"{done.stdout}\nthe probe does not build: {cause}")
