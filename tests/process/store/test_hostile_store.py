"""A broken member of a store costs that member, in one line, and nothing else."""

from __future__ import annotations

import os
import resource
import shutil
import socket
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from hardstone.errors import InputError
from hardstone.files import OddFileError, open_regular, read_regular
from hardstone.store.journal import ResultRecord
from hardstone.store.place import new_run_id
from hardstone.store.slots import slot_paths
from hardstone.store.store import Store
from hardstone.targets.host_memory import lost_recordings, remove_abandoned
from tests.process.store import odd
from tests.process.store.fake_probe import (
    Here,
    dump,
    journal_of,
    planned,
    recover,
    stored,
    stream,
)
from tests.process.store.test_index import overwrite
from tests.unit.stats import make


@pytest.fixture
def told() -> list[str]:
    """What `again` was told."""
    return []


def again(store: Store, told: list[str]) -> Store:
    return Store(store.path, told.append)


def cut_off(store: Store) -> Path:
    """The folder of a journal with one result, and a test under way."""
    document = planned()
    with store.journal(document, Here()) as journal:
        journal.result(make.result("SEM-P-SIG"))
        journal.stream_line("TMR-P-LAT", stream("TMR-P-LAT", 3)[0])
    return journal_of(store, document).parent


# One way to open a file that need not be ours


@pytest.mark.parametrize("kind", [*odd.KINDS, "socket"])
def test_only_a_file_is_opened_and_only_up_to_its_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    path = tmp_path / "member"
    odd.build(tmp_path / "root")
    monkeypatch.chdir(tmp_path)
    if kind == "socket":
        with socket.socket(socket.AF_UNIX) as made:
            made.bind("member")
    else:
        odd.KINDS[kind](path, tmp_path / "root")
    if kind in ("empty", "garbage", "database", "another-run"):
        assert read_regular(path, 10**5) == path.read_bytes()
        return
    with pytest.raises(OddFileError, match=r"not a file|larger than"):
        open_regular(path, 10**5)


# Journals


@pytest.mark.parametrize("name", ["failed-1-x", "failed-1-", f"failed-1-{'9' * 200}"])
def test_a_note_that_tells_no_reason_is_none(store: Store, told: list[str], name: str) -> None:
    document = planned()
    with store.journal(document, Here()) as journal:
        journal.backing_file("TMR-P-LAT")
    (journal_of(store, document).parent / name).touch()
    assert recover(again(store, told), dump) == [document.id]
    assert told == []


HUGE = "9" * 4000
LINES = [
    b'{"kind":"begin","test":"X","number":' + HUGE.encode() + b',"backing":"/x/y"}',
    b'{"kind":"begin","test":"X","number":-1,"backing":"/x/y"}',
    b'{"kind":"begin","test":"X","number":1,"backing":"' + b"a" * 10**5 + b'"}',
    b'{"kind":"begin","test":"X","number":1,"backing":"/a\\u0000b/c"}',
    b'{"kind":"begin","test":"X","number":1,"backing":""}',
    b'{"kind":"begin","test":"X","number":999999999,"backing":"/x/y"}',
    b"[" * 10**5,
    b'{"kind":"run"}',
    b"\xff\xfe\0",
]


@pytest.mark.parametrize("line", LINES, ids=range(len(LINES)))
def test_a_hostile_line_costs_itself(store: Store, told: list[str], line: bytes) -> None:
    folder = cut_off(store)
    run, *results = (folder / "journal.jsonl").read_bytes().splitlines()
    lines = [run, line, results[0][:-9], *results, line, results[0][:50]]
    (folder / "journal.jsonl").write_bytes(b"\n".join(lines))
    assert recover(again(store, told), dump) == [folder.name]
    assert told == []
    assert store.load(folder.name).results[0] == make.result("SEM-P-SIG")


@pytest.mark.parametrize("kind", ["pipe", "link-to-zero", "link-to-itself", "folder", "huge"])
def test_a_journal_that_is_no_file_is_set_aside_and_costs_no_other(
    store: Store, told: list[str], tmp_path: Path, kind: str
) -> None:
    folder, other = cut_off(store), cut_off(store)
    for _ in range(2):  # the name to set it aside under may be taken
        (folder / "journal.jsonl").unlink()
        odd.KINDS[kind](folder / "journal.jsonl", tmp_path)
        store = again(store, told)
        assert recover(store, dump) in ([other.name], [])
        assert not folder.exists()
        folder.mkdir()
        (folder / "journal.jsonl").touch()
    assert store.load(other.name).results[0] == make.result("SEM-P-SIG")
    assert [f"{folder.name} is damaged" in line for line in told] == [True, True]
    assert "it was moved to" in told[1] and told[1].endswith(".damaged-2")


