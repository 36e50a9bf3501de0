"""The list of runs: its index and its summaries, which can be lost or lie at any time."""

from __future__ import annotations

import gzip
import json
import os
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from hardstone.errors import InputError
from hardstone.model import FORMULA
from hardstone.store.documents import write_document
from hardstone.store.place import open_place
from hardstone.store.store import Store
from tests import imported
from tests.process.store import odd
from tests.unit.stats import make
from tests.unit.systems.rated_runs import full_run

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
    said = {"name": "run 0", "status": "complete", "grade": "full", "tests": 1, "target": "local"}
    said |= {"profile": "standard", "started_utc": "2026-11-20T00:00:00Z"}
    said |= {"stars": None, "is_at_most": True, "lowest": None, "rated_as": "", "formula": FORMULA}
    said |= {"repeats": "", "lacking": "", "machine": "6.12.0-rt", "tool": ""}
    assert msgspec.to_builtins(entries[0]) == {"id": IDS[0], **said}


def test_a_list_has_stars_and_a_document_has_none(store: Store) -> None:
    """They follow from a formula, which a list is kept with."""
    write_document(open_place(store.path), full_run(run_id=IDS[0]))
    (entry,) = again(store).runs()
    assert (entry.stars, entry.is_at_most, entry.rated_as) == (5.0, False, "")
    assert entry.formula == FORMULA
    content = json.loads(gzip.decompress(store.path_of(IDS[0]).read_bytes()))
    assert content["rating"] is None and FORMULA not in json.dumps(content)


def test_documents_are_not_read_for_a_list(filled: Store) -> None:
    """Neither with an index nor, from the summaries, without."""
    for run_id in IDS:
        overwrite(filled.path_of(run_id))
    assert not (filled.path / "index.sqlite").exists()
    assert ids(again(filled)) == IDS
    for run_id in IDS:
        summary_of(filled, run_id).unlink()
    assert ids(again(filled)) == IDS
    (filled.path / "index.sqlite").unlink()
    assert ids(again(filled)) == []


def summary_of(store: Store, run_id: str) -> Path:
    return store.path / "runs" / f"{run_id}.summary.json"


def test_a_summary_is_small_and_says_what_a_list_shows(filled: Store) -> None:
    content = summary_of(filled, IDS[0]).read_bytes()
    assert len(content) < 600
    state = filled.path_of(IDS[0]).stat()
    assert json.loads(content) == {
        "schema": "hardstone.summary/1",
        "run": msgspec.to_builtins(filled.runs()[0]),
        "document": [state.st_size, state.st_mtime_ns],
    }


BAD_SUMMARIES: dict[str, Callable[[bytes], bytes]] = {
    "damaged": lambda content: content[:-30],
    "later": lambda content: content.replace(b"summary/1", b"summary/2"),
    "of another": lambda content: content.replace(IDS[0].encode(), IDS[1].encode()),
    "stale": lambda content: content.replace(b'"document":[', b'"document":[1'),
    "endless": lambda content: content[:-1] + b" " * 10**6 + b"}",
    "nested": lambda _: b"[" * 10**4,
    "absurd": lambda content: content.replace(b'"tests":1', b'"tests":-1'),
    "beyond the index": lambda content: content.replace(b'"tests":1', b'"tests":' + b"9" * 22),
    "of another formula": lambda content: content.replace(
        FORMULA.encode(), b"hardstone.rating/0"
    ).replace(b'"stars":null', b'"stars":1.0'),
    "of before": lambda content: content.replace(b',"lacking":""', b""),
    "without a machine": lambda content: content.replace(b',"machine":"6.12.0-rt"', b""),
    "without stars": lambda content: re.sub(
        rb',"(formula|stars|is_at_most|lowest|rated_as)":[^,}]*', b"", content
    ),
}


ODD_SUMMARIES = ("pipe", "link-to-itself", "link-to-zero", "folder", "huge")


@pytest.mark.parametrize("damage", [*BAD_SUMMARIES, *ODD_SUMMARIES])
def test_a_summary_that_is_not_good_is_made_again(
    filled: Store, tmp_path: Path, damage: str
) -> None:
    expected = filled.runs()
    path = summary_of(filled, IDS[0])
    good = path.read_bytes()
    # Whatever it says of the run besides, none of it is believed.
    lie = good.replace(b"run 0", b"a lie")
    if damage in ODD_SUMMARIES:
        path.unlink()
        odd.KINDS[damage](path, tmp_path)
    else:
        path.write_bytes(BAD_SUMMARIES[damage](lie))
        assert path.read_bytes() != lie
    (filled.path / "index.sqlite").unlink()
    assert again(filled).runs() == expected
    assert damage == "folder" or path.read_bytes() == good


