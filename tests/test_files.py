"""A document is on disk before it has its name, and its name before anybody is told."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hardstone.files import replace_file

Call = tuple[str, Path]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[Call]:
    """Every fsync and rename, in order, with the path that it was for."""
    found: list[Call] = []
    fsync = os.fsync

    def noted_sync(descriptor: int) -> None:
        found.append(("fsync", Path(f"/proc/self/fd/{descriptor}").readlink()))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", noted_sync)
    for name in ("rename", "replace"):
        monkeypatch.setattr(os, name, _noted_rename(getattr(os, name), found))
    return found


def _noted_rename(rename: object, found: list[Call]) -> object:
    def noted(source: Path, target: Path) -> None:
        found.append(("rename", Path(source)))
        rename(source, target)  # type: ignore[operator]

    return noted


@pytest.mark.parametrize("is_there", [False, True])
def test_the_file_is_synced_before_its_name_and_the_folder_after(
    tmp_path: Path, calls: list[Call], is_there: bool
) -> None:
    path = tmp_path / "run.json"
    if is_there:
        path.write_bytes(b"old")
    replace_file(path, b"new", 0o644)
    assert path.read_bytes() == b"new"
    (first, written), (second, renamed), third = calls
    assert (first, second) == ("fsync", "rename")
    assert written == renamed != path
    assert third == ("fsync", tmp_path)
