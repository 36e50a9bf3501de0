"""A part of a stored run: added once, whatever ends the tool and wherever."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import msgspec
import pytest

from hardstone.event_names import JOINED
from hardstone.model import Event, Result, RunDocument
from hardstone.stats.joined_run import joined_run
from hardstone.store import Journal, Store, StoreError, new_run_id
from hardstone.store.documents import replace_document
from hardstone.store.place import open_place
from tests.process.killed import killed_at_call
from tests.process.store.fake_probe import Here, Recording, dump, recover
from tests.process.store.faults import SmallDisk
from tests.unit.stats.test_joined_run import recording

TEST = "TMR-P-LAT"
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


@pytest.mark.parametrize("is_replaced", [True, False])
def test_a_kill_before_or_after_the_document_is_replaced(
    store: Store, whole: RunDocument, is_replaced: bool
) -> None:
    one = part()
    journal = begun(store, one)
    journal.backing_file(TEST)
    journal.result(one.results[0])
    if is_replaced:
        replace_document(open_place(store.path), joined_run(whole, one))
    journal.close()
    assert recover(store, dump) == ([] if is_replaced else [whole.id])
    found = store.load(whole.id)
    assert [one.id for one in found.parts] == [whole.id, one.id]
    assert found.results[0].series[0].count == 6
    assert joins(found.results[0]) == 1
    assert store.recorded_now() == [] == recover(store, dump)


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


def test_ten_kills_double_nothing_and_lose_nothing(store: Store, whole: RunDocument) -> None:
    for number in range(1, 11):
        one = msgspec.structs.replace(
            recording(number % 10, begin_s=number * 12, complete=False), id=new_run_id()
        )
        journal = begun(store, one)
        journal.result(one.results[0])
        if number % 2:
            replace_document(open_place(store.path), joined_run(store.load(whole.id), one))
        journal.close()
        recover(store, dump)
    (result,) = store.load(whole.id).results
    found = [event.data for event in result.events if event.name == JOINED]
    assert len(found) == 10
    assert result.series[0].count == 33
    gaps_ns = sum(int(str(data["gap_ns"])) for data in found)
    assert result.duration_ns + gaps_ns == (10 * 12 + 10) * 10**9


def test_a_run_has_one_journal_at_a_time(store: Store, whole: RunDocument) -> None:
    with begun(store, part()) as journal:
        assert store.recorded_now() == [whole.id]
        with pytest.raises(StoreError, match="recorded by another process"):
            begun(store, part())
        journal.finish(part_of(journal, store))
    begun(store, part()).close()


def part_of(journal: Journal, store: Store) -> RunDocument:
    """A document for the journal that is open: of its id."""
    (folder,) = (store.path / "journals").iterdir()
    return msgspec.structs.replace(part(), id=folder.name)


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
        was_added.append(len(ids) > known)
        known = len(ids)
        if not was_killed:
            break
    assert not was_added[0] and was_added[-1]
    assert len(was_added) > 15


def add(store: Store, one: RunDocument) -> None:
    with begun(store, one) as journal:
        journal.result(one.results[0])
        journal.finish(one)
