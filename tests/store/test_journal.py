from __future__ import annotations

import errno
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import pytest

from hardstone.model import RunDocument
from hardstone.store import Journal, Store, StoreError, append, backing, new_run_id
from hardstone.store.place import open_place
from hardstone.store.records import replay
from tests.stats import make
from tests.store.fake_probe import Recording, dump, stream


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
    with store.journal(document) as journal:
        path = journal.backing_file("TMR-P-LAT")
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
    journal = store.journal(document)
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
    journal = store.journal(document)
    for number in range(3):
        journal.result(make.result(f"SEM-P-{number}"))
    journal.close()
    path = journal_of(store, document)
    lines = path.read_bytes().splitlines()
    path.write_bytes(b"\n".join([*lines[:2], lines[2][:-9], lines[3], lines[1][:50]]))
    assert [result.test for result in replay(path).results] == ["SEM-P-0", "SEM-P-2"]


def test_a_backing_file_is_copied_while_its_test_runs(store: Store) -> None:
    document = planned()
    journal = Journal(open_place(store.path), document, sync_interval_s=0.001)
    Recording(journal.backing_file("TMR-P-LAT"), "TMR-P-LAT").record(7)
    slot = store.path / "journals" / document.id / "slot-1-a"
    wait_for(slot.exists)
    assert dump(slot) == stream("TMR-P-LAT", 7)
    journal.result(make.result())
    wait_for(lambda: not slot.exists())
    journal.finish(document)


