"""--dir: the folder for the files of tests, and what is wrong with one that was typed."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from hardstone.cli.file_folder import folder_problems, own_folder, typed_folder
from hardstone.errors import EXIT_OK, EXIT_USAGE
from hardstone.store import Store
from tests.process.cli.conftest import Done

Hardstone = Callable[..., Done]


def problem(folder: object, target: str = "local") -> str:
    (said,) = folder_problems({"folder": str(folder)}, target)
    return said


def test_the_default_is_the_store_on_this_machine_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert own_folder({"store": None}, "local") == str(tmp_path / "hardstone")
    assert own_folder({"store": tmp_path / "other"}, "local") == str(tmp_path / "other")
    assert own_folder({"store": None}, "lab:debian") is None
    long = Path("/" + "n" * 200)
    assert own_folder({"store": long}, "local") is None


def test_a_typed_folder_is_made_absolute_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    assert typed_folder({"folder": "sub"}, "local") == str(tmp_path / "sub")
    assert typed_folder({"folder": "/x"}, "lab:debian") == "/x"
    assert folder_problems({"folder": "sub"}, "local") == []
    assert folder_problems({"folder": "/not/here"}, "lab:debian") == []
    assert folder_problems({}, "local") == []


def test_what_is_wrong_with_it(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert "No such file" in problem(tmp_path / "missing")
    assert "is not a folder" in problem(tmp_path / "file")
    assert "longer than 180" in problem(tmp_path / ("n" * 190))
    assert "Not a directory" in problem(tmp_path / "file" / "x")
    assert "absolute" in problem("there", "lab:debian")
    for odd in ("", " ", "a\nb"):
        assert "empty or not printable" in problem(odd)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    tmp_path.chmod(0o555)
    assert "cannot be written" in problem(tmp_path)


def test_a_bad_folder_is_wrong_usage_with_all_other_errors(
    hardstone: Hardstone, tmp_path: Path
) -> None:
    missing = tmp_path / "missing"
    done = hardstone("run", "FIO-P-SYN", "--dir", missing, "--samples", "x")
    assert done.code == EXIT_USAGE
    assert str(missing) in done.err and "--samples" in done.err


def test_it_is_in_the_plan_and_the_command_that_repeats_it(
    hardstone: Hardstone, target: str, tmp_path: Path
) -> None:
    place = tmp_path / "store"
    words = ["--target", target, "--store", place, "--dir", "/"]
    assert hardstone("run", "FIO-P-SYN", *words).code == EXIT_OK
    (entry,) = Store(place).runs()
    plan = Store(place).load(entry.id).plan
    assert [test.folder for test in plan.tests] == ["/"]
    assert "--dir" in plan.command
