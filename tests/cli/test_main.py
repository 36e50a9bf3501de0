"""The door: every error is a line and an exit code."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from hardstone import __version__
from hardstone.cli import main
from hardstone.errors import EXIT_INTERNAL, EXIT_INTERRUPTED, EXIT_USAGE, PrivilegeError
from tests.cli.conftest import Done

Hardstone = Callable[..., Done]


def test_help_names_every_command_and_exit_code(hardstone: Hardstone) -> None:
    done = hardstone("--help")
    assert done.code == 0
    for command in main.COMMANDS:
        assert f"  {command} " in done.out
    for code in ("0 fine", "2 wrong usage", "130 interrupted"):
        assert code in done.out


@pytest.mark.parametrize("command", list(main.COMMANDS))
def test_every_command_explains_itself(hardstone: Hardstone, command: str) -> None:
    done = hardstone(command, "--help")
    assert done.code == 0
    assert done.out.startswith(f"Usage: hardstone {command}")


def test_the_version(hardstone: Hardstone) -> None:
    assert hardstone("--version").out == f"hardstone {__version__}\n"


def test_without_a_command_the_help_is_a_usage_error(hardstone: Hardstone) -> None:
    done = hardstone()
    assert done.code == EXIT_USAGE
    assert done.out == "" and "evaluate" in done.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["evalute"], "did you mean evaluate?"),
        (["frobnicate"], "there is evaluate"),
        (["--frobnicate"], "No such option"),
        (["run"], "Missing argument"),
        (["run", "TMR-*", "--sample", "3"], "No such option"),
        (["run", "TMR-*", "--samples"], "requires an argument"),
        (["run", "TMR-*", "--load", "none,"], "a name is empty"),
        (["run", "TMR-*", "--cpu-config", "shieldd"], "did you mean shielded?"),
        (["show"], "Missing argument"),
        (["show", "one", "two"], "unexpected extra argument"),
        (["probe", "burn"], "No such command"),
        (["run", "TMR-*", "--target", "mars"], "unknown target 'mars'"),
        (["list", "--target", "fake:/missing.toml"], "cannot be read"),
    ],
)
def test_wrong_usage_is_two_lines_at_most(
    hardstone: Hardstone, arguments: list[str], words: str
) -> None:
    done = hardstone(*arguments)
    assert done.code == EXIT_USAGE
    assert done.out == ""
    assert words in done.err
    assert 1 <= len(done.err.splitlines()) <= 2
    assert all(line.startswith("hardstone: ") for line in done.err.splitlines())


def fail_with(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def fail() -> None:
        raise error

    monkeypatch.setattr(main, "_invoke", lambda arguments: fail())


def test_an_internal_error_is_one_line(
    hardstone: Hardstone, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HARDSTONE_DEBUG", raising=False)
    fail_with(monkeypatch, RuntimeError("oh\x1b[2J"))
    done = hardstone("list")
    assert done.code == EXIT_INTERNAL
    assert done.err == (
        "hardstone: internal error: RuntimeError: oh?[2J; HARDSTONE_DEBUG=1 shows where\n"
    )


def test_who_debugs_sees_where(hardstone: Hardstone, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARDSTONE_DEBUG", "1")
    fail_with(monkeypatch, RuntimeError("oh"))
    with pytest.raises(RuntimeError):
        hardstone("list")


@pytest.mark.parametrize("error", [KeyboardInterrupt(), click.Abort()])
def test_an_interrupt_between_tests(
    hardstone: Hardstone, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    fail_with(monkeypatch, error)
    done = hardstone("list")
    assert (done.code, done.err) == (EXIT_INTERRUPTED, "hardstone: interrupted\n")


def test_an_error_of_our_own_has_its_exit_code(
    hardstone: Hardstone, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail_with(monkeypatch, PrivilegeError("not allowed", "sudo it"))
    done = hardstone("list")
    assert (done.code, done.err) == (5, "hardstone: not allowed; sudo it\n")


def test_a_reader_that_leaves_is_no_error(root: Path, target: str) -> None:
    program = "from hardstone.cli.main import main; main()"
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-c", program, "list", "--target", target],
        stdout=write,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(root / "src")},
        check=False,
    )
    os.close(write)
    assert done.stderr == b""
    assert done.returncode == 0


def test_the_package_is_run_as_the_command_is(tmp_path: Path) -> None:
    source = Path(__file__).resolve().parents[2] / "src"
    done = subprocess.run(
        [sys.executable, "-m", "hardstone", "run", "--no-such-option"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(source)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (EXIT_USAGE, "")
    assert "see: hardstone run --help" in done.stderr
