"""Chromium, the pages that it shows, and a record of what goes wrong in them."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hardstone.cli.main import run
from hardstone.comparison.assemble import compare_view
from hardstone.comparison.figures import compare_figures
from hardstone.comparison.page import write_compare
from hardstone.comparison.view import CompareView
from hardstone.model import RunDocument
from hardstone.report.drawing import Drawer
from hardstone.report.page import write_html
from hardstone.study.layout import lay_out
from hardstone.study.page import write_study
from hardstone.study.papers import paper_named
from hardstone.systems.subjects import Subject
from tests.process.cli.bad_documents import BAD, CONTRADICTORY, GOOD, ODD, packed, put
from tests.unit.comparison.compared import (
    emulated_systems,
    six_systems,
    twenty_systems,
    two_systems,
)
from tests.unit.comparison.made_systems import labelled, run_with, spread
from tests.unit.posix import inventories
from tests.unit.report import matrix, sample
from tests.unit.report.hostile import hostile_document, hostile_lookup
from tests.unit.stats.make import result
from tests.unit.study import made_exhibits

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
PATIENCE_MS = 180_000  # sanitizers and analysis may have the CPUs
ARGUMENTS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
HEIGHT = 900


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.slow)


class Visit:
    """An open page, with every request, message, error and dialog since it was opened."""

    def __init__(self, page: Any, url: str) -> None:
        self.page, self.url = page, url
        page.set_default_timeout(PATIENCE_MS)
        self.requests: list[str] = []
        self.trouble: list[str] = []
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("console", lambda message: self.trouble.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: self.trouble.append(f"error: {error}"))
        page.on("dialog", self._dialog)
        page.goto(url)

    def _dialog(self, dialog: Any) -> None:
        self.trouble.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def set_width(self, width: int) -> None:
        self.page.set_viewport_size({"width": width, "height": HEIGHT})

    def walk(self, figures: Sequence[Any], *, hover: bool = False) -> None:
        """Scrolls to each of the figures, and waits until its chart is interactive."""
        for figure in figures:
            figure.scroll_into_view_if_needed()
            self.page.wait_for_function("f => f.querySelector('.plot.live svg')", arg=figure)
            if hover:
                figure.hover()


@pytest.fixture(scope="package")
def browser() -> Iterator[Any]:
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("there is no chromium on the path")
    with sync_api.sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield running
        running.close()


@pytest.fixture(scope="package")
def visit(browser: Any, written: Callable[[str], Path]) -> Callable[..., Visit]:
    """`visit(name)` loads a page, unless it is there already, as that takes 1 to 2 s of CPU: tests
    of one page stand together, and leave it as it was."""
    contexts = {
        scripts: browser.new_context(java_script_enabled=scripts) for scripts in (True, False)
    }
    shown: dict[bool, Visit] = {}

    def open_page(what: str | Path, *, width: int = 1280, scripts: bool = True) -> Visit:
        path = written(what) if isinstance(what, str) else what
        seen = shown.get(scripts)
        is_open = seen is not None and not seen.page.is_closed()
        if not is_open or seen.url != path.as_uri():
            page = seen.page if is_open else contexts[scripts].new_page()
            seen = shown[scripts] = Visit(page, path.as_uri())
        seen.set_width(width)
        seen.page.emulate_media(media="screen", color_scheme="light")
        return seen

    return open_page


def report_of(document: RunDocument, lookup: Any = sample.SPECS.get) -> Callable[[Path], None]:
    return lambda path: write_html(document, path, lookup)


def comparison_of(view: CompareView) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        with Drawer(has_scripts=True) as drawer:
            write_compare(view, path, compare_figures(view, drawer))

    return write


def counted_view() -> CompareView:
    """Three runs of a test with a duration, a count and a period that was sustained."""

    def made(number: int) -> Subject:
        values = spread(500, number)
        counts = msgspec.structs.replace(labelled(values, "beyond"), unit="count")
        parts = [labelled(values, "switch", threads=2), counts, labelled(values, "minimal_period")]
        return run_with(result("THR-P-SLS", series=parts))

    return compare_view([made(1), made(2), made(3)])


def long_names() -> CompareView:
    switch = [labelled(spread(500), "switch", threads=2)]
    runs = [run_with(result("THR-P-SLS", series=switch), name="W" * size) for size in (250, 300)]
    return compare_view(runs)


def write_hostile_comparison(path: Path) -> None:
    """By the command itself: of a run with an attack in each text, one with markup in every name,
    one whose names steer a terminal, one whose figures contradict each other, and a study."""
    contradicting, attacking = "20261122T000000Z-00000c", "20261123T000000Z-00000d"
    attacks = msgspec.structs.replace(hostile_document(), id=attacking)
    runs = {
        BAD: ODD["markup"](),
        GOOD: ODD["control characters and direction marks"](GOOD),
        contradicting: CONTRADICTORY["counts that do not add up"](contradicting),
        attacking: packed(msgspec.to_builtins(attacks)),
    }
    store = path.parent / "store"
    for run_id, content in runs.items():
        put(store / "runs" / f"{run_id}.json.gz", content)
    words = ["compare", *runs, "published:qnx", "-o", str(path), "--store", str(store)]
    assert run(words) == 3


PAGES: dict[str, Callable[[], Callable[[Path], None]]] = {
    "report": lambda: report_of(sample.document(count=5_000, realtime=False)),
    "battery": lambda: report_of(sample.battery()),
    "hostile report": lambda: report_of(hostile_document(), hostile_lookup),
    # Of a run that took nothing but the inventory of POSIX.
    "inventory": lambda: report_of(inventories.document()),
    # Four tests under six conditions.
    "conditions": lambda: report_of(matrix.document(count=1_000)),
    "two": lambda: comparison_of(two_systems()),
    "six": lambda: comparison_of(six_systems()),
    "emulated": lambda: comparison_of(emulated_systems()),
    "twenty": lambda: comparison_of(twenty_systems()),
    "counted": lambda: partial(write_compare, counted_view()),
    "long names": lambda: partial(write_compare, long_names()),
    "hostile comparison": lambda: write_hostile_comparison,
    "study": lambda: partial(write_study, made_exhibits.whole()),
    "paper": lambda: partial(write_study, lay_out(paper_named("obenland-2000"), [])),
}


@pytest.fixture(scope="package")
def written(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A page of PAGES, written when it is first asked for."""
    place = tmp_path_factory.mktemp("pages")

    def page(name: str) -> Path:
        path = place / f"{name}.html"
        if not path.exists():
            PAGES[name]()(path)
        return path

    return page
