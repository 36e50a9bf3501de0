"""A slice of `make fuzz`, the same inputs each time."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.fuzz.doors import check_page
from bench.fuzz.inputs import KINDS, input_of
from bench.fuzz.worker import take

SEED = 20261122


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_inputs_are_refused_in_words_or_shown(kind: str, tmp_path: Path) -> None:
    share = take(SEED, kind, range(40), tmp_path)
    crashes = [one for one in share.failures if one.what == "crash"]
    assert crashes == []
    assert share.accepted and share.refused


def test_the_same_seed_gives_the_same_inputs() -> None:
    for kind in KINDS:
        assert [input_of(1, kind, n) for n in range(20)] == [
            input_of(1, kind, n) for n in range(20)
        ]
        assert input_of(1, kind, 3) != input_of(2, kind, 3)


def test_a_list_is_not_repeated_beyond_what_a_worker_holds() -> None:
    """One input of 100 000 was of more than 2 GiB, and ended its own maker."""
    assert len(input_of(1, "journal", 23_824)) < 40_000_000


@pytest.mark.parametrize(
    "page",
    [
        "<script>alert(1)</script>",
        "<p onclick='x()'>a</p>",
        "<a href=' java\nscript:x()'>a</a>",
        "<iframe src='x'></iframe>",
        "<script src='x.js'></script>",
    ],
)
def test_a_page_that_runs_what_it_was_fed_is_found(page: str) -> None:
    check_page("<p>&lt;script&gt;alert(1)&lt;/script&gt; onclick=</p>")
    with pytest.raises(AssertionError, match="the page holds"):
        check_page(page)
