from __future__ import annotations

import pytest

from hardstone.errors import InputError
from hardstone.store import Store, new_run_id
from tests.process.store.fake_probe import Here
from tests.unit.stats import make


def stored(store: Store, name: str) -> str:
    document = make.document(run_id=new_run_id(), name=name)
    with store.journal(document, Here()) as journal:
        journal.finish(document)
    return document.id


def test_a_run_is_loaded_by_id_prefix_name_and_last(store: Store) -> None:
    run_id = stored(store, "evening")
    for reference in (run_id, run_id[:-2], "evening", "last"):
        assert store.load(reference).id == run_id


def test_a_run_that_is_not_there_is_answered_with_the_nearest(store: Store) -> None:
    stored(store, "evening")
    with pytest.raises(InputError) as caught:
        store.load("evenign")
    assert caught.value.remedy == "did you mean evening?"


def test_an_id_that_is_not_there_is_no_run(store: Store) -> None:
    stored(store, "evening")
    with pytest.raises(InputError, match="there is no run"):
        store.load("20200101T000000Z-000000")


def test_a_path_is_no_reference(store: Store) -> None:
    stored(store, "evening")
    with pytest.raises(InputError, match="there is no run"):
        store.load("../runs/x")
