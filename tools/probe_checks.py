"""The checks of the C side, each as the commands to run or a Skip with its reason."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
import resource
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import variant_build

ROOT = Path(__file__).resolve().parent.parent
PROBE = ROOT / "probe"
BUILD = ROOT / "build"
ADDRESS, THREAD = BUILD / "probe-address", BUILD / "probe-thread"
VARIANT = variant_build.VARIANT.folder
# Tools that judge are pinned in requirements/dev.txt: one verdict everywhere.
PINNED = ROOT / ".venv" / "bin"
# A member that an initialiser leaves out is zero, which means "the default".
WARNINGS = ["-std=c11", "-pedantic", "-Wall", "-Wextra", "-Werror"]
WARNINGS += ["-Wno-missing-field-initializers"]

Command = list[str]

SOURCES_AT_ONCE = 10  # of clang-tidy
DAY_S = 24 * 60 * 60
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
SIZES = re.compile("HS_(CPUS|THREADS|RECORD|ARENA|WATCH|PARAM|EMIT|STACK|SMALL_STACK)")


class Skip(Exception):
    """The reason why a check does not run here."""


def compiler() -> Command:
    return os.environ.get("CC", "cc").split()


def digest() -> str:
    """Of all that the outcome of a C test depends on: sources, compilers, how they are built, and
    what this kernel and this user let the tests do, some of which are skipped otherwise."""
    whole = hashlib.sha256()
    for file in sorted(file for file in PROBE.rglob("*") if file.is_file()):
        whole.update(f"{file}\0".encode() + file.read_bytes())
    for tool in (__file__, variant_build.__file__, "setup.py"):
        whole.update((ROOT / "tools" / tool).read_bytes())
    for words in (compiler(), ["musl-gcc"], [str(PINNED / "meson")]):
        version = [*words, "--version"] if shutil.which(words[0]) else ["true"]
        whole.update(subprocess.run(version, capture_output=True, check=False).stdout)
    flags = [os.environ.get(name) for name in ("CFLAGS", "CPPFLAGS", "LDFLAGS")]
    rights = (os.geteuid(), resource.getrlimit(resource.RLIMIT_RTPRIO), capabilities())
    machine = (os.uname(), sorted(os.sched_getaffinity(0)))
    whole.update(repr((flags, rights, machine, runs_sanitized())).encode())
    return whole.hexdigest()


def capabilities() -> str:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next((line for line in lines if line.startswith("CapEff:")), "")


@functools.cache
def runs_sanitized() -> bool:
    try:
        sanitizer_runner(SANITIZERS[ADDRESS])
    except Skip:
        return False
    return True


def sources(suffixes: tuple[str, ...] = (".c", ".h")) -> list[str]:
    files = (path for path in PROBE.rglob("*") if path.suffix in suffixes)
    return sorted(str(path.relative_to(ROOT)) for path in files)


def format_command(*options: str) -> Command:
    return [str(PINNED / "clang-format"), *options, *sources()]


def formatting() -> Sequence[Command]:
    return [format_command("--dry-run", "--Werror")]


def build() -> Sequence[Command]:
    """The probe that every other test uses, as set-up builds it; not its unit tests."""
    return [[sys.executable, "tools/setup.py", "--dev", "--strict"]]


# ---- unit tests ----

GATE = ["--no-suite", "host"]


def meson_test(folder: Path | str, *options: str) -> Command:
    """Builds what these tests need, then runs them."""
    # The limits are for a machine of one's own. Beside pytest and other users of the host a test
    # under a sanitizer has taken the fivefold; a hang is found all the same.
    patient = ["--timeout-multiplier", "10"]
    return ["meson", "test", "-C", str(folder), "--print-errorlogs", *patient, *options]


def plain_tests() -> Sequence[Command]:
    """Those that need the optimised code, one instruction after the other."""
    return [meson_test(BUILD / "probe", "--suite", "plain", *GATE)]


def host_tests() -> Sequence[Command]:
    """Those that judge when the real kernel lets threads run."""
    return [meson_test(BUILD / "probe", "--suite", "host")]


def address_tests() -> Sequence[Command]:
    """All others, under the sanitizer where there is one."""
    return in_address_build(*GATE)


def quick_tests() -> Sequence[Command]:
    """Without loops of kills and waits."""
    return in_address_build(*GATE, "--no-suite", "slow")


def in_address_build(*suites: str) -> Sequence[Command]:
    try:
        return sanitized(ADDRESS, *suites)
    except Skip as reason:
        print(f"probe address: {reason}: built without", flush=True)
    plain = variant_build.set_up(ADDRESS, variant_build.FAST, shlex.join(compiler()))
    return [*plain, meson_test(ADDRESS, *suites)]


def thread_tests() -> Sequence[Command]:
    return [*sanitized(THREAD, *GATE), *register(THREAD)]


def address_register() -> Sequence[Command]:
    return register(ADDRESS)


def variant() -> Sequence[Command]:
    """Meson's tests of the build that differs from the usual one in all that may differ."""
    if shutil.which("musl-gcc") is None:
        print("probe variant: there is no musl-gcc here, so it is built with cc", flush=True)
    build = [sys.executable, variant_build.__file__]
    return [build, meson_test(VARIANT, "--no-rebuild", *GATE)]


