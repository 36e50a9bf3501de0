"""Copies of a recording: by turns, only of what changed, and whole."""

from __future__ import annotations

import contextlib
import itertools
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hardstone.store.slots import CopyCost, SlotCopier, slot_paths, usable_slots
from hardstone.targets.host_memory import HostMemory
from tests.process.store.faults import files_up_to


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
    assert not source.exists() and not list(tmp_path.glob("slot*"))


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
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[3] / "src")}
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
    assert synced == ["slot-1-a.tmp", "slot-1-a.sum", tmp_path.name]


PAGE = 4096


def pages(*marks: bytes) -> bytes:
    """A recording of a page for each mark."""
    return b"".join(mark.ljust(PAGE, b"\0") for mark in marks)


def test_only_pages_that_changed_are_written(tmp_path: Path) -> None:
    source, slots = tmp_path / "source", slot_paths(tmp_path, 1)
    copier = copier_of(source, slots)
    written = [0]
    for content in (
        pages(b"head", b"", b"one", b""),
        pages(b"head", b"", b"two", b""),
        pages(b"head", b"", b"three", b""),
        pages(b"head", b"new", b"two", b"") + b"longer",
        pages(b"head", b"new", b"", b""),
    ):
        source.write_bytes(content)
        copier.copy()
        written.append(copier.cost().written_bytes)
        assert content in [slot.read_bytes() for slot in slots if slot.exists()]
    counts = [(after - before) // PAGE for before, after in itertools.pairwise(written)]
    assert counts == [3, 3, 2, 2, 3]  # one of each is the checksum
    assert copier.cost().copies_count == 5


def test_pieces_of_any_size_give_the_same_pages(tmp_path: Path) -> None:
    class Pieces(HostMemory):
        def copy(self, path: str) -> Any:
            data = Path(path).read_bytes()
            ends = [0, 1, 5000, 5000, 9000, 40_000]
            return (data[begin:end] for begin, end in itertools.pairwise(ends))

    source, slots = tmp_path / "source", slot_paths(tmp_path, 1)
    copier = SlotCopier(Pieces("", tmp_path), str(source), slots)
    contents = [os.urandom(PAGE * 3) + bytes(PAGE * 2) + os.urandom(77) for _ in range(4)]
    for content in contents:
        source.write_bytes(content)
        copier.copy()
    assert [slot.read_bytes() for slot in slots] == contents[2:]


def test_after_a_failed_change_all_is_written_again(tmp_path: Path) -> None:
    source, slots = tmp_path / "source", slot_paths(tmp_path, 1)
    copier = copier_of(source, slots)
    for mark in (b"one", b"two"):
        source.write_bytes(pages(mark, b"", mark))
        copier.copy()
    source.write_bytes(pages(b"three", b"", b"three"))
    with files_up_to(2 * PAGE), pytest.raises(OSError, match="File too large"):
        copier.copy()
    assert slots[0].read_bytes() == pages(b"three", b"", b"one")
    assert usable_slots(tmp_path, 1) == [slots[1]]
    before = copier.cost().written_bytes
    copier.copy()
    assert slots[0].read_bytes() == source.read_bytes()
    assert copier.cost().written_bytes - before == 3 * PAGE
    assert usable_slots(tmp_path, 1) == slots


def test_a_power_cut_at_any_write_leaves_a_whole_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is on disk then is a mixture of two copies, or half of a checksum."""
    contents = [pages(mark, b"", mark, mark) for mark in (b"one", b"two", b"three", b"four")]
    left, real = 0, os.write

    def write(descriptor: int, data: bytes) -> int:
        nonlocal left
        left -= 1
        written = real(descriptor, data if left >= 0 else data[: len(data) // 2])
        if left < 0:
            raise KeyboardInterrupt
        return written

    monkeypatch.setattr(os, "write", write)
    for cut_at in range(1, 12):
        folder = tmp_path / str(cut_at)
        folder.mkdir()
        copier, done, left = copier_of(folder / "source", slot_paths(folder, 1)), 0, cut_at
        with pytest.raises(KeyboardInterrupt):
            for content in contents:
                (folder / "source").write_bytes(content)
                copier.copy()
                done += 1
        found = [slot.read_bytes() for slot in usable_slots(folder, 1)]
        assert set(found) <= set(contents)
        assert done == 0 or contents[done - 1] in found


def test_a_copy_that_does_not_fit_its_sum_is_used_only_if_there_is_no_other(tmp_path: Path) -> None:
    source, slots = tmp_path / "source", slot_paths(tmp_path, 1)
    copier = copier_of(source, slots)
    for content in (b"one", b"two"):
        source.write_bytes(content)
        copier.copy()
    assert usable_slots(tmp_path, 1) == slots
    slots[0].write_bytes(b"onf")
    assert usable_slots(tmp_path, 1) == [slots[1]]
    slots[1].with_suffix(".sum").write_bytes(b"")
    assert usable_slots(tmp_path, 1) == slots
    slots[0].with_suffix(".sum").unlink()  # of a version that had none
    assert usable_slots(tmp_path, 1) == [slots[0]]


class Clock:
    def __init__(self) -> None:
        self.now_ns = 0

    def __call__(self) -> int:
        return self.now_ns


def test_the_longest_time_is_from_the_begin_of_a_copy_to_the_end_of_the_next(
    tmp_path: Path,
) -> None:
    clock = Clock()

    class Slow(HostMemory):
        takes_ns = 0

        def copy(self, path: str) -> Any:
            clock.now_ns += self.takes_ns
            return super().copy(path)

    memory = Slow("", tmp_path)
    copier = SlotCopier(memory, str(tmp_path / "source"), slot_paths(tmp_path, 1), clock)
    for at_ns, takes_ns, longest_ns in [
        (500, 0, 500),  # nothing is there yet
        (1000, 10, 520),  # read twice: for the changes, and for the copy
        (1500, 100, 700),
        (1900, 0, 700),
        (2300, 0, 700),
    ]:
        clock.now_ns, memory.takes_ns = at_ns, takes_ns
        copier.copy()
        assert copier.cost().longest_ns == longest_ns
        (tmp_path / "source").write_bytes(str(at_ns).encode())
    assert copier.cost() == CopyCost(4, copier.cost().written_bytes, 700)
    clock.now_ns = 3100  # and no copy came
    assert copier.cost().longest_ns == 800


def test_a_copy_that_fails_does_not_end_the_time(tmp_path: Path) -> None:
    clock = Clock()
    source, slots = tmp_path / "source", slot_paths(tmp_path, 1)
    copier = SlotCopier(HostMemory("", tmp_path), str(source), slots, clock)
    for at_ns in (500, 1000, 1500, 2000):
        clock.now_ns = at_ns
        source.write_bytes(str(at_ns).encode() * 2)
        room_bytes = 2 if at_ns in (1000, 1500) else 2**20
        with files_up_to(room_bytes), contextlib.suppress(OSError):
            copier.copy()
    assert copier.cost().longest_ns == 1500
