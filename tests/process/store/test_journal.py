from __future__ import annotations

import ctypes
import errno
import os
import resource
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hardstone.model import RunDocument
from hardstone.store import Journal, Store, StoreError, new_run_id
from hardstone.store.append import AppendFile
from hardstone.store.place import open_place
from hardstone.store.records import replay
from hardstone.targets.host_memory import HostMemory
from tests.process.store.fake_probe import Here, Recording, dump, recorded, recover, stream
from tests.process.store.faults import files_up_to
from tests.unit.stats import make


def planned(**changed: object) -> RunDocument:
    fields: dict[str, object] = {"run_id": new_run_id(), "results": [], "finished_utc": None}
    return make.document(**(fields | changed))  # type: ignore[arg-type]


def journal_of(store: Store, document: RunDocument) -> Path:
    return store.path / "journals" / document.id / "journal.jsonl"


def wait_for(condition: Callable[[], bool]) -> None:
    """Waits for a thread; the time limit of the test ends it if nothing comes."""
    while not condition():
        os.sched_yield()


def test_a_run_goes_through_the_journal_into_the_store(store: Store, memory: Path) -> None:
    document = planned()
    with store.journal(document, Here()) as journal:
        path = Path(journal.backing_file("TMR-P-LAT"))
        assert path.parent.parent == memory and not path.exists()
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


def test_a_damaged_line_of_a_journal_is_left_out(store: Store) -> None:
    document = planned()
    journal = store.journal(document, Here())
    for number in range(3):
        journal.result(make.result(f"SEM-P-{number}"))
    journal.close()
    path = journal_of(store, document)
    lines = path.read_bytes().splitlines()
    path.write_bytes(b"\n".join([*lines[:2], lines[2][:-9], lines[3], lines[1][:50]]))
    assert [result.test for result in replay(path).results] == ["SEM-P-0", "SEM-P-2"]


def test_a_backing_file_is_copied_while_its_test_runs(store: Store) -> None:
    document = planned()
    journal = Journal(open_place(store.path), document, Here(), sync_interval_s=0.001)
    recorded(Path(journal.backing_file("TMR-P-LAT")), "TMR-P-LAT", 7)
    slot = store.path / "journals" / document.id / "slot-1-a"
    wait_for(slot.exists)
    assert dump(slot) == stream("TMR-P-LAT", 7)
    journal.result(make.result())
    wait_for(lambda: not slot.exists())
    journal.finish(document)


def test_a_copy_that_ends_after_its_test_is_taken_away(store: Store) -> None:
    """Of a large recording, so that the result comes while it is copied."""
    document, caught = planned(), False
    with Journal(open_place(store.path), document, Here(), sync_interval_s=0.001) as journal:
        while not caught:
            path = Path(journal.backing_file("TMR-P-LAT"))
            path.write_bytes(os.urandom(2**20) * 16)
            copy = journal_of(store, document).with_name(f"slot-{path.stem}-a.tmp")
            wait_for(lambda: copy.exists() or copy.with_suffix("").exists())  # noqa: B023
            journal.result(make.result())
            caught = copy.exists()
    assert not list((store.path / "journals" / document.id).glob("slot*"))
    assert recover(store, dump) == [document.id]


class Leaving(HostMemory):
    """A recording whose files are gone while it is copied."""

    def __init__(self, run_id: str, journal: Path) -> None:
        super().__init__(run_id, journal)
        self.begun, self.ended = threading.Event(), threading.Event()

    def copy(self, path: str) -> Iterator[bytes] | None:
        self.begun.set()
        self.ended.wait()
        raise FileNotFoundError(errno.ENOENT, "gone")


class LeavingHere(Here):
    def memory(self, run_id: str, journal: Path) -> Leaving:
        self.made = Leaving(run_id, journal)
        return self.made


def test_a_copy_whose_test_ends_meanwhile_is_no_trouble(store: Store) -> None:
    document, here = planned(), LeavingHere()
    journal = Journal(open_place(store.path), document, here, sync_interval_s=0.001)
    journal.backing_file("TMR-P-LAT")
    here.made.begun.wait()
    journal.result(make.result())
    here.made.ended.set()
    journal.finish(document)
    assert journal.take_warning() is None


