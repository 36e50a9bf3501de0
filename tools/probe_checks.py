"""The checks of the C side, each as the commands to run or a Skip with its reason."""

from __future__ import annotations

import functools
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import small_build

ROOT = Path(__file__).resolve().parent.parent
PROBE = ROOT / "probe"
BUILD = ROOT / "build"
CPUS_LOCK = BUILD / "cpus.lock"
# Tools that judge are pinned in requirements/dev.txt: one verdict everywhere.
PINNED = ROOT / ".venv" / "bin"
# A member that an initialiser leaves out is zero, which means "the default".
WARNINGS = ["-std=c11", "-pedantic", "-Wall", "-Wextra", "-Werror"]
WARNINGS += ["-Wno-missing-field-initializers"]

Command = list[str]

# What only computes leaves the CPUs to tests, which wait in turn.
BEHIND: Command = ["nice", "-n4"]
SOURCES_AT_ONCE = 10  # of clang-tidy
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
LEAST = re.compile("HS_HAS_|STACK_BYTES")  # in what the least system is built with


class Skip(Exception):
    """The reason why a check does not run here."""


def compiler() -> Command:
    return os.environ.get("CC", "cc").split()


def sources(suffixes: tuple[str, ...] = (".c", ".h")) -> list[str]:
    files = (path for path in PROBE.rglob("*") if path.suffix in suffixes)
    return sorted(str(path.relative_to(ROOT)) for path in files)


def format_command(*options: str) -> Command:
    return [str(PINNED / "clang-format"), *options, *sources()]


def formatting() -> Sequence[Command]:
    return [format_command("--dry-run", "--Werror")]


def build() -> Sequence[Command]:
    """The probe that every other test uses, as set-up builds it."""
    return [[sys.executable, "tools/setup.py", "--dev", "--strict"]]


def plain_tests() -> Sequence[Command]:
    return [meson_test(str(BUILD / "probe"))]


def quick_tests() -> Sequence[Command]:
    """Tests without timing and without loops of kills."""
    return [[*meson_test(str(BUILD / "probe")), "--no-suite", "slow"]]


def meson_test(folder: str) -> Command:
    """Waits while a test takes a CPU from all others (the fixture `cpus_taken`)."""
    beside = ["flock", "--shared", str(CPUS_LOCK)] if shutil.which("flock") else []
    # The limits are for a machine of one's own. Beside pytest and other users of the host a test
    # under a sanitizer has taken the fivefold; a hang is found all the same.
    patient = ["--timeout-multiplier", "10"]
    return [*beside, "meson", "test", "-C", folder, "--no-rebuild", "--print-errorlogs", *patient]


# The thread sanitizer keeps 900 KB of its own on every stack. It sees nothing in processes of one
# thread, as those of the load are.
THREADS = ["-Dstack_bytes=2097152", "-Dsmall_stack_bytes=2097152", "-Dload=false"]


def small_tests() -> Sequence[Command]:
    """Meson's tests of the build for small systems, whose warnings are errors."""
    build: Command = [*BEHIND, sys.executable, "tools/small_build.py"]
    return [build, meson_test(str(small_build.FOLDER))]


def sanitized_tests(name: str, sanitizer: str) -> Callable[[], Sequence[Command]]:
    """Builds in build/`name` with a sanitizer, then runs Meson's tests there and every test of the
    register."""

    def commands() -> Sequence[Command]:
        runner = sanitizer_runner(sanitizer)
        folder = str(BUILD / f"probe-{name}")
        # Sanitizers replace libc functions, which the linker would report as undefined.
        options = [f"-Db_sanitize={sanitizer}", "-Db_lundef=false"]
        options += ["-Doptimization=1", "-Ddebug=false"]  # half the time of -O2
        options += THREADS if sanitizer == "thread" else []
        again = ["--reconfigure"] if (Path(folder) / "build.ninja").exists() else []
        # Of the helpers of other tests a sanitizer would see nothing: they do not run here.
        targets = ["meson-test-prereq", "hardstone-probe"]
        tests = [*runner, *meson_test(folder)]
        # A forked process starts threads; the thread sanitizer ends it unless told otherwise.
        tests = ["env", "TSAN_OPTIONS=die_after_fork=0", *tests]
        register = [sys.executable, "-m", "tests.host.sanitized", *runner]
        return [
            ["meson", "setup", *again, *options, folder, str(PROBE)],
            [*BEHIND, "ninja", "-C", folder, *targets],
            tests,
            [*register, f"{folder}/hardstone-probe"],
        ]

    return commands


