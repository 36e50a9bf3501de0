"""Builds the probe from the source tree: Meson where it is, else the compiler alone."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from hardstone.errors import PrivilegeError, TargetError
from hardstone.lab.elf import check_static
from hardstone.targets.compilers import cross_compiler
from hardstone.targets.find import GUEST, PROBE, built_probe, source_tree

_DEADLINE_S = 600
# As in probe/meson.build: what is not called is not linked, and nothing unwinds stacks.
_OPTIONS = ["-O2", "-std=c11", "-ffunction-sections", "-fdata-sections"]
_OPTIONS += ["-fno-asynchronous-unwind-tables", "-fno-unwind-tables", "-Wl,--gc-sections"]
_COMPILER_HINT = "install one, for example: sudo apt-get install gcc libc6-dev"


class BuildError(TargetError):
    """The compiler failed; `cause` holds its lines."""

    def __init__(self, cause: str, code: int) -> None:
        super().__init__(cause, f"exit code {code}")

    def reasons(self) -> list[tuple[str, str]]:
        """One reason for each line that the compiler wrote."""
        *lines, last = self.cause.splitlines()
        return [*((line, "") for line in lines), (last, self.remedy)]


def build_probe(tell: Callable[[str], None] = lambda text: None) -> Path:
    """Builds the probe, and on Linux the guest's program beside it; gives the path of the probe.

    TargetError with the compiler's output if it fails.
    """
    root = _needed_source()
    output = built_probe(root)
    compiler = os.environ.get("CC") or "cc"
    if shutil.which(compiler) is None:
        raise PrivilegeError(f"there is no C compiler '{compiler}'", _COMPILER_HINT)
    if shutil.which("meson") and shutil.which("ninja"):
        tell("building with meson")
        _build_with_meson(root, output.parent)
    else:
        tell(f"building with {compiler}")
        _build_with_compiler(root, output, compiler)
    return output


def build_programs(arch: str, folder: Path, root: Path | None = None) -> tuple[Path, Path]:
    """Builds probe and guest for `arch` into `folder`, linked statically; gives their paths.

    TargetError if there is no compiler for `arch` or no source, and with the compiler's output.
    """
    root = root or _needed_source()
    compiler = [*cross_compiler(arch), "-static", "-s"]
    probe, guest = folder / PROBE, folder / GUEST
    _call([*_probe_command(root, compiler, "linux"), "-o", str(probe)], folder)
    _call([*_guest_command(root, compiler), "-o", str(guest)], folder)
    for program in (probe, guest):
        check_static(program, arch)
    return probe, guest


def source_files(root: Path) -> list[Path]:
    """All that probe and guest are built from, for each system."""
    parts = (root / "probe" / part for part in ("src", "guest"))
    return sorted(path for part in parts for path in part.rglob("*.[ch]"))


def _needed_source() -> Path:
    """Root of the source tree. TargetError with the remedy where there is none."""
    root = source_tree()
    if root is None:
        raise TargetError(
            "this installation does not contain the source of the probe",
            "build it in a checkout of hardstone and set HARDSTONE_PROBE to its path",
        )
    return root


def _build_with_meson(root: Path, folder: Path) -> None:
    is_set_up = (folder / "build.ninja").exists()
    if not is_set_up:
        _call(["meson", "setup", str(folder), str(root / "probe")], root)
    _call(["ninja", "-C", str(folder), PROBE, *_guest_here(root)], root)


def _build_with_compiler(root: Path, output: Path, compiler: str) -> None:
    output.parent.mkdir(parents=True, exist_ok=True)
    static = [compiler, "-static"] if _links_statically(compiler) else [compiler]
    port = "linux" if sys.platform == "linux" else "posix"
    _build_whole(_probe_command(root, static, port), output, root)
    for name in _guest_here(root):
        _build_whole(_guest_command(root, static), output.with_name(name), root)


def _guest_here(root: Path) -> list[str]:
    """The guest's program, where one is built: guests run Linux."""
    has_it = sys.platform == "linux" and (root / "probe" / "guest" / "main.c").exists()
    return [GUEST] if has_it else []


def _build_whole(command: list[str], output: Path, root: Path) -> None:
    fresh = output.with_suffix(".new")
    _call([*command, "-o", str(fresh)], root)
    fresh.replace(output)


def _links_statically(compiler: str) -> bool:
    """Whether there are libraries to link statically with, as Meson's build asks too."""
    with tempfile.TemporaryDirectory(prefix="hardstone-") as folder:
        command = [compiler, "-static", "-x", "c", "-", "-o", f"{folder}/program"]
        program = b"#include <math.h>\nint main(int c, char **v) { return (int)sqrt(c); }\n"
        done = subprocess.run(
            [*command, "-lm"], input=program, capture_output=True, timeout=_DEADLINE_S, check=False
        )
    return done.returncode == 0


def _probe_command(root: Path, compiler: Sequence[str], port: str) -> list[str]:
    """Builds the probe with a folder of src/port, without Meson; without -o."""
    source = root / "probe" / "src"
    ports = source / "port"
    own = [file for file in sorted(source.rglob("*.c")) if ports not in file.parents]
    files = [*own, *sorted((ports / port).glob("*.c"))]
    return [*compiler, *_OPTIONS, f"-I{source}", *map(str, files), "-lpthread", "-lrt", "-lm"]


def _guest_command(root: Path, compiler: Sequence[str]) -> list[str]:
    """Builds the guest's program without Meson; without -o."""
    files = sorted((root / "probe" / "guest").glob("*.c"))
    return [*compiler, *_OPTIONS, "-D_GNU_SOURCE", f"-I{root / 'probe'}", *map(str, files)]


def _call(command: Sequence[str], folder: Path) -> None:
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, timeout=_DEADLINE_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise TargetError(f"{command[0]} failed: {error}", "look at the message above") from error
    if done.returncode:
        words = (done.stderr or done.stdout).decode("utf-8", "replace").strip()
        raise BuildError(f"the probe does not build:\n{words[-4000:]}", done.returncode)
