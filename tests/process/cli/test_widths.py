"""What is printed on narrow terminals, and on those that say nonsense about themselves."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.process.cli.conftest import Done

Hardstone = Callable[..., Done]
BROKEN = re.compile(r"\b[A-Z]{3}-(?:[A-Z]-)?(?![A-Za-z-])")
WIDTHS = ("0", "1", "20", "40", "60", "80", "200", "-5", "abc", "")
LOOKS = (
    ["list"],
    ["explain", "SEM-P-RTP"],
    ["runs"],
    ["show", "last"],
    ["run", "*", "--dry-run", "--load", "none,heavy"],
)


@pytest.fixture
def with_run(hardstone: Hardstone, target: str, tmp_path: Path) -> list[str]:
    """Options of commands that look at a stored run of two conditions."""
    store = ["--store", str(tmp_path / "a store")]
    done = hardstone("run", "TMR-P-LAT", "SEM-P-RTP", "TMR-B-EDGE", "--target", target, *store)
    assert done.code in (0, 3)
    return store


@pytest.mark.parametrize("width", WIDTHS)
def test_ids_stay_whole_at_any_width(
    hardstone: Hardstone,
    target: str,
    with_run: list[str],
    monkeypatch: pytest.MonkeyPatch,
    width: str,
) -> None:
    monkeypatch.setenv("COLUMNS", width)
    for look in LOOKS:
        where = with_run if look[0] in ("runs", "show") else ["--target", target]
        done = hardstone(*look, *where)
        assert done.code == 0 and done.out.strip(), look
        assert BROKEN.findall(done.out) == [], (look, done.out)


def words_of(text: str) -> list[str]:
    return sorted(re.sub(r"[\s─]+", " ", text).split())


def test_narrow_terminals_hide_nothing(
    hardstone: Hardstone, with_run: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = {}
    for width in ("40", "60", "200"):
        monkeypatch.setenv("COLUMNS", width)
        shown[width] = words_of(hardstone("runs", *with_run).out)
    assert shown["40"] == shown["60"] == shown["200"]


@pytest.mark.parametrize("width", ["0", "-5", "abc", ""])
def test_a_width_that_is_none_is_the_usual_one(
    hardstone: Hardstone, target: str, monkeypatch: pytest.MonkeyPatch, width: str
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    usual = hardstone("list", "--target", target).out
    monkeypatch.setenv("COLUMNS", width)
    assert hardstone("list", "--target", target).out == usual
