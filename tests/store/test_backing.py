from __future__ import annotations

import stat
from pathlib import Path

import pytest

from hardstone.store import backing
from hardstone.store.backing import (
    SlotCopier,
    find_backing_folders,
    is_backing_of,
    make_backing_folder,
    remove_backing,
    slot_paths,
)

RUN = "20261121T032200Z-1a2b3c"


def test_the_folder_is_private_and_in_memory(tmp_path: Path, memory: Path) -> None:
    folder = make_backing_folder(RUN, tmp_path)
    assert folder.parent == memory
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert find_backing_folders(RUN) == [folder]
    remove_backing(RUN)
    assert not folder.exists()


def test_the_runtime_folder_serves_where_there_is_no_shared_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backing, "MEMORY_FOLDER", str(tmp_path / "none"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert make_backing_folder(RUN, tmp_path / "journal").parent == tmp_path


def test_the_journal_serves_where_there_is_no_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backing, "MEMORY_FOLDER", str(tmp_path / "none"))
    (tmp_path / "journal").mkdir()
    assert make_backing_folder(RUN, tmp_path / "journal").parent == tmp_path / "journal"


def test_a_link_is_no_backing_folder(tmp_path: Path, memory: Path) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").write_text("")
    link = memory / f"hardstone-{RUN}-x"
    link.symlink_to(precious)
    remove_backing(RUN)
    assert (precious / "file").exists()
    assert not is_backing_of(link / "file", RUN)
    link.unlink()


def test_copies_take_turns_and_only_of_what_changed(tmp_path: Path) -> None:
    source, slots = tmp_path / "source", slot_paths(tmp_path, 1)
    copier = SlotCopier(source, slots)
    copier.copy()
    assert not any(slot.exists() for slot in slots)
    for content in (b"one", b"one", b"two", b"three"):
        source.write_bytes(content)
        copier.copy()
    assert [slot.read_bytes() for slot in slots] == [b"three", b"two"]
    copier.remove()
    assert not source.exists() and not any(slot.exists() for slot in slots)


@pytest.mark.parametrize("tail", [b"", b"\0" * 70_000, b"end"])
def test_a_copy_is_the_same_bytes_also_where_they_are_zero(tmp_path: Path, tail: bytes) -> None:
    content = b"head" + b"\0" * 200_000 + b"middle" + b"\0" * 65536 * 2 + tail
    (tmp_path / "source").write_bytes(content)
    SlotCopier(tmp_path / "source", slot_paths(tmp_path, 1)).copy()
    assert slot_paths(tmp_path, 1)[0].read_bytes() == content


def test_a_copy_that_fails_leaves_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, slots = tmp_path / "source", slot_paths(tmp_path, 1)
    copier = SlotCopier(source, slots)
    source.write_bytes(b"one")
    copier.copy()
    monkeypatch.setattr(backing, "write_all", _full)
    source.write_bytes(b"two")
    with pytest.raises(OSError, match="No space"):
        copier.copy()
    assert slots[0].read_bytes() == b"one"
    monkeypatch.undo()
    copier.copy()
    assert slots[1].read_bytes() == b"two"


def _full(_descriptor: int, _data: bytes) -> None:
    raise OSError(28, "No space left on device")


def test_removing_what_is_gone_is_fine(tmp_path: Path) -> None:
    SlotCopier(tmp_path / "none" / "source", slot_paths(tmp_path / "none", 1)).remove()
    remove_backing(RUN)
    assert find_backing_folders(RUN) == []