@pytest.mark.parametrize("start", [b"\0" * 4096, b"damaged\n", b'{"kind":"run"}\n'])
@pytest.mark.parametrize("is_all", [True, False])
def test_a_journal_without_its_plan_is_kept_and_told(
    store: Store, told: list[str], start: bytes, is_all: bool
) -> None:
    folder = cut_off(store)
    lines = (folder / "journal.jsonl").read_bytes().splitlines(keepends=True)
    content = start if is_all else start.rstrip() + b"\n" + b"".join(lines[1:])
    (folder / "journal.jsonl").write_bytes(content)
    assert recover(again(store, told), dump) == []
    (line,) = told
    assert "its plan is lost" in line
    aside = folder.with_name(f"{folder.name}.damaged")
    assert (aside / "journal.jsonl").read_bytes() == content
    assert recover(again(store, told), dump) == [] and len(told) == 1


def test_a_run_that_could_never_be_read_again_is_not_stored(store: Store, told: list[str]) -> None:
    folder = cut_off(store)
    journal = folder / "journal.jsonl"
    bad = make.result("CLK-P-BIN")
    bad.series[0].histogram.buckets = [(5, 1), (4, 2)]
    with journal.open("ab") as file:
        file.write(msgspec.json.encode(ResultRecord(result=bad)) + b"\n")
    assert recover(again(store, told), dump) == []
    (line,) = told
    assert "does not ascend" in line and f"{folder.name}.damaged" in line
    assert store.runs() == []


@pytest.mark.parametrize("kind", ["pipe", "link-to-foreign", "dangling-link", "folder", "huge"])
def test_a_slot_that_is_no_file_is_not_read(store: Store, tmp_path: Path, kind: str) -> None:
    odd.build(tmp_path / "root")
    document = planned()
    with store.journal(document, Here()) as journal:
        journal.backing_file("TMR-P-LAT")
    odd.KINDS[kind](slot_paths(journal_of(store, document).parent, 1)[0], tmp_path / "root")
    dumped: list[Path] = []
    assert recover(store, lambda path: [str(dumped.append(path)).encode()]) == [document.id]
    assert dumped == []
    assert odd.is_foreign_whole(tmp_path / "root")


def test_a_journal_whose_run_has_a_broken_document_stays(store: Store, told: list[str]) -> None:
    """What has the name of the document is not the run: the journal is all there is of it."""
    folder = cut_off(store)
    store.path_of(folder.name).write_bytes(b"damaged")
    assert recover(again(store, told), dump) == []
    assert len(told) == 1 and "not a run document" in told[0]
    store.path_of(folder.name).unlink()
    assert recover(again(store, told), dump) == [folder.name]


def test_many_journals_need_few_files_and_few_lines(store: Store, told: list[str]) -> None:
    kept = cut_off(store)
    for number in range(130):
        journal = store.path / "journals" / f"20200101T000000Z-{number:06x}"
        journal.symlink_to("nowhere") if number < 30 else journal.mkdir()
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = max(int(path.name) for path in Path("/proc/self/fd").iterdir()) + 20
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, limits[1]))
    try:
        assert recover(again(store, told), dump) == [kept.name]
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert len(told) == 21 and "10 more journals" in told[-1]


# Locks


@pytest.mark.parametrize(
    "kind", ["pipe", "link-to-itself", "link-to-zero", "dangling-link", "link-to-foreign", "folder"]
)
def test_without_the_lock_of_the_store_its_folder_serves(
    store: Store, told: list[str], tmp_path: Path, kind: str
) -> None:
    odd.build(tmp_path / "root")
    odd.KINDS[kind](store.path / "journals.lock", tmp_path / "root")
    folder = cut_off(store)
    store = again(store, told)
    assert recover(store, dump) == [folder.name]
    assert stored(store) in [entry.id for entry in store.runs()]
    assert len(told) == 1 and "journals.lock cannot be used" in told[0]
    assert odd.is_foreign_whole(tmp_path / "root")


# The index


DATABASES = {
    "another table": "CREATE TABLE moz_places (url TEXT)",
    "a table more": "CREATE TABLE runs (id TEXT); CREATE TABLE others (id TEXT)",
    "other columns": "PRAGMA user_version = 9; CREATE TABLE runs (url TEXT)",
    "a list without an end": "PRAGMA user_version = 9; CREATE VIEW runs AS WITH RECURSIVE n(id) AS"
    " (SELECT 1 UNION ALL SELECT 1 FROM n) SELECT id FROM n",
    "a log": "PRAGMA journal_mode = WAL; CREATE TABLE moz_places (url TEXT)",
}


@pytest.mark.parametrize("kind", DATABASES)
def test_another_database_is_left_as_it_is(store: Store, told: list[str], kind: str) -> None:
    run_id = stored(store)
    place = store.path / "index.sqlite"
    place.unlink()
    with closing(sqlite3.connect(place)) as base:
        base.executescript(DATABASES[kind])
    before = {path.name: path.read_bytes() for path in store.path.glob("index*")}
    store = again(store, told)
    assert [entry.id for entry in store.runs()] == [run_id]
    other = stored(store)
    assert store.load("last").id == max(run_id, other)
    assert {path.name: path.read_bytes() for path in store.path.glob("index*")} == before
    assert len(told) == 1 and "index.sqlite cannot be used" in told[0]


