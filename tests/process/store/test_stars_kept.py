"""Stars in a list: kept with the formula that they follow from, never in a document."""

from __future__ import annotations

import gzip
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from hardstone.formula import FORMULA
from hardstone.store import RunEntry, Store
from hardstone.store.documents import write_document
from hardstone.store.place import open_place
from tests.unit.rating.rated_runs import full_run

RUN_ID = "20261120T000000Z-000001"


@pytest.fixture
def rated(store: Store) -> Store:
    write_document(open_place(store.path), full_run(run_id=RUN_ID))
    return store


def only(store: Store) -> RunEntry:
    (entry,) = Store(store.path).runs()
    return entry


def summary(store: Store) -> Path:
    return store.path / "runs" / f"{RUN_ID}.summary.json"


def test_a_list_has_stars_and_why_they_are_not_all(rated: Store) -> None:
    entry = only(rated)
    assert (entry.stars, entry.is_at_most, entry.rated_as) == (5.0, False, "")
    assert entry.formula == FORMULA


def test_a_stored_document_has_no_rating(rated: Store) -> None:
    content = json.loads(gzip.decompress(rated.path_of(RUN_ID).read_bytes()))
    assert content["rating"] is None and FORMULA not in json.dumps(content)


def older(store: Store) -> None:
    """A summary of another formula with another rating, and an index made from it."""
    content = json.loads(summary(store).read_bytes())
    content["run"] |= {"formula": "hardstone.rating/0", "stars": 1.0}
    summary(store).write_text(json.dumps(content))


def of_before_stars(store: Store) -> None:
    content = json.loads(summary(store).read_bytes())
    for name in ("formula", "stars", "is_at_most", "rated_as"):
        del content["run"][name]
    summary(store).write_text(json.dumps(content))


@pytest.mark.parametrize("change", [older, of_before_stars])
def test_stars_of_another_formula_are_made_again(rated: Store, change: object) -> None:
    change(rated)  # type: ignore[operator]
    assert only(rated).stars == 5.0
    assert json.loads(summary(rated).read_bytes())["run"]["formula"] == FORMULA


def test_an_index_of_another_formula_is_not_believed(rated: Store) -> None:
    only(rated)
    with closing(sqlite3.connect(rated.path / "index.sqlite")) as base, base:
        base.execute("UPDATE runs SET formula = 'hardstone.rating/0', stars = 1.0")
    assert only(rated).stars == 5.0


def test_an_index_of_this_formula_is_believed(rated: Store) -> None:
    """It is a cache: the document is not read for a list."""
    only(rated)
    with closing(sqlite3.connect(rated.path / "index.sqlite")) as base, base:
        base.execute("UPDATE runs SET stars = 2.5")
    assert only(rated).stars == 2.5


@pytest.mark.parametrize("stars", ["many", 9.5, -1])
def test_stars_that_none_can_have_are_not_believed(rated: Store, stars: object) -> None:
    only(rated)
    with closing(sqlite3.connect(rated.path / "index.sqlite")) as base, base:
        base.execute("UPDATE runs SET stars = ?", (stars,))
    assert only(rated).stars == 5.0
