"""The comparison as a browser shows it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hardstone.present.compare_build import compare_view
from hardstone.present.compare_view import CompareView
from hardstone.report.compare_figures import compare_figures
from hardstone.report.compare_page import write_compare
from hardstone.report.drawing import Drawer
from hardstone.subjects import Subject, published_system, subjects_of
from tests.browser.test_report import WIDER_THAN_PAGE, colour_of, contrast, luminance
from tests.unit.present.compared import (
    emulated_systems,
    made_rating,
    made_view,
    six_systems,
    twenty_systems,
    two_systems,
)
from tests.unit.present.made_systems import labelled, run_with, spread
from tests.unit.report.hostile import ATTACKS, hostile_document
from tests.unit.stats.make import result

pytestmark = pytest.mark.browser

MADE: dict[str, Callable[[], CompareView]] = {
    "two": two_systems,
    "six": six_systems,
    "emulated": emulated_systems,
    "twenty": twenty_systems,
}
TIMES = "\N{MULTIPLICATION SIGN}"
CLOSED = "[...document.querySelectorAll('details')].filter(d => !d.open).length"


def hostile_view() -> CompareView:
    view = made_view([*subjects_of(hostile_document()), published_system("qnx")])
    rating = made_rating(3.0, caps=[ATTACKS[1]], rated_as=[ATTACKS[2]], configuration=ATTACKS[0])
    columns = [
        replace(
            one,
            label=f"{one.number} {ATTACKS[one.number % len(ATTACKS)]}",
            study=ATTACKS[0],
            hardware=ATTACKS[1],
            mark=ATTACKS[2],
            apart=ATTACKS[3] if one.number > 1 else "",
            trust_reasons=[ATTACKS[4]],
            rating=rating,
        )
        for one in view.columns
    ]
    return replace(view, columns=columns)


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The page of a made-up comparison, written once."""
    place = tmp_path_factory.mktemp("compared")
    made = {**MADE, "hostile": hostile_view}

    def page(name: str) -> Path:
        path = place / f"{name}.html"
        if not path.exists():
            view = made[name]()
            with Drawer() as drawer:
                write_compare(view, path, compare_figures(view, drawer, live=True))
        return path

    return page


def test_every_chart_comes_alive_and_nothing_is_requested(compared: Any, visit: Any) -> None:
    path = compared("six")
    seen = visit(path)
    seen.page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    seen.walk()
    charts = seen.page.locator("figure.chart").count()
    assert seen.page.locator(".plot.live svg").count() == charts > 0
    assert seen.requests == [path.as_uri()]
    assert seen.trouble == []


def test_nothing_hostile_runs(compared: Any, visit: Any) -> None:
    path = compared("hostile")
    seen = visit(path)
    seen.page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    seen.walk()
    seen.page.locator("#show-sources").check()
    for figure in seen.page.query_selector_all("figure.chart"):
        figure.hover()
    assert seen.trouble == []
    assert seen.requests == [path.as_uri()]
    assert seen.page.evaluate("window.hit") is None
    assert seen.page.locator("img, iframe, [onload], [onerror], [onmouseover]").count() == 0