def test_a_copy_that_fails_does_not_end_the_run(store: Store) -> None:
    """The thread goes on when there is room again, and the trouble is told once."""
    document = planned()
    journal = Journal(open_place(store.path), document, Here(), sync_interval_s=0.001)
    path = Path(journal.backing_file("TMR-P-LAT"))
    ready = path.with_suffix(".ready")
    Recording(ready, "TMR-P-LAT").record(7)
    with files_up_to(2**19):
        ready.rename(path)  # no copy of it was made before
        wait_for(lambda: journal.backing_problem is not None)
        journal.result(make.result())
    warning = journal.take_warning()
    assert warning is not None and "File too large" in warning
    assert journal.take_warning() is None
    Recording(Path(journal.backing_file("SEM-P-SIG")), "SEM-P-SIG").record(7)
    wait_for((store.path / "journals" / document.id / "slot-2-a").exists)
    wait_for(lambda: journal.backing_problem is None)
    assert journal.finish(document).exists()


def interrupt(thread: threading.Thread, error: type[BaseException]) -> None:
    """Raises `error` in another thread as soon as it goes on."""
    number = ctypes.c_ulong(thread.ident or 0)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(number, ctypes.py_object(error))


def is_in(thread: threading.Thread, function: str) -> bool:
    frames = traceback.walk_stack(sys._current_frames()[thread.ident or 0])
    return any(frame.f_code.co_name == function for frame, _ in frames)


# Wherever it strikes, also between opening the file and keeping it.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_the_thread_outlives_whatever_goes_wrong(store: Store) -> None:
    """Short of memory, in the midst of reading a large recording."""
    document, others = planned(), set(threading.enumerate())
    journal = Journal(open_place(store.path), document, Here(), sync_interval_s=0.001)
    (thread,) = set(threading.enumerate()) - others
    path = Path(journal.backing_file("TMR-P-LAT"))
    with path.open("wb") as recording:
        recording.truncate(400 * 2**20)
    wait_for(lambda: is_in(thread, "copy"))
    interrupt(thread, MemoryError)
    path.unlink()
    while (warning := journal.take_warning()) is None:
        os.sched_yield()
    assert "MemoryError" in warning
    assert journal.take_warning() is None
    Recording(path, "TMR-P-LAT").record(7)
    wait_for((store.path / "journals" / document.id / "slot-1-a").exists)
    wait_for(lambda: journal.backing_problem is None)
    assert journal.take_warning() is None
    journal.finish(document)


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


def test_a_journal_that_cannot_be_begun_leaves_nothing(store: Store) -> None:
    with files_up_to(100), pytest.raises(StoreError, match="File too large"):
        store.journal(planned(), Here())
    assert list((store.path / "journals").iterdir()) == []


def test_an_id_is_used_once(store: Store) -> None:
    document = planned()
    journal = store.journal(document, Here())
    with pytest.raises(StoreError, match="exists already"):
        store.journal(document, Here())
    journal.finish(document)
    with pytest.raises(StoreError, match="exists already"):
        store.journal(document, Here())


def test_wrong_use_is_told_to_the_programmer(store: Store) -> None:
    with pytest.raises(ValueError, match="not an id"):
        store.journal(make.document(run_id="evening"), Here())
    document = planned()
    journal = store.journal(document, Here())
    with pytest.raises(ValueError, match="not of"):
        journal.finish(planned())
    journal.finish(document)
    journal.close()
    for call in (lambda: journal.finish(document), lambda: journal.result(make.result())):
        with pytest.raises(ValueError, match="closed"):
            call()


def test_a_test_that_is_begun_again_leaves_no_file(store: Store) -> None:
    document = planned()
    with store.journal(document, Here()) as journal:
        first = Path(journal.backing_file("TMR-P-LAT"))
        Recording(first, "TMR-P-LAT")
        second = Path(journal.backing_file("TMR-P-LAT"))
        assert second != first and not first.exists()
        journal.finish(document)


def test_lines_that_were_only_written_are_synced_without_another_call(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    document, fsync = planned(), os.fsync
    synced: list[tuple[str, int]] = []

    def noted(descriptor: int) -> None:
        size_bytes = os.fstat(descriptor).st_size
        fsync(descriptor)
        if os.path.samestat(os.fstat(descriptor), path.stat()):
            synced.append((threading.current_thread().name, size_bytes))

    journal = Journal(open_place(store.path), document, Here(), sync_interval_s=0.001)
    path = journal_of(store, document)
    monkeypatch.setattr(os, "fsync", noted)
    journal.stream_line("TMR-P-LAT", b"a line")
    whole = ("journal", path.stat().st_size)
    for _ in range(6000):
        if whole in synced:
            break
        time.sleep(0.01)
    assert whole in synced
    journal.finish(document)


@contextmanager
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
