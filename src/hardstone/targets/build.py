"""Where the probe is, and building it and the programs of guests from source."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from hardstone.errors import InputError, PrivilegeError, TargetError, printable
from hardstone.lab.initramfs import Programs, check_static, kept_programs
from hardstone.targets.find import (
    GUEST,
    PROBE,
    built_probe,
    find_guest,
    find_probe,
    packaged_probe,
    source_tree,
)

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
        if is_own and shutil.which("musl-gcc") is not None:
            return ["musl-gcc"]
        if importlib.util.find_spec("ziglang") is not None:
            return [sys.executable, "-m", "ziglang", "cc", "-target", *wanted.zig]
    packages = f"gcc-{wanted.system.replace('_', '-')} libc6-dev-{wanted.debian}-cross"
    by_apt = f"sudo apt-get install {'gcc libc6-dev' if is_own else packages}"
    raise TargetError(
        f"there is no C compiler for {wanted.name}{f' with {libc}' if libc else ''}",
        {
            "musl": "install Zig's, without root: pip install ziglang",
            "glibc": f"install one: {by_apt}",
        }.get(libc or "", f"install one (or, without root, pip install ziglang): {by_apt}"),
    )


def _compiler_version(compiler: list[str]) -> str:
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


_DEADLINE_S = 600
# As in probe/meson.build: what is not called is not linked, nothing unwinds stacks, each product
# and each sum is rounded, and musl says its version.
_OPTIONS = ["-O2", "-std=c11", "-ffunction-sections", "-fdata-sections"]
_OPTIONS += ["-fno-asynchronous-unwind-tables", "-fno-unwind-tables", "-Wl,--gc-sections"]
_OPTIONS += ["-ffp-contract=off", "-Wl,-u,__libc_version"]
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
        folder = output.parent
        if not (folder / "build.ninja").exists():
            _call(["meson", "setup", str(folder), str(root / "probe")], root)
        _call(["ninja", "-C", str(folder), PROBE, *_guest_here(root)], root)
    else:
        tell(f"building with {compiler}")
        _build_with_compiler(root, output, compiler)
    return output


def build_programs(
    arch: str, folder: Path, root: Path | None = None, libc: str | None = None
) -> tuple[Path, Path]:
    """Builds probe and guest for `arch` into `folder`, linked statically; gives their paths.

    TargetError if there is no compiler for `arch` or no source, and with the compiler's output.
    """
    root = root or _needed_source()
    compiler = [*cross_compiler(arch, libc), "-static", "-s"]
    probe, guest = folder / PROBE, folder / GUEST
    _call([*_probe_command(root, compiler, "linux"), "-o", str(probe)], folder)
    _call([*_guest_command(root, compiler), "-o", str(guest)], folder)
    for program in (probe, guest):
        check_static(program, arch)
    return probe, guest


def _source_files(root: Path) -> list[Path]:
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
    """Builds the probe without Meson, each file of the port its own or POSIX's; without -o."""
    source = root / "probe" / "src"
    ports = source / "port"
    own = [file for file in sorted(source.rglob("*.c")) if ports not in file.parents]
    parts = {file.name: file for name in ("posix", port) for file in (ports / name).glob("*.c")}
    files = [*own, *(parts[name] for name in sorted(parts))]
    return [*compiler, *_OPTIONS, f"-I{source}", *map(str, files), "-lpthread", "-lrt", "-lm"]


def _guest_command(root: Path, compiler: Sequence[str]) -> list[str]:
    """Builds the guest's program without Meson; without -o."""
    probe = root / "probe"
    shared = [probe / "src" / "agent" / name for name in ("child.c", "frame.c")]
    files = [*sorted((probe / "guest").glob("*.c")), *shared]
    folders = [f"-I{probe}", f"-I{probe / 'src'}"]
    return [*compiler, *_OPTIONS, "-D_GNU_SOURCE", *folders, *map(str, files)]


def _call(command: Sequence[str], folder: Path) -> None:
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, timeout=_DEADLINE_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise TargetError(f"{command[0]} failed: {error}", "see the message above") from error
    if done.returncode:
        words = (done.stderr or done.stdout).decode("utf-8", "replace").strip()
        raise BuildError(f"the probe does not build:\n{words[-4000:]}", done.returncode)


Tell = Callable[[str], None]


def programs_for(
    arch: str, tell: Tell = lambda text: None, *, root: Path | None = None
) -> Programs:
    """The programs for `arch` ("x86_64", "aarch64"): for this machine's those in use here.

    Others are built from the source tree `root` (this package's own) when a source file or the
    compiler has changed. TargetError or InputError where they cannot be had, with what to do.
    """
    if arch == own_arch() and sys.platform == "linux":
        programs = Programs(find_probe(), find_guest())
        programs.check(arch)
        return programs
    return built_programs(arch, tell, root=root)


def built_programs(
    arch: str, tell: Tell = lambda text: None, *, root: Path | None = None, libc: str | None = None
) -> Programs:
    """As programs_for, but built for this machine too, with `libc` ("musl", "glibc"; None: that of
    the first compiler that there is)."""
    arch = arch_of(arch).name
    root = root or source_tree()
    if root is None:
        raise TargetError(
            f"the probe for {arch} is built from its source, which this installation lacks",
            "work in a checkout of hardstone",
        )
    compiler = cross_compiler(arch, libc)

    def make(folder: Path) -> Programs:
        tell(f"building the probe for {arch} with {' '.join(compiler)}")
        return Programs(*build_programs(arch, folder, root, libc))

    return kept_programs(arch, _key(root, compiler), make)


def probe_for(machine: str, tell: Tell = lambda text: None, *, root: Path | None = None) -> Path:
    """The static probe for a machine that `uname -m` calls `machine`.

    For this machine's architecture the one in use, if it is static; else the one that this package
    brought; else one that is built and kept, as by programs_for. InputError where there is no probe
    for such a machine, TargetError where it cannot be had, both with what to do.
    """
    arch = arch_of(machine)
    if arch.name == own_arch() and sys.platform == "linux":
        with contextlib.suppress(TargetError):
            own = find_probe()
            check_static(own, arch.name)
            return own
    packaged = packaged_probe(arch.name)
    if packaged.exists():
        check_static(packaged, arch.name)
        return packaged
    return built_programs(arch.name, tell, root=root).probe


def _key(root: Path, compiler: list[str]) -> str:
    """Changes with the compiler, with its options, and with each source file."""
    digest = hashlib.sha256()
    parts = [" ".join(compiler).encode(), _compiler_version(compiler).encode()]
    parts.append(Path(__file__).read_bytes())
    for path in _source_files(root):
        parts += [str(path.relative_to(root)).encode(), path.read_bytes()]
    for part in parts:
        digest.update(len(part).to_bytes(8, "little") + part)
    return digest.hexdigest()[:32]
