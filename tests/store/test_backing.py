from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from hardstone.store.backing import (
    SlotCopier,
    find_backing_folders,
    is_backing_of,
    make_backing_folder,
    remove_backing,
    slot_paths,
)
from tests.store.faults import files_up_to, mounted

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
    monkeypatch.setenv("HARDSTONE_MEMORY_DIR", str(tmp_path / "none"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert make_backing_folder(RUN, tmp_path / "journal").parent == tmp_path


def test_the_journal_serves_where_there_is_no_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HARDSTONE_MEMORY_DIR", str(tmp_path / "none"))
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


def test_a_copy_that_fails_leaves_the_one_before(tmp_path: Path) -> None:
    source, slots = tmp_path / "source", slot_paths(tmp_path, 1)
    copier = SlotCopier(source, slots)
    source.write_bytes(b"one")
    copier.copy()
    source.write_bytes(b"two")
    with files_up_to(2), pytest.raises(OSError, match="File too large"):
        copier.copy()
    assert slots[0].read_bytes() == b"one" and not slots[1].exists()
    copier.copy()
    assert slots[1].read_bytes() == b"two"


def test_removing_what_is_gone_is_fine(tmp_path: Path) -> None:
    SlotCopier(tmp_path / "none" / "source", slot_paths(tmp_path / "none", 1)).remove()
    remove_backing(RUN)
    assert find_backing_folders(RUN) == []


@pytest.mark.parametrize(
    ("kind", "options", "serves"),
    [("tmpfs", "size=15m", False), ("tmpfs", "size=17m", True), ("ramfs", "", True)],
)
def test_a_full_memory_gives_way_to_the_journal(
    tmp_path: Path, memory: Path, kind: str, options: str, serves: bool
) -> None:
    """A ramfs has no size, and room all the same."""
    journal = tmp_path / "journal"
    journal.mkdir()
    with mounted(memory, kind, options):
        assert make_backing_folder(RUN, journal).parent == (memory if serves else journal)
        remove_backing(RUN)


COPY = """
import resource, sys
from pathlib import Path
from hardstone.store.backing import SlotCopier, slot_paths
used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 2**25, used + 2**25))
SlotCopier(Path(sys.argv[1]), slot_paths(Path(sys.argv[1]).parent, 1)).copy()
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="there is no /proc")
def test_a_copy_takes_little_memory(tmp_path: Path) -> None:
    """A recorder of 128 MiB where 32 MiB are to be had."""
    source = tmp_path / "source"
    with source.open("wb") as file:
        file.truncate(2**27)
        file.seek(2**26)
        file.write(b"middle")
    command = [sys.executable, "-c", COPY, str(source)]
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2] / "src")}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    with slot_paths(tmp_path, 1)[0].open("rb") as copy:
        assert copy.seek(0, os.SEEK_END) == 2**27
        copy.seek(2**26)
        assert copy.read(6) == b"middle"


def test_a_copy_is_on_disk_before_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []
    real = os.fsync

    def fsync(descriptor: int) -> None:
        synced.append(Path(f"/proc/self/fd/{descriptor}").readlink().name)
        if synced[-1].endswith(".tmp"):
            assert not any(slot.exists() for slot in slots)
        real(descriptor)

    source, slots = tmp_path / "source", slot_paths(tmp_path, 1)
    source.write_bytes(b"one")
    monkeypatch.setattr(os, "fsync", fsync)
    SlotCopier(source, slots).copy()
    assert synced == ["slot-1-a.tmp", tmp_path.name]
