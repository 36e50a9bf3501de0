"""A file is written as a whole; a document is on disk before it has its name."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from hardstone.files import is_memory_short, remedy_of, replace_file
from tests.process.store.faults import files_up_to

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
    replace_file(path, b"new", 0o644, is_durable=True)
    assert path.read_bytes() == b"new"
    (first, written), (second, renamed), third = calls
    assert (first, second) == ("fsync", "rename")
    assert written == renamed != path
    assert third == ("fsync", tmp_path)


def test_what_need_not_be_durable_is_not_synced(tmp_path: Path, calls: list[Call]) -> None:
    replace_file(tmp_path / "report.html", b"new", 0o644, is_durable=False)
    assert [name for name, _ in calls] == ["rename"]


@pytest.fixture
def umask() -> Iterator[None]:
    before = os.umask(0o027)
    yield
    os.umask(before)


@pytest.mark.parametrize(("mode", "expected"), [(None, 0o640), (0o444, 0o444), (0o666, 0o666)])
@pytest.mark.usefixtures("umask")
def test_its_mode_is_what_was_asked_or_what_the_umask_leaves(
    tmp_path: Path, mode: int | None, expected: int
) -> None:
    path = tmp_path / "file"
    replace_file(path, b"new", mode, is_durable=False)
    assert stat.S_IMODE(path.stat().st_mode) == expected


def test_a_failure_leaves_what_was_there_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / ("ä" * 127)  # the longest name
    replace_file(path, b"old", None, is_durable=False)
    with files_up_to(2), pytest.raises(OSError, match="File too large"):
        replace_file(path, b"new and longer", None, is_durable=False)
    assert [*tmp_path.iterdir()] == [path] and path.read_bytes() == b"old"
    path.unlink()
    (path / "in").mkdir(parents=True)
    with pytest.raises(OSError, match="ä"):
        replace_file(path, b"new", None, is_durable=False)
    assert [*tmp_path.iterdir()] == [path]


def test_a_link_is_replaced_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "foreign").write_bytes(b"foreign")
    (tmp_path / "file").symlink_to(tmp_path / "foreign")
    replace_file(tmp_path / "file", b"new", None, is_durable=False)
    assert (tmp_path / "foreign").read_bytes() == b"foreign"
    assert not (tmp_path / "file").is_symlink()


def test_short_memory_is_known_by_its_cause() -> None:
    loaded = ImportError("numpy")
    loaded.__cause__ = ImportError("libscipy_openblas.so: failed to map segment from shared object")
    short = [MemoryError(), OSError(errno.ENOMEM, "-"), loaded]
    assert all(map(is_memory_short, short))
    assert not any(map(is_memory_short, (None, ImportError("no such"), OSError(errno.ENOENT, "-"))))


def test_a_file_system_without_locks_has_a_remedy() -> None:
    assert "without file locks" in remedy_of(OSError(errno.ENOLCK, "-"), "elsewhere")