def sanitizer_runner(sanitizer: str) -> Command:
    """The words before a command without which `sanitizer` does not work on this machine."""
    BUILD.mkdir(exist_ok=True)
    # Not in the folder of temporary files, which may be mounted noexec.
    with tempfile.TemporaryDirectory(dir=BUILD) as folder:
        program = f"{folder}/program"
        build = [*compiler(), f"-fsanitize={sanitizer}", "-x", "c", "-", "-o", program]
        if not succeeds(build, stdin="int main(void) { return 0; }\n"):
            raise Skip(f"{compiler()[0]} has no -fsanitize={sanitizer} here")
        if succeeds([program]):
            return []
        # The thread sanitizer needs addresses that strong randomisation of the layout occupies.
        if succeeds(["setarch", "-R", program]):
            return ["setarch", "-R"]
    raise Skip(f"programs with -fsanitize={sanitizer} do not run on this kernel")


def succeeds(command: Command, stdin: str = "") -> bool:
    try:
        done = subprocess.run(command, input=stdin, text=True, capture_output=True, check=False)
    except OSError:
        return False
    return done.returncode == 0


def analysis() -> Sequence[Command]:
    """Some sources in each call: clang-tidy takes as long to begin as for a small one."""
    c_files = [file for file in sources((".c",)) if file.startswith("probe/src/")]
    options = ["--quiet", "--warnings-as-errors=*", "-p", str(distinct_builds())]
    clang_tidy = [*BEHIND, str(PINNED / "clang-tidy"), *options]
    calls = max(1, len(c_files) // SOURCES_AT_ONCE)
    return [[*clang_tidy, *c_files[first::calls]] for first in range(calls)]


def distinct_builds() -> Path:
    """A folder with the compile commands of build/probe by which a source becomes another text.

    clang-tidy follows each command that it finds for a source. Most sources have one for the core
    and one for a system that lacks what may be missing, which for most of them say the same: the
    compiler is asked only where a source or what it includes names what may be missing.
    """
    every = BUILD / "probe" / "compile_commands.json"
    if not every.exists():
        return every.parent
    commands = [one for one in json.loads(every.read_text()) if "/src/" in one["file"]]
    distinct: dict[tuple[Path, bytes], dict[str, str]] = {}
    with ThreadPoolExecutor() as pool:
        for one, text in zip(commands, pool.map(text_of, commands), strict=True):
            distinct.setdefault((source_of(one), text), one)
    folder = BUILD / "analysis"
    folder.mkdir(exist_ok=True)
    (folder / every.name).write_text(json.dumps(list(distinct.values())))
    return folder


def source_of(build: dict[str, str]) -> Path:
    return Path(build["directory"], build["file"]).resolve()


def text_of(build: dict[str, str]) -> bytes:
    """What tells the texts of one source apart: only its other macros, when nothing else can."""
    if any(map(is_text_open, included(source_of(build)))):
        return preprocessed(build)
    macros = [word for word in shlex.split(build["command"]) if word[:2] in ("-D", "-U")]
    return " ".join(word for word in macros if not LEAST.search(word)).encode()


def included(file: Path) -> set[Path]:
    """The source and all files of the probe that it includes, in whatever condition."""
    found, left = {file}, [file]
    while left:
        new = own_includes(left.pop()) - found
        found |= new
        left += new
    return found


@functools.cache
def own_includes(file: Path) -> frozenset[Path]:
    places = (
        place for name in INCLUDE.findall(file.read_text()) for place in places_of(name, file)
    )
    return frozenset(place.resolve() for place in places if place.exists())


def places_of(name: str, file: Path) -> tuple[Path, Path]:
    return file.parent / name, PROBE / "src" / name


@functools.cache
def is_text_open(file: Path) -> bool:
    """It names what may be missing, or includes what is not found. posix_optional.h only gives
    these macros a value, which by itself changes no text."""
    text = file.read_text()
    names = INCLUDE.findall(text)
    if not all(any(place.exists() for place in places_of(name, file)) for name in names):
        return True
    return file.name != "posix_optional.h" and "HS_HAS_" in text


def preprocessed(build: dict[str, str]) -> bytes:
    """What the compiler sees of a source, whatever the sizes of stacks; else the command."""
    words = shlex.split(build["command"])
    end = min(words.index(word) for word in ("-MD", "-o", "-c") if word in words)
    options = [word for word in words[:end] if "STACK_BYTES" not in word]
    command = [*BEHIND, *options, "-E", "-P", build["file"]]
    try:
        done = subprocess.run(command, cwd=build["directory"], capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return build["command"].encode()
    return done.stdout


def portable() -> Sequence[Command]:
    """One call of the compiler, with only POSIX; the result must run."""
    program = BUILD / "portable" / "hardstone-probe"
    program.parent.mkdir(parents=True, exist_ok=True)
    files = [file for file in sources((".c",)) if is_portable(Path(file))]
    build = [*compiler(), *WARNINGS, "-O0", "-Iprobe/src", "-o", str(program), *files]
    return [[*BEHIND, *build, "-pthread", "-lrt", "-lm"], [str(program), "list", "--json"]]


def is_portable(file: Path) -> bool:
    parts = file.parts
    if parts[1] != "src":
        return False
    return parts[2] != "port" or parts[3] == "posix"
