"""What a killed tool left is stored once and whole, or added to the run that it resumed."""

from __future__ import annotations

import itertools
import mmap
import os
import shutil
import subprocess
import threading
import zlib
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hardstone.errors import TargetError
from hardstone.event_names import JOINED
from hardstone.memory import Memory, Recorder
from hardstone.model import Event, Result, RunDocument
from hardstone.stats.join import joined_run
from hardstone.store.journal import Journal
from hardstone.store.place import StoreError, new_run_id, open_place
from hardstone.store.recovery import COPIED, ENDED
from hardstone.store.store import Store
from hardstone.targets.host_memory import HostMemory, lost_recordings, remove_abandoned
from tests.process.killed import STEPS, killed_after, killed_at_call
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
from tests.process.store.faults import SmallDisk
from tests.process.store.test_documents import FRAME, table_line, with_tables
from tests.process.targets import sample
from tests.unit.stats import make
from tests.unit.stats.test_join import recording
from tests.waiting import wait_until

TEST = "TMR-P-LAT"
GOLDEN = Path(__file__).parent / "golden"


def left_behind(
    store: Store, *, lines: Sequence[bytes] = (), recorded: int | None = None
) -> RunDocument:
    """A run whose tool went away during TEST, after SEM-P-SIG was finished."""
    document = planned()
    journal = store.journal(document, Here())
    journal.result(make.result("SEM-P-SIG"))
    path = Path(journal.backing_file(TEST))
    if recorded is not None:
        Recording(path, TEST).record(recorded)
    for line in lines:
        journal.stream_line(TEST, line)
    journal.close()
    return document


def recovered(store: Store, document: RunDocument) -> Result:
    """The result of TEST after recovering, with all that must hold in every case."""
    assert recover(store, dump) == [document.id]
    found = store.load(document.id)
    assert found.status == "incomplete"
    assert found.results[0] == make.result("SEM-P-SIG")
    assert found.trust.grade != "full"
    assert list((store.path / "journals").iterdir()) == []
    assert recover(store, dump) == []
    assert len(found.results) == 2
    return found.results[1]


NINE = stream(TEST, 9)


@pytest.mark.parametrize(
    ("left", "status", "reason", "count"),
    [
        ({"recorded": 40}, "measured", ENDED, 40),
        ({"recorded": 0}, "failed", ENDED, 0),
        ({}, "failed", ENDED, 0),
        ({"lines": NINE, "recorded": 9}, "measured", None, 9),
        ({"lines": NINE[:2]}, "measured", ENDED, 9),
        ({"lines": with_tables(table_line())[:2]}, "failed", ENDED, 0),
    ],
    ids=["recording", "no samples", "nothing", "whole stream", "part of a stream", "a table"],
)
def test_the_test_that_ran_is_taken_from_what_is_left(
    store: Store, left: dict[str, Any], status: str, reason: str | None, count: int
) -> None:
    result = recovered(store, left_behind(store, **left))
    assert (result.test, result.status, result.complete) == (TEST, status, reason is None)
    assert (result.reason or "").startswith(reason or "") and bool(result.reason) == bool(reason)
    assert sum(series.count for series in result.series) == count
    has_table = any(b'"table"' in line for line in left.get("lines", ()))
    assert result.tables == ([FRAME] if has_table else [])


