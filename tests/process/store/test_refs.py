from __future__ import annotations

import pytest

from hardstone.errors import InputError
from hardstone.store.refs import find_run
from hardstone.store.run_summary import RunEntry


def _entry(run_id: str, name: str) -> RunEntry:
    return RunEntry(
        id=run_id,
        name=name,
        started_utc=run_id,
        status="complete",
        grade="full",
        tests=1,
        profile="standard",
        target="local",
    )


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
    assert find_run(reference, ENTRIES) == ENTRIES[at]


def test_a_prefix_of_several_names_them() -> None:
    with pytest.raises(InputError) as caught:
        find_run("20261120", ENTRIES)
    assert "matches 2 runs" in caught.value.cause
    assert "20261120T000000Z-aabbbb" in caught.value.remedy


@pytest.mark.parametrize(
    ("reference", "near"),
    [("evning", "evening"), ("20261121T000000Z-cccccd", "20261121T000000Z-cccccc")],
)
def test_the_nearest_names_are_offered(reference: str, near: str) -> None:
    with pytest.raises(InputError) as caught:
        find_run(reference, ENTRIES)
    assert near in caught.value.remedy


@pytest.mark.parametrize("reference", ["", "zzz", "x" * 10_000])
def test_without_a_near_name_the_list_is_offered(reference: str) -> None:
    with pytest.raises(InputError) as caught:
        find_run(reference, ENTRIES)
    assert caught.value.remedy == "see all: hardstone runs"
    assert len(caught.value.cause) < 100


def test_an_empty_store_says_how_to_fill_it() -> None:
    with pytest.raises(InputError, match="holds no runs"):
        find_run("last", [])


UNREADABLE = {"20261123T000000Z-eeeeee": "it is damaged", "20261119T000000Z-ffffff": "a pipe"}


@pytest.mark.parametrize("reference", ["last", "20261123T000000Z-eeeeee", "20261123"])
def test_no_other_run_is_taken_for_one_that_cannot_be_read(reference: str) -> None:
    with pytest.raises(InputError, match="run 20261123T000000Z-eeeeee cannot be read") as caught:
        find_run(reference, ENTRIES, UNREADABLE)
    assert "it is damaged" in caught.value.cause
    assert "hardstone show 20261122T000000Z-dddddd" in caught.value.remedy


def test_an_older_run_that_cannot_be_read_hides_none() -> None:
    older = {"20261119T000000Z-ffffff": "a pipe"}
    assert find_run("last", ENTRIES, older) == ENTRIES[3]
    assert find_run("2026112", ENTRIES[3:], older) == ENTRIES[3]