def musl_linux() -> Sequence[Command]:
    if shutil.which("musl-gcc") is None:
        raise Skip("there is no musl-gcc here: apt-get install musl-tools")
    return [[sys.executable, variant_build.__file__, "--linux"]]


# ---- sanitizers ----

SANITIZERS = {ADDRESS: "address,undefined", THREAD: "thread"}
# Sanitizers replace libc functions, which the linker would report as undefined.
SANITIZED = "-Db_lundef=false"
# The thread sanitizer keeps 900 KB of its own on every stack. It sees nothing in processes of one
# thread, as those of the load are.
THREADS = ["-Dstack_bytes=2097152", "-Dsmall_stack_bytes=2097152", "-Dload=false"]
THREADS += ["-Doptimization=1", "-Ddebug=false"]


def sanitized(folder: Path, *suites: str) -> Sequence[Command]:
    """Meson's tests in the build with the sanitizer of `folder`."""
    # A forked process starts threads; the thread sanitizer ends it unless told otherwise.
    runner = ["env", "TSAN_OPTIONS=die_after_fork=0", *sanitizer_runner(SANITIZERS[folder])]
    return [*sanitized_build(folder), [*runner, *meson_test(folder, *suites)]]


def register(folder: Path) -> Sequence[Command]:
    """Every test of the register, by the probe of that build."""
    runner = sanitizer_runner(SANITIZERS[folder])
    return [
        *sanitized_build(folder),
        ["ninja", "-C", str(folder), "hardstone-probe"],
        [sys.executable, "-m", "tests.host.sanitized", *runner, f"{folder}/hardstone-probe"],
    ]


def sanitized_build(folder: Path) -> Sequence[Command]:
    # Unoptimised, C tests take a fifth more time, and their build a third less.
    more = THREADS if folder == THREAD else variant_build.FAST
    options = [f"-Db_sanitize={SANITIZERS[folder]}", SANITIZED, *more]
    return variant_build.set_up(folder, options, shlex.join(compiler()))


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


# ---- clang-tidy ----


def analysis_all() -> Sequence[Command]:
    return analysis(analysed_files())


def analysis_changed() -> Sequence[Command]:
    """Of sources that differ, or include what differs, from where this branch began; on the branch
    itself, from the last commit that is a day older than HEAD. All, where git cannot tell.

    The path-sensitive checks, four fifths of the time, follow the paths within one source: of
    sources that only include what differs they are left to the check of all."""
    changed = changed_files()
    if changed is None or ROOT / ".clang-tidy" in changed:
        return analysis_all()
    files = [file for file in analysed_files() if included(ROOT / file) & changed]
    own = [file for file in files if ROOT / file in changed]
    rest = [file for file in files if ROOT / file not in changed]
    return analysis(own, rest)


def analysis_digest() -> str:
    """Of all that `analysis_changed` depends on."""
    pinned = ROOT / "requirements" / "dev.txt"
    texts = [file.read_text() for file in (pinned, ROOT / ".clang-tidy")]
    return " ".join([digest(), base_commit(), *texts])


def analysed_files() -> list[str]:
    """Those that are compiled here: ports to other systems include headers of these."""
    ports = ("probe/src/port/linux/", "probe/src/port/posix/")
    return [
        file
        for file in sources((".c",))
        if file.startswith("probe/src/")
        and (file.startswith(ports) or not file.startswith("probe/src/port/"))
    ]


def changed_files() -> set[Path] | None:
    base = base_commit()
    if not base:
        return None
    named = git("diff", "--name-only", base) + git("ls-files", "--others", "--exclude-standard")
    return {ROOT / name for name in named}