def test_a_lying_summary_or_index_does_not_give_the_wrong_run(filled: Store) -> None:
    for run_id, name, lie in ((IDS[0], b"run 0", b"run 3"), (IDS[3], b"run 3", b"run 0")):
        path = summary_of(filled, run_id)
        path.write_bytes(path.read_bytes().replace(name, lie))
    assert again(filled).runs()[0].name == "run 3"
    assert again(filled).load("run 3").id == IDS[3]
    assert [entry.name for entry in again(filled).runs()] == [f"run {day}" for day in range(4)]
    change_index(filled, "UPDATE runs SET name = 'run ' || (3 - substr(name, 5))")
    assert again(filled).load("run 3").id == IDS[3]


def overwrite(path: Path) -> None:
    """As a disk does that goes bad: neither size nor time tells."""
    state = path.stat()
    path.write_bytes(b"x" * state.st_size)
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))


@pytest.mark.parametrize("content", [None, b""])
def test_a_missing_index_is_made_anew(filled: Store, content: bytes | None) -> None:
    filled.runs()
    (filled.path / "index.sqlite").unlink()
    if content is not None:
        (filled.path / "index.sqlite").write_bytes(content)
    for run_id in IDS:
        summary_of(filled, run_id).unlink()
    assert ids(again(filled)) == IDS
    assert rows(filled) == len(IDS)
    assert all(summary_of(filled, run_id).exists() for run_id in IDS)


@pytest.mark.parametrize("content", [b"garbage" * 999, b"SQLite format 3\0" + b"\xff" * 5000])
def test_what_is_no_index_is_left_alone_and_told(filled: Store, content: bytes) -> None:
    place = filled.path / "index.sqlite"
    place.write_bytes(content)
    told: list[str] = []
    store = Store(filled.path, told.append)
    assert ids(store) == ids(store) == IDS
    (line,) = told
    assert str(place) in line and "move it away" in line
    assert place.read_bytes() == content


def change_index(store: Store, *commands: str) -> None:
    with closing(sqlite3.connect(store.path / "index.sqlite")) as base, base:
        for command in commands:
            base.execute(command)


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
        "UPDATE runs SET formula = 'hardstone.rating/0', stars = 1.0",
        "UPDATE runs SET stars = 'many'",
        "UPDATE runs SET stars = 9.5",
        "UPDATE runs SET stars = -1",
        "PRAGMA user_version = 99",
        "INSERT INTO runs VALUES ('x', 'x', 'x', 'complete', 'full', 1, 'quick', 'local', 1, 0, "
        "NULL, '', 'hardstone.rating/3', '', '', '', '', 1, 1)",
    ],
)
def test_an_index_that_does_not_fit_the_documents_is_mended(filled: Store, damage: str) -> None:
    expected = filled.runs()
    change_index(filled, damage)
    assert again(filled).runs() == expected
    assert rows(filled) == len(IDS)


def test_an_index_of_this_formula_is_believed(filled: Store) -> None:
    """It is a cache: the document is not read for a list."""
    filled.runs()
    change_index(filled, "UPDATE runs SET stars = 2.5")
    assert [entry.stars for entry in again(filled).runs()] == [2.5] * len(IDS)


def test_documents_that_come_go_and_change_are_seen(filled: Store) -> None:
    filled.runs()
    filled.path_of(IDS[1]).unlink()
    add(filled, "20261125T000000Z-00000a", started_utc="2026-11-25T00:00:00Z")
    assert ids(filled) == [IDS[0], IDS[2], IDS[3], "20261125T000000Z-00000a"]
    path = filled.path_of(IDS[2])
    path.unlink()
    add(filled, IDS[2], name="another", started_utc="2026-11-20T00:00:00Z")
    os.utime(path, ns=(1, 1))
    assert again(filled).runs()[1].name == "another"


def test_an_index_that_cannot_be_made_spares_the_list(filled: Store) -> None:
    (filled.path / "index.sqlite").mkdir()
    assert ids(filled) == IDS


def test_the_database_module_is_told_where_to_look(filled: Store, tmp_path: Path) -> None:
    place = tmp_path / "a ?#%41 b"
    filled.path.rename(place)
    assert ids(Store(place)) == IDS
    assert ids(Store(place)) == IDS


def test_the_last_part_of_an_id_names_its_run(filled: Store) -> None:
    alone = IDS[0]
    part = alone.rpartition("-")[2]
    assert filled.load(part).id == alone
    with pytest.raises(InputError):
        filled.load(part[1:])


def test_a_run_of_another_tool_is_listed_with_its_tool(tmp_path: Path) -> None:
    store = Store(tmp_path)
    write_document(open_place(tmp_path), imported.imported_run(imported.bare()))
    (entry,) = store.runs()
    assert (entry.tool, entry.stars, entry.grade) == ("cyclictest 2.40", None, "indicative")
    assert Store(tmp_path).runs() == [entry]
