"""The journal of a run: all is on disk before it is said, and copies of its recording are whole."""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import queue
import resource
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hardstone.model import RunDocument
from hardstone.store.journal import AppendFile, Journal, replay
from hardstone.store.place import StoreError, open_place
from hardstone.store.slots import CopyCost, SlotCopier, slot_paths, usable_slots
from hardstone.store.store import Store
from hardstone.targets.host_memory import HostMemory
from tests.process.store.fake_probe import (
    Here,
    Recording,
    dump,
    journal_of,
    planned,
    recorded,
    recover,
    stream,
)
from tests.process.store.faults import files_up_to
from tests.programs import ran
from tests.unit.stats import make
from tests.waiting import LONGEST_S, wait_until


def quick_journal(store: Store, document: RunDocument, here: Here) -> Journal:
    """One that copies recordings all the time."""
    return Journal(open_place(store.path), document, here, sync_interval_s=0.001)


def test_a_run_goes_through_the_journal_into_the_store(store: Store, memory: Path) -> None:
    document = planned()
    with store.journal(document, Here()) as journal:
        former = Path(journal.backing_file("TMR-P-LAT"))
        Recording(former, "TMR-P-LAT")
        path = Path(journal.backing_file("TMR-P-LAT"))  # it is begun again
        assert path.parent.parent == memory and not path.exists() and not former.exists()
        Recording(path, "TMR-P-LAT")
        for line in stream("TMR-P-LAT", 3):
            journal.stream_line("TMR-P-LAT", line)
        document.results.append(make.result())
        journal.result(document.results[0])
        assert not path.exists()
        stored = journal.finish(document)
    assert stored == store.path_of(document.id)
    assert store.load(document.id) == document
    assert [entry.id for entry in store.runs()] == [document.id]
    assert list((store.path / "journals").iterdir()) == []


def test_everything_is_in_the_journal_as_soon_as_it_is_said(store: Store) -> None:
    document = planned()
    journal = store.journal(document, Here())
    journal.result(make.result("SEM-P-SIG"))
    journal.backing_file("TMR-P-LAT")
    journal.stream_line("TMR-P-LAT", b"\xff raw \0")
    state = replay(journal_of(store, document))
    assert state.document == document
    assert [result.test for result in state.results] == ["SEM-P-SIG"]
    assert state.started is not None and state.started.lines == [b"\xff raw \0"]
    journal.finish(document)


def test_a_backing_file_is_copied_while_its_test_runs(store: Store) -> None:
    document = planned()
    journal = quick_journal(store, document, Here())
    recorded(Path(journal.backing_file("TMR-P-LAT")), "TMR-P-LAT", 7)
    slot = journal_of(store, document).with_name("slot-1-a")
    wait_until(slot.exists)
    assert dump(slot) == stream("TMR-P-LAT", 7)
    journal.result(make.result())
    wait_until(lambda: not slot.exists())
    journal.finish(document)


