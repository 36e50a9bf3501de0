"""Probe and guest program for an architecture."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from pathlib import Path

from hardstone.errors import TargetError
from hardstone.lab.programs import Programs, kept_programs
from hardstone.targets import build
from hardstone.targets.compilers import compiler_version, cross_compiler, own_arch
from hardstone.targets.find import find_guest, find_probe, source_tree


def programs_for(
    arch: str, tell: Callable[[str], None] = lambda text: None, *, root: Path | None = None
) -> Programs:
    """The programs for `arch` ("x86_64", "aarch64"): for this machine's those in use here.

    Others are built from the source tree `root` (this package's own) when a source file or the
    compiler has changed. TargetError or InputError where they cannot be had, with what to do.
    """
    if arch == own_arch() and sys.platform == "linux":
        programs = Programs(find_probe(), find_guest())
        programs.check(arch)
        return programs
    root = root or source_tree()
    if root is None:
        raise TargetError(
            f"the probe for {arch} is built from its source, which this installation lacks",
            "work in a checkout of hardstone",
        )
    compiler = cross_compiler(arch)

    def make(folder: Path) -> Programs:
        tell(f"building the probe for {arch} with {' '.join(compiler)}")
        return Programs(*build.build_programs(arch, folder, root))

    return kept_programs(arch, _key(root, compiler), make)


def _key(root: Path, compiler: list[str]) -> str:
    """Changes with the compiler, with its options, and with each source file."""
    digest = hashlib.sha256()
    parts = [" ".join(compiler).encode(), compiler_version(compiler).encode()]
    parts.append(Path(build.__file__).read_bytes())
    for path in build.source_files(root):
        parts += [str(path.relative_to(root)).encode(), path.read_bytes()]
    for part in parts:
        digest.update(len(part).to_bytes(8, "little") + part)
    return digest.hexdigest()[:32]
