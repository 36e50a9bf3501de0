"""The report as a browser shows it."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.browser

CHARTS = "figure.chart"
TRIES = 100
WIDER_THAN_PAGE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


def colour_of(page: Any, selector: str, style: str) -> list[float]:
    """Computed colour as [red, green, blue]."""
    text = page.eval_on_selector(selector, f"e => getComputedStyle(e).{style}")
    return [float(part) for part in text[text.index("(") + 1 : -1].split(",")[:3]]


def luminance(colour: list[float]) -> float:
    """Relative luminance (WCAG 2)."""
    parts = [one / 255 for one in colour]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first: list[float], second: list[float]) -> float:
    bright, dark = sorted((luminance(first), luminance(second)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


def test_every_chart_comes_alive_and_nothing_is_requested(report: Path, visit: Any) -> None:
    seen = visit(report)
    seen.walk()
    assert seen.page.locator(".plot.live svg").count() == seen.page.locator(CHARTS).count() > 0
    assert seen.requests == [report.as_uri()]
    assert seen.trouble == []


def test_nothing_hostile_runs(hostile: Path, visit: Any) -> None:
    seen = visit(hostile)
    seen.walk()
    for figure in seen.page.query_selector_all(CHARTS):
        figure.hover()
    seen.page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert seen.trouble == []
    assert seen.requests == [hostile.as_uri()]
    assert seen.page.evaluate("window.hit") is None
    assert seen.page.locator("img, iframe, [onload], [onerror], [onmouseover]").count() == 0
    assert seen.page.locator("body").is_visible()


def test_the_policy_stops_what_is_put_into_the_page_later(report: Path, visit: Any) -> None:
    seen = visit(report)
    seen.page.evaluate(
        """() => {
          const script = document.createElement('script');
          script.textContent = 'window.hit = 1';
          document.body.append(script);
          const image = document.createElement('img');
          image.src = 'https://example.invalid/x.png';
          document.body.append(image);
        }"""
    )
    for _ in range(TRIES):
        seen.page.wait_for_timeout(100)
        told = [line for line in seen.trouble if "Content Security Policy" in line]
        if len(told) >= 2:
            break
    assert seen.page.evaluate("window.hit") is None
    assert len(told) >= 2


def test_a_chart_shows_values_under_the_pointer_and_can_be_moved(report: Path, visit: Any) -> None:
    seen = visit(report)
    figure = seen.page.query_selector(CHARTS)
    figure.scroll_into_view_if_needed()
    seen.page.wait_for_function("f => f.querySelector('.plot.live svg')", arg=figure)
    before = figure.query_selector("svg").inner_html()
    box = figure.query_selector("svg").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 3
    seen.page.mouse.move(x, y)
    seen.page.mouse.down()
    seen.page.mouse.move(x + 60, y + 20, steps=4)
    seen.page.mouse.up()
    moved = "([f, before]) => f.querySelector('svg').innerHTML !== before"
    seen.page.wait_for_function(moved, arg=[figure, before])
    assert seen.trouble == []


def test_without_scripts_everything_is_there(report: Path, visit: Any) -> None:
    seen = visit(report, java_script_enabled=False)
    text = seen.page.locator("body").inner_text()
    for expected in ("Not scheduled as real-time", "Key findings", "TMR-P-LAT", "SEM-P-RTP"):
        assert expected in text
    for plot in seen.page.locator(".plot").all():
        box = plot.locator("svg").bounding_box()
        assert box["width"] > 250
        assert box["height"] > 60
    assert seen.trouble == []


def test_the_inventory_of_posix_fits_any_window(inventory: Path, visit: Any) -> None:
    seen = visit(inventory, width=320)
    wide = (
        "[...document.querySelectorAll('#posix .scroll')].map(e => e.scrollWidth - e.clientWidth)"
    )
    for width in (320, 390, 1280):
        seen.page.set_viewport_size({"width": width, "height": 900})
        assert seen.page.evaluate(WIDER_THAN_PAGE) <= 0, width
        assert max(seen.page.evaluate(wide)) <= 0 or width < 390, width
    assert seen.page.locator("#posix").inner_text().count("claimed, but fails") == 1
    assert seen.requests == [inventory.as_uri()] and seen.trouble == []


@pytest.mark.parametrize("which", ["report", "hostile"])
def test_no_page_is_wider_than_its_window(
    which: str, visit: Any, request: pytest.FixtureRequest
) -> None:
    page = visit(request.getfixturevalue(which), width=320).page
    for width in (320, 390, 768, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate(WIDER_THAN_PAGE) <= 0, width
        wide = page.evaluate(
            "[...document.querySelectorAll('.scroll')]"
            ".filter(e => e.scrollWidth > e.clientWidth).length"
        )
        assert wide > 0 or width > 390, width


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("scripts", [True, False])
def test_colours_follow_the_scheme_and_can_be_read(
    scheme: Any, scripts: bool, report: Path, visit: Any
) -> None:
    page = visit(report, color_scheme=scheme, java_script_enabled=scripts).page
    ground = colour_of(page, "body", "backgroundColor")
    assert (luminance(ground) < 0.05) == (scheme == "dark")
    for selector in ("h1", "td", "figcaption", ".note", ".failed", "a", ".banner strong"):
        assert contrast(colour_of(page, selector, "color"), ground) >= 4.5
    assert contrast(colour_of(page, ".plot svg text", "fill"), ground) >= 4.5
    colours = page.eval_on_selector_all(
        ".plot svg [stroke^='var(--series']", "es => es.map(e => getComputedStyle(e).stroke)"
    )
    for text in set(colours):
        parts = [float(part) for part in text[4:-1].split(",")[:3]]
        assert contrast(parts, ground) >= 3


def test_print_is_light_whatever_the_scheme(report: Path, visit: Any) -> None:
    page = visit(report, color_scheme="dark").page
    page.emulate_media(media="print")
    assert colour_of(page, "body", "backgroundColor") == [255, 255, 255]
    assert contrast(colour_of(page, ".plot svg text", "fill"), [255, 255, 255]) >= 4.5
    assert page.pdf(format="A4").startswith(b"%PDF")


def test_headings_tables_and_charts_have_their_words(report: Path, visit: Any) -> None:
    page = visit(report).page
    levels = page.eval_on_selector_all("h1,h2,h3,h4", "es => es.map(e => +e.tagName[1])")
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    assert page.eval_on_selector_all("table:not(:has(caption))", "es => es.length") == 0
    labels = page.eval_on_selector_all(".plot", "es => es.map(e => e.getAttribute('aria-label'))")
    assert "worst observed" in labels[0]  # the figure of all tests
    assert all(" values from " in label for label in labels[1:])
    assert (
        page.eval_on_selector_all(
            "a[href^='#']", "es => es.filter(e => !document.querySelector(e.hash)).length"
        )
        == 0
    )
    ids = page.eval_on_selector_all("[id]", "es => es.map(e => e.id)")
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("width", [390, 1280])
def test_conditions_side_by_side(conditions: Path, visit: Any, width: int) -> None:
    seen = visit(conditions, width=width)
    assert seen.page.evaluate(WIDER_THAN_PAGE) == 0
    figures = seen.page.locator("#beside figure.chart")
    assert figures.count() == 8
    for figure in figures.element_handles():
        figure.scroll_into_view_if_needed()
        seen.page.wait_for_function("f => f.querySelector('.plot.live svg')", arg=figure)
    for load in ("none", "heavy"):
        # Two loads: the colour is the configuration, the dash the load.
        legend = seen.page.locator("#beside-1 figure.chart").first.text_content()
        assert f"load {load}" in legend
    assert seen.trouble == []


def test_what_was_moved_is_folded_until_it_is_asked_for(conditions: Path, visit: Any) -> None:
    seen = visit(conditions)
    text = seen.page.locator("details", has_text="What was moved off the measuring CPU").first
    row = text.get_by_text("2 interrupts stay on CPU 1")
    assert not row.is_visible()
    text.locator("summary").click()
    assert row.is_visible()
