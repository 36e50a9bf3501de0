"""A comparison of hostile runs, made by the command itself, as a browser shows it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hardstone.cli.main import run
from tests.process.cli.bad_documents import BAD, CONTRADICTORY, GOOD, ODD, put

pytestmark = pytest.mark.browser

CONTRADICTING = "20261122T000000Z-00000c"
OPEN_ALL = "document.querySelectorAll('details').forEach(one => one.open = true)"
SCRIPTED = "img, iframe, object, embed, base, [onload], [onerror], [onmouseover], [onclick]"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Markup in every name of one run, what steers in those of another, figures that contradict
    each other in the third, and a study."""
    place = tmp_path_factory.mktemp("hostile-comparison")
    runs = place / "store" / "runs"
    put(runs / f"{BAD}.json.gz", ODD["markup"]())
    steering = ODD["control characters and direction marks"](GOOD)
    put(runs / f"{GOOD}.json.gz", steering)
    wrong = CONTRADICTORY["counts that do not add up"](CONTRADICTING)
    put(runs / f"{CONTRADICTING}.json.gz", wrong)
    made = place / "page.html"
    words = ["compare", BAD, GOOD, CONTRADICTING, "published:qnx", "-o", str(made)]
    assert run([*words, "--store", str(place / "store")]) == 3
    return made


def test_no_script_of_a_hostile_run_runs(page: Path, visit: Any) -> None:
    seen = visit(page)
    seen.walk()
    seen.page.evaluate(OPEN_ALL)
    for figure in seen.page.query_selector_all("figure.chart"):
        figure.hover()
    assert seen.page.evaluate("window.hit") is None
    assert seen.requests == [page.as_uri()]
    assert [one for one in seen.trouble if not one.startswith("console: WARN")] == []
    assert seen.page.locator(SCRIPTED).count() == 0
    assert seen.page.locator("body").is_visible()
    assert "window.hit" in seen.page.inner_text("body")  # the names are there, as words


def test_no_name_steers_the_text(page: Path) -> None:
    text = page.read_text("utf-8")
    assert not [char for char in "\x00\x07\x1b\x9b\u202e\u2066\u200f" if char in text]


def test_a_script_that_ran_would_be_seen(page: Path, visit: Any, tmp_path: Path) -> None:
    """The same page with one name unescaped and without its policy."""
    text = page.read_text("utf-8").replace("Content-Security-Policy", "x-no-policy")
    escaped = "&lt;script&gt;window.hit=1&lt;/script&gt;"
    assert escaped in text
    open_page = tmp_path / "open.html"
    open_page.write_text(text.replace(escaped, "<script>window.hit=1</script>"), "utf-8")
    assert visit(open_page).page.evaluate("window.hit") == 1