@pytest.mark.parametrize("name", [*MADE, "hostile"])
def test_no_page_is_wider_than_its_window(name: str, compared: Any, visit: Any) -> None:
    page = visit(compared(name), width=1280).page
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    for width in (1280, 768, 390, 320):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate(WIDER_THAN_PAGE) <= 0, width
    page.locator("#show-sources").check()
    for width in (320, 390, 768, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate(WIDER_THAN_PAGE) <= 0, width


def test_long_names_do_not_make_a_page_wider(tmp_path: Path, visit: Any) -> None:
    path = tmp_path / "long.html"
    switch = [labelled(spread(500), "switch", threads=2)]
    runs = [run_with(result("THR-P-SLS", series=switch), name="W" * size) for size in (250, 300)]
    write_compare(compare_view(runs), path)
    page = visit(path, width=390).page
    assert page.locator("#reference").is_visible()
    assert page.evaluate(WIDER_THAN_PAGE) <= 0


def test_on_a_phone_the_name_of_a_system_stays_while_its_table_moves(
    compared: Any, visit: Any
) -> None:
    page = visit(compared("twenty"), width=390).page
    box = page.locator("#overview .scroll").first
    head = box.locator("tbody th").first
    before = head.bounding_box()["x"]
    assert box.evaluate("e => { e.scrollLeft = 200; return e.scrollLeft }") == 200
    assert abs(head.bounding_box()["x"] - before) < 1
    first = box.locator("tbody tr").first.locator("td").first
    assert first.bounding_box()["x"] < before + head.bounding_box()["width"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("scripts", [True, False])
def test_colours_follow_the_scheme_and_can_be_read(
    scheme: str, scripts: bool, compared: Any, visit: Any
) -> None:
    page = visit(compared("twenty"), color_scheme=scheme, java_script_enabled=scripts).page
    ground = colour_of(page, "body", "backgroundColor")
    assert (luminance(ground) < 0.05) == (scheme == "dark")
    for selector in ("h1", "td", ".given", ".unrated", ".better", ".worse", ".no", "a", ".differs"):
        assert contrast(colour_of(page, selector, "color"), ground) >= 4.5, selector
    assert contrast(colour_of(page, "symbol .full", "fill"), ground) >= 3
    grey = visit(compared("emulated"), color_scheme=scheme, java_script_enabled=scripts).page
    for selector in (".grey td", ".grey th", ".missing"):
        assert contrast(colour_of(grey, selector, "color"), ground) >= 4.5, selector


def test_without_scripts_everything_is_there(compared: Any, visit: Any) -> None:
    page = visit(compared("two"), java_script_enabled=False).page
    text = page.locator("body").inner_text()
    for expected in ("Overview", "Decisive tests", f"{TIMES}\N{NO-BREAK SPACE}1.4", "higher"):
        assert expected in text
    assert not page.locator(".choice").is_visible()  # it would do nothing
    assert "Ratio of medians to 1" in text
    summary = page.locator("#why summary").first
    summary.click()
    assert "Formula hardstone.rating/1" in page.locator("#why").inner_text()


def test_sources_are_shown_without_scripts_and_by_keyboard(compared: Any, visit: Any) -> None:
    page = visit(compared("six"), java_script_enabled=False).page
    said = "e => getComputedStyle(e, '::after').content"
    cell = page.locator("#overview data[title]").first
    row = page.locator(".compared tr[title] > th").first
    assert cell.evaluate(said) == "none"
    page.locator("#show-sources").focus()
    page.keyboard.press("Space")
    assert "CLK-P-DUR/tick max" in cell.evaluate(said)
    assert row.evaluate("e => getComputedStyle(e, '::after').display") == "block"


def test_of_many_systems_a_row_says_where_it_is_from_when_asked(compared: Any, visit: Any) -> None:
    page = visit(compared("twenty")).page
    row = page.locator("#test-1 .series tr").nth(5)
    assert row.get_attribute("title") is None
    row.hover()
    assert row.get_attribute("title") == "20261125T200500Z-000005 CLK-P-DUR/tick"
    page.locator("#show-sources").check()
    missing = ".series tr:not(.series-name):not(.absent):not([title])"
    assert page.locator(missing).count() == 0


def test_the_keyboard_reaches_every_table(compared: Any, visit: Any) -> None:
    page = visit(compared("two"), width=390).page
    page.keyboard.press("Tab")
    skip = page.locator(".skip")
    assert skip.evaluate("e => e === document.activeElement")
    assert skip.bounding_box()["x"] >= 0
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    wide = "[...document.querySelectorAll('.scroll')]"
    assert page.evaluate(f"{wide}.every(e => e.tabIndex === 0 && e.ariaLabel)")
    page.locator(".scroll").first.focus()
    style = "getComputedStyle(document.activeElement).outlineStyle"
    page.keyboard.press("Tab")
    page.keyboard.press("Shift+Tab")
    assert page.evaluate(style) == "solid"


@pytest.mark.parametrize("name", MADE)
def test_headings_tables_and_stars_have_their_words(name: str, compared: Any, visit: Any) -> None:
    page = visit(compared(name)).page
    levels = page.eval_on_selector_all("h1,h2,h3,h4", "es => es.map(e => +e.tagName[1])")
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    assert page.eval_on_selector_all("table:not(:has(caption))", "es => es.length") == 0
    assert page.eval_on_selector_all("th:not([scope])", "es => es.length") == 0
    unlabelled = "es => es.filter(e => !e.getAttribute('aria-label')).length"
    assert page.eval_on_selector_all(".plot", unlabelled) == 0
    lost = "es => es.filter(e => !document.querySelector(e.hash)).length"
    assert page.eval_on_selector_all("a[href^='#']", lost) == 0
    ids = page.eval_on_selector_all("[id]", "es => es.map(e => e.id)")
    assert len(ids) == len(set(ids))
    stars = page.locator(".stars").first
    assert stars.text_content().strip().endswith("of 5 stars")
    assert page.get_by_label("Show where each figure is from").count() == 1


def ratios(page: Any) -> list[str]:
    """The column of ratios of the first series."""
    return page.eval_on_selector_all(
        "#test-1 .series:first-of-type tr", "es => es.slice(1).map(e => e.cells[5].innerText)"
    )


def test_another_reference_gives_ratios_without_decisions(compared: Any, visit: Any) -> None:
    page = visit(compared("twenty")).page
    before = ratios(page)
    assert before[2] == "reference" and "higher" in " ".join(before)
    page.get_by_label("Ratios of medians to").select_option("5")
    after = ratios(page)
    assert after[4] == "reference"
    assert not {"higher", "lower", "decided"} & set(" ".join(after).split())
    medians = page.eval_on_selector_all(
        "#test-1 .series:first-of-type tr",
        "es => es.slice(1).map(e => +e.cells[2].querySelector('data').value)",
    )
    assert float(after[0].removeprefix(TIMES)) == round(medians[0] / medians[4], 2)
    assert "Ratio of medians to 5" in page.locator("#test-1 thead").first.inner_text()
    assert "without intervals" in page.locator("#reference-said").inner_text()
    page.get_by_label("Ratios of medians to").select_option("3")
    assert ratios(page) == before
    assert page.locator("#reference-said").inner_text() == ""


def counted_view() -> CompareView:
    """Three runs of a test with a duration, a count and a period that was sustained."""

    def run(number: int) -> Subject:
        values = spread(500, number)
        counts = msgspec.structs.replace(labelled(values, "beyond"), unit="count")
        parts = [labelled(values, "switch", threads=2), counts, labelled(values, "minimal_period")]
        return run_with(result("THR-P-SLS", series=parts))

    return compare_view([run(1), run(2), run(3)])


def test_no_reference_gives_ratios_of_what_has_none(tmp_path: Path, visit: Any) -> None:
    write_compare(counted_view(), tmp_path / "counted.html")
    page = visit(tmp_path / "counted.html").page
    every = "#test-1 .series tr:not(.series-name)"
    page.get_by_label("Ratios of medians to").select_option("2")
    found = page.eval_on_selector_all(every, "es => es.map(e => e.cells[5].innerText)")
    assert found[0].startswith(TIMES) and found[1] == "reference"
    assert found[3:] == ["-"] * 6


def test_print_is_light_and_opens_what_is_folded(compared: Any, visit: Any) -> None:
    page = visit(compared("twenty"), color_scheme="dark").page
    assert page.evaluate(CLOSED) > 0
    page.emulate_media(media="print")
    assert colour_of(page, "body", "backgroundColor") == [255, 255, 255]
    folded = page.locator("#tests details .series-name").first
    assert folded.is_visible()  # though its part is closed
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate(CLOSED) == 0
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.evaluate(CLOSED) > 0
    assert page.pdf(format="A4").startswith(b"%PDF")


def test_a_link_opens_what_it_leads_to(compared: Any, visit: Any) -> None:
    page = visit(compared("two")).page
    page.locator("#overview a[href='#system-2']").click()
    assert page.locator("#system-2").is_visible()
    page.locator("#overview a[href='#why']").click()
    assert page.evaluate("location.hash") == "#why"
