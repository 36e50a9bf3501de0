"""Compiled templates are kept, and never taken from where others could have put them."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from jinja2 import DictLoader, Environment

from hardstone.report.template_cache import TemplateCache, template_cache

SOURCE = "{{ number }} of {{ total }}"


@pytest.fixture(autouse=True)
def python_keeps_what_it_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever PYTHONDONTWRITEBYTECODE says of this run of pytest."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)


def rendered(cache: TemplateCache | None, source: str = SOURCE) -> str:
    made = Environment(loader=DictLoader({"page": source}), bytecode_cache=cache, autoescape=True)
    return made.get_template("page").render(number=1, total=2)


def kept(folder: Path) -> TemplateCache:
    found = template_cache(folder)
    assert found is not None
    return found


def test_what_is_kept_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert rendered(kept(tmp_path)) == "1 of 2"
    monkeypatch.setattr(Environment, "compile", lambda *_, **__: pytest.fail("compiled again"))
    assert rendered(kept(tmp_path)) == "1 of 2"


def test_a_changed_template_is_compiled_again(tmp_path: Path) -> None:
    rendered(kept(tmp_path))
    assert rendered(kept(tmp_path), "only {{ total }}") == "only 2"


@pytest.mark.parametrize("harm", [b"", b"j2", b"x" * 500])
def test_harmed_files_are_compiled_again(tmp_path: Path, harm: bytes) -> None:
    rendered(kept(tmp_path))
    (path,) = (tmp_path / "templates").iterdir()
    path.write_bytes(path.read_bytes()[: len(harm)] if harm == b"j2" else harm)
    assert rendered(kept(tmp_path)) == "1 of 2"


def test_a_folder_that_vanishes_costs_only_time(tmp_path: Path) -> None:
    cache = kept(tmp_path)
    (tmp_path / "templates").rmdir()
    assert rendered(cache) == "1 of 2"


def test_a_folder_that_others_may_write_to_is_left_alone(tmp_path: Path) -> None:
    kept(tmp_path)
    (tmp_path / "templates").chmod(0o777)
    assert template_cache(tmp_path) is None


def test_a_folder_of_another_user_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept(tmp_path)
    other = os.getuid() + 1
    monkeypatch.setattr(os, "getuid", lambda: other)
    assert template_cache(tmp_path) is None


def test_a_link_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    (tmp_path / "templates").symlink_to(tmp_path / "elsewhere")
    assert template_cache(tmp_path) is None


def test_without_a_place_nothing_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    assert template_cache(tmp_path / "file") is None
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert template_cache(tmp_path) is None
