"""The report as PDF: what is on which page, also of hostile texts, drawn without a browser."""

from __future__ import annotations

from io import BytesIO

import pytest
from pypdf import PdfReader

from bench.long_recording import recording
from hardstone.model import RunDocument
from hardstone.report.drawing import Drawer
from hardstone.report.pdf import render_pdf
from hardstone.report.sheet import (
    HEIGHT,
    ROOM,
    Placed,
    Sheet,
    coloured,
    is_plain,
    operators,
    palette,
    width_of,
)
from tests.unit.report import sample
from tests.unit.report.media import Sketches, no_descriptor, paper, texts_of
from tests.unit.stats import make


@pytest.fixture(scope="module")
def pages(run: RunDocument) -> list[str]:
    return paper(run, sample.SPECS.get)


@pytest.mark.slow
def test_every_page_has_machine_conditions_and_trust(run: RunDocument, pages: list[str]) -> None:
    for text in pages:
        for said in ("bench-board", "6.12.9-rt-amd64", "heavy", "Indicative only", run.id):
            assert said in text
    assert f"page 1 of {len(pages)}" in pages[0]


@pytest.mark.slow
def test_every_test_has_a_page_or_its_reason(run: RunDocument, pages: list[str]) -> None:
    _, listed, *others = pages
    for result in run.results:
        assert result.test in listed and result.status in listed
        shown = bool(result.series or result.verdicts)
        assert any(f"{result.test}:" in text for text in others) == shown
    for title in ("Total, per wake-up", "Total, per release", "Dispatch, per wake-up"):
        (page,) = [text for text in pages if f"TMR-P-LAT: {title}" in text]
        assert "Above 1 ms" in page and ("30 000" in page or "30 003" in page)


@pytest.mark.slow
def test_charts_are_drawn_with_their_labels_and_many_limits_take_several_tables() -> None:
    limits = [1000 * n for n in range(1, 13)]
    document = recording(points=100_000)
    (result,) = document.results
    result.series = [one for one in result.series if one.labels["part"] == "return"]
    with Drawer() as drawer:
        data = render_pdf(document, no_descriptor, drawer=drawer, limits=limits)
    (page,) = [text for text in texts_of(data) if "TMR-P-LAT: Return" in text]
    assert "values per bin (log)" in page and "10 us" in page
    assert all(f"Above {n} us" in page for n in range(1, 13))
    assert page.count("Worst observed") == 3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("a\x1b[31m\nb\u202ec", "- hardstone"),  # one clean line
        ("\u6e2c\u5b9a (\u00e9t\u00e9) \\ (", "\u6e2c\u5b9a (\u00e9t\u00e9) \\ ("),
        ("\u00e9t\u00e9 \\ (a)", "\u00e9t\u00e9 \\ (a)"),
    ],
)
def test_names_of_any_language_are_kept_and_clean(name: str, title: str) -> None:
    data = render_pdf(make.document(name=name), no_descriptor, drawer=Sketches())
    reader = PdfReader(BytesIO(data))
    found = str(reader.metadata and reader.metadata.title)
    assert found.isprintable() and title in found and found.endswith("- hardstone")
    if name.isprintable() and is_plain(name):
        assert name in texts_of(data)[0]


def test_colours_have_no_names_on_paper() -> None:
    drawn = coloured('<path fill="var(--series-1)" stroke="var(--bad)"/>')
    assert drawn == f'<path fill="{palette()["series-1"]}" stroke="{palette()["bad"]}"/>'


@pytest.mark.parametrize(("rows", "is_full"), [(300, True), (3, False)])
def test_what_does_not_fit_is_said(rows: int, is_full: bool) -> None:
    sheet = Sheet()
    sheet.table(["a", "b"], [[f"row {n}", "1"] for n in range(rows)])
    sheet.svg("foot")
    assert any(one.text == "more in the HTML report" for one in sheet.texts) == is_full
    assert all(one.y <= HEIGHT for one in sheet.texts)


def test_a_count_is_never_cut_and_a_paragraph_stays_on_the_page() -> None:
    sheet = Sheet()
    text = "between 40\N{NO-BREAK SPACE}308\N{NO-BREAK SPACE}177 and 40\N{NO-BREAK SPACE}595"
    sheet.table(["CPU", *["Above 10 us"] * 8], [["CPU 0", *[text] * 8]])
    said = " ".join(one.text for one in sheet.texts)
    assert said.count("40 308 177") == 8
    sheet = Sheet()
    sheet.text("Average words of a paragraph that has many of them " * 20, 9)
    assert max(width_of(one.text, one.size) for one in sheet.texts) <= ROOM


def test_special_characters_of_pdf_are_escaped() -> None:
    found = operators([Placed("a(b)\\c", 0, 0, 9, "#102030")], 100)
    assert b"(a\\(b\\)\\\\c) Tj" in found
    assert is_plain("\u00b5s") and not is_plain("\u6e2c")
