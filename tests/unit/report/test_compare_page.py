"""What the page of a comparison says, where each figure on it is from, and how large it is."""

from __future__ import annotations

import html
import re
from collections import Counter
from functools import cache
from html.parser import HTMLParser
from types import SimpleNamespace
from typing import Any, cast

import pytest

from hardstone.comparison.assemble import compare_view
from hardstone.comparison.cells import (
    NAMED_SYSTEMS,
    SeriesGroup,
    SystemLine,
    series_rows,
)
from hardstone.comparison.page import render_compare
from hardstone.comparison.view import CompareView, SystemColumn
from hardstone.figure_text import ShownFigure
from hardstone.systems.subjects import Amount, published_system, subjects_of
from tests.changed_copy import replace
from tests.unit.comparison.compared import (
    emulated_systems,
    made_rating,
    made_run,
    six_systems,
    twenty_systems,
    two_systems,
    worst_alone_grey,
)
from tests.unit.report import sample
from tests.unit.report.media import flat, words

STATISTICS = ("mean", "p50", "max", "min")


class Page(HTMLParser):
    """The figures of a page as (value, bound, source), its ids, headings and tables."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.figures: Counter[tuple[str, str, str]] = Counter()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.headings: list[int] = []
        self.captions = self.tables = 0
        self.tags: Counter[str] = Counter()
        self.attributes: set[str] = set()
        self._row = self._address = self._number = self._in = ""
        self._runs: dict[str, str] = {}
        self.feed(text)

    def handle_starttag(self, tag: str, found: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in found}
        self.tags[tag] += 1
        self.attributes |= set(attributes)
        self.ids += [attributes["id"]] if "id" in attributes else []
        if tag == "a" and attributes.get("href", "").startswith("#"):
            self.links.append(attributes["href"][1:])
        if tag == "tr":
            self._row = attributes.get("title", "")
            self._in = attributes.get("class", "")
        if tag == "tr" and re.fullmatch(r"system-\d+", attributes.get("id", "")):
            self._number, self._in = attributes["id"].removeprefix("system-"), "id"
        if tag == "b" and not self._row:  # of many systems
            self._in = "number"
        if tag == "code" and self._in == "series-name":
            self._in, self._address = "address", ""
        if tag == "code" and self._in == "id":
            self._in = "run"
        if tag == "data":
            bound = attributes.get("class", "")
            for source in self._sources(attributes.get("title", "")):
                self.figures[attributes["value"], bound, source] += 1
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        self.captions += tag == "caption"
        self.tables += tag == "table"

    def handle_data(self, text: str) -> None:
        if self._in == "address":
            self._address += text
        elif self._in == "run":
            self._runs[self._number] = self._runs.get(self._number, "") + text
        elif self._in == "number":
            self._row = f"{self._runs[text]} {self._address}"

    def handle_endtag(self, tag: str) -> None:
        if tag in ("code", "b"):
            self._in = ""

    def _sources(self, own: str) -> list[str]:
        """Where a figure is from: what it says itself, or what its row says of all of it."""
        return [own] if own else [f"{self._row} {one}" for one in STATISTICS]


@cache
def beside_studies() -> CompareView:
    """As the builder makes it: each digit of a study is there."""
    keys = ("qnx", "ce7", "linux-rt", "xenomai", "lynx")
    return compare_view([made_run(1), *map(published_system, keys)])


VIEWS = {
    **{"2": two_systems, "6": six_systems, "grey": emulated_systems, "20": twenty_systems},
    "studies": beside_studies,
}


def static(view: CompareView) -> str:
    return render_compare(view, bundle=lambda: None)


@cache
def page_of(name: str) -> str:
    return static(VIEWS[name]())


def amounts(view: CompareView) -> set[tuple[float | None, str, str]]:
    """Every figure of the view as (value, bound, source)."""
    rows = [*view.decisive, *(row for test in view.tests for row in test.rows)]
    cells = [cell for row in rows for cell in row.cells]
    found = [one for cell in cells for one in (cell.mean, cell.worst, *cell.more.values())]
    if len(view.columns) <= NAMED_SYSTEMS:  # else reasons of stars name the figure, not its source
        categories = [one for column in view.columns for one in column.rating.categories]
        found += [one.amount for category in categories for one in category.figures]
    return {
        (value, bound, one.source)
        for one in found
        if isinstance(one, Amount)
        for value, bound in ((one.value, ""), (one.below, "below"), (one.above, "above"))
        if value is not None
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", VIEWS)
def test_every_figure_is_there_exactly_and_says_where_it_is_from(name: str) -> None:
    wanted = amounts(VIEWS[name]())
    found = Page(page_of(name)).figures
    shown = {(float(value), bound, source) for value, bound, source in found}
    assert wanted and wanted - shown == set()


@pytest.mark.slow
@pytest.mark.parametrize("name", VIEWS)
def test_structure(name: str) -> None:
    page = Page(page_of(name))
    assert [one for one, count in Counter(page.ids).items() if count > 1] == []
    assert set(page.links) <= set(page.ids)
    assert page.headings[0] == 1 and page.headings.count(1) == 1
    assert all(b - a <= 1 for a, b in zip(page.headings, page.headings[1:], strict=False))
    assert page.tables == page.captions > 5
    assert page.tags["main"] == 1


@pytest.mark.slow
def test_the_page_loads_nothing_and_runs_only_its_own_script() -> None:
    page = page_of("2")
    assert not re.search(r"<(link|img|iframe|object|embed|base|form)\b", page)
    outside = re.sub(r"<script>.*?</script>", "", page, flags=re.S)
    assert not re.search("https?:", outside)
    assert page.count("<script>") == 1
    assert "style=" not in outside  # the policy allows no style of an element
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy and "default-src 'none'" in html.unescape(policy[1])


@pytest.mark.slow
def test_the_stars_that_a_study_gave_stand_beside() -> None:
    """The rest of the words is in golden/compare-page.txt."""
    view = two_systems()
    rated = replace(view.columns[1], rating=made_rating(3.5, study_stars=4.0, is_at_most=False))
    text = words(static(replace(view, columns=[view.columns[0], rated])))
    assert "3.5 of 5 stars the study gave 4" in text


@pytest.mark.slow
def test_twenty_systems_are_small_and_one_can_be_chosen_as_reference() -> None:
    page = page_of("20")
    assert page.count("<option") == 20 and '<option value="3" selected>' in page
    assert page_of("2").count("<option") == 2
    assert "<select" not in page_of("grey")  # one run that is not emulated
    view = twenty_systems()
    size = len(page.encode())
    assert size < 1_000_000
    # A standard run has 423 series; scripts and charts take 2 of the 5 MB.
    more = len(static(replace(view, tests=view.tests * 2)).encode()) - size
    assert size + more * 423 / sum(len(one.rows) for one in view.tests) < 3_000_000


@pytest.mark.slow
def test_what_is_grey_is_grey_in_every_table() -> None:
    overview = page_of("grey").partition('id="why"')[0]
    systems, decisive = overview.split('class="figures decisive sticky"')
    assert systems.count('<tr class="grey">') == 1
    assert decisive.count('<td class="grey">') == decisive.count("<small>not compared: ") > 0
    row = re.search(r'<tr title="[^"]*" class="grey">.*?</tr>', page_of("grey"), re.S)
    assert row and "(emulated)" in row[0]
    assert 'class="grey"' not in page_of("2")
    overview, tests = static(worst_alone_grey(two_systems(), "why")).split('id="tests"')
    assert '<td class="grey">' in overview.partition('class="figures decisive sticky"')[2]
    assert tests.count('<td class="grey">') == tests.count("The worst is not compared: ") > 0


@pytest.mark.slow
def test_a_real_looking_run_beside_studies() -> None:
    view = compare_view([*subjects_of(sample.document(count=500)), published_system("qnx")])
    page = static(view)
    text = words(page)
    assert [one.test for one in view.tests if one.test not in text] == []
    assert [one for one in view.notes if flat(one) not in text] == []
    states = [state for test in view.tests for state in test.states]
    assert [one for one in states if one.lower() not in text.lower()] == []


# Rows that no template writes escape all that comes from files

TAGS = {"tbody", "tr", "th", "td", "span", "small", "code", "b", "data"}
ATTRIBUTES = {"class", "scope", "colspan", "title", "value"}


class Read(HTMLParser):
    """The elements and texts of rows that no template writes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: dict[str, list[str]] = {}
        self.text = ""
        self.feed(str(text))  # of Markup all that is added is escaped
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        for name, value in attrs:
            self.attributes.setdefault(name, []).append(value or "")

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_comment(self, data: str) -> None:
        pytest.fail(f"a comment: {data}")