def test_a_copy_that_ends_after_its_test_is_taken_away(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    document, begun, go_on = planned(), threading.Event(), threading.Event()
    write_slot = backing._write_slot

    def slow(slot: Path, source: BinaryIO) -> None:
        begun.set()
        go_on.wait()
        write_slot(slot, source)

    monkeypatch.setattr(backing, "_write_slot", slow)
    with Journal(open_place(store.path), document, sync_interval_s=0.001) as journal:
        Recording(journal.backing_file("TMR-P-LAT"), "TMR-P-LAT").record(7)
        begun.wait()
        journal.result(make.result())
        go_on.set()
    assert not list((store.path / "journals" / document.id).glob("slot*"))
    assert store.recover(dump) == [document.id]


def test_a_copy_that_fails_does_not_end_the_run(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = planned()
    monkeypatch.setattr("hardstone.store.backing._write_slot", _full_disk)
    journal = Journal(open_place(store.path), document, sync_interval_s=0.001)
    Recording(journal.backing_file("TMR-P-LAT"), "TMR-P-LAT").record(7)
    wait_for(lambda: journal.backing_problem is not None)
    journal.result(make.result())
    assert journal.finish(document).exists()


@pytest.mark.parametrize("what", ["copy", "sync"])
def test_the_thread_outlives_whatever_goes_wrong(
    store: Store, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """Short of memory, it goes on once there is some, and the trouble is told once."""
    is_short = threading.Event()
    is_short.set()
    place = (backing.SlotCopier, "copy") if what == "copy" else (append.AppendFile, "try_sync")
    real = getattr(*place)

    def short(self: object) -> None:
        if is_short.is_set():
            raise MemoryError
        real(self)

    monkeypatch.setattr(*place, short)
    document = planned()
    journal = Journal(open_place(store.path), document, sync_interval_s=0.001)
    Recording(journal.backing_file("TMR-P-LAT"), "TMR-P-LAT").record(7)
    wait_for(lambda: journal.backing_problem is not None)
    warning = journal.take_warning()
    assert warning is not None and "MemoryError" in warning
    assert journal.take_warning() is None
    is_short.clear()
    wait_for((store.path / "journals" / document.id / "slot-1-a").exists)
    wait_for(lambda: journal.backing_problem is None)
    assert journal.take_warning() is None
    journal.finish(document)


def _full_disk(*_: object) -> int:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class Disk:
    """Takes `room` bytes, then is full until there is more room."""

    def __init__(self, room: int) -> None:
        self.room = room

    def write_all(self, descriptor: int, data: bytes) -> None:
        os.write(descriptor, data[: self.room])
        if len(data) > self.room:
            self.room = 0
            _full_disk()
        self.room -= len(data)


def test_a_full_disk_is_said_and_what_was_written_stays(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = planned()
    journal = store.journal(document)
    journal.result(make.result("SEM-P-0"))
    disk = Disk(100)
    monkeypatch.setattr(append, "write_all", disk.write_all)
    with pytest.raises(StoreError) as caught:
        journal.result(make.result("SEM-P-1"))
    assert str(store.path) in caught.value.cause and "No space left" in caught.value.cause
    assert "free some space" in caught.value.remedy
    assert caught.value.exit_code == 2
    disk.room = 10**6
    journal.result(make.result("SEM-P-2"))
    state = replay(journal_of(store, document))
    assert [result.test for result in state.results] == ["SEM-P-0", "SEM-P-2"]
    journal.finish(document)


def test_a_result_that_could_not_be_synced_is_not_said_to_be_there(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = planned()
    with store.journal(document) as journal:
        with monkeypatch.context() as patched, pytest.raises(StoreError):
            patched.setattr(os, "fsync", _full_disk)
            journal.result(make.result("SEM-P-0"))
        journal.result(make.result("SEM-P-0"))
        assert len(replay(journal_of(store, document)).results) == 1
        journal.finish(document)


def test_a_sync_that_failed_behind_the_back_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = append.AppendFile(tmp_path / "file")
    file.append(b"one", is_sync=False)
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", _full_disk)
        file.try_sync()
    with pytest.raises(OSError, match="No space"):
        file.append(b"two", is_sync=False)
    file.append(b"three", is_sync=True)
    assert (tmp_path / "file").read_bytes() == b"one\nthree\n"
    file.close()


def test_a_run_that_cannot_be_stored_stays_in_the_journal(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = planned(results=[make.result()])
    with store.journal(document) as journal:
        journal.result(make.result())
        with monkeypatch.context() as patched, pytest.raises(StoreError, match="write the run"):
            patched.setattr("hardstone.store.files.write_all", _full_disk)
            journal.finish(document)
    assert store.runs() == []
    assert list((store.path / "runs").iterdir()) == []
    assert store.recover(dump) == [document.id]
    assert store.load("last").results == document.results


def test_a_journal_that_cannot_be_begun_leaves_nothing(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(append, "write_all", _full_disk)
    with pytest.raises(StoreError, match="No space"):
        store.journal(planned())
    assert list((store.path / "journals").iterdir()) == []


def test_an_id_is_used_once(store: Store) -> None:
    document = planned()
    journal = store.journal(document)
    with pytest.raises(StoreError, match="exists already"):
        store.journal(document)
    journal.finish(document)
    with pytest.raises(StoreError, match="exists already"):
        store.journal(document)


def test_wrong_use_is_told_to_the_programmer(store: Store) -> None:
    with pytest.raises(ValueError, match="not an id"):
        store.journal(make.document(run_id="evening"))
    document = planned()
    journal = store.journal(document)
    with pytest.raises(ValueError, match="not of"):
        journal.finish(planned())
    journal.finish(document)
    journal.close()
    for call in (lambda: journal.finish(document), lambda: journal.result(make.result())):
        with pytest.raises(ValueError, match="closed"):
            call()


def test_a_test_that_is_begun_again_leaves_no_file(store: Store) -> None:
    document = planned()
    with store.journal(document) as journal:
        first = journal.backing_file("TMR-P-LAT")
        Recording(first, "TMR-P-LAT")
        second = journal.backing_file("TMR-P-LAT")
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

    journal = Journal(open_place(store.path), document, sync_interval_s=0.001)
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


def test_without_a_thread_results_are_kept_all_the_same(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", fail)
    document = planned(results=[make.result()])
    with store.journal(document) as journal:
        journal.result(document.results[0])
        warning = journal.take_warning()
        assert warning is not None and "can't start new thread" in warning
        assert len(replay(journal_of(store, document)).results) == 1
        assert journal.finish(document).exists()