def test_the_tables_of_a_recording_are_kept(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A recording has all of them; fewer had come."""
    many = with_tables(table_line(), table_line())
    monkeypatch.setattr("tests.process.store.fake_probe.stream", lambda *_: many)
    result = recovered(store, left_behind(store, lines=many[:2], recorded=9))
    assert (result.status, result.tables) == ("measured", [FRAME, FRAME])


def test_a_dump_that_fails_costs_nothing_else(store: Store) -> None:
    document = left_behind(store, recorded=40)

    def fail(path: Path) -> list[bytes]:
        raise subprocess.TimeoutExpired("hardstone-probe", 1)

    assert recover(store, fail) == [document.id]
    assert store.load(document.id).results[0] == make.result("SEM-P-SIG")


def with_slots(store: Store, *counts: int | None) -> RunDocument:
    """Copies of recordings with that many samples; None is one that cannot be read."""
    document = left_behind(store)
    for slot, count in zip(("slot-1-a", "slot-1-b"), counts, strict=True):
        path = journal_of(store, document).with_name(slot)
        if count is None:
            path.write_bytes(b"torn")
        else:
            Recording(path, TEST).record(count)
    return document


@pytest.mark.parametrize(
    ("counts", "found"), [((30, 31), 31), ((31, 30), 31), ((None, 30), 30), ((30, None), 30)]
)
def test_after_a_power_cut_the_newest_copy_that_can_be_read_serves(
    store: Store, counts: tuple[int | None, int | None], found: int
) -> None:
    assert recovered(store, with_slots(store, *counts)).series[0].count == found


def test_a_copy_that_a_power_cut_tore_gives_way_though_it_holds_more(store: Store) -> None:
    document = with_slots(store, 30, 31)
    folder = journal_of(store, document).parent
    for slot in ("slot-1-a", "slot-1-b"):
        checksum = zlib.crc32((folder / "slot-1-a").read_bytes())
        (folder / f"{slot}.sum").write_text(f"{checksum:08x}\n")
    assert recovered(store, document).series[0].count == 30


def test_samples_of_a_damaged_recording_are_better_than_none(store: Store) -> None:
    document = left_behind(store, recorded=5, lines=stream(TEST, 5)[:1])
    recover(store, lambda _: [*stream(TEST, 5)[:2], b"garbage"])
    result = store.load(document.id).results[1]
    assert (result.status, result.series[0].count) == ("measured", 5)
    assert result.reason is not None and result.reason.startswith(f"{ENDED}; line 3: not JSON")


def test_every_cut_of_a_journal_keeps_what_is_before_it(store: Store) -> None:
    document = planned()
    with store.journal(document, Here()) as journal:
        for number in range(3):
            journal.result(make.result(f"SEM-P-{number}"))
    whole = journal_of(store, document).read_bytes()
    ends = [at + 1 for at, byte in enumerate(whole) if byte == ord("\n")]
    for cut in sorted({0, *(end + by for end in ends for by in (-300, -30, -2, -1, 0, 1))}):
        journal_of(store, document).parent.mkdir(exist_ok=True)
        journal_of(store, document).write_bytes(whole[:cut])
        found = recover(store, dump)
        complete = sum(end - 1 <= cut for end in ends)
        assert found == ([document.id] if complete else [])
        if complete:
            results = store.load(document.id).results
            assert [one.test for one in results] == [f"SEM-P-{n}" for n in range(complete - 1)]
            store.path_of(document.id).unlink()


@pytest.mark.parametrize("is_recorded", [True, False])
def test_a_journal_from_before_targets_had_memory(
    store: Store, memory: Path, is_recorded: bool
) -> None:
    """It names no target: its recording is in the memory of this machine."""
    run_id = "20261122T101112Z-0a1b2c"
    backing = memory / f"hardstone-{run_id}-ua4ogw7v" / "1.rec"
    backing.parent.mkdir()
    if is_recorded:
        Recording(backing, TEST).record(40)
    folder = store.path / "journals" / run_id
    folder.mkdir(parents=True)
    old = (GOLDEN / "journal-before-memory.jsonl").read_text()
    (folder / "journal.jsonl").write_text(old.replace("@BACKING@", str(backing)))
    assert recover(store, dump) == [run_id]
    finished, cut = store.load(run_id).results
    assert (finished.test, finished.complete) == ("SEM-P-SIG", True)
    assert finished.series == make.result().series
    assert (cut.test, cut.complete, cut.reason) == (TEST, False, ENDED)
    assert sum(series.count for series in cut.series) == (40 if is_recorded else 0)
    assert not backing.parent.exists()


class Elsewhere(Here):
    """A target whose memory is in another place than this machine's, and may be out of reach."""

    name = "elsewhere"

    def __init__(self, place: Path, is_up: bool = True) -> None:
        super().__init__()
        self._place = place
        self._is_up = is_up

    def memory(self, run_id: str, journal: Path) -> Memory:
        return FarMemory(self._place, run_id, journal)

    def dump(self, path: str) -> list[bytes]:
        if not self._is_up:
            raise TargetError("elsewhere does not answer", "switch it on")
        return dump(self._place / path)


class FarMemory(HostMemory):
    """Paths mean something on the target only: below `place`."""

    def __init__(self, place: Path, run_id: str, journal: Path) -> None:
        super().__init__(run_id, journal)
        self._place = place
        self._name = f"of-{run_id}"

    def path_for(self, number: int) -> str:
        (self._place / self._name).mkdir(exist_ok=True)
        return f"{self._name}/{number}.rec"

    def has(self, path: str) -> bool:
        return path.startswith(self._name) and (self._place / path).is_file()

    def copy(self, path: str) -> Iterator[bytes] | None:
        return super().copy(str(self._place / path))

    def drop(self, path: str) -> None:
        super().drop(str(self._place / path))

    def remove(self) -> None:
        super().remove()
        shutil.rmtree(self._place / self._name, ignore_errors=True)


@pytest.mark.parametrize("is_up", [True, False])
def test_a_recording_is_asked_of_the_target_that_made_it(
    store: Store, tmp_path: Path, is_up: bool
) -> None:
    """Where the target does not answer, the copies in the journal serve."""
    far = tmp_path / "far"
    far.mkdir()
    document = planned()
    journal = Journal(open_place(store.path), document, Elsewhere(far), sync_interval_s=0.001)
    path = journal.backing_file(TEST)
    recorded(far / path, TEST, 40)
    slot = journal_of(store, document).parent / "slot-1-a"
    wait_until(slot.exists)
    journal.close()
    (far / path).unlink()
    Recording(far / path, TEST).record(41)
    asked: list[str] = []

    def reopen(name: str) -> Recorder:
        asked.append(name)
        return Elsewhere(far, is_up)

    assert store.recover(dump, reopen) == [document.id]
    assert asked == ["elsewhere"]
    (result,) = store.load(document.id).results
    assert result.series[0].count == (41 if is_up else 40)
    assert result.reason == (
        ENDED if is_up else f"{ENDED}; its recording cannot be read: elsewhere does not answer"
    )
    assert list(far.iterdir()) == []


def test_a_finished_run_leaves_nothing_on_its_target(store: Store, tmp_path: Path) -> None:
    document = planned(results=[make.result(TEST)])
    with store.journal(document, Elsewhere(tmp_path)) as journal:
        path = tmp_path / journal.backing_file(TEST)
        Recording(path, TEST)
        assert journal.has_recording()
        journal.result(document.results[0])
        assert not path.exists() and not journal.has_recording()
        journal.finish(document)
    assert not path.parent.exists()


def test_a_run_that_was_stored_before_the_kill_is_not_touched(store: Store) -> None:
    document = left_behind(store, recorded=3)
    folder = journal_of(store, document).parent
    kept = shutil.copytree(folder, store.path / "kept")
    recover(store, dump)
    before = store.path_of(document.id).read_bytes()
    shutil.move(kept, folder)
    (store.path / "runs" / f".{document.id}.json.gz.1.tmp").write_bytes(b"")
    assert recover(store, dump) == []
    assert store.path_of(document.id).read_bytes() == before
    names = {path.name for path in (store.path / "runs").iterdir()}
    assert names == {f"{document.id}.json.gz", f"{document.id}.summary.json"}


def test_two_that_recover_at_once_share_the_work(store: Store) -> None:
    assert recover(store, dump) == []
    assert list(store.path.glob("journals*")) == []
    ids = {left_behind(store, recorded=3).id for _ in range(8)}
    found: list[list[str]] = []
    start = threading.Barrier(3)

    def share() -> None:
        start.wait()
        found.append(recover(Store(store.path), dump))

    threads = [threading.Thread(target=share) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(run_id for part in found for run_id in part) == sorted(ids)
    assert {entry.id for entry in store.runs()} == ids


def test_tests_that_were_added_to_the_plan_are_in_it_again(store: Store) -> None:
    """The line of a result that follows, of a test that was added, is of its place."""
    document = planned()
    added = sample.planned("SEM-P-SIG", samples=7, cpu_config="shielded")
    journal = store.journal(document, Here())
    for one in document.plan.tests:
        journal.result(make.result(one.test))
    journal.planned([added])
    journal.backing_file(added.test)
    journal.close()
    assert recover(store, dump) == [document.id]
    found = store.load(document.id)
    assert found.plan.tests == [*document.plan.tests, added]
    assert len(found.results) == len(found.plan.tests)
    assert found.results[-1].params == added.params
    assert found.results[-1].conditions.cpu_config == added.cpu_config


# A copy of a store, made while a run of it goes on


def copied(store: Store) -> tuple[Store, list[str]]:
    """A copy of the store, and what is said of it."""
    told: list[str] = []
    where = shutil.copytree(store.path, store.path.with_name("copied"), dirs_exist_ok=True)
    return Store(where, told.append), told


def test_a_copy_recovers_its_journal_and_does_not_disturb_the_run(
    store: Store, memory: Path
) -> None:
    document = planned(results=[make.result("SEM-P-SIG"), make.result(TEST)])
    with Journal(open_place(store.path), document, Here(), sync_interval_s=0.001) as journal:
        journal.result(document.results[0])
        path = Path(journal.backing_file(TEST))
        recorded(path, TEST, 40)
        wait_until((journal_of(store, document).parent / "slot-1-a").exists)
        copy, told = copied(store)
        recording = Recording(path.with_name("later"), TEST)
        recording.record(41)
        path.with_name("later").replace(path)
        assert recover(copy, dump) == [document.id]
        remove_abandoned(copy.path / "journals")
        assert journal.has_recording() and dump(path) == stream(TEST, 41)
        assert recover(store, dump) == [], "it is recorded"
        journal.result(document.results[1])
        journal.finish(document)
    assert store.load(document.id).results == document.results
    assert told == [
        f"the journal of run {document.id} in {copy.path} is a copy: it is still recorded in "
        f"{store.path}, which this does not disturb"
    ]
    finished, cut = copy.load(document.id).results
    assert finished == document.results[0]
    assert (cut.status, cut.complete, cut.reason) == ("measured", False, COPIED)
    assert cut.series[0].count == 40, "of the copy that its journal holds"
    assert list((copy.path / "journals").iterdir()) == []


def test_a_copy_leaves_recordings_to_the_store_of_a_killed_run(store: Store, memory: Path) -> None:
    document = left_behind(store, recorded=40)
    copy, told = copied(store)
    assert recover(copy, dump) == [document.id]
    assert copy.load(document.id).results[1].series == []
    assert told == [
        f"the journal of run {document.id} in {copy.path} is a copy: its recordings are left to "
        f"{store.path}"
    ]
    assert recovered(store, document).series[0].count == 40


@pytest.mark.parametrize("is_kept", [True, False])
def test_a_run_that_could_not_be_stored_is_not_taken_by_a_copy(
    store: Store, memory: Path, is_kept: bool
) -> None:
    """A run that was kept in memory is whole, and of its own store."""
    document = planned(results=[make.result(TEST)])
    journal = store.journal(document, Here())
    if is_kept:
        assert journal.spare(document) is not None
    journal.close()
    copy, _ = copied(store)
    assert recover(copy, dump) == [document.id]
    assert copy.load(document.id).results == []
    assert recover(store, dump) == [document.id]
    assert store.load(document.id).results == (document.results if is_kept else [])


def test_a_copy_at_the_place_of_a_store_that_was_moved_does_not_disturb_its_run(
    store: Store, memory: Path
) -> None:
    """Its path is that of the journal that the memory names: only the lock tells them apart."""
    document = planned(results=[make.result(TEST)])
    away = store.path.with_name("away")
    with store.journal(document, Here()) as journal:
        path = Path(journal.backing_file(TEST))
        recorded(path, TEST, 40)
        copy, _ = copied(store)
        store.path.rename(away)
        assert lost_recordings() == [], "nobody is to remove them"
        remove_abandoned(store.path / "journals")
        copy.path.rename(store.path)
        again = Store(store.path)
        assert recover(again, dump) == [document.id]
        remove_abandoned(store.path / "journals")
        assert dump(path) == stream(TEST, 40)
        shutil.rmtree(store.path)
        away.rename(store.path)
        journal.finish(document)
    assert store.load(document.id).results == document.results


@pytest.mark.parametrize("how", ["renamed", "renamed, with a link", "copied and removed"])
def test_a_store_that_was_moved_after_a_kill_finds_its_recordings(
    store: Store, memory: Path, how: str
) -> None:
    """To another disk, a store moves by a copy: that of a store that is gone is the store."""
    document = left_behind(store, recorded=40)
    away = store.path.with_name("away")
    if how == "copied and removed":
        shutil.copytree(store.path, away)
        shutil.rmtree(store.path)
    else:
        store.path.rename(away)
    if how == "renamed, with a link":
        store.path.symlink_to(away)
    told: list[str] = []
    assert recovered(Store(away, told.append), document).series[0].count == 40
    assert told == []


def test_a_backup_is_recovered_where_there_is_no_such_memory(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On another machine, or after a boot: what its journal holds."""
    document = with_slots(store, 30, 31)
    copy, told = copied(store)
    recover(store, dump)
    monkeypatch.setenv("HARDSTONE_MEMORY_DIR", str(tmp_path / "of another machine"))
    shutil.rmtree(store.path)
    assert recovered(copy, document).series[0].count == 31
    assert told == []


# What a kill leaves


def measure(store: Store, run_id: str, finished: mmap.mmap) -> None:
    """Two tests, and says after each result that it is to be relied on."""
    document = planned(run_id=run_id, status="incomplete")
    with Journal(open_place(store.path), document, Here(), sync_interval_s=3600) as journal:
        for number in range(2):
            test = f"SEM-P-{number}"
            Recording(Path(journal.backing_file(test)), test).record(5)
            for line in stream(test, 3):
                journal.stream_line(test, line)
            journal.result(make.result(test=test, values=[number] * 5))
            finished[0] = number + 1


def test_no_kill_loses_a_finished_result(store: Store) -> None:
    """A process is killed before its Nth write, rename, removal or sync."""
    counts = []
    for call in range(1, 200):
        run_id = f"20261121T032200Z-{call:06x}"
        with mmap.mmap(-1, 1) as finished:
            work = partial(measure, store, run_id, finished)
            was_killed = killed_at_call(call, work, [*STEPS, "write"])
            count = finished[0]
        found = recover(store, dump)
        assert list((store.path / "journals").glob("*")) == []
        assert found == [run_id] or (found, count) == ([], 0)
        if found:
            results = store.load(run_id).results
            for number in range(count):
                assert results[number] == make.result(f"SEM-P-{number}", [number] * 5)
            assert len(results) in (count, count + 1)
        counts.append(count)
        if not was_killed:
            break
    assert counts == sorted(counts) and set(counts) == {0, 1, 2}
    assert len(counts) > 20


def record_until_copied(store: Store, run_id: str) -> None:
    """Copied twice, while more and more is recorded."""
    document = planned(run_id=run_id, status="incomplete")
    journal = Journal(open_place(store.path), document, Here(), sync_interval_s=0.001)
    recording = Recording(Path(journal.backing_file(TEST)), TEST)
    copy = journal_of(store, document).with_name("slot-1-b")
    for count in itertools.count():
        recording.record(1 + count % 1000)
        if copy.exists():
            return
        os.sched_yield()


@pytest.mark.parametrize("is_power_cut", [False, True])
def test_a_kill_in_the_middle_of_a_test_keeps_its_samples(
    store: Store, memory: Path, is_power_cut: bool
) -> None:
    run_id = new_run_id()
    killed_after(partial(record_until_copied, store, run_id))
    if is_power_cut:
        shutil.rmtree(next(memory.iterdir()))
    assert recover(store, dump) == [run_id]
    result = store.load("last").results[0]
    assert (result.status, result.complete, result.reason) == ("measured", False, ENDED)
    assert result.series[0].count > 0


# A part of a stored run: added once, whatever ends the tool and wherever

FIRST = recording(0, begin_s=0, complete=False)


@pytest.fixture
def whole(store: Store) -> RunDocument:
    """A run that was cut off, stored."""
    with store.journal(msgspec.structs.replace(FIRST, results=[]), Here()) as journal:
        journal.finish(FIRST)
    return store.load(FIRST.id)


def part(number: int = 1, begin_s: float = 13) -> RunDocument:
    return msgspec.structs.replace(recording(number, begin_s=begin_s), id=new_run_id())


def begun(store: Store, one: RunDocument) -> Journal:
    return store.journal(msgspec.structs.replace(one, results=[]), Here(), resumes=FIRST.id)


def joins(result: Result) -> int:
    return sum(event.name == JOINED for event in result.events)


def test_a_part_replaces_the_document_with_one_of_both(store: Store, whole: RunDocument) -> None:
    one = part()
    with begun(store, one) as journal:
        assert journal.finish(one) == store.path_of(whole.id)
    assert store.load("last") == joined_run(whole, one)
    assert [entry.id for entry in store.runs()] == [whole.id]
    assert store.runs()[0].status == "complete"
    assert store.recorded_now() == []


def test_a_copy_names_the_run_that_a_part_resumes(store: Store, whole: RunDocument) -> None:
    one = part()
    with begun(store, one) as journal:
        Recording(Path(journal.backing_file(TEST)), TEST).record(40)
        copy, told = copied(store)
        assert recover(copy, dump) == [whole.id]
        assert [line.partition(" in ")[0] for line in told] == [f"the journal of run {whole.id}"]
        assert journal.has_recording()
        journal.finish(one)
    assert store.load(whole.id) == joined_run(whole, one)


def test_what_a_killed_part_recorded_is_joined_with_its_gap(
    store: Store, whole: RunDocument
) -> None:
    one = part()
    journal = begun(store, one)
    Recording(Path(journal.backing_file(TEST)), TEST).record(40)
    journal.close()
    assert recover(store, dump) == [whole.id]
    found = store.load(whole.id)
    assert (found.status, len(found.parts)) == ("incomplete", 2)
    # The made-up recording has no begin on the clock since boot: it cannot be joined.
    assert [result.series[0].count for result in found.results] == [3, 40]


def test_a_run_has_one_journal_at_a_time(store: Store, whole: RunDocument) -> None:
    one = part()
    with begun(store, one) as journal:
        assert store.recorded_now() == [whole.id]
        assert recover(store, dump) == []  # it is in use
        with pytest.raises(StoreError, match="another process is recording"):
            begun(store, part())
        journal.finish(one)
    begun(store, part()).close()


@pytest.mark.parametrize("content", [None, b"torn"])
def test_a_part_of_a_run_that_is_gone_or_damaged_is_kept_alone(
    store: Store, whole: RunDocument, content: bytes | None
) -> None:
    one = part()
    journal = begun(store, one)
    journal.result(one.results[0])
    journal.close()
    path = store.path_of(whole.id)
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    told: list[str] = []
    assert recover(Store(store.path, told.append), dump) == [one.id]
    assert store.load(one.id).results == one.results
    assert any("is gone or damaged" in line for line in told)


def test_a_part_that_makes_the_run_too_large_to_be_read_is_kept_alone(
    store: Store,
) -> None:
    """A result may have 16 384 events."""
    first, one = recording(0, begin_s=0, complete=False), part()
    for run in (first, one):
        run.results[0].events += [Event(name="x", text="x", at_ns=n) for n in range(10_000)]
    with store.journal(msgspec.structs.replace(first, results=[]), Here()) as journal:
        journal.finish(first)
    with begun(store, one) as journal:
        assert journal.finish(one) == store.path_of(one.id)
    assert store.load(first.id) == first
    assert store.load(one.id) == one


def test_a_store_that_is_full_keeps_the_part_in_memory(disk: SmallDisk, memory: Path) -> None:
    store = Store(disk.folder / "store")
    write = msgspec.structs.replace(FIRST, results=[])
    with store.journal(write, Here()) as journal:
        journal.finish(FIRST)
    one = part()
    journal = begun(store, one)
    journal.result(one.results[0])
    disk.fill()
    large = msgspec.structs.replace(one, advice=[os.urandom(30_000).hex() for _ in range(90)])
    with pytest.raises(StoreError, match="No space left"):
        journal.finish(large)
    assert journal.spare(large) is not None
    journal.close()
    assert store.load(FIRST.id) == FIRST
    disk.free()
    assert recover(store, dump) == [FIRST.id]
    assert store.load(FIRST.id) == joined_run(FIRST, large)


def test_a_kill_at_any_moment_adds_a_part_once_or_not_at_all(
    store: Store, whole: RunDocument
) -> None:
    """A process ends at its Nth rename, removal or sync, and so runs nothing that cleans up."""
    known, was_added = 1, []
    for call in range(1, 200):
        one = recording(call % 10, begin_s=12 * call, complete=False)
        one = msgspec.structs.replace(one, id=new_run_id())
        was_killed = killed_at_call(call, partial(add, store, one))
        recover(store, dump)
        found = store.load(whole.id)
        ids = [part.id for part in found.parts] or [whole.id]
        recorded = [part for part in found.parts if part.result is not None]
        assert len(ids) == len(set(ids)) in (known, known + 1)
        assert found.results[0].series[0].count == 3 * max(1, len(recorded))
        assert joins(found.results[0]) == max(1, len(recorded)) - 1
        assert store.recorded_now() == [] == recover(store, dump)
        was_added.append(len(ids) > known)
        known = len(ids)
        if not was_killed:
            break
    assert not was_added[0] and was_added[-1]
    assert len(was_added) > 15
    (result,) = found.results
    data = [event.data for event in result.events if event.name == JOINED]
    gaps_ns = sum(int(str(one["gap_ns"])) for one in data)
    assert result.duration_ns + gaps_ns == (12 * call + 10) * 10**9


def add(store: Store, one: RunDocument) -> None:
    with begun(store, one) as journal:
        journal.result(one.results[0])
        journal.finish(one)