class SubjectSeries(HostMemory):
    """Stops in the midst of the copy number `at`, of two for each round; then it may fail."""

    def __init__(self, run_id: str, journal: Path, at: int, error: Exception | None) -> None:
        super().__init__(run_id, journal)
        self._left, self._error = at, error
        self.begun, self.released = threading.Event(), threading.Event()

    def copy(self, path: str) -> Iterator[bytes] | None:
        chunks = super().copy(path)
        self._left -= chunks is not None
        return self._held(chunks) if chunks is not None and self._left == 0 else chunks

    def _held(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        yield next(chunks)
        self.begun.set()
        self.released.wait()
        if self._error is not None:
            raise self._error
        yield from chunks


class HeldHere(Here):
    def __init__(self, at: int = 2, error: Exception | None = None) -> None:
        super().__init__()
        self._held = (at, error)

    def memory(self, run_id: str, journal: Path) -> SubjectSeries:
        self.made = SubjectSeries(run_id, journal, *self._held)
        return self.made


@pytest.mark.parametrize("at", [1, 2])
@pytest.mark.parametrize("error", [None, FileNotFoundError(errno.ENOENT, "gone")])
def test_a_copy_whose_test_ends_meanwhile_is_taken_away_and_no_trouble(
    store: Store, at: int, error: Exception | None
) -> None:
    document, here = planned(), HeldHere(at, error)
    with quick_journal(store, document, here) as journal:
        recorded(Path(journal.backing_file("TMR-P-LAT")), "TMR-P-LAT", 7)
        assert here.made.begun.wait(LONGEST_S)
        assert journal_of(store, document).with_name("slot-1-a.tmp").exists() == (at == 2)
        journal.result(make.result())
        here.made.released.set()
    assert journal.take_warning() is None
    assert not list(journal_of(store, document).parent.glob("slot-1-?"))
    assert recover(store, dump) == [document.id]


@pytest.mark.parametrize("error", [MemoryError(), OSError(errno.EFBIG, "File too large")])
def test_a_copy_that_fails_does_not_end_the_run(store: Store, error: Exception) -> None:
    """The thread goes on, and the trouble is told once."""
    document, here = planned(), HeldHere(error=error)
    journal = quick_journal(store, document, here)
    recorded(Path(journal.backing_file("TMR-P-LAT")), "TMR-P-LAT", 7)
    here.made.released.set()
    warning = wait_until(journal.take_warning)
    assert warning is not None
    assert ("MemoryError" if isinstance(error, MemoryError) else "File too large") in warning
    assert journal.take_warning() is None
    wait_until(journal_of(store, document).with_name("slot-1-a").exists)
    wait_until(lambda: journal.backing_problem is None)
    assert journal.take_warning() is None
    assert journal.finish(document).exists()


def _full_disk(*_: object) -> int:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_file_that_cannot_grow_is_said_and_what_was_written_stays(store: Store) -> None:
    document = planned()
    journal = store.journal(document, Here())
    journal.result(make.result("SEM-P-0"))
    room = journal_of(store, document).stat().st_size + 100
    with files_up_to(room), pytest.raises(StoreError) as caught:
        journal.result(make.result("SEM-P-1"))
    assert str(store.path) in caught.value.cause and "File too large" in caught.value.cause
    assert "raise the limit on file sizes" in caught.value.remedy
    assert caught.value.exit_code == 2
    journal.result(make.result("SEM-P-2"))
    state = replay(journal_of(store, document))
    assert [result.test for result in state.results] == ["SEM-P-0", "SEM-P-2"]
    journal.finish(document)


def test_a_result_that_could_not_be_synced_is_not_said_to_be_there(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = planned()
    with store.journal(document, Here()) as journal:
        with monkeypatch.context() as patched, pytest.raises(StoreError):
            patched.setattr(os, "fsync", _full_disk)
            journal.result(make.result("SEM-P-0"))
        journal.result(make.result("SEM-P-0"))
        assert len(replay(journal_of(store, document)).results) == 1
        journal.finish(document)


def test_a_sync_that_failed_behind_the_back_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = AppendFile(tmp_path / "file")
    file.append(b"one", is_sync=False)
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", _full_disk)
        file.try_sync()
    with pytest.raises(OSError, match="No space"):
        file.append(b"two", is_sync=False)
    file.append(b"three", is_sync=True)
    assert (tmp_path / "file").read_bytes() == b"one\nthree\n"
    file.close()


def test_a_run_that_cannot_be_stored_stays_in_the_journal(store: Store) -> None:
    document = planned(results=[make.result()])
    with store.journal(document, Here()) as journal:
        journal.result(make.result())
        with files_up_to(100), pytest.raises(StoreError, match="write the run"):
            journal.finish(document)
    assert store.runs() == []
    assert list((store.path / "runs").iterdir()) == []
    assert recover(store, dump) == [document.id]
    assert store.load("last").results == document.results


def test_wrong_use_is_told_and_an_id_is_used_once(store: Store) -> None:
    with pytest.raises(ValueError, match="not an ID"):
        store.journal(make.document(run_id="evening"), Here())
    document = planned()
    with files_up_to(100), pytest.raises(StoreError, match="File too large"):
        store.journal(document, Here())
    assert list((store.path / "journals").iterdir()) == []
    journal = store.journal(document, Here())
    with pytest.raises(StoreError, match="exists already"):
        store.journal(document, Here())
    with pytest.raises(ValueError, match="not to"):
        journal.finish(planned())
    journal.finish(document)
    journal.close()
    for call in (lambda: journal.finish(document), lambda: journal.result(make.result())):
        with pytest.raises(ValueError, match="closed"):
            call()
    with pytest.raises(StoreError, match="exists already"):
        store.journal(document, Here())


def test_lines_that_were_only_written_are_synced_without_another_call(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    document, fsync = planned(), os.fsync
    synced: queue.SimpleQueue[tuple[str, int]] = queue.SimpleQueue()

    def noted(descriptor: int) -> None:
        size_bytes = os.fstat(descriptor).st_size
        fsync(descriptor)
        if os.path.samestat(os.fstat(descriptor), path.stat()):
            synced.put((threading.current_thread().name, size_bytes))

    journal = quick_journal(store, document, Here())
    path = journal_of(store, document)
    monkeypatch.setattr(os, "fsync", noted)
    journal.stream_line("TMR-P-LAT", b"a line")
    while synced.get(timeout=LONGEST_S) != ("journal", path.stat().st_size):
        pass
    journal.finish(document)


@contextlib.contextmanager
def no_thread_starts() -> Iterator[None]:
    """The stack of a thread is larger than the memory that is to be had."""
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    limits, size = resource.getrlimit(resource.RLIMIT_AS), threading.stack_size(2**28)
    resource.setrlimit(resource.RLIMIT_AS, (used + 2**26, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)
        threading.stack_size(size)


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="there is no /proc")
def test_without_a_thread_results_are_kept_all_the_same(store: Store) -> None:
    document = planned(results=[make.result()])
    with no_thread_starts():
        begun = store.journal(document, Here())
    with begun as journal:
        journal.result(document.results[0])
        warning = journal.take_warning()
        assert warning is not None and "can't start new thread" in warning
        assert len(replay(journal_of(store, document)).results) == 1
        assert journal.finish(document).exists()


# Copies of a recording: by turns, only of what changed, and whole

PAGE = 4096


class Copies:
    """Of a file in `folder`, into its two slots there."""

    def __init__(self, folder: Path, memory: type[HostMemory] = HostMemory, **more: Any) -> None:
        folder.mkdir(exist_ok=True)
        self.folder, self.source = folder, folder / "source"
        self.slots = slot_paths(folder, 1)
        self.memory = memory("", folder)
        self.copier = SlotCopier(self.memory, str(self.source), self.slots, **more)

    def take(self, content: bytes | None = None) -> int:
        """Copies, after `content` was recorded; how many pages were written for it."""
        if content is not None:
            self.source.write_bytes(content)
        before = self.copier.cost().written_bytes
        self.copier.copy()
        return (self.copier.cost().written_bytes - before) // PAGE

    def found(self) -> list[bytes]:
        return [slot.read_bytes() for slot in self.slots if slot.exists()]


@pytest.fixture
def copies(tmp_path: Path) -> Copies:
    return Copies(tmp_path)


def pages(*marks: bytes) -> bytes:
    """A recording of a page for each mark."""
    return b"".join(mark.ljust(PAGE, b"\0") for mark in marks)


def test_copies_take_turns_and_only_of_what_changed(copies: Copies) -> None:
    copies.take()
    assert copies.found() == []
    for content in (b"one", b"one", b"two", b"three"):
        copies.take(content)
    assert copies.found() == [b"three", b"two"]
    for _ in range(2):  # also where they are gone
        copies.copier.remove()
        assert not copies.source.exists() and not list(copies.folder.glob("slot*"))


@pytest.mark.parametrize("tail", [b"", b"\0" * 70_000, b"end"])
def test_a_copy_is_the_same_bytes_also_where_they_are_zero(copies: Copies, tail: bytes) -> None:
    content = b"head" + b"\0" * 200_000 + b"middle" + b"\0" * 65536 * 2 + tail
    copies.take(content)
    assert copies.found() == [content]


def test_a_copy_that_fails_leaves_the_one_before_and_then_all_is_written(copies: Copies) -> None:
    copies.take(pages(b"one", b"", b"one"))
    copies.source.write_bytes(pages(b"two", b"", b"two"))
    with files_up_to(2), pytest.raises(OSError, match="File too large"):
        copies.take()
    assert copies.found() == [pages(b"one", b"", b"one")]
    copies.take()
    copies.source.write_bytes(pages(b"three", b"", b"three"))
    with files_up_to(2 * PAGE), pytest.raises(OSError, match="File too large"):
        copies.take()
    assert copies.found()[0] == pages(b"three", b"", b"one")
    assert usable_slots(copies.folder, 1) == [copies.slots[1]]
    assert copies.take() == 3
    assert copies.found()[0] == copies.source.read_bytes()
    assert usable_slots(copies.folder, 1) == copies.slots


COPY = """
import resource, sys
from pathlib import Path
from hardstone.store.slots import SlotCopier, slot_paths
from hardstone.targets.host_memory import HostMemory
used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 2**24, used + 2**24))
folder = Path(sys.argv[1]).parent
SlotCopier(HostMemory("", folder), sys.argv[1], slot_paths(folder, 1)).copy()
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="there is no /proc")
def test_a_copy_takes_little_memory(copies: Copies) -> None:
    """A recorder of 64 MiB where 16 MiB are to be had."""
    with copies.source.open("wb") as file:
        file.truncate(2**26)
        file.seek(2**25)
        file.write(b"middle")
    command = [sys.executable, "-c", COPY, str(copies.source)]
    done = ran(command)
    assert done.returncode == 0, done.stderr
    with copies.slots[0].open("rb") as copy:
        assert copy.seek(0, os.SEEK_END) == 2**26
        copy.seek(2**25)
        assert copy.read(6) == b"middle"


def test_a_copy_is_on_disk_before_it_has_its_name(
    copies: Copies, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []
    real = os.fsync

    def fsync(descriptor: int) -> None:
        synced.append(Path(f"/proc/self/fd/{descriptor}").readlink().name)
        assert not synced[-1].endswith(".tmp") or copies.found() == []
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    copies.take(b"one")
    assert synced == ["slot-1-a.tmp", "slot-1-a.sum", copies.folder.name]


def test_only_pages_that_changed_are_written(copies: Copies) -> None:
    for content, count in (  # one of each is the checksum
        (pages(b"head", b"", b"one", b""), 3),
        (pages(b"head", b"", b"two", b""), 3),
        (pages(b"head", b"", b"three", b""), 2),
        (pages(b"head", b"new", b"two", b"") + b"longer", 2),
        (pages(b"head", b"new", b"", b""), 3),
    ):
        assert copies.take(content) == count
        assert content in copies.found()
    assert copies.copier.cost().copies_count == 5


def test_pieces_of_any_size_give_the_same_pages(tmp_path: Path) -> None:
    class Pieces(HostMemory):
        def copy(self, path: str) -> Any:
            data = Path(path).read_bytes()
            ends = [0, 1, 5000, 5000, 9000, 40_000]
            return (data[begin:end] for begin, end in itertools.pairwise(ends))

    copies = Copies(tmp_path, Pieces)
    contents = [os.urandom(PAGE * 3) + bytes(PAGE * 2) + os.urandom(77) for _ in range(4)]
    for content in contents:
        copies.take(content)
    assert copies.found() == contents[2:]


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
        copies, done, left = Copies(tmp_path / str(cut_at)), 0, cut_at
        with pytest.raises(KeyboardInterrupt):
            for content in contents:
                copies.take(content)
                done += 1
        found = [slot.read_bytes() for slot in usable_slots(copies.folder, 1)]
        assert set(found) <= set(contents)
        assert done == 0 or contents[done - 1] in found


def test_a_copy_that_does_not_fit_its_sum_is_used_only_if_there_is_no_other(copies: Copies) -> None:
    slots, folder = copies.slots, copies.folder
    for content in (b"one", b"two"):
        copies.take(content)
    assert usable_slots(folder, 1) == slots
    slots[0].write_bytes(b"onf")
    assert usable_slots(folder, 1) == [slots[1]]
    slots[1].with_suffix(".sum").write_bytes(b"")
    assert usable_slots(folder, 1) == slots
    slots[0].with_suffix(".sum").unlink()  # of a version that had none
    assert usable_slots(folder, 1) == [slots[0]]


def test_the_longest_time_is_from_the_begin_of_a_copy_to_the_end_of_the_next(
    tmp_path: Path,
) -> None:
    now_ns = takes_ns = 0

    class Slow(HostMemory):
        def copy(self, path: str) -> Any:
            nonlocal now_ns
            now_ns += takes_ns
            return super().copy(path)

    copies = Copies(tmp_path, Slow, clock_ns=lambda: now_ns)
    for at_ns, takes, longest_ns in [
        (500, 0, 500),  # nothing is there yet
        (1000, 10, 520),  # read twice: for the changes, and for the copy
        (1500, 100, 700),
        (1900, 0, 700),
        (2300, 0, 700),
    ]:
        now_ns, takes_ns = at_ns, takes
        copies.take()
        assert copies.copier.cost().longest_ns == longest_ns
        copies.source.write_bytes(str(at_ns).encode())
    cost = copies.copier.cost()
    assert cost == CopyCost(4, cost.written_bytes, 700)
    now_ns = 3100  # and no copy came
    assert copies.copier.cost().longest_ns == 800


def test_a_copy_that_fails_does_not_end_the_time(tmp_path: Path) -> None:
    now_ns = 0
    copies = Copies(tmp_path, clock_ns=lambda: now_ns)
    for now_ns in (500, 1000, 1500, 2000):
        copies.source.write_bytes(str(now_ns).encode() * 2)
        room_bytes = 2 if now_ns in (1000, 1500) else 2**20
        with files_up_to(room_bytes), contextlib.suppress(OSError):
            copies.take()
    assert copies.copier.cost().longest_ns == 1500