def base_commit() -> str:
    """Empty where git does not know."""
    upstream, head = git("merge-base", "HEAD", "@{upstream}"), git("rev-parse", "HEAD")
    committed = git("show", "--no-patch", "--format=%ct", "HEAD")
    if committed and upstream in ([], head):
        before = f"--before={int(committed[0]) - DAY_S}"
        return "".join(git("rev-list", "--max-count=1", before, "HEAD"))
    return "".join(upstream)


def git(*words: str) -> list[str]:
    """The lines that git prints; none where it fails."""
    try:
        done = subprocess.run(
            ["git", *words], cwd=ROOT, capture_output=True, text=True, check=False
        )
    except OSError:
        return []
    return done.stdout.splitlines() if done.returncode == 0 else []


def analysis(whole: Sequence[str], quick: Sequence[str] = ()) -> Sequence[Command]:
    """Some sources in each call: clang-tidy takes as long to begin as for a small one."""
    if not whole and not quick:
        return []
    builds = distinct_builds({ROOT / file for file in (*whole, *quick)})
    options = ["--quiet", "--warnings-as-errors=*", "-p", str(builds)]
    clang_tidy = [str(PINNED / "clang-tidy"), *options]
    commands = []
    for files, checks in ((whole, []), (quick, ["--checks=-clang-analyzer-*"])):
        calls = max(1, len(files) // SOURCES_AT_ONCE) if files else 0
        commands += [[*clang_tidy, *checks, *files[first::calls]] for first in range(calls)]
    return commands


def distinct_builds(c_files: Collection[Path]) -> Path:
    """A folder with the compile commands of build/probe by which one of them becomes another text.

    clang-tidy follows each command that it finds for a source. Most sources have one for the core
    and one for a system that lacks what may be missing, which for most of them say the same: the
    compiler is asked only where a source or what it includes names what may be missing.
    """
    every = BUILD / "probe" / "compile_commands.json"
    if not every.exists():
        return every.parent
    commands = [one for one in json.loads(every.read_text()) if source_of(one) in c_files]
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
    told = [word for word in macros if not SIZES.search(word) and "HS_HAS_" not in word]
    return " ".join(told).encode()


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
    """It names what may be missing, or includes what is not found. options.h only gives
    these macros a value, which by itself changes no text."""
    text = file.read_text()
    names = INCLUDE.findall(text)
    if not all(any(place.exists() for place in places_of(name, file)) for name in names):
        return True
    return file.name != "options.h" and "HS_HAS_" in text


def preprocessed(build: dict[str, str]) -> bytes:
    """What the compiler sees of a source, whatever the sizes; else the command."""
    words = shlex.split(build["command"])
    end = min(words.index(word) for word in ("-MD", "-o", "-c") if word in words)
    options = [word for word in words[:end] if not SIZES.search(word)]
    command = [*options, "-E", "-P", build["file"]]
    try:
        done = subprocess.run(command, cwd=build["directory"], capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return build["command"].encode()
    return done.stdout


# ---- without Meson ----


def portable() -> Sequence[Command]:
    """The plain compiler, with only POSIX, each source apart; the result must run."""
    folder = "build/portable"
    files = [file for file in sources((".c",)) if is_portable(Path(file))]
    objects = [f"{folder}/{file.removesuffix('.c')}.o" for file in files]
    program, rules = f"{folder}/hardstone-probe", f"{folder}/build.ninja"
    lines = [
        f"builddir = {folder}",
        "rule cc",
        f" command = {shlex.join([*compiler(), *WARNINGS])} -O0 -Iprobe/src -c $in -o $out",
        "rule link",
        f" command = {shlex.join(compiler())} -o $out $in -pthread -lrt -lm",
        *(f"build {made}: cc {file}" for file, made in zip(files, objects, strict=True)),
        f"build {program}: link {' '.join(objects)}",
    ]
    (BUILD / "portable").mkdir(parents=True, exist_ok=True)
    (ROOT / rules).write_text("\n".join([*lines, ""]))
    ninja = ["ninja", "-f", rules]
    # No header is named there: all is built anew.
    return [[*ninja, "-t", "clean"], ninja, [program, "list", "--json"]]


def is_portable(file: Path) -> bool:
    parts = file.parts
    if parts[1] != "src":
        return False
    return parts[2] != "port" or parts[3] == "posix"
