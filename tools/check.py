"""Runs the checks of a door, one more at once than there are CPUs; what fails stops no other.

`--door NAME` is one of check, test, host, lab, full (CONTRIBUTING.md says what each is for).
`--list` names the checks of the door, `--only NAME` runs one and what it builds on, `--anew`
repeats those whose input has not changed since they passed, `--format` rewrites the source in the
house format. Other arguments go to pytest.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import os
import re
import shlex
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import tomllib
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import FrameType

import lab_kernels
import probe_checks
from probe_checks import ROOT, Command, Skip

CPUS = os.cpu_count() or 1
BUDGET = ROOT / "tools" / "budget.toml"
COMPLAINT_LINES = 60
NO_TEST_CHOSEN = 5  # of pytest's exit codes
PROGRESS_S = 60


@dataclass(frozen=True)
class Check:
    """A check. `commands` returns its commands, or raises Skip with the reason.

    `at_once` of them run at the same time. The check begins when those of `after` have ended.
    `passed` is a file that keeps what `digest` was when it last passed.
    """

    name: str
    commands: Callable[[], Sequence[Command]]
    after: tuple[str, ...] = ()
    at_once: int = 1
    passed: Path | None = None
    digest: Callable[[], str] = probe_checks.digest


@dataclass
class Outcome:
    """What a check said and cost. `counts` are the closing lines of its pytest, summed."""

    check: Check
    failures: list[str] = field(default_factory=list)
    skip: str = ""
    is_unchanged: bool = False
    wall_s: float = 0.0
    cpu_s: float = 0.0
    counts: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)

    @property
    def line(self) -> str:
        if self.skip:
            return f"SKIP  {self.check.name}: {self.skip}"
        if self.is_unchanged:
            return f"ok    {self.check.name}: the probe is as it was when this passed"
        told = ", ".join(f"{count} {name}" for name, count in self.counts.items() if count)
        cost = f"wall {self.wall_s:6.1f} s  CPU {self.cpu_s:6.1f} s"
        begin = "FAIL " if self.failures else "ok   "
        return f"{begin} {self.check.name:<22} {cost}  {told}".rstrip()


def python_tool(*command: str) -> Callable[[], Sequence[Command]]:
    return lambda: [[sys.executable, *command]]


def pytest_call(name: str, *words: str) -> Callable[[], Sequence[Command]]:
    """One call of pytest, which collects what is in its folders and nothing else."""

    def commands() -> Sequence[Command]:
        # Of pytest's own folder each run removes the oldest, also while another uses it.
        folder = tempfile.mkdtemp(prefix="hardstone-")
        _FOLDERS.append(folder)
        cache = f"cache_dir={ROOT / 'build' / 'pytest' / name.replace(' ', '-')}"
        own = [f"--basetemp={folder}/pytest", "-o", cache, "--quiet", "--no-header"]
        return [[sys.executable, "-m", "pytest", *words, *own, *_FOR_PYTEST]]

    return commands


def isolated(call: Callable[[], Sequence[Command]]) -> Callable[[], Sequence[Command]]:
    """The same where processes, queues, semaphores and shared memory of others do not exist."""

    def commands() -> Sequence[Command]:
        prefix = isolation()
        return [[*prefix, *command] for command in call()]

    return commands


# Process 1 of a name space has to wait for what others leave: a shell does. Files of tests are in
# memory: on a disk each sync of a file waits for what all others write. A second --basetemp is that
# of a person, beside whose folder others lie.
ISOLATE = """
mount -t mqueue mqueue /mnt || :
mount -t tmpfs -o mode=1777 tmpfs /dev/shm || exit
for word; do
  case $word in
  --basetemp=*) mount -t tmpfs -o mode=1777 tmpfs "$(dirname "${word#*=}")" || exit; break ;;
  esac
done
"$@"
exit $?
"""


# An ordinary user has the rights to mount in a user name space, where it stays who it is; the
# tests run without these rights.
AS_USER = ["--user", "--map-current-user", "--keep-caps"]
WITHOUT_RIGHTS = ["setpriv", "--inh-caps=-all", "--ambient-caps=-all"]


@functools.cache
def isolation() -> Command:
    """Words before a command that give it name spaces of its own; none where that is refused."""
    is_root = os.geteuid() == 0
    unshare = ["unshare", *([] if is_root else AS_USER)]
    unshare += ["--mount", "--ipc", "--pid", "--fork", "--kill-child", "--mount-proc"]
    prefix = [*unshare, "sh", "-c", ISOLATE, "sh", *([] if is_root else WITHOUT_RIGHTS)]
    with contextlib.suppress(OSError):
        tried = subprocess.run([*prefix, "true"], capture_output=True, check=False)
        if tried.returncode == 0:
            return [*prefix, "env", "HARDSTONE_TESTS_ISOLATED=/mnt"]
    tell(
        "SKIP  name spaces for tests: unshare of util-linux makes them for root, and for a user "
        "where the kernel allows user name spaces"
    )
    return []


BUILD, KERNEL, KERNELS = "probe build", "lab kernel", "lab kernels"
ADDRESS, VARIANT = probe_checks.ADDRESS, probe_checks.VARIANT
ON_PROBE = (BUILD,)
GUESTS = (BUILD, KERNEL)
PLAIN = ROOT / "build" / "probe" / "passed"
ANALYSED = ROOT / "build" / "analysis" / "passed"
LINT = [
    Check("lint", python_tool("tools/lint.py")),
    Check("ruff check", python_tool("-m", "ruff", "check", ".")),
    Check("ruff format", python_tool("-m", "ruff", "format", "--check", ".")),
    Check("clang-format", probe_checks.formatting),
    Check("mypy", python_tool("-m", "mypy", "--strict", "src")),
]
PROBE = Check(BUILD, probe_checks.build)
# The longest come first, so that all lanes end at the same time.
GATE = [
    PROBE,
    Check(KERNEL, lab_kernels.fetch(1)),
    Check(
        "process",
        isolated(
            pytest_call("process", "tests/process", "--ignore=tests/process/cli", "-m", "not full")
        ),
        ON_PROBE,
    ),
    Check("guest", isolated(pytest_call("guest", "tests/guest", "-m", "not wall_clock")), GUESTS),
    Check("probe address", probe_checks.address_tests, passed=ADDRESS / "passed"),
    Check("probe variant", probe_checks.variant, passed=VARIANT / "passed"),
    Check(
        "virtual",
        isolated(pytest_call("virtual", "tests/virtual")),
        after=(BUILD, "probe variant"),
    ),
    Check("process cli", isolated(pytest_call("process cli", "tests/process/cli")), ON_PROBE),
    Check("probe plain", probe_checks.plain_tests, ON_PROBE, passed=PLAIN),
    Check("unit stats", pytest_call("unit stats", "tests/unit/stats")),
    Check("unit report", pytest_call("unit report", "tests/unit/report")),
    Check(
        "unit",
        pytest_call(
            "unit", "tests/unit", "--ignore=tests/unit/stats", "--ignore=tests/unit/report"
        ),
    ),
    Check("browser", isolated(pytest_call("browser", "tests/browser")), ON_PROBE),
    Check(
        "fuzz", python_tool("-m", "bench.fuzz", "--inputs", "4000", "--seed", "7", "--workers", "1")
    ),
    Check(
        "probe analysis",
        probe_checks.analysis_changed,
        ON_PROBE,
        at_once=CPUS,
        passed=ANALYSED,
        digest=probe_checks.analysis_digest,
    ),
    *LINT,
]
QUICK_TESTS = ("-m", "not slow", "--quick")
QUICK_UNIT = pytest_call("unit", "tests/unit", "--ignore=tests/unit/stats", *QUICK_TESTS)
QUICK = [
    Check("unit", isolated(QUICK_UNIT)),
    Check("unit stats", pytest_call("unit stats", "tests/unit/stats", *QUICK_TESTS)),
    *LINT,
    PROBE,
    Check("probe quick tests", probe_checks.quick_tests, passed=ADDRESS / "passed-quick"),
]
# What measures is alone.
HOST = [
    PROBE,
    Check(KERNEL, lab_kernels.fetch(1)),
    Check("guest wall clock", pytest_call("guest", "tests/guest", "-m", "wall_clock"), GUESTS),
    Check("probe host tests", probe_checks.host_tests, ON_PROBE),
    Check("host", pytest_call("host", "tests/host"), ON_PROBE),
]
BUILDS = [
    PROBE,
    Check("probe thread", probe_checks.thread_tests, passed=probe_checks.THREAD / "passed"),
    Check("probe address register", probe_checks.address_register),
    Check("probe portable", probe_checks.portable),
    Check("probe musl", probe_checks.musl_linux),
    Check("probe analysis whole", probe_checks.analysis_all, ON_PROBE, at_once=CPUS),
    Check("builds", isolated(pytest_call("builds", "tests/process", "-m", "full")), ON_PROBE),
    Check("wheel", python_tool("-m", "hatchling", "build", "-d", "build/wheel")),
]
LAB = [
    PROBE,
    Check(KERNELS, lab_kernels.fetch(len(lab_kernels.STANDARD))),
    Check(
        "guests of all kernels",
        isolated(pytest_call("guests", "tests/guest", "--kernels=all")),
        after=(BUILD, KERNELS),
    ),
]
FRESH = [Check("fresh", lambda: [["sh", "tools/fresh.sh"]])]


def again(checks: Sequence[Check], number: int) -> list[Check]:
    """The same checks, under names that say which time it is."""
    return [
        one if one.name in GUESTS else replace(one, name=f"{one.name}, run {number}")
        for one in checks
    ]


@dataclass(frozen=True)
class Stage:
    """Checks that run beside each other, on so many lanes."""

    checks: Sequence[Check]
    lanes: int = CPUS + 1  # tests of processes and guests wait for a quarter of their time


DOORS: dict[str, list[Stage]] = {
    "check": [Stage(QUICK)],
    "test": [Stage(GATE)],
    "host": [Stage(HOST, lanes=1)],
    "lab": [Stage(LAB)],
    "full": [
        Stage(GATE),
        *(Stage(again(HOST, number), lanes=1) for number in (1, 2, 3)),
        Stage(BUILDS),
        Stage(LAB),
        Stage(FRESH, lanes=1),
    ],
}
_TELLING = threading.Lock()
_INTERRUPTED = threading.Event()  # no further check begins
_FOR_PYTEST: list[str] = []
_FOLDERS: list[str] = []
_RUNNING: set[subprocess.Popen[bytes]] = set()
COUNTS = re.compile(r"(\d+) (passed|failed|errors?|skipped|inconclusive|xfailed|deselected)\b")
CLOSING = re.compile(r"^(?:=+ )?(?:\d+ [a-z]+(?:, )?)+ in [\d.]+s", re.MULTILINE)
SKIPPED = re.compile(r"^SKIPPED .*$", re.MULTILINE)


def tell(text: str) -> None:
    with _TELLING:
        print(text, flush=True)


def run_check(check: Check, *, is_anew: bool = False) -> Outcome:
    """Tells the outcome in one line, and what failed; why something was skipped, too."""
    outcome = Outcome(check)
    begin_s = time.monotonic()
    digest = ""
    try:
        digest = check.digest() if check.passed else ""
        if check.passed and not is_anew and check.passed.exists():
            outcome.is_unchanged = check.passed.read_text() == digest
        if not outcome.is_unchanged and not _INTERRUPTED.is_set():
            run_commands(check.commands(), outcome)
    except Skip as reason:
        outcome.skip = str(reason)
    except Exception:  # the others go on
        outcome.failures.append(traceback.format_exc())
    outcome.wall_s = time.monotonic() - begin_s
    if _INTERRUPTED.is_set():
        return outcome
    if check.passed and not (outcome.failures or outcome.skip):
        check.passed.parent.mkdir(parents=True, exist_ok=True)
        check.passed.write_text(digest)
    tell("\n".join([*outcome.failures, *outcome.notes, outcome.line]))
    return outcome


def run_commands(commands: Sequence[Command], outcome: Outcome) -> None:
    """In turn only up to the first failure, on which the later ones depend."""
    if outcome.check.at_once == 1:
        for command in commands:
            run_command(command, outcome)
            if outcome.failures:
                return
        return
    with ThreadPoolExecutor(outcome.check.at_once) as pool:
        list(pool.map(lambda command: run_command(command, outcome), commands))


def run_command(command: Command, outcome: Outcome) -> None:
    """Adds to the outcome: the output if it failed, and what the kernel says it took."""
    if _INTERRUPTED.is_set():
        return
    with tempfile.TemporaryFile() as output:
        try:
            process = subprocess.Popen(
                command,
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        except OSError as error:
            outcome.failures.append(f"$ {shown(command)}\n{error}")
            return
        _RUNNING.add(process)
        if _INTERRUPTED.is_set():  # since it was started: no signal has found it
            end(process)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        _RUNNING.discard(process)
        output.seek(0)
        said = output.read().decode(errors="replace").rstrip()
    outcome.cpu_s += usage.ru_utime + usage.ru_stime
    is_pytest = "pytest" in command
    if is_pytest:
        count_tests(said, outcome)
    is_empty_choice = is_pytest and _FOR_PYTEST and process.returncode == NO_TEST_CHOSEN
    if process.returncode and not is_empty_choice:
        outcome.failures.append(f"$ {shown(command)}\n{said}")


def end(process: subprocess.Popen[bytes]) -> None:
    """unshare does not hear SIGTERM, nor does process 1 of a name space; with unshare the kernel
    kills all of it."""
    process.send_signal(signal.SIGKILL if "--kill-child" in process.args else signal.SIGTERM)


def count_tests(said: str, outcome: Outcome) -> None:
    for line in CLOSING.findall(said)[-1:]:
        for count, name in COUNTS.findall(line):
            outcome.counts["failed" if name.startswith("error") else name] += int(count)
    outcome.notes += SKIPPED.findall(said)


def shown(command: Command) -> str:
    return textwrap.shorten(shlex.join(command), 200, placeholder=" ...")


class Lanes:
    """Runs checks beside each other, each as soon as a lane is free and what it builds on is
    done; in the order of the list otherwise. The main thread begins them, since it is the one
    that hears of Ctrl-C: another would begin one more, which the signal no longer reaches."""

    def __init__(self, stage: Stage, *, is_anew: bool) -> None:
        self._waiting = list(stage.checks)
        self._running: dict[Future[Outcome], Check] = {}
        self._done: dict[str, Outcome] = {}
        self._is_anew = is_anew
        self._lanes = stage.lanes

    def run(self) -> list[Outcome]:
        said_s = time.monotonic()
        with ThreadPoolExecutor(self._lanes) as pool:  # waits for what runs, also if interrupted
            while self._waiting or self._running:
                while len(self._running) < self._lanes and (check := self._next()):
                    self._running[pool.submit(self._run, check)] = check
                for one in wait(self._running, PROGRESS_S, FIRST_COMPLETED).done:
                    self._done[self._running.pop(one).name] = one.result()
                if time.monotonic() - said_s > PROGRESS_S and self._running:
                    said_s = time.monotonic()
                    running = ", ".join(check.name for check in self._running.values())
                    tell(f"...   running: {running}")
        return list(self._done.values())

    def _next(self) -> Check | None:
        """Takes a check that can begin; None when all that are left wait for another."""
        left = {check.name for check in [*self._waiting, *self._running.values()]}
        for place, check in enumerate(self._waiting):
            if not left & set(check.after):
                return self._waiting.pop(place)
        return None

    def _run(self, check: Check) -> Outcome:
        for name in check.after:
            if name in self._done and self._done[name].failures:
                outcome = Outcome(check, [f"FAIL  {check.name}: not run, {name} failed"])
                tell(outcome.failures[0])
                return outcome
        return run_check(check, is_anew=self._is_anew)


def over_budget(
    outcomes: Sequence[Outcome], budget_s: dict[str, float], slower: float
) -> list[str]:
    """What took more CPU than tools/budget.toml grants it on a machine `slower` times as slow as
    the one on which the budgets were measured."""
    return [
        f"FAIL  {one.check.name} took {one.cpu_s:.0f} s of CPU, its budget is "
        f"{budget_s[one.check.name] * slower:.0f} s: make it faster, or raise tools/budget.toml "
        "and say why in the commit"
        for one in outcomes
        if one.cpu_s > budget_s.get(one.check.name, float("inf")) * slower
    ]


def reference_s() -> float:
    """CPU time of a piece of Python that is always the same: the median of nine."""

    def work() -> float:
        begin_s = time.thread_time()
        sum(number * number for number in range(300_000))
        return time.thread_time() - begin_s

    return statistics.median(work() for _ in range(9))


@contextlib.contextmanager
def folders_removed() -> Iterator[None]:
    try:
        yield
    finally:
        while _FOLDERS:
            shutil.rmtree(_FOLDERS.pop(), ignore_errors=True)


def run_door(stages: Sequence[Stage], *, is_anew: bool, budget_s: dict[str, float]) -> int:
    """Runs the stages one after the other and sums up; 1 if anything failed."""
    begin_s = time.monotonic()
    before_s = reference_s()
    outcomes: list[Outcome] = []
    with folders_removed():
        for stage in stages:
            outcomes += Lanes(stage, is_anew=is_anew).run()
    # A busy neighbour on the same core makes every instruction slower, budgets included.
    slower = max(1.0, before_s / REFERENCE_S, reference_s() / REFERENCE_S)
    over = over_budget(outcomes, budget_s, slower)
    failed = [one for one in outcomes if one.failures]
    for one in failed:
        complaint = "\n".join([*one.failures, one.line]).splitlines()
        tell("\n".join(["", *complaint[-COMPLAINT_LINES:]]))
    cpu_s = sum(one.cpu_s for one in outcomes)
    tell("\n".join([*over, f"all   wall {time.monotonic() - begin_s:.0f} s, CPU {cpu_s:.0f} s"]))
    counts = sum((one.counts for one in outcomes), Counter[str]())
    if _FOR_PYTEST and not counts.total() - counts["deselected"]:
        tell(f"no test is chosen by {shlex.join(_FOR_PYTEST)}")
        return 1
    if counts:
        inconclusive = counts["inconclusive"]
        left = f", {counts['skipped']} skipped" if counts["skipped"] else ""
        told = f" ({inconclusive} inconclusive)" if inconclusive else ""
        tell(f"tests: {counts['passed']} passed, {counts['failed']} failed{left}{told}")
    if failed or over:
        names = [one.check.name for one in failed] + (["budget"] if over else [])
        tell(f"FAILED: {', '.join(names)}")
    return 1 if failed or over else 0


# Of `reference_s` on the machine on which the budgets were measured, while nothing else ran.
REFERENCE_S = 0.019


def leave_noexec_tmpdir() -> None:
    """Moves temporary files out of a noexec folder: tests run programs that they write there."""
    folder = tempfile.gettempdir()
    if not is_noexec(folder):
        return
    own = ROOT / "build" / "tmp"
    own.mkdir(parents=True, exist_ok=True)
    # Some tests need a folder that every user can reach.
    shared = "/var/tmp"  # noqa: S108
    chosen = str(own) if is_noexec(shared) else shared
    tempfile.tempdir = os.environ["TMPDIR"] = chosen
    print(f"no program may run in {folder} (noexec): temporary files go to {chosen}", flush=True)


def is_noexec(folder: str) -> bool:
    return bool(os.statvfs(folder).f_flag & os.ST_NOEXEC)


def format_source() -> int:
    ruff = [sys.executable, "-m", "ruff"]
    commands = [[*ruff, "check", "--fix", "--select", "I", "."], [*ruff, "format", "."]]
    commands.append(probe_checks.format_command("-i"))
    return max(subprocess.run(command, cwd=ROOT, check=False).returncode for command in commands)


def chosen_stages(stages: Sequence[Stage], only: Sequence[str]) -> list[Stage]:
    """The stages, or of them what `only` names and builds on: no check uses what was built from
    older source."""
    if not only:
        return list(stages)
    named = {check.name: check for stage in stages for check in stage.checks}
    wanted, left = set[str](), list(only)
    while left:
        name = left.pop()
        wanted.add(name)
        left += [one for one in named[name].after if one not in wanted]
    kept = [[check for check in stage.checks if check.name in wanted] for stage in stages]
    return [
        replace(stage, checks=checks) for stage, checks in zip(stages, kept, strict=True) if checks
    ]


def interrupt(number: int, frame: FrameType | None) -> None:
    _INTERRUPTED.set()  # before waiting for running checks
    if number == signal.SIGTERM:  # Ctrl-C reaches them by itself
        for process in list(_RUNNING):
            end(process)
    raise KeyboardInterrupt


def main() -> int:
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, interrupt)
    signal.signal(signal.SIGTERM, interrupt)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--door", choices=DOORS, default="test")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--format", action="store_true")
    parser.add_argument("--anew", action="store_true")
    parser.add_argument("--only", action="append", default=[], metavar="NAME")
    arguments, for_pytest = parser.parse_known_args()
    if paths := [word for word in for_pytest if Path(word.partition("::")[0]).exists()]:
        words = shlex.join(for_pytest)
        parser.error(f"to run {paths[0]} alone: .venv/bin/python -m pytest {words}")
    stages = DOORS[arguments.door]
    names = list(dict.fromkeys(check.name for stage in stages for check in stage.checks))
    if unknown := [name for name in arguments.only if name not in names]:
        parser.error(f"--only {unknown[0]}: the available checks are {', '.join(names)}")
    # Else each of some hundred processes compiles all that it imports.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    if arguments.list:
        print("\n".join(names))
        return 0
    if arguments.format:
        return format_source()
    leave_noexec_tmpdir()
    _FOR_PYTEST[:] = for_pytest
    is_whole = not for_pytest and not arguments.only
    door = "test" if arguments.door == "full" else arguments.door
    budget_s = tomllib.loads(BUDGET.read_text()).get(door, {}) if is_whole else {}
    chosen = chosen_stages(stages, arguments.only)
    return run_door(chosen, is_anew=arguments.anew, budget_s=budget_s)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
