"""Runs every check of the project, whatever the earlier ones said; pytest is last.

`--only NAME...` runs some, `--list` names them, `--format` rewrites the source in
the house format. Other arguments go to pytest.
"""

from __future__ import annotations

import argparse
import itertools
import os
import shlex
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import probe_checks
from probe_checks import ROOT, Command, Skip


@dataclass(frozen=True)
class Check:
    """`commands` gives what to run, in turn or at once, or raises Skip with the reason."""

    name: str
    commands: Callable[[], Sequence[Command]]
    at_once: int = 1
    beside: bool = False  # runs while the checks after it do, up to pytest


def python_tool(*command: str) -> Callable[[], Sequence[Command]]:
    return lambda: [[sys.executable, "-m", *command]]


CHECKS = [
    Check("ruff check", python_tool("ruff", "check", ".")),
    Check("ruff format", python_tool("ruff", "format", "--check", ".")),
    Check("mypy", python_tool("mypy", "--strict", "src")),
    Check("clang-format", probe_checks.formatting),
    Check("probe build", lambda: [[sys.executable, "tools/setup.py", "--dev"]]),
    Check("probe tests", probe_checks.unit_tests("tests")),
    Check("probe analysis", probe_checks.analysis, at_once=os.cpu_count() or 1, beside=True),
    Check(
        "probe address,undefined",
        probe_checks.unit_tests("address", "address,undefined"),
        beside=True,
    ),
    Check("probe thread", probe_checks.unit_tests("thread", "thread")),
    Check("probe portable", probe_checks.portable),
    Check("probe small", probe_checks.unit_tests("small", choices=probe_checks.SMALL)),
]
PYTEST = "pytest"


def run_check(check: Check) -> bool:
    """True unless the check failed. Output is shown only where it did."""
    begin_s = time.monotonic()
    try:
        commands = check.commands()
    except Skip as reason:
        print(f"SKIP  {check.name}: {reason}", flush=True)
        return True
    failures = failures_of(commands, check.at_once)
    if failures:
        print("\n".join([*failures, f"FAIL  {check.name}"]), flush=True)
        return False
    print(f"ok    {check.name} ({time.monotonic() - begin_s:.1f} s)", flush=True)
    return True


def failed_checks(checks: Sequence[Check]) -> list[str]:
    """Names of the checks that failed. All have ended."""
    passed: dict[str, Callable[[], bool]] = {}
    with ThreadPoolExecutor() as pool:
        for check in checks:
            begun = pool.submit(run_check, check)
            passed[check.name] = begun.result
            if not check.beside:
                begun.result()
    return [name for name, has_passed in passed.items() if not has_passed()]


def failures_of(commands: Sequence[Command], at_once: int) -> list[str]:
    """In turn only the first: the later commands build on the earlier ones."""
    if at_once == 1:
        return list(itertools.islice(filter(None, map(failure_of, commands)), 1))
    with ThreadPoolExecutor(at_once) as pool:
        return list(filter(None, pool.map(failure_of, commands)))


def failure_of(command: Command) -> str:
    """What a command that failed said; empty for one that did not."""
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


def run_pytest(arguments: list[str]) -> bool:
    command = [sys.executable, "-m", PYTEST, *arguments]
    return subprocess.run(command, cwd=ROOT, check=False).returncode == 0


def format_source() -> int:
    ruff = [sys.executable, "-m", "ruff"]
    commands = [[*ruff, "check", "--fix", "--select", "I", "."], [*ruff, "format", "."]]
    commands.append(probe_checks.format_command("-i"))
    return max(subprocess.run(command, cwd=ROOT, check=False).returncode for command in commands)


def main() -> int:
    names = [check.name for check in CHECKS] + [PYTEST]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--format", action="store_true")
    parser.add_argument("--only", action="append", choices=names, metavar="NAME")
    arguments, for_pytest = parser.parse_known_args()
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    if arguments.list:
        print("\n".join(names))
        return 0
    if arguments.format:
        return format_source()
    chosen = arguments.only or names
    failed = failed_checks([check for check in CHECKS if check.name in chosen])
    if failed:
        print(f"FAILED before pytest: {', '.join(failed)}", flush=True)
    if PYTEST in chosen and not run_pytest(for_pytest):
        failed.append(PYTEST)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
