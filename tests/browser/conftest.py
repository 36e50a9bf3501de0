"""Chromium for reports: a fresh profile, no network, and a record of what goes wrong."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hardstone.model import RunDocument
from hardstone.report import write_html
from tests.unit.report import matrix, sample
from tests.unit.report.hostile import hostile_document, hostile_lookup
from tests.unit.stats import inventories

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
PATIENCE_MS = 180_000  # sanitizers and analysis may have the CPUs
ARGUMENTS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]


class Visit:
    """An open page, with every request, message, error and dialog since it was opened."""

    def __init__(self, page: Any, url: str) -> None:
        self.page = page
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

    def walk(self) -> None:
        """Scroll through the whole page, so that every chart becomes interactive."""
        for figure in self.page.query_selector_all("figure.chart"):
            figure.scroll_into_view_if_needed()
            self.page.wait_for_function("f => f.querySelector('.plot.live svg')", arg=figure)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="package")
def browser() -> Iterator[Any]:
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("there is no chromium on the path")
    with sync_api.sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield running
        running.close()


@pytest.fixture
def visit(browser: Any) -> Iterator[Callable[..., Visit]]:
    """Opens a report in a context of its own: `visit(path, width=390, ...)`."""
    opened = []

    def open_page(path: Path, *, width: int = 1280, **options: Any) -> Visit:
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        opened.append(context)
        return Visit(context.new_page(), path.as_uri())

    yield open_page
    for context in opened:
        context.close()


def _written(place: Path, document: RunDocument, lookup: Any) -> Path:
    path = place / "report.html"
    write_html(document, path, lookup)
    return path


@pytest.fixture(scope="package")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    document = sample.document(count=5_000, realtime=False)
    return _written(tmp_path_factory.mktemp("report"), document, sample.SPECS.get)


@pytest.fixture(scope="package")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _written(tmp_path_factory.mktemp("hostile"), hostile_document(), hostile_lookup)


@pytest.fixture(scope="package")
def inventory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a run that took nothing but the inventory of POSIX."""
    place = tmp_path_factory.mktemp("inventory")
    return _written(place, inventories.document(), sample.SPECS.get)


@pytest.fixture(scope="package")
def conditions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of four tests under six conditions."""
    document = matrix.document(count=1_000)
    return _written(tmp_path_factory.mktemp("conditions"), document, sample.SPECS.get)
