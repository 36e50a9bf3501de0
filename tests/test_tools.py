"""The tools behind the doors: every check runs, skips have reasons, output is real."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import check
import docs_output
import probe_checks
from probe_checks import Command, Skip

ROOT = Path(__file__).resolve().parent.parent


def exits_with(code: int, says: str = "") -> Command:
    return [sys.executable, "-c", f"print({says!r}); raise SystemExit({code})"]


def test_a_failure_is_shown_and_stops_the_commands_that_build_on_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    commands = [exits_with(0, "fine"), exits_with(3, "because"), exits_with(4, "later")]
    assert not check.run_check(check.Check("example", lambda: commands))
    told = capsys.readouterr().out
    assert "because" in told
    assert "FAIL  example" in told
    assert "later" not in told


def test_checks_that_run_at_once_show_every_failure(capsys: pytest.CaptureFixture[str]) -> None:
    commands = [exits_with(1, "one"), exits_with(0), exits_with(1, "two")]
    assert not check.run_check(check.Check("example", lambda: commands, at_once=2))
    told = capsys.readouterr().out
    assert "one" in told
    assert "two" in told


def test_a_missing_program_is_a_failure_and_not_a_crash(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert not check.run_check(check.Check("example", lambda: [["/nonexistent/tool"]]))
    assert "FAIL  example" in capsys.readouterr().out


def test_a_skip_tells_its_reason(capsys: pytest.CaptureFixture[str]) -> None:
    def commands() -> list[Command]:
        raise Skip("no such tool")

    assert check.run_check(check.Check("example", commands))
    assert capsys.readouterr().out == "SKIP  example: no such tool\n"


def test_later_checks_run_after_a_failure_and_the_exit_status_tells(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    checks = [
        check.Check("first", lambda: [exits_with(1)]),
        check.Check("second", lambda: [exits_with(0)]),
    ]
    monkeypatch.setattr(check, "CHECKS", checks)
    monkeypatch.setattr(check, "run_pytest", lambda arguments: True)
    monkeypatch.setattr(sys, "argv", ["check.py"])
    assert check.main() == 1
    told = capsys.readouterr().out
    assert "ok    second" in told
    assert "FAILED before pytest: first" in told


def test_an_unknown_sanitizer_is_skipped() -> None:
    with pytest.raises(Skip, match="-fsanitize=nonsense"):
        probe_checks.unit_tests("nonsense", "nonsense")()


def test_output_replaces_what_stood_in_its_block() -> None:
    text = "a\n<!-- output: hardstone --version -->\nold\n<!-- end -->\nz\n"
    fresh = docs_output.refresh(text, measure=False)
    assert "$ hardstone --version\nhardstone " in fresh
    assert "old" not in fresh
    assert fresh.startswith("a\n")
    assert fresh.endswith("<!-- end -->\nz\n")
    assert docs_output.refresh(fresh, measure=False) == fresh


def test_measured_output_stays_unless_asked() -> None:
    text = "<!-- measured: hardstone --version -->\nold\n<!-- end -->\n"
    assert docs_output.refresh(text, measure=False) == text
    assert "old" not in docs_output.refresh(text, measure=True)


def test_a_python_that_is_too_old_is_one_line_with_what_to_type(tmp_path: Path) -> None:
    old = tmp_path / "python3"
    old.write_text('#!/bin/sh\ncase "$2" in *platform*) echo 3.9.2 ;; *) exit 1 ;; esac\n')
    old.chmod(0o755)
    done = find_python(tmp_path)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "python3 is 3.9.2: sudo apt-get install" in done.stderr


def test_no_python_at_all_is_one_line_with_what_to_type(tmp_path: Path) -> None:
    done = find_python(tmp_path)
    assert done.returncode == 1
    assert done.stderr == "setup: there is no python3: sudo apt-get install python3 python3-venv\n"


def test_a_python_without_venv_names_the_package(tmp_path: Path) -> None:
    bare = tmp_path / "python3"
    bare.write_text('#!/bin/sh\ncase "$2" in *ensurepip*) exit 1 ;; esac\n')
    bare.chmod(0o755)
    done = find_python(tmp_path)
    assert done.stderr.endswith(": sudo apt-get install python3-venv\n")


def find_python(path: Path) -> subprocess.CompletedProcess[str]:
    command = ["/bin/sh", str(ROOT / "tools/find-python.sh")]
    return subprocess.run(
        command, env={"PATH": str(path)}, capture_output=True, text=True, check=False
    )
