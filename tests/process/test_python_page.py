"""docs/reference/python.md: its examples show what it says, on two runs of schema/golden."""

from __future__ import annotations

import contextlib
import doctest
import gzip
import io
import re
import traceback
from pathlib import Path

import pytest

import hardstone
from hardstone.errors import HardstoneError
from hardstone.store import default_root

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "reference" / "python.md"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
RUNS = ("run-1-conditions", "run-3-troubled")  # the last one is "last"


def examples(text: str) -> list[doctest.Example]:
    blocks = BLOCK.findall(text)
    return [one for block in blocks for one in doctest.DocTestParser().get_examples(block)]


@pytest.fixture
def stored(own_home: Path) -> Path:
    """The store of the page, at its default place."""
    runs = default_root() / "runs"
    runs.mkdir(parents=True)
    for name in RUNS:
        path = ROOT / "schema" / "golden" / f"{name}.json"
        run = hardstone.load(path)
        (runs / f"{run.id}.json.gz").write_bytes(gzip.compress(path.read_bytes()))
    return runs


def shown(source: str, names: dict[str, object]) -> str:
    """What Python's prompt shows: the value of an expression, or the last line of an error."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            code = compile(source, "<page>", "single")
            exec(code, names)  # noqa: S102  the page is ours
        except HardstoneError as error:
            print("".join(traceback.format_exception_only(error)), end="")
    return out.getvalue()


def test_every_example_shows_what_the_page_says(stored: Path) -> None:
    names: dict[str, object] = {}
    found = examples(PAGE.read_text("utf-8"))
    assert len(found) > 40
    for one in found:
        assert shown(one.source, names) == one.want, one.source


def test_a_figure_that_the_page_has_wrong_is_found(stored: Path) -> None:
    names: dict[str, object] = {}
    found = examples(PAGE.read_text("utf-8").replace("1126382", "1126381"))
    wrong = [one.source for one in found if shown(one.source, names) != one.want]
    assert len(wrong) == 2 and all("max" in one or "worst" in one for one in wrong)
