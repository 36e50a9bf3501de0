"""Runs that are read ahead are those that are read one by one."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from hardstone.errors import InputError
from hardstone.store import Store
from hardstone.store.read_ahead import ReadAhead
from tests.process.store.test_store import stored


def harm(store: Store, run_id: str) -> None:
    path = store.path_of(run_id)
    path.chmod(0o600)
    path.write_bytes(path.read_bytes()[:-20])


def test_runs_come_in_the_order_asked_for(store: Store) -> None:
    first, second, third = (stored(store, name) for name in ("one", "two", "three"))
    asked = [third, "two", first, third, "last", first]
    last = max(first, second, third)  # of one second, by the rest of the ID
    expected = [third, second, first, third, last, first]
    assert [run.id for run in store.load_each(asked)] == expected
    assert list(store.load_each([])) == []


def test_a_harmed_run_is_an_error_where_it_is_asked_for(store: Store) -> None:
    first, second, third = (stored(store, name) for name in ("one", "two", "three"))
    harm(store, second)
    with pytest.raises(InputError) as alone:
        store.load(second)
    runs = store.load_each([first, second, third])
    assert next(runs).id == first
    with pytest.raises(InputError) as ahead:
        next(runs)
    assert str(ahead.value) == str(alone.value)


def test_a_file_that_vanishes_meanwhile_is_an_error(store: Store) -> None:
    ids = [stored(store, name) for name in ("one", "two", "three")]
    runs = store.load_each(ids)
    assert next(runs).id == ids[0]
    store.path_of(ids[2]).unlink()
    assert next(runs).id == ids[1]
    with pytest.raises(InputError):
        next(runs)


def test_a_file_with_another_run_is_an_error(store: Store) -> None:
    first, second = stored(store, "one"), stored(store, "two")
    store.path_of(second).unlink()
    store.path_of(second).write_bytes(store.path_of(first).read_bytes())
    with pytest.raises(InputError, match=f"holds run {first}"):
        list(store.load_each([first, second]))


def test_without_a_thread_runs_are_read_one_by_one(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    ids = [stored(store, name) for name in ("one", "two", "three")]
    monkeypatch.setattr(ThreadPoolExecutor, "submit", refuse)
    assert [run.id for run in store.load_each(ids)] == ids


def test_the_next_file_is_read_before_it_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One, and no more: each takes memory."""
    begun: list[Future[bytearray]] = []
    submit = ThreadPoolExecutor.submit

    def noted(*words: Any) -> Future[bytearray]:
        begun.append(submit(*words))
        return begun[-1]

    monkeypatch.setattr(ThreadPoolExecutor, "submit", noted)
    paths = [tmp_path / name for name in "abc"]
    for path in paths:
        path.write_text(path.name)
    with ReadAhead(paths) as ahead:
        assert ahead.content(paths[0]) == b"a"
        assert [one.result() for one in begun] == [b"a", b"b"]
        paths[1].unlink()
        assert ahead.content(paths[1]) == b"b"
