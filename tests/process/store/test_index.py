from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from hardstone.formula import FORMULA
from hardstone.store import Store
from hardstone.store.documents import write_document
from hardstone.store.place import open_place
from tests.process.store import odd
from tests.unit.stats import make

IDS = [f"2026112{day}T000000Z-00000{day}" for day in range(4)]


@pytest.fixture
def filled(store: Store) -> Store:
    for day, run_id in enumerate(IDS):
        add(store, run_id, name=f"run {day}", started_utc=f"2026-11-2{day}T00:00:00Z")
    return store


def add(store: Store, run_id: str, **changed: object) -> None:
    write_document(open_place(store.path), make.document(run_id=run_id, **changed))


def ids(store: Store) -> list[str]:
    return [entry.id for entry in store.runs()]


def again(store: Store) -> Store:
    return Store(store.path)


def test_runs_are_listed_oldest_first(filled: Store) -> None:
    entries = filled.runs()
    assert [entry.id for entry in entries] == IDS
    first = entries[0]
    assert (first.name, first.status, first.grade, first.tests) == ("run 0", "complete", "full", 1)


def test_an_empty_store_has_no_runs(store: Store) -> None:
    assert store.runs() == []


def test_documents_are_not_read_for_a_list(filled: Store) -> None:
    """Neither with an index nor, from the summaries, without."""
    for run_id in IDS:
        overwrite(filled.path_of(run_id))
    assert filled.rebuild_index() == len(IDS)
    assert ids(again(filled)) == IDS
    for run_id in IDS:
        summary_of(filled, run_id).unlink()
    assert ids(again(filled)) == IDS
    assert filled.rebuild_index() == 0


def summary_of(store: Store, run_id: str) -> Path:
    return store.path / "runs" / f"{run_id}.summary.json"


def test_a_summary_is_small_and_says_what_a_list_shows(filled: Store) -> None:
    content = summary_of(filled, IDS[0]).read_bytes()
    assert len(content) < 600
    state = filled.path_of(IDS[0]).stat()
    assert json.loads(content) == {
        "schema": "hardstone.summary/1",
        "run": {
            "id": IDS[0],
            "name": "run 0",
            "started_utc": "2026-11-20T00:00:00Z",
            "status": "complete",
            "grade": "full",
            "tests": 1,
            "profile": "standard",
            "target": "local",
            "stars": None,
            "is_at_most": True,
            "rated_as": "",
            "formula": FORMULA,
        },
        "document": [state.st_size, state.st_mtime_ns],
    }


def damaged(content: bytes) -> bytes:
    return content[:-30]


def later(content: bytes) -> bytes:
    return content.replace(b"summary/1", b"summary/2")


def of_another(content: bytes) -> bytes:
    return content.replace(IDS[0].encode(), IDS[1].encode())


def stale(content: bytes) -> bytes:
    return content.replace(b'"document":[', b'"document":[1')


def endless(content: bytes) -> bytes:
    return content[:-1] + b" " * 10**6 + b"}"


def nested(content: bytes) -> bytes:
    return b"[" * 10**4


def absurd(content: bytes) -> bytes:
    return content.replace(b'"tests":1', b'"tests":-1')


def beyond_the_index(content: bytes) -> bytes:
    return content.replace(b'"tests":1', b'"tests":1000000000000000000000')


@pytest.mark.parametrize(
    "damage", [damaged, later, of_another, stale, endless, nested, absurd, beyond_the_index]
)
def test_a_summary_that_is_not_good_is_made_again(
    filled: Store, damage: Callable[[bytes], bytes]
) -> None:
    expected = filled.runs()
    path = summary_of(filled, IDS[0])
    good = path.read_bytes()
    # Whatever it says of the run besides, none of it is believed.
    path.write_bytes(damage(good.replace(b"run 0", b"a lie")))
    assert path.read_bytes() != good
    (filled.path / "index.sqlite").unlink()
    assert again(filled).runs() == expected
    assert path.read_bytes() == good


@pytest.mark.parametrize("kind", ["pipe", "link-to-itself", "link-to-zero", "folder", "huge"])
def test_what_is_not_a_summary_is_not_read(filled: Store, tmp_path: Path, kind: str) -> None:
    expected = filled.runs()
    summary_of(filled, IDS[0]).unlink()
    odd.KINDS[kind](summary_of(filled, IDS[0]), tmp_path)
    (filled.path / "index.sqlite").unlink()
    assert again(filled).runs() == expected


def test_a_lying_summary_does_not_give_the_wrong_run(filled: Store) -> None:
    for run_id, name, lie in ((IDS[0], b"run 0", b"run 3"), (IDS[3], b"run 3", b"run 0")):
        path = summary_of(filled, run_id)
        path.write_bytes(path.read_bytes().replace(name, lie))
    assert again(filled).runs()[0].name == "run 3"
    assert again(filled).load("run 3").id == IDS[3]
    assert [entry.name for entry in again(filled).runs()] == [f"run {day}" for day in range(4)]


