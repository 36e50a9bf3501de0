"""Where the probe is, and building it and the programs of guests from source."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import hardstone
from hardstone.errors import PrivilegeError, TargetError
from hardstone.lab.initramfs import Programs, check_static, kept_programs
from hardstone.targets.arches import arch_of, cross_compiler, own_arch, script_environment
from hardstone.targets.find import (
    GUEST,
    PROBE,
    built_probe,
    find_guest,
    find_probe,
    packaged_probe,
    probe_source,
    source_tree,
)

_PATIENCE_S = 60


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
    names = (PROBE, GUEST)
    _build_by_script(root, folder, cross_compiler(arch, libc), names, is_whole=False)
    for name in names:
        check_static(folder / name, arch)
    return folder / PROBE, folder / GUEST


def _source_files(root: Path) -> list[Path]:
    """All that probe and guest are built from, for each system."""
    parts = (root / "probe" / part for part in ("src", "guest"))
    sources = sorted(path for part in parts for path in part.rglob("*.[ch]"))
    return [root / "probe" / _SCRIPT, *sources]


def _needed_source() -> Path:
    """Root of the source tree. TargetError with the remedy where there is none."""
    root = source_tree()
    if root is None:
        raise TargetError(
            "this installation does not contain the source of the probe",
            "build it in a checkout of hardstone and set HARDSTONE_PROBE to its path",
        )
    return root


_SCRIPT = "build.sh"


def _build_with_compiler(root: Path, output: Path, compiler: str) -> None:
    _build_by_script(root, output.parent, [compiler], [PROBE, *_guest_here(root)], is_whole=True)


def _build_by_script(
    root: Path, folder: Path, compiler: Sequence[str], names: Sequence[str], *, is_whole: bool
) -> None:
    """Builds `names` into `folder` without Meson; `is_whole` keeps the names of functions."""
    port = "linux" if sys.platform == "linux" or not is_whole else "posix"
    script = root / "probe" / _SCRIPT
    environment = None if is_whole else script_environment(compiler)
    words = ["/bin/sh", str(script), str(folder), port, " ".join(names), *compiler]
    _call(words, root, environment)


def _guest_here(root: Path) -> list[str]:
    """The guest's program, where one is built: guests run Linux."""
    has_it = sys.platform == "linux" and (root / "probe" / "guest" / "main.c").exists()
    return [GUEST] if has_it else []


def _call(
    command: Sequence[str], folder: Path, environment: Mapping[str, str] | None = None
) -> None:
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            capture_output=True,
            timeout=_DEADLINE_S,
            check=False,
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
    root = root or probe_source()
    if root is None:
        raise TargetError(
            f"the probe for {arch} is built from its source, which this installation lacks",
            "install a wheel that was built with it, or work in a checkout of hardstone",
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


# Builds the probe on a target, with its own compiler, in the folder $d from source_archive() on
# standard input. Without single quotes, backslashes and "!": see deploy.py.
THERE_SCRIPT = (
    "(cd $d && gzip -dc | tar xf - && /bin/sh source/build.sh . linux hardstone-probe; r=$?; "
    "rm -rf source; exit $r)"
)


def source_archive(root: Path | None = None) -> bytes:
    """The probe's source, to be built on a target: a tar file in gzip's format, the same bytes for
    the same source. TargetError where this installation has no source."""
    root = root or probe_source()
    if root is None:
        raise TargetError(
            "the probe's source, which is to be compiled there, is not part of this installation",
            "install a wheel that was built with it, or leave build_there out",
        )
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for path in _source_files(root):
            name = path.relative_to(root / "probe")
            if name.parts[0] == "guest":
                continue
            _add(tar, f"source/{name.as_posix()}", path.read_bytes())
        _add(tar, "source/VERSION", f"{hardstone.__version__}\n".encode())
    return gzip.compress(archive.getvalue(), mtime=0)


def _add(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(content), 0o644
    tar.addfile(entry, io.BytesIO(content))


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
