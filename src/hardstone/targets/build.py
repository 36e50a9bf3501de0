"""Builds the probe from the source tree: Meson where it is, else the compiler alone."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from hardstone.errors import PrivilegeError, TargetError
from hardstone.targets.find import built_probe, source_tree

_DEADLINE_S = 600
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
    """Builds the probe and gives its path. TargetError with the compiler's output if it fails."""
    root = source_tree()
    if root is None:
        raise TargetError(
            "this installation does not contain the source of the probe",
            "build it in a checkout of hardstone and set HARDSTONE_PROBE to its path",
        )
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


def _build_with_meson(root: Path, folder: Path) -> None:
    is_set_up = (folder / "build.ninja").exists()
    if not is_set_up:
        _call(["meson", "setup", str(folder), str(root / "probe")], root)
    _call(["ninja", "-C", str(folder), "hardstone-probe"], root)


def _build_with_compiler(root: Path, output: Path, compiler: str) -> None:
    output.parent.mkdir(parents=True, exist_ok=True)
    fresh = output.with_suffix(".new")
    _call([*compiler_command(root, compiler), "-o", str(fresh)], root)
    fresh.replace(output)


def compiler_command(root: Path, compiler: str) -> list[str]:
    """The compiler's arguments for a build without Meson, without -o."""
    source = root / "probe" / "src"
    ports = source / "port"
    own = [file for file in sorted(source.rglob("*.c")) if ports not in file.parents]
    files = [*own, *port_files(source)]
    options = ["-O2", "-std=c11", f"-I{source}"]
    return [compiler, *options, *map(str, files), "-lpthread", "-lrt", "-lm"]


def port_files(source: Path) -> list[Path]:
    """Files of the port for this system: Linux has its own, others the portable one."""
    own = sorted((source / "port" / "linux").glob("*.c"))
    return own if sys.platform == "linux" and own else portable_files(source)


def portable_files(source: Path) -> list[Path]:
    """The port that needs nothing but POSIX."""
    return sorted((source / "port" / "posix").glob("*.c"))


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