def test_a_store_from_before_summaries_gets_them(filled: Store) -> None:
    for run_id in IDS:
        summary_of(filled, run_id).unlink()
    assert ids(again(filled)) == IDS
    assert all(summary_of(filled, run_id).exists() for run_id in IDS)


def overwrite(path: Path) -> None:
    """As a disk does that goes bad: neither size nor time tells."""
    state = path.stat()
    path.write_bytes(b"x" * state.st_size)
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))


def test_a_missing_index_is_made_anew(filled: Store) -> None:
    filled.runs()
    (filled.path / "index.sqlite").unlink()
    assert ids(again(filled)) == IDS
    assert (filled.path / "index.sqlite").exists()


def test_an_empty_index_is_made_anew(filled: Store) -> None:
    filled.runs()
    (filled.path / "index.sqlite").write_bytes(b"")
    assert ids(again(filled)) == IDS
    assert rows(filled) == len(IDS)


@pytest.mark.parametrize("content", [b"garbage" * 999, b"SQLite format 3\0" + b"\xff" * 5000])
def test_what_is_no_index_is_left_alone_and_told(filled: Store, content: bytes) -> None:
    place = filled.path / "index.sqlite"
    place.write_bytes(content)
    told: list[str] = []
    store = Store(filled.path, told.append)
    assert ids(store) == ids(store) == IDS
    assert store.rebuild_index() == len(IDS)
    (line,) = told
    assert str(place) in line and "move it away" in line
    assert place.read_bytes() == content


def rows(store: Store) -> int:
    with closing(sqlite3.connect(store.path / "index.sqlite")) as base:
        return int(base.execute("SELECT COUNT(*) FROM runs").fetchone()[0])


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE runs SET tests = 'many'",
        "UPDATE runs SET status = 'splendid'",
        "UPDATE runs SET size_bytes = size_bytes + 1",
        "DELETE FROM runs",
        "DROP TABLE runs",
        "PRAGMA user_version = 99",
        "INSERT INTO runs VALUES ('x', 'x', 'x', 'complete', 'full', 1, 'quick', 'local', 1, 0, "
        "'', 'hardstone.rating/1', 1, 1)",
    ],
)
def test_an_index_that_does_not_fit_the_documents_is_mended(filled: Store, damage: str) -> None:
    expected = filled.runs()
    with closing(sqlite3.connect(filled.path / "index.sqlite")) as base, base:
        base.execute(damage)
    assert again(filled).runs() == expected
    assert rows(filled) == len(IDS)


def test_documents_that_come_and_go_are_seen(filled: Store) -> None:
    filled.runs()
    filled.path_of(IDS[1]).unlink()
    add(filled, "20261125T000000Z-00000a", started_utc="2026-11-25T00:00:00Z")
    assert ids(filled) == [IDS[0], IDS[2], IDS[3], "20261125T000000Z-00000a"]


def test_a_document_that_was_replaced_is_read_again(filled: Store) -> None:
    filled.runs()
    path = filled.path_of(IDS[0])
    path.unlink()
    add(filled, IDS[0], name="another", started_utc="2026-11-20T00:00:00Z")
    os.utime(path, ns=(1, 1))
    assert again(filled).runs()[0].name == "another"


def test_a_document_under_a_wrong_name_is_not_listed(filled: Store) -> None:
    other = "20261125T000000Z-00000a"
    filled.path_of(IDS[0]).rename(filled.path_of(other))
    assert ids(filled) == IDS[1:]
    assert "holds run" in filled.unreadable[other]


def test_other_files_in_the_folder_are_left_alone(filled: Store) -> None:
    for name in ("notes.txt", ".20261125T000000Z-00000a.json.gz.1.tmp", "x.json.gz"):
        (filled.path / "runs" / name).write_text("")
    assert ids(filled) == IDS
    assert filled.unreadable == {}


def test_an_index_that_cannot_be_made_spares_the_list(filled: Store) -> None:
    (filled.path / "index.sqlite").mkdir()
    assert ids(filled) == IDS


def test_rebuilding_counts_the_documents(filled: Store) -> None:
    assert filled.rebuild_index() == len(IDS)


def test_the_name_in_a_lying_index_does_not_give_the_wrong_run(filled: Store) -> None:
    filled.runs()
    with closing(sqlite3.connect(filled.path / "index.sqlite")) as base, base:
        base.execute("UPDATE runs SET name = 'run 3' WHERE id = ?", (IDS[0],))
        base.execute("UPDATE runs SET name = 'run 0' WHERE id = ?", (IDS[3],))
    assert again(filled).load("run 3").id == IDS[3]


def test_the_database_module_is_told_where_to_look(filled: Store, tmp_path: Path) -> None:
    place = tmp_path / "a ?#%41 b"
    filled.path.rename(place)
    assert ids(Store(place)) == IDS
    assert ids(Store(place)) == IDS
