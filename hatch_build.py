"""Build hook: what measures goes into the wheel, and its source.

- `_probe/hardstone-probe`, `_probe/hardstone-guest`: for the wheel's architecture, built by the C
  compiler of this machine, or by Zig's for another machine (HARDSTONE_WHEEL_ARCH=arm64).
- `_probe/ARCH/hardstone-probe`: static, for boards of other architectures, built by Zig's compiler
  (the package ziglang). HARDSTONE_ARCHES names them: "all", some of "x86-64 arm64 armv7 riscv64",
  or nothing for none. Without the variable: all if ziglang is installed, else none.
- `_probe/source`: what a target with a compiler, and `hardstone probe build --arch`, compile.

Where a variable asks for Zig's compiler, ziglang is a requirement of the build.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import shutil
import struct
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).resolve().parent
PROBE = "hardstone-probe"
GUEST = "hardstone-guest"  # process 1 of a guest of the lab, which runs Linux
OLDEST_LINUX = "manylinux_2_17"
ELF_HEAD = struct.Struct("<16sHHIQQQIHHHHHH")
INTERPRETER = 3  # PT_INTERP of a program header
NINJAS = ("ninja", "ninja-build", "samu")  # the names that Meson looks for
ARCHES = "HARDSTONE_ARCHES"
WHEEL_ARCH = "HARDSTONE_WHEEL_ARCH"
ZIG = "ziglang==0.15.2"


class BuildError(Exception):
    """Its last line is the cause."""


class ProbeBuildHook(BuildHookInterface[Any]):
    """An editable installation finds the probe in build/ and needs no hook."""

    def dependencies(self) -> list[str]:
        return [ZIG] if os.environ.get(ARCHES) or os.environ.get(WHEEL_ARCH) else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        # The folder must outlive this call: the wheel is written after it.
        self._folder = tempfile.TemporaryDirectory(prefix="hardstone-")
        folder, source = Path(self._folder.name), Path(self.root) / "probe"
        try:
            own, arch = wheel_programs(source, folder)
            others = [] if arch == "" else boards(source, folder, own, arch)
        except BuildError as error:
            self.app.abort(f"hardstone: {error}")
            return
        if os.environ.get(ARCHES) is None and not others:
            self.app.display_warning(f"hardstone: without probes for other machines: {NO_ZIG}")
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform_tag(own, f'linux-{arch}' if arch else None)}"
        for program in own:
            build_data["force_include"][str(program)] = f"hardstone/_probe/{program.name}"
        for program in others:
            inside = f"hardstone/_probe/{program.parent.name}/{program.name}"
            build_data["force_include"][str(program)] = inside
        for part in ("build.sh", "src", "guest"):
            inside = f"hardstone/_probe/source/probe/{part}"
            build_data["force_include"][str(source / part)] = inside

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if version != "editable":
            self._folder.cleanup()


@functools.cache
def arches() -> ModuleType:
    """src/hardstone/targets/arches.py, which needs no package that a build lacks."""
    sys.path.insert(0, str(ROOT / "src"))
    try:
        file = ROOT / "src" / "hardstone" / "targets" / "arches.py"
        spec = importlib.util.spec_from_file_location("hardstone_arches", file)
        assert spec and spec.loader  # noqa: S101
        module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(ROOT / "src"))
    return module


def platform_tag(programs: Sequence[Path], platform: str | None = None) -> str:
    """The systems on which the wheel runs: each Linux of the architecture where `programs` need no
    library of it, else those like `platform`, by default this one (docs/decisions/0067)."""
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


NO_ZIG = f"pip install {ZIG}, or choose none: {ARCHES}="


def wheel_programs(source: Path, folder: Path) -> tuple[list[Path], str]:
    """The programs of the wheel's own architecture, and its name; "" beside Linux."""
    if sys.platform != "linux":
        return build_programs(source, folder), ""
    known = {arch.option: arch for arch in arches().ARCHES}
    chosen = os.environ.get(WHEEL_ARCH, "")
    if chosen and chosen not in known:
        raise BuildError(f"{WHEEL_ARCH}={chosen!r}: known are {', '.join(known)}")
    if not chosen or known[chosen].name == arches().own_arch():
        return build_programs(source, folder), arches().own_arch()
    return build_with_zig(source, folder, known[chosen], PROBE, GUEST), known[chosen].name


def boards(source: Path, folder: Path, own: list[Path], arch: str) -> list[Path]:
    """Static probes for boards, each in a folder that its architecture names."""
    known = {one.option: one for one in arches().ARCHES}
    chosen = os.environ.get(ARCHES)
    if chosen is None:
        wanted = list(known) if arches().has_zig() else []
    else:
        wanted = list(known) if chosen.strip() == "all" else chosen.replace(",", " ").split()
    if unknown := [name for name in wanted if name not in known]:
        raise BuildError(f"{ARCHES} names {unknown[0]!r}: known are {', '.join(known)}, and all")
    return [
        path
        for one in map(known.__getitem__, wanted)
        if one.name != arch or needs_loader(own[0].read_bytes())
        for path in build_with_zig(source, folder / one.name, one, PROBE)
    ]


def build_with_zig(source: Path, folder: Path, arch: Any, *names: str) -> list[Path]:
    if not arches().has_zig():
        raise BuildError(f"Zig's compiler, which builds for {arch.option}, is missing: {NO_ZIG}")
    compiler = arches().zig_compiler(arch)
    script = ["/bin/sh", str(source / "build.sh"), str(folder), "linux", " ".join(names)]
    run([*script, *compiler], arches().script_environment(compiler))
    return [folder / name for name in names]


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
    # Options of Meson in place of CFLAGS would switch off what the user's CFLAGS say.
    flags = [os.environ.get("CFLAGS", ""), *own_paths(source, build)]
    environment = os.environ | {"PATH": path, "CFLAGS": " ".join(flags)}
    run([*meson, "setup", str(build), str(source), "-Ddebug=false"], environment)
    has_guest = sys.platform == "linux" and (source / "guest" / "main.c").exists()
    names = [PROBE, GUEST] if has_guest else [PROBE]
    run([*meson, "compile", "-C", str(build), *names], environment)
    return [build / name for name in names]


def own_paths(source: Path, build: Path) -> list[str]:
    """Options that keep the folders of this build out of the programs, which else differ from
    build to build; none for a compiler that does not know them."""
    maps = {os.path.relpath(source, build): "probe", str(source): "probe", str(build): "build"}
    options = [f"-ffile-prefix-map={folder}={name}" for folder, name in maps.items()]
    compiler = os.environ.get("CC", "cc").split()
    empty = [*compiler, *options, "-E", "-x", "c", os.devnull]
    done = subprocess.run(empty, capture_output=True, stdin=subprocess.DEVNULL, check=False)
    has_space = any(" " in option for option in options)  # which separates options in CFLAGS
    return [] if done.returncode or has_space else options


def run(command: list[str], environment: dict[str, str]) -> None:
    done = subprocess.run(
        command,
        env=environment,
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