def line(said: str, **others: Any) -> SystemLine:
    """All its texts are `said`, but those that the tool counts or calculates."""
    column = cast(SystemColumn, SimpleNamespace(number=1, label=said, mark=said))
    given: dict[str, Any] = {
        "column": column,
        "source": said,
        "mean": ShownFigure(said, "1.5", "below", said),
        "median": ShownFigure(said, source=said),
        "worst": ShownFigure(said, "2"),
        "predictability": said,
        "ratio": said,
        "outcome": said,
        "look": said,
        "remarks": [said],
        "why": said,
        "worst_why": said,
        "more": [(said, ShownFigure(said, "3"))],
        "is_plain": False,
    }
    return SystemLine(**(given | others))


def group(said: str, lines: list[SystemLine]) -> SeriesGroup:
    return SeriesGroup(
        label=said,
        address=said,
        is_rate=False,
        is_divided=True,
        lines=lines,
        absent=[(said, said)],
        common=[said],
    )


def test_each_text_is_shown() -> None:
    """Whatever has a sign of markup arrives as that sign."""
    said = "<i>&\"'"
    read = Read(series_rows(group(said, [line(said)]), has_names=True, is_wide=False))
    # Label, address, note; name, mark, three figures, predictability, ratio, outcome, two refusals,
    # remark, further statistic with its name; absent.
    assert read.text.count(said) == 3 + 2 + 3 + 3 + 2 + 1 + 2 + 2
    assert read.tags <= TAGS and set(read.attributes) <= ATTRIBUTES
    assert Read(series_rows(group(said, [line(said)]), has_names=True, is_wide=True)).tags <= TAGS
    assert read.attributes["title"] == [said] * 3
    assert read.attributes["value"] == ["1.5", "2", "3"]


