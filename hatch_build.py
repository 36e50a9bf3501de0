"""Build hook: the probe goes into the wheel, built by the C compiler of this machine."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PROBE = "hardstone-probe"
GUEST = "hardstone-guest"  # process 1 of a guest of the lab, which runs Linux
OLDEST_LINUX = "manylinux_2_17"
ELF_HEAD = struct.Struct("<16sHHIQQQIHHHHHH")
INTERPRETER = 3  # PT_INTERP of a program header
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
        build_data["tag"] = f"py3-none-{platform_tag(programs)}"
        for program in programs:
            build_data["force_include"][str(program)] = f"hardstone/_probe/{program.name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if version != "editable":
            self._folder.cleanup()


def platform_tag(programs: Sequence[Path], platform: str | None = None) -> str:
    """The systems on which the wheel runs: each Linux of the architecture where `programs` need no
    library of it, else those like `platform`, by default this one (docs/decisions/0070)."""
    name = (platform or sysconfig.get_platform()).replace("-", "_").replace(".", "_")
    family, _, arch = name.partition("_")
    is_static = all(not needs_loader(program.read_bytes()) for program in programs)
    return f"{OLDEST_LINUX}_{arch}" if family == "linux" and is_static else name


def needs_loader(program: bytes) -> bool:
    """Whether an ELF program of 64 bits asks for the loader of shared libraries; True for what is
    none."""
    if program[:6] != b"\x7fELF\x02\x01" or len(program) < ELF_HEAD.size:
        return True
    (_, _, _, _, _, at, *_, size, count, _, _, _) = ELF_HEAD.unpack_from(program)
    kinds = [struct.unpack_from("<I", program, at + i * size)[0] for i in range(count)]
    return INTERPRETER in kinds


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
