"""The store: where it is, which run a reference means, reading ahead, and its locks."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from hardstone.errors import InputError
from hardstone.store.documents import RunEntry
from hardstone.store.place import (
    StoreError,
    default_root,
    exclusive,
    is_run_id,
    new_run_id,
    try_lock,
)
from hardstone.store.store import Store, find_run
from tests.process.store.fake_probe import stored

# Its place


def test_a_run_id_is_its_time_in_utc_and_some_chance() -> None:
    at = datetime(2026, 11, 21, 3, 22, tzinfo=UTC)
    assert re.fullmatch(r"20261121T032200Z-[0-9a-f]{6}", new_run_id(at))
    assert new_run_id(at) != new_run_id(at)
    assert new_run_id(at) < new_run_id(at + timedelta(seconds=1))
    assert is_run_id(new_run_id())


@pytest.mark.parametrize("text", ["", "last", "../etc", "20261121T032200Z-1a2b3c/..", "a\n"])
def test_what_is_no_run_id_is_never_a_file_name(text: str, store: Store) -> None:
    assert not is_run_id(text)
    with pytest.raises(InputError):
        store.path_of(text)


@pytest.mark.parametrize(
    ("value", "place"),
    [("{}", ""), ("", "home/.local/share"), ("relative", "home/.local/share")],
)
def test_the_default_place_is_that_of_the_desktop(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, value: str, place: str
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", value.format(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert default_root() == Store().path == tmp_path / place / "hardstone"


def test_a_file_in_the_way_is_named_with_a_remedy(tmp_path: Path) -> None:
    (tmp_path / "store").write_text("")
    with pytest.raises(InputError) as caught:
        Store(tmp_path / "store")
    assert str(tmp_path / "store") in caught.value.cause
    assert "--store DIR" in caught.value.remedy
    assert caught.value.exit_code == 2
    with pytest.raises(InputError, match="store/below: Not a directory"):
        Store(tmp_path / "store" / "below")


# Which run


def _entry(run_id: str, name: str) -> RunEntry:
    said = {"status": "complete", "grade": "full", "profile": "standard", "target": "local"}
    return RunEntry(id=run_id, name=name, started_utc=run_id, tests=1, **said)  # type: ignore[arg-type]


ENTRIES = [
    _entry("20261120T000000Z-aaaaaa", "evening"),
    _entry("20261120T000000Z-aabbbb", "morning"),
    _entry("20261121T000000Z-cccccc", "evening"),
    _entry("20261122T000000Z-dddddd", ""),
]


@pytest.mark.parametrize(
    ("reference", "at"),
    [
        ("last", 3),
        ("20261120T000000Z-aaaaaa", 0),
        ("morning", 1),
        ("evening", 2),
        ("20261120T000000Z-aab", 1),
        ("20261122", 3),
    ],
)
def test_a_run_is_found_by_id_name_prefix_or_last(reference: str, at: int) -> None:
    older = {"20261119T000000Z-ffffff": "a pipe"}  # which hides none
    assert find_run(reference, ENTRIES) == find_run(reference, ENTRIES, older) == ENTRIES[at]


@pytest.mark.parametrize(
    ("reference", "cause", "remedy"),
    [
        ("20261120", "matches 2 runs", "20261120T000000Z-aabbbb"),
        ("evning", "", "evening"),
        ("20261121T000000Z-cccccd", "", "20261121T000000Z-cccccc"),
        ("", "", "see all: hardstone runs"),
        ("zzz", "", "see all: hardstone runs"),
        ("x" * 10_000, "", "see all: hardstone runs"),
    ],
    ids=range(6),
)
def test_another_reference_is_answered_with_the_nearest(
    reference: str, cause: str, remedy: str
) -> None:
    with pytest.raises(InputError) as caught:
        find_run(reference, ENTRIES)
    assert cause in caught.value.cause and len(caught.value.cause) < 100
    assert remedy in caught.value.remedy
    with pytest.raises(InputError, match="the store holds no runs; measure one: hardstone ev"):
        find_run(reference, [])


@pytest.mark.parametrize("reference", ["last", "20261123T000000Z-eeeeee", "20261123"])
def test_no_other_run_is_taken_for_one_that_cannot_be_read(reference: str) -> None:
    unreadable = {"20261123T000000Z-eeeeee": "it is damaged", "20261119T000000Z-ffffff": "a pipe"}
    with pytest.raises(InputError, match="run 20261123T000000Z-eeeeee cannot be read") as caught:
        find_run(reference, ENTRIES, unreadable)
    assert "it is damaged" in caught.value.cause
    assert "hardstone show 20261122T000000Z-dddddd" in caught.value.remedy
    with pytest.raises(InputError, match="matches 3 runs"):
        find_run("2026112", ENTRIES[2:], unreadable)  # it may mean that one too


def test_a_run_is_loaded_by_what_finds_it_and_by_no_path(store: Store) -> None:
    run_id = stored(store, name="evening")
    for reference in (run_id, run_id[:-2], "evening", "last"):
        assert store.load(reference).id == run_id
    for wrong in ("20200101T000000Z-000000", "../runs/x", "evenign"):
        with pytest.raises(InputError, match="there is no run") as caught:
            store.load(wrong)
    assert caught.value.remedy == "did you mean evening?"


# Several


def _named(store: Store) -> list[str]:
    return [stored(store, name=name) for name in ("one", "two", "three")]


def test_runs_come_in_the_order_asked_for(store: Store) -> None:
    first, second, third = _named(store)
    asked = [third, "two", first, third, "last", first]
    last = max(first, second, third)  # of one second, by the rest of the ID
    expected = [third, second, first, third, last, first]
    assert [run.id for run in store.load_each(asked)] == expected
    assert list(store.load_each([])) == []


def _cut(path: Path) -> None:
    path.chmod(0o600)
    path.write_bytes(path.read_bytes()[:-20])


def _of_another(path: Path) -> None:
    other = next(one for one in path.parent.glob("*.json.gz") if one != path)
    path.unlink()
    path.write_bytes(other.read_bytes())


@pytest.mark.parametrize("harm", [_cut, _of_another, Path.unlink])
def test_a_harmed_run_is_an_error_where_it_is_asked_for(
    store: Store, harm: Callable[[Path], None]
) -> None:
    first, second, third = _named(store)
    runs = store.load_each([first, second, third])
    assert next(runs).id == first
    harm(store.path_of(third))
    assert next(runs).id == second
    with pytest.raises(InputError) as ahead:
        next(runs)
    with pytest.raises(InputError) as alone:
        store.load(third)
    assert harm is Path.unlink or str(ahead.value) == str(alone.value)
    assert harm is not _of_another or "contains run" in str(ahead.value)


# Locks

HOLD = """
import fcntl, sys
file = open(sys.argv[1], "w")
fcntl.flock(file, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


def test_a_lock_is_held_by_one_until_it_is_released(tmp_path: Path) -> None:
    for _ in range(2):
        lock = try_lock(tmp_path / "lock")
        assert lock is not None
        assert try_lock(tmp_path / "lock") is None
        lock.release()
        lock.release()


def test_the_kernel_releases_the_lock_of_a_killed_process(tmp_path: Path) -> None:
    words = [sys.executable, "-IS", "-c", HOLD, tmp_path / "lock"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as owner:
        assert owner.stdout is not None and owner.stdout.readline() == b"held\n"
        assert try_lock(tmp_path / "lock") is None
        owner.kill()
    lock = try_lock(tmp_path / "lock")
    assert lock is not None
    lock.release()


def test_a_lock_that_stays_taken_or_has_no_folder_is_an_error_and_no_hang(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        try_lock(tmp_path / "none" / "lock")
    with (
        exclusive(tmp_path / "lock"),
        pytest.raises(StoreError, match="busy"),
        exclusive(tmp_path / "lock", wait_s=0.05),
    ):
        pass
