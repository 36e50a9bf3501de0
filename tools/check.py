"""Runs all checks of the project in parallel; a failed check stops no other one.

`--quick` skips what needs time, real processes or a browser, `--only NAME` runs one check and
the build that it needs, `--list` names the checks, `--format` rewrites the source in the house
format. `--lab` runs only the tests in guests, but in every kernel. Other arguments go to pytest.
"""

from __future__ import annotations

import argparse
import itertools
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import lab_kernels
import probe_checks
from probe_checks import ROOT, Command, Skip

CPUS = os.cpu_count() or 1
LANES = max(1, CPUS // 2)  # beside pytest: tests of loads that meet starve each other
WORKERS = CPUS + 1  # of pytest: one waits for a test of the machine; more cost those their quiet


@dataclass(frozen=True)
class Check:
    """A check. `commands` returns its commands, or raises Skip with the reason.

    `at_once` of them run at the same time. The check begins when the check `after` has ended.
    """

    name: str
    commands: Callable[[], Sequence[Command]]
    after: str = ""
    at_once: int = 1
    is_quick: bool = False


def python_tool(*command: str) -> Callable[[], Sequence[Command]]:
    return lambda: [[sys.executable, "-m", *command]]


BUILD = "probe build"
QUICK_TESTS = "probe quick tests"
KERNEL, KERNELS = "lab kernel", "lab kernels"
# Checks that others depend on come first; those that wait come before those that compute.
CHECKS = [
    Check(BUILD, probe_checks.build, is_quick=True),
    Check(KERNEL, lab_kernels.fetch(1)),
    Check("ruff check", python_tool("ruff", "check", "."), is_quick=True),
    Check("ruff format", python_tool("ruff", "format", "--check", "."), is_quick=True),
    Check("clang-format", probe_checks.formatting, is_quick=True),
    Check(QUICK_TESTS, probe_checks.quick_tests, after=BUILD, is_quick=True),
    Check("mypy", python_tool("mypy", "--strict", "src"), is_quick=True),
    Check("probe tests", probe_checks.plain_tests, after=BUILD),
    Check("probe thread", probe_checks.sanitized_tests("thread", "thread")),
    Check("probe address,undefined", probe_checks.sanitized_tests("address", "address,undefined")),
    Check("probe small", probe_checks.small_tests),
    Check("probe portable", probe_checks.portable),
    Check("probe analysis", probe_checks.analysis, after=BUILD, at_once=CPUS),
]
LAB_CHECKS = [CHECKS[0], Check(KERNELS, lab_kernels.fetch(len(lab_kernels.STANDARD)))]
LAB_TESTS = ["--kernels=all", "tests/guest"]
PYTEST = "pytest"
NAMES = [check.name for check in CHECKS] + [PYTEST]
_TELLING = threading.Lock()
_INTERRUPTED = threading.Event()  # no further check begins
_COMPLAINTS: list[str] = []  # told again at the end: pytest says more than a screen keeps
COMPLAINT_LINES = 40


def tell(text: str) -> None:
    with _TELLING:
        print(text, flush=True)


def run_check(check: Check) -> bool:
    """True unless the check failed; only then its output is shown."""
    begin_s = time.monotonic()
    try:
        commands = [] if _INTERRUPTED.is_set() else check.commands()
    except Skip as reason:
        tell(f"SKIP  {check.name}: {reason}")
        return True
    failures = failures_of(commands, check.at_once)
    if _INTERRUPTED.is_set():
        return False
    if failures:
        complaint = "\n".join([*failures, f"FAIL  {check.name}"])
        tell(complaint)
        _COMPLAINTS.append("\n".join(complaint.splitlines()[-COMPLAINT_LINES:]))
        return False
    tell(f"ok    {check.name} ({time.monotonic() - begin_s:.1f} s)")
    return True


def failed_checks(checks: Sequence[Check], run_last: Callable[[], bool] | None = None) -> list[str]:
    """Names of the failed checks, when all have ended. `run_last` is pytest, which owns the
    terminal: it begins when the probe is built and a kernel for guests is looked for, and runs
    beside the other checks."""
    passed: dict[str, Future[bool]] = {}

    def run(check: Check) -> bool:
        if check.after in passed:
            passed[check.after].result()
        return run_check(check)

    with ThreadPoolExecutor(LANES) as pool:
        for check in checks:
            passed[check.name] = pool.submit(run, check)
        for name in {BUILD, KERNEL, KERNELS} & passed.keys():
            passed[name].result()
        has_last_passed = run_last is None or run_last()
        failed = [name for name, has_passed in passed.items() if not has_passed.result()]
    return failed if has_last_passed else [*failed, PYTEST]


def failures_of(commands: Sequence[Command], at_once: int) -> list[str]:
    """Outputs of failed commands; in turn only the first, on which the later ones depend."""
    if at_once == 1:
        return list(itertools.islice(filter(None, map(failure_of, commands)), 1))
    with ThreadPoolExecutor(at_once) as pool:
        return list(filter(None, pool.map(failure_of, commands)))


def failure_of(command: Command) -> str:
    """The output of a failed command; empty for one that succeeded."""
    if _INTERRUPTED.is_set():
        return ""
    try:
        done = subprocess.run(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
        )
    except OSError as error:
        return f"$ {shown(command)}\n{error}"
    if done.returncode == 0:
        return ""
    return f"$ {shown(command)}\n{done.stdout.decode(errors='replace').rstrip()}"


def shown(command: Command) -> str:
    return textwrap.shorten(shlex.join(command), 200, placeholder=" ...")


def run_pytest(arguments: Sequence[str]) -> bool:
    """In a folder of its own: of pytest's, each run removes the oldest, also while another does."""
    workers = ["-n", str(WORKERS), "--dist", "loadfile"]
    with tempfile.TemporaryDirectory(prefix="hardstone-", ignore_cleanup_errors=True) as folder:
        own = f"--basetemp={folder}/pytest"
        command = [sys.executable, "-m", PYTEST, *workers, own, *arguments]
        return subprocess.run(command, cwd=ROOT, check=False).returncode == 0


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


def chosen_checks(only: Sequence[str], is_quick: bool) -> list[Check]:
    if only:
        chosen = [check for check in CHECKS if check.name in only]
        # No check uses a probe that was built from older source.
        is_for_probe = PYTEST in only or any(check.after == BUILD for check in chosen)
        built = [check for check in CHECKS if check.name == BUILD and is_for_probe]
        return [*built, *(check for check in chosen if check.name != BUILD or not built)]
    if is_quick:
        return [check for check in CHECKS if check.is_quick]
    return [check for check in CHECKS if check.name != QUICK_TESTS]


def interrupt(number: int, frame: FrameType | None) -> None:
    _INTERRUPTED.set()  # before waiting for running checks
    raise KeyboardInterrupt


def main() -> int:
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, interrupt)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--format", action="store_true")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--lab", action="store_true")
    parser.add_argument("--only", action="append", choices=NAMES, default=[], metavar="NAME")
    arguments, for_pytest = parser.parse_known_args()
    is_with_pytest = not arguments.only or PYTEST in arguments.only
    if for_pytest and not is_with_pytest:
        parser.error(f"{shlex.join(for_pytest)} is for pytest, which these options do not run")
    # Else each worker and each of some hundred processes compiles all that it imports.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    if arguments.list:
        print("\n".join(NAMES))
        return 0
    if arguments.format:
        return format_source()
    if arguments.lab and (arguments.only or arguments.quick):
        parser.error("--lab is a choice of its own")
    leave_noexec_tmpdir()
    if arguments.lab:
        checks, chosen = LAB_CHECKS, LAB_TESTS
    else:
        checks = chosen_checks(arguments.only, arguments.quick)
        chosen = ["-m", "not slow"] if arguments.quick else []
    failed = failed_checks(
        checks, (lambda: run_pytest([*chosen, *for_pytest])) if is_with_pytest else None
    )
    if failed:
        again = _COMPLAINTS if is_with_pytest else []
        print("\n".join([*again, f"FAILED: {', '.join(failed)}"]), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
