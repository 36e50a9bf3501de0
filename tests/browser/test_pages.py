"""Reports and comparisons as a browser shows them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.browser

TIMES = "\N{MULTIPLICATION SIGN}"
CHARTS = "figure.chart:not(.narrow)"  # that one is for a phone
CLOSED = "[...document.querySelectorAll('details')].filter(d => !d.open)"
SCRIPTED = "img, iframe, object, embed, base, [onload], [onerror], [onmouseover], [onclick]"
WIDER_THAN_PAGE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
WIDE = "[...document.querySelectorAll('%s')].filter(e => e.scrollWidth > e.clientWidth).length"
# What is read on a page, and what has to be told from its ground.
TEXTS = {
    "report": ("h1", "td", "figcaption", ".note", ".failed", "a", ".banner strong"),
    "twenty": ("h1", "td", ".given", ".unrated", ".better", ".worse", ".no", "a", ".differs"),
    "emulated": (".grey td", ".grey th", ".missing"),
    "study": ("h1", "td", ".cell.lost", "td.not-comparable", ".own", ".notes", ".passed", "sup a"),
}


@contextmanager
def unfolded(page: Any) -> Iterator[None]:
    closed = page.evaluate_handle(f"{CLOSED}.map(d => {{ d.open = true; return d }})")
    yield
    page.evaluate("closed => closed.forEach(d => d.open = false)", closed)


def colour_of(page: Any, selector: str, style: str) -> list[float]:
    """Computed colour as [red, green, blue]."""
    return parts_of(page.eval_on_selector(selector, f"e => getComputedStyle(e).{style}"))


def parts_of(text: str) -> list[float]:
    return [float(part) for part in text[text.index("(") + 1 : -1].split(",")[:3]]


def luminance(colour: list[float]) -> float:
    """Relative luminance (WCAG 2)."""
    parts = [one / 255 for one in colour]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first: list[float], second: list[float]) -> float:
    bright, dark = sorted((luminance(first), luminance(second)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


def has_its_words(page: Any) -> None:
    """Headings, tables, charts and links, for who does not see the page."""

    def count(selector: str, condition: str = "true") -> int:
        found: int = page.eval_on_selector_all(
            selector, f"es => es.filter(e => {condition}).length"
        )
        return found

    levels = page.eval_on_selector_all("h1,h2,h3,h4", "es => es.map(e => +e.tagName[1])")
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    assert count("table:not(:has(caption))") == 0
    assert count("th:not([scope])") == 0
    assert count(".plot", "!e.getAttribute('aria-label')") == 0
    assert count("a[href^='#']", "!document.querySelector(e.hash)") == 0
    ids = page.eval_on_selector_all("[id]", "es => es.map(e => e.id)")
    assert len(ids) == len(set(ids))


def fits_every_window(seen: Any) -> None:
    """The second time with the source of each figure, which only makes text longer."""
    page = seen.page
    with unfolded(page):
        for widths in ((1280, 320), (320, 390, 768, 1280)):
            for width in widths:
                seen.set_width(width)
                assert page.evaluate(WIDER_THAN_PAGE) <= 0, width
                assert page.evaluate(WIDE % ".scroll") > 0 or width > 390
            page.evaluate("document.getElementById('show-sources')?.click()")


def can_be_read(page: Any, texts: tuple[str, ...]) -> None:
    """On screen in both schemes; on paper it is light."""
    for scheme, medium in (("light", "screen"), ("dark", "screen"), ("dark", "print")):
        page.emulate_media(color_scheme=scheme, media=medium)
        ground = colour_of(page, "body", "backgroundColor")
        if medium == "print":
            assert ground == [255, 255, 255]
        else:
            assert (luminance(ground) < 0.05) == (scheme == "dark")
            for selector in texts:
                assert contrast(colour_of(page, selector, "color"), ground) >= 4.5, selector
        if page.locator(".plot svg text").count():
            assert contrast(colour_of(page, ".plot svg text", "fill"), ground) >= 4.5
        lines = "es => es.map(e => getComputedStyle(e).stroke)"
        for text in set(page.eval_on_selector_all(".plot svg [stroke^='var(--series']", lines)):
            assert contrast(parts_of(text), ground) >= 3
        if page.locator("symbol .full").count():
            assert contrast(colour_of(page, "symbol .full", "fill"), ground) >= 3
    page.emulate_media(color_scheme="light", media="screen")


def check(seen: Any, texts: tuple[str, ...] = ()) -> None:
    """What holds for each page."""
    page = seen.page
    has_its_words(page)
    fits_every_window(seen)
    if texts:
        can_be_read(page, texts)
    assert seen.requests == [seen.url]
    assert seen.trouble == []


def comes_alive(seen: Any) -> None:
    """The first chart of each kind: on hostile pages each chart does."""
    with unfolded(seen.page):
        kinds: dict[str, Any] = {}
        for one in seen.page.query_selector_all(CHARTS):
            title = one.query_selector("h2, h3, h4, h5").inner_text()
            kinds.setdefault(title.rpartition(": ")[2], one)  # of which series comes before
        seen.walk(list(kinds.values()))
    assert seen.page.locator(".plot.live svg").count() >= len(kinds) > 2


# ---- reports ----


def test_a_report(visit: Any) -> None:
    seen = visit("report")
    comes_alive(seen)
    check(seen, TEXTS["report"])


def test_each_chart_is_described(visit: Any) -> None:
    page = visit("report").page
    labels = page.eval_on_selector_all(".plot", "es => es.map(e => e.getAttribute('aria-label'))")
    assert labels[0].startswith("Distribution, Wake-up latency")
    described = (" values from ", " values: ", "worst observed", "Largest value of each second")
    assert all(any(one in label for one in described) for label in labels)


def test_a_chart_can_be_moved(visit: Any) -> None:
    seen = visit("report")
    figure = seen.page.query_selector(CHARTS)
    seen.walk([figure])
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


def test_the_policy_stops_what_is_put_into_the_page_later(visit: Any) -> None:
    seen = visit("report")
    seen.page.evaluate(
        """() => {
          window.blocked = [];
          document.addEventListener(
            'securitypolicyviolation', event => blocked.push(event.effectiveDirective));
          const script = document.createElement('script');
          script.textContent = 'window.hit = 1';
          document.body.append(script);
          const image = document.createElement('img');
          image.src = 'https://example.invalid/x.png';
          document.body.append(image);
        }"""
    )
    seen.page.wait_for_function("blocked.length === 2")
    assert sorted(seen.page.evaluate("blocked")) == ["img-src", "script-src-elem"]
    assert seen.page.evaluate("window.hit") is None
    seen.page.close()


def test_without_scripts_everything_is_there(visit: Any) -> None:
    seen = visit("report", scripts=False)
    text = seen.page.locator("body").inner_text()
    for expected in ("Not scheduled as real-time", "Key figures", "TMR-P-LAT", "SEM-P-RTP"):
        assert expected in text
    sizes = "es => es.map(e => e.getBoundingClientRect()).map(box => [box.width, box.height])"
    for width, height in seen.page.eval_on_selector_all(".plot svg", sizes):
        assert width > 250 and height > 60
    can_be_read(seen.page, TEXTS["report"])
    assert seen.trouble == []


def test_the_inventory_of_posix_fits_any_window(visit: Any) -> None:
    seen = visit("inventory")
    for width in (320, 390, 1280):
        seen.set_width(width)
        assert seen.page.evaluate(WIDER_THAN_PAGE) <= 0, width
        assert seen.page.evaluate(WIDE % "#posix .scroll") == 0 or width < 390
    assert seen.page.locator("#posix").inner_text().count("claimed, but fails") == 1
    assert seen.requests == [seen.url] and seen.trouble == []


def test_conditions_side_by_side(visit: Any) -> None:
    seen = visit("conditions", width=390)
    assert seen.page.evaluate(WIDER_THAN_PAGE) == 0
    seen.set_width(1280)
    assert seen.page.evaluate(WIDER_THAN_PAGE) == 0
    figures = seen.page.query_selector_all("#beside figure.chart")
    assert len(figures) == 8
    seen.walk(figures)
    for load in ("none", "heavy"):
        # Two loads: the colour is the configuration, the dash the load.
        legend = seen.page.locator("#beside-1 figure.chart").first.text_content()
        assert f"load {load}" in legend
    assert seen.trouble == []


def test_what_was_moved_is_folded_until_it_is_asked_for(visit: Any) -> None:
    seen = visit("conditions")
    moved = "What was moved off the measuring CPU"
    text = seen.page.locator("details.aside", has_text=moved).first
    seen.page.locator("details.result", has_text=moved).first.locator("summary").first.click()
    row = text.get_by_text("2 interrupts stay on CPU 1")
    assert not row.is_visible()
    text.locator("summary").press("Enter")  # a click would miss it while charts are being drawn
    assert row.is_visible()


# ---- a study ----


def test_a_study(visit: Any) -> None:
    seen = visit("study")
    comes_alive(seen)
    check(seen, TEXTS["study"])


def test_the_exhibits_of_a_study_on_a_phone(visit: Any) -> None:
    seen = visit("study", width=390)
    assert seen.page.evaluate(WIDER_THAN_PAGE) <= 0
    first = seen.page.locator("table.exhibit tbody th").first
    assert first.evaluate("e => getComputedStyle(e).position") == "sticky"
    figures = seen.page.query_selector_all("figure.chart")
    assert len(figures) == 6
    seen.walk(figures)
    sizes = [one.query_selector("svg").bounding_box()["width"] for one in figures]
    assert all(300 < width <= 390 for width in sizes)
    sources = seen.page.locator("label:has(#show-sources)")
    sources.click()
    shown = seen.page.locator("data").nth(2).evaluate("e => getComputedStyle(e, '::after').content")
    assert "made up" in shown
    assert seen.page.evaluate(WIDER_THAN_PAGE) <= 0
    sources.click()
    assert seen.requests == [seen.url] and seen.trouble == []


def test_a_paper_alone(visit: Any) -> None:
    seen = visit("paper")
    check(seen)
    assert "as published" in seen.page.title()


# ---- what is folded ----

# Every number with its unit, or in groups of three digits, that is on more than one line.
BROKEN = r"""() => {
  const found = [];
  const cells = document.querySelectorAll(
    ".figures td, .late .value strong, details.result > summary .number");
  for (const cell of cells) {
    const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const node = walker.currentNode;
      for (const match of node.data.matchAll(/[0-9][0-9.,\u00a0]*( ?[num]?s\b)?/g)) {
        const range = document.createRange();
        range.setStart(node, match.index);
        range.setEnd(node, match.index + match[0].trimEnd().length);
        const tops = new Set([...range.getClientRects()].map(box => Math.round(box.top)));
        if (tops.size > 1) found.push(match[0]);
      }
    }
  }
  return found;
}"""


def test_the_first_view_of_a_battery_ends_within_three_screens(visit: Any) -> None:
    page = visit("battery").page
    top = page.locator("#tests").bounding_box()["y"] + page.evaluate("scrollY")
    assert top <= 3 * 900
    assert page.locator("details.fold[open]").count() == 0
    assert page.evaluate("document.documentElement.scrollHeight") < 6000
    titles = page.locator("#glance h3").all_inner_texts()
    assert titles == ["What failed", "One picture for each family"]


def test_a_phone_shows_whole_numbers_and_only_tables_scroll_sideways(visit: Any) -> None:
    seen = visit("battery", width=390)
    with unfolded(seen.page):
        assert seen.page.evaluate(WIDER_THAN_PAGE) <= 0
        assert seen.page.evaluate(BROKEN) == []
        wide = seen.page.evaluate(WIDE % ".scroll")
        seen.page.wait_for_function(
            "count => document.querySelectorAll('.scroll.is-wide').length >= count", arg=wide
        )
        first = seen.page.locator(".result .figures tbody th").first
        assert first.evaluate("e => getComputedStyle(e).position") == "sticky"
        assert first.bounding_box()["width"] <= 390 / 2


def test_paper_has_the_tests_and_not_what_is_folded_within_them(visit: Any) -> None:
    page = visit("battery").page
    page.emulate_media(media="print")
    assert page.locator("details.result article").first.is_visible()
    assert not page.locator("details.result details.aside").first.is_visible()
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details.fold:not([open])").count() == 0
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("details.fold[open]").count() == 0
    page.emulate_media(media="screen")


def test_a_link_opens_the_test_that_it_leads_to_and_its_charts_are_drawn(visit: Any) -> None:
    seen = visit("battery")
    link = seen.page.locator("#glance .rows a").first
    target = seen.page.locator(link.get_attribute("href"))
    assert not target.is_visible()
    link.click()
    assert target.is_visible()
    figure = target.locator("figure.chart").first.element_handle()
    seen.walk([figure])
    seen.page.locator("a[href='#reproduce']").click()
    assert seen.page.locator("#reproduce pre").first.is_visible()
    seen.page.evaluate("document.querySelectorAll('details').forEach(d => d.open = false)")
    seen.page.locator("a[href='#reproduce']").click()  # the address stays as it is
    assert seen.page.locator("#reproduce pre").first.is_visible()
    assert seen.trouble == []


def test_an_address_opens_what_it_names(visit: Any, written: Callable[[str], Path]) -> None:
    page = visit("battery").page
    page.goto(f"{written('battery').as_uri()}#system")
    page.reload()
    assert page.locator("#system").is_visible()
    page.close()


# ---- hostile names ----


@pytest.mark.parametrize("name", ["hostile report", "hostile comparison"])
def test_nothing_hostile_runs(name: str, visit: Any) -> None:
    seen = visit(name)
    page = seen.page
    fits_every_window(seen)
    with unfolded(page):
        figures = page.query_selector_all(CHARTS)
        seen.walk(figures, hover=True)
        assert page.evaluate("window.hit") is None
        assert seen.requests == [seen.url]
        assert [one for one in seen.trouble if not one.startswith("console: WARN")] == []
        assert page.locator(SCRIPTED).count() == 0
        assert page.locator("body").is_visible()
        assert "window.hit" in page.inner_text("body")  # the names are there, as words


def test_no_name_steers_the_text(written: Callable[[str], Path]) -> None:
    text = written("hostile comparison").read_text("utf-8")
    assert not [char for char in "\x00\x07\x1b\x9b\u202e\u2066\u200f" if char in text]


def test_a_script_that_ran_would_be_seen(
    written: Callable[[str], Path], visit: Any, tmp_path: Path
) -> None:
    """The same page with one name unescaped and without its policy."""
    text = written("hostile comparison").read_text("utf-8")
    escaped = "&lt;script&gt;window.hit=1&lt;/script&gt;"
    assert escaped in text
    text = text.replace("Content-Security-Policy", "x-no-policy")
    open_page = tmp_path / "open.html"
    open_page.write_text(text.replace(escaped, "<script>window.hit=1</script>"), "utf-8")
    assert visit(open_page).page.evaluate("window.hit") == 1


# ---- comparisons ----


@pytest.mark.parametrize("name", ["six", "emulated"])
def test_a_comparison(name: str, visit: Any) -> None:
    check(visit(name), TEXTS.get(name, ()))


def test_the_keyboard_reaches_every_table(visit: Any) -> None:
    page = visit("two", width=390).page
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


def test_a_comparison_of_two(visit: Any) -> None:
    seen = visit("two")
    comes_alive(seen)
    check(seen)
    assert seen.page.locator(".stars").first.text_content().strip().endswith("of 5 stars")
    assert seen.page.get_by_label("Show where each figure is from").count() == 1


def test_a_link_opens_what_it_leads_to(visit: Any) -> None:
    page = visit("two").page
    page.locator("#overview a[href='#system-2']").click()
    assert page.locator("#system-2").is_visible()
    page.locator("#overview a[href='#why']").click()
    assert page.evaluate("location.hash") == "#why"


def test_without_scripts_a_comparison_is_whole(visit: Any) -> None:
    page = visit("two", scripts=False).page
    text = page.locator("body").inner_text()
    for expected in ("Overview", "Decisive tests", f"{TIMES}\N{NO-BREAK SPACE}1.4", "higher"):
        assert expected in text
    assert not page.locator(".choice").is_visible()  # it would do nothing
    assert "Ratio of medians to 1" in text
    summary = page.locator("#why summary").first
    summary.click()
    assert "Formula hardstone.rating/3" in page.locator("#why").inner_text()


def test_sources_are_shown_without_scripts_and_by_keyboard(visit: Any) -> None:
    page = visit("two", scripts=False).page
    said = "e => getComputedStyle(e, '::after').content"
    cell = page.locator("#overview data[title]").first
    row = page.locator(".compared tr[title] > th").first
    assert cell.evaluate(said) == "none"
    page.locator("#show-sources").focus()
    page.keyboard.press("Space")
    assert "CLK-P-DUR/tick max" in cell.evaluate(said)
    assert row.evaluate("e => getComputedStyle(e, '::after').display") == "block"


def test_of_many_systems_a_row_says_where_it_is_from_when_asked(visit: Any) -> None:
    page = visit("twenty").page
    row = page.locator("#test-1 .series tr").nth(5)
    assert row.get_attribute("title") is None
    row.hover()
    assert row.get_attribute("title") == "20261125T200500Z-000005 CLK-P-DUR/tick"
    page.locator("#show-sources").check()
    missing = ".series tr:not(.series-name):not(.absent):not([title])"
    assert page.locator(missing).count() == 0
    page.locator("#show-sources").uncheck()


def test_a_comparison_of_twenty(visit: Any) -> None:
    check(visit("twenty"), TEXTS["twenty"])


def test_on_a_phone_the_name_of_a_system_stays_while_its_table_moves(visit: Any) -> None:
    page = visit("twenty", width=390).page
    box = page.locator("#overview .scroll").first
    head = box.locator("tbody th").first
    before = head.bounding_box()["x"]
    assert box.evaluate("e => { e.scrollLeft = 200; return e.scrollLeft }") == 200
    assert abs(head.bounding_box()["x"] - before) < 1
    first = box.locator("tbody tr").first.locator("td").first
    assert first.bounding_box()["x"] < before + head.bounding_box()["width"]


def test_print_opens_what_is_folded(visit: Any) -> None:
    page = visit("twenty").page
    closed = page.evaluate(CLOSED + ".length")
    assert closed > 0
    page.emulate_media(media="print")
    folded = page.locator("#tests details .series-name").first
    assert folded.is_visible()  # though its part is closed
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate(CLOSED + ".length") == 0
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.evaluate(CLOSED + ".length") == closed


def ratios(page: Any) -> list[str]:
    """The column of ratios of the first series."""
    return page.eval_on_selector_all(
        "#test-1 .series:first-of-type tr", "es => es.slice(1).map(e => e.cells[5].innerText)"
    )


def test_another_reference_gives_ratios_without_decisions(visit: Any) -> None:
    page = visit("twenty").page
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


def test_no_reference_gives_ratios_of_what_has_none(visit: Any) -> None:
    page = visit("counted").page
    every = "#test-1 .series tr:not(.series-name)"
    page.get_by_label("Ratios of medians to").select_option("2")
    found = page.eval_on_selector_all(every, "es => es.map(e => e.cells[5].innerText)")
    assert found[0].startswith(TIMES) and found[1] == "reference"
    assert found[3:] == ["-"] * 6


def test_long_names_do_not_make_a_page_wider(visit: Any) -> None:
    page = visit("long names", width=390).page
    assert page.locator("#reference").is_visible()
    assert page.evaluate(WIDER_THAN_PAGE) <= 0
