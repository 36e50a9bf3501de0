"""What the page of a comparison says, where each figure on it is from, and how large it is."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

from hardstone.errors import InputError
from hardstone.present.compare_build import compare_view
from hardstone.present.compare_view import ComparedCell, CompareView, SystemColumn
from hardstone.report.compare_lines import NAMED_SYSTEMS, numbers_text
from hardstone.report.compare_page import render_compare, write_compare
from hardstone.subjects import Amount, published_system, subjects_of
from tests.changed_copy import replace
from tests.unit.present.compared import (
    emulated_systems,
    made_rating,
    made_run,
    made_view,
    six_systems,
    twenty_systems,
    two_systems,
    worst_alone_grey,
)
from tests.unit.report import sample
from tests.unit.report.hostile import ATTACKS, hostile_document

TIMES = "\N{MULTIPLICATION SIGN}"
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
        self._row = self._address = self._number = self._in = ""
        self._runs: dict[str, str] = {}
        self.feed(text)

    def handle_starttag(self, tag: str, found: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in found}
        self.tags[tag] += 1
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


def static(view: CompareView) -> str:
    return render_compare(view, bundle=lambda: None)


def words(page: str) -> str:
    body = re.sub(r"<(script|style)[^>]*>.*?</\1>", " ", page, flags=re.S)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", body)).split())


def amounts(view: CompareView) -> Iterator[Amount]:
    """Every figure of the view."""
    rows = [*view.decisive, *(row for test in view.tests for row in test.rows)]
    for cell in (cell for row in rows for cell in row.cells):
        yield from (one for one in (cell.mean, cell.worst, *cell.more) if isinstance(one, Amount))
    if len(view.columns) > NAMED_SYSTEMS:
        return  # reasons of stars name the figure, not its source
    for column in view.columns:
        for category in column.rating.categories:
            yield from (one.amount for one in category.figures)


def expected(one: Amount) -> tuple[float, str]:
    if one.value is not None:
        return one.value, ""
    if one.below is not None:
        return one.below, "below"
    assert one.above is not None
    return one.above, "above"


VIEWS = (two_systems, six_systems, emulated_systems, twenty_systems)


@pytest.mark.slow
@pytest.mark.parametrize("made", VIEWS)
def test_every_figure_is_there_exactly_and_says_where_it_is_from(made: object) -> None:
    view = made()  # type: ignore[operator]
    found = {(float(value), bound, source) for value, bound, source in Page(static(view)).figures}
    wanted = {(*expected(one), one.source) for one in amounts(view)}
    assert wanted
    assert wanted - found == set()


@pytest.mark.slow
def test_published_figures_are_there_with_all_their_digits() -> None:
    view = compare_view(
        [made_run(1), *map(published_system, ("qnx", "ce7", "linux-rt", "xenomai", "lynx"))]
    )
    page = static(view)
    found = {(float(value), bound, source) for value, bound, source in Page(page).figures}
    assert {(*expected(one), one.source) for one in amounts(view)} - found == set()
    assert "1.422 us" in words(page)  # Xenomai's switch, to the digit


@pytest.mark.slow
@pytest.mark.parametrize("made", VIEWS)
def test_structure(made: object) -> None:
    page = Page(static(made()))  # type: ignore[operator]
    assert [name for name, count in Counter(page.ids).items() if count > 1] == []
    assert set(page.links) <= set(page.ids)
    assert page.headings[0] == 1 and page.headings.count(1) == 1
    assert all(b - a <= 1 for a, b in zip(page.headings, page.headings[1:], strict=False))
    assert page.tables == page.captions > 5
    assert page.tags["main"] == 1


def test_the_page_loads_nothing_and_runs_only_its_own_script() -> None:
    page = render_compare(two_systems(), bundle=lambda: None)
    assert not re.search(r"<(link|img|iframe|object|embed|base|form)\b", page)
    outside = re.sub(r"<script>.*?</script>", "", page, flags=re.S)
    assert "http:" not in outside and "https:" not in outside
    assert page.count("<script>") == 1
    assert "style=" not in outside  # the policy allows no style of an element
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy and "default-src 'none'" in html.unescape(policy[1])


@pytest.mark.slow
def test_stars_have_words() -> None:
    page = static(six_systems())
    assert '<span class="given">at most 4.5<span class="spoken"> of 5 stars</span></span>' in page
    text = words(page)
    assert "not rated interrupts have no worst case" in text
    assert "rated as: without load" in text
    assert "Formula hardstone.rating/1. Configuration: out of the box." in text
    assert "a worst case of at most 16.1 us" in text
    assert "Missing, not run: IRQ-P-LAT" in text


def test_a_study_s_own_stars_stand_beside() -> None:
    view = two_systems()
    rated = replace(view.columns[1], rating=made_rating(3.5, study_stars=4.0, is_at_most=False))
    text = words(static(replace(view, columns=[view.columns[0], rated])))
    assert "3.5 of 5 stars the study gave 4" in text


def test_what_may_not_be_compared_is_grey_and_says_why() -> None:
    page = static(emulated_systems())
    why = "it is emulated, and the reference is not"
    assert f"Not compared: {why}." in words(page)
    assert f"not compared: {why}" in words(page)
    row = re.search(r'<tr title="[^"]*" class="grey">.*?</tr>', page, re.S)
    assert row and "(emulated)" in row[0]
    assert 'class="grey"' not in static(two_systems())


def test_a_ratio_stands_with_interval_and_outcome() -> None:
    text = words(static(two_systems()))
    assert re.search(TIMES + r" 1\.\d\d \(1\.\d\d to 1\.\d\d\) higher", text)
    assert "lower" not in text.split("How to read")[0]
    assert "Ratio of medians to 1" in text


@pytest.mark.slow
def test_an_unbounded_ratio_says_so_and_why() -> None:
    row = words(static(twenty_systems()))
    assert re.search(rf"4 board 4 .{{0,60}}{TIMES} \d\.\d\d \(at least \d\.\d\d\) not decided", row)
    assert "the interval reaches the margin" in row


def test_missing_and_bounds_are_named() -> None:
    view = six_systems()
    page = static(view)
    assert "not published" in words(page)
    bounds = [one for one in amounts(view) if one.below is not None]
    assert bounds
    assert 'class="below"' in page and "< 100 ns" in words(page)


@pytest.mark.slow
def test_twenty_systems_are_numbered_and_grouped() -> None:
    view = twenty_systems()
    page = static(view)
    text = words(page)
    assert "1, 3 to 20 1 000 of 1 000 in order" in text  # who holds a claim
    assert "fails 2 999 of 1 000 in order" in text
    assert "differs machine Example 1000, revision 1 1, 4, 7, 10, 13, 16, 19" in text
    assert page.count("<option") == 20
    assert '<option value="3" selected>' in page
    assert len(page.encode()) < 1_000_000


@pytest.mark.slow
def test_twenty_standard_runs_stay_small() -> None:
    """A standard run has 423 series; scripts and charts take 2 of the 5 MB."""
    view = twenty_systems()
    many = -(-423 // sum(len(one.rows) for one in view.tests))
    assert len(static(replace(view, tests=view.tests * many)).encode()) < 3_000_000


def test_a_reference_can_be_chosen_among_what_may_be_compared() -> None:
    assert "<select" not in static(emulated_systems())  # one run that is not emulated
    assert static(two_systems()).count("<option") == 2


def test_what_all_systems_share_is_said_once() -> None:
    view = two_systems()
    marked = [row for row in view.decisive if all(cell.marks for cell in row.cells)]
    assert marked
    assert words(static(view)).count("equals the tick") == 2 * len(marked)  # summary and test


def changed(view: CompareView, **cell: object) -> CompareView:
    """The view with another first cell of its second system."""
    test = view.tests[0]
    row = test.rows[0]
    cells: list[ComparedCell] = [row.cells[0], replace(row.cells[1], **cell)]  # type: ignore[arg-type]
    new = replace(test, rows=[replace(row, cells=cells), *test.rows[1:]])
    return replace(view, tests=[new, *view.tests[1:]])


def test_what_is_grey_is_grey_in_the_overview_too() -> None:
    overview = static(emulated_systems()).partition('id="why"')[0]
    systems, decisive = overview.split('class="figures decisive sticky"')
    assert systems.count('<tr class="grey">') == 1
    assert decisive.count('<td class="grey">') == decisive.count("<small>not compared: ") > 0


def test_a_worst_that_is_grey_alone_is_so_in_every_table() -> None:
    page = static(worst_alone_grey(two_systems(), "5 values"))
    overview, tests = page.split('id="tests"')
    assert '<td class="grey">' in overview.partition('class="figures decisive sticky"')[2]
    assert tests.count('<td class="grey">') == tests.count("The worst is not compared: ") > 0


def test_the_worst_alone_can_be_grey() -> None:
    text = words(static(changed(two_systems(), worst_why="20 times as many values")))
    assert "The worst is not compared: 20 times as many values." in text


def hostile_columns(view: CompareView) -> list[SystemColumn]:
    return [
        replace(
            one,
            label=f"{number} {ATTACKS[number % len(ATTACKS)]}",
            study=ATTACKS[0],
            hardware=ATTACKS[1],
            mark=ATTACKS[2],
            apart=ATTACKS[3] if number else "",
            trust_reasons=[ATTACKS[4]],
            rating=made_rating(
                3.0, caps=[ATTACKS[1]], rated_as=[ATTACKS[2]], configuration=ATTACKS[0]
            ),
        )
        for number, one in enumerate(view.columns)
    ]


@pytest.mark.slow
def test_hostile_words_stay_words() -> None:
    subjects = [*subjects_of(hostile_document()), published_system("qnx")]
    for view in (made_view(subjects), compare_view(subjects)):
        page = static(replace(view, columns=hostile_columns(view)))
        found = Page(page)
        assert found.tags["img"] == 0
        assert found.tags["script"] == 1
        assert found.tags["style"] == 1
        assert "\x1b" not in page and "\x00" not in page and "\u202e" not in page
        assert not re.search(r"<[^>]*\son(load|error|mouseover)\s*=", re.sub('"[^"]*"', "", page))


@pytest.mark.slow
def test_a_real_looking_run_beside_studies() -> None:
    view = compare_view([*subjects_of(sample.document(count=500)), published_system("qnx")])
    page = static(view)
    text = words(page)
    for test in view.tests:
        assert test.test in text
    for note in view.notes:
        assert " ".join(note.split()) in text
    for state in (state for test in view.tests for state in test.states):
        assert state.lower() in text.lower()


def test_it_is_written_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "compared.html"
    path.write_text("before")
    write_compare(two_systems(), path, bundle=lambda: None)
    assert path.read_text("utf-8") == static(two_systems())
    with pytest.raises(InputError, match="not a regular file"):
        write_compare(two_systems(), tmp_path, bundle=lambda: None)
    assert [one.name for one in tmp_path.iterdir()] == ["compared.html"]


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ([1], "1"),
        ([2, 1], "1, 2"),
        ([1, 2, 3], "1 to 3"),
        ([1, 3, 4, 5, 7, 9, 10], "1, 3 to 5, 7, 9, 10"),
    ],
)
def test_numbers_in_words(numbers: list[int], text: str) -> None:
    assert numbers_text(numbers) == text
