"""The door: every error is a line and an exit code."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest

from hardstone import __version__
from hardstone.cli import main
from hardstone.errors import (
    EXIT_INTERNAL,
    EXIT_INTERRUPTED,
    EXIT_PRIVILEGE,
    EXIT_USAGE,
    PrivilegeError,
)
from tests.process.cli.conftest import Done

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
        (["frobnicate"], "choose from evaluate"),
        (["--frobnicate"], "No such option"),
        (["run"], "Missing argument"),
        (["run", "TMR-*", "--sample", "3"], "No such option"),
        (["run", "TMR-*", "--samples"], "requires an argument"),
        (["run", "TMR-*", "--load", "none,"], "a name is empty"),
        (["run", "TMR-*", "--cpu-config", "shieldd"], "did you mean shielded?"),
        (["show"], "Missing argument"),
        (["report", "one", "two"], "unexpected extra argument"),
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
    (told,) = done.told
    assert told.startswith("hardstone: ")
    assert len(done.typed) <= 1


class Failing(tuple[str, ...]):
    """Arguments that raise when the command reads them."""

    error: BaseException

    def __iter__(self) -> Iterator[str]:
        raise self.error


def failing(error: BaseException) -> Failing:
    arguments = Failing()
    arguments.error = error
    return arguments


def test_an_internal_error_is_one_line(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HARDSTONE_DEBUG", raising=False)
    assert main.run(failing(RuntimeError("oh\x1b[2J"))) == EXIT_INTERNAL
    assert capfd.readouterr().err == (
        "hardstone: internal error: RuntimeError: oh\\x1b[2J; "
        "HARDSTONE_DEBUG=1 shows the traceback\n"
    )


def test_who_debugs_sees_where(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARDSTONE_DEBUG", "1")
    with pytest.raises(RuntimeError, match="oh"):
        main.run(failing(RuntimeError("oh")))


@pytest.mark.parametrize("error", [KeyboardInterrupt(), click.Abort()])
def test_an_interrupt_between_tests(
    capfd: pytest.CaptureFixture[str], error: BaseException
) -> None:
    assert main.run(failing(error)) == EXIT_INTERRUPTED
    assert capfd.readouterr().err == "hardstone: interrupted\n"


def test_an_error_of_our_own_has_its_exit_code(capfd: pytest.CaptureFixture[str]) -> None:
    assert main.run(failing(PrivilegeError("not allowed", "ask"))) == EXIT_PRIVILEGE
    assert capfd.readouterr().err == "hardstone: not allowed; ask\n"


@pytest.mark.slow
@pytest.mark.parametrize("words", [[], ["--json"]])
def test_a_reader_that_leaves_is_no_error(root: Path, target: str, words: list[str]) -> None:
    program = "from hardstone.cli.main import main; main()"
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-c", program, "list", "--target", target, *words],
        stdout=write,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(root / "src")},
        check=False,
    )
    os.close(write)
    assert done.stderr == b""
    assert done.returncode == 0


def test_the_package_is_run_as_the_command_is(tmp_path: Path) -> None:
    source = Path(__file__).resolve().parents[3] / "src"
    done = subprocess.run(
        [sys.executable, "-m", "hardstone", "run", "--no-such-option"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(source)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (EXIT_USAGE, "")
    assert done.stderr.endswith("hardstone run --help\n")


@pytest.mark.parametrize("is_linked", [False, True])
def test_the_script_of_a_copied_clone_does_not_run_the_original(
    tmp_path: Path, is_linked: bool
) -> None:
    script = tmp_path / "a copy" / ".venv" / "bin" / "hardstone"
    script.parent.mkdir(parents=True)
    (tmp_path / "a copy" / ".venv" / "pyvenv.cfg").touch()
    script.write_text(f"#!{sys.executable}\nfrom hardstone.__main__ import main\nmain()\n")
    script.chmod(0o755)
    link = tmp_path / "hardstone"
    link.symlink_to(script)
    done = subprocess.run(
        [link if is_linked else script, "list"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    told, typed = done.stderr.splitlines()
    assert told.startswith(
        f"hardstone: {tmp_path}/a copy/.venv is a copy and would run the code of "
    )
    assert typed == f"    make -C '{tmp_path}/a copy' setup"
