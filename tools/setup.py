"""Makes .venv, installs the pinned dependencies, builds the probe.

Skips what has not changed since the last time. An error is one line with the command to
type; the output of the commands is in .venv/setup.log.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import moved
import pip_failure

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
LOG = VENV / "setup.log"
AHEAD = VENV / "ahead.log"
BUILD = ROOT / "build" / "probe"
# By du of .venv, and by the sizes of the wheels.
TAKES = {
    "run": "about 290 MB in .venv, 90 MB of it downloaded",
    "dev": "about 750 MB in .venv in all",
}
# Imports all of hardstone and what its commands load later: Python keeps the bytecode of that.
WARM_UP = """
import importlib, pkgutil
import hardstone, numpy, scipy.ndimage, scipy.special, vl_convert
for module in pkgutil.walk_packages(hardstone.__path__, "hardstone."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
"""
C_PROGRAM = "#include <pthread.h>\nint main(void) { return 0; }\n"


class SetupError(Exception):
    """One line: what is wrong, and what to type."""


def say(text: str) -> None:
    print(f"setup: {text}", flush=True)


def run_logged(
    command: list[str],
    failure: str,
    cause_of: Callable[[str], str] = lambda output: "",
    path: Path = LOG,
) -> None:
    """Runs a command; SetupError, with what `cause_of` finds in the output, if it fails."""
    with path.open("a") as log:
        log.write(f"\n$ {' '.join(command)}\n")
        log.flush()
        begin = log.tell()
        done = subprocess.run(
            command, cwd=ROOT, stdout=log, stderr=subprocess.STDOUT, env=environment(), check=False
        )
    if done.returncode:
        cause = cause_of(path.read_bytes()[begin:].decode(errors="replace"))
        told = f"{failure}: {cause}" if cause else failure
        raise SetupError(f"{told}: see the end of its output: tail {path.relative_to(ROOT)}")


def environment() -> dict[str, str]:
    path = f"{VENV / 'bin'}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    return {**os.environ, "PATH": path, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}


def check_folder() -> None:
    """Reports early what Python, pip and Meson would each report late in words of their own."""
    try:
        str(ROOT).encode()
    except UnicodeEncodeError:
        raise SetupError("the path of this clone is not UTF-8: rename its folder") from None
    for folder in (ROOT, VENV, BUILD.parent, BUILD):
        if folder.is_dir() and not os.access(folder, os.W_OK | os.X_OK):
            raise SetupError(f"{folder} cannot be written{remedy_for(folder)}")


def remedy_for(folder: Path) -> str:
    """The owner of `folder` and the command that takes it over; "" for one's own."""
    owner, user = folder.stat().st_uid, os.geteuid()
    if owner == user:
        return ""
    name = "root" if owner == 0 else f"user {owner}"
    return f", it belongs to {name}: {as_root(f'chown -R {user} {shlex.quote(str(folder))}')}"


def as_root(command: str) -> str:
    """`command` with the rights of root; root needs no sudo, and small systems have none."""
    if os.geteuid() == 0:
        return command
    if shutil.which("sudo"):
        return f"sudo {command}"
    return f"su -c {shlex.quote(f'PATH=$PATH:/usr/sbin:/sbin {command}')}"


def wait_for_another() -> None:
    """Takes a lock until the end: two set-ups of one clone would remove each other's .venv."""
    folder = os.open(ROOT, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        say("another set-up of this clone is running; waiting for it to finish")
        fcntl.flock(folder, fcntl.LOCK_EX)
    except OSError:  # a file system without locks
        return


def leave_former_folder() -> None:
    for folder in moved.foreign_builds(BUILD.parent):
        say(f"{folder.relative_to(ROOT)} was made elsewhere; removing it")
        shutil.rmtree(folder)
    former = moved.former_folder(VENV, ROOT)
    if not former:
        return
    say(f".venv was made for {former}")
    for line in moved.links_to_former(os.environ.get("PATH", ""), former, VENV):
        say(line)


def make_venv() -> None:
    if not moved.former_folder(VENV, ROOT) and works(PYTHON):
        return
    say("making .venv")
    command = [sys.executable, "-m", "venv", "--clear", str(VENV)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        (*_, why) = ["no reason given", *(done.stderr or done.stdout).splitlines()]
        raise SetupError(f"cannot make .venv: {why}")
    moved.write_stamp(VENV, ROOT)


def works(python: Path) -> bool:
    check = "import sys, pip; sys.exit(sys.version_info < (3, 11))"
    try:
        done = subprocess.run([python, "-c", check], capture_output=True, check=False)
    except OSError:
        return False
    return done.returncode == 0


def digest(*files: Path) -> str:
    sha256 = hashlib.sha256()
    for file in files:
        sha256.update(file.read_bytes())
    return sha256.hexdigest()


def is_installed(name: str) -> bool:
    stamp = VENV / f"{name}.stamp"
    return stamp.exists() and stamp.read_text() == digest(*inputs_of(name))


def inputs_of(name: str) -> list[Path]:
    return [ROOT / "requirements" / f"{name}.txt", ROOT / "pyproject.toml"]


def install(name: str) -> None:
    """Installs requirements/`name`.txt; "dev" holds all that "run" holds."""
    if is_installed(name) or is_installed("dev"):
        return
    say(f"installing requirements/{name}.txt: {TAKES[name]}")
    pip = [str(PYTHON), "-m", "pip", "install", "--no-input"]
    # Bytecode that nobody loads takes 50 MB, and pip's own copies of the downloads 90 MB.
    lean = ["--no-compile", "--no-cache-dir"] if name == "run" else []
    lock = ["--require-hashes", "-r", str(inputs_of(name)[0])]
    run_logged([*pip, *lean, *lock], f"cannot install requirements/{name}.txt", pip_failure.cause)
    remove_tests()
    editable = ["--no-deps", "--no-build-isolation", "--editable", "."]
    run_logged([*pip, *editable], "cannot install hardstone itself", pip_failure.cause)
    subprocess.run([PYTHON, "-c", WARM_UP], capture_output=True, check=False)
    (VENV / f"{name}.stamp").write_text(digest(*inputs_of(name)))


def remove_tests() -> None:
    """Removes the tests that numpy and scipy come with: 25 MB, which nothing imports."""
    for package in ("numpy", "scipy"):
        for folder in VENV.glob(f"lib/python3*/site-packages/{package}/**/tests"):
            shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def building_ahead(*, is_strict: bool) -> Iterator[None]:
    """Builds the probe on another CPU meanwhile, for whoever builds it next: who also says why it
    does not build."""

    def build() -> None:
        with contextlib.suppress(SetupError, OSError):
            build_probe(is_strict=is_strict, path=AHEAD)

    thread = threading.Thread(target=build)
    thread.start()
    try:
        yield
    finally:
        thread.join()


def check_compiler() -> None:
    compiler = os.environ.get("CC", "cc").split()
    remedy = f"{as_root('apt-get install build-essential')}, then: make setup"
    if shutil.which(compiler[0]) is None:
        raise SetupError(f"there is no C compiler ({compiler[0]}): {remedy}")
    with tempfile.TemporaryDirectory() as folder:
        command = [*compiler, "-x", "c", "-", "-o", f"{folder}/program"]
        done = subprocess.run(command, input=C_PROGRAM, text=True, capture_output=True, check=False)
    if done.returncode:
        raise SetupError(f"{compiler[0]} cannot build a program: {remedy}")


def build_probe(*, is_strict: bool, path: Path = LOG) -> None:
    """`is_strict`: warnings of the compiler are errors."""
    meson = str(VENV / "bin" / "meson")
    ninja = [str(VENV / "bin" / "ninja"), "-C", str(BUILD)]
    strict = ["-Dwerror=true"] if is_strict else []
    if is_configured(ninja):
        if strict:
            run_logged(
                [meson, "configure", *strict, str(BUILD)],
                "meson cannot configure the probe",
                path=path,
            )
    else:
        check_compiler()
        say("building the probe")
        wipe = ["--wipe"] if (BUILD / "meson-private").exists() else []
        command = [meson, "setup", *strict, *wipe, str(BUILD), str(ROOT / "probe")]
        run_logged(command, "meson cannot configure the probe", path=path)
    run_logged(ninja, "the probe does not build", path=path)


def is_configured(ninja: list[str]) -> bool:
    """Also False if the Meson that configured the build is gone."""
    if not (BUILD / "build.ninja").exists():
        return False
    renew = [*ninja, "build.ninja"]
    return not subprocess.run(renew, capture_output=True, env=environment(), check=False).returncode


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dev", action="store_true", help="also install what the checks need")
    parser.add_argument("--no-probe", action="store_true", help="do not build the probe")
    parser.add_argument("--strict", action="store_true", help="the compiler's warnings are errors")
    arguments = parser.parse_args()
    try:
        check_folder()
        wait_for_another()
        leave_former_folder()
        make_venv()
        if arguments.dev and not is_installed("dev"):
            install("run")  # which has what builds the probe
            # With --no-probe the checks build it next, and their warnings are errors.
            with building_ahead(is_strict=arguments.strict or arguments.no_probe):
                install("dev")
        install("dev" if arguments.dev else "run")
        if not arguments.no_probe:
            build_probe(is_strict=arguments.strict)
    except SetupError as error:
        print(f"setup: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        print(f"setup: {where}{error.strerror or error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("setup: interrupted", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
