"""Copies of a recording: by turns, only of what changed, and whole."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hardstone.store.slots import SlotCopier, slot_paths
from hardstone.targets.host_memory import HostMemory
from tests.store.faults import files_up_to


def copier_of(source: Path, slots: list[Path]) -> SlotCopier:
    return SlotCopier(HostMemory("20261121T032200Z-1a2b3c", source.parent), str(source), slots)


def test_copies_take_turns_and_only_of_what_changed(tmp_path: Path) -> None:
    source, slots = tmp_path / "source", slot_paths(tmp_path, 1)
    copier = copier_of(source, slots)
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
    copier_of(tmp_path / "source", slot_paths(tmp_path, 1)).copy()
    assert slot_paths(tmp_path, 1)[0].read_bytes() == content


def test_a_copy_that_fails_leaves_the_one_before(tmp_path: Path) -> None:
    source, slots = tmp_path / "source", slot_paths(tmp_path, 1)
    copier = copier_of(source, slots)
    source.write_bytes(b"one")
    copier.copy()
    source.write_bytes(b"two")
    with files_up_to(2), pytest.raises(OSError, match="File too large"):
        copier.copy()
    assert slots[0].read_bytes() == b"one" and not slots[1].exists()
    copier.copy()
    assert slots[1].read_bytes() == b"two"


def test_removing_what_is_gone_is_fine(tmp_path: Path) -> None:
    copier_of(tmp_path / "none" / "source", slot_paths(tmp_path / "none", 1)).remove()


COPY = """
import resource, sys
from pathlib import Path
from hardstone.store.slots import SlotCopier, slot_paths
from hardstone.targets.host_memory import HostMemory
used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 2**25, used + 2**25))
folder = Path(sys.argv[1]).parent
SlotCopier(HostMemory("", folder), sys.argv[1], slot_paths(folder, 1)).copy()
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
    copier_of(source, slots).copy()
    assert synced == ["slot-1-a.tmp", tmp_path.name]