# Which run


def test_damage_that_the_index_does_not_see_is_no_reason_for_an_older_run(store: Store) -> None:
    old = stored(store, run_id="20261120T000000Z-00000a", name="evening")
    new = stored(store, run_id="20261121T000000Z-00000b", name="evening")
    store.runs()
    overwrite(store.path_of(new))
    for reference in ("last", "evening", "20261121"):
        with pytest.raises(InputError, match=f"run {new} cannot be read") as caught:
            store.load(reference)
        assert f"hardstone show {old}" in caught.value.remedy


@pytest.mark.parametrize("content", [b"", b"damaged"])
def test_a_store_of_nothing_but_a_damaged_run_is_not_said_to_be_empty(
    store: Store, content: bytes
) -> None:
    run_id = stored(store)
    store.path_of(run_id).unlink()
    store.path_of(run_id).write_bytes(content)
    with pytest.raises(InputError, match=f"run {run_id} cannot be read") as caught:
        store.load("last")
    assert "no runs" not in str(caught.value) and caught.value.remedy == ""
    with pytest.raises(InputError, match="not a run document"):
        store.load(run_id)
    assert (store.runs(), [*store.unreadable]) == ([], [run_id])


def test_a_name_that_a_newer_run_may_have_is_told(store: Store, told: list[str]) -> None:
    old = stored(store, run_id="20261120T000000Z-00000a", name="evening")
    new = "20261121T000000Z-00000b"
    store.path_of(new).write_bytes(b"")
    assert again(store, told).load("evening").id == old
    assert len(told) == 1 and f"run {new} is newer, but cannot be read" in told[0]
    assert again(store, told).load(old[:12]).id == old
    assert len(told) == 1


def test_a_document_under_a_wrong_name_is_not_loaded(store: Store) -> None:
    run_id, other = stored(store), "20200101T000000Z-00000a"
    store.path_of(run_id).rename(store.path_of(other))
    for reference in (other, "last", other[:10]):
        with pytest.raises(InputError, match=f"contains run {run_id}"):
            store.load(reference)
    assert store.runs() == []
    assert "contains run" in store.unreadable[other]


def test_names_of_any_bytes_are_left_alone(store: Store) -> None:
    run_id = stored(store)
    for name in (
        b"\xff.json.gz",
        b"a\nb.json.gz",
        b"\x1b[31m",
        b"20261121T000000Z-00000b\n.json.gz",
        b"notes.txt",
        b".20261125T000000Z-00000a.json.gz.1.tmp",
        b"x.json.gz",
    ):
        for folder in ("runs", "journals"):
            (store.path / folder / os.fsdecode(name)).write_bytes(b"")
    assert [entry.id for entry in store.runs()] == [run_id]
    assert store.unreadable == {} and recover(store, dump) == []


def test_runs_may_be_a_link_to_another_disk(store: Store, tmp_path: Path) -> None:
    """Whoever makes the folder itself a link has decided so; where it leads must be there."""
    (tmp_path / "disk").mkdir()
    (store.path / "runs").symlink_to(tmp_path / "disk")
    run_id = stored(store)
    assert store.load("last").id == run_id
    (tmp_path / "disk").rename(tmp_path / "gone")
    with pytest.raises(InputError, match="cannot list the runs"):
        store.runs()


# What a probe recorded into


def test_a_probe_does_not_wait_for_a_pipe(probe: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    command = [str(probe), "dump", str(tmp_path / "pipe")]
    done = subprocess.run(command, capture_output=True, check=False, timeout=300)
    assert done.returncode == 2
    assert b"not a record file of a probe" in done.stderr


# In memory


ODD_FILES = ("pipe", "link-to-zero", "link-to-itself", "folder", "huge")
ENDLESS = f"/{'y' * 4000}/journals/{new_run_id()}".encode()


@pytest.mark.parametrize(
    "owner",
    [b"/x", b"/", b"", b"x/y/z", b"/a\0b/journals/c", b"\xff" * 9000, ENDLESS, *ODD_FILES],
    ids=[*range(7), *ODD_FILES],
)
def test_a_folder_in_memory_with_an_odd_owner_is_left_alone(
    store: Store, memory: Path, tmp_path: Path, owner: bytes | str
) -> None:
    folder = memory / "hardstone-20200101T000000Z-00000a-abcdefgh"
    folder.mkdir()
    if isinstance(owner, bytes):
        (folder / "journal").write_bytes(owner)
    else:
        odd.KINDS[owner](folder / "journal", tmp_path)
    assert lost_recordings() == []
    remove_abandoned(store.path / "journals")
    shutil.rmtree(folder)
