"""The folder of a run in memory: private, found again, removed with the run."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from hardstone.memory import Memory
from hardstone.targets.host_memory import HostMemory
from tests.process.store.faults import mounted

RUN = "20261121T032200Z-1a2b3c"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Stands for /dev/shm, and must be empty in the end."""
    folder = tmp_path / "memory"
    folder.mkdir()
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    monkeypatch.setenv("HARDSTONE_MEMORY_DIR", str(folder))
    yield folder
    assert list(folder.iterdir()) == []


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    (tmp_path / "journal").mkdir()
    return tmp_path / "journal"


def place(memory: Memory) -> Path:
    """Where its recordings are; nothing is there."""
    path = Path(memory.path_for(1))
    assert path.parent.is_dir() and not path.exists()
    return path.parent


def test_nothing_is_made_before_it_is_needed(folder: Path, journal: Path) -> None:
    memory = HostMemory(RUN, journal)
    assert memory.kept() == [] and not memory.has(str(folder / "1.rec"))
    memory.remove()
    assert list(folder.iterdir()) == [] and list(journal.iterdir()) == []


def test_the_folder_is_private_and_in_memory(folder: Path, journal: Path) -> None:
    memory = HostMemory(RUN, journal)
    made = place(memory)
    assert made.parent == folder
    assert stat.S_IMODE(made.stat().st_mode) == 0o700
    assert place(memory) == made
    memory.remove()
    assert not made.exists()


def test_a_second_one_finds_what_the_first_left(folder: Path, journal: Path) -> None:
    first = HostMemory(RUN, journal)
    path = first.path_for(3)
    Path(path).write_bytes(b"recorded")
    kept = first.keep(b"the run")
    again = HostMemory(RUN, journal)
    assert again.has(path)
    assert b"".join(again.copy(path) or ()) == b"recorded"
    assert again.kept() == [kept] and kept is not None and kept.read_bytes() == b"the run"
    assert not HostMemory("20261121T032200Z-ffffff", journal).has(path)
    again.drop(path)
    assert not again.has(path) and again.copy(path) is None
    again.drop(path)
    again.remove()
    assert list(folder.iterdir()) == []


def test_a_copy_of_which_nothing_is_taken_leaves_no_file_open(folder: Path, journal: Path) -> None:
    """Its file may go before the first piece is taken, with the test that it is of."""
    memory = HostMemory(RUN, journal)
    path = memory.path_for(1)
    Path(path).write_bytes(b"recorded")
    before = len(list(Path("/proc/self/fd").iterdir()))
    chunks = memory.copy(path)
    assert len(list(Path("/proc/self/fd").iterdir())) == before
    memory.drop(path)
    with pytest.raises(FileNotFoundError):
        next(chunks or iter(()))
    memory.remove()
    assert list(folder.iterdir()) == []


def test_a_recording_is_found_where_it_was_made(
    folder: Path, journal: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its path says where it is, also if the variable names another folder by now."""
    memory = HostMemory(RUN, journal)
    path = memory.path_for(1)
    Path(path).write_bytes(b"recorded")
    with monkeypatch.context() as patched:
        patched.setenv("HARDSTONE_MEMORY_DIR", str(journal))
        assert HostMemory(RUN, journal).has(path)
    memory.remove()


@pytest.mark.parametrize("path", ["", "/", "/a\0b/c", "x/y", "/x/" + "y" * 9000])
def test_a_damaged_path_is_not_a_recording(journal: Path, path: str) -> None:
    assert not HostMemory(RUN, journal).has(path)


def test_the_runtime_folder_serves_where_there_is_no_shared_memory(
    tmp_path: Path, journal: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HARDSTONE_MEMORY_DIR", str(tmp_path / "none"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    memory = HostMemory(RUN, journal)
    assert place(memory).parent == tmp_path
    memory.remove()
    assert [path.name for path in tmp_path.glob("hardstone-*")] == []


def test_the_journal_serves_where_there_is_no_memory(
    tmp_path: Path, journal: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HARDSTONE_MEMORY_DIR", str(tmp_path / "none"))
    memory = HostMemory(RUN, journal)
    path = memory.path_for(1)
    assert Path(path).parent.parent == journal
    Path(path).touch()
    assert HostMemory(RUN, journal).has(path)


def test_a_link_is_not_the_folder_of_a_run(tmp_path: Path, folder: Path, journal: Path) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").write_text("")
    link = folder / f"hardstone-{RUN}-x"
    link.symlink_to(precious)
    memory = HostMemory(RUN, journal)
    memory.remove()
    assert (precious / "file").exists()
    assert not memory.has(str(link / "file"))
    link.unlink()


@pytest.mark.parametrize(
    ("kind", "options", "serves"),
    [("tmpfs", "size=15m", False), ("tmpfs", "size=17m", True), ("ramfs", "", True)],
)
def test_a_full_memory_gives_way_to_the_journal(
    folder: Path, journal: Path, kind: str, options: str, serves: bool
) -> None:
    """A ramfs has no size, and room all the same."""
    with mounted(folder, kind, options):
        memory = HostMemory(RUN, journal)
        assert place(memory).parent == (folder if serves else journal)
        memory.remove()
