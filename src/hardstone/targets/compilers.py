"""Which C compiler builds for another architecture."""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
import subprocess
import sys

from hardstone.errors import InputError, TargetError

ARCHES = ("x86_64", "aarch64")
_DEBIAN = {"x86_64": "amd64", "aarch64": "arm64"}
_PATIENCE_S = 60


def own_arch() -> str:
    """The architecture of this machine by the kernel's name for it: x86_64, aarch64."""
    return {"AMD64": "x86_64", "arm64": "aarch64"}.get(platform.machine(), platform.machine())


def cross_compiler(arch: str) -> list[str]:
    """The command of a compiler for `arch` that links statically. TargetError if there is none.

    $HARDSTONE_CC_AARCH64 (its words are split at blanks), else GCC's cross compiler, else Zig's
    compiler as the Python package ziglang.
    """
    if arch not in ARCHES:
        raise InputError(f"there is no probe for '{arch}'", f"known: {', '.join(ARCHES)}")
    variable = f"HARDSTONE_CC_{arch.upper()}"
    if chosen := os.environ.get(variable, "").split():
        if shutil.which(chosen[0]) is None:
            raise TargetError(
                f"there is no compiler '{chosen[0]}'", f"{variable} names it: correct or unset it"
            )
        return chosen
    system = f"{arch.replace('_', '-')}-linux-gnu"
    if shutil.which(f"{system}-gcc") is not None:
        return [f"{system}-gcc"]
    if importlib.util.find_spec("ziglang") is not None:
        return [sys.executable, "-m", "ziglang", "cc", "-target", f"{arch}-linux-musl"]
    raise TargetError(
        f"there is no C compiler for {arch}",
        "install one (or, without root, pip install ziglang): "
        f"sudo apt-get install gcc-{system} libc6-dev-{_DEBIAN[arch]}-cross",
    )


def compiler_version(compiler: list[str]) -> str:
    """What the compiler says of itself. TargetError if it does not run."""
    command = [*compiler, "--version"]
    remedy = "correct the compiler, or name another one (HARDSTONE_CC_AARCH64)"
    try:
        done = subprocess.run(command, capture_output=True, timeout=_PATIENCE_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise TargetError(f"{compiler[0]} does not run: {error}", remedy) from error
    if done.returncode:
        (*_, last) = ["", *done.stderr.decode("utf-8", "replace").splitlines()]
        raise TargetError(f"{' '.join(command)} fails: {last or done.returncode}", remedy)
    return done.stdout.decode("utf-8", "replace")