def test_the_title_names_each_system_in_few_letters() -> None:
    view = two_systems()
    columns = [replace(one, label="board " + "x" * 90) for one in view.columns]
    (title,) = re.findall(r"<title>(.*?)</title>", static(replace(view, columns=columns)))
    assert title.count("board x") == 2 and len(title) < 120


def test_a_heading_names_its_test_once() -> None:
    """Where no run declares a test its ID is all that is known of it."""
    page = static(compare_view([published_system("qnx"), published_system("ce7")]))
    headings = [words(one) for one in re.findall(r"<h3 .*?</h3>", page)]
    assert "IRQ-S-SUS" in headings and "CLK-P-DUR" in headings
    assert not any(len(one.split()) == 2 and len(set(one.split())) == 1 for one in headings)


@pytest.mark.slow
def test_the_overview_has_what_systems_share() -> None:
    """Where hardly a decisive figure is shared its table would be one of gaps."""
    names = ("lynx", "solaris-1rt")
    usual = static(compare_view([made_run(1), published_system("qnx")]))
    overview = words(usual.partition('id="why"')[0])
    assert "Decisive tests" in overview and "Shared figures" not in overview
    published = static(compare_view([published_system(one, "none") for one in names]))
    overview = words(published.partition('id="why"')[0])
    assert "Shared figures" in overview and "Decisive tests" not in overview
    assert "RSP-P-FIX time, add" in overview and "9.9 ms" in overview
    nothing = static(compare_view([published_system(one) for one in ("qnx", "lynx")]))
    assert "The systems share no figure" in words(nothing)
