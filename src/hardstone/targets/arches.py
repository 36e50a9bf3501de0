"""The architectures that there is a probe for, and compilers for them.

hatch_build.py loads this file by its path, with no package beside this one's errors.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hardstone.errors import InputError, TargetError, printable

_PATIENCE_S = 60


@dataclass(frozen=True)
class Arch:
    """An architecture that there is a probe for. `name`: as `uname -m` has it; `option`: of --arch;
    `system`, `debian`: of GCC's programs and Debian's packages; `zig`: target and processor, the
    least that Debian's port demands."""

    name: str
    option: str
    system: str
    debian: str
    zig: tuple[str, ...]
    gcc: tuple[str, ...] = ()

    @property
    def variable(self) -> str:
        """Names a compiler for it."""
        return f"HARDSTONE_CC_{self.name.upper()}"


ARCHES = (
    Arch("x86_64", "x86-64", "x86_64-linux-gnu", "amd64", ("x86_64-linux-musl",)),
    Arch("aarch64", "arm64", "aarch64-linux-gnu", "arm64", ("aarch64-linux-musl",)),
    Arch(
        "armv7l",
        "armv7",
        "arm-linux-gnueabihf",
        "armhf",
        ("arm-linux-musleabihf", "-mcpu=generic+v7a+vfp3d16-neon"),
        ("-march=armv7-a", "-mfpu=vfpv3-d16", "-mfloat-abi=hard"),
    ),
    Arch("riscv64", "riscv64", "riscv64-linux-gnu", "riscv64", ("riscv64-linux-musl",)),
)
# Other names of the same: the kernels of other systems, and 32 bits on a processor of 64.
_OTHER_NAMES = {"amd64": "x86_64", "arm64": "aarch64", "armv8l": "armv7l"}
_REFUSED = {
    "armv6l": "its processor lacks what an exchange of 64 bits between processes needs (ARMv7)",
    "armv5tel": "its processor lacks what an exchange of 64 bits between processes needs (ARMv7)",
    "i686": "its kernel runs no program of 64 bits, and there is no probe of 32 bits for x86",
    "i586": "its kernel runs no program of 64 bits, and there is no probe of 32 bits for x86",
}
LIBCS = ("musl", "glibc")


def arch_of(machine: str) -> Arch:
    """What `machine`, a name of `uname -m`, can run. InputError where there is no probe for it."""
    name = _OTHER_NAMES.get(machine.lower(), machine)
    for arch in ARCHES:
        if name == arch.name:
            return arch
    known = f"there is one for {', '.join(arch.name for arch in ARCHES)}"
    reason = _REFUSED.get(machine)
    raise InputError(
        f"there is no probe for '{printable(machine[:40])}'{f': {reason}' if reason else ''}",
        "use a kernel of 64 bits" if machine in ("i686", "i586") else known,
    )


def own_arch() -> str:
    """The architecture of this machine by the kernel's name for it: x86_64, aarch64."""
    machine = platform.machine()
    return _OTHER_NAMES.get(machine.lower(), machine)


def cross_compiler(arch: str, libc: str | None = None) -> list[str]:
    """The command of a compiler for `arch` that links statically, with `libc` ("musl", "glibc";
    None: either). TargetError if there is none.

    $HARDSTONE_CC_AARCH64 (its words are split at blanks), else GCC's cross compiler, else Zig's
    compiler as the Python package ziglang, which has musl.
    """
    wanted = arch_of(arch)
    if chosen := os.environ.get(wanted.variable, "").split():
        if shutil.which(chosen[0]) is None:
            raise TargetError(
                f"there is no compiler '{chosen[0]}'",
                f"{wanted.variable} names it: correct or unset it",
            )
        return chosen
    is_own = wanted.name == own_arch() and sys.platform == "linux"
    if libc != "musl":
        own = [os.environ.get("CC") or "cc"] if is_own else []
        for name in (*own, f"{wanted.system}-gcc"):
            if shutil.which(name) is not None:
                return [name, *wanted.gcc]
    if libc != "glibc":
        if has_zig():
            return zig_compiler(wanted)
        if is_own and shutil.which("musl-gcc") is not None:
            # Its headers lack the kernel's, which are found after its own.
            places = ("/usr/include", f"/usr/include/{wanted.system}")
            return ["musl-gcc", *(word for place in places for word in ("-idirafter", place))]
    packages = f"gcc-{wanted.system.replace('_', '-')} libc6-dev-{wanted.debian}-cross"
    by_apt = f"sudo apt-get install {'gcc libc6-dev' if is_own else packages}"
    raise TargetError(
        f"there is no C compiler for {wanted.name}{f' with {libc}' if libc else ''}",
        {
            "musl": "install Zig's, without root: pip install ziglang",
            "glibc": f"install one: {by_apt}",
        }.get(libc or "", f"install one (or, without root, pip install ziglang): {by_apt}"),
    )


def has_zig() -> bool:
    """Whether the Python package ziglang is installed."""
    return importlib.util.find_spec("ziglang") is not None


def zig_compiler(arch: Arch) -> list[str]:
    """Zig's compiler for `arch`, with musl."""
    return [sys.executable, "-m", "ziglang", "cc", "-target", *arch.zig]


def musl_version(compiler: Sequence[str]) -> str:
    """The version of the musl that `compiler` links, where its files tell; else ""."""
    told = ""
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        if "ziglang" in compiler:
            spec = importlib.util.find_spec("ziglang")
            (place,) = (spec and spec.submodule_search_locations) or ["/nonexistent"]
            told = Path(place, "lib/libc/musl/src/internal/version.h").read_text("ascii", "replace")
        elif Path(compiler[0]).name == "musl-gcc":
            loader = f"/lib/ld-musl-{own_arch()}.so.1"  # says what it is, and fails
            done = subprocess.run([loader], capture_output=True, timeout=_PATIENCE_S, check=False)
            told = done.stderr.decode("ascii", "replace")
    found = _VERSION.search(told)
    return found[1] if found else ""


_VERSION = re.compile(r'(?:VERSION "|Version )([0-9][0-9A-Za-z.+~-]{0,40})', re.ASCII)


def script_environment(compiler: Sequence[str]) -> dict[str, str]:
    """The environment of probe/build.sh for another machine: what CFLAGS and LDFLAGS say is for
    this one."""
    version = musl_version(compiler)
    flags = f'-DHS_LIBC_VERSION="{version}"' if version else ""
    return os.environ | {"CFLAGS": flags, "LDFLAGS": "-s"}
